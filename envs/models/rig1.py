"""The rig with one joint: a cube on a stand turns a weight on a short rod (Mengacci et al., Figs. 8 and 11).

I·q̈ + b·q̇ + m·g·l·sin q = τ with I = m·l², q = 0 hanging down. The weight is a point mass, so that the closed
forms hold: m·l² = 3.2e-4 kg·m² and m·g·l = 0.07848 N·m at the paper's 0.2 kg and 0.04 m.
"""

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, find_law
from pliant.envs.models import shapes
from pliant.envs.models.building import add_hinge, check_joints, complete
from pliant.envs.models.parts import COLLISION_GROUP, CUBE, add_mesh, add_part, orientation
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View, add_plate, add_scene, add_stand, new_spec
from pliant.errors import check_bounds

JOINT = "joint"

_HEIGHT = 0.30
_POINT = 1e-13
"""Inertia of the point mass about itself, kg·m²: MuJoCo wants one that is not zero."""
_BRASS = 8500.0
"""Density that the weight is drawn with, kg/m³."""
_ROD_PLANE = 0.047
"""Distance of the rod and the weight from the cube's centre along the shaft."""


def rig1(
    joint: CompliantJoint | None = None,
    *,
    preset: float | None = None,
    mass: float = 0.2,
    length: float = 0.04,
    damping: float = 0.02,
    friction: float = 0.0,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "implicitfast",
) -> RobotModel:
    """Build the rig. Its joint is `joint`, its tip the site `tip` at the weight.

    Args:
        joint: any law in any mode; None: qbMove in mode 3.
        preset: resting stiffness preset, rad (m for a pivot); None: the joint's own.
        mass: m, kg.
        length: l, m.
        damping: viscous friction b of the joint, N·m·s/rad (the published toolbox's template: 0.02).
        friction: dry friction of the joint, N·m.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete.

    Raises:
        OutOfBoundsError: a number is not finite or outside its bounds.
        UnknownNameError: there is no such integrator.
        ConfigurationError: `joint` is not a `CompliantJoint`, or has no preset to set.
    """
    check_bounds("rig1: mass", mass, 1e-4, 1e3, "kg")
    check_bounds("rig1: length", length, 1e-3, 10.0, "m")
    joints = check_joints(
        "rig1", (JOINT,), (CompliantJoint(find_law("qbmove")()) if joint is None else joint,), preset
    )
    spec = new_spec("rig1", timestep, integrator, gravity)
    reach = max(length + 0.03, 0.06)
    height = max(_HEIGHT, 1.5 * reach)
    # the shaft, z of the base, points at the viewer (−y of the world); x hangs down
    base = spec.worldbody.add_body(name="base", pos=[0.0, 0.0, height], quat=orientation((0, 0, -1), (0, -1, 0)))
    add_part(spec, base, "cube", CUBE, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    add_plate(spec, base, "bracket", (0, 0, -0.037), (0.033, 0.033, 0.004))
    add_stand(spec, (0.0, 0.061, height + 0.033))
    _add_pendulum(spec, base, mass, length, damping, friction)
    add_scene(spec, View((0.0, -0.02, height - 0.3 * reach), 0.05 + 0.9 * reach, "pendulum"))
    return complete(spec, "rig1", (JOINT,), joints, "tip")


def _add_pendulum(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, mass: float, length: float, damping: float, friction: float
) -> None:
    body = base.add_body(name="pendulum")
    body.explicitinertial = True
    body.mass, body.ipos, body.inertia = mass, [length, 0.0, _ROD_PLANE], [_POINT] * 3
    add_hinge(body, JOINT, (0, 0, 1), damping, friction)
    radius = float(np.cbrt(mass / (_BRASS * np.pi * 1.4)))
    add_mesh(spec, body, "hub", "steel", lambda: _hub(length))
    add_mesh(spec, body, "weight", "brass", lambda: _weight(length, radius))
    add_mesh(spec, body, "pointer", "mark", lambda: _pointer(length, radius))
    body.add_geom(
        name="weight",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=[length, 0.0, _ROD_PLANE],
        size=[radius, 0.7 * radius, 0.0],
        contype=1,
        conaffinity=0,
        group=COLLISION_GROUP,
        mass=0.0,
    )
    body.add_site(name="tip", pos=[length, 0.0, _ROD_PLANE], size=[0.004], group=4)


def _hub(length: float) -> shapes.Mesh:
    flange = shapes.slab(shapes.circle(0.0125), 0.033, 0.0385, 0.0006)
    clamp = shapes.slab(shapes.circle(0.0085), 0.038, _ROD_PLANE + 0.006, 0.0010)
    rod = shapes.along_x(shapes.slab(shapes.circle(0.0032, 24), -0.012, length))
    return shapes.merged(flange, clamp, shapes.moved(rod, (0.0, 0.0, _ROD_PLANE)))


def _weight(length: float, radius: float) -> shapes.Mesh:
    body = shapes.slab(shapes.circle(radius), -0.7 * radius, 0.7 * radius, 0.08 * radius)
    return shapes.moved(body, (length, 0.0, _ROD_PLANE))


def _pointer(length: float, radius: float) -> shapes.Mesh:
    """The link's mark: a dot on the weight and a line across the clamp."""
    front = _ROD_PLANE + 0.7 * radius
    dot = shapes.moved(shapes.slab(shapes.circle(0.28 * radius, 24), front - 1e-3, front + 4e-4), (length, 0, 0))
    line = shapes.box((-0.0085, -0.0010, _ROD_PLANE + 0.005), (0.0085, 0.0010, _ROD_PLANE + 0.0064))
    return shapes.merged(dot, line)
