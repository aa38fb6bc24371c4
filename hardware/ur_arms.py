"""Published parameters of the arms of Universal Robots: kinematics, masses, limits.

They are data, `ur_arms.json` beside this file, with the source and its licence. Frames are those of the standard
Denavit–Hartenberg convention, Tᵢ = Rz(qᵢ)·Tz(dᵢ)·Tx(aᵢ)·Rx(αᵢ): frame 0 is what the controller calls `base`, frame
6 is the flange. An arm on the bench is calibrated: its own chain differs a little from this nominal one.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from pliant.errors import FileFormatError, PliantError, check_bounds, unknown_name

FILE = "ur_arms.json"
LINKS: Final = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")
JOINTS: Final = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ALPHA: Final = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)
"""Twist of each link, rad: the same in all arms."""

Six = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class UrLink:
    """A link in its Denavit–Hartenberg frame."""

    mass: float
    """kg"""
    com: tuple[float, float, float]
    """Centre of mass, m."""
    inertia: Six
    """About the centre of mass along the axes of the frame: ixx, ixy, ixz, iyy, iyz, izz, kg·m²."""


@dataclass(frozen=True)
class UrArm:
    """An arm as published."""

    name: str
    period: float
    """Of the controller's real-time interface, s: 0.002, or 0.008 of CB3."""
    d: Six
    """m"""
    a: Six
    """m"""
    torque: Six
    """Largest torque of each joint, N·m."""
    speed: Six
    """Largest speed of each joint, rad/s."""
    range: tuple[tuple[float, float] | None, ...]
    """Range of each joint, rad; None: it turns without end."""
    shoulder_offset: float
    """From the first axis to the middle of the upper arm, along the second axis, m."""
    elbow_offset: float
    """From the first axis to the middle of the forearm, likewise."""
    mesh_offsets: tuple[float, float, float]
    """Where the manufacturer's meshes of the three wrists lie along their axes, m."""
    inertia_estimated: bool
    """Whether the inertias are the source's own estimates, from cylinders."""
    links: tuple[UrLink, ...]
    """From the shoulder to the last wrist."""


def ur_names() -> tuple[str, ...]:
    """Names that `ur_arm` knows."""
    return tuple(_entries())


@cache
def ur_arm(name: str) -> UrArm:
    """Return the published parameters of an arm by name, such as `ur10e`.

    Raises:
        UnknownNameError: no such arm.
        FileFormatError: the package's file of parameters is damaged.
    """
    entries = _entries()
    if name not in entries:
        raise unknown_name("arm of Universal Robots", name, entries)
    where = f"{FILE}: {name}"
    try:
        return _arm(name, entries[name], where)
    except PliantError as error:
        raise FileFormatError(f"{where} is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{where} is damaged: {error!r}.") from error


@cache
def _entries() -> Mapping[str, Any]:
    try:
        return dict(json.loads((resources.files("pliant.hardware") / FILE).read_text("utf-8"))["arms"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{FILE} is missing or damaged: {error!r}.") from error


def _arm(name: str, entry: Mapping[str, Any], where: str) -> UrArm:
    links = tuple(_link(entry["links"][link], f"{where}: {link}") for link in LINKS)
    ranges = tuple(
        None if bounds is None else (_number(bounds[0], where, -20.0, 0.0), _number(bounds[1], where, 0.0, 20.0))
        for bounds in entry["range"]
    )
    if len(ranges) != len(JOINTS):
        raise FileFormatError(f"{where}: {len(ranges)} ranges instead of {len(JOINTS)}.")
    first, second, third = (_number(v, f"{where}: mesh_offsets", -1.0, 1.0) for v in entry["mesh_offsets"])
    return UrArm(
        name=name,
        period=_number(entry["period"], f"{where}: period", 1e-3, 0.1),
        d=_six(entry["d"], f"{where}: d", -2.0, 2.0),
        a=_six(entry["a"], f"{where}: a", -2.0, 2.0),
        torque=_six(entry["torque"], f"{where}: torque", 1.0, 2e3),
        speed=_six(entry["speed"], f"{where}: speed", 0.1, 20.0),
        range=ranges,
        shoulder_offset=_number(entry["shoulder_offset"], f"{where}: shoulder_offset", 0.0, 1.0),
        elbow_offset=_number(entry["elbow_offset"], f"{where}: elbow_offset", 0.0, 1.0),
        mesh_offsets=(first, second, third),
        inertia_estimated=bool(entry["inertia_estimated"]),
        links=links,
    )


def _link(entry: Mapping[str, Any], where: str) -> UrLink:
    x, y, z = (_number(value, f"{where}: com", -2.0, 2.0) for value in entry["com"])
    return UrLink(
        mass=_number(entry["mass"], f"{where}: mass", 1e-3, 200.0),
        com=(x, y, z),
        inertia=_six(entry["inertia"], f"{where}: inertia", -50.0, 50.0),
    )


def _six(values: Any, what: str, low: float, high: float) -> Six:
    a, b, c, d, e, f = (_number(value, what, low, high) for value in values)
    return a, b, c, d, e, f


def _number(value: Any, what: str, low: float, high: float) -> float:
    return check_bounds(what, value, low, high)
