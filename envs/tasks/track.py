"""Follow a trajectory."""

import math
from dataclasses import dataclass, field

import numpy as np

from pliant.controllers.checks import positive
from pliant.controllers.trajectories import MinimumJerk, Trajectory, desired_motion
from pliant.envs.compiled import compiled
from pliant.envs.tasks.kernels import judge_tracking
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot
from pliant.errors import check_bounds
from pliant.hardware.robot import Array, Channel, RobotInfo


@dataclass(frozen=True)
class Track(Task):
    """Follow a trajectory with all joints. The episode ends, truncated, with the trajectory.

    | reward term | each period | range |
    |---|---|---|
    | `tracking` | 1/(1 + mean(e²)/width²), e = desired − measured angle of each joint | (0, 1] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    Success: every |e| was below `tolerance` in every period so far.

    Added to the observation, per joint: the desired angle and speed at the end of the coming period.
    """

    trajectory: Trajectory = field(default_factory=lambda: MinimumJerk(0.0, 0.8, 4.0))
    """Desired motion; one of a single joint is followed by all joints."""
    width: float = 0.1
    """Root-mean-square error at which `tracking` falls to 1/2, rad."""
    tolerance: float = 0.08
    """Largest error that counts as success, rad."""
    smoothness: float = 0.05
    """Weight of `smoothness`."""
    spread: float = 0.02
    """The links start up to this far from the trajectory's beginning, drawn evenly, rad."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("Track width", self.width, "rad")
        positive("Track tolerance", self.tolerance, "rad")
        check_bounds("Track smoothness", self.smoothness, 0.0, 1e6)
        check_bounds("Track spread", self.spread, 0.0, math.pi, "rad")

    def on(self, info: RobotInfo) -> "TrackOnRobot":
        """Return the task for a robot.

        Raises:
            ShapeError, MismatchError: the trajectory is of another number of joints, or names other ones.
            OutOfBoundsError: it is shorter than a period, or leaves a joint's range.
            UnknownNameError, ConfigurationError: `commanded` does not fit the robot.
        """
        return TrackOnRobot(self, info)


class TrackOnRobot(TaskOnRobot):
    """`Track` on a robot."""

    terms = ("tracking", "smoothness")
    task: Track

    def __init__(self, task: Track, info: RobotInfo) -> None:
        joints = len(info.joints)
        motion = desired_motion(task.trajectory, info, one_for_all=True)
        position, velocity = (np.broadcast_to(a, (len(a), joints)) for a in motion[1:])
        self._desired = np.hstack([position, velocity])[[*range(len(position)), -1]]
        """Positions and velocities at every period, the last ones twice."""
        limits = {"position": ("rad", task.position_limit), "velocity": ("rad/s", task.velocity_limit)}
        added = [
            Channel(f"{joint}/desired_{quantity}", unit, -limit, limit)
            for quantity, (unit, limit) in limits.items()
            for joint in info.joints
        ]
        super().__init__(task, info, added)
        self._judge = compiled(judge_tracking)

    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw where the links start, about the beginning of the trajectory."""
        added[:] = self._desired[1]
        position = self._desired[0, : self._desired.shape[1] // 2]
        return position + random.uniform(-self.task.spread, self.task.spread, len(position))

    def judge(self, episodes: Episodes) -> None:
        """See `Track` for the terms."""
        self._judge(
            episodes.memory,
            episodes.signals,
            self._desired,
            episodes.added,
            episodes.outcome,
            self.task.width,
            self.task.smoothness,
            self.task.tolerance,
        )
