"""Off what a tool touches: how far the joints are from where the tool would be free."""

import math
from typing import Final

import numpy as np

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array
from pliant.controllers.interaction.laws import exact_step

DISTANCE: Final = 8e-3
"""How far the tool is lifted off, m."""
_RATE: Final = 4.0
"""Of the two poles with which it follows the force, and a contact that ends, 1/s: gentle also on a way back that
is several times as quick."""
_INTERVAL: Final = 0.01
"""From one look at the force to the next, s, about."""
_ENDED: Final = 1e-5
"""Shorter than this is none, m."""


class LiftOff:
    """Joint positions at which the tool is lifted off what it touches, against the force that it exerts.

    With the direction n of that force, 0 without a contact, and a low-pass h of second order, the tool is at
    x(q) − 8 mm·h(n). Some seconds after a contact the joints are where they are.

    Args:
        kinematics: of the tool.
        period: s.
    """

    def __init__(self, kinematics: ArmKinematics, period: float) -> None:
        self._kinematics = kinematics
        self._every = max(round(_INTERVAL / period), 1)
        self._interval = self._every * period
        self._step = exact_step(1.0, 2.0 * _RATE, _RATE**2, self._interval)
        self._fast = np.full(len(kinematics.joints), math.inf)
        self.reset()

    def reset(self) -> None:
        """Begin anew, without a contact."""
        self._offset, self._rate, self._count = np.zeros(3), np.zeros(3), 0
        self.shift = np.zeros(len(self._kinematics.joints))
        """From the joint positions of the last look to those, (joints,), within the joints' limits."""

    def take(self, q: Array, force: Array | None) -> None:
        """Let a period pass.

        Args:
            q: joint positions at its end, (joints,).
            force: of the tool on its surroundings, (3,), N, in the world's axes; None: it touches nothing.
        """
        self._count += 1
        if self._count < self._every:
            return
        self._count = 0
        wanted = np.zeros(3) if force is None else -DISTANCE / float(np.linalg.norm(force)) * force
        a, b, c, d, _, _ = self._step
        left = self._offset - wanted
        self._offset, self._rate = wanted + a * left + b * self._rate, c * left + d * self._rate
        if force is None and np.abs(self._offset).max() < _ENDED and np.abs(self._rate).max() < _ENDED:
            self.reset()
            return
        kinematics = self._kinematics
        target = kinematics.place(q)
        target[:3] += self._offset
        begin = np.clip(q + self.shift, kinematics.low, kinematics.high)
        step = kinematics.step(
            begin, target, np.zeros(6), self._interval, gain=1.0 / self._interval, speed=self._fast
        )
        self.shift = step.q - q
