"""What an arm carries at its flange: a tool, its centre point, what it touches with, and a payload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import finite_array
from pliant.envs.models.parts import COLLISION_GROUP, VISUAL_GROUP, orientation
from pliant.envs.models.turned import ORIGIN, Turned, Z, add_turned
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.robot import Array

FLANGE: Final = "flange"
TCP: Final = "tcp"
TOOL: Final = "tool"
"""Names of the sites at the flange and at the tool's centre point, and of the body behind the flange."""
_POINTS = ("tip", "centre")
_TIP = 0.02
"""Radius of what touches the world at the centre point of a tool without a shape, m."""


@dataclass(frozen=True)
class Load:
    """A mass at the flange: a tool, or what it holds.

    Raises:
        OutOfBoundsError, ShapeError: a number that cannot be.
    """

    mass: float = 0.0
    """kg"""
    com: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of mass in the frame of the flange, m."""
    inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """About the centre of mass, along the axes of the flange: ixx, iyy, izz, ixy, ixz, iyz, kg·m², in the order of
    the UR controller's `set_target_payload`."""

    def __post_init__(self) -> None:
        check_bounds("mass at the flange", self.mass, 0.0, 100.0, "kg")
        finite_array("centre of mass at the flange", self.com, (3,))
        xx, yy, zz, xy, xz, yz = finite_array("inertia at the flange", self.inertia, (6,)).tolist()
        low, middle, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
        if low < 0.0 or low + middle < high * (1.0 - 1e-9):
            raise OutOfBoundsError(
                f"inertia at the flange: no body has the principal inertias {low:.4g}, {middle:.4g} and "
                f"{high:.4g} kg·m²; none is negative, and two are together at least the third."
            )


