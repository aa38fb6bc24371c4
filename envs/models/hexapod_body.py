"""The hexapod as bodies: trunk, batteries, legs, what touches, sensors of feet, trunk and self-collision."""

from itertools import combinations
from math import cos, pi, sin
from typing import Final, NamedTuple

import mujoco
import numpy as np

from pliant.envs.models.parts import COLLISION_GROUP

TRUNK: Final = "trunk"
"""The body, its free joint and its site."""


class Leg(NamedTuple):
    """Where the axis of a coxa is in the trunk, x forward and y to the left, and where the leg points at zero."""

    x: float
    """m"""
    y: float
    """m"""
    direction: float
    """About z, rad."""


class Link(NamedTuple):
    """A link of a leg, along its x."""

    length: float
    """From its joint to the next, or to the tip, m."""
    centre: float
    """Centre of mass from its joint, m."""
    mass: float
    """kg"""
    size: tuple[float, float, float]
    """Of the box of uniform density that has its inertia, m."""


LEGS: Final = {
    "front_left": Leg(0.1206, 0.0605, pi / 4),
    "front_right": Leg(0.1206, -0.0605, -pi / 4),
    "rear_left": Leg(-0.1206, 0.0605, 3 * pi / 4),
    "rear_right": Leg(-0.1206, -0.0605, -3 * pi / 4),
    "middle_left": Leg(0.0, 0.1005, pi / 2),
    "middle_right": Leg(0.0, -0.1005, -pi / 2),
}
"""Table 1 of the paper."""
LINKS: Final = {
    "coxa": Link(0.052, 0.026, 0.022, (0.050, 0.030, 0.040)),
    "femur": Link(0.066, 0.020, 0.072, (0.100, 0.045, 0.035)),
    "tibia": Link(0.138, 0.051, 0.104, (0.138, 0.040, 0.030)),
}
"""Table 2 of the paper; the boxes are ours."""
DROP: Final = {"coxa": 0.0, "femur": np.deg2rad(13.6), "tibia": np.deg2rad(50.0)}
"""How far below the horizontal a link points at servo zero, rad."""
RANGES: Final = {"coxa": np.deg2rad(75.0), "femur": np.deg2rad(100.0), "tibia": np.deg2rad(149.0)}
"""Reach of a joint to either side, rad."""
TRUNK_MASS: Final = 1.212
BATTERY_MASS: Final = 0.330
"""kg"""
FOOT_RADIUS: Final = 0.008
"""Of the ball at the end of a tibia, m."""
IMU: Final = ("imu_gyro", "imu_accelerometer", "imu_orientation")
TOUCHES: Final = {f"{leg}_touch": leg for leg in LEGS}
"""Sensors that feel how hard a foot is pressed, by name: its leg."""
COLLISIONS: Final = {
    f"{one}_meets_{other}": (one, other)
    for one, other in (*combinations(LEGS, 2), *((leg, TRUNK) for leg in LEGS))
}
"""Sensors that count contacts between two legs, or a leg and the trunk, by name: which."""

_SHIN_RADIUS = 0.75 * FOOT_RADIUS
_LEGS_ONLY = 2
"""Bit of contact that only the robot's own geoms have."""
_TRUNK_SIZE = (0.26, 0.16, 0.05)
_BATTERY_SIZE = (0.14, 0.045, 0.028)


def add_trunk(spec: mujoco.MjSpec, batteries: int, self_collision: bool) -> mujoco.MjsBody:
    """Add the floating trunk with its batteries, which lie side by side in its middle."""
    trunk = spec.worldbody.add_body(name=TRUNK)
    trunk.add_freejoint(name=TRUNK)
    _weigh(trunk, TRUNK_MASS, (0.0, 0.0, 0.0), _TRUNK_SIZE)
    for k in range(batteries):
        y = (k - (batteries - 1) / 2) * 1.1 * _BATTERY_SIZE[1]
        _weigh(trunk.add_body(name=f"battery{k + 1}", pos=[0.0, y, 0.0]), BATTERY_MASS, (0, 0, 0), _BATTERY_SIZE)
    for k, (half_x, half_y) in enumerate(((0.13, 0.045), (0.055, 0.075))):
        geom = trunk.add_geom(
            name=f"{TRUNK}_{k}", type=mujoco.mjtGeom.mjGEOM_BOX, size=[half_x, half_y, _TRUNK_SIZE[2] / 2]
        )
        _touch(geom, self_collision)
    trunk.add_site(name=TRUNK, size=[0.004], group=4)
    return trunk


