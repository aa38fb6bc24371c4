"""Where an arm of Universal Robots is sent, within its limits, and whether its controller goes there."""

import math
import time
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pliant.errors import RobotError
from pliant.hardware.robot import Array, RobotInfo
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.signals import nearest_rotation

SLOWEST: Final = 0.02
"""Speed scaling below which nothing is slowed further: after 0 the arm would jump."""
_GAP: Final = 0.04
"""Time without a command after which the controller's own target is gone on from, if it is astray, s. While it is
on its way to what was sent last, the command would jump back to it, and then run after the program."""
_BEHIND: Final = 0.02
"""Distance of the controller's target from what is sent that says nothing, rad or m; and …"""
_LAG: Final = 0.1
"""… at full speed the time by which it may lag behind, s."""
_ASTRAY: Final = 0.3
"""How long it may be further away, s."""
_NEAR: Final = 1e-4
"""Distance at which it has arrived, rad or m."""


class Course:
    """The commands of one arm.

    A package is what the controller said last, its variables by name.

    Args:
        config: the arm.
        info: its command columns and period.
    """

    def __init__(self, config: URConfig, info: RobotInfo) -> None:
        self.config, self._info = config, info
        self.led = config.mode in ("position", "tool")
        """Whether the arm is led to places, so that there are speeds and distances."""
        self.step: Array = np.array(config.speed) * config.cycle if self.led else np.full(6, 1e9)
        """Longest way in one of the controller's cycles, rad or m."""
        self.sent: Array | None = None
        """The last command, within its limits; None before the first."""
        self.held_back = False
        """Whether the speed kept it from being sent as it was given."""
        self._sent_at = self._followed_at = -math.inf
        self._low, self._high = info.low, info.high
        self._rotation = np.array(config.rest)[3:] if config.mode == "tool" else np.zeros(3)

    def begin(self, here: Array) -> None:
        """Begin where the controller holds the arm. Outside its range a column may only come back."""
        self.sent, self._sent_at = here, time.monotonic()
        self._followed_at = self._sent_at
        self._low, self._high = np.minimum(self._info.low, here), np.maximum(self._info.high, here)

    def next(self, wanted: Array, package: Mapping[str, Array]) -> tuple[Array, Array]:
        """Limit a command; return from where to where the arm is led in the next period, each (6,)."""
        target = np.clip(wanted, self._low, self._high)
        start = passed = target
        now = time.monotonic()
        if self.led:
            assert self.sent is not None
            start = self.sent
            if now - self._sent_at > self._info.period + _GAP and not self._follows(package).all():
                start = self.held(package)
            share = min(1.0, max(SLOWEST, float(package["speed_scaling"][0])))
            reach = self.step * self.config.steps * share
            passed = start + np.clip(target - start, -reach, reach)
            self.held_back = bool((np.abs(passed - target) > 1e-9).any())
            target = passed
            self._low, self._high = np.minimum(self._info.low, target), np.maximum(self._info.high, target)
            if self.config.mode == "tool":
                self._rotation = target[3:]
        elif self.config.mode == "torque":
            damping = np.array(self.config.damping) * package["actual_qd"]
            start = passed = np.clip(target - damping, self._low, self._high)
        self.sent, self._sent_at = target, now
        return start, passed

    def held(self, package: Mapping[str, Array]) -> Array:
        """Return the command that leaves the arm where the controller holds it."""
        if self.config.mode == "position":
            return package["target_q"].copy()
        if self.config.mode == "tool":
            pose = package["target_TCP_pose"].copy()
            pose[3:] = nearest_rotation(pose[3:], self._rotation)
            return pose
        return np.zeros(6)

    def turned(self, package: Mapping[str, Array]) -> Array:
        """Return the rotation vector whose whole turns the tool's measured one has, rad, (3,)."""
        if self.config.mode == "tool":
            self._rotation = nearest_rotation(package["actual_TCP_pose"][3:], self._rotation)
        return self._rotation

    def has_arrived(self, package: Mapping[str, Array]) -> bool:
        """Whether the controller's target, which lags behind, is the last command."""
        return self.sent is not None and bool(np.abs(self.held(package) - self.sent).max() < _NEAR)

    def astray(self, package: Mapping[str, Array]) -> float:
        """Return how far the controller's target is from what is sent, rad or m, once it goes elsewhere; else 0.

        Then another program has the arm. Nothing else tells: a program runs, and the client says that it has
        passed everything on.
        """
        scaling = float(package["speed_scaling"][0])
        if not self.led or self.sent is None or scaling < SLOWEST:
            return 0.0
        now = time.monotonic()
        if self._follows(package).all():
            self._followed_at = now
        elif now - self._followed_at > _ASTRAY / scaling:
            return float(np.abs(self.held(package) - self.sent).max())
        return 0.0

    def refuse_far(self, here: Array, wanted: Array) -> None:
        """Raise `RobotError` if the arm is out of its range, or the first command far from where it stands."""
        if not self.led:
            return
        for channel, at, there in zip(self._info.command, here, wanted, strict=True):
            if max(channel.low - at, at - channel.high) > self.config.first_step:
                raise RobotError(
                    f"{channel.name} stands at {at:.3f} {channel.unit}, outside [{channel.low:g}, "
                    f"{channel.high:g}]; move it in with the pendant (freedrive), or correct the limits."
                )
            if abs(there - at) > self.config.first_step:
                raise RobotError(
                    f"the first command of {channel.name} is {there:.3f} {channel.unit}; it stands at {at:.3f}. "
                    "Walk there (SafeRobot.walk_to), beginning with the state's own command."
                )

    def _follows(self, package: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Return of which columns the controller's target is on its way to what was sent last."""
        assert self.sent is not None
        behind = np.abs(self.held(package) - self.sent)
        near: NDArray[np.bool_] = behind <= _BEHIND + np.array(self.config.speed) * _LAG
        return near
