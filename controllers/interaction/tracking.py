"""From a desired pose and a missing force to joint positions, by a law and the arm's kinematics."""

from typing import Any, Final

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.interaction.frames import Frame, along, offset_pose
from pliant.controllers.interaction.gains import Gains, LawLimits
from pliant.controllers.interaction.laws import DirectForce, Law, law_of
from pliant.controllers.interaction.motion import STILL
from pliant.controllers.interaction.planning import Arm
from pliant.controllers.poses import difference, matrix

_GAIN: Final = 0.2
"""Of the loop of the inverse kinematics, per period."""


class Tracking:
    """Joint positions at which the tool is where a law wants it.

    Args:
        arm: see `Arm`.
        period: s.
        frame: whose axes the law acts along.
        gains: of the law.
        limits: of its motion.
        q: joint positions at the beginning, (joints,).
    """

    def __init__(self, arm: Arm, period: float, frame: Frame, gains: Gains, limits: LawLimits, q: Array) -> None:
        self._arm, self._period, self._frame, self._limits = arm, period, frame, limits
        self._most = np.asarray(arm.speed, np.float64)
        self._low, self._high = arm.kinematics.low, arm.kinematics.high
        self.law: Law[Any] = law_of(period, gains, limits)
        self.q, self.speed = np.clip(q, self._low, self._high), np.zeros(len(q))
        """Commanded positions of the joints, (joints,), and their speeds over the last period."""
        self.held = ""
        """What keeps the tool from its way; see `ToolStep`."""
        self.stand()

    def stand(self) -> None:
        """Let the law take over where the joints are, at rest."""
        self.desired: Array = self._arm.kinematics.pose(self.q)
        """Pose about which the law acts, (7,)."""
        self.target = self.start = self.desired
        """Commanded pose, and the desired one at the beginning of the motion, (7,) each."""
        self.axes = self._own_axes()
        """Of the law in the world, (3, 3)."""
        self.held = ""
        self.law.begin()

    @property
    def led_by_force(self) -> bool:
        """Whether the tool may be far from the desired pose, because its law does not lead it back."""
        return isinstance(self.law, DirectForce)

    def anchor(self) -> None:
        """Make the commanded pose the desired one; the speed goes on."""
        self.desired = self.target.copy()
        self.law.begin(STILL, self.law.rate.copy())

    def resume(self) -> None:
        """Let the law go on as it is after the missing force has jumped for another reason than a motion."""
        self.law.begin(self.law.offset.copy(), self.law.rate.copy())

    def begin_motion(self) -> Array:
        """Begin a motion at the desired pose; returns what takes vectors from the axes before to the new ones."""
        self.start = self.desired
        before, self.axes = self.axes, self._own_axes()
        turn: Array = self.axes.T @ before
        self.law.turn(turn)
        return turn

    def change(self, gains: Gains, moving: bool) -> None:
        """Go on with other gains, or another law.

        Args:
            gains: of it.
            moving: whether a motion is going on, whose desired pose stays then.
        """
        if type(gains) is type(self.law.gains):
            self.law.gains = gains
            return
        if self.led_by_force and not moving:
            self.anchor()
        law = law_of(self._period, gains, self._limits)
        law.begin(self.law.offset, self.law.rate)
        self.law = law

    def follow(self, desired: Array, way: Array, missing: Array) -> None:
        """Let a period pass under the law.

        Args:
            desired: pose at its end, (7,).
            way: that the desired pose makes in it, (6,), in the world.
            missing: desired wrench minus the measured one, (6,), in the law's axes.
        """
        period = self._period
        self.desired = desired
        self.law.advance(STILL if way is STILL else along(self.axes, way, 1.0 / period), missing)
        target, way = offset_pose(desired, self.law.offset, self.axes, self.target)
        step = self._arm.kinematics.step(
            self.q, self.target, way / period, period, gain=_GAIN / period, speed=self._most
        )
        self.held = step.held
        if step.held:
            # the pose that the joints could reach is the commanded one, so that nothing winds up
            target = self._arm.kinematics.place(step.q)
            rate = along(self.axes, difference(target, self.target), 1.0 / period)
            self.law.correct(along(self.axes, difference(target, desired)), rate)
        self.target = target
        self._go(step.q)

    def move(self, q: Array) -> None:
        """Let a period pass in which the joints go to positions, (joints,), within limits, without the law."""
        self._go(np.clip(q, self._low, self._high))
        self.desired = self.target = self._arm.kinematics.pose(self.q)

    def _go(self, q: Array) -> None:
        self.speed = (q - self.q) / self._period
        self.q = q

    def _own_axes(self) -> Array:
        return matrix(self._arm.frames.locate(self._frame, self.target, self.start)[3:])
