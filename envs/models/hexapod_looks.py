"""How the hexapod looks: two black plates, 18 servos between brackets, pointed tibiae. Shapes by eye."""

from functools import partial
from typing import Final

import mujoco
import numpy as np

from pliant.envs.models import shapes
from pliant.envs.models.hexapod_body import FOOT_RADIUS, LEGS, LINKS, TRUNK
from pliant.envs.models.parts import VISUAL_GROUP, add_mesh, orientation

_PLATE, _SERVO, _HORN, _BATTERY = "hexapod_plate", "hexapod_servo", "steel", "hexapod_battery"
_MATERIALS: Final = {
    # name: colour, specular, shininess
    _PLATE: ((0.075, 0.078, 0.085, 1.0), 0.45, 0.50),
    _SERVO: ((0.185, 0.190, 0.205, 1.0), 0.25, 0.30),
    _BATTERY: ((0.080, 0.290, 0.640, 1.0), 0.30, 0.40),
}
_SERVO_HALF = (0.025, 0.016, 0.019)
"""Half of a servo's length, width and depth along its axis, m."""
_THICK = 0.0025


def add_looks(spec: mujoco.MjSpec, batteries: int) -> None:
    """Draw the robot on its bodies."""
    for name, (colour, specular, shininess) in _MATERIALS.items():
        spec.add_material(name=name, rgba=list(colour), specular=specular, shininess=shininess, reflectance=0.0)
    trunk = spec.body(TRUNK)
    for z in (-0.026, 0.026):
        geom = add_mesh(spec, trunk, "hexapod_deck", _PLATE, _deck)
        geom.pos = [0.0, 0.0, z]
    for k, (x, y) in enumerate((a, b) for a in (-0.07, 0.07) for b in (-0.035, 0.035)):
        _rod(trunk, (x, y, -0.026), (x, y, 0.026), 0.004, _HORN)
        if k % 2 == 0:
            _box(spec, trunk, "hexapod_board", _SERVO, (x * 0.9, 0.0, 0.034), (0.03, 0.028, 0.007))
    for k in range(batteries):
        body = spec.body(f"battery{k + 1}")
        _box(spec, body, "hexapod_battery", _BATTERY, (0.0, 0.0, 0.0), (0.070, 0.0215, 0.014))
    for leg, place in LEGS.items():
        inwards = np.array([-np.cos(place.direction), -np.sin(place.direction), 0.0])
        servo = _servo(spec, trunk, (place.x, place.y, 0.0) + 0.012 * inwards, -inwards, (0.0, 0.0, 1.0))
        servo.material = _SERVO
        _draw_leg(spec, leg)


def _draw_leg(spec: mujoco.MjSpec, leg: str) -> None:
    coxa, femur, tibia = (spec.body(f"{leg}_{link}") for link in LINKS)
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for height in (-0.023, 0.023):  # bracket that the coxa's servo turns
        _plate(spec, coxa, "hexapod_bracket", (0.014, 0.012, 0.030), (0.0, 0.0, height), x, z)
    _box(spec, coxa, "hexapod_web", _PLATE, (0.031, 0.0, 0.0), (0.0018, 0.013, 0.0245))
    _servo(spec, coxa, (0.046, 0.0, 0.0), x, y)
    _rod(coxa, (0.0, 0.0, -0.027), (0.0, 0.0, 0.027), 0.007, _HORN)
    for side in (-0.023, 0.023):
        _plate(spec, femur, "hexapod_femur", (0.016, 0.016, LINKS["femur"].length), (0.0, side, 0.0), x, y)
    _box(spec, femur, "hexapod_brace", _PLATE, (0.036, 0.0, 0.0), (0.0018, 0.0225, 0.012))
    _rod(femur, (0.0, -0.027, 0.0), (0.0, 0.027, 0.0), 0.007, _HORN)
    _servo(spec, tibia, (0.010, 0.0, 0.0), x, y)
    _rod(tibia, (0.0, -0.027, 0.0), (0.0, 0.027, 0.0), 0.007, _HORN)
    length = LINKS["tibia"].length
    for side in (-0.018, 0.018):
        _plate(spec, tibia, "hexapod_tibia", (0.019, 0.006, length - 0.036), (0.026, side, 0.0), x, y)
    _box(spec, tibia, "hexapod_shin", _PLATE, (0.070, 0.0, 0.0), (0.012, 0.0185, 0.004))
    _box(spec, tibia, "hexapod_ankle", _PLATE, (length - 0.012, 0.0, 0.0), (0.006, 0.0185, 0.006))
    spec.body(f"{leg}_foot").add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[FOOT_RADIUS, 0.0, 0.0],
        material="rubber",
        contype=0,
        conaffinity=0,
        group=VISUAL_GROUP,
        mass=0.0,
    )


def _deck() -> shapes.Mesh:
    """A plate that is widest in the middle: twelve corners around the coxae's axes."""
    corners = [
        (place.x + 0.024 * np.cos(place.direction + a), place.y + 0.024 * np.sin(place.direction + a))
        for place in LEGS.values()
        for a in np.linspace(-0.8, 0.8, 5)
    ]
    around = sorted(corners, key=lambda corner: np.arctan2(corner[1], corner[0]))
    return shapes.slab(around, -_THICK / 2, _THICK / 2)


def _servo(spec: mujoco.MjSpec, body: mujoco.MjsBody, centre: object, x: object, axis: object) -> mujoco.MjsGeom:
    """A servo, long along x, that turns about an axis."""
    mesh = partial(shapes.rounded_box, *_SERVO_HALF, 0.002)
    geom = add_mesh(spec, body, "hexapod_servo", _SERVO, mesh)
    geom.pos, geom.quat = list(np.asarray(centre, np.float64)), orientation(x, axis)  # type: ignore[arg-type]
    return geom


def _plate(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    shape: tuple[float, float, float],
    start: tuple[float, float, float],
    x: tuple[float, float, float],
    across: tuple[float, float, float],
) -> None:
    """A plate around two circles: their radii and distance."""
    mesh = partial(shapes.slab, shapes.taper(*shape), -_THICK / 2, _THICK / 2)
    geom = add_mesh(spec, body, name, _PLATE, mesh)
    geom.pos, geom.quat = list(start), orientation(x, across)


def _box(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    material: str,
    centre: tuple[float, float, float],
    half: tuple[float, float, float],
) -> None:
    geom = add_mesh(spec, body, name, material, partial(shapes.rounded_box, *half, min(half) / 3))
    geom.pos = list(centre)


def _rod(
    body: mujoco.MjsBody,
    start: tuple[float, float, float],
    end: tuple[float, float, float],
    radius: float,
    material: str,
) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        fromto=[*start, *end],
        size=[radius, 0.0, 0.0],
        material=material,
        contype=0,
        conaffinity=0,
        group=VISUAL_GROUP,
        mass=0.0,
    )
