"""Arms of Universal Robots, from their published kinematics, masses, torque limits and joint ranges.

The body of each link is its Denavit–Hartenberg frame, so the nominal chain is the one that a controller reports
its tool's pose by. The world's frame is the controller's `base`: x and y as there, the first axis along +z.
Parameters and their source: `pliant.hardware.ur_arms`. Dry friction, damping and rotor inertia of the gears are
not published: they are 0 unless given. Nothing but torque limits how fast a joint goes: the published speeds ride
along as the numeric `speed_limits`, for whoever commands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import cos, pi, sin
from pathlib import Path
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import CompliantJoint, add_compliant_joint
from pliant.controllers.checks import finite_array, number_array
from pliant.envs.models.own_robot import joint_description
from pliant.envs.models.parts import COLLISION_GROUP
from pliant.envs.models.robot_model import RobotModel, Start
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.envs.models.ur_looks import add_looks, add_meshes, add_pedestal, add_tool_looks
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.robot import Array
from pliant.hardware.ur_arms import ALPHA, JOINTS, LINKS, UrArm, UrLink, ur_arm

HOME: Final = (0.0, -pi / 2, pi / 2, -pi / 2, -pi / 2, 0.0)
"""Where the arm starts, rad: the elbow bent at a right angle, the tool pointing down."""
MODES: Final = ("position", "torque")
_FULL_TORQUE_AT = 0.005
"""Error at which a position loop gives the whole torque of its joint, rad."""
_TIP = 0.02
"""Radius of what touches the world at the tool's centre point, m."""
_DRIVES = ("law", "servo", "drive", "mode")
"""Entries that say what a joint is driven by, rather than change what it is driven by anyway."""


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
    the controller's `set_target_payload`."""

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


def ur(
    arm: str,
    *,
    mode: str = "position",
    gravity_compensation: bool | None = None,
    joints: Mapping[str, Any] | None = None,
    tool: Load | Mapping[str, Any] | None = None,
    tcp: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    payload: Load | Mapping[str, Any] | None = None,
    start: Sequence[float] = HOME,
    damping: float | Sequence[float] = 0.0,
    friction: float | Sequence[float] = 0.0,
    armature: float | Sequence[float] = 0.0,
    pedestal: float = 0.6,
    meshes: str | Path | None = None,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "discrete",
) -> RobotModel:
    """Build an arm: joints `shoulder_pan` to `wrist_3`, the tool's centre point at the site `tcp`, read as `tip`.

    The wrist's force-torque sensor, `wrist`, is between the flange and the tool, at the site `flange` and along
    its axes. It reads the force and torque by which the arm holds what is behind it: a tool that hangs pulls down,
    and reads up.

    Args:
        arm: name, such as `ur10e` (see `pliant.hardware.ur_arms.ur_names`).
        mode: what is commanded of rigid joints: `position`, a stiff loop as of the arm's own controller, or
            `torque`.
        gravity_compensation: whether the drives carry the weight of the arm with tool and payload by themselves,
            as the controller's do, within their torque limits; None: if all joints are rigid.
        joints: what drives single joints, by name or glob, as in a robot's own file: `{"*": {kp: 1e5}}` changes
            the drive that they have, `{"*": {law: sea, k: 2e4, mode: 6}}` makes them soft, as their gears are; or
            a `CompliantJoint`. A later entry goes before an earlier one.
        tool: mass at the flange; None: none.
        tcp: the tool's centre point in the flange: position, m, and rotation vector, rad, as the controller's.
        payload: what the tool holds, likewise in the frame of the flange.
        start: joint angles, rad.
        damping: viscous friction of each joint, or of all, N·m·s/rad.
        friction: dry friction likewise, N·m.
        armature: inertia of the motors as the joints feel it, likewise, kg·m².
        pedestal: height of the base above the floor, m.
        meshes: folder with `base`, `shoulder`, `upperarm`, `forearm`, `wrist1`, `wrist2` and `wrist3`, each .stl
            or .obj, drawn instead of our own shapes. They are placed as in the manufacturer's ROS description.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete, which carries any stiffness of the loops.

    Raises:
        UnknownNameError: no such arm, mode, joint, law, entry or integrator.
        OutOfBoundsError, ShapeError: numbers that cannot be.
        ConfigurationError: soft joints whose weight the drives are to carry, or what does not go together.
        MissingFileError: a mesh is not in the folder.
    """
    parameters = ur_arm(arm)
    if mode not in MODES:
        raise unknown_name("mode of an arm", mode, MODES, arm)
    tool, payload = _load("tool", tool), _load("payload", payload)
    drives = _drives(parameters, mode, joints or {})
    compensated = _compensation(arm, drives, gravity_compensation)
    begin = finite_array(f"{arm}: start", start, (6,))
    spec = new_spec(arm, timestep, integrator, gravity)
    flange = _add_chain(spec, parameters, _six("damping", damping, "N·m·s/rad"), _six("friction", friction, "N·m"))
    for joint, inertia in zip(spec.joints, _six("armature", armature, "kg·m²"), strict=True):
        joint.armature = inertia
    point = finite_array(f"{arm}: tcp", tcp, (6,))
    _add_tool(spec, flange, tool, payload, point)
    add_tool_looks(spec, point[:3], parameters)
    if meshes is None:
        add_looks(spec, parameters)
    else:
        add_meshes(spec, parameters, Path(meshes))
    reach = -parameters.a[1] - parameters.a[2] + parameters.d[4]
    view = View((-0.3 * reach, 0.0, 0.22 * reach), 0.82 * reach, "base", elevation=14.0, azimuth=-60.0)
    add_scene(spec, view)
    spec.visual.map.shadowclip = 2.5
    add_pedestal(spec, parameters, check_bounds(f"{arm}: pedestal", pedestal, 0.0, 5.0, "m"))
    if compensated:
        for body in spec.bodies[1:]:
            body.gravcomp = 1.0
        for joint in spec.joints:
            joint.actgravcomp = True  # within the torque limits of the joints, and part of the torque that is read
    for name, drive in zip(JOINTS, drives, strict=True):
        add_compliant_joint(spec, name, drive)
    spec.add_numeric(name="speed_limits", data=list(parameters.speed), size=6)
    return RobotModel(
        name=arm,
        spec=spec,
        joints=JOINTS,
        end_effectors={"tip": "tcp"},
        force_torque={"wrist": "flange"},
        signals=("wrist", "tip"),
        start=Start(joints=dict(zip(JOINTS, begin.tolist(), strict=True))),
    )


