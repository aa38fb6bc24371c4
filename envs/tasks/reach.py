"""Reach a posture and stay there."""

import math
from dataclasses import dataclass

import numpy as np

from pliant.controllers.checks import positive
from pliant.controllers.trajectories import check_range
from pliant.envs.compiled import compiled
from pliant.envs.tasks.kernels import judge_reaching
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot, Values, check_hold, per_joint, periods
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array, Channel, RobotInfo


@dataclass(frozen=True)
class Reach(Task):
    """Bring all joints to angles drawn anew for every episode, and keep them there.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | −√mean(e²), e = goal − measured angle of each joint, rad | ≤ 0 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `success` | `bonus` in the period of success | 0 or bonus |

    Success: every |e| has been below `tolerance` for the last `hold` seconds. It terminates the episode;
    `duration` truncates it. Where both fall on one period, the episode is terminated.

    Added to the observation: the goal of each joint.
    """

    low: Values = -0.8
    """Lowest goal, per joint, rad."""
    high: Values = 0.8
    """Highest goal, per joint, rad."""
    tolerance: float = 0.05
    """Largest error that counts as reached, rad."""
    hold: float = 0.2
    """How long it must be kept, s."""
    duration: float = 3.0
    """How long the episode may take, s."""
    bonus: float = 10.0
    """Reward of success."""
    smoothness: float = 0.05
    """Weight of `smoothness`."""
    start: Values = 0.0
    """Where the links start, per joint, rad."""
    spread: float = 0.02
    """They start up to this far from `start`, drawn evenly, rad."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("Reach tolerance", self.tolerance, "rad")
        check_hold("Reach", self.hold, self.duration)
        check_bounds("Reach bonus", self.bonus, 0.0, 1e12)
        check_bounds("Reach smoothness", self.smoothness, 0.0, 1e6)
        check_bounds("Reach spread", self.spread, 0.0, math.pi, "rad")

    def on(self, info: RobotInfo) -> "ReachOnRobot":
        """Return the task for a robot.

        Raises:
            ShapeError: a value per joint for another number of joints.
            OutOfBoundsError: such a value is not finite, or outside the range of its joint.
            ConfigurationError: `low` above `high`, or `commanded` does not fit the robot.
            UnknownNameError: a commanded column that the robot does not have.
        """
        return ReachOnRobot(self, info)


class ReachOnRobot(TaskOnRobot):
    """`Reach` on a robot."""

    terms = ("distance", "smoothness", "success")
    task: Reach

    def __init__(self, task: Reach, info: RobotInfo) -> None:
        joints = len(info.joints)
        self._lowest, self._highest = (
            per_joint(f"Reach {name}", getattr(task, name), joints) for name in ("low", "high")
        )
        if not (self._lowest <= self._highest).all():
            raise ConfigurationError(f"Reach: low {task.low} must not exceed high {task.high}.")
        self._start = per_joint("Reach start", task.start, joints)
        for what, angles in (("low", self._lowest), ("high", self._highest), ("start", self._start)):
            check_range(f"Reach {what}", angles, info)
        self._hold = periods("Reach hold", task.hold, info.period)
        self._horizon = periods("Reach duration", task.duration, info.period)
        limit = task.position_limit
        super().__init__(task, info, [Channel(f"{joint}/goal", "rad", -limit, limit) for joint in info.joints])
        self._judge = compiled(judge_reaching)

    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw where the links start, then the goal."""
        spread = self.task.spread
        position = self._start + random.uniform(-spread, spread, len(self._start))
        added[:] = random.uniform(self._lowest, self._highest)
        return position

    def judge(self, episodes: Episodes) -> None:
        """See `Reach` for the terms."""
        self._judge(
            episodes.memory,
            episodes.signals,
            episodes.added,
            episodes.outcome,
            self.task.tolerance,
            self._hold,
            self._horizon,
            self.task.smoothness,
            self.task.bonus,
        )
