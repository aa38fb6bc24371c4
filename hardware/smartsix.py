"""Published parameters of the Comau Smart-Six: kinematics, limits, and masses that are an estimate.

They are data, `smartsix.json` beside this file, with the source, its licence and what of it is estimated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from pliant.errors import FileFormatError
from pliant.hardware.arm_data import Link, Vector, damage_told, number, read_data, read_link, vector

FILE = "smartsix.json"
NAME: Final = "smartsix"
_JOINTS = 6


@dataclass(frozen=True)
class SmartSixJoint:
    """A joint and the link that it turns."""

    position: Vector
    """Of its frame in that of the link before, m."""
    quarter_turns: tuple[int, int, int]
    """Roll, pitch and yaw of its frame in that of the link before, π/2; it turns about its z."""
    range: tuple[float, float]
    """rad"""
    speed: float
    """Largest speed, rad/s."""
    torque: float
    """Largest torque, N·m: a placeholder of the source, or what a load may exert on the wrist."""
    link: Link
    """In the joint's frame; scaled to the weight of the data sheet."""


@cache
def smartsix_joints() -> tuple[SmartSixJoint, ...]:
    """Return the arm's joints, from the base on.

    Raises:
        FileFormatError: the package's file of parameters is damaged.
    """
    data = read_data(FILE)
    with damage_told(FILE):
        joints = [_joint(entry, f"{FILE}: joint {k + 1}") for k, entry in enumerate(data["joints"])]
        if len(joints) != _JOINTS:
            raise FileFormatError(f"{len(joints)} joints instead of {_JOINTS}.")
        drawn = read_link(data["base"], f"{FILE}: base").mass + sum(joint.link.mass for joint in joints)
        scale = number(data["weight"], f"{FILE}: weight", 1.0, 1e4) / drawn
    return tuple(replace(joint, link=_scaled(joint.link, scale)) for joint in joints)


def _joint(entry: Mapping[str, Any], where: str) -> SmartSixJoint:
    roll, pitch, yaw = (int(number(turn, f"{where}: quarter_turns", -2, 2)) for turn in entry["quarter_turns"])
    low, high = entry["range"]
    return SmartSixJoint(
        position=vector(entry["position"], f"{where}: position", -2.0, 2.0),
        quarter_turns=(roll, pitch, yaw),
        range=(number(low, f"{where}: range", -100.0, 0.0), number(high, f"{where}: range", 0.0, 100.0)),
        speed=number(entry["speed"], f"{where}: speed", 0.1, 20.0),
        torque=number(entry["torque"], f"{where}: torque", 1.0, 2e3),
        link=read_link(entry["link"], f"{where}: link"),
    )


def _scaled(link: Link, factor: float) -> Link:
    xx, xy, xz, yy, yz, zz = (factor * value for value in link.inertia)
    return Link(factor * link.mass, link.com, (xx, xy, xz, yy, yz, zz))
