"""What the servos of a robot are told: a command as goals in their registers."""

from collections import deque
from collections.abc import Collection, Mapping

import numpy as np

from pliant.hardware.dynamixel import mapping
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.config import POSITION_MODES, DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.sensing import Sensors
from pliant.hardware.robot import Array

_REGISTERS = {"current": "goal_current", "pwm": "goal_pwm"}
_REMEMBERED = 16
"""Goals of a servo that are remembered: what it was not told in so many periods, it did not take."""


def goal_register(joint: DynamixelJoint) -> str:
    """Return the register that drives the servos of a joint."""
    return _REGISTERS.get(joint.mode, "goal_position")


class Goals:
    """The last command, as the counts that every servo was told.

    Args:
        bus: where the servos are.
        config: which they are.
        sensors: where they are measured to be, and in which turn.
    """

    def __init__(self, bus: Bus, config: DynamixelConfig, sensors: Sensors) -> None:
        self._bus, self._joints, self._sensors = bus, config.joints, sensors
        self._motors = list(config.motors())
        ends = np.cumsum([len(mapping.channels(joint)) for joint in config.joints]).tolist()
        self._columns = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self.command: Array | None = None
        """The command that the goals amount to; None before the first."""
        self._counts: dict[str, dict[int, int]] = {}
        """By register and servo."""
        self._told: dict[int, deque[int]] = {m.servo: deque(maxlen=_REMEMBERED) for _, _, m in self._motors}
        self._limited = {m.servo for joint, _, m in self._motors if joint.mode == "current_position"}
        self._limits: dict[int, int] = {}
        """Current limits that these servos have."""

    def here(self, silent: Collection[int] = ()) -> Array:
        """Return the command that leaves every joint where it was measured.

        A joint with one of the servos `silent`, whose measurement is old, keeps its last command.
        """
        command: list[float] = []
        for joint, columns in zip(self._joints, self._columns, strict=True):
            old = any(mount.servo in silent for mount in joint.servos)
            if old and self.command is not None and joint.mode in POSITION_MODES:
                command += self.command[columns].tolist()
                continue
            angles = [self._sensors.angle[self._sensors.index[mount.servo]] for mount in joint.servos]
            command += mapping.hold_command(joint, angles)
        return np.array(command)

    def set(self, command: Array) -> None:
        """Make a command the last one; nothing is sent."""
        self._counts = {}
        amount: list[float] = []
        for joint, columns in zip(self._joints, self._columns, strict=True):
            goals = mapping.goals(joint, command[columns].tolist())
            amount += mapping.sent_command(joint, goals)
            for goal in goals:
                row = self._sensors.index[goal.servo]
                # A servo that counts turns has its own number of them; single-turn goals lie in the first.
                multi = goal.register == "goal_position" and joint.mode != "position"
                value = goal.value - (self._sensors.turns[row].offset if multi else 0)
                self._counts.setdefault(goal.register, {})[goal.servo] = value
                if goal.register == goal_register(joint):
                    self._told[goal.servo].append(value)
        self.command = np.array(amount)

    def send(self, without: Collection[int] = (), *, afresh: bool = False) -> None:
        """Send the goals to all servos but some, a packet a register; nothing acknowledges them.

        Current limits that a servo has already, which seldom change, are not sent again, unless `afresh`.
        """
        if afresh:
            self._limits = {}
        for name, counts in self._counts.items():
            news = self._news(counts) if name == "goal_current" else counts
            register = self._motors[0][2].table.register(name)
            told = {servo: register.encode(n) for servo, n in news.items() if servo not in without}
            if told:
                self._bus.sync_write(register.address, told)

    def _news(self, currents: Mapping[int, int]) -> Mapping[int, int]:
        news = {servo: n for servo, n in currents.items() if self._limits.get(servo) != n}
        self._limits |= {servo: n for servo, n in currents.items() if servo in self._limited}
        return news

    def write(self, mount: ServoMount) -> None:
        """Write the goals of one servo; it acknowledges them."""
        for register, counts in self._counts.items():
            if mount.servo in counts:
                self._bus.write(mount.servo, register, counts[mount.servo])
                if register == "goal_current" and mount.servo in self._limited:
                    self._limits[mount.servo] = counts[mount.servo]

    def told(self, servo: int, count: int) -> bool:
        """Whether a servo was told this lately."""
        return count in self._told[servo]

    def repeat(self, joint: DynamixelJoint, mount: ServoMount) -> None:
        """Write what drives a servo once more; it acknowledges it."""
        self._bus.write(mount.servo, goal_register(joint), self._told[mount.servo][-1])
