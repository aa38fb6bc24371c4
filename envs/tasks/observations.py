"""Observation terms: what a policy sees of a robot and of its task.

`Signals`, `Commands`, `Goal` and `LastAction` copy numbers that are there; the functions compute others.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pliant.controllers.checks import positive
from pliant.envs.selection import Names, select
from pliant.envs.tasks.ends import periods
from pliant.envs.tasks.measures import to_local
from pliant.envs.tasks.row import Row
from pliant.envs.tasks.term import Term, observation
from pliant.envs.tasks.values import check_scale, freeze, named
from pliant.errors import check_bounds
from pliant.hardware.robot import Array, Channel


@dataclass(frozen=True)
class Copied(ABC):
    """Numbers of the episode's row as they are, times `scale`, limited to ±`bound`."""

    scale: float = 1.0
    """What they are multiplied by."""
    bound: float | None = None
    """What they are limited to before that, in their own unit; None: their own bounds alone."""

    def __post_init__(self) -> None:
        if hasattr(self, "names"):
            freeze(self, "names")
        check_scale(f"observation {type(self).__name__}", self.scale)
        if self.bound is not None:
            positive(f"observation {type(self).__name__} bound", self.bound)

    @abstractmethod
    def find(self, row: Row, actions: Sequence[Channel], places: Mapping[str, slice]) -> list[tuple[Channel, int]]:
        """Return which numbers: name, unit and bounds, and the column in the row.

        Args:
            row: that of the task's episodes.
            actions: what an action moves.
            places: where action and command are in the row.
        """


@dataclass(frozen=True)
class Signals(Copied):
    """Signals that the robot reads, or measures compute, by name or glob, under their own names."""

    names: Names = ("*/position", "*/velocity", "*/torque")
    """In the order in which they are observed."""

    def find(self, row: Row, actions: Sequence[Channel], places: Mapping[str, slice]) -> list[tuple[Channel, int]]:
        """See `Copied.find`."""
        found = [row.signals[i] for i in select(self.names, row.signals, "signal", f"robot {row.info.name!r}")]
        return list(zip(found, row.columns(found), strict=True))


@dataclass(frozen=True)
class Commands(Copied):
    """The commands in force, `COLUMN_command`: of the columns that an action moves, or of those named."""

    names: Names | None = None
    """Columns by name or glob; None: those the action moves, or all if it moves none by itself."""

    def find(self, row: Row, actions: Sequence[Channel], places: Mapping[str, slice]) -> list[tuple[Channel, int]]:
        """See `Copied.find`."""
        command = row.info.command
        moved = [i for i, column in enumerate(command) if column in actions] or list(range(len(command)))
        robot = f"robot {row.info.name!r}"
        chosen = moved if self.names is None else select(self.names, command, "command column", robot)
        first = places["command"].start
        return [(replace(command[i], name=f"{command[i].name}_command"), first + i) for i in chosen]


@dataclass(frozen=True)
class Goal(Copied):
    """The goal's numbers now, by name or glob, under their own names."""

    names: Names = "*/*"
    """Which of them."""

    def find(self, row: Row, actions: Sequence[Channel], places: Mapping[str, slice]) -> list[tuple[Channel, int]]:
        """See `Copied.find`."""
        found = [row.goals[i] for i in select(self.names, row.goals, "number of the goal", "the task")]
        return list(zip(found, row.columns(found), strict=True))


@dataclass(frozen=True)
class LastAction(Copied):
    """The action taken last, `NAME_action`, in [−1, 1]; at the start, the one that rests."""

    def find(self, row: Row, actions: Sequence[Channel], places: Mapping[str, slice]) -> list[tuple[Channel, int]]:
        """See `Copied.find`."""
        first = places["taken"].start
        return [(Channel(f"{c.name}_action", "1", -1.0, 1.0), first + k) for k, c in enumerate(actions)]


ObservationTerm = Copied | Term


def _like_goal(ending: str) -> Callable[..., Sequence[Channel]]:
    def channels(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
        return [Channel(f"{c.name}_{ending}", c.unit, -math.inf, math.inf) for c in selected["goal"]]

    return channels


@observation(_like_goal("error"))
def error(goal: Array, measured: Array, out: Array) -> None:
    """Goal − measured of each of the goal's numbers, `NAME_error`, in its unit."""
    for j in range(goal.size):
        out[j] = goal[j] - measured[j]


def _ahead(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
    found: list[Channel] = []
    for ahead in parameters["ahead"]:
        count = check_bounds("observation 'preview': ahead", ahead, 0, 1e6)
        ending = "" if count == 1.0 else f"_in_{count:g}"
        found += [named(f"{c.name}{ending}", c) for c in selected["table"]]
    return found


@observation(_ahead)
def preview(table: Array, step: float, out: Array, ahead: Array = (1.0,)) -> None:  # type: ignore[assignment]
    """Where a moving goal will be some periods ahead: under its own names at the end of the coming period.

    Beyond the end of the motion, its last point.

    Args:
        table: the goal at every period.
        step: periods since the start.
        out: (len(ahead)·numbers,).
        ahead: how many periods; of 2, `NAME_in_2`.
    """
    last = table.shape[0] - 1
    for a in range(ahead.size):
        when = min(int(step) + int(ahead[a]), last)
        for k in range(table.shape[1]):
            out[a * table.shape[1] + k] = table[when, k]


def _seconds(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
    return [Channel("time/left", "s", 0.0, math.inf)]


@observation(_seconds, positive="duration")
def time_left(duration: float, step: float, period: float) -> float:
    """Time until `duration` seconds are over, `time/left`, s."""
    return max(periods(duration, period) - step, 0.0) * period


def _sine_and_cosine(
    selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]
) -> Sequence[Channel]:
    return [Channel(f"clock/{name}", "1", -1.0, 1.0) for name in ("sine", "cosine")]


@observation(_sine_and_cosine, positive="frequency")
def clock(step: float, period: float, out: Array, frequency: float = 1.0) -> None:
    """Sine and cosine of 2π·`frequency`·t, Hz: something to step by, where no gait says its phase."""
    phase = 2.0 * math.pi * frequency * step * period
    out[0], out[1] = math.sin(phase), math.cos(phase)


def _axes(name: str, unit: str, bound: float) -> Callable[..., Sequence[Channel]]:
    def channels(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
        return [Channel(f"{name}_{axis}", unit, -bound, bound) for axis in "xyz"]

    return channels


@observation(_axes("base/gravity", "1", 1.0), orientation="base/orientation_*")
def gravity(orientation: Array, out: Array) -> None:
    """Direction of gravity in the frame of a floating base, Rᵀ·(0, 0, −1), `base/gravity_x|y|z`."""
    to_local(orientation, 0.0, 0.0, -1.0, out)


@observation(Channel("base/yaw", "rad", -math.pi, math.pi), orientation="base/orientation_*")
def yaw(orientation: Array) -> float:
    """Heading of a floating base about the world's z axis, `base/yaw`, rad."""
    w, x, y, z = orientation[0], orientation[1], orientation[2], orientation[3]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


OBSERVATIONS: Final[dict[str, Callable[..., ObservationTerm]]] = {
    "signals": Signals,
    "commands": Commands,
    "goal": Goal,
    "last_action": LastAction,
    **{term.name: term for term in (error, preview, time_left, clock, gravity, yaw)},
}
"""By name."""
