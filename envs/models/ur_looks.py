"""How arms of Universal Robots look: tubes, joint housings with blue caps, seams; or meshes of one's own.

Every part is a solid of revolution about an axis of a joint or of a link. Proportions follow from the published
lengths; radii are ours, by eye.
"""

from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Final, NamedTuple

import mujoco

from pliant.envs.models.parts import VISUAL_GROUP, add_collision_capsule
from pliant.envs.models.turned import ORIGIN, Turned, Vector, X, Y, Z, add_turned
from pliant.errors import MissingFileError
from pliant.hardware.ur_arms import UrArm

_MATERIALS: Final = {
    # name: colour, specular, shininess
    "ur_body": ((0.760, 0.772, 0.785, 1.0), 0.40, 0.45),
    "ur_cap": ((0.300, 0.540, 0.750, 1.0), 0.35, 0.50),
    "ur_seam": ((0.150, 0.155, 0.165, 1.0), 0.20, 0.30),
    "ur_flange": ((0.600, 0.615, 0.630, 1.0), 0.80, 0.80),
}


class _Radii(NamedTuple):
    """Of the housings, m."""

    shoulder: float
    elbow: float
    wrist: float

    @classmethod
    def of(cls, arm: UrArm) -> "_Radii":
        shoulder = min(0.42 * arm.shoulder_offset, 0.6 * arm.d[0])
        wrist = 0.376 * arm.d[4]
        return cls(shoulder, 0.5 * (shoulder + wrist), wrist)


def add_looks(spec: mujoco.MjSpec, arm: UrArm) -> None:
    """Draw the arm on the bodies that `ur` made, and give it capsules that touch the world."""
    _add_materials(spec)
    for k, part in enumerate(_parts(arm)):
        add_turned(spec, part, f"{part.body}_{k}")
    add_touch(spec, arm)


def _add_materials(spec: mujoco.MjSpec) -> None:
    for name, (colour, specular, shininess) in _MATERIALS.items():
        if spec.material(name) is None:
            spec.add_material(
                name=name, rgba=list(colour), specular=specular, shininess=shininess, reflectance=0.0
            )


def _housing(body: str, origin: Vector, axis: Vector, radius: float, joint: float, cap: float) -> Iterator[Turned]:
    """A joint's housing along its axis: a seam towards the link before it at `joint`, a cap at its other end."""
    low, high = min(joint, cap), max(joint, cap)
    rim, seam = 0.16 * radius, 0.07 * radius
    capped = cap > joint
    body_low, body_high = (low + seam, high - rim) if capped else (low + rim, high - seam)
    yield Turned(body, "ur_body", origin, axis, radius, body_low, body_high)
    yield Turned(
        body, "ur_seam", origin, axis, 0.965 * radius, *((low, low + seam) if capped else (high - seam, high))
    )
    end = 0.75 * rim
    if capped:
        yield Turned(body, "ur_seam", origin, axis, 0.97 * radius, body_high, body_high + 0.2 * rim)
        yield Turned(body, "ur_cap", origin, axis, 0.985 * radius, body_high + 0.2 * rim, high, (0.0, end))
    else:
        yield Turned(body, "ur_seam", origin, axis, 0.97 * radius, body_low - 0.2 * rim, body_low)
        yield Turned(body, "ur_cap", origin, axis, 0.985 * radius, low, body_low - 0.2 * rim, (end, 0.0))


def _parts(arm: UrArm) -> Iterator[Turned]:
    """All parts, in the Denavit–Hartenberg frames of their links."""
    rs, re, rw = _Radii.of(arm)
    s, e = arm.shoulder_offset, arm.elbow_offset
    upper, fore = -arm.a[1], -arm.a[2]
    d1, d4, d5, d6 = arm.d[0], arm.d[3], arm.d[4], arm.d[5]
    none = ORIGIN
    seam = d1 - 1.12 * rs
    yield Turned("base", "ur_flange", none, Z, 1.30 * rs, 0.0, 0.16 * rs, (0.0, 0.03 * rs))
    yield Turned("base", "ur_body", none, Z, 1.02 * rs, 0.16 * rs, seam, (0.0, 0.04 * rs))
    # the shoulder stands on the base along y and reaches to the upper arm along z
    yield Turned("shoulder", "ur_seam", none, Y, 0.965 * rs, seam - d1, seam - d1 + 0.07 * rs)
    yield Turned("shoulder", "ur_body", none, Y, rs, seam - d1 + 0.07 * rs, 1.04 * rs, (0.0, 0.35 * rs))
    yield from _housing("shoulder", none, Z, rs, s - 1.02 * rs, -1.05 * rs)
    yield from _housing("upper_arm", (upper, 0.0, 0.0), Z, rs, s - 1.02 * rs, s + 1.12 * rs)
    yield Turned("upper_arm", "ur_body", (0.0, 0.0, s), X, 0.78 * rs, 0.0, upper)
    yield Turned("upper_arm", "ur_seam", (0.0, 0.0, s), X, 0.80 * rs, upper - 1.16 * rs, upper - 1.10 * rs)
    yield Turned("upper_arm", "ur_body", (0.0, 0.0, s), X, 0.84 * rs, upper - 1.10 * rs, upper)
    yield Turned("upper_arm", "ur_body", (0.0, 0.0, s), X, 0.84 * rs, 0.0, 1.35 * re, (0.0, 0.02 * rs))
    yield from _housing("upper_arm", none, Z, re, e + 1.02 * re, s + max(1.14 * re, 0.9 * rs))
    yield from _housing("forearm", (fore, 0.0, 0.0), Z, re, e + 1.02 * re, e - 1.12 * re)
    yield Turned("forearm", "ur_body", (0.0, 0.0, e), X, 0.76 * re, 0.0, fore)
    yield Turned("forearm", "ur_seam", (0.0, 0.0, e), X, 0.78 * re, fore - 1.18 * re, fore - 1.11 * re)
    yield Turned("forearm", "ur_body", (0.0, 0.0, e), X, 0.82 * re, fore - 1.11 * re, fore)
    yield Turned("forearm", "ur_body", (0.0, 0.0, e), X, 0.80 * re, 0.0, 1.55 * rw, (0.0, 0.02 * re))
    yield from _housing("forearm", none, Z, rw, d4 - 1.02 * rw, e - max(1.14 * rw, 0.9 * re))
    yield from _housing("wrist_1", none, Y, rw, -1.02 * rw, 1.12 * rw)
    yield Turned("wrist_1", "ur_body", none, Z, rw, 0.0, d5 - 1.02 * rw)
    yield from _housing("wrist_2", none, Y, rw, 1.02 * rw, -1.12 * rw)
    end = d6 - 0.42 * d6
    yield Turned("wrist_2", "ur_body", none, Z, rw, 0.0, end)
    yield Turned("wrist_3", "ur_seam", none, Z, 0.965 * rw, end - d6, end - d6 + 0.07 * rw)
    yield Turned("wrist_3", "ur_body", none, Z, rw, end - d6 + 0.07 * rw, -0.25 * rw, (0.0, 0.1 * rw))
    yield Turned("wrist_3", "ur_flange", none, Z, 0.84 * rw, -0.25 * rw, 0.0, (0.0, 0.02 * rw))


