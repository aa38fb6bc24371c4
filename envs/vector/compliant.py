"""The registered vector environments."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from gymnasium.vector import AutoresetMode

from pliant.actuators import Law, Mode
from pliant.envs.compliant import JointOptions, arm2_robot, as_task, rig1_robot
from pliant.envs.tasks import Task
from pliant.envs.vector.env import PliantVectorEnv
from pliant.hardware.robot import Robot


class CompliantVectorEnv(PliantVectorEnv):
    """A vector environment made from what `gymnasium.make_vec` is told."""

    @staticmethod
    @abstractmethod
    def _make(options: JointOptions, robot: Robot | Mapping[str, Any] | None) -> Robot:
        """The robot that all simulate."""

    def __init__(
        self,
        num_envs: int = 1,
        task: str | Task = "track",
        *,
        law: str | Law | None = None,
        mode: Mode | int | str | None = None,
        parameters: str | Mapping[str, float] | None = None,
        period: float | None = None,
        robot: Robot | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 0,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Make the environments. Arguments of the single environment, of `PliantVectorEnv`, and these.

        Args:
            num_envs: as of `PliantVectorEnv`.
            task: as of the single environment.
            law: likewise.
            mode: likewise.
            parameters: likewise.
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
        made = self._make(JointOptions(law, mode, parameters, period), robot)
        super().__init__(
            made,
            as_task(task),
            num_envs,
            autoreset_mode=autoreset_mode,
            threads=threads,
            render_mode=render_mode,
            width=width,
            height=height,
        )


class CompliantJointVectorEnv(CompliantVectorEnv):
    """n environments like `CompliantJointEnv`: the vector environment of `pliant/CompliantJoint-v0`."""

    _make = staticmethod(rig1_robot)


class CompliantArm2VectorEnv(CompliantVectorEnv):
    """n environments like `CompliantArm2Env`: the vector environment of `pliant/CompliantArm2-v0`."""

    _make = staticmethod(arm2_robot)
