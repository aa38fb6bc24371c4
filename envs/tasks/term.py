"""What a term is: a plain function over floats and arrays, with the names of the numbers it looks at.

A term is written like a compliance law: an annotated function that uses `math` and loops, in any file::

    from pliant.envs.tasks import reward
    from pliant.hardware.robot import Array

    @reward(velocity="*/velocity")
    def slowness(velocity: Array, scale: float = 1.0) -> float:
        largest = 0.0
        for value in velocity:
            largest = max(largest, abs(value))
        return 1.0 / (1.0 + largest / scale)

Its arguments are, by name: what the decorator selects (signals, by name or glob), what every term may ask for (see
`GIVEN`), and parameters, floats or arrays of floats, whose values are configuration. Called with these,
`slowness(scale=0.5, weight=2.0)`, it is a `Term`, a part of a task.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, get_args, get_type_hints

import numpy as np

from pliant.controllers.checks import all_finite, number_array, positive
from pliant.envs.selection import Names, as_names
from pliant.envs.tasks.values import check_scale
from pliant.errors import ConfigurationError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import Channel

Kind = Literal["reward", "end", "observation", "measure"]
Role = Literal["success", "failure", "time", "verdict"]

GIVEN: Final[Mapping[str, str]] = {
    "goal": "the goal's numbers now, (k,); `goals` in the configuration chooses among them by name",
    "measured": "the signals that these are compared with, (k,)",
    "table": "the goal at every period, (periods + 1, numbers), of a goal that moves",
    "action": "the action taken, (actions,), in [-1, 1]",
    "previous": "the action before, (actions,)",
    "command": "the command in force, (columns,)",
    "step": "periods since the episode began",
    "period": "s",
    "success": "1.0 in the period in which an end of the role success ends the episode, else 0.0 (rewards only)",
    "failure": "likewise for the role failure (rewards only)",
    "memory": "the term's own numbers, 0.0 when an episode begins",
    "out": "to be written: the term's numbers (observations and measures of more than one)",
}
"""What a term may ask for, by argument name. Bounds of a selection `x` are `x_low` and `x_high`."""

_VERDICTS = ("success", "failure")
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "reward": ("weight",),
    "end": ("role",),
    "observation": ("scale", "bound"),
    "measure": (),
}
"""What the configuration of a kind of term may say beside its parameters."""

Channels = tuple[Channel, ...] | Callable[[Mapping[str, Sequence[Channel]], Mapping[str, Any]], Sequence[Channel]]
"""Channels, or what makes them of the selected ones by argument name and of the parameters."""


@dataclass(frozen=True, eq=False, repr=False)
class TermFunction:
    """A function that is a term, and what is known of it. Call it with its settings to make a `Term`."""

    kind: Kind
    function: Callable[..., Any]
    inputs: Mapping[str, Names]
    """By argument: which signals it gets, unless the configuration names others."""
    channels: Channels = ()
    """Names, units and bounds of what it computes (observations and measures)."""
    memory: int = 0
    """How many numbers it keeps from period to period."""
    positive: tuple[str, ...] = ()
    """Parameters that must be above 0."""
    role: Role = "verdict"
    """Of an end."""

    def __post_init__(self) -> None:
        for name in ("__module__", "__qualname__", "__name__", "__doc__"):
            object.__setattr__(self, name, getattr(self.function, name))
        where = f"{self.kind} {self.name!r}"
        for name in self.inputs:
            if name not in self.arguments or name in GIVEN:
                raise ConfigurationError(f"{where} selects signals for {name!r}, which is none of its arguments.")
        for name in self.arguments:
            if name in _OPTIONS[self.kind] or name == "goals":
                raise ConfigurationError(f"{where}: the argument {name!r} is taken; call it something else.")
            if name in _VERDICTS and self.kind != "reward":
                raise ConfigurationError(f"{where}: only a reward knows about {name!r}.")
        if ("memory" in self.arguments) != (self.memory > 0):
            raise ConfigurationError(f"{where}: the argument 'memory' and memory= go together.")
        if self.kind in ("observation", "measure") and not self.channels:
            raise ConfigurationError(f"{where} does not say what it computes: name, unit and bounds of a Channel.")
        hints = get_type_hints(self.function)
        for name in self.parameters:
            if name not in hints:
                raise ConfigurationError(f"{where}: annotate the argument {name!r} with float or Array.")

    @property
    def name(self) -> str:
        """Of the function."""
        return str(self.function.__name__)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the function's arguments."""
        return tuple(inspect.signature(self.function).parameters)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The arguments that are configuration, with their defaults (`inspect.Parameter.empty` for none)."""
        bounds = {f"{name}_{side}" for name in self.inputs for side in ("low", "high")}
        taken = {*GIVEN, *self.inputs, *bounds}
        return {
            p.name: p.default for p in inspect.signature(self.function).parameters.values() if p.name not in taken
        }

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The parameters that are arrays."""
        hints = get_type_hints(self.function)
        return tuple(name for name in self.parameters if hints[name] not in (float, int, bool))

    @property
    def settings(self) -> tuple[str, ...]:
        """What its configuration may say."""
        uses_goal = any(name in self.arguments for name in ("goal", "measured"))
        return (*self.parameters, *self.inputs, *(("goals",) if uses_goal else ()), *_OPTIONS[self.kind])

    def __call__(self, **settings: Any) -> "Term":
        """Configure it.

        Args:
            settings: its parameters by name; `weight` of a reward (1 by default); `role` of an end; `scale` and
                `bound` of an observation; other signals for a selection; `goals`, names or globs of those of the
                goal's numbers that it is about.

        Raises:
            UnknownNameError: no such parameter.
            ConfigurationError: one is missing.
            OutOfBoundsError, ShapeError: a value that is not finite, not positive, or no number.
        """
        for name in settings:
            if name not in self.settings:
                raise unknown_name("parameter", name, self.settings, f"{self.kind} {self.name!r}")
        return Term(self, settings)

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{self.function.__module__}.{self.name}"


