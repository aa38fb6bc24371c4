"""The parts of a qbMove robot: cube, flat flange, C-flange, hand flange.

Masses, the cube's inertia and the distances between the parts are those of the public description of AlterEgo's
5-qbMove arms; so are the flat and the hand flange's inertias. The public centre of mass of the C-flange lies
outside its plane of symmetry, so its centre and inertia are those of the bracket as drawn here, of uniform
density. Lengths m, masses kg, inertias kg·m².

Frames: a cube's origin is its centre, z its output shaft. A flange's z is the axis it turns about: a flat flange
sits `CUBE_TO_FLAT` up the shaft of the cube that turns it and carries the next part on +z; a C-flange is centred
on the cube that turns it, embraces it and carries the next part on +x. A hand flange stands on z = 0 towards +z.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.envs.models import shapes
from pliant.envs.models.shapes import Mesh

CUBE_EDGE = 0.066
CUBE_TO_FLAT = 0.0405
"""From a cube's centre to the flat flange on its shaft."""
FLAT_TO_CUBE = 0.037
"""From a flat flange to the centre of the cube it carries."""
C_TO_CUBE = 0.090
"""From a C-flange's axis to the centre of the cube it carries."""
C_TO_FACE = 0.063
"""From a C-flange's axis to the outer face of its web."""
FLAT_TO_HAND = 0.004
"""From a flat flange to the hand flange on it."""
HAND_REACH = 0.025
"""From the hand flange's foot to the end of its posts."""

VISUAL_GROUP = 2
COLLISION_GROUP = 3

_HALF = CUBE_EDGE / 2
_DIAL = 0.0336  # face of the dial on a cube's front
_PLATES = (
    ((0.057, -0.033, -0.043), (C_TO_FACE, 0.033, 0.043)),
    ((-0.019, -0.024, 0.039), (0.057, 0.024, 0.043)),
    ((-0.019, -0.024, -0.043), (0.057, 0.024, -0.039)),
)
"""Web and side plates of the C-flange as boxes: opposite corners."""


@dataclass(frozen=True)
class Inertial:
    """Mass, centre of mass and inertia about it, along the part's axes."""

    mass: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Part:
    """A rigid part: what it weighs, how it looks, and the box that collides for it."""

    name: str
    inertial: Inertial | None
    """None: a part without mass."""
    looks: tuple[tuple[str, Callable[[], Mesh]], ...]
    """Material and mesh of each visual geom; meshes are made when the part is first used in a spec."""
    box: tuple[tuple[float, float, float], tuple[float, float, float]]
    """Centre and half-sizes of the collision box."""


def plates_inertial(mass: float, boxes: ArrayLike) -> Inertial:
    """Inertial of boxes of one density, each given by two opposite corners.

    c = Σ mᵢ·cᵢ/m, I = Σ mᵢ·(|s|² − sᵢ²)/12 + mᵢ·(|d|² − dᵢ²) with edges s and distance d from c; products of
    inertia must cancel by symmetry.
    """
    corners = np.asarray(boxes, np.float64)
    edges, centres = corners[:, 1] - corners[:, 0], corners.mean(axis=1)
    masses = mass * edges.prod(axis=1) / edges.prod(axis=1).sum()
    centre = masses @ centres / mass
    squares = edges**2 / 12 + (centres - centre) ** 2
    inertia = masses @ (squares.sum(axis=1, keepdims=True) - squares)
    (x, y, z), (ix, iy, iz) = map(float, centre), map(float, inertia)
    return Inertial(mass, (x, y, z), (ix, iy, iz))


def add_part(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, name: str, part: Part, pos: ArrayLike, x: ArrayLike, z: ArrayLike
) -> mujoco.MjsBody:
    """Add `part` as a body of its own, fixed to `parent`.

    Args:
        spec: its materials must exist (see `scene.add_materials`).
        parent: body that carries the part.
        name: name of the body.
        part: what to add.
        pos: origin of the part in the parent, m, (3,).
        x: direction of the part's x axis in the parent, (3,).
        z: direction of its z axis, perpendicular to x.
    """
    body = parent.add_body(name=name, pos=list(np.asarray(pos, np.float64)), quat=orientation(x, z))
    if part.inertial is not None:
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = part.inertial.mass, part.inertial.centre, part.inertial.inertia
    for material, mesh in part.looks:
        add_mesh(spec, body, f"{part.name}_{material}", material, mesh)
    add_collision_box(body, *part.box)
    return body


