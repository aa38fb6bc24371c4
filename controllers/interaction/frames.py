"""Frames in which motions, axes and wrenches are given, and how wrenches and twists pass from one to another.

A wrench is a force, N, and a torque, N·m, about a frame's origin, (6,); a twist the velocity, m/s, of the point of
a body that is at a frame's origin, and the angular velocity, rad/s, (6,); both along the frame's axes. Their
product, the power, is the same in every frame.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, finite_array
from pliant.controllers.poses import compose, matrix, pose
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.wrench import in_frame

FRAMES: Final = ("world", "base", "flange", "sensor", "tool", "start")
IDENTITY: Final = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Frame:
    """One of `FRAMES`, moved and turned by constants.

    `tool`, `flange` and `sensor` are where they are commanded to be at the moment that the frame is used, and
    stay there; `start` is where the tool was to be when the motion began.
    """

    of: str = "start"
    position: Sequence[float] = (0.0, 0.0, 0.0)
    """In that frame, m."""
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    """In that frame, a rotation vector, rad."""

    def __post_init__(self) -> None:
        if self.of not in FRAMES:
            raise unknown_name("frame", self.of, FRAMES)
        for name in ("position", "rotation"):
            found = finite_array(f"frame of {self.of!r}: {name}", getattr(self, name), (3,))
            object.__setattr__(self, name, tuple(found.tolist()))


@dataclass(frozen=True)
class ArmFrames:
    """Where the frames of an arm are that never move against its base or its tool. Poses, (7,)."""

    base: ArrayLike = field(default=IDENTITY)
    """In the world."""
    flange: ArrayLike = field(default=IDENTITY)
    """In the tool's frame."""
    sensor: ArrayLike = field(default=IDENTITY)
    """In the tool's frame."""

    def __post_init__(self) -> None:
        for name in ("base", "flange", "sensor"):
            object.__setattr__(self, name, finite_array(f"frame {name!r}", getattr(self, name), (7,)))

    def locate(self, frame: Frame, tool: Array, start: Array) -> Array:
        """Return a frame's pose in the world, (7,).

        Args:
            frame: which.
            tool: the tool's pose in the world, (7,).
            start: where it was to be when the motion began, (7,).
        """
        origin = {"base": self.base, "tool": tool, "start": start}.get(frame.of)
        if origin is None and frame.of != "world":
            origin = compose(tool, np.asarray(getattr(self, frame.of)))
        moved = pose(frame.position, frame.rotation)
        return moved if origin is None else compose(np.asarray(origin), moved)


def as_frame(frame: Any, what: str = "frame") -> Frame:
    """Return a frame from its name, from entries of `Frame`, or as it is.

    Raises:
        UnknownNameError, ShapeError, OutOfBoundsError, ConfigurationError: it is none.
    """
    if isinstance(frame, Frame):
        return frame
    if isinstance(frame, str):
        return Frame(frame)
    if not isinstance(frame, Mapping):
        raise ConfigurationError(
            f"{what} is {frame!r}; one of {', '.join(FRAMES)}, or {{of: start, rotation: [0, 0, 0.1]}}, is needed."
        )
    for key in frame:
        if key not in ("of", "position", "rotation"):
            raise unknown_name("entry", key, ("of", "position", "rotation"), what)
    return Frame(**frame)


def wrench_in(frame: Array, wrench: Array) -> Array:
    """Return a wrench of the frame whose pose, (7,), in another one is `frame`, as that other one sees it.

    f' = R·f,   τ' = R·τ + p × f'
    """
    return in_frame(wrench, matrix(frame[3:]), frame[:3])


def twist_in(frame: Array, twist: Array) -> Array:
    """Return a twist of the frame whose pose, (7,), in another one is `frame`, as that other one sees it.

    ω' = R·ω,   v' = R·v + p × ω'
    """
    rotation = matrix(frame[3:])
    turning = rotation @ twist[3:]
    return np.concatenate([rotation @ twist[:3] + np.cross(frame[:3], turning), turning])


def tool_wrench(wrench: Array, rotation: Array, sensor: Array, tool: Array, axes: Array) -> Array:
    """Return a sensor's wrench, (6,), about the tool's centre point, along other axes.

    Args:
        wrench: in the sensor's axes at its origin.
        rotation: of the sensor in the world, (3, 3).
        sensor: its pose in the world, (7,).
        tool: pose of the tool in the world, (7,).
        axes: in the world, (3, 3).
    """
    found: Array = compiled(_tool_wrench)(wrench, rotation, sensor, tool, axes)
    return found