def _load(what: str, load: Load | Mapping[str, Any] | None) -> Load:
    if load is None or isinstance(load, Load):
        return load or Load()
    if not isinstance(load, Mapping):
        raise ConfigurationError(
            f"{what} is {load!r}; a mapping such as {{mass: 1.2, com: [0, 0, 0.05]}} is needed."
        )
    known = ("mass", "com", "inertia")
    for key in load:
        if key not in known:
            raise unknown_name("entry", key, known, what)
    return Load(**load)


def _six(what: str, value: float | Sequence[float], unit: str) -> list[float]:
    """One number for each joint, from one for all or six."""
    values = number_array(what, value)
    six = np.full(6, values) if values.ndim == 0 else finite_array(what, values, (6,))
    return [check_bounds(what, number, 0.0, 1e3, unit) for number in six.tolist()]


def _drives(arm: UrArm, mode: str, given: Mapping[str, Any]) -> tuple[CompliantJoint, ...]:
    """What drives each joint: by the arm's mode, changed or replaced by what is given."""
    for pattern in given:
        if not any(fnmatchcase(name, pattern) for name in JOINTS):
            raise unknown_name("joint", pattern, JOINTS, arm.name)
    drives = []
    for name, limit, bounds in zip(JOINTS, arm.torque, arm.range, strict=True):
        own: dict[str, Any] = {"mode": 0, "torque_limit": limit}
        if mode == "position":
            own = {"drive": "position_loop", "kp": limit / _FULL_TORQUE_AT, "torque_limit": limit}
        entries = [entry for pattern, entry in given.items() if fnmatchcase(name, pattern)]
        entry = entries[-1] if entries else {}
        if isinstance(entry, CompliantJoint):
            drives.append(entry)
            continue
        if not isinstance(entry, Mapping):
            raise ConfigurationError(f"{arm.name}: joint {name!r} is {entry!r}; a mapping or a joint is needed.")
        if any(key in entry for key in _DRIVES):
            own = {"torque_limit": limit} if "servo" not in entry else {}
        drives.append(joint_description(name, {**own, **entry}, bounds or (-2 * pi, 2 * pi)))
    return tuple(drives)


