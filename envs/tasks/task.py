"""The seam between a task and the environments that run it, one episode at a time or many at once.

A task is a frozen configuration. Put on a robot (`Task.on`) it works on `Episodes`: arrays with the episode as
leading axis, of length one in `PliantEnv`. A batch of episodes gives to the last bit what each gives alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import all_finite, number_array, positive
from pliant.envs.compiled import compiled
from pliant.envs.tasks import kernels
from pliant.errors import ConfigurationError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Channel, RobotInfo

Observation = NDArray[np.float32]

Values = float | Sequence[float]
"""One number for all joints, or one per joint."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """Where n episodes stand. All arrays are changed in place."""

    action: Array
    """The actions to be taken, (n, actions), in [−1, 1] once they are spread."""
    previous: Array
    """The actions taken before, (n, actions)."""
    command: Array
    """What the actions command; after the period, what was in force, (n, columns)."""
    signals: Array
    """What was read after the period, in the order of `RobotInfo.signals`, (n, signals)."""
    added: Array
    """What the task adds to the observation, (n, k)."""
    memory: Array
    """Periods since the start, what the task counts, and the mean square of the action's change: columns
    `kernels.STEP`, `TALLY` and `CHANGE`, (n, 3)."""
    observation: Observation
    """What a policy sees, (n, size)."""
    outcome: Array
    """The reward's terms, then reward, success, terminated and truncated (0 or 1): columns `kernels.REWARD` and
    so on, (n, terms + 4). Truncated means that time is up; it is never set together with terminated."""


@dataclass(frozen=True)
class Task(ABC):
    """What all tasks configure.

    An action in [−1, 1] is spread over the bounds of the command columns that the task commands; the other
    columns keep their resting value. Observed are, per joint, position, velocity and torque, per commanded column
    the command in force, and what the task adds, all limited to the bounds below.
    """

    commanded: str | Sequence[str] | None = None
    """Columns that the action commands: full names (`elbow/preset`) or quantities (`preset`); None for all."""
    position_limit: float = math.pi
    """Bound of observed angles, rad."""
    velocity_limit: float = 20.0
    """Bound of observed speeds, rad/s."""
    torque_limit: float = 10.0
    """Bound of observed torques, N·m."""
    failure_penalty: float = 100.0
    """What a robot that fails (diverges, is lost) costs, once, as the reward term `failure`."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for name in ("position_limit", "velocity_limit", "torque_limit"):
            positive(f"{kind} {name}", getattr(self, name))
        check_bounds(f"{kind} failure_penalty", self.failure_penalty, 0.0, 1e12)
        if self.commanded is not None:
            names = (self.commanded,) if isinstance(self.commanded, str) else tuple(self.commanded)
            object.__setattr__(self, "commanded", names)

    @abstractmethod
    def on(self, info: RobotInfo) -> "TaskOnRobot":
        """Return the task for a robot; raises where the two do not go together."""