def add_leg(
    spec: mujoco.MjSpec, trunk: mujoco.MjsBody, name: str, thickness: float, friction: float, self_collision: bool
) -> None:
    """Add a leg: coxa, femur and tibia as capsules, and its foot.

    Positive angles turn the coxa to the left seen from above, and lower femur and tibia on the left side, raise
    them on the right one: servos of both sides are mounted alike.

    The tibia's capsule touches other legs and the trunk. The ground and whatever else there is meet a thinner one,
    the shin, so that the foot touches a floor first however flat the tibia is.
    """
    place, parent = LEGS[name], trunk
    side = 1.0 if place.y > 0.0 else -1.0
    at, angle = [place.x, place.y, 0.0], 0.0
    for link, (length, centre, mass, size) in LINKS.items():
        body = parent.add_body(name=f"{name}_{link}", pos=at)
        turn = DROP[link] - angle
        half = (place.direction if link == "coxa" else turn) / 2
        body.quat = [cos(half), 0.0, 0.0, sin(half)] if link == "coxa" else [cos(half), 0.0, sin(half), 0.0]
        hinge = body.add_joint(
            name=f"{name}_{link}",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=[0.0, 0.0, 1.0] if link == "coxa" else [0.0, side, 0.0],
        )
        hinge.limited, hinge.range = mujoco.mjtLimited.mjLIMITED_TRUE, [-RANGES[link], RANGES[link]]
        _weigh(body, mass, (centre, 0.0, 0.0), size)
        reach = length - FOOT_RADIUS - thickness / 4 if link == "tibia" else length
        geom = _add_capsule(body, f"{name}_{link}", reach, thickness / 2)
        _touch(geom, self_collision)
        if link == "tibia":
            geom.contype, geom.conaffinity = (_LEGS_ONLY, _LEGS_ONLY) if self_collision else (0, 0)
            shin = _add_capsule(body, f"{name}_shin", length - 2 * FOOT_RADIUS, min(thickness / 2, _SHIN_RADIUS))
            _touch(shin, self_collision)
        parent, at, angle = body, [length, 0.0, 0.0], DROP[link]
    _add_foot(spec, parent, name, friction, self_collision)
    links = [TRUNK, *(f"{name}_{link}" for link in LINKS)]
    spec.add_exclude(bodyname1=links[0], bodyname2=links[1])
    for one, other in combinations([*links[1:], f"{name}_foot"], 2):
        spec.add_exclude(bodyname1=one, bodyname2=other)


def _add_capsule(body: mujoco.MjsBody, name: str, reach: float, radius: float) -> mujoco.MjsGeom:
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[0.0, 0.0, 0.0, reach, 0.0, 0.0],
        size=[radius, 0.0, 0.0],
    )


def _add_foot(spec: mujoco.MjSpec, tibia: mujoco.MjsBody, leg: str, friction: float, self_collision: bool) -> None:
    """A ball of no mass that ends at the tip: its own friction and contact hold on whatever it touches."""
    length = LINKS["tibia"].length
    foot = tibia.add_body(name=f"{leg}_foot", pos=[length - FOOT_RADIUS, 0.0, 0.0])
    geom = foot.add_geom(name=f"{leg}_foot", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[FOOT_RADIUS, 0.0, 0.0])
    _touch(geom, self_collision)
    geom.friction[0], geom.solref[0], geom.priority = friction, 0.01, 1
    foot.add_site(name=f"{leg}_force", size=[0.004], group=4)
    foot.add_site(name=f"{leg}_foot", pos=[FOOT_RADIUS, 0.0, 0.0], size=[0.004], group=4)
    foot.add_site(
        name=f"{leg}_touch", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[1.5 * FOOT_RADIUS, 0.0, 0.0], group=4
    )
    spec.add_sensor(
        name=f"{leg}_touch",
        type=mujoco.mjtSensor.mjSENS_TOUCH,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=f"{leg}_touch",
    )


def add_sensors(spec: mujoco.MjSpec) -> None:
    """Inertial sensors in the middle of the trunk, and one for each pair of `COLLISIONS`."""
    for name, kind in zip(
        IMU,
        (
            mujoco.mjtSensor.mjSENS_GYRO,
            mujoco.mjtSensor.mjSENS_ACCELEROMETER,
            mujoco.mjtSensor.mjSENS_FRAMEQUAT,
        ),
        strict=True,
    ):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=TRUNK)
    for name, (one, other) in COLLISIONS.items():
        spec.add_sensor(
            name=name,
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_XBODY,
            objname=f"{one}_coxa",
            reftype=mujoco.mjtObj.mjOBJ_BODY if other == TRUNK else mujoco.mjtObj.mjOBJ_XBODY,
            refname=TRUNK if other == TRUNK else f"{other}_coxa",
            intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
        )


def _weigh(
    body: mujoco.MjsBody, mass: float, centre: tuple[float, float, float], size: tuple[float, float, float]
) -> None:
    squares = np.square(size)
    body.explicitinertial = True
    body.mass, body.ipos, body.inertia = mass, list(centre), (mass * (squares.sum() - squares) / 12.0).tolist()


def _touch(geom: mujoco.MjsGeom, self_collision: bool) -> None:
    """Let a geom touch the world, and other parts of the robot; unseen and without mass."""
    geom.contype, geom.conaffinity = 1, (1 | _LEGS_ONLY) if self_collision else 0
    geom.group, geom.mass, geom.rgba = COLLISION_GROUP, 0.0, [0.9, 0.3, 0.2, 0.3]
