"""The registered vector environment of the two-link arm."""

from collections.abc import Mapping
from typing import Any

from gymnasium.vector import AutoresetMode

from pliant.envs.tasks.planar import PlanarTask
from pliant.envs.two_link_arm import TwoLinkOptions, as_planar_task
from pliant.envs.vector.env import PliantVectorEnv
from pliant.hardware.robot import Robot


class TwoLinkArmVectorEnv(PliantVectorEnv):
    """n environments like `TwoLinkArmEnv`: the vector environment of `pliant/TwoLinkArm-v0`."""

    def __init__(
        self,
        num_envs: int = 1,
        task: str | PlanarTask = "reach",
        *,
        vertical: bool | None = None,
        damping: float | None = None,
        torque_limit: float | None = None,
        period: float | None = None,
        robot: Robot | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 0,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Make the environments. Arguments of `TwoLinkArmEnv`, of `PliantVectorEnv`, and these.

        Args:
            num_envs: as of `PliantVectorEnv`.
            task: as of `TwoLinkArmEnv`.
            vertical: likewise.
            damping: likewise.
            torque_limit: likewise.
            period: likewise.
            robot: options of `SimulatedRobot` by name, or one that takes the place of this one.
            autoreset_mode: as of `PliantVectorEnv`.
            threads: likewise.
            render_mode: likewise.
            width: likewise.
            height: likewise.

        Raises:
            PliantError: whatever the robot, the task or `PliantVectorEnv` refuses.
        """
        planar = as_planar_task(task)
        options = TwoLinkOptions(period=period, vertical=vertical, damping=damping, torque_limit=torque_limit)
        made = options.arm(robot, planar)
        super().__init__(
            made,
            planar,
            num_envs,
            autoreset_mode=autoreset_mode,
            threads=threads,
            render_mode=render_mode,
            width=width,
            height=height,
        )