class TaskOnRobot(ABC):
    """A task on a robot. A task of your own writes `start` and `judge`."""

    terms: ClassVar[tuple[str, ...]]
    """Names of the reward's terms."""

    def __init__(self, task: Task, info: RobotInfo, added: Sequence[Channel]) -> None:
        """Lay out actions and observations.

        Args:
            task: the configuration.
            info: the robot.
            added: what the task adds to the observation.
        """
        self.task = task
        commanded = _commanded(task.commanded, info)
        self.actions: tuple[Channel, ...] = tuple(info.command[i] for i in commanded)
        """The command columns that an action moves, in the action's order."""
        limits = {
            "position": ("rad", task.position_limit),
            "velocity": ("rad/s", task.velocity_limit),
            "torque": ("N·m", task.torque_limit),
        }
        self.observations: tuple[Channel, ...] = (
            *(
                Channel(f"{j}/{name}", unit, -top, top)
                for name, (unit, top) in limits.items()
                for j in info.joints
            ),
            *self.actions,
            *added,
        )
        """Names, units and bounds of an observation's entries."""
        bounds = [[c.low for c in self.observations], [c.high for c in self.observations]]
        self.bounds: Observation = np.array(bounds, dtype=np.float32)
        """Lower and upper bounds of an observation, (2, size)."""
        read = self.observations[: 3 * len(info.joints)]
        self._observed = np.array([info.signal(channel.name) for channel in read])
        self._commanded = np.array(commanded)
        self._middle, self._half = (info.low + info.high) / 2, (info.high - info.low) / 2
        self._rest_action = (info.rest[commanded] - self._middle[commanded]) / self._half[commanded]
        held = np.setdiff1d(np.arange(len(info.command)), commanded)
        self._middle[held], self._half[held] = info.rest[held], 0.0
        self._source = np.zeros(len(info.command), dtype=np.intp)  # a held column takes any action, times 0
        self._source[commanded] = np.arange(len(commanded))
        self._sizes = {"command": len(info.command), "signals": len(info.signals), "added": len(added)}
        self._spread, self._observe = compiled(kernels.spread_actions), compiled(kernels.observe)

    def episodes(self, n: int) -> Episodes:
        """Return n episodes, none of them begun."""
        actions = np.zeros((n, len(self.actions)))
        return Episodes(
            action=actions,
            previous=actions.copy(),
            **{name: np.zeros((n, size)) for name, size in self._sizes.items()},
            memory=np.zeros((n, kernels.MEMORY)),
            observation=np.zeros((n, len(self.observations)), dtype=np.float32),
            outcome=np.zeros((n, len(self.terms) + kernels.VERDICT)),
        )

    def begin(self, episodes: Episodes, index: int, random: np.random.Generator) -> Array:
        """Begin episode number `index`, its last action the one that rests.

        Returns:
            Where the links start, (joints,), rad, on a robot that can be put there.
        """
        episodes.memory[index] = 0.0
        episodes.previous[index] = self._rest_action
        return self.start(episodes.added[index], random)

    def act(self, episodes: Episodes) -> bool:
        """Limit the actions and write what they command; False if one is not finite (nothing is written)."""
        finite: bool = self._spread(
            episodes.action,
            episodes.previous,
            episodes.memory,
            self._middle,
            self._half,
            self._source,
            episodes.command,
        )
        return finite

    def observe(self, episodes: Episodes) -> bool:
        """Write the observations; False if one is NaN, because a robot has no such reading."""
        complete: bool = self._observe(
            episodes.signals,
            self._observed,
            episodes.command,
            self._commanded,
            episodes.added,
            self.bounds,
            episodes.observation,
        )
        return complete

    @abstractmethod
    def start(self, added: Array, random: np.random.Generator) -> Array:
        """Draw the start of one episode.

        Args:
            added: what the task adds to this episode's observation, (k,), to be written.
            random: the episode's own generator.

        Returns:
            Where the links start, (joints,), rad.
        """

    @abstractmethod
    def judge(self, episodes: Episodes) -> None:
        """Judge the period that the action led through: write `outcome` and `added`, go on in `memory`."""


def per_joint(what: str, value: ArrayLike, joints: int) -> Array:
    """Return `value` as (joints,) finite floats; one number serves all joints. Raises as `finite_array` does."""
    array = all_finite(what, number_array(what, value))
    if array.ndim > 1 or array.size not in (1, joints):
        raise ShapeError(f"{what} has shape {array.shape}; one number, or one for each of {joints} joints.")
    return np.broadcast_to(array, joints).copy()


def check_hold(kind: str, hold: float, duration: float) -> None:
    """Raise where a goal must be kept for no time, or for longer (s) than an episode lasts."""
    positive(f"{kind} hold", hold, "s")
    positive(f"{kind} duration", duration, "s")
    if hold > duration:
        raise ConfigurationError(
            f"{kind} hold ({hold:g} s) is longer than its duration ({duration:g} s): no episode could succeed."
        )


def periods(what: str, duration: float, period: float) -> int:
    """Return how many periods a duration takes, rounded up."""
    return max(math.ceil(positive(what, duration, "s") / period - 1e-9), 1)


def _commanded(names: Sequence[str] | None, info: RobotInfo) -> list[int]:
    columns = list(enumerate(info.command_names))
    found = [i for i, _ in columns] if names is None else []
    for name in names or ():
        matches = [i for i, column in columns if name in (column, column.rpartition("/")[2])]
        if not matches:
            quantities = dict.fromkeys(column.rpartition("/")[2] for _, column in columns)
            raise unknown_name("command column", name, (*quantities, *info.command_names), f"robot {info.name!r}")
        found += [i for i in matches if i not in found]
    if not found:
        raise ConfigurationError(f"the task commands no column of robot {info.name!r}.")
    for i in found:
        if not info.command[i].low < info.command[i].high:
            raise ConfigurationError(
                f"column {info.command[i].name!r} of robot {info.name!r} has no range to command; leave it out of "
                "the task's `commanded`."
            )
    return sorted(found)
