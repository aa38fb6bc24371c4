"""The textbooks' planar arm of two links, driven by torques, as an environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.envs.compliant import JointOptions
from pliant.envs.env import PliantEnv
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.two_link import torque_joints, two_link
from pliant.envs.tasks.planar import PlanarTask
from pliant.envs.tasks.reach_point import ReachPoint
from pliant.envs.tasks.track_path import TrackPath
from pliant.errors import unknown_name
from pliant.hardware.robot import Robot

PLANAR_TASKS: dict[str, type[PlanarTask]] = {"reach": ReachPoint, "track": TrackPath}
"""The tasks by the names that `gymnasium.make` takes."""


@dataclass(frozen=True)
class TwoLinkOptions(JointOptions):
    """What `gymnasium.make` may say about the simulated arm; None: as described by `TwoLinkArmEnv`."""

    vertical: bool | None = None
    damping: float | None = None
    torque_limit: float | None = None

    def arm(self, robot: Robot | Mapping[str, Any] | None, task: PlanarTask) -> Robot:
        """The arm that the task describes, or a robot in its place; errors of `JointOptions.robot`."""

        def build() -> RobotModel:
            return two_link(
                torque_joints(60.0 if self.torque_limit is None else self.torque_limit),
                lengths=(task.arm.l1, task.arm.l2),
                masses=(task.arm.m1, task.arm.m2),
                vertical=self.vertical is not False,
                damping=0.0 if self.damping is None else self.damping,
            )

        return self.robot(robot, build)


def as_planar_task(task: str | PlanarTask, torque_limit: float | None = None) -> PlanarTask:
    """Return a task from its name, observing torques up to the arm's limit (N·m), or as it is.

    Raises:
        UnknownNameError: no such task.
    """
    if isinstance(task, PlanarTask):
        return task
    if not isinstance(task, str) or task not in PLANAR_TASKS:
        raise unknown_name("task", task, PLANAR_TASKS, "the two-link arm")
    return PLANAR_TASKS[task]() if torque_limit is None else PLANAR_TASKS[task](torque_limit=torque_limit)


class TwoLinkArmEnv(PliantEnv):
    """Two rods of 1 m and 1 kg in a plane, driven by torques: `pliant/TwoLinkArm-v0`.

    The arm's lengths and masses are those of the task's `arm`. Angles: q1 of the first rod from +x towards the
    second axis of the plane (up; y where the arm lies), q2 of the second rod from the first.

    ## Action space
    `Box(-1, 1, (2,), float32)`, spread over the torques of the joints:

    | i | action | at −1 | at 1 | unit |
    |---|---|---|---|---|
    | 0 | `shoulder/torque` | −60 | 60 | N·m |
    | 1 | `elbow/torque` | −60 | 60 | N·m |

    ## Observation space
    `Box(low, high, (m,), float32)`, shoulder before elbow:

    | i | observation | low | high | unit |
    |---|---|---|---|---|
    | 0, 1 | `position` | −4π | 4π | rad |
    | 2, 3 | `velocity` | −20 | 20 | rad/s |
    | 4, 5 | `torque`, of the drive on the link | −60 | 60 | N·m |
    | 6, 7 | the torques in force, as under actions | −60 | 60 | N·m |
    | 8, 9 | `tip/x`, `tip/z`: the end-effector, from the shoulder | −2 | 2 | m |
    | 10, 11 | `goal/x`, `goal/z` (task `reach`) | −2 | 2 | m |
    | 10, 11 | `desired/x`, `desired/z` at the end of the coming period (task `track`) | −2 | 2 | m |
    | 12, 13 | `desired_velocity/x`, `desired_velocity/z` likewise (task `track`) | −5 | 5 | m/s |

    ## Rewards, start, end
    See the tasks, `pliant.envs.tasks.reach_point.ReachPoint` and `pliant.envs.tasks.track_path.TrackPath`.
    """

    def __init__(
        self,
        task: str | PlanarTask = "reach",
        *,
        vertical: bool | None = None,
        damping: float | None = None,
        torque_limit: float | None = None,
        period: float | None = None,
        robot: Robot | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Make the environment.

        Args:
            task: "reach", "track" or a configured `ReachPoint` or `TrackPath`.
            vertical: whether the arm moves in a vertical plane, with gravity; None: it does.
            damping: viscous friction of each joint, N·m·s/rad; None: 0.
            torque_limit: N·m; None: 60. Also the bound of observed torques, where the task is given by its name.
            period: time from one action to the next, s; None: 0.02.
            robot: options of `SimulatedRobot` (noise, delays, …) by name; or any robot with two joints, real or
                simulated, that takes the place of this one.
            render_mode: None, "human" or "rgb_array".
            width: of an image, pixels.
            height: of an image, pixels.

        Raises:
            UnknownNameError: no such task or option.
            OutOfBoundsError, ConfigurationError: a value out of bounds, or values that do not go together.
        """
        planar = as_planar_task(task, torque_limit)
        options = TwoLinkOptions(period=period, vertical=vertical, damping=damping, torque_limit=torque_limit)
        super().__init__(options.arm(robot, planar), planar, render_mode, width=width, height=height)
