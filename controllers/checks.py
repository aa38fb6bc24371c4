"""Checks of what a user hands to a controller: arrays, numbers, and settings compared with stored ones."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import OutOfBoundsError, ShapeError

Array = NDArray[np.float64]


def finite_array(what: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """Return a read-only float copy of `value`.

    Args:
        what: its name, for the messages.
        value: anything array-like.
        shape: the shape it must have; None stands for any length but 0.

    Raises:
        ShapeError: another shape, ragged, or not numbers.
        OutOfBoundsError: an entry is NaN or infinite.
    """
    array = number_array(what, value)
    fits = len(array.shape) == len(shape) and all(
        have == want if want is not None else have > 0 for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ShapeError(f"{what} has shape {array.shape}; ({wanted}) is needed.")
    return all_finite(what, array)


def number_array(what: str, value: ArrayLike) -> Array:
    """Return a read-only float copy of `value`, of whatever shape; raise `ShapeError` if it is not one."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{what} is not an array of numbers: {error}.") from error
    array.setflags(write=False)
    return array


def all_finite(what: str, array: Array) -> Array:
    """Return `array`; raise `OutOfBoundsError`, naming the first bad entry, unless all are finite."""
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f"[{', '.join(map(str, index))}]" if index else ""
        raise OutOfBoundsError(f"{what}{where} is {array[index]}; finite numbers are needed.")
    return array


def positive(what: str, value: float, unit: str = "") -> float:
    """Return `value` as a float; raise `OutOfBoundsError` unless it is a finite number above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise OutOfBoundsError(f"{what} is {value!r}; a number is needed.") from error
    if not (np.isfinite(number) and number > 0.0):
        raise OutOfBoundsError(f"{what} is {number:g}{unit and f' {unit}'}; a finite number > 0 is needed.")
    return number


def differences(name: str, stored: object, present: object) -> list[str]:
    """Return one line for every leaf in which two nested settings differ, named by its dotted path."""
    if isinstance(stored, Mapping) and isinstance(present, Mapping):
        lines = []
        for key in dict.fromkeys([*stored, *present]):
            path = f"{name}.{key}"
            if key not in present:
                lines.append(f"{path}: {stored[key]!r} in the file, absent here")
            elif key not in stored:
                lines.append(f"{path}: absent in the file, {present[key]!r} here")
            else:
                lines += differences(path, stored[key], present[key])
        return lines
    return [] if stored == present else [f"{name}: {stored!r} in the file, {present!r} here"]


def name_differences(
    kind: str, stored: Sequence[str], present: Sequence[str], where: str = "the robot"
) -> list[str]:
    """Return a line for every name that is twice on one side, or on one side only.

    Args:
        kind: what is named (joint, column, …).
        stored: the names in a file.
        present: the names on what the file is offered to.
        where: what that is, in words.
    """
    lines = []
    for names, place in ((stored, "in the file"), (present, f"on {where}")):
        lines += [f"{kind} {name!r} is {n} times {place}" for name, n in Counter(names).items() if n > 1]
    lines += [f"{kind} {name!r} is unknown to {where}" for name in dict.fromkeys(stored) if name not in present]
    lines += [f"{kind} {name!r} is missing in the file" for name in dict.fromkeys(present) if name not in stored]
    return lines


def order_differences(kind: str, stored: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return a line if the same names come in another order."""
    if sorted(stored) != sorted(present) or tuple(stored) == tuple(present):
        return []
    return [f"{kind} in another order (by itself no obstacle): {', '.join(stored)}; here {', '.join(present)}"]
