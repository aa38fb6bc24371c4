"""What a search for gaits goes through: ranges and choices of their parameters."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name

Value = float | int | str | bool


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
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(f"search: parameters are {parameters!r}; ranges by name are needed.")
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


def within(value: Value, of: Range | Choice) -> bool:
    """Whether a parameter may have a value."""
    if isinstance(of, Choice):
        return value in of.values
    return isinstance(value, int | float) and of.low <= value <= of.high
