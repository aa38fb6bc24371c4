"""The package's own exceptions, and the few helpers that word them alike.

Every error says what was wrong, where, what was expected, and the valid choices when there are some.
"""

import difflib
import importlib
import math
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any


class PliantError(Exception):
    """Base of every error that Pliant raises on purpose."""


class UnknownNameError(PliantError, ValueError):
    """A name (law, mode, parameter, joint, task, …) that does not exist here."""


class OutOfBoundsError(PliantError, ValueError):
    """A value outside its bounds, or not a finite number."""


class ShapeError(PliantError, ValueError):
    """An array of the wrong shape."""


class ConfigurationError(PliantError, ValueError):
    """Settings that do not go together."""


class MissingExtraError(PliantError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class MissingFileError(PliantError, FileNotFoundError):
    """A file the user named does not exist."""


class FileFormatError(PliantError, ValueError):
    """A file exists but does not hold what was expected of it."""


class OutputError(PliantError, OSError):
    """Results cannot be written where the user asked for them."""


class MismatchError(PliantError, ValueError):
    """Something learned (feed-forward, policy) does not fit the robot it is offered to."""


class MissingAttributeError(PliantError, AttributeError):
    """Something that others of its kind have, and this one cannot have."""


class RobotError(PliantError, RuntimeError):
    """A robot, real or simulated, cannot do what was asked (not connected, lost, diverged, …)."""


class RemoteError(PliantError, RuntimeError):
    """A controller in another process cannot be reached, is late, or answers what it may not."""


def unknown_name(kind: str, name: object, choices: Iterable[object], where: str = "") -> UnknownNameError:
    """Return the error for `name`, which is none of `choices`, with the nearest ones suggested."""
    options = [str(choice) for choice in choices]
    close = difflib.get_close_matches(str(name), options, n=2)
    hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    place = f" in {where}" if where else ""
    return UnknownNameError(f"unknown {kind} {name!r}{place}.{hint} Valid: {', '.join(options) or 'none'}.")


def check_bounds(what: str, value: float, low: float, high: float, unit: str = "") -> float:
    """Return `value` as a float if it is finite and in [low, high]; raise `OutOfBoundsError` if not."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OutOfBoundsError(f"{what} is {value!r}; a number in [{low:g}, {high:g}] is needed.") from None
    suffix = f" {unit}" if unit and unit != "1" else ""
    if not math.isfinite(number):
        raise OutOfBoundsError(f"{what} is {number}; a finite number in [{low:g}, {high:g}]{suffix} is needed.")
    if not low <= number <= high:
        raise OutOfBoundsError(f"{what} = {number:g}{suffix} is outside [{low:g}, {high:g}]{suffix}.")
    return number


def check_count(what: str, value: int, low: int, high: int) -> int:
    """Return `value` if it is a whole number in [low, high]; raise `OutOfBoundsError` if not."""
    number = check_bounds(what, value, low, high)
    if isinstance(value, bool) or number != int(number):
        raise OutOfBoundsError(f"{what} is {value!r}; a whole number in [{low}, {high}] is needed.")
    return int(number)


def check_numbers(what: str, given: Any, count: int, low: float, high: float, unit: str = "") -> tuple[float, ...]:
    """Return that many numbers in [low, high]; raise `ShapeError` or `OutOfBoundsError`, naming a bad one."""
    if isinstance(given, str | Mapping) or not hasattr(given, "__len__") or len(given) != count:
        raise ShapeError(f"{what} is {given!r}; {count} numbers are needed.")
    return tuple(check_bounds(f"{what}[{k}]", value, low, high, unit) for k, value in enumerate(given))


def require_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import and return an optional module, or raise `MissingExtraError` naming the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed "
            f'({error}). Install it with: pip install "pliant[{extra}]"'
        ) from error
