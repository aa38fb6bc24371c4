"""What is soft about a robot, drawn over its picture: a gauge on every compliant joint.

A gauge lies across the joint's axis, in front of the joint, and shows

- the **stiffness** −∂τ/∂q as the colour of a disc, on the logarithmic scale of `STIFFNESS_SCALE`; grey where
  the joint is rigid,
- the **link** as a dark needle along the link,
- each **motor** as a longer translucent needle at its angle θ, so that a spring's deflection q − θ is the angle
  between the needles, and the spread of two motors is the preset,
- the **torque** of the drive on the link as an arc with an arrow, from the link in the sense of the torque, long
  `ARC_PER_DECADE`·log₁₀(1 + |τ|/`SMALLEST_TORQUE`).

Everything is computed as `Shape`s of `pliant.envs.rendering`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import JointOnModel, JointReader
from pliant.actuators.layout import SIGNALS
from pliant.envs.models.parts import COLLISION_GROUP
from pliant.envs.rendering import Shape
from pliant.hardware.robot import Array

STIFFNESS_SCALE: Final = (
    (0.5, (0.16, 0.30, 0.85)),
    (1.6, (0.10, 0.72, 0.90)),
    (5.0, (0.25, 0.78, 0.30)),
    (16.0, (0.98, 0.78, 0.12)),
    (50.0, (0.86, 0.12, 0.10)),
)
"""Stiffness, N·m/rad, and its colour (red, green, blue); the logarithm decides between two, and the end beyond."""

SMALLEST_TORQUE: Final = 0.01
"""Torque at which the arc begins to count decades, N·m."""
ARC_PER_DECADE: Final = np.pi / 3
"""60°: 0.1 N·m are drawn as 62°, 1 N·m as 120°, 10 N·m as 180°."""

RIGID: Final = (0.55, 0.55, 0.58)
"""Colour of the disc of a rigid joint."""
LINK: Final = (0.08, 0.08, 0.10, 1.0)
"""Colour and opacity of the link's needle …"""
MOTOR: Final = (0.97, 0.97, 1.0, 0.62)
"""… of the motors' …"""
TORQUE: Final = (0.85, 0.08, 0.55, 1.0)
"""… and of the torque's arc."""
_RADIUS = 0.3
"""Of a disc, in mean sizes of the model's bodies."""
_SEGMENT = np.pi / 18
"""Longest piece of a torque arc, rad."""


class Gauge(NamedTuple):
    """Where the gauge of a joint sits; see `place_gauges`."""

    joint: int
    """Index of the MuJoCo joint."""
    body: int
    """Index of the link."""
    radius: float
    """Of the disc, m."""
    offset: float
    """From the joint's anchor along its axis, m."""
    along: Array
    """Direction of the link, (3,), across the axis, in the link's frame."""
    motors: tuple[int, ...]
    """Columns of the signals that are motor angles."""
    rigid: bool
    """Whether there is no spring."""


def place_gauges(model: mujoco.MjModel, joints: Sequence[JointOnModel]) -> tuple[Gauge, ...]:
    """Find room for a gauge at each joint: before the link, or around it where the link lies along its axis."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    radius = _RADIUS * float(model.stat.meansize)
    return tuple(_place(model, data, joint, radius) for joint in joints)


def _place(model: mujoco.MjModel, data: mujoco.MjData, joint: JointOnModel, radius: float) -> Gauge:
    body = int(model.jnt_bodyid[joint.joint])
    own = _front(model, data, joint.joint, body, radius)
    below = _front(model, data, joint.joint, int(model.body_parentid[body]), radius)
    offset = (max(own, below) if own - below < radius else below) + 0.08 * radius
    axis = model.jnt_axis[joint.joint]
    description = joint.description
    angles = 1 if description.law.law.pivot else description.motors
    return Gauge(
        joint=joint.joint,
        body=body,
        radius=radius,
        offset=offset,
        along=_across(axis, model.body_ipos[body] - model.jnt_pos[joint.joint], 0.1 * radius),
        motors=tuple(
            SIGNALS.index(f"motor_position{m + 1}") for m in range(0 if description.mode.rigid else angles)
        ),
        rigid=description.mode.rigid,
    )


def _front(model: mujoco.MjModel, data: mujoco.MjData, joint: int, body: int, radius: float) -> float:
    """How far what a body shows reaches along a joint's axis, near that axis, m; 0 if nothing does."""
    anchor, axis, reach = data.xanchor[joint], data.xaxis[joint], [0.0]
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        if model.geom_group[geom] == COLLISION_GROUP or model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            continue
        frame = data.geom_xmat[geom].reshape(3, 3)
        box = model.geom_aabb[geom]
        centre = data.geom_xpos[geom] + frame @ box[:3] - anchor
        if np.linalg.norm(centre - (centre @ axis) * axis) < radius:
            reach.append(float(centre @ axis + np.abs(axis @ frame) @ box[3:]))
    return max(reach)


def _across(axis: Array, direction: Array, least: float) -> Array:
    """Unit vector of the part of `direction` across `axis`; of any one if that part is shorter than `least`."""
    for candidate in (direction, *(least * 2.0 * np.eye(3)[np.argsort(np.abs(axis))])):
        part = candidate - (candidate @ axis) * axis
        if (length := float(np.linalg.norm(part))) > least:
            break
    return np.asarray(part / length, dtype=np.float64)


