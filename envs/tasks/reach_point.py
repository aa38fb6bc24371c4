"""Bring the tip of a planar arm to a point and keep it there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.controllers.checks import finite_array, positive
from pliant.envs.compiled import compiled
from pliant.envs.tasks.kernels import judge_point
from pliant.envs.tasks.planar import PlanarOnRobot, PlanarTask, point_channels
from pliant.envs.tasks.task import Episodes, check_hold, periods
from pliant.errors import check_bounds
from pliant.hardware.robot import Array, RobotInfo


@dataclass(frozen=True)
class ReachPoint(PlanarTask):
    """Bring the tip to a point drawn anew for every episode, and keep it there.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | −|goal − tip|, m | ≤ 0 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `success` | `bonus` in the period of success | 0 or bonus |

    Success: the tip has been nearer than `tolerance` for the last `hold` seconds. It terminates the episode;
    `duration` truncates it. Where both fall on one period, the episode is terminated.

    Added to the observation: the tip and the goal, `tip/x`, `tip/z`, `goal/x`, `goal/z`. Goals are spread evenly
    over the ring between `nearest` and `farthest` around the shoulder.
    """

    nearest: float = 0.5
    """Least distance of a goal from the shoulder, m."""
    farthest: float = 1.8
    """Largest, m."""
    tolerance: float = 0.02
    """Largest distance from the goal that counts as reached, m."""
    hold: float = 0.2
    """How long it must be kept, s."""
    duration: float = 4.0
    """How long the episode may take, s."""
    bonus: float = 10.0
    """Reward of success."""
    smoothness: float = 0.05
    """Weight of `smoothness`."""
    start: Sequence[float] = (-math.pi / 2, 0.0)
    """Where the links start, (2,), rad; upright, the arm hangs there."""
    spread: float = 0.1
    """They start up to this far from `start`, drawn evenly, rad."""

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.arm.reach
        check_bounds("ReachPoint nearest", self.nearest, low, high, "m")
        check_bounds("ReachPoint farthest", self.farthest, self.nearest, high, "m")
        positive("ReachPoint tolerance", self.tolerance, "m")
        check_hold("ReachPoint", self.hold, self.duration)
        check_bounds("ReachPoint bonus", self.bonus, 0.0, 1e12)
        check_bounds("ReachPoint smoothness", self.smoothness, 0.0, 1e6)
        check_bounds("ReachPoint spread", self.spread, 0.0, math.pi, "rad")
        finite_array("ReachPoint start", self.start, (2,))

    def on(self, info: RobotInfo) -> "ReachPointOnRobot":
        """Return the task for a robot; raises as `PlanarOnRobot`, and where `commanded` does not fit the robot."""
        return ReachPointOnRobot(self, info)


class ReachPointOnRobot(PlanarOnRobot):
    """`ReachPoint` on a robot."""

    terms = ("distance", "smoothness", "success")
    task: ReachPoint

    def __init__(self, task: ReachPoint, info: RobotInfo) -> None:
        super().__init__(task, info, point_channels("goal", task.arm))
        self._hold = periods("ReachPoint hold", task.hold, info.period)
        self._horizon = periods("ReachPoint duration", task.duration, info.period)
        self._judge = compiled(judge_point)

    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw where the links start, then the goal."""
        task = self.task
        position = np.asarray(task.start) + random.uniform(-task.spread, task.spread, 2)
        distance = math.sqrt(random.uniform(task.nearest**2, task.farthest**2))  # even over the area
        bearing = random.uniform(-math.pi, math.pi)
        added[2], added[3] = distance * math.cos(bearing), distance * math.sin(bearing)
        return position

    def judge(self, episodes: Episodes) -> None:
        """See `ReachPoint` for the terms."""
        task = self.task
        self._locate(episodes.signals, episodes.added, task.arm.l1, task.arm.l2)
        self._judge(
            episodes.memory,
            episodes.added,
            episodes.outcome,
            task.tolerance,
            self._hold,
            self._horizon,
            task.smoothness,
            task.bonus,
        )
