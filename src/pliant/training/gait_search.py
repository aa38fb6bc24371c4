"""Searches for gaits: over any of their parameters by Optuna, under limits, and along one as the lab does."""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from pliant.controllers.controller import Controller
from pliant.envs.gait_measures import GaitLimits, GaitMeasures
from pliant.envs.gait_trial import GaitTrial, check_robot, try_gaits
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MismatchError,
    OutOfBoundsError,
    PliantError,
    check_bounds,
    check_count,
    require_extra,
    unknown_name,
)
from pliant.files import check_json, existing_file, plain, read_bytes, write_json

OBJECTIVES = {"speed": 1.0, "cost_of_transport": -1.0}
"""Measures that a search may be after, and whether more of them is better."""
SAMPLERS = ("tpe", "random")
_BEYOND = 1e4
"""A gait that does not keep the limits counts as less than any that does, the less the farther it is from them."""
_IMPOSSIBLE = (10.0, 10.0, 10.0, 10.0)
_SHOWN = ("speed", "cost_of_transport", "largest_torque", "margin", "mechanical_power", "electrical_power")

Value = float | int | str | bool
Make = Callable[[Mapping[str, Value]], Controller]
"""Makes the gait that has these parameters."""


class Range(NamedTuple):
    """Numbers that a parameter may be."""

    low: float
    high: float
    log: bool = False
    """Whether proportions count rather than differences."""


class Choice(NamedTuple):
    """Values that a parameter may have."""

    values: tuple[Value, ...]


Space = Mapping[str, Range | Choice]


def read_space(parameters: Mapping[str, Any], usual: Mapping[str, Value]) -> dict[str, Range | Choice]:
    """Return what a search goes through.

    Args:
        parameters: by name `[low, high]`, `{low: 0.1, high: 1.0, log: true}`, or `{choices: [tripod, wave]}`.
        usual: every parameter that the gait has, with its value.

    Raises:
        ConfigurationError: nothing to search, or a range that is none of these.
        UnknownNameError: no such parameter.
        OutOfBoundsError: a range that ends before it begins, or of what is no positive number though logarithmic.
    """
    if not parameters:
        raise ConfigurationError(
            "a search needs parameters: 'search.parameters={controller.stride: [0.02, 0.1]}'."
        )
    space: dict[str, Range | Choice] = {}
    for name, given in parameters.items():
        if name not in usual:
            raise unknown_name("parameter", name, usual, "search")
        space[name] = _read_range(f"search: {name}", given)
    return space


def _read_range(what: str, given: Any) -> Range | Choice:
    entries = dict(given) if isinstance(given, Mapping) else {}
    if entries.keys() == {"choices"} and isinstance(entries["choices"], Sequence):
        values = tuple(entries["choices"])
        if values and all(isinstance(value, Value) for value in values):
            return Choice(values)
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        entries = {"low": given[0], "high": given[1]}
    if not {"low", "high"} <= entries.keys() <= {"low", "high", "log"} or not isinstance(
        entries.get("log", False), bool
    ):
        raise ConfigurationError(
            f"{what} is {given!r}; [low, high], {{low: …, high: …, log: true}} or {{choices: […]}} is needed."
        )
    log = entries.get("log", False)
    low = check_bounds(f"{what}: low", entries["low"], 1e-12 if log else -1e12, 1e12)
    high = check_bounds(f"{what}: high", entries["high"], -1e12, 1e12)
    if high <= low:
        raise OutOfBoundsError(f"{what} goes from {low:g} to {high:g}; the second number must be the larger one.")
    return Range(low, high, log)


@dataclass(frozen=True)
class Tried:
    """A gait of a search."""

    parameters: Mapping[str, Value]
    measures: Mapping[str, float | None]
    """Empty where it could not be made or tried."""
    violations: tuple[str, ...]
    """Limits that it did not keep, or why it could not be tried."""
    constraints: tuple[float, ...]
    """By how much: torque (N·m), pairs that collided, whether it fell, servos that shut down; ≤ 0 is kept."""

    @property
    def feasible(self) -> bool:
        """Whether it keeps all limits."""
        return not self.violations

    @classmethod
    def of(cls, parameters: Mapping[str, Value], measures: GaitMeasures) -> Self:
        """Return a trial with its measures."""
        fell = measures.fallen is not None or measures.diverged is not None
        constraints = (-measures.margin, len(measures.collisions), float(fell), len(measures.shut_down))
        numbers = {name: float(getattr(measures, name)) for name in _SHOWN}
        slip = sum(measures.slip.values()) / len(measures.slip)
        return cls(dict(parameters), plain({**numbers, "slip": slip}), measures.violations, constraints)

    @classmethod
    def failed(cls, parameters: Mapping[str, Value], why: str) -> Self:
        """Return a gait that could not be made or tried."""
        return cls(dict(parameters), {}, (why,), _IMPOSSIBLE)


