"""What is asked of the servos beside their feedback: whether they still are as they were set."""

import itertools

from pliant.hardware.dynamixel import setup
from pliant.hardware.dynamixel.bus import Bus, RefusalError
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.goals import Goals, goal_register
from pliant.hardware.dynamixel.watching import BLOCK, Watch

_DIP = "has lost its torque (a dip of the supply?)"
_AUDITED = {1: ("block",), 2: ("torque_enable", "bus_watchdog", "goal")}
"""What is checked of every motor, in turn: what feedback does not show. A servo that restarts after a dip of the
supply says nothing of it; it is only without torque, or an AX-12A without its settings, because the next goal
switches its torque on again: there the LED, lit with the torque, tells. An AX-12A has all of it in one block."""
_QUIET = 0.75
"""Share of the watchdog's time without a packet after which the servos are asked whether it has tripped."""


class Audit:
    """Asks one servo a period, in turn; every answer is a fault, in words, or empty.

    Args:
        bus: where the servos are.
        config: which they are.
        goals: what they were told.
    """

    def __init__(self, bus: Bus, config: DynamixelConfig, goals: Goals) -> None:
        self._bus, self._config, self._goals = bus, config, goals
        motors = list(config.motors())
        self._turns = itertools.cycle(itertools.product(_AUDITED[config.protocol], motors))
        self._watch = Watch(config.limits, config.period * len(motors))
        self._quiet = False
        """Whether the bus was silent for so long that watchdogs may have tripped."""
        self.warnings: list[str] = []
        """What came near the servos' limits."""

    def restart(self) -> None:
        """Forget what was seen of the servos."""
        self._watch.restart()

    def expect_silence(self) -> None:
        """Do not count the silence until now: watchdogs have just been armed."""
        self._bus.silence()
        self._quiet = False

    def watchdogs(self) -> str:
        """Ask all servos, if the bus has been silent for long, whether they have stopped by themselves.

        Their goals are refused then, in silence; and the next packet makes the bus alive again.
        """
        if not self._config.watchdog:
            return ""
        self._quiet |= self._bus.silence() > _QUIET * self._config.watchdog
        if self._quiet:
            for joint, _, mount in self._config.motors():
                if self._bus.read(mount.servo, "bus_watchdog") == -1:
                    return f"the bus watchdog of servo {mount.servo}, joint {joint.name!r}, has tripped"
            self._quiet = False
        return ""

    def next(self) -> str:
        """Check one register of one servo."""
        what, (joint, _, mount) = next(self._turns)
        who = f"servo {mount.servo}, joint {joint.name!r},"
        if what == "block":
            return self._block(who, joint, mount)
        count = self._bus.read(mount.servo, goal_register(joint) if what == "goal" else what)
        if what == "goal":
            return self._goal(who, joint, mount, count)
        if what == "torque_enable":
            return "" if count else f"{who} {_DIP}"
        if count == -1:
            return f"{who} has been stopped by its bus watchdog"
        if count == setup.watchdog_count(self._config):
            return ""
        lost = not self._bus.read(mount.servo, "torque_enable")
        return (
            f"{who} {_DIP if lost else f'has lost its bus watchdog (it reads {count}; has the servo restarted?)'}"
        )

    def _block(self, who: str, joint: DynamixelJoint, mount: ServoMount) -> str:
        """Look at an AX-12A: whether it has torque, its goals, and how it is."""
        look = self._watch.look(mount.servo, self._bus.read_block(mount.servo, *BLOCK).data)
        if look.counts["torque_limit"] == 0:
            return f"{who} has shut down (torque limit 0)"
        if not (look.counts["torque_enable"] and look.counts["led"]):
            return f"{who} {_DIP}"
        if look.end:
            return f"{who} is beyond its limits: {look.end}"
        self.warnings += [f"{who} is near its limits: {warning}" for warning in look.warnings]
        return self._goal(who, joint, mount, look.counts["goal_position"])

    def _goal(self, who: str, joint: DynamixelJoint, mount: ServoMount, count: int) -> str:
        """Make sure that a servo takes its goals: nothing acknowledges those that are sent to all."""
        if not self._goals.told(mount.servo, count):
            try:
                self._goals.repeat(joint, mount)
            except RefusalError as error:
                return f"{who} does not take its goals: {error}"
        return ""