@dataclass(frozen=True, eq=False)
class Term:
    """A term with its settings. Two of the same meaning are equal, however much of it was left to the defaults."""

    function: TermFunction
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.values, self.weight, self.role, self.scale, self.bound, self.goals
        for name in self.function.inputs:
            self.selection(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash(self.function)

    def _meaning(self) -> tuple[Any, ...]:
        values = {name: np.asarray(value).tolist() for name, value in self.values.items()}
        chosen = [self.selection(name) for name in self.function.inputs]
        return (self.function, values, chosen, self.weight, self.role, self.scale, self.bound, self.goals)

    @property
    def _where(self) -> str:
        return f"{self.function.kind} {self.function.name!r}"

    @cached_property
    def values(self) -> dict[str, Any]:
        """The parameters: a float each, or an array where the function says so."""
        found: dict[str, Any] = {}
        for name, default in self.function.parameters.items():
            what = f"{self._where}: {name}"
            value = self.settings.get(name, default)
            if value is inspect.Parameter.empty:
                raise ConfigurationError(f"{self._where} needs a value for {name!r}.")
            if value is None:
                raise ConfigurationError(
                    f"{what} is null, which is no value: give one, or take a term that needs none and "
                    f"leave it out ('~task.{name}')."
                )
            if name in self.function.positive:
                found[name] = positive(what, value)
            elif name in self.function.arrays:
                array = all_finite(what, number_array(what, value))
                if array.ndim > 1:
                    raise ShapeError(f"{what} has shape {array.shape}; a list of numbers is needed.")
                found[name] = np.atleast_1d(array)
            else:
                found[name] = check_bounds(what, value, -1e300, 1e300)
        return found

    @property
    def weight(self) -> float:
        """Of a reward."""
        return check_bounds(f"{self._where}: weight", self.settings.get("weight", 1.0), -1e12, 1e12)

    @property
    def role(self) -> Role:
        """Of an end."""
        role: Role = self.settings.get("role", self.function.role)
        if role not in get_args(Role):
            raise unknown_name("role", role, get_args(Role), self._where)
        return role

    @property
    def scale(self) -> float:
        """What an observation is multiplied by."""
        return check_scale(self._where, self.settings.get("scale", 1.0))

    @property
    def bound(self) -> float:
        """What an observation is limited to, in its own unit; infinite by default."""
        bound = self.settings.get("bound")
        return math.inf if bound is None else positive(f"{self._where}: bound", bound)

    @property
    def goals(self) -> tuple[str, ...]:
        """Which of the goal's numbers it is about."""
        return as_names(self.settings.get("goals", "*/*"), f"{self._where}: goals")

    def selection(self, name: str) -> tuple[str, ...]:
        """The signals of a selection, as names or globs."""
        return as_names(self.settings.get(name, self.function.inputs[name]), f"{self._where}: {name}")


def reward(*, memory: int = 0, positive: Names = (), **inputs: Names) -> Callable[[Any], TermFunction]:
    """Decorate a function into a reward term: it returns a float, which its weight multiplies.

    Args:
        memory: how many numbers it keeps from period to period.
        positive: parameters that must be above 0.
        inputs: by argument, the signals it gets, names or globs.
    """
    return _decorator("reward", memory=memory, positive=positive, inputs=inputs)


def end(role: Role, *, memory: int = 0, positive: Names = (), **inputs: Names) -> Callable[[Any], TermFunction]:
    """Decorate a function into an end condition: it returns a bool, whether it holds now.

    Args:
        role: what it means when it holds: `success` and `failure` terminate the episode, `time` truncates it, and
            a `verdict` ends nothing but says whether the episode counts as a success so far.
        memory: as of `reward`.
        positive: likewise.
        inputs: likewise.
    """
    if role not in get_args(Role):
        raise unknown_name("role", role, get_args(Role), "an end")
    return _decorator("end", memory=memory, positive=positive, inputs=inputs, role=role)


def observation(
    *channels: Channel | Callable[..., Sequence[Channel]],
    memory: int = 0,
    positive: Names = (),
    **inputs: Names,
) -> Callable[[Any], TermFunction]:
    """Decorate a function into an observation term: it returns a float, or writes its numbers into `out`.

    Args:
        channels: name, unit and bounds of each number; or a function that makes them from the selected channels by
            argument name and from the parameters.
        memory: as of `reward`.
        positive: likewise.
        inputs: likewise.
    """
    return _decorator("observation", memory=memory, positive=positive, inputs=inputs, channels=_channels(channels))


def measure(
    *channels: Channel | Callable[..., Sequence[Channel]],
    memory: int = 0,
    positive: Names = (),
    **inputs: Names,
) -> Callable[[Any], TermFunction]:
    """Decorate a function into a measure: more signals, computed from those the robot reads.

    They are computed first in every period, and when an episode begins (`step` is 0 then); all other terms find
    them among the signals. Arguments as of `observation`.
    """
    return _decorator("measure", memory=memory, positive=positive, inputs=inputs, channels=_channels(channels))


def _channels(given: tuple[Any, ...]) -> Channels:
    if len(given) == 1 and not isinstance(given[0], Channel):
        made: Channels = given[0]
        return made
    return given


def _decorator(kind: Kind, *, positive: Names, **rest: Any) -> Callable[[Any], TermFunction]:
    needed = as_names(positive, "positive")

    def decorate(function: Callable[..., Any]) -> TermFunction:
        return TermFunction(kind, function, positive=needed, **rest)

    return decorate
