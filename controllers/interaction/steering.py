"""A law of interaction that something else steers, once a period: its gains, desired wrench and velocity."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import finite_array
from pliant.controllers.interaction.controller import InteractionController
from pliant.controllers.interaction.execution import Conditioning
from pliant.controllers.interaction.frames import offset_pose
from pliant.controllers.interaction.gains import Gains, LawLimits
from pliant.controllers.interaction.goals import DesiredWrench, as_gains
from pliant.controllers.interaction.motion import STILL
from pliant.controllers.interaction.planning import Arm
from pliant.hardware.robot import RobotInfo, State


class SteeredInteraction(InteractionController):
    """An interaction controller in the static law, whose gains, wrench and velocity may change in every period.

    As a policy does that learns a variable impedance. Neither command nor speed jumps: the law takes gains without
    a jump, the desired wrench keeps `wrench_rate`, the velocity the limits' speed and acceleration. Gains are not
    checked for their stability in `steer`: whoever steers has done so for all that it may ask for
    (`check_stability`).

    Args:
        arm: see `Arm`.
        info: of the robot.
        gains: of the law that it begins with.
        conditioning: of the sensor's raw wrench.
        limits: of the law's motion, and of the velocity.
        options: of `InteractionController`.

    Raises: as `InteractionController`.
    """

    def __init__(
        self,
        arm: Arm,
        info: RobotInfo,
        gains: Gains | Mapping[str, Any],
        conditioning: Conditioning,
        *,
        limits: LawLimits | None = None,
        **options: Any,
    ) -> None:
        limits = limits or LawLimits()
        super().__init__(arm, info, gains, conditioning, limits=limits, **options)
        self._fastest = np.repeat([limits.speed, limits.turning], 3)
        self._change = np.repeat([limits.acceleration, limits.turning_acceleration], 3) * info.period
        self._velocity, self._wanted = np.zeros(6), np.zeros(6)

    def steer(
        self,
        gains: Gains | None = None,
        wrench: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
    ) -> None:
        """Ask for other gains, wrench or velocity from the next update on; None: as they are.

        Args:
            gains: of the law.
            wrench: desired, (6,), N and N·m, in the law's axes.
            velocity: desired of the tool, (6,), m/s and rad/s, in the law's axes; along those on which direct
                force is controlled it counts for nothing.

        Raises:
            ShapeError, OutOfBoundsError: not six finite numbers.
        """
        if gains is not None:
            self._tool.change(as_gains(gains), moving=True)
        if wrench is not None:
            self._asked.go_to(np.array(DesiredWrench(wrench).wrench))
        if velocity is not None:
            self._wanted = np.clip(finite_array("velocity", velocity, (6,)), -self._fastest, self._fastest)

    def reset(self, state: State) -> None:
        """Begin at a state; errors as of `InteractionController`."""
        super().reset(state)
        self._velocity, self._wanted = np.zeros(6), np.zeros(6)

    def _law_step(self) -> None:
        self._velocity = self._velocity + np.clip(self._wanted - self._velocity, -self._change, self._change)
        if self._course is not None or not self._velocity.any():
            super()._law_step()
            return
        tool = self._tool
        desired, way = tool.desired, STILL
        if not tool.held:
            desired, way = offset_pose(desired, self._period * self._velocity, tool.axes, desired)
        self._asked.advance()
        missing = STILL if self._wrench.taring else self._asked.value - self._wrench.value
        tool.follow(desired, way, missing)

    def _stand(self) -> None:
        super()._stand()
        self._velocity, self._wanted = np.zeros(6), np.zeros(6)