@dataclass(frozen=True)
class Probe:
    """The shape of a tool that touches with a ball: a cylinder on the flange, a neck, and the ball at its end.

    It lies along the flange's z. The defaults are those of Storiale, Ferrentino and Chiacchio (2022) on a UR10.

    Raises:
        OutOfBoundsError: a length out of bounds.
        UnknownNameError: `tcp` is neither `tip` nor `centre`.
    """

    length: float = 0.195
    """From the flange to the tip of the ball, m."""
    ball: float = 0.01
    """Radius of the ball, m; its centre is this far before the tip."""
    neck: float = 0.0075
    """Radius of the neck, m."""
    body: float = 0.04
    """Radius of the cylinder, m."""
    body_length: float = 0.07
    """m"""
    tcp: str = "tip"
    """Where the tool's centre point is: at the ball's `tip`, or in its `centre`."""

    def __post_init__(self) -> None:
        check_bounds("probe: ball", self.ball, 1e-4, 0.2, "m")
        check_bounds("probe: neck", self.neck, 1e-4, self.ball, "m")
        check_bounds("probe: body", self.body, self.neck, 0.5, "m")
        check_bounds("probe: body_length", self.body_length, 1e-3, 1.0, "m")
        check_bounds("probe: length", self.length, self.body_length + 2.0 * self.ball, 2.0, "m")
        if self.tcp not in _POINTS:
            raise unknown_name("point of a probe", self.tcp, _POINTS)

    @property
    def centre(self) -> float:
        """From the flange to the ball's centre, m."""
        return self.length - self.ball

    @property
    def point(self) -> Array:
        """The tool's centre point in the flange: position, m, and rotation vector, rad, (6,)."""
        return np.array([0.0, 0.0, self.length if self.tcp == "tip" else self.centre, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Tool(Load):
    """A tool: its mass, and its shape if it is to have one."""

    probe: Probe | Mapping[str, Any] | None = None
    """A ball on a neck; None: a rod to the tool's centre point, if that is beyond the flange."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probe is not None and not isinstance(self.probe, Probe):
            object.__setattr__(self, "probe", Probe(**_entries("probe of the tool", self.probe, Probe)))

    @property
    def shape(self) -> Probe | None:
        """Its shape."""
        assert not isinstance(self.probe, Mapping)
        return self.probe


def read_tool(tool: Tool | Mapping[str, Any] | None) -> Tool:
    """Return the tool that settings describe; none weighs nothing."""
    if isinstance(tool, Load):
        return tool if isinstance(tool, Tool) else Tool(tool.mass, tool.com, tool.inertia)
    return Tool() if tool is None else Tool(**_entries("tool", tool, Tool))


def read_payload(payload: Load | Mapping[str, Any] | None) -> Load:
    """Return the payload that settings describe; none weighs nothing."""
    if isinstance(payload, Load):
        return payload
    return Load() if payload is None else Load(**_entries("payload", payload, Load))


def _entries(what: str, given: Any, kind: type) -> Mapping[str, Any]:
    known = [field.name for field in fields(kind)]
    if not isinstance(given, Mapping):
        example = "{length: 0.195}" if kind is Probe else "{mass: 1.2, com: [0, 0, 0.05]}"
        raise ConfigurationError(f"{what} is {given!r}; a mapping such as {example} is needed.")
    for key in given:
        if key not in known:
            raise unknown_name("entry", key, known, what)
    return given


def add_tool(
    spec: mujoco.MjSpec, last: mujoco.MjsBody, tool: Tool, payload: Load, point: Array, radius: float
) -> None:
    """Add the tool with the sites at its foot and at its centre point, its shape, and what it holds.

    Args:
        spec: of the arm, with the materials of `scene.new_spec`.
        last: the arm's last body, whose frame is the flange.
        tool: its mass and shape.
        payload: what it holds.
        point: its centre point in the flange: position, m, and rotation vector, rad, (6,).
        radius: of the flange, m, that a rod is drawn by.
    """
    body = last.add_body(name=TOOL)
    body.add_site(name=FLANGE, size=[0.004], group=4)
    site = body.add_site(name=TCP, pos=list(point[:3]), size=[0.004], group=4)
    site.quat = quaternion(point[3:])
    _set_load(body, tool)
    if payload.mass > 0.0:
        _set_load(body.add_body(name="payload"), payload)
    if tool.shape is not None:
        _add_probe(spec, body, tool.shape)
    else:
        _add_rod(spec, body, point[:3], radius)


def quaternion(rotation: ArrayLike) -> list[float]:
    """Return the unit quaternion of a rotation vector, rad."""
    vector = np.asarray(rotation, np.float64)
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return [1.0, 0.0, 0.0, 0.0]
    return [float(np.cos(angle / 2)), *(np.sin(angle / 2) / angle * vector)]


def _set_load(body: mujoco.MjsBody, load: Load) -> None:
    body.explicitinertial = True
    body.mass, body.ipos = load.mass, list(load.com)
    if any(load.inertia):
        body.fullinertia = list(load.inertia)


def _touching(body: mujoco.MjsBody, name: str) -> mujoco.MjsGeom:
    """A geom that touches the world but no other part of the robot, and is not seen."""
    return body.add_geom(
        name=name, contype=1, conaffinity=0, group=COLLISION_GROUP, mass=0.0, rgba=[0.9, 0.3, 0.2, 0.3]
    )


def _add_probe(spec: mujoco.MjSpec, body: mujoco.MjsBody, probe: Probe) -> None:
    ball = _touching(body, TOOL)
    ball.type, ball.size, ball.pos = mujoco.mjtGeom.mjGEOM_SPHERE, [probe.ball, 0, 0], [0, 0, probe.centre]
    for name, material, radius, low, high in (
        ("body", "plate", probe.body, 0.0, probe.body_length),
        ("neck", "steel", probe.neck, probe.body_length, probe.centre),
    ):
        geom = _touching(body, f"{TOOL}_{name}")
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CYLINDER, [radius, (high - low) / 2, 0]
        geom.pos = [0.0, 0.0, (low + high) / 2]
        edge = 0.1 * radius if name == "body" else 0.0
        add_turned(spec, Turned(TOOL, material, ORIGIN, Z, radius, low, high, (edge, edge)), f"probe_{name}")
    seen = body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, material="steel", contype=0, conaffinity=0, mass=0.0)
    seen.size, seen.pos, seen.group = [probe.ball, 0, 0], [0, 0, probe.centre], VISUAL_GROUP


def _add_rod(spec: mujoco.MjSpec, body: mujoco.MjsBody, tip: Array, radius: float) -> None:
    """What touches at the tool's centre point, and a rod to it, drawn if it is beyond the flange."""
    touch = _touching(body, TOOL)
    touch.size = [_TIP, 0.0, 0.0]
    length = float(np.linalg.norm(tip))
    if length > 2.0 * _TIP:
        touch.type = mujoco.mjtGeom.mjGEOM_CAPSULE
        touch.fromto = [0.0, 0.0, 0.0, *(tip * (1.0 - _TIP / length))]
    else:
        touch.type = mujoco.mjtGeom.mjGEOM_SPHERE
        touch.pos = list(tip - [0.0, 0.0, _TIP])
    if length < 0.5 * radius:
        return
    axis = tip / length
    across = np.cross(axis, (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 1.0, 0.0))
    turn = orientation(np.cross(across / np.linalg.norm(across), axis), axis)
    foot = min(0.35 * length, 0.8 * radius)
    for name, part in (
        ("tool_foot", Turned(TOOL, "rubber", ORIGIN, Z, 0.80 * radius, 0.0, foot, (0.0, 0.2 * radius))),
        ("tool_rod", Turned(TOOL, "steel", ORIGIN, Z, 0.30 * radius, foot, length, (0.0, 0.28 * radius))),
    ):
        add_turned(spec, part, name).quat = turn
