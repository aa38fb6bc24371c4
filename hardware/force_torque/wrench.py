"""Wrenches: force, N, and torque, N·m, six numbers; and the weight of a tool.

A raw wrench is what a sensor at the wrist reads, in its axes at its origin: the force and torque by which the arm
holds what is behind the sensor. A tool that hangs is pulled down, and reads up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pliant.errors import ConfigurationError, check_bounds, check_numbers, unknown_name
from pliant.hardware.robot import Array, Channel

QUANTITIES: Final = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")
UNITS: Final = ("N",) * 3 + ("N·m",) * 3
GRAVITY: Final = (0.0, 0.0, -9.81)
"""m/s², in the axes of the world."""


def wrench_channels(sensor: str) -> tuple[Channel, ...]:
    """Return the signals of a sensor of that name: `wrist/force_x` … `wrist/torque_z`."""
    names = zip(QUANTITIES, UNITS, strict=True)
    return tuple(Channel(f"{sensor}/{quantity}", unit, -math.inf, math.inf) for quantity, unit in names)


def rotation_matrix(vector: Sequence[float] | Array) -> Array:
    """Return the rotation, (3, 3), of a rotation vector, (3,), rad (Rodrigues)."""
    x, y, z = (float(value) for value in vector)
    angle = math.sqrt(x * x + y * y + z * z)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    half = angle / 2
    first = math.sin(angle) / angle if angle > 1e-8 else 1.0
    second = 0.5 * (math.sin(half) / half) ** 2 if angle > 1e-8 else 0.5
    matrix: Array = np.eye(3) + first * cross + second * cross @ cross
    return matrix


def turned(wrench: Array, rotation: Array) -> Array:
    """Return a wrench, (6,), in other axes: those into which `rotation`, (3, 3), takes coordinates."""
    return np.concatenate([rotation @ wrench[:3], rotation @ wrench[3:]])


def moved(wrench: Array, offset: Array) -> Array:
    """Return the same wrench, (6,), about another point, which lies `offset`, (3,), m, from the present one."""
    found = wrench.copy()
    found[3:] -= _cross(offset, wrench[:3])
    return found


def in_frame(wrench: Array, rotation: Array, origin: Array) -> Array:
    """Return a wrench of a frame B, (6,), in the axes and about the origin of a frame A.

    Args:
        wrench: in B's axes, about B's origin.
        rotation: of B in A, (3, 3).
        origin: of B in A, (3,), m.
    """
    return moved(turned(wrench, rotation), -origin)


def _cross(a: Array, b: Array) -> Array:
    """As `numpy.cross`, ten times as fast."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@dataclass(frozen=True)
class ToolLoad:
    """What hangs on a sensor."""

    mass: float = 0.0
    """kg"""
    com: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of mass in the sensor's axes, from its origin, m."""
    robot: str = ""
    """Of a load that was weighed: on which robot; empty: any."""
    sensor: str = ""
    """Likewise the sensor's name."""

    def __post_init__(self) -> None:
        check_bounds("load of the sensor: mass", self.mass, 0.0, 1000.0, "kg")
        object.__setattr__(self, "com", check_numbers("load of the sensor: com", self.com, 3, -5.0, 5.0))

    @classmethod
    def of(cls, given: "ToolLoad | Mapping[str, Any] | None") -> "ToolLoad":
        """Return the load that settings say: `{mass: 1.2, com: [0, 0, 0.05]}`; none: no load."""
        if isinstance(given, ToolLoad):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(
                f"load of the sensor is {given!r}; {{mass: 1.2, com: [0, 0, 0.05]}} is one, in kg and m."
            )
        for key in given or {}:
            if key not in ("mass", "com"):
                raise unknown_name("entry", key, ("mass", "com"), "the load of the sensor")
        return cls(**(given or {}))

    def raw(self, gravity: Array) -> Array:
        """Return the raw wrench, (6,), by which the arm holds the load at rest.

        Args:
            gravity: in the sensor's axes, (3,), m/s².
        """
        weight = self.mass * gravity
        return -np.concatenate([weight, _cross(np.array(self.com), weight)])