def stiffness_colour(stiffness: float) -> tuple[float, float, float]:
    """Red, green and blue of a stiffness, N·m/rad, on `STIFFNESS_SCALE`; grey if it is not finite."""
    if not np.isfinite(stiffness):
        return RIGID
    scale = np.array([(np.log(value), *colour) for value, colour in STIFFNESS_SCALE])
    at = np.log(max(stiffness, STIFFNESS_SCALE[0][0]))
    red, green, blue = (float(np.interp(at, scale[:, 0], scale[:, k])) for k in (1, 2, 3))
    return red, green, blue


def torque_angle(torque: float) -> float:
    """Angle of the arc that stands for a torque, N·m, with its sign, rad; at most 300°."""
    decades = np.log10(1.0 + abs(torque) / SMALLEST_TORQUE)
    return float(np.copysign(min(ARC_PER_DECADE * decades, 5 * np.pi / 3), torque))


def gauge_shapes(data: mujoco.MjData, gauge: Gauge, signals: ArrayLike) -> list[Shape]:
    """What is to be drawn of a joint.

    Args:
        data: with kinematics computed.
        gauge: of the joint.
        signals: of the joint, in the order of `layout.SIGNALS`.
    """
    values = np.asarray(signals, dtype=np.float64)
    axis, r = data.xaxis[gauge.joint], gauge.radius
    centre = data.xanchor[gauge.joint] + gauge.offset * axis
    link = data.xmat[gauge.body].reshape(3, 3) @ gauge.along
    position, torque, stiffness = (values[SIGNALS.index(name)] for name in ("position", "torque", "stiffness"))
    colour = RIGID if gauge.rigid else stiffness_colour(stiffness)
    shapes = [Shape(int(mujoco.mjtGeom.mjGEOM_CYLINDER), np.array([r, 0.03 * r, 0.0]), centre, _frame(link, axis),
                    (*colour, 0.65))]  # fmt: skip
    shapes.append(_needle(centre + 0.07 * r * axis, link, axis, 0.95 * r, 0.05 * r, LINK))
    for column in gauge.motors:
        angle = values[column] - position
        if np.isfinite(angle):
            pointer = turned(link, axis, angle)
            shapes.append(_needle(centre + 0.13 * r * axis, pointer, axis, 1.3 * r, 0.06 * r, MOTOR))
    if np.isfinite(torque):
        shapes += _arc(centre, link, axis, 1.12 * r, torque_angle(torque))
    return shapes


def turned(vector: Array, axis: Array, angle: float) -> Array:
    """A vector across a unit axis, turned about it by `angle`, rad."""
    return np.asarray(np.cos(angle) * vector + np.sin(angle) * np.cross(axis, vector), dtype=np.float64)


def _needle(
    start: Array,
    along: Array,
    axis: Array,
    length: float,
    half_width: float,
    colour: tuple[float, float, float, float],
) -> Shape:
    size = np.array([length / 2, half_width, 0.02 * length])
    return Shape(int(mujoco.mjtGeom.mjGEOM_BOX), size, start + length / 2 * along, _frame(along, axis), colour)


def _arc(centre: Array, start: Array, axis: Array, radius: float, angle: float) -> list[Shape]:
    """An arc about the axis, from the direction `start`, with an arrow at its end; nothing for no angle."""
    if abs(angle) < 0.02:
        return []
    width = 0.045 * radius
    tip = min(abs(angle), np.pi / 9)
    body = abs(angle) - tip
    angles = np.copysign(np.linspace(0.0, body, int(np.ceil(body / _SEGMENT)) + 1), angle)
    points = [centre + radius * turned(start, axis, a) for a in [*angles, angle]]
    shapes = []
    for begin, end in pairwise(points[:-1]):
        z = (end - begin) / np.linalg.norm(end - begin)
        size = np.array([width, np.linalg.norm(end - begin) / 2, 0.0])
        kind = int(mujoco.mjtGeom.mjGEOM_CAPSULE)
        shapes.append(Shape(kind, size, (begin + end) / 2, _frame(np.cross(axis, z), z), TORQUE))
    z = (points[-1] - points[-2]) / np.linalg.norm(points[-1] - points[-2])
    size = np.array([width, width, np.linalg.norm(points[-1] - points[-2])])
    arrow = int(mujoco.mjtGeom.mjGEOM_ARROW)
    return [*shapes, Shape(arrow, size, points[-2], _frame(np.cross(axis, z), z), TORQUE)]


def _frame(x: Array, z: Array) -> Array:
    """Axes in columns, (3, 3), of a frame with orthogonal x and z."""
    return np.column_stack([x, np.cross(z, x), z])


class Overlay:
    """The gauges of a simulation's joints.

    It belongs to one model and data, as a `JointReader` does; kinematics must have been computed.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel]) -> None:
        self._data = data
        self._gauges = place_gauges(model, joints)
        self._reader = JointReader(model, data, joints)

    def shapes(self) -> list[Shape]:
        """What is to be drawn over the simulation as it is now."""
        signals = self._reader.read()
        return [
            shape
            for gauge, line in zip(self._gauges, signals, strict=True)
            for shape in gauge_shapes(self._data, gauge, line)
        ]