def offset_pose(desired: Array, offset: Array, axes: Array, before: Array) -> tuple[Array, Array]:
    """Return a pose, (7,), moved by an offset along axes and turned by one about them; and the way to it.

    Args:
        desired: the pose in the world, (7,).
        offset: (6,), m, and a rotation vector, rad, in `axes`.
        axes: in the world, (3, 3).
        before: pose from which the way, (6,), leads there: m, and a rotation vector, rad, in the world's axes.
    """
    found: tuple[Array, Array] = compiled(_offset_pose)(desired, offset, axes, before)
    return found


def own_offset_pose(first: Array, offset: Array, before: Array) -> tuple[Array, Array]:
    """Return a pose moved by an offset along the world's axes, turned by it about its own, and the way to it.

    Args:
        first: the pose, (7,).
        offset: (6,), m and a rotation vector, rad.
        before: pose from which the way, (6,), leads there: m, and a rotation vector, rad, in the world's axes.
    """
    found: tuple[Array, Array] = compiled(_own_offset_pose)(first, offset, before)
    return found


def mounted(tool: Array, frame: Array) -> tuple[Array, Array]:
    """Return the pose, (7,), and rotation, (3, 3), in the world of what is fixed to the tool.

    Args:
        tool: its pose in the world, (7,).
        frame: pose in the tool's frame, (7,).
    """
    found: tuple[Array, Array] = compiled(_mounted)(tool, frame)
    return found


def along(axes: Array, vectors: Array, scale: float = 1.0) -> Array:
    """Return two vectors of the world, (6,), along axes, (3, 3), times a number."""
    found: Array = compiled(_along)(axes, vectors, scale)
    return found


def _tool_wrench(wrench: Array, rotation: Array, sensor: Array, tool: Array, axes: Array) -> Array:
    force, torque, found = np.zeros(3), np.zeros(3), np.zeros(6)
    for i in range(3):
        for j in range(3):
            force[i] += rotation[i, j] * wrench[j]
            torque[i] += rotation[i, j] * wrench[3 + j]
    x, y, z = sensor[0] - tool[0], sensor[1] - tool[1], sensor[2] - tool[2]
    torque[0] += y * force[2] - z * force[1]
    torque[1] += z * force[0] - x * force[2]
    torque[2] += x * force[1] - y * force[0]
    for i in range(3):
        for j in range(3):
            found[i] += axes[j, i] * force[j]
            found[3 + i] += axes[j, i] * torque[j]
    return found


def _offset_pose(desired: Array, offset: Array, axes: Array, before: Array) -> tuple[Array, Array]:
    found, way, vector = desired.copy(), np.zeros(6), np.zeros(3)
    for i in range(3):
        for j in range(3):
            found[i] += axes[i, j] * offset[j]
            vector[i] += axes[i, j] * offset[3 + j]
        way[i] = found[i] - before[i]
    found[3:] = _product(_exponential(vector), desired[3:])
    way[3:] = _turned(before[3:], found[3:])
    return found, way


def _own_offset_pose(first: Array, offset: Array, before: Array) -> tuple[Array, Array]:
    found, way = first.copy(), np.zeros(6)
    for i in range(3):
        found[i] += offset[i]
        way[i] = found[i] - before[i]
    found[3:] = _product(first[3:], _exponential(offset[3:]))
    way[3:] = _turned(before[3:], found[3:])
    return found, way


def _mounted(tool: Array, frame: Array) -> tuple[Array, Array]:
    found, rotation = tool.copy(), np.zeros((3, 3))
    outer = _matrix(tool[3:])
    for i in range(3):
        for j in range(3):
            found[i] += outer[i, j] * frame[j]
    found[3:] = _product(tool[3:], frame[3:])
    rotation[:] = _matrix(found[3:])
    return found, rotation


def _matrix(q: Array) -> Array:
    """Rotation of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def _turned(before: Array, after: Array) -> Array:
    """Rotation vector from one unit quaternion to another, in the axes that they are given in."""
    done = _product(after, np.array([before[0], -before[1], -before[2], -before[3]]))
    if done[0] < 0.0:
        done = -done
    sine = math.sqrt(done[1] ** 2 + done[2] ** 2 + done[3] ** 2)
    scale = 2.0 * math.atan2(sine, done[0]) / sine if sine > 1e-12 else 2.0
    return scale * done[1:]


def _exponential(vector: Array) -> Array:
    """Unit quaternion of a rotation vector."""
    angle = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    half = math.sin(angle / 2.0) / angle if angle > 1e-9 else 0.5
    return np.array([math.cos(angle / 2.0), half * vector[0], half * vector[1], half * vector[2]])


def _product(a: Array, b: Array) -> Array:
    """Of two quaternions."""
    return np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


def _along(axes: Array, vectors: Array, scale: float) -> Array:
    found = np.zeros(6)
    for i in range(3):
        for j in range(3):
            found[i] += scale * axes[j, i] * vectors[j]
            found[3 + i] += scale * axes[j, i] * vectors[3 + j]
    return found
