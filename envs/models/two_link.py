"""The planar arm of the textbooks: two uniform rods, upright or lying, driven by torques or soft joints.

M(q)·q̈ + C(q, q̇)·q̇ + g(q) = τ − b·q̇, with q1 from the x axis and q2 from the first rod. The tip is at
x = l1·cos q1 + l2·cos(q1 + q2), and the same with sin along z (vertical) or y (horizontal).
Source: Spong, Hutchinson, Vidyasagar, "Robot Modeling and Control", Section "Planar elbow manipulator".
"""

from collections.abc import Sequence
from typing import Final

import mujoco

from pliant.actuators import CompliantJoint, Mode, Motor, find_law
from pliant.actuators.modes import as_mode
from pliant.envs.models import shapes
from pliant.envs.models.building import add_hinge, check_joints, complete
from pliant.envs.models.parts import COLLISION_GROUP, add_mesh, orientation
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View, add_plate, add_scene, add_stand, new_spec
from pliant.errors import ConfigurationError, check_bounds

JOINTS: Final = ("shoulder", "elbow")

_RADIUS = 0.04
"""Half the width that the rods are drawn with at their ends, m; their inertia is that of thin rods."""
_THICK = 0.025
"""Half their thickness along the axes, m."""
_GAP = 2 * _THICK + 0.012
"""Distance that the rods are drawn apart along the axes, m; both inertias act in one plane."""
_SHOULDER = 0.20
"""Length of the motor at the shoulder, m."""


def torque_joints(limit: float = 60.0) -> tuple[CompliantJoint, CompliantJoint]:
    """Two rigid joints whose commands are torques within ±`limit`, N·m (gravity needs up to 19.6)."""
    joint = CompliantJoint(find_law("rigid")(), Mode.LINK_TORQUE, Motor(torque_limit=limit))
    return joint, joint


def soft_joints(
    stiffness: float, mode: Mode | int | str = Mode.EQUILIBRIUM_PRESET
) -> tuple[CompliantJoint, CompliantJoint]:
    """Two series elastic joints of `stiffness`, N·m/rad; their damper is the arm's `damping`."""
    joint = CompliantJoint(find_law("sea")(k=stiffness), as_mode(mode))
    return joint, joint


def two_link(
    joints: Sequence[CompliantJoint] | None = None,
    *,
    lengths: Sequence[float] = (1.0, 1.0),
    masses: Sequence[float] = (1.0, 1.0),
    vertical: bool = True,
    damping: float = 0.0,
    friction: float = 0.0,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "implicitfast",
) -> RobotModel:
    """Build the arm: joints `shoulder` and `elbow`, both without limits, tip at the site `tip`.

    Args:
        joints: shoulder and elbow; None: `torque_joints()`. Soft joints: `soft_joints(stiffness)`.
        lengths: l1, l2, m.
        masses: of the two rods, kg.
        vertical: whether the arm moves in a vertical plane.
        damping: viscous friction b of each joint, N·m·s/rad.
        friction: dry friction of each joint, N·m.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete.

    Raises:
        ConfigurationError: not two joints, lengths or masses.
        OutOfBoundsError: a number is not finite or outside its bounds.
        UnknownNameError: there is no such integrator.
    """
    descriptions = check_joints("two_link", JOINTS, torque_joints() if joints is None else joints)
    l1, l2 = _pair("lengths", lengths, 0.1, 10.0, "m")
    m1, m2 = _pair("masses", masses, 1e-3, 1e3, "kg")
    spec = new_spec("two_link", timestep, integrator, gravity)
    height = 1.15 * (l1 + l2) if vertical else 0.8
    z = (0, -1, 0) if vertical else (0, 0, 1)
    base = spec.worldbody.add_body(name="base", pos=[0.0, 0.0, height], quat=orientation((1, 0, 0), z))
    _add_mount(spec, base, height, vertical)
    upper = _add_rod(spec, base, 1, 0.0, l1, m1)
    fore = _add_rod(spec, upper, 2, l1, l2, m2)
    for body, joint in ((upper, JOINTS[0]), (fore, JOINTS[1])):
        add_hinge(body, joint, (0, 0, 1), damping, friction)
    add_mesh(spec, fore, "tip", "mark", lambda: _disc(l2, 0.6 * _RADIUS, _GAP + _THICK + 0.004))
    fore.add_site(name="tip", pos=[l2, 0.0, 0.0], size=[0.01], group=4)
    view = View((0.25 * (l1 + l2), 0.0, height), 0.85 * (l1 + l2), "link2", 8.0 if vertical else 50.0)
    add_scene(spec, view)
    return complete(spec, "two_link", JOINTS, descriptions, "tip")


def _pair(what: str, values: Sequence[float], low: float, high: float, unit: str) -> tuple[float, float]:
    numbers = [check_bounds(f"two_link: {what}", value, low, high, unit) for value in values]
    if len(numbers) != 2:
        raise ConfigurationError(f"two_link has two rods: {what} takes 2 numbers, {len(numbers)} given.")
    return numbers[0], numbers[1]


def _add_mount(spec: mujoco.MjSpec, base: mujoco.MjsBody, height: float, vertical: bool) -> None:
    """The motor at the shoulder, behind or under the arm, and its stand."""
    front = -_THICK - 0.006
    back = front - _SHOULDER
    add_mesh(spec, base, "shoulder_motor", "housing", lambda: _motor(0.09, back, front))
    add_plate(spec, base, "bracket", (0, 0, back - 0.01), (0.12, 0.12, 0.01))
    if vertical:
        add_stand(spec, (0.0, 0.07 - back, height + 0.12), 0.1)
    else:
        add_stand(spec, (0.0, 0.0, height + back - 0.02), 0.1)


def _add_rod(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, number: int, at: float, length: float, mass: float
) -> mujoco.MjsBody:
    """A uniform thin rod along x: m·l²/12 about the axes across it."""
    body = parent.add_body(name=f"link{number}", pos=[at, 0.0, 0.0])
    body.explicitinertial = True
    across, along = mass * length**2 / 12, mass * _RADIUS**2 / 2
    body.mass, body.ipos, body.inertia = mass, [length / 2, 0.0, 0.0], [along, across, across]
    plane = 0.0 if number == 1 else _GAP
    add_mesh(spec, body, f"link{number}_rod", "flange", lambda: _rod(length, plane))
    if number == 1:
        add_mesh(spec, body, "elbow_motor", "housing", lambda: _motor(0.062, -0.15, 0.033, length))
    add_mesh(spec, body, f"link{number}_hub", "steel", lambda: _disc(0.0, _RADIUS, plane + _THICK + 0.006))
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[0.0, 0.0, plane, length, 0.0, plane],
        size=[_RADIUS, 0.0, 0.0],
        contype=1,
        conaffinity=0,
        group=COLLISION_GROUP,
        mass=0.0,
    )
    return body


def _rod(length: float, plane: float) -> shapes.Mesh:
    outline = shapes.taper(1.5 * _RADIUS, _RADIUS, length)
    return shapes.slab(outline, plane - _THICK, plane + _THICK, 0.004)


def _motor(radius: float, low: float, high: float, x: float = 0.0) -> shapes.Mesh:
    can = shapes.slab(shapes.circle(radius), low, high, 0.006)
    return shapes.moved(can, (x, 0.0, 0.0))


def _disc(x: float, radius: float, top: float) -> shapes.Mesh:
    return shapes.moved(shapes.slab(shapes.circle(radius), top - 0.02, top, 0.002), (x, 0.0, 0.0))