@dataclass(frozen=True)
class SearchSettings:
    """How a search goes.

    Raises:
        UnknownNameError: no such objective or sampler.
        OutOfBoundsError: a number that cannot be.
    """

    objective: str = "speed"
    """`speed`, the larger the better, or `cost_of_transport`, the smaller."""
    sampler: str = "tpe"
    """Of Optuna: tpe or random."""
    trials: int = 100
    """In all, those before a resume included."""
    batch: int = 8
    """How many go together; the next ones are chosen when all of them are done."""
    seed: int = 0
    duration: float = 10.0
    """Of a trial, s."""
    limits: GaitLimits = field(default_factory=GaitLimits)

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise unknown_name("objective", self.objective, OBJECTIVES, "search")
        if self.sampler not in SAMPLERS:
            raise unknown_name("sampler", self.sampler, SAMPLERS, "search")
        check_count("search: trials", self.trials, 1, 1_000_000)
        check_count("search: batch", self.batch, 1, 10_000)
        check_count("search: seed", self.seed, 0, 2**32 - 1)


class GaitSearch:
    """A search by Optuna, whose trials run together on all CPUs.

    The first trial is the gait as it is, where it lies in the ranges. With the same seed, and in one go, a search
    finds the same.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        make: Make,
        space: Space,
        usual: Mapping[str, Value],
        settings: SearchSettings | None = None,
    ) -> None:
        """Begin a search.

        Args:
            robot: connected, see `try_gaits`.
            make: of parameters the gait; its `PliantError` makes the trial one that keeps no limit.
            space: what is searched.
            usual: values of the parameters of the gait as it is.
            settings: how it goes.

        Raises:
            ConfigurationError: the robot is not one whose gait can be tried.
            MissingExtraError: Optuna is not installed.
        """
        self._optuna: Any = require_extra("optuna", "sweep", "a search for gaits")
        check_robot(robot)
        self._robot, self._make = robot, make
        self.space, self.settings = dict(space), settings or SearchSettings()
        self.tried: list[Tried] = []
        """All gaits so far, in order."""
        self._usual = {name: usual[name] for name in self.space}

    @property
    def sign(self) -> float:
        """1 if more of the objective is better, −1 if less."""
        return OBJECTIVES[self.settings.objective]

    def value(self, tried: Tried) -> float:
        """Return what a gait is judged by."""
        value = tried.measures.get(self.settings.objective)
        return -self.sign * math.inf if value is None else value

    @property
    def ranked(self) -> list[Tried]:
        """Gaits that keep all limits, the best first."""
        kept = [tried for tried in self.tried if tried.feasible]
        return sorted(kept, key=lambda tried: -self.sign * self.value(tried))

    @property
    def best(self) -> Tried | None:
        """The best one that keeps all limits; None: none does."""
        return next(iter(self.ranked), None)

    def run(self, done: Callable[[], None] = lambda: None) -> None:
        """Try gaits until there are as many as were asked for.

        Args:
            done: called after every batch, when `tried` has grown; what it raises ends the search.
        """
        study = self._study()
        while (left := self.settings.trials - len(self.tried)) > 0:
            trials = [self._ask(study) for _ in range(min(self.settings.batch, left))]
            found = self._try([dict(trial.params) for trial in trials])
            for trial, tried in zip(trials, found, strict=True):
                study.tell(trial, self._judged(tried))
            self.tried += found
            done()

    def _try(self, parameters: Sequence[Mapping[str, Value]]) -> list[Tried]:
        """Try gaits together; what cannot be made or tried is told by its reason."""
        found: dict[int, Tried] = {}
        gaits: dict[int, Controller] = {}
        for k, values in enumerate(parameters):
            try:
                gaits[k] = self._make(values)
            except PliantError as error:
                found[k] = Tried.failed(values, str(error))
        for k, trial in zip(gaits, self._trials(list(gaits.values())), strict=True):
            values = parameters[k]
            found[k] = Tried.failed(values, trial) if isinstance(trial, str) else Tried.of(values, trial.measures)
        return [found[k] for k in range(len(parameters))]

    def _trials(self, gaits: Sequence[Controller]) -> list[GaitTrial | str]:
        settings = self.settings
        try:
            return [*try_gaits(self._robot, gaits, settings.duration, settings.limits)]
        except PliantError as error:
            if len(gaits) == 1:
                return [str(error)]
        return [trial for gait in gaits for trial in self._trials([gait])]  # one of them cannot be tried

    def _study(self) -> Any:
        optuna, settings = self._optuna, self.settings
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seed = settings.seed + len(self.tried)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = (
                optuna.samplers.RandomSampler(seed=seed)
                if settings.sampler == "random"
                else optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
            )
        study = optuna.create_study(direction="maximize" if self.sign > 0.0 else "minimize", sampler=sampler)
        for tried in self.tried:
            self._enqueue(study, tried.parameters)
            study.tell(self._ask(study), self._judged(tried))
        if not self.tried and all(_within(self._usual[name], of) for name, of in self.space.items()):
            self._enqueue(study, self._usual)
        return study

    def _enqueue(self, study: Any, parameters: Mapping[str, Value]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            study.enqueue_trial(dict(parameters))

    def _ask(self, study: Any) -> Any:
        """Return a new trial of Optuna with its parameters."""
        trial = study.ask()
        for name, of in self.space.items():
            if isinstance(of, Choice):
                trial.suggest_categorical(name, of.values)
            else:
                trial.suggest_float(name, of.low, of.high, log=of.log)
        return trial

    def _judged(self, tried: Tried) -> float:
        """What Optuna is told: it has no limits of its own in the version that Hydra's sweeper needs."""
        beyond = _BEYOND * (1.0 + sum(max(c, 0.0) for c in tried.constraints))
        return min(max(self.value(tried), -_BEYOND), _BEYOND) if tried.feasible else -self.sign * beyond

    def save(self, path: Path) -> None:
        """Write what was tried, as data, for `resume`; raises `OutputError`."""
        trials = [vars(tried) for tried in self.tried]
        write_json(path, {**self._asked(), "trials": trials}, checksum=True)

    def resume(self, path: Path) -> None:
        """Take over what an earlier search has tried.

        Raises:
            MissingFileError, FileFormatError: no such file, or it is damaged.
            MismatchError: it searched something else; names every difference.
        """
        file = existing_file(path, "search")
        asked = plain(self._asked())
        try:
            content = json.loads(read_bytes(file, "search"))
            check_json(content, f"search {file}")
            trials = [
                Tried(t["parameters"], t["measures"], tuple(t["violations"]), tuple(t["constraints"]))
                for t in content["trials"]
            ]
            different = [
                f"{name}: {content[name]!r} → {asked[name]!r}" for name in asked if content[name] != asked[name]
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, PliantError):
                raise
            raise FileFormatError(f"search {file} cannot be read: {type(error).__name__}: {error}.") from error
        if different:
            raise MismatchError(
                f"the search in {path} was another one; its trials cannot be gone on with:\n  - "
                + "\n  - ".join(different)
            )
        self.tried = trials

    def _asked(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "space": {name: of._asdict() for name, of in self.space.items()},
            "usual": self._usual,
            "objective": settings.objective,
            "duration": settings.duration,
            "limits": vars(settings.limits),
            "robot": self._robot.info.parameters,
            "period": self._robot.info.period,
        }