def orientation(x: ArrayLike, z: ArrayLike) -> list[float]:
    """Quaternion of the frame with the given x and z axes (unit vectors at right angles)."""
    a, c = np.asarray(x, np.float64), np.asarray(z, np.float64)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.column_stack([a, np.cross(c, a), c]).ravel())
    return list(map(float, quaternion))


def add_mesh(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, material: str, mesh: Callable[[], Mesh]
) -> mujoco.MjsGeom:
    """Draw a mesh on a body: seen, massless, touching nothing. The asset `name` is made once per spec."""
    if spec.mesh(name) is None:
        vertices, faces = mesh()
        spec.add_mesh(name=name, uservert=vertices.ravel().tolist(), userface=faces.ravel().tolist())
    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        material=material,
        contype=0,
        conaffinity=0,
        group=VISUAL_GROUP,
        mass=0.0,
    )


def add_collision_box(body: mujoco.MjsBody, centre: ArrayLike, half_sizes: ArrayLike) -> mujoco.MjsGeom:
    """Add an unseen, massless box that touches the world but no other part of the robot."""
    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=list(np.asarray(centre, np.float64)),
        size=list(np.asarray(half_sizes, np.float64)),
        contype=1,
        conaffinity=0,
        group=COLLISION_GROUP,
        mass=0.0,
        rgba=[0.9, 0.3, 0.2, 0.3],
    )


def add_collision_capsule(body: mujoco.MjsBody, start: ArrayLike, end: ArrayLike, radius: float) -> mujoco.MjsGeom:
    """Add an unseen, massless capsule between two points that touches the world but no other part of the robot."""
    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[*np.asarray(start, np.float64), *np.asarray(end, np.float64)],
        size=[radius, 0.0, 0.0],
        contype=1,
        conaffinity=0,
        group=COLLISION_GROUP,
        mass=0.0,
        rgba=[0.9, 0.3, 0.2, 0.3],
    )


def _cube_panels() -> Mesh:
    panel = shapes.slab(shapes.rectangle(0.0255, 0.0255, 0.003), _HALF - 0.001, _HALF + 0.0005, 0.0004)
    side = shapes.along_x(panel)
    dial = shapes.slab(shapes.circle(0.0285), _HALF - 0.001, _DIAL, 0.0004)
    return shapes.merged(dial, *(shapes.turned(side, k * np.pi / 2) for k in range(4)))


def _cube_marks() -> Mesh:
    """Ticks every 30° on the dial, long ones every 90°, and a zero mark on the four sides."""
    ticks = []
    for k in range(12):
        inner, half = (0.0205, 0.0008) if k % 3 == 0 else (0.0235, 0.0005)
        tick = shapes.box((inner, -half, _DIAL - 0.0005), (0.0275, half, _DIAL + 0.0002))
        ticks.append(shapes.turned(tick, k * np.pi / 6))
    side = shapes.box((_HALF - 0.0005, -0.001, 0.0262), (_HALF + 0.0003, 0.001, 0.0296))
    return shapes.merged(*ticks, *(shapes.turned(side, k * np.pi / 2) for k in range(4)))


def _flat_plate() -> Mesh:
    rails = shapes.box((0.0335, -0.030, 0.002), (0.036, 0.030, 0.0098))
    bosses = shapes.slab(shapes.circle(0.020), -0.0042, -0.0025, 0.0004)
    plate = shapes.slab(shapes.rectangle(0.036, 0.033, 0.006), -0.003, 0.0038, 0.0008)
    return shapes.merged(plate, bosses, rails, shapes.turned(rails, np.pi))


