"""Throw a ball as far as possible."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pliant.controllers.checks import finite_array, positive
from pliant.envs.compiled import compiled
from pliant.envs.models.arm2 import LENGTHS
from pliant.envs.tasks.kernels import CHANGE, REWARD, STEP, SUCCESS, TALLY, TERMINATED, TRUNCATED
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot, Values, per_joint, periods
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array, Channel, RobotInfo

_FARTHEST: Final = 10.0
"""Bound of observed distances, m."""


@dataclass(frozen=True)
class Throw(Task):
    """Throw a ball with a hanging planar arm: wind up, release the springs, let go at the best instant.

    A ball that is let go at the tip flies freely, xₗ = x + ẋ·(ż + √(ż² + 2·g·z))/g, and lands on the floor. The
    hand opens by itself, at the end of the period from which the ball flies farthest in the direction of positive
    angles. The ball's own mass is neglected.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | by how much a ball let go now would fly farther than from any period before, m | ≥ 0 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    So the sum of `distance` over an episode is the throw's distance from below the shoulder.

    Success: it is at least `goal`. The episode ends after `duration`, truncated.

    Added to the observation: how far a ball let go now would fly, `throw/now`, the farthest so far, `throw/best`
    (both m), and the time left, `throw/time_left` (s).

    A motor gives the link no more than its own limited speed, and a spring gives back in an instant what the motor
    put into it before. The same arm with rigid joints throws less far.
    """

    goal: float = 0.95
    """Distance that counts as success, m."""
    duration: float = 1.2
    """How long the episode takes, s."""
    lengths: Sequence[float] = LENGTHS
    """From each joint to the next, and from the last one to the tip, m."""
    height: float = 0.42
    """Of the first joint above the floor, m."""
    gravity: float = 9.81
    """m/s²"""
    smoothness: float = 0.0
    """Weight of `smoothness`."""
    start: Values = 0.0
    """Where the links start, per joint, rad; 0 hangs down."""
    spread: float = 0.02
    """They start up to this far from `start`, drawn evenly, rad."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, unit in (("goal", "m"), ("duration", "s"), ("height", "m"), ("gravity", "m/s²")):
            positive(f"Throw {name}", getattr(self, name), unit)
        lengths = finite_array("Throw lengths", self.lengths, (None,))
        object.__setattr__(self, "lengths", tuple(lengths.tolist()))
        if not self.height > sum(abs(length) for length in self.lengths):
            raise ConfigurationError(
                f"Throw: at a height of {self.height:g} m an arm of {sum(self.lengths):g} m hits the floor."
            )
        check_bounds("Throw smoothness", self.smoothness, 0.0, 1e6)
        check_bounds("Throw spread", self.spread, 0.0, math.pi, "rad")

    def on(self, info: RobotInfo) -> "ThrowOnRobot":
        """Return the task for a robot.

        Raises:
            ConfigurationError: not one length for each joint, or `commanded` does not fit the robot.
            ShapeError, OutOfBoundsError: `start` does not fit it.
            UnknownNameError: a commanded column that the robot does not have.
        """
        return ThrowOnRobot(self, info)


class ThrowOnRobot(TaskOnRobot):
    """`Throw` on a robot."""

    terms = ("distance", "smoothness")
    task: Throw

    def __init__(self, task: Throw, info: RobotInfo) -> None:
        if len(task.lengths) != len(info.joints):
            raise ConfigurationError(
                f"Throw: {len(task.lengths)} lengths for the {len(info.joints)} joints of {info.name!r} "
                f"({', '.join(info.joints)})."
            )
        self._lengths = np.array(task.lengths)
        self._start = per_joint("Throw start", task.start, len(info.joints))
        self._horizon = periods("Throw duration", task.duration, info.period)
        self._period = info.period
        added = [
            Channel("throw/now", "m", -_FARTHEST, _FARTHEST),
            Channel("throw/best", "m", 0.0, _FARTHEST),
            Channel("throw/time_left", "s", 0.0, self._horizon * info.period),
        ]
        super().__init__(task, info, added)
        self._judge = compiled(judge_throwing)

    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw where the links start."""
        added[:] = 0.0, 0.0, self._horizon * self._period
        return self._start + random.uniform(-self.task.spread, self.task.spread, len(self._start))

    def judge(self, episodes: Episodes) -> None:
        """See `Throw` for the terms."""
        self._judge(
            episodes.memory,
            episodes.signals,
            episodes.added,
            episodes.outcome,
            self._lengths,
            self.task.height,
            self.task.gravity,
            self.task.goal,
            self.task.smoothness,
            self._horizon,
            self._period,
        )


def judge_throwing(
    memory: Array,
    signals: Array,
    added: Array,
    outcome: Array,
    lengths: Array,
    height: float,
    gravity: float,
    goal: float,
    smoothness: float,
    horizon: int,
    period: float,
) -> None:
    """Judge a period of `Throw`: its terms `distance` and `smoothness`.

    Args:
        memory: (n, 3); the tally is the farthest throw so far.
        signals: (n, signals).
        added: (n, 3), written: the throw now, the farthest so far, the time left.
        outcome: (n, 6), written.
        lengths: (joints,), m.
        height: m.
        gravity: m/s².
        goal: m.
        smoothness: weight.
        horizon: periods.
        period: s.
    """
    joints = lengths.shape[0]
    for i in range(memory.shape[0]):
        angle, rate = 0.0, 0.0
        x, z, dx, dz = 0.0, height, 0.0, 0.0
        for j in range(joints):
            angle += signals[i, j]
            rate += signals[i, joints + j]
            x += lengths[j] * math.sin(angle)
            z -= lengths[j] * math.cos(angle)
            dx += lengths[j] * rate * math.cos(angle)
            dz += lengths[j] * rate * math.sin(angle)
        now = x + dx * (dz + math.sqrt(dz * dz + 2.0 * gravity * z)) / gravity
        gain = max(now - memory[i, TALLY], 0.0)
        rough = -smoothness * memory[i, CHANGE]
        memory[i, STEP] += 1.0
        memory[i, TALLY] += gain
        added[i, 0], added[i, 1] = now, memory[i, TALLY]
        added[i, 2] = max(horizon - memory[i, STEP], 0.0) * period
        outcome[i, REWARD] = gain + rough
        outcome[i, SUCCESS] = 1.0 if memory[i, TALLY] >= goal else 0.0
        outcome[i, TERMINATED] = 0.0
        outcome[i, TRUNCATED] = 1.0 if memory[i, STEP] >= horizon else 0.0
        outcome[i, 0], outcome[i, 1] = gain, rough
