"""Modes of robot and safety system, and the watching of limits.

Numbers are those of Universal Robots' RTDE guide.
"""

from enum import IntEnum

import numpy as np

from pliant.envs.emulators.ur.arm import Arm
from pliant.envs.emulators.ur.poses import Array
from pliant.hardware.ur_arms import JOINTS

PROTECTIVE_DECELERATION = 25.0
"""How quickly a protective stop brakes, rad/s²."""
EMERGENCY_DECELERATION = 30.0
"""How quickly an emergency stop brakes, rad/s²."""
_OVERSPEED = 1.1
"""Part of the speed limit beyond which a measured speed is a fault."""
_OVERLOAD = 1.3
"""Part of the torque limit beyond which a motor's torque is one."""
_OFF_TARGET = 0.2
"""Distance from the target at which a joint's position is in doubt, rad."""


class RobotMode(IntEnum):
    """What the arm is ready for."""

    POWER_OFF = 3
    IDLE = 5
    RUNNING = 7


class SafetyMode(IntEnum):
    """What the safety system is in."""

    NORMAL = 1
    PROTECTIVE_STOP = 3
    ROBOT_EMERGENCY_STOP = 7
    FAULT = 9


class RuntimeState(IntEnum):
    """What the program does."""

    STOPPING = 0
    STOPPED = 1
    PLAYING = 2


_SAFETY_BITS = {
    SafetyMode.NORMAL: 1 << 0,
    SafetyMode.PROTECTIVE_STOP: 1 << 2 | 1 << 10,
    SafetyMode.ROBOT_EMERGENCY_STOP: 1 << 6 | 1 << 7 | 1 << 10,
    SafetyMode.FAULT: 1 << 9 | 1 << 10,
}


class Safety:
    """The safety system: what it is in, and why.

    Args:
        arm: limits of the joints.
    """

    def __init__(self, arm: Arm) -> None:
        self.mode = SafetyMode.NORMAL
        self.robot_mode = RobotMode.RUNNING
        self.reason = ""
        """Why it stopped last."""
        self.stopped_at = 0.0
        """When, s."""
        self._low, self._high = arm.range
        self._speed = arm.speed
        self._torque = arm.torque

    @property
    def bits(self) -> int:
        """The safety status bits."""
        return _SAFETY_BITS[self.mode]

    @property
    def normal(self) -> bool:
        """Whether the arm may move."""
        return self.mode == SafetyMode.NORMAL and self.robot_mode == RobotMode.RUNNING

    def trip(self, mode: SafetyMode, reason: str, time: float) -> None:
        """Stop; an emergency stop outranks a protective one."""
        if mode > self.mode:
            self.mode, self.reason, self.stopped_at = mode, reason, time

    def problem(self, target: Array, q: Array, qd: Array, torque: Array, free: bool) -> str:
        """Return what is wrong with a target and the arm's state; empty if nothing is."""
        if not np.isfinite(target).all():
            return "a target that is no number"
        if (target < self._low).any() or (target > self._high).any():
            joint = int(np.argmax(np.maximum(target - self._high, self._low - target)))
            return f"joint {JOINTS[joint]} beyond its range: {target[joint]:.3f} rad"
        if (np.abs(qd) > _OVERSPEED * self._speed).any():
            joint = int(np.argmax(np.abs(qd) / self._speed))
            return f"joint {JOINTS[joint]} too fast: {qd[joint]:.2f} rad/s"
        if (np.abs(torque) > _OVERLOAD * self._torque).any():
            joint = int(np.argmax(np.abs(torque) / self._torque))
            return f"joint {JOINTS[joint]} overloaded: {torque[joint]:.0f} N·m"
        if not free and (np.abs(target - q) > _OFF_TARGET).any():
            joint = int(np.argmax(np.abs(target - q)))
            return f"joint {JOINTS[joint]} is off its target {target[joint]:.3f} rad, at {q[joint]:.3f} rad"
        return ""