def front(tried: Sequence[Tried]) -> list[Tried]:
    """Return the gaits that no other one beats in both speed and largest torque, the slowest first.

    Only of those that did not collide, fall or shut down: the torque itself is what is traded.
    """
    whole = [t for t in tried if t.measures.get("speed") is not None and max(t.constraints[1:]) <= 0.0]
    best: list[Tried] = []
    for one in sorted(whole, key=lambda t: (-(t.measures["speed"] or 0.0), t.measures["largest_torque"] or 0.0)):
        if not best or (one.measures["largest_torque"] or 0.0) < (best[-1].measures["largest_torque"] or 0.0):
            best.append(one)
    return best[::-1]


class Stride(NamedTuple):
    """A step of a greedy search."""

    factor: float
    trial: GaitTrial

    @property
    def kept(self) -> bool:
        """Whether it keeps all limits."""
        return self.trial.measures.kept


def greedy_strides(
    robot: SimulatedRobot,
    make: Callable[[float], Controller],
    *,
    step: float = 1.0,
    refine: float = 0.0,
    most: float = 10.0,
    duration: float = 10.0,
    limits: GaitLimits | None = None,
) -> list[Stride]:
    """Lengthen the stride until a limit is passed, as the lab of the hexapod does; return all that was tried.

    From 1 on the factor grows by `step`; then, if `refine` is above 0, the gap between the last good factor and
    the first bad one is halved until it is no longer than that.

    Args:
        robot: connected, see `try_gaits`.
        make: of a factor the gait, such as `lambda factor: MatsuokaGait.published(info, factor)`; where it raises
            `OutOfBoundsError`, as legs do not reach, the search ends.
        step: of the factor.
        refine: see above.
        most: largest factor that is tried.
        duration: of a trial, s.
        limits: see `try_gaits`.

    Returns:
        In the order of the factors; the last that keeps all limits is the one that is found.
    """
    check_bounds("greedy search: step", step, 1e-3, 100.0)
    check_bounds("greedy search: refine", refine, 0.0, 100.0)
    found: list[Stride] = []

    def good(factor: float) -> bool:
        try:
            gait = make(factor)
        except OutOfBoundsError:
            if not found:
                raise
            return False
        found.append(Stride(factor, try_gaits(robot, [gait], duration, limits)[0]))
        return found[-1].kept

    last, factor = 0.0, 1.0
    while factor <= most and good(factor):
        last, factor = factor, factor + step
    while last and refine and factor - last > refine and factor <= most + step:
        middle = 0.5 * (last + factor)
        last, factor = (middle, factor) if good(middle) else (last, middle)
    return sorted(found, key=lambda stride: stride.factor)


def _within(value: Value, of: Range | Choice) -> bool:
    if isinstance(of, Choice):
        return value in of.values
    return isinstance(value, int | float) and of.low <= value <= of.high
