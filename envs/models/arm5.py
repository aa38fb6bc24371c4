"""The arm with five qbMove joints, after the public description of AlterEgo's arms.

Kinematics by standard Denavit–Hartenberg parameters, Tᵢ = Rz(qᵢ + offsetᵢ)·Tz(dᵢ)·Rx(αᵢ) with all aᵢ = 0. The base
frame has x up, y forward (+x of the world) and z, the first axis, to the left (+y of the world): at q = 0 the arm
hangs down, q4 < 0 bends the elbow forward and q2 > 0 lifts the arm sideways.
"""

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Final, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import CompliantJoint, Mode, find_law
from pliant.actuators.modes import as_mode
from pliant.envs.models import shapes
from pliant.envs.models.building import add_hinge, check_joints, complete
from pliant.envs.models.parts import (
    C_FLANGE,
    C_TO_CUBE,
    COLLISION_GROUP,
    CUBE,
    CUBE_TO_FLAT,
    FLAT_FLANGE,
    FLAT_TO_CUBE,
    FLAT_TO_HAND,
    HAND_FLANGE,
    add_mesh,
    add_part,
    orientation,
)
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View, add_plate, add_scene, add_stand, new_spec
from pliant.envs.models.shapes import Array
from pliant.errors import ShapeError, check_bounds


class Link(NamedTuple):
    """Denavit–Hartenberg parameters of a joint and its limits."""

    d: float
    """m"""
    alpha: float
    """rad"""
    offset: float
    """rad"""
    low: float
    """rad"""
    high: float
    """rad"""


LINKS: Final = (
    Link(0.084, -pi / 2, 0.0, -1.57, 1.57),
    Link(0.0, -pi / 2, pi / 2, -0.81, 1.57),
    Link(0.168, -pi / 2, pi / 2, -1.57, 1.57),
    Link(0.0, pi / 2, 0.0, -2.355, 0.0),
    Link(0.18, 0.0, pi, -1.57, 1.57),
)

JOINTS: Final = tuple(f"joint{i}" for i in range(1, 6))

_TIP_RADIUS = 0.014
_MEAN_SIZE = 0.124
"""What MuJoCo measures drawings by, m: gauges then stand before the cubes and the folded arm."""


def forward_kinematics(q: ArrayLike) -> Array:
    """Pose of the tip in the base frame, (4, 4), from the joint angles (5,), rad: the product of the Tᵢ.

    Raises:
        ShapeError: not five angles.
    """
    angles = np.asarray(q, np.float64)
    if angles.shape != (len(LINKS),):
        raise ShapeError(f"arm5 has {len(LINKS)} joint angles, shape ({len(LINKS)},); got {angles.shape}.")
    pose = np.eye(4)
    for angle, link in zip(angles, LINKS, strict=True):
        c, s = cos(angle + link.offset), sin(angle + link.offset)
        ca, sa = cos(link.alpha), sin(link.alpha)
        pose = pose @ np.array(
            [[c, -s * ca, s * sa, 0.0], [s, c * ca, -c * sa, 0.0], [0.0, sa, ca, link.d], [0.0, 0.0, 0.0, 1.0]]
        )
    return pose


def arm5_joints(mode: Mode | int | str = Mode.EQUILIBRIUM_PRESET_MOTORS) -> tuple[CompliantJoint, ...]:
    """Five qbMoves with default springs, preset 0.2 rad in a range of 0 to 0.6 rad."""
    joint = CompliantJoint(find_law("qbmove")(), as_mode(mode), preset_range=(0.0, 0.6), preset=0.2)
    return (joint,) * len(LINKS)


def arm5(
    joints: Sequence[CompliantJoint] | None = None,
    *,
    preset: float | None = None,
    height: float = 0.45,
    damping: float = 0.065,
    friction: float = 0.025,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "implicitfast",
) -> RobotModel:
    """Build the arm: joints `joint1` to `joint5`, base frame at the site `base`, tip at the site `tip`.

    The bodies are four moving cubes with their flanges and a hand flange (see `parts`). The tip, 45.5 mm beyond
    the hand flange, is a knob without mass that touches the world. Links do not collide with each other.

    Args:
        joints: from base to tip; None: `arm5_joints()`, in mode 6.
        preset: resting stiffness preset of all joints, rad; None: the joints' own.
        height: of the first axis above the floor, m; the arm reaches 0.348 m.
        damping: viscous friction of each joint, N·m·s/rad.
        friction: dry friction of each joint, N·m.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete.

    Raises:
        ConfigurationError: not five `CompliantJoint`s, or a preset for joints that have none.
        OutOfBoundsError: a number is not finite or outside its bounds.
        UnknownNameError: there is no such integrator.
    """
    check_bounds("arm5: height", height, 0.1, 10.0, "m")
    descriptions = check_joints("arm5", JOINTS, arm5_joints() if joints is None else joints, preset)
    spec = new_spec("arm5", timestep, integrator, gravity)
    body = _add_base(spec, height)
    for index, link in enumerate(LINKS):
        body = _add_link(spec, body, index, link, damping, friction)
    _add_hand(spec, body)
    add_scene(spec, View((0.05, 0.06, height - 0.17), 0.29, "link4", azimuth=80.0))
    spec.stat.meansize = _MEAN_SIZE
    return complete(spec, "arm5", JOINTS, descriptions, "tip")