def _flat_mark() -> Mesh:
    edge = shapes.box((0.0355, -0.0012, -0.0028), (0.0363, 0.0012, 0.0036))
    return shapes.merged(*(shapes.turned(edge, k * np.pi) for k in range(2)))


def _c_plates() -> Mesh:
    side = shapes.slab(shapes.tongue(0.019, 0.0605, 0.031), 0.039, 0.043, 0.0006)
    web = shapes.along_x(shapes.slab(shapes.rectangle(0.033, 0.043, 0.003), 0.0572, C_TO_FACE, 0.0008))
    return shapes.merged(web, side, shapes.moved(side, (0.0, 0.0, -0.082)))


def _c_mark() -> Mesh:
    """A pointer from the shaft along the side plate, front and back, and its end on the web's edge."""
    line = shapes.box((0.0095, -0.0011, 0.0425), (0.054, 0.0011, 0.0434))
    tail = shapes.box((-0.0186, -0.0011, 0.0425), (-0.0095, 0.0011, 0.0434))
    one = shapes.merged(line, tail)
    return shapes.merged(one, shapes.moved(one, (0.0, 0.0, -0.0859)))


def _shaft(low: float, high: float) -> Mesh:
    hub = shapes.slab(shapes.circle(0.013), low, high, 0.0005)
    screws = [
        shapes.turned(
            shapes.moved(shapes.slab(shapes.circle(0.0014, 12), low + 0.001, high + 0.0007), (0.0098, 0, 0)), a
        )
        for a in np.arange(6) * np.pi / 3 + np.pi / 6
    ]
    return shapes.merged(hub, *screws)


def _c_shafts() -> Mesh:
    front = _shaft(0.0335, 0.0439)
    return shapes.merged(front, shapes.slab(shapes.circle(0.011), -0.0439, -0.0325, 0.0005))


def _hand_plate() -> Mesh:
    plate = shapes.slab(shapes.rectangle(0.033, 0.033, 0.006), 0.0, 0.008, 0.001)
    socket = shapes.slab(shapes.rectangle(0.014, 0.010, 0.003), 0.0075, 0.011, 0.0006)
    return shapes.merged(plate, socket)


def _hand_posts() -> Mesh:
    post = shapes.moved(shapes.slab(shapes.circle(0.0042, 24), 0.007, HAND_REACH, 0.0008), (0.0, 0.025, 0.0))
    return shapes.merged(post, shapes.turned(post, np.pi))


CUBE = Part(
    "cube",
    Inertial(0.45419, (-9.6e-5, -1.7e-5, 1.388e-3), (1.798e-4, 1.781e-4, 1.688e-4)),
    (
        ("housing", lambda: shapes.rounded_box(_HALF, _HALF, _HALF, 0.0035)),
        ("panel", _cube_panels),
        ("ink", _cube_marks),
    ),
    ((0.0, 0.0, 0.0), (_HALF, _HALF, _HALF)),
)
FLAT_FLANGE = Part(
    "flat_flange",
    Inertial(0.04190, (-8.1e-5, 0.0, 6.14e-4), (1.577e-5, 2.103e-5, 3.631e-5)),
    (("flange", _flat_plate), ("steel", lambda: _shaft(-0.0075, -0.0040)), ("mark", _flat_mark)),
    ((0.0, 0.0, 0.001), (0.036, 0.033, 0.004)),
)
C_FLANGE = Part(
    "c_flange",
    plates_inertial(0.08664, _PLATES),
    (("flange", _c_plates), ("steel", _c_shafts), ("mark", _c_mark)),
    ((0.022, 0.0, 0.0), (0.041, 0.033, 0.043)),
)
HAND_FLANGE = Part(
    "hand_flange",
    Inertial(0.03481, (3.1e-4, 7.1e-5, 6.773e-3), (1.581e-5, 1.161e-5, 2.594e-5)),
    (("housing", _hand_plate), ("steel", _hand_posts)),
    ((0.0, 0.0, HAND_REACH / 2), (0.033, 0.033, HAND_REACH / 2)),
)
