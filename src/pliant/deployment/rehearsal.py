"""The rehearsal: what a machine is to do is first done in simulation, behind the machine's own safety layer."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import RobotError
from pliant.hardware.robot import Array, Robot, RobotInfo, check_command
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import GIVE, SWING, JointLimits, SafetyConfig, joint_range, joint_speed, watched

_REMEDY: Final = (
    "Change what commands the robot; or, if it is to move like this, the limits: safety.motion.UNIT.speed (a "
    f"joint may reach {SWING:g} times that), safety.motion.UNIT.low and high, safety.joints."
)


class Rehearsing(SafeRobot):
    """A simulated robot behind the safety layer of a machine, which trips where that only limits, too.

    It trips at `SafetyConfig.excess` periods in a row in which a joint is beyond the range of its model, a
    commanded joint is faster than `SWING` times what its commands may be (`joint_speed`), or a place (rad, m) is
    commanded beyond the range of its column. Nobody waits for it to hold still, or to walk home.

    Args:
        machine: whose limits it has.
        simulated: the robot.
    """

    def __init__(self, machine: SafeRobot, simulated: Robot) -> None:
        config, info = machine.config, simulated.info
        joints = {name: _limits(name, info, config) for name in info.joints}
        super().__init__(simulated, replace(config, joints=joints, hold_time=0.0, return_to_rest=False))
        give = np.array([_give(c.low, c.high) if c.unit in ("rad", "m") else math.inf for c in self.info.command])
        self._lowest, self._highest = self.info.low - give, self.info.high + give
        self._astray = 0

    def send(self, command: ArrayLike) -> Array:
        """As `SafeRobot.send`."""
        asked = check_command(command, self.info)
        outside = (asked < self._lowest) | (asked > self._highest)
        self._astray = self._astray + 1 if np.any(outside) else 0
        if self._astray >= self.config.excess:
            column = int(np.argmax(outside))
            at = self.info.command[column]
            self._stop_and_release(
                f"{at.name} commanded to be at {asked[column]:.3f} {at.unit}, beyond its range [{at.low:.4g}, "
                f"{at.high:.4g}] {at.unit}; at {self.read().time:.3f} s"
            )
        return super().send(command)

    def _stop_and_release(self, reason: str) -> NoReturn:
        self._latch(reason.removeprefix(f"{self.info.name}: ").rstrip("."))
        self._release()
        raise RobotError(self.tripped)


def _limits(joint: str, info: RobotInfo, config: SafetyConfig) -> JointLimits:
    given, (low, high) = watched(joint, info, config), joint_range(joint, info)
    fastest = SWING * joint_speed(joint, info, config.motion)
    return replace(
        given,
        low=max(given.low, low),
        high=min(given.high, high),
        speed=fastest if given.speed is None else min(given.speed, fastest),
    )


def _give(low: float, high: float) -> float:
    return GIVE * (high - low) if math.isfinite(high - low) else 0.0


@contextmanager
def rehearsal(machine: SafeRobot, simulated: Robot) -> Iterator[SafeRobot]:
    """What is done in this block on the robot that it yields, the machine would do next.

    Raises:
        RobotError: the safety layer trips (see `Rehearsing`), the simulation diverges, or what commands the robot
            gives up. It says why, and that nothing was connected.
    """
    safe = Rehearsing(machine, simulated)
    try:
        with safe:
            yield safe
    except RobotError as error:
        trips = safe.report.trips
        said = f"{trips[-1]}. {_REMEDY}" if trips else str(error)
        raise RobotError(f"predicted by simulation, so nothing was connected: {said}") from error
