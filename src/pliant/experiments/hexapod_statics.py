"""Statics of the hexapod on three feet, in closed form: what the feet bear and what a leg's servos must hold."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from pliant.controllers.checks import Array
from pliant.envs.models.hexapod_body import BATTERY_MASS, DROP, FOOT_RADIUS, LEGS, LINKS, TRUNK_MASS

GRAVITY: Final = 9.81
"""m/s²"""
_UP = np.array([0.0, 0.0, 1.0])


class LegPose(NamedTuple):
    """Where a leg is, (n, 3) each, m."""

    joints: Mapping[str, Array]
    """On the axis of each link."""
    centres: Mapping[str, Array]
    """Centre of mass of each link."""
    ball: Array
    """Middle of the foot's ball."""
    axis: Array
    """Of femur and tibia: positive angles turn about it."""

    def seen_from(self, position: Array, orientation: Array) -> "LegPose":
        """Return it in the world, of a trunk at (n, 3) with unit quaternions (n, 4)."""
        turn = rotation(orientation)

        def moved(points: Array) -> Array:
            found: Array = position + np.einsum("nij,nj->ni", turn, points)
            return found

        return LegPose(
            {link: moved(at) for link, at in self.joints.items()},
            {link: moved(at) for link, at in self.centres.items()},
            moved(self.ball),
            np.einsum("nij,nj->ni", turn, self.axis),
        )


class Statics(NamedTuple):
    """What three feet bear, and what the servos of one leg hold."""

    force: Array
    """On each foot, upwards, (n, feet), N."""
    lever: Array
    """Of the leg's foot, horizontally from the tibia's axis, (n,), m."""
    femur: Array
    """Torque that presses the foot down, (n,), N·m."""
    tibia: Array
    """Likewise."""


def rotation(orientation: Array) -> Array:
    """Return rotation matrices, (n, 3, 3), of unit quaternions (n, 4), w first."""
    w, x, y, z = orientation.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    found: Array = np.moveaxis(np.array(rows), -1, 0)
    return found


def leg_pose(leg: str, angles: Array) -> LegPose:
    """Return where a leg is in the trunk at angles of coxa, femur and tibia, (n, 3), rad. See `add_leg`."""
    place = LEGS[leg]
    side = 1.0 if place.y > 0.0 else -1.0
    coxa, femur, tibia = angles.T
    turn = place.direction + coxa
    out = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)
    below = {
        "coxa": np.zeros_like(coxa),
        "femur": DROP["femur"] + side * femur,
        "tibia": DROP["tibia"] + side * (femur + tibia),
    }
    joints, centres = {}, {}
    at = np.broadcast_to([place.x, place.y, 0.0], out.shape)
    for link, segment in LINKS.items():
        along = np.cos(below[link])[:, None] * out - np.sin(below[link])[:, None] * _UP
        joints[link], centres[link] = at, at + segment.centre * along
        at = at + segment.length * along
    return LegPose(joints, centres, at - FOOT_RADIUS * along, side * np.cross(_UP, out))


def three_feet(
    angles: Mapping[str, Array],
    base: Array,
    batteries: int,
    feet: Sequence[str],
    leg: str,
    friction: float,
) -> Statics:
    """Return what the feet bear and the servos of a leg hold, if nothing else touches and all is slow.

    The forces upwards follow from the weight and the place of its centre alone, as friction acts in the plane of
    the feet. On the leg acts besides it the friction of a foot that slides outwards, μ·N against it. A servo holds
    −Jᵀ·F less the weight of the links beyond it.

    Args:
        angles: of coxa, femur and tibia of every leg, (n, 3), rad.
        base: position and unit quaternion of the trunk, (n, 7).
        batteries: how many.
        feet: legs that stand, three.
        leg: the one of them that is looked at.
        friction: μ; 0: as if the foot's force were upright.
    """
    legs = {name: leg_pose(name, of).seen_from(base[:, :3], base[:, 3:]) for name, of in angles.items()}
    trunk = TRUNK_MASS + batteries * BATTERY_MASS
    mass = trunk + len(legs) * sum(link.mass for link in LINKS.values())
    moment = trunk * base[:, :3] + sum(
        LINKS[link].mass * centre for pose in legs.values() for link, centre in pose.centres.items()
    )
    points = np.stack([legs[name].ball for name in feet], axis=1) - FOOT_RADIUS * _UP
    balance = np.stack([np.ones(points.shape[:2]), points[..., 0], points[..., 1]], axis=1)
    load = GRAVITY * np.stack([np.full(len(base), mass), moment[:, 0], moment[:, 1]], axis=-1)
    force = np.asarray(np.linalg.solve(balance, load[..., None])[..., 0], dtype=np.float64)
    pose, which = legs[leg], list(feet).index(leg)
    point, upward = points[:, which], force[:, which]
    away = (point - pose.joints["femur"]) * [1.0, 1.0, 0.0]
    distance = np.linalg.norm(away, axis=-1, keepdims=True)
    acting = upward[:, None] * (_UP - friction * away / distance)
    side = 1.0 if LEGS[leg].y > 0.0 else -1.0

    def held(link: str, beyond: Sequence[str]) -> Array:
        torque = np.cross(point - pose.joints[link], acting)
        for other in beyond:
            weight = -LINKS[other].mass * GRAVITY * _UP
            torque = torque + np.cross(pose.centres[other] - pose.joints[link], weight)
        pressing: Array = -side * np.einsum("ni,ni->n", torque, pose.axis)
        return pressing

    lever: Array = np.linalg.norm((point - pose.joints["tibia"])[:, :2], axis=-1)
    return Statics(force, lever, held("femur", ("femur", "tibia")), held("tibia", ("tibia",)))