def _compensation(arm: str, drives: Sequence[CompliantJoint], wanted: bool | None) -> bool:
    soft = [name for name, drive in zip(JOINTS, drives, strict=True) if not drive.mode.rigid]
    if wanted and soft:
        raise ConfigurationError(
            f"{arm}: the drives cannot carry the weight of the arm through the springs of "
            f"{', '.join(soft)}; leave gravity_compensation out, and let a controller command it."
        )
    return not soft if wanted is None else wanted


def _add_chain(
    spec: mujoco.MjSpec, arm: UrArm, damping: Sequence[float], friction: Sequence[float]
) -> mujoco.MjsBody:
    """The base and the six links, each body in its Denavit–Hartenberg frame; returns the last."""
    body = spec.worldbody.add_body(name="base")
    body.add_site(name="base", size=[0.004], group=4)
    for k, (name, link) in enumerate(zip(LINKS, arm.links, strict=True)):
        alpha = ALPHA[k]
        body = body.add_body(
            name=name, pos=[arm.a[k], 0.0, arm.d[k]], quat=[cos(alpha / 2), sin(alpha / 2), 0.0, 0.0]
        )
        _set_inertial(body, link)
        # the joint's axis is z of the frame before, in front of which the link lies by a
        axis = [0.0, float(np.sign(round(sin(alpha)))), float(round(cos(alpha)))]
        joint = body.add_joint(
            name=JOINTS[k], type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, pos=[-arm.a[k], 0.0, 0.0]
        )
        bounds = arm.range[k]
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE if bounds is None else mujoco.mjtLimited.mjLIMITED_TRUE
        if bounds is not None:
            joint.range = list(bounds)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.actfrcrange = [-arm.torque[k], arm.torque[k]]
        joint.damping[0], joint.frictionloss = damping[k], friction[k]
    return body


def _set_inertial(body: mujoco.MjsBody, link: UrLink) -> None:
    ixx, ixy, ixz, iyy, iyz, izz = link.inertia
    body.explicitinertial = True
    body.mass, body.ipos = link.mass, list(link.com)
    body.fullinertia = [ixx, iyy, izz, ixy, ixz, iyz]


def _add_tool(spec: mujoco.MjSpec, last: mujoco.MjsBody, tool: Load, payload: Load, tcp: Array) -> None:
    """The tool with the sensor at its foot, what it holds, and its centre point."""
    body = last.add_body(name="tool")
    body.add_site(name="flange", size=[0.004], group=4)
    point = body.add_site(name="tcp", pos=list(tcp[:3]), size=[0.004], group=4)
    point.quat = _quaternion(tcp[3:])
    _set_load(body, tool)
    if payload.mass > 0.0:
        _set_load(body.add_body(name="payload"), payload)
    touch = body.add_geom(name="tool", contype=1, conaffinity=0, group=COLLISION_GROUP, mass=0.0)
    length = float(np.linalg.norm(tcp[:3]))
    if length > 2.0 * _TIP:
        touch.type = mujoco.mjtGeom.mjGEOM_CAPSULE
        touch.fromto = [0.0, 0.0, 0.0, *(tcp[:3] * (1.0 - _TIP / length))]
    else:
        touch.type = mujoco.mjtGeom.mjGEOM_SPHERE
        touch.pos = list(tcp[:3] - [0.0, 0.0, _TIP])
    touch.size = [_TIP, 0.0, 0.0]


def _set_load(body: mujoco.MjsBody, load: Load) -> None:
    body.explicitinertial = True
    body.mass, body.ipos = load.mass, list(load.com)
    if any(load.inertia):
        body.fullinertia = list(load.inertia)


def _quaternion(rotation: ArrayLike) -> list[float]:
    """Unit quaternion of a rotation vector, rad."""
    vector = np.asarray(rotation, np.float64)
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return [1.0, 0.0, 0.0, 0.0]
    return [cos(angle / 2), *(sin(angle / 2) / angle * vector)]
