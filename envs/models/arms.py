"""What arms have in common, whoever makes them: drives, tool, payload, gravity compensation, scene.

The wrist's force-torque sensor, `wrist`, is between the flange and the tool, at the site `flange` and along its
axes. It reads the force and torque by which the arm holds what is behind it: a tool that hangs pulls down, and
reads up. The tool's centre point is the site `tcp`, read as `tip`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, add_compliant_joint
from pliant.controllers.checks import finite_array
from pliant.envs.models.choices import changed_view, for_each, joint_drives
from pliant.envs.models.robot_model import RobotModel, Start
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.envs.models.tools import FLANGE, TCP, Load, Tool, add_tool, read_payload, read_tool
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.arm_data import Link


@dataclass(frozen=True)
class ArmLink:
    """A link of a chain, its body, and the joint that turns it."""

    body: str
    joint: str
    position: Sequence[float]
    """Of the body in the one before, m."""
    orientation: Sequence[float]
    """Likewise, a unit quaternion, w first."""
    axis: Sequence[float]
    """Of the joint, in the body."""
    anchor: Sequence[float]
    """A point on that axis, in the body, m."""
    link: Link
    range: tuple[float, float] | None
    """rad; None: it turns without end."""
    torque: float
    """Largest, N·m."""
    speed: float
    """Largest, rad/s."""


@dataclass(frozen=True)
class ArmDesign:
    """An arm without what is chosen about it."""

    name: str
    links: tuple[ArmLink, ...]
    """From the base on; the frame of the last is the flange."""
    home: Sequence[float]
    """Where it starts unless told otherwise, rad."""
    pedestal: float
    """Height of its base above the floor unless told otherwise, m."""
    flange: float
    """Radius of its flange, m."""
    view: View
    add_looks: Callable[[mujoco.MjSpec], None]
    """Draw it on its bodies and let them touch the world."""
    add_pedestal: Callable[[mujoco.MjSpec, float], None]
    """Draw what it stands on, of this height, m."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of its joints."""
        return tuple(link.joint for link in self.links)


@dataclass(frozen=True)
class ArmSettings:
    """What can be chosen about an arm."""

    mode: str = "position"
    """What is commanded of rigid joints: `position`, a stiff loop as of the arm's own controller, or `torque`."""
    gravity_compensation: bool | None = None
    """Whether the drives carry the weight of the arm with tool and payload by themselves, as the controller's do,
    within their torque limits; None: if all joints are rigid."""
    joints: Mapping[str, Any] | None = None
    """What drives single joints, by name or glob, as in a robot's own file: `{"*": {kp: 1e5}}` changes the drive
    that they have, `{"*": {law: sea, k: 2e4, mode: 6}}` makes them soft, as their gears are; or a
    `CompliantJoint`. A later entry goes before an earlier one."""
    tool: Tool | Mapping[str, Any] | None = None
    """Mass and shape of what is at the flange; None: nothing."""
    tcp: Sequence[float] | None = None
    """The tool's centre point in the flange: position, m, and rotation vector, rad; None: the probe's, or the
    flange's own frame."""
    payload: Load | Mapping[str, Any] | None = None
    """What the tool holds, in the frame of the flange."""
    start: Sequence[float] | None = None
    """Joint angles, rad; None: the arm's home."""
    damping: float | Sequence[float] = 0.0
    """Viscous friction of each joint, or of all, N·m·s/rad."""
    friction: float | Sequence[float] = 0.0
    """Dry friction likewise, N·m."""
    armature: float | Sequence[float] = 0.0
    """Inertia of the motors as the joints feel it, likewise, kg·m²."""
    torque: float | Sequence[float] | None = None
    """Largest torques likewise, N·m; None: the published ones."""
    pedestal: float | None = None
    """Height of the base above the floor, m; None: the arm's own."""
    view: Mapping[str, Any] | None = None
    """What the cameras look at, as far as it is not the arm's own: entries of a `View`."""
    gravity: bool = True
    """Whether there is any."""
    timestep: float = 1e-3
    """s"""
    integrator: str = "discrete"
    """euler, rk4, implicit, implicitfast or discrete, which carries any stiffness of the loops."""


def arm_settings(arm: str, given: Mapping[str, Any]) -> ArmSettings:
    """Return settings by name; raise `UnknownNameError` for one that does not exist."""
    known = [field.name for field in fields(ArmSettings)]
    for name in given:
        if name not in known:
            raise unknown_name("setting", name, known, arm)
    return ArmSettings(**given)


