"""The textbooks' planar arm of two links, driven by torques, as an environment."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.compliant import JointOptions
from pliant.envs.env import PliantEnv
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.two_link import torque_joints, two_link
from pliant.envs.tasks import PlanarKinematics, ReachPose, Task, TrackPath
from pliant.envs.tasks.goals import Ring
from pliant.errors import unknown_name
from pliant.hardware.robot import Robot

PLANAR_TASKS: dict[str, Callable[..., Task]] = {"reach": lambda: planar_reach(), "track": TrackPath}
"""The tasks by the names that `gymnasium.make` takes."""


def planar_reach(*, nearest: float = 0.5, farthest: float = 1.8, **settings: Any) -> ReachPose:
    """Return `ReachPose` for the tip: goals are spread evenly over a ring, and the arm starts near hanging down.

    Args:
        nearest: least distance of a goal from the shoulder, m.
        farthest: largest, m.
        settings: of `ReachPose` otherwise.
    """
    usual = {"start": (-math.pi / 2, 0.0), "spread": 0.1, "goal": Ring(nearest=nearest, farthest=farthest)}
    return ReachPose(axes="xz", **{**usual, **settings})


@dataclass(frozen=True)
class TwoLinkOptions(JointOptions):
    """What `gymnasium.make` may say about the simulated arm; None: as described by `TwoLinkArmEnv`."""

    vertical: bool | None = None
    damping: float | None = None
    torque_limit: float | None = None

    def arm(self, robot: Robot | Mapping[str, Any] | None, shape: TwoLinkArm) -> Robot:
        """An arm of that shape as described, or a robot in its place; errors of `JointOptions.robot`."""

        def build() -> RobotModel:
            return two_link(
                torque_joints(60.0 if self.torque_limit is None else self.torque_limit),
                lengths=(shape.l1, shape.l2),
                masses=(shape.m1, shape.m2),
                vertical=self.vertical is not False,
                damping=0.0 if self.damping is None else self.damping,
            )

        return self.robot(robot, build)


def as_planar_task(task: str | Task) -> Task:
    """Return a task from its name or as it is; raise `UnknownNameError` otherwise."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str) or task not in PLANAR_TASKS:
        raise unknown_name("task", task, PLANAR_TASKS, "the two-link arm")
    return PLANAR_TASKS[task]()


class TwoLinkArmEnv(PliantEnv):
    """Two rods of 1 m and 1 kg in a plane, driven by torques: `pliant/TwoLinkArm-v0`.

    Angles: q1 of the first rod from +x towards the
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
    | 0, 1 | `position` | −∞ | ∞ | rad |
    | 2, 3 | `velocity` | −∞ | ∞ | rad/s |
    | 4, 5 | `torque`, of the drive on the link | −∞ | ∞ | N·m |
    | 6, 7 | the torques in force, `torque_command`, as under actions | −60 | 60 | N·m |
    | 8, 9 | `tip/position_x`, `tip/position_z`: the end effector, from the shoulder | −2 | 2 | m |
    | 10, 11 | `goal/position_x`, `goal/position_z` (task `reach`) | −2 | 2 | m |
    | 10, 11 | `desired/position_x`, `_z` at the end of the coming period (task `track`) | −2 | 2 | m |
    | 12, 13 | `desired/velocity_x`, `_z` likewise (task `track`) | −∞ | ∞ | m/s |

    Points are (x, z) from the shoulder in the arm's plane: z is the height where the arm is upright, and the
    world's y where it lies.

    ## Rewards, start, end
    See the tasks, `pliant.envs.tasks.ReachPose` and `TrackPath`.
    """

    def __init__(
        self,
        task: str | Task = "reach",
        *,
        arm: TwoLinkArm | None = None,
        elbow: Literal["up", "down"] = "up",
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
            task: "reach", "track" or a configured task, such as `planar_reach` or `TrackPath`.
            arm: its lengths and masses; None: 1 m and 1 kg each.
            elbow: the solution of the inverse kinematics in which the joints start on a path.
            vertical: whether the arm moves in a vertical plane, with gravity; None: it does.
            damping: viscous friction of each joint, N·m·s/rad; None: 0.
            torque_limit: N·m; None: 60.
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
        kinematics = PlanarKinematics(TwoLinkArm() if arm is None else arm, elbow)
        options = TwoLinkOptions(period=period, vertical=vertical, damping=damping, torque_limit=torque_limit)
        made, planar = options.arm(robot, kinematics.arm), as_planar_task(task)
        super().__init__(made, planar, render_mode, kinematics=kinematics, width=width, height=height)