def _add_base(spec: mujoco.MjSpec, height: float) -> mujoco.MjsBody:
    """The cube that turns the first joint, on its stand; x up, y forward, z to the left."""
    base = spec.worldbody.add_body(name="base", pos=[0.0, 0.0, height], quat=orientation((0, 0, 1), (0, 1, 0)))
    cube = LINKS[0].d - FLAT_TO_CUBE - CUBE_TO_FLAT
    add_part(spec, base, "cube0", CUBE, (0, 0, cube), (1, 0, 0), (0, 0, 1))
    add_plate(spec, base, "bracket", (0, 0, cube - 0.037), (0.033, 0.033, 0.004))
    add_stand(spec, (0.0, cube - 0.061, height + 0.033))
    base.add_site(name="base", size=[0.004], group=4)
    return base


def _add_link(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, index: int, link: Link, damping: float, friction: float
) -> mujoco.MjsBody:
    """A link whose body frame is its Denavit–Hartenberg frame; its parts follow from the axis it turns about."""
    half, twist = link.offset / 2, link.alpha / 2
    turn, tilt = (cos(half), 0.0, 0.0, sin(half)), (cos(twist), sin(twist), 0.0, 0.0)
    quaternion = np.zeros(4)
    mujoco.mju_mulQuat(quaternion, turn, tilt)
    body = parent.add_body(name=f"link{index + 1}", pos=[0.0, 0.0, link.d], quat=list(quaternion))
    axis = np.array([0.0, sin(link.alpha), cos(link.alpha)])  # z of the previous frame
    add_hinge(body, JOINTS[index], axis, damping, friction, (link.low, link.high))
    name, along = f"link{index + 1}", np.array([0.0, 0.0, 1.0])
    if index in (0, 2):
        add_part(spec, body, f"{name}_flange", FLAT_FLANGE, -FLAT_TO_CUBE * axis, (1, 0, 0), axis)
        add_part(spec, body, f"{name}_cube", CUBE, (0, 0, 0), (1, 0, 0), along)
    elif index in (1, 3):
        add_part(spec, body, f"{name}_flange", C_FLANGE, (0, 0, 0), along, axis)
        add_part(spec, body, f"{name}_cube", CUBE, C_TO_CUBE * along, (1, 0, 0), along)
    return body


def _add_hand(spec: mujoco.MjSpec, body: mujoco.MjsBody) -> None:
    """Flat flange, hand flange and tip of the last link, whose frame is at the tip."""
    foot = C_TO_CUBE + CUBE_TO_FLAT - LINKS[-1].d
    add_part(spec, body, "link5_flange", FLAT_FLANGE, (0, 0, foot), (1, 0, 0), (0, 0, 1))
    foot += FLAT_TO_HAND
    add_part(spec, body, "hand_flange", HAND_FLANGE, (0, 0, foot), (1, 0, 0), (0, 0, 1))
    add_mesh(spec, body, "tip_stem", "plate", lambda: _stem(foot + 0.007))
    add_mesh(spec, body, "tip_knob", "mark", _knob)
    body.add_geom(
        name="tip",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=[0.0, 0.0, -_TIP_RADIUS],
        size=[_TIP_RADIUS, 0.0, 0.0],
        contype=1,
        conaffinity=0,
        group=COLLISION_GROUP,
        mass=0.0,
    )
    body.add_site(name="tip", size=[0.004], group=4)


def _stem(low: float) -> shapes.Mesh:
    return shapes.loft([shapes.circle(0.017), shapes.circle(0.009)], [low, -_TIP_RADIUS])


def _knob() -> shapes.Mesh:
    """A ball that ends at the tip."""
    angle = np.linspace(-1.45, 1.5, 14)
    return shapes.loft(
        [shapes.circle(_TIP_RADIUS * cos(a)) for a in angle], [_TIP_RADIUS * (sin(a) - 1.0) for a in angle]
    )