def build_arm(design: ArmDesign, settings: ArmSettings) -> RobotModel:
    """Build an arm.

    The published speeds are in the model as the numeric `speed_limits`, for whoever commands: nothing but torque
    limits how fast a joint goes.

    Raises:
        UnknownNameError: no such mode, joint, law, entry or integrator.
        OutOfBoundsError, ShapeError: numbers that cannot be.
        ConfigurationError: soft joints whose weight the drives are to carry, or what does not go together.
    """
    name, count = design.name, len(design.links)
    tool, payload = read_tool(settings.tool), read_payload(settings.payload)
    published = [link.torque for link in design.links]
    torques = published if settings.torque is None else for_each("torque", settings.torque, count, "N·m", 1e5)
    ranges = {link.joint: link.range for link in design.links}
    drives = joint_drives(name, ranges, torques, settings.mode, settings.joints)
    compensated = _compensation(design, drives, settings.gravity_compensation)
    begin = finite_array(f"{name}: start", design.home if settings.start is None else settings.start, (count,))
    own = np.zeros(6) if tool.shape is None else tool.shape.point
    point = own if settings.tcp is None else finite_array(f"{name}: tcp", settings.tcp, (6,))
    spec = new_spec(name, settings.timestep, settings.integrator, settings.gravity)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC  # with pyramids a contact is stiffer by 2/μ²
    flange = _add_chain(spec, design.links, torques)
    damping = for_each("damping", settings.damping, count, "N·m·s/rad")
    friction = for_each("friction", settings.friction, count, "N·m")
    armature = for_each("armature", settings.armature, count, "kg·m²")
    for joint, viscous, dry, inertia in zip(spec.joints, damping, friction, armature, strict=True):
        joint.damping[0], joint.frictionloss, joint.armature = viscous, dry, inertia
    add_tool(spec, flange, tool, payload, point, design.flange)
    design.add_looks(spec)
    add_scene(spec, changed_view(name, design.view, settings.view))
    spec.visual.map.shadowclip = 2.5
    height = design.pedestal if settings.pedestal is None else settings.pedestal
    check_bounds(f"{name}: pedestal", height, 0.0, 5.0, "m")
    spec.geom("floor").pos = [0.0, 0.0, -height]
    design.add_pedestal(spec, height)
    if compensated:
        for body in spec.bodies[1:]:
            body.gravcomp = 1.0
        for joint in spec.joints:
            joint.actgravcomp = True  # within the torque limits of the joints, and part of the torque that is read
    for joint_name, drive in zip(design.joints, drives, strict=True):
        add_compliant_joint(spec, joint_name, drive)
    spec.add_numeric(name="speed_limits", data=[link.speed for link in design.links], size=count)
    return RobotModel(
        name=name,
        spec=spec,
        joints=design.joints,
        end_effectors={"tip": TCP},
        force_torque={"wrist": FLANGE},
        signals=("wrist", "tip"),
        start=Start(joints=dict(zip(design.joints, begin.tolist(), strict=True))),
    )


def _compensation(design: ArmDesign, drives: Sequence[CompliantJoint], wanted: bool | None) -> bool:
    soft = [name for name, drive in zip(design.joints, drives, strict=True) if not drive.mode.rigid]
    if wanted and soft:
        raise ConfigurationError(
            f"{design.name}: the drives cannot carry the weight of the arm through the springs of "
            f"{', '.join(soft)}; leave gravity_compensation out, and let a controller command it."
        )
    return not soft if wanted is None else wanted


def _add_chain(spec: mujoco.MjSpec, links: Sequence[ArmLink], torques: Sequence[float]) -> mujoco.MjsBody:
    """The base and the links; returns the last."""
    body = spec.worldbody.add_body(name="base")
    body.add_site(name="base", size=[0.004], group=4)
    for link, torque in zip(links, torques, strict=True):
        body = body.add_body(name=link.body, pos=list(link.position), quat=list(link.orientation))
        ixx, ixy, ixz, iyy, iyz, izz = link.link.inertia
        body.explicitinertial = True
        body.mass, body.ipos = link.link.mass, list(link.link.com)
        body.fullinertia = [ixx, iyy, izz, ixy, ixz, iyz]
        joint = body.add_joint(name=link.joint, type=mujoco.mjtJoint.mjJNT_HINGE, axis=list(link.axis))
        joint.pos = list(link.anchor)
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if link.range is not None:
            joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, list(link.range)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.actfrcrange = [-torque, torque]
    return body
