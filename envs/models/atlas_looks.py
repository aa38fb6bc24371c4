"""How Atlas looks: a broad dark back, grey castings, hydraulic rods, a head of two cameras and a lidar.

The shapes are ours, by eye, about the published axes; see `pliant.hardware.atlas` for the frames.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import mujoco
import numpy as np

from pliant.envs.models import shapes
from pliant.envs.models.parts import VISUAL_GROUP, add_mesh, orientation
from pliant.envs.models.turned import ORIGIN, Turned, Vector, X, Y, Z, add_turned

_GREY, _LIGHT, _DARK, _LAMP, _STEEL, _RUBBER = (
    "atlas_grey",
    "atlas_light",
    "atlas_dark",
    "atlas_lamp",
    "steel",
    "rubber",
)
_MATERIALS: Final = {
    # name: colour, specular, shininess
    _GREY: ((0.420, 0.435, 0.455, 1.0), 0.40, 0.45),
    _LIGHT: ((0.700, 0.715, 0.730, 1.0), 0.55, 0.55),
    _DARK: ((0.105, 0.110, 0.120, 1.0), 0.30, 0.40),
    _LAMP: ((0.150, 0.560, 0.950, 1.0), 0.50, 0.80),
}


class _Block(NamedTuple):
    """A box with rounded edges."""

    body: str
    material: str
    centre: Vector
    half: Vector
    edge: float
    turn: float = 0.0
    """About y, rad."""


class _Arm(NamedTuple):
    """A plate around two circles, with its flat sides across `across`."""

    body: str
    material: str
    start: Vector
    end: Vector
    radii: tuple[float, float]
    across: Vector
    low: float
    high: float


class _Rod(NamedTuple):
    """A rod with round ends."""

    body: str
    material: str
    start: Vector
    end: Vector
    radius: float


_Part = Turned | _Block | _Arm | _Rod


def add_looks(spec: mujoco.MjSpec) -> None:
    """Draw the robot on its bodies."""
    for name, (colour, specular, shininess) in _MATERIALS.items():
        spec.add_material(name=name, rgba=list(colour), specular=specular, shininess=shininess, reflectance=0.0)
    parts = [*_trunk(), *_head()]
    for side, sign in (("l", 1.0), ("r", -1.0)):
        parts += [_mirrored(part, side, sign) for limb in (_arm(), _leg()) for part in limb]
    for k, part in enumerate(parts):
        _draw(spec, part, f"{part.body}_look{k}")


def _draw(spec: mujoco.MjSpec, part: _Part, name: str) -> None:
    body = spec.body(part.body)
    match part:
        case Turned():
            add_turned(spec, part, name)
        case _Block():
            geom = add_mesh(spec, body, name, part.material, partial(shapes.rounded_box, *part.half, part.edge))
            geom.pos = list(part.centre)
            geom.quat = [np.cos(part.turn / 2.0), 0.0, np.sin(part.turn / 2.0), 0.0]
        case _Arm():
            way = np.subtract(part.end, part.start)
            length = float(np.linalg.norm(way))
            outline = shapes.taper(*part.radii, length)
            edge = 0.15 * (part.high - part.low)
            mesh = partial(shapes.slab, outline, part.low, part.high, edge)
            geom = add_mesh(spec, body, name, part.material, mesh)
            geom.pos, geom.quat = list(part.start), orientation(way / length, part.across)
        case _Rod():
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                fromto=[*part.start, *part.end],
                size=[part.radius, 0.0, 0.0],
                material=part.material,
                contype=0,
                conaffinity=0,
                group=VISUAL_GROUP,
                mass=0.0,
            )


def _mirrored(part: _Part, side: str, sign: float) -> _Part:
    """A part of the left side, of the side that is wanted."""
    body = f"{side}_{part.body}"
    if sign > 0.0:
        return part._replace(body=body)

    def mirror(point: Vector) -> Vector:
        return point[0], -point[1], point[2]

    match part:
        case Turned():
            if part.axis == Y:
                part = part._replace(low=-part.high, high=-part.low, edges=part.edges[::-1])
                if part.taper != 1.0:
                    part = part._replace(radius=part.radius * part.taper, taper=1.0 / part.taper)
            elif part.axis[1]:
                part = part._replace(axis=mirror(part.axis))
            return part._replace(body=body, origin=mirror(part.origin))
        case _Block():
            return part._replace(body=body, centre=mirror(part.centre))
        case _Arm():
            ends = (-part.high, -part.low) if part.across == Y else (part.low, part.high)
            return part._replace(
                body=body, start=mirror(part.start), end=mirror(part.end), low=ends[0], high=ends[1]
            )
        case _Rod():
            return part._replace(body=body, start=mirror(part.start), end=mirror(part.end))


def _trunk() -> Iterator[_Part]:
    yield _Block("pelvis", _GREY, (0.0, 0.0, -0.01), (0.095, 0.06, 0.075), 0.03)
    yield _Block("pelvis", _DARK, (-0.105, 0.0, -0.04), (0.045, 0.075, 0.09), 0.02)
    yield _Block("pelvis", _GREY, (0.01, 0.0, 0.082), (0.12, 0.140, 0.030), 0.025)
    yield _Block("pelvis", _LIGHT, (0.01, 0.0, 0.108), (0.09, 0.090, 0.010), 0.008)
    for side in (-1.0, 1.0):
        yield Turned("pelvis", _GREY, (0.0, 0.089 * side, 0.0), Z, 0.05, -0.03, 0.075, (0.01, 0.0))
        yield Turned("pelvis", _DARK, (0.095, 0.05 * side, 0.0), X, 0.032, -0.03, 0.05, (0.0, 0.01))
    yield Turned("ltorso", _DARK, ORIGIN, Z, 0.075, 0.107, 0.125, (0.0, 0.006))
    yield _Block("ltorso", _GREY, (0.0, 0.0, 0.145), (0.06, 0.055, 0.03), 0.015)
    yield Turned("mtorso", _STEEL, ORIGIN, Y, 0.028, -0.08, 0.08, (0.006, 0.006))
    yield Turned("mtorso", _DARK, (0.0, 0.0, 0.05), X, 0.032, -0.09, 0.09, (0.006, 0.006))
    for side in (-1.0, 1.0):  # hydraulic cylinders of the back
        yield _Rod("utorso", _STEEL, (-0.05, 0.11 * side, 0.06), (-0.02, 0.12 * side, -0.09), 0.012)
        yield _Rod("utorso", _DARK, (-0.055, 0.105 * side, 0.10), (-0.04, 0.113 * side, 0.0), 0.024)
    # chest, back and what is on it
    yield _Block("utorso", _GREY, (0.045, 0.0, 0.19), (0.155, 0.12, 0.145), 0.045)
    yield _Block("utorso", _DARK, (-0.19, 0.0, 0.20), (0.12, 0.165, 0.175), 0.04)
    yield _Block("utorso", _DARK, (-0.19, 0.0, 0.45), (0.13, 0.19, 0.10), 0.04)
    yield _Block("utorso", _LIGHT, (0.055, 0.0, 0.44), (0.185, 0.155, 0.085), 0.04)
    yield _Block("utorso", _DARK, (0.06, 0.0, 0.335), (0.14, 0.13, 0.035), 0.02)
    for side in (-1.0, 1.0):  # ribs of the back
        yield _Block("utorso", _GREY, (-0.310, 0.085 * side, 0.24), (0.014, 0.022, 0.125), 0.008)
    yield _Block("utorso", _GREY, (-0.318, 0.0, 0.45), (0.014, 0.110, 0.050), 0.010)
    for z in (0.43, 0.45, 0.47):
        yield _Block("utorso", _DARK, (-0.331, 0.0, z), (0.003, 0.095, 0.005), 0.002)
    yield Turned("utorso", _LAMP, (0.205, 0.0, 0.215), X, 0.036, -0.02, 0.002, (0.0, 0.004))
    yield Turned("utorso", _DARK, (0.205, 0.0, 0.215), X, 0.052, -0.04, -0.004, (0.0, 0.006))
    for side in (-1.0, 1.0):
        yield Turned("utorso", _GREY, (0.1406, 0.2036 * side, 0.4776), Z, 0.055, -0.07, 0.045, (0.012, 0.02))
        yield _Block("utorso", _GREY, (0.13, 0.165 * side, 0.465), (0.065, 0.05, 0.045), 0.02)
        yield Turned("utorso", _STEEL, (0.1406, 0.2036 * side, 0.4776), Z, 0.03, 0.045, 0.055, (0.0, 0.004))
        # the bars of the cage
        yield _Rod("utorso", _DARK, (-0.19, 0.16 * side, 0.54), (-0.14, 0.14 * side, 0.68), 0.009)
        yield _Rod("utorso", _DARK, (-0.14, 0.14 * side, 0.68), (0.12, 0.115 * side, 0.745), 0.009)
        yield _Rod("utorso", _DARK, (0.12, 0.115 * side, 0.745), (0.225, 0.15 * side, 0.50), 0.009)
    yield _Rod("utorso", _DARK, (0.12, -0.115, 0.745), (0.12, 0.115, 0.745), 0.009)
    yield _Rod("utorso", _DARK, (-0.14, -0.14, 0.68), (-0.14, 0.14, 0.68), 0.009)
    # what carries the head
    yield _Block("utorso", _DARK, (0.16, 0.0, 0.55), (0.06, 0.06, 0.04), 0.015)
    yield _Arm("utorso", _GREY, (0.2546, 0.0, 0.6215), (0.15, 0.0, 0.55), (0.026, 0.03), Y, 0.063, 0.075)
    yield _Arm("utorso", _GREY, (0.2546, 0.0, 0.6215), (0.15, 0.0, 0.55), (0.026, 0.03), Y, -0.075, -0.063)


def _head() -> Iterator[_Part]:
    yield _Block("head", _LIGHT, (-0.045, 0.0, 0.0), (0.062, 0.06, 0.030), 0.012)
    yield Turned("head", _STEEL, ORIGIN, Y, 0.018, -0.078, 0.078, (0.004, 0.004))
    yield _Block("head", _LIGHT, (-0.095, 0.0, 0.075), (0.022, 0.055, 0.055), 0.012)
    yield _Block("head", _DARK, (0.008, 0.0, -0.002), (0.012, 0.055, 0.022), 0.006)
    for side in (-1.0, 1.0):
        yield Turned("head", _STEEL, (0.022, 0.035 * side, -0.002), X, 0.0145, -0.006, 0.002, (0.0, 0.002))
        yield Turned("head", _DARK, (0.022, 0.035 * side, -0.002), X, 0.0105, -0.006, 0.004, (0.0, 0.002))
        yield Turned("head", _LAMP, (-0.012, 0.066 * side, 0.045), X, 0.010, -0.02, 0.008, (0.004, 0.003))
    yield Turned("head", _DARK, (-0.0446, 0.0, 0.088), X, 0.050, -0.03, -0.012, (0.006, 0.004))
    yield _Block("head", _DARK, (-0.025, 0.0, 0.068), (0.038, 0.03, 0.021), 0.01)
    yield Turned("head", _DARK, (-0.0146, 0.0, 0.088), Z, 0.0245, 0.0, 0.02, (0.0, 0.004))
    yield Turned("head", _LAMP, (-0.0146, 0.0, 0.088), Z, 0.022, 0.02, 0.032, (0.0, 0.0))
    yield Turned("head", _DARK, (-0.0146, 0.0, 0.088), Z, 0.0245, 0.032, 0.046, (0.002, 0.006))


def _arm() -> Iterator[_Part]:
    """The left arm: along y at its zero."""
    yield _Arm("clav", _GREY, (0.0, 0.0, -0.06), (0.0, 0.075, -0.235), (0.05, 0.045), X, -0.04, 0.04)
    yield Turned("clav", _DARK, ORIGIN, Z, 0.048, -0.14, -0.07, (0.01, 0.0))
    yield Turned("clav", _DARK, (0.0, 0.0981, -0.2511), X, 0.052, -0.078, 0.078, (0.01, 0.01))
    yield _Block("clav", _LIGHT, (-0.005, 0.03, -0.255), (0.06, 0.05, 0.04), 0.02)
    yield _Rod("clav", _STEEL, (-0.08, 0.05, -0.26), (-0.08, -0.03, -0.315), 0.014)
    yield _Rod("clav", _DARK, (-0.08, 0.005, -0.29), (-0.08, -0.045, -0.325), 0.026)
    yield _Block("scap", _GREY, (0.0, 0.045, 0.012), (0.072, 0.055, 0.030), 0.018)
    yield Turned("scap", _LIGHT, (0.0, 0.0, 0.016), Y, 0.046, 0.075, 0.172, (0.01, 0.008))
    yield Turned("scap", _DARK, (0.0, 0.0, 0.016), Y, 0.040, 0.172, 0.187)
    yield Turned("uarm", _GREY, ORIGIN, Y, 0.050, 0.0, 0.030, (0.008, 0.008))
    yield _Block("uarm", _GREY, (0.0, 0.055, 0.010), (0.064, 0.040, 0.024), 0.014)
    yield Turned("uarm", _DARK, (0.0, 0.119, 0.0092), X, 0.044, -0.066, 0.066, (0.008, 0.008))
    yield _Block("larm", _GREY, (0.0, 0.055, -0.002), (0.066, 0.060, 0.029), 0.016)
    yield Turned("larm", _LIGHT, (0.0, 0.0, -0.0092), Y, 0.045, 0.085, 0.172, (0.01, 0.008))
    yield Turned("larm", _DARK, (0.0, 0.0, -0.0092), Y, 0.038, 0.172, 0.187)
    yield Turned("farm", _GREY, ORIGIN, Y, 0.047, 0.0, 0.030, (0.008, 0.008))
    yield _Block("farm", _GREY, (0.0, 0.055, 0.002), (0.064, 0.038, 0.022), 0.012)
    yield Turned("farm", _DARK, (0.0, 0.119, 0.0092), X, 0.042, -0.062, 0.062, (0.008, 0.008))
    yield _Block("hand", _GREY, (0.0, 0.048, 0.010), (0.052, 0.036, 0.030), 0.014)
    yield Turned("hand", _STEEL, (0.0, 0.0, 0.010), Y, 0.034, 0.082, 0.092, (0.0, 0.003))
    for x, z, bend in ((-0.03, 0.022, -0.012), (0.03, 0.022, -0.012), (0.0, -0.018, 0.016)):
        yield _Rod("hand", _DARK, (x, 0.09, 0.010 + z), (1.15 * x, 0.135, 0.010 + 1.5 * z), 0.0115)
        yield _Rod("hand", _DARK, (1.15 * x, 0.135, 0.010 + 1.5 * z), (x, 0.178, 0.010 + z + bend), 0.0095)


def _leg() -> Iterator[_Part]:
    """The left leg, straight at its zero."""
    yield Turned("uglut", _LIGHT, ORIGIN, Z, 0.045, -0.045, -0.028, (0.004, 0.0))
    yield Turned("uglut", _STEEL, ORIGIN, X, 0.026, -0.07, 0.07, (0.004, 0.004))
    yield _Block("lglut", _GREY, (0.01, 0.0, -0.01), (0.062, 0.040, 0.036), 0.014)
    yield _Arm("lglut", _GREY, (0.045, 0.0, -0.02), (0.05, 0.012, -0.066), (0.042, 0.04), Y, -0.035, 0.03)
    yield Turned("lglut", _DARK, (0.05, 0.0225, -0.066), Y, 0.048, -0.065, 0.065, (0.008, 0.008))
    knee = (-0.05, 0.0, -0.374)
    yield _Arm("uleg", _GREY, ORIGIN, knee, (0.076, 0.058), Y, -0.052, 0.052)
    yield Turned("uleg", _GREY, (-0.012, 0.018, 0.0), Z, 0.068, -0.29, -0.06, (0.02, 0.03), 1.3)
    yield Turned("uleg", _LIGHT, ORIGIN, Y, 0.060, 0.052, 0.075, (0.0, 0.012))
    yield _Arm("uleg", _DARK, (0.02, 0.0, -0.09), (-0.025, 0.0, -0.29), (0.040, 0.032), Y, 0.070, 0.098)
    yield _Rod("uleg", _DARK, (-0.085, 0.0, -0.10), (-0.105, 0.0, -0.26), 0.026)
    yield _Rod("uleg", _STEEL, (-0.105, 0.0, -0.26), (-0.10, 0.0, -0.36), 0.012)
    yield Turned("lleg", _DARK, ORIGIN, Y, 0.060, -0.066, 0.066, (0.010, 0.010))
    yield Turned("lleg", _STEEL, ORIGIN, Y, 0.026, -0.072, 0.072, (0.003, 0.003))
    yield _Arm("lleg", _LIGHT, (0.0, 0.0, -0.03), (0.0, 0.0, -0.422), (0.058, 0.034), Y, -0.046, 0.046)
    yield Turned("lleg", _GREY, (0.022, 0.0, 0.0), Z, 0.040, -0.33, -0.05, (0.02, 0.03), 1.35)
    for side in (-1.0, 1.0):  # hydraulic cylinders of the ankle
        yield _Rod("lleg", _DARK, (-0.060, 0.034 * side, -0.07), (-0.066, 0.034 * side, -0.22), 0.024)
        yield _Rod("lleg", _STEEL, (-0.066, 0.034 * side, -0.22), (-0.058, 0.034 * side, -0.425), 0.010)
    yield Turned("talus", _STEEL, ORIGIN, Y, 0.022, -0.052, 0.052, (0.004, 0.004))
    yield Turned("talus", _STEEL, ORIGIN, X, 0.018, -0.03, 0.03, (0.004, 0.004))
    yield _Block("foot", _RUBBER, (0.048, 0.0, -0.0755), (0.130, 0.0624, 0.0056), 0.004)
    yield _Block("foot", _GREY, (0.048, 0.0, -0.058), (0.124, 0.057, 0.013), 0.010)
    yield _Block("foot", _GREY, (0.0, 0.0, -0.035), (0.065, 0.042, 0.022), 0.012)
    yield Turned("foot", _DARK, ORIGIN, X, 0.026, -0.055, -0.032, (0.004, 0.004))
    yield Turned("foot", _DARK, ORIGIN, X, 0.026, 0.032, 0.055, (0.004, 0.004))
    yield _Block("foot", _DARK, (0.115, 0.0, -0.046), (0.045, 0.05, 0.008), 0.006)