def wrist_radius(arm: UrArm) -> float:
    """Return the radius of the wrist's housings, m."""
    return _Radii.of(arm).wrist


def add_touch(spec: mujoco.MjSpec, arm: UrArm) -> None:
    """Give the links capsules that touch the world but no other part of the robot."""
    rs, re, rw = _Radii.of(arm)
    s, e = arm.shoulder_offset, arm.elbow_offset
    upper, fore, d4, d5, d6 = -arm.a[1], -arm.a[2], arm.d[3], arm.d[4], arm.d[5]
    for body, radius, start, end in (
        ("shoulder", rs, (0.0, 0.0, -0.1 * rs), (0.0, 0.0, s)),
        ("upper_arm", rs, (upper, 0.0, s), (0.0, 0.0, s)),
        ("upper_arm", re, (0.0, 0.0, s), (0.0, 0.0, e)),
        ("forearm", re, (fore, 0.0, e), (0.0, 0.0, e)),
        ("forearm", rw, (0.0, 0.0, e), (0.0, 0.0, d4 - rw)),
        ("wrist_1", rw, (0.0, 0.0, 0.0), (0.0, 0.0, d5)),
        ("wrist_2", rw, (0.0, 0.0, 0.0), (0.0, 0.0, max(d6 - rw, 0.2 * rw))),
    ):
        add_collision_capsule(spec.body(body), start, end, radius)


def add_pedestal(spec: mujoco.MjSpec, height: float, arm: UrArm) -> None:
    """Draw what the arm stands on, of a height, m; none where that is 0."""
    if height == 0.0:
        return
    rs = _Radii.of(arm).shoulder
    for name, material, radius, low, high in (
        ("pedestal_top", "plate", 1.75 * rs, -0.25 * rs, 0.0),
        ("pedestal_column", "profile", 1.15 * rs, -height, -0.25 * rs),
        ("pedestal_foot", "plate", 2.60 * rs, -height, -height + 0.2 * rs),
    ):
        add_turned(spec, Turned("world", material, ORIGIN, Z, radius, low, high, (0.0, 0.05 * rs)), name)


def add_meshes(spec: mujoco.MjSpec, arm: UrArm, folder: Path) -> None:
    """Draw meshes of a folder instead of our own shapes, placed as in the manufacturer's ROS description.

    Raises:
        MissingFileError: one of them is not there.
    """
    _add_materials(spec)
    quarter = sqrt(0.5)
    first, second, third = arm.mesh_offsets
    about_x, half_turn = (quarter, quarter, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    for body, name, position, turn in (
        ("base", "base", (0.0, 0.0, 0.0), half_turn),
        ("shoulder", "shoulder", (0.0, 0.0, 0.0), (0.0, 0.0, quarter, quarter)),
        ("upper_arm", "upperarm", (-arm.a[1], 0.0, arm.shoulder_offset), (0.5, 0.5, -0.5, -0.5)),
        ("forearm", "forearm", (-arm.a[2], 0.0, arm.elbow_offset), (0.5, 0.5, -0.5, -0.5)),
        ("wrist_1", "wrist1", (0.0, first, 0.0), (1.0, 0.0, 0.0, 0.0)),
        ("wrist_2", "wrist2", (0.0, -second, 0.0), about_x),
        ("wrist_3", "wrist3", (0.0, 0.0, third), about_x),
    ):
        found = [
            folder / f"{name}{suffix}" for suffix in (".obj", ".stl") if (folder / f"{name}{suffix}").is_file()
        ]
        if not found:
            raise MissingFileError(f"meshes of {arm.name}: neither {name}.obj nor {name}.stl is in {folder}.")
        spec.add_mesh(name=f"{body}_mesh", file=str(found[0].resolve()))
        spec.body(body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=f"{body}_mesh",
            material="ur_body",
            pos=list(position),
            quat=list(turn),
            contype=0,
            conaffinity=0,
            group=VISUAL_GROUP,
            mass=0.0,
        )
    add_touch(spec, arm)
