"""The humanoid Atlas of the DARPA Robotics Challenge, version 4: 28 joints that are commanded torques.

Bodies bear the names of the public URDF, whose zero this is: legs straight, arms stretched out to the sides, x
forward, y to the left. Parameters, their source and what was changed: `pliant.hardware.atlas`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import mujoco
import numpy as np

from pliant.actuators import add_compliant_joint
from pliant.envs.models.atlas_body import FRICTION, PELVIS, PELVIS_JOINTS, add_links, add_sites, let_pelvis_move
from pliant.envs.models.atlas_looks import add_looks
from pliant.envs.models.choices import changed_view, for_each, joint_drives
from pliant.envs.models.robot_model import RobotModel, Start
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.atlas import NAME, AtlasJoint, published_atlas

BASES: Final = ("fixed", "moving", "floating")
HEIGHT: Final = 0.9
"""Of the pelvis at the start, m: 14 mm more than when the robot stands."""
_STANCE = {
    **{"arm_shz": -0.3, "arm_shx": -1.3, "arm_ely": 2.0, "arm_elx": 0.6, "arm_wry": 0.5},
    **{"leg_hpy": -0.45, "leg_kny": 0.9, "leg_aky": -0.45},
}
STANCE: Final[Mapping[str, float]] = {
    f"{side}_{joint}": angle * (sign if joint in ("arm_shz", "arm_shx", "arm_elx") else 1.0)
    for side, sign in (("l", 1.0), ("r", -1.0))
    for joint, angle in _STANCE.items()
}
"""Joint angles at the start, rad; the others are 0."""

_LEG = "_leg_"
_TRAVEL, _SPEED = 2.0, 20.0
"""Bounds of the commands of a moving pelvis: m and rad, m/s and rad/s."""


def atlas(
    *,
    base: str = "fixed",
    legs: bool = True,
    mode: str = "torque",
    joints: Mapping[str, Any] | None = None,
    start: Mapping[str, float] | None = None,
    height: float = HEIGHT,
    torque: float | Sequence[float] | None = None,
    damping: float | Sequence[float] | None = None,
    friction: float | Sequence[float] = 0.0,
    armature: float | Sequence[float] = 0.0,
    self_collision: bool = True,
    view: Mapping[str, Any] | None = None,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "discrete",
) -> RobotModel:
    """Build the robot.

    End effectors are `left_hand`, `right_hand`, `head`, `left_sole`, `right_sole`, and, where it does not float,
    `pelvis`. Force-torque sensors `left_foot` and `right_foot`, at the ankles and along the feet's axes, read the
    force and torque by which the leg holds the foot: standing, downwards. Inertial sensors in the pelvis are
    `imu_gyro`, `imu_accelerometer` and `imu_orientation`.

    A moving pelvis has the joints `PELVIS_JOINTS`, after the others, which are commanded positions and speeds and
    follow them whatever the robot does: what is commanded for a period are those in its middle.

    Args:
        base: `fixed`: the pelvis stands still in the world; `moving`: it follows what is commanded; `floating`:
            the robot stands on its feet.
        legs: whether the legs move; if not, they are stiff as at the start and touch nothing.
        mode: what is commanded of rigid joints: `torque`, or `position` of stiff loops.
        joints: what drives single joints, by name or glob, as in a robot's own file; a later one goes before an
            earlier one.
        start: joint angles at the start in place of those of `STANCE`, rad.
        height: of the pelvis at the start, m; a floating robot is put on the floor.
        torque: largest of each joint or of all, N·m; None: the published ones.
        damping: viscous friction likewise, N·m·s/rad; None: the published one.
        friction: dry friction likewise, N·m.
        armature: inertia of the motors as the joints feel it, likewise, kg·m².
        self_collision: whether links touch each other, but for those with three joints or fewer between them.
        view: what the cameras look at, as far as it is not ours: entries of a `View`.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete.

    Raises:
        UnknownNameError: no such base, mode, joint, law, entry or integrator.
        OutOfBoundsError, ShapeError: numbers that cannot be.
        ConfigurationError: a floating robot without legs, or what does not go together.
    """
    if base not in BASES:
        raise unknown_name("base", base, BASES, NAME)
    for what, value in (("legs", legs), ("self_collision", self_collision), ("gravity", gravity)):
        if not isinstance(value, bool):
            raise ConfigurationError(f"{NAME}: {what} is {value!r}; true or false is needed.")
    if base == "floating" and not legs:
        raise ConfigurationError(f"{NAME}: a floating robot stands on its legs; legs=true is needed.")
    robot = published_atlas()
    angles = _start(start, robot.joints)
    moved = [joint for joint in robot.joints if legs or _LEG not in joint.name]
    count = len(moved)
    torques = (
        [joint.torque for joint in moved] if torque is None else for_each("torque", torque, count, "N·m", 1e5)
    )
    viscous = [joint.damping for joint in moved] if damping is None else damping
    ranges = {joint.name: joint.range for joint in moved}
    drives = joint_drives(NAME, ranges, torques, mode, joints)

    spec = new_spec(NAME, timestep, integrator, gravity)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    add_links(spec, robot.pelvis, robot.joints, angles, {joint.name for joint in moved}, self_collision)
    for joint, limit, wet, dry, inertia in zip(
        moved,
        torques,
        for_each("damping", viscous, count, "N·m·s/rad"),
        for_each("friction", friction, count, "N·m"),
        for_each("armature", armature, count, "kg·m²"),
        strict=True,
    ):
        hinge = spec.joint(joint.name)
        hinge.damping[0], hinge.frictionloss, hinge.armature = wet, dry, inertia
        hinge.actfrclimited, hinge.actfrcrange = mujoco.mjtLimited.mjLIMITED_TRUE, [-limit, limit]
    height = check_bounds(f"{NAME}: height", height, 0.0, _TRAVEL, "m")
    names = tuple(ranges)
    pelvis = spec.body(PELVIS)
    if base == "floating":
        pelvis.add_freejoint(name=PELVIS)
    else:
        pelvis.pos = [0.0, 0.0, height]
    if base == "moving":
        let_pelvis_move(spec, pelvis)
        names = (*names, *PELVIS_JOINTS)
    for name, drive in zip(ranges, drives, strict=True):
        add_compliant_joint(spec, name, drive)
    add_sites(spec, robot.imu)
    add_looks(spec)
    add_scene(spec, changed_view(NAME, View((0.0, 0.0, 0.9), 1.15, PELVIS, elevation=8.0, azimuth=40.0), view))
    spec.geom("floor").friction[0] = FRICTION
    spec.add_numeric(name="speed_limits", data=[joint.speed for joint in moved], size=count)
    return RobotModel(
        name=NAME,
        spec=spec,
        joints=names,
        end_effectors=_end_effectors(base),
        base=PELVIS if base == "floating" else None,
        force_torque={foot: foot for foot in ("left_foot", "right_foot")} if legs else {},
        signals=_signals(base, legs),
        start=Start(
            joints={
                **{joint.name: angles[joint.name] for joint in moved},
                **({"pelvis_z": height} if base == "moving" else {}),
            },
            base=np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]) if base == "floating" else None,
        ),
        ranges={
            f"{name}/{quantity}": (-bound, bound)
            for name in (PELVIS_JOINTS if base == "moving" else ())
            for quantity, bound in (("position", _TRAVEL), ("velocity", _SPEED))
        },
    )


def _end_effectors(base: str) -> dict[str, str]:
    names = ["left_hand", "right_hand", "head", "left_sole", "right_sole"]
    return {name: name for name in (names if base == "floating" else [*names, PELVIS])}


def _signals(base: str, legs: bool) -> tuple[str, ...]:
    trunk = {"fixed": (), "moving": (PELVIS, "imu_*"), "floating": ("base", "imu_*")}[base]
    return (*trunk, "left_hand", "right_hand", *(("left_foot", "right_foot") if legs else ()))


def _start(given: Mapping[str, float] | None, joints: Sequence[AtlasJoint]) -> dict[str, float]:
    """Angle of every joint at the start."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(f"{NAME}: start is {given!r}; angles by joint are needed: {{l_arm_elx: 0.5}}.")
    names = [joint.name for joint in joints]
    for name in given or {}:
        if name not in names:
            raise unknown_name("joint", name, names, f"{NAME}: start")
    wanted = {**dict.fromkeys(names, 0.0), **STANCE, **(given or {})}
    return {
        joint.name: check_bounds(f"{NAME}: start of joint {joint.name!r}", wanted[joint.name], *joint.range, "rad")
        for joint in joints
    }
