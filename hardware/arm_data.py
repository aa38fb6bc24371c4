"""Published parameters of arms: data beside this file, every number checked when it is read."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

from pliant.errors import FileFormatError, PliantError, check_bounds

Six = tuple[float, float, float, float, float, float]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Link:
    """Mass and inertia of a link, in the link's frame."""

    mass: float
    """kg"""
    com: Vector
    """Centre of mass, m."""
    inertia: Six
    """About the centre of mass along the axes of the frame: ixx, ixy, ixz, iyy, iyz, izz, kg·m²."""


def read_data(file: str) -> Mapping[str, Any]:
    """Return what a file of this folder holds.

    Raises:
        FileFormatError: it is missing or no JSON.
    """
    try:
        return dict(json.loads((resources.files("pliant.hardware") / file).read_text("utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise FileFormatError(f"{file} is missing or damaged: {error!r}.") from error


@contextmanager
def damage_told(where: str) -> Iterator[None]:
    """Raise `FileFormatError` for whatever is wrong with an entry that is read meanwhile."""
    try:
        yield
    except PliantError as error:
        raise FileFormatError(f"{where} is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{where} is damaged: {error!r}.") from error


def read_link(entry: Mapping[str, Any], where: str) -> Link:
    """Return the link that an entry `{mass, com, inertia}` describes."""
    return Link(
        mass=number(entry["mass"], f"{where}: mass", 1e-3, 200.0),
        com=vector(entry["com"], f"{where}: com", -2.0, 2.0),
        inertia=six(entry["inertia"], f"{where}: inertia", -50.0, 50.0),
    )


def six(values: Any, what: str, low: float, high: float) -> Six:
    """Return six numbers, each within bounds."""
    a, b, c, d, e, f = (number(value, what, low, high) for value in values)
    return a, b, c, d, e, f


def vector(values: Any, what: str, low: float, high: float) -> Vector:
    """Return three numbers, each within bounds."""
    x, y, z = (number(value, what, low, high) for value in values)
    return x, y, z


def number(value: Any, what: str, low: float, high: float) -> float:
    """Return a number within bounds."""
    return check_bounds(what, value, low, high)
