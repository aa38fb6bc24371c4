"""Published parameters of the humanoid Atlas of the DARPA Robotics Challenge, version 4: its public URDF's.

They are data, `atlas.json` beside this file, with the source, its licence and what was changed. Links bear the
names of the URDF; their shapes are rough, and touch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import pi
from typing import Any, Final

from pliant.errors import FileFormatError
from pliant.hardware.arm_data import Link, Vector, damage_told, number, read_data, read_link, vector

FILE = "atlas.json"
NAME: Final = "atlas"
_JOINTS = 28


@dataclass(frozen=True)
class Shape:
    """A box or a cylinder of a link."""

    box: bool
    """Else it is a cylinder."""
    size: tuple[float, ...]
    """Edges of a box; radius, and length along z, of a cylinder, m."""
    position: Vector
    """Of its centre, in the link's frame, m."""
    rpy: Vector
    """Its orientation: roll, pitch and yaw about the link's axes, one after another, rad."""


@dataclass(frozen=True)
class AtlasLink:
    """A link: what it weighs and what of it touches."""

    name: str
    link: Link
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class AtlasJoint:
    """A joint and the link that it turns."""

    name: str
    parent: str
    """The link before it."""
    child: AtlasLink
    position: Vector
    """Of its frame in that of the link before, m; the frame is not turned."""
    axis: Vector
    range: tuple[float, float]
    """rad"""
    torque: float
    """Largest, N·m."""
    speed: float
    """Largest, rad/s."""
    damping: float
    """N·m·s/rad"""


@dataclass(frozen=True)
class Atlas:
    """The robot."""

    pelvis: AtlasLink
    joints: tuple[AtlasJoint, ...]
    """Back, neck, left and right arm, left and right leg, each from the trunk on."""
    imu: Vector
    """Where in the pelvis its inertial sensors are, m."""


@cache
def published_atlas() -> Atlas:
    """Return the robot.

    Raises:
        FileFormatError: the package's file of parameters is damaged.
    """
    data = read_data(FILE)
    with damage_told(FILE):
        pelvis = _link(data["pelvis"]["name"], data["pelvis"])
        joints = tuple(_joint(entry) for entry in data["joints"])
        if len(joints) != _JOINTS:
            raise FileFormatError(f"{len(joints)} joints instead of {_JOINTS}.")
        known = {pelvis.name}
        for joint in joints:
            if joint.parent not in known or joint.child.name in known:
                raise FileFormatError(f"joint {joint.name} is not between two links.")
            known.add(joint.child.name)
        return Atlas(pelvis, joints, vector(data["imu"], f"{FILE}: imu", -1.0, 1.0))


def _joint(entry: Mapping[str, Any]) -> AtlasJoint:
    name = str(entry["name"])
    where = f"{FILE}: joint {name}"
    low, high = entry["range"]
    return AtlasJoint(
        name=name,
        parent=str(entry["parent"]),
        child=_link(entry["child"], entry),
        position=vector(entry["position"], f"{where}: position", -2.0, 2.0),
        axis=vector(entry["axis"], f"{where}: axis", -1.0, 1.0),
        range=(number(low, f"{where}: range", -pi, 0.0), number(high, f"{where}: range", 0.0, pi)),
        torque=number(entry["torque"], f"{where}: torque", 1.0, 2e3),
        speed=number(entry["speed"], f"{where}: speed", 0.1, 50.0),
        damping=number(entry["damping"], f"{where}: damping", 0.0, 100.0),
    )


def _link(name: Any, entry: Mapping[str, Any]) -> AtlasLink:
    where = f"{FILE}: link {name}"
    shapes = tuple(_shape(shape, f"{where}: shape") for shape in entry["shapes"])
    return AtlasLink(str(name), read_link(entry["link"], where), shapes)


def _shape(entry: Mapping[str, Any], where: str) -> Shape:
    box = "box" in entry
    size = tuple(number(length, where, 1e-3, 2.0) for length in entry["box" if box else "cylinder"])
    if len(size) != (3 if box else 2):
        raise FileFormatError(f"{where} has {len(size)} lengths.")
    return Shape(
        box, size, vector(entry["position"], where, -2.0, 2.0), vector(entry["rpy"], where, -2.0 * pi, 2.0 * pi)
    )
