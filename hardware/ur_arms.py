"""Published parameters of the arms of Universal Robots: kinematics, masses, limits.

They are data, `ur_arms.json` beside this file, with the source and its licence. Frames are those of the standard
Denavit–Hartenberg convention, Tᵢ = Rz(qᵢ)·Tz(dᵢ)·Tx(aᵢ)·Rx(αᵢ): frame 0 is what the controller calls `base`, frame
6 is the flange. An arm on the bench is calibrated: its own chain differs a little from this nominal one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pliant.errors import FileFormatError, unknown_name
from pliant.hardware.arm_data import (
    Link,
    Six,
    Vector,
    damage_told,
    number,
    read_data,
    read_link,
    six,
    vector,
)

FILE = "ur_arms.json"
LINKS: Final = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")
JOINTS: Final = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ALPHA: Final = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)
"""Twist of each link, rad: the same in all arms."""


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
    mesh_offsets: Vector
    """Where the manufacturer's meshes of the three wrists lie along their axes, m."""
    inertia_estimated: bool
    """Whether the inertias are the source's own estimates, from cylinders."""
    links: tuple[Link, ...]
    """From the shoulder to the last wrist, each in its Denavit–Hartenberg frame."""


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
    with damage_told(where):
        return _arm(name, entries[name], where)


@cache
def _entries() -> Mapping[str, Any]:
    with damage_told(FILE):
        return dict(read_data(FILE)["arms"])


def _arm(name: str, entry: Mapping[str, Any], where: str) -> UrArm:
    ranges = tuple(
        None if bounds is None else (number(bounds[0], where, -20.0, 0.0), number(bounds[1], where, 0.0, 20.0))
        for bounds in entry["range"]
    )
    if len(ranges) != len(JOINTS):
        raise FileFormatError(f"{where}: {len(ranges)} ranges instead of {len(JOINTS)}.")
    return UrArm(
        name=name,
        period=number(entry["period"], f"{where}: period", 1e-3, 0.1),
        d=six(entry["d"], f"{where}: d", -2.0, 2.0),
        a=six(entry["a"], f"{where}: a", -2.0, 2.0),
        torque=six(entry["torque"], f"{where}: torque", 1.0, 2e3),
        speed=six(entry["speed"], f"{where}: speed", 0.1, 20.0),
        range=ranges,
        shoulder_offset=number(entry["shoulder_offset"], f"{where}: shoulder_offset", 0.0, 1.0),
        elbow_offset=number(entry["elbow_offset"], f"{where}: elbow_offset", 0.0, 1.0),
        mesh_offsets=vector(entry["mesh_offsets"], f"{where}: mesh_offsets", -1.0, 1.0),
        inertia_estimated=bool(entry["inertia_estimated"]),
        links=tuple(read_link(entry["links"][link], f"{where}: {link}") for link in LINKS),
    )
