"""A box on the floor for a robot to push."""

from typing import Final

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import finite_array
from pliant.envs.models import shapes
from pliant.envs.models.parts import COLLISION_GROUP, add_mesh
from pliant.errors import ConfigurationError, check_bounds

BOX: Final = "box"
"""Name of the body, of its joint and of the geom that touches."""

_EDGE = 0.004
"""Radius that the edges are drawn with, m."""
_TAPE = 0.03
"""Half the width of the tape, m."""


def add_box(
    spec: mujoco.MjSpec,
    position: ArrayLike,
    yaw: float = 0.0,
    *,
    edge: float = 0.265,
    mass: float = 2.0,
    friction: float = 0.23,
) -> mujoco.MjsBody:
    """Stand a cube of uniform density on the floor, free to move; whatever touches it slides with `friction`.

    MuJoCo takes the larger friction of two surfaces, which would be the floor's. The cube therefore has priority:
    its own holds against everything. Pushed level, it slides from `friction`·m·g on, and does not tip over below
    a height of edge/(2·friction).

    Args:
        spec: with the materials of `scene.new_spec`; the floor is at z = 0.
        position: of the centre on the floor (x, y), (2,), m.
        yaw: turn about z, rad.
        edge: m.
        mass: kg.
        friction: coefficient of sliding friction.

    Raises:
        ShapeError, OutOfBoundsError: an argument of the wrong shape, not finite or outside its bounds.
        ConfigurationError: there is a box already.
    """
    x, y = finite_array("box: position", position, (2,))
    yaw = check_bounds("box: yaw", yaw, -np.inf, np.inf, "rad")
    half = check_bounds("box: edge", edge, 0.01, 10.0, "m") / 2.0
    mass = check_bounds("box: mass", mass, 1e-3, 1e4, "kg")
    friction = check_bounds("box: friction", friction, 0.0, 10.0)
    if spec.body(BOX) is not None:
        raise ConfigurationError(f"the model has a body {BOX!r} already.")
    body = spec.worldbody.add_body(name=BOX, pos=[x, y, half], quat=[np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
    body.add_freejoint(name=BOX)
    body.add_geom(
        name=BOX,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half] * 3,
        mass=mass,
        friction=[friction, 0.005, 0.0001],
        priority=1,
        group=COLLISION_GROUP,
    )
    for name, colour in (("cardboard", [0.72, 0.55, 0.36, 1.0]), ("tape", [0.85, 0.76, 0.60, 1.0])):
        if spec.material(name) is None:
            spec.add_material(name=name, rgba=colour, specular=0.05, shininess=0.1, reflectance=0.0)
    add_mesh(spec, body, "box_sides", "cardboard", lambda: shapes.rounded_box(half, half, half, _EDGE))
    add_mesh(spec, body, "box_tape", "tape", lambda: _tape(half))
    return body


def _tape(half: float) -> shapes.Mesh:
    """A band over the top and down two sides."""
    out, width, fall = half + 4e-4, min(_TAPE, half / 2), half / 2
    over = shapes.box((-out, -width, half - 1e-3), (out, width, out))
    down = shapes.box((half - 1e-3, -width, fall), (out, width, out))
    return shapes.merged(over, down, shapes.turned(down, np.pi))
