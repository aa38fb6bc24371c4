"""Lead the tip of a planar arm along a path."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.controllers.checks import positive
from pliant.controllers.paths import Circle, Path
from pliant.envs.compiled import compiled
from pliant.envs.tasks.kernels import judge_path
from pliant.envs.tasks.planar import PlanarOnRobot, PlanarTask, point_channels
from pliant.envs.tasks.task import Episodes, periods
from pliant.errors import OutOfBoundsError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Channel, RobotInfo

_ELBOWS = ("up", "down")


@dataclass(frozen=True)
class TrackPath(PlanarTask):
    """Lead the tip along a path. The episode ends, truncated, with the path.

    | reward term | each period | range |
    |---|---|---|
    | `tracking` | 1/(1 + |e|²/width²), e = desired − measured position of the tip | (0, 1] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    Success: |e| was below `tolerance` in every period so far.

    Added to the observation: the tip, `tip/x` and `tip/z`, and where it should be and how fast at the end of the
    coming period, `desired/x`, `desired/z`, `desired_velocity/x` and `desired_velocity/z`.
    """

    path: Path = field(default_factory=lambda: Circle((1.0, 0.2), 0.4, 5.0, start=math.pi))
    """Desired motion of the tip."""
    elbow: Literal["up", "down"] = "up"
    """The solution of the inverse kinematics in which the links start."""
    width: float = 0.05
    """Error at which `tracking` falls to 1/2, m."""
    tolerance: float = 0.05
    """Largest error that counts as success, m."""
    speed_limit: float = 5.0
    """Bound of the observed desired speed, m/s."""
    smoothness: float = 0.05
    """Weight of `smoothness`."""
    spread: float = 0.02
    """The links start up to this far from the beginning of the path, drawn evenly, rad."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elbow not in _ELBOWS:
            raise unknown_name("elbow", self.elbow, _ELBOWS, "TrackPath")
        positive("TrackPath width", self.width, "m")
        positive("TrackPath tolerance", self.tolerance, "m")
        positive("TrackPath speed_limit", self.speed_limit, "m/s")
        check_bounds("TrackPath smoothness", self.smoothness, 0.0, 1e6)
        check_bounds("TrackPath spread", self.spread, 0.0, math.pi, "rad")

    def on(self, info: RobotInfo) -> "TrackPathOnRobot":
        """Return the task for a robot.

        Raises:
            OutOfBoundsError: the path leaves the arm's reach.
            ShapeError: the path is not in a plane.
            UnknownNameError, ConfigurationError: as `PlanarOnRobot`, and where `commanded` does not fit the robot.
        """
        return TrackPathOnRobot(self, info)


class TrackPathOnRobot(PlanarOnRobot):
    """`TrackPath` on a robot."""

    terms = ("tracking", "smoothness")
    task: TrackPath

    def __init__(self, task: TrackPath, info: RobotInfo) -> None:
        fast = task.speed_limit
        rates = (Channel(f"desired_velocity/{axis}", "m/s", -fast, fast) for axis in "xz")
        super().__init__(task, info, [*point_channels("desired", task.arm), *rates])
        time = info.period * np.arange(periods("TrackPath path", task.path.duration, info.period) + 1)
        points = task.path.position(time)
        if points.shape[1:] != (2,):
            raise ShapeError(f"TrackPath: a path of {points.shape[-1]} coordinates; 2 are needed, (x, z).")
        try:
            self._start = task.arm.inverse_kinematics(points, elbow=task.elbow)[0]
        except OutOfBoundsError as error:
            raise OutOfBoundsError(f"TrackPath: the path leaves the arm's reach: {error}") from error
        self._desired = np.hstack([points, task.path.velocity(time)])[[*range(len(time)), -1]]
        """Positions and velocities at every period, the last ones twice."""
        self._judge = compiled(judge_path)

    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw where the links start, about the beginning of the path."""
        added[2:] = self._desired[1]
        start: Array = self._start + random.uniform(-self.task.spread, self.task.spread, 2)
        return start

    def judge(self, episodes: Episodes) -> None:
        """See `TrackPath` for the terms."""
        task = self.task
        self._locate(episodes.signals, episodes.added, task.arm.l1, task.arm.l2)
        self._judge(
            episodes.memory,
            self._desired,
            episodes.added,
            episodes.outcome,
            task.width,
            task.smoothness,
            task.tolerance,
        )
