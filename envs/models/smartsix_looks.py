"""How the Comau Smart-Six looks: red castings, dark motors, a slender upper arm beside its axis.

The shapes are ours, by eye, about the published axes; see `pliant.envs.models.smartsix` for the frames.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import mujoco

from pliant.envs.models import shapes
from pliant.envs.models.parts import add_collision_capsule, add_mesh, orientation
from pliant.envs.models.shapes import Mesh
from pliant.envs.models.turned import ORIGIN, Turned, Vector, X, Y, Z, add_turned

FLANGE_RADIUS: Final = 0.04
"""m"""
_RED, _DARK, _SEAM, _STEEL = "comau_red", "comau_dark", "comau_seam", "steel"
_MATERIALS: Final = {
    # name: colour, specular, shininess
    _RED: ((0.720, 0.120, 0.080, 1.0), 0.35, 0.45),
    _DARK: ((0.130, 0.135, 0.145, 1.0), 0.25, 0.35),
    _SEAM: ((0.250, 0.255, 0.265, 1.0), 0.30, 0.30),
}
_UPPER: Final = 0.59
_SIDE: Final = (-0.175, -0.095)
"""Where the upper arm lies along the axes of shoulder and elbow, in its own frame, m."""


def add_looks(spec: mujoco.MjSpec) -> None:
    """Draw the arm on its bodies, and give it capsules that touch the world."""
    for name, (colour, specular, shininess) in _MATERIALS.items():
        spec.add_material(name=name, rgba=list(colour), specular=specular, shininess=shininess, reflectance=0.0)
    for k, part in enumerate(_turned()):
        add_turned(spec, part, f"{part.body}_{k}")
    for name, body, material, origin, turn, mesh in _castings():
        geom = add_mesh(spec, spec.body(body), name, material, mesh)
        geom.pos, geom.quat = list(origin), turn
    for body, start, end, radius in (
        ("link1", (-0.02, 0.0, -0.35), (0.15, 0.0, -0.45), 0.13),
        ("link2", (0.0, 0.0, -0.13), (0.0, -_UPPER, -0.13), 0.09),
        ("link3", (0.0, 0.0, -0.02), (0.13, 0.0, 0.0), 0.11),
        ("link3", (0.13, 0.15, 0.0), (0.13, -0.1, 0.0), 0.09),
        ("link4", (0.0, 0.0, -0.15), (0.0, 0.0, -0.6), 0.07),
        ("link5", (0.0, 0.0, 0.0), (0.0, 0.04, 0.0), 0.045),
    ):
        add_collision_capsule(spec.body(body), start, end, radius)


def add_pedestal(spec: mujoco.MjSpec, height: float) -> None:
    """Draw what the arm stands on, of a height, m; none where that is 0."""
    if height == 0.0:
        return
    foot = min(0.03, height)
    plates = [("pedestal_foot", 0.25, -height, -height + foot)]
    if height > foot:
        plates.append(("pedestal_column", 0.19, -height + foot, 0.0))
    for name, half, low, high in plates:
        material = "plate" if name == "pedestal_foot" else "profile"
        add_mesh(spec, spec.worldbody, name, material, _slab(shapes.rectangle(half, half, 0.02), low, high, 0.004))


def _slab(outline: shapes.Array, low: float, high: float, chamfer: float) -> Callable[[], Mesh]:
    return partial(shapes.slab, outline, low, high, chamfer)


def _turned() -> Iterator[Turned]:
    # the casting on the floor, and the turret on it; up is -z of link1
    yield Turned("base", _RED, ORIGIN, Z, 0.165, 0.03, 0.19, (0.0, 0.02), 0.92)
    yield Turned("base", _SEAM, ORIGIN, Z, 0.150, 0.19, 0.20)
    yield Turned("link1", _RED, ORIGIN, Z, 0.145, -0.34, -0.20, (0.03, 0.01), 1.06)
    yield Turned("link1", _DARK, (-0.115, 0.0, 0.0), Z, 0.065, -0.56, -0.30, (0.02, 0.0))
    yield Turned("link1", _RED, (0.15, 0.0, -0.45), Y, 0.118, -0.085, 0.085, (0.012, 0.012))
    yield Turned("link1", _SEAM, (0.15, 0.0, -0.45), Y, 0.108, 0.085, 0.095)
    yield Turned("link1", _DARK, (0.15, 0.0, -0.45), Y, 0.072, -0.27, -0.085, (0.02, 0.0))
    # hubs of the upper arm
    low, high = _SIDE
    yield Turned("link2", _RED, ORIGIN, Z, 0.112, low - 0.02, high, (0.012, 0.0))
    yield Turned("link2", _DARK, ORIGIN, Z, 0.055, low - 0.032, low - 0.02, (0.006, 0.0))
    yield Turned("link2", _RED, (0.0, -_UPPER, 0.0), Z, 0.092, low - 0.015, high, (0.012, 0.0))
    yield Turned("link2", _DARK, (0.0, -_UPPER, 0.0), Z, 0.045, low - 0.025, low - 0.015, (0.006, 0.0))
    # the elbow; the forearm goes along -y from (0.13, 0, 0)
    yield Turned("link3", _SEAM, ORIGIN, Z, 0.088, 0.080, 0.095)
    yield Turned("link3", _RED, ORIGIN, Z, 0.098, -0.075, 0.080, (0.012, 0.0))
    yield Turned("link3", _DARK, ORIGIN, Z, 0.060, -0.215, -0.075, (0.016, 0.0))
    yield Turned("link3", _RED, (0.13, 0.0, 0.0), Y, 0.092, -0.125, 0.13, (0.01, 0.02))
    for x, z in ((0.165, 0.036), (0.165, -0.036), (0.095, 0.0)):
        yield Turned("link3", _DARK, (x, 0.0, z), Y, 0.032, 0.13, 0.27, (0.0, 0.008))
    # the forearm and the wrist's fork
    yield Turned("link4", _SEAM, ORIGIN, Z, 0.080, -0.135, -0.125)
    yield Turned("link4", _RED, ORIGIN, Z, 0.056, -0.57, -0.135, (0.015, 0.006), 1.45)
    for low, high, edges in ((-0.062, -0.036, (0.006, 0.0)), (0.036, 0.062, (0.0, 0.006))):
        yield Turned("link4", _RED, (0.0, 0.0, -0.64707), Y, 0.048, low, high, edges)
    yield Turned("link5", _DARK, ORIGIN, Z, 0.044, -0.035, 0.035)
    yield Turned("link5", _DARK, ORIGIN, Y, 0.034, 0.0, 0.068)
    yield Turned("link6", _STEEL, ORIGIN, Z, FLANGE_RADIUS, -0.025, 0.0, (0.002, 0.002))


_Casting = tuple[str, str, str, Vector, list[float], Callable[[], Mesh]]


def _castings() -> Iterator[_Casting]:
    """Name, body, material, origin, orientation and mesh of what is no solid of revolution."""
    upright = orientation(X, Z)
    foot = _slab(shapes.rectangle(0.20, 0.20, 0.03), 0.0, 0.035, 0.004)
    yield "base_foot", "base", _RED, ORIGIN, upright, foot
    block = partial(shapes.rounded_box, 0.125, 0.085, 0.085, 0.02)
    yield "link1_block", "link1", _RED, (0.05, 0.0, -0.37), upright, block
    low, high = _SIDE
    arm = _slab(shapes.taper(0.098, 0.078, _UPPER), low, high, 0.012)
    yield "link2_arm", "link2", _RED, ORIGIN, orientation((0.0, -1.0, 0.0), Z), arm
    elbow = partial(shapes.rounded_box, 0.085, 0.085, 0.07, 0.02)
    yield "link3_block", "link3", _RED, (0.065, 0.0, 0.0), upright, elbow
    for side in (-1, 1):
        cheek = partial(shapes.rounded_box, 0.04, 0.013, 0.055, 0.006)
        yield f"link4_cheek{side}", "link4", _RED, (0.0, 0.049 * side, -0.595), upright, cheek
