"""Legs of three joints about a trunk: where a foot is, and the joint angles that put it there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.gaits.patterns import LEGS
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds

SEGMENTS = ("coxa", "femur", "tibia")


class Mount(NamedTuple):
    """Where a leg is on the trunk: its coxa axis is vertical, its femur and tibia move in one vertical plane."""

    leg: str
    x: float
    """Of the coxa axis, in the trunk's frame, m."""
    y: float
    """m."""
    heading: float
    """Direction of the leg with the coxa at zero, from the x axis, rad."""
    side: float
    """1 where positive femur and tibia angles raise the leg, −1 where negative ones do."""


@dataclass(frozen=True)
class Legs:
    """Six equal legs. All lengths in m, angles in rad.

    Elevation of the femur: `femur_zero` + side·q_femur; of the tibia: `tibia_zero` + side·(q_femur + q_tibia). The
    coxa turns counter-clockwise seen from above.

    Raises:
        ConfigurationError: legs of other names than `LEGS`, or a side that is neither 1 nor −1.
        OutOfBoundsError: a length that is not positive, or an angle out of range.
    """

    mounts: Sequence[Mount]
    """In the order of `LEGS`."""
    coxa: float
    femur: float
    tibia: float
    femur_zero: float = 0.0
    tibia_zero: float = 0.0
    forward: float = 0.0
    """Direction in which the robot walks, from the x axis."""
    stand: Sequence[Sequence[float]] = ()
    """Joint angles of each leg in the middle of a stride, (6, 3)."""
    ranges: Sequence[float] = (math.radians(75.0), math.radians(100.0), math.radians(150.0))
    """Of coxa, femur and tibia, to both sides of zero."""
    _numbers: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        mounts = tuple(Mount(*mount) for mount in self.mounts)
        if tuple(mount.leg for mount in mounts) != LEGS or any(abs(mount.side) != 1.0 for mount in mounts):
            raise ConfigurationError(f"legs are needed in the order {', '.join(LEGS)}, with the side 1 or -1.")
        for name in SEGMENTS:
            positive(f"length of the {name}", getattr(self, name), "m")
        for name in ("femur_zero", "tibia_zero", "forward"):
            check_bounds(f"legs: {name}", getattr(self, name), -math.pi, math.pi, "rad")
        finite_array("legs: ranges", self.ranges, (3,))
        stand = finite_array("legs: stand", self.stand or np.zeros((6, 3)), (6, 3))
        where = finite_array("mounts of the legs", [mount[1:] for mount in mounts], (6, 4))
        same = [self.coxa, self.femur, self.tibia, self.femur_zero, self.tibia_zero]
        object.__setattr__(self, "mounts", mounts)
        object.__setattr__(self, "stand", stand)
        object.__setattr__(self, "_numbers", np.hstack([where, np.tile(same, (6, 1))]))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, `LEG_coxa`, `LEG_femur`, `LEG_tibia` for each leg."""
        return tuple(f"{leg}_{segment}" for leg in LEGS for segment in SEGMENTS)

    @property
    def headings(self) -> Array:
        """Directions of the legs with the coxa at zero, (6,)."""
        return self._numbers[:, 2]

    @property
    def sides(self) -> Array:
        """(6,), 1 or −1."""
        return self._numbers[:, 3]

    def forward_kinematics(self, angles: ArrayLike) -> Array:
        """Return where the feet are from the middle of the coxa axes, (6, 3), m, at joint angles (6, 3), rad."""
        q = finite_array("joint angles of the legs", angles, (6, 3))
        x, y, heading, side = self._numbers[:, :4].T
        femur = self.femur_zero + side * q[:, 1]
        tibia = self.tibia_zero + side * (q[:, 1] + q[:, 2])
        out = self.coxa + self.femur * np.cos(femur) + self.tibia * np.cos(tibia)
        up = self.femur * np.sin(femur) + self.tibia * np.sin(tibia)
        turn = heading + q[:, 0]
        return np.stack([x + out * np.cos(turn), y + out * np.sin(turn), up], axis=-1)

    def inverse_kinematics(self, feet: ArrayLike) -> Array:
        """Return the joint angles (6, 3), rad, that put the feet to points (6, 3), m, with the knees up.

        Raises:
            OutOfBoundsError: a point that a leg does not reach, or only beyond the range of a joint.
        """
        angles, misses = self.nearest(finite_array("feet", feet, (6, 3)))
        for i, leg in enumerate(LEGS):
            if misses[i] > 1e-9:
                raise OutOfBoundsError(
                    f"{leg} leg: a foot at {np.round(np.asarray(feet)[i], 4).tolist()} m is {misses[i]:.3g} m "
                    f"out of reach; femur and tibia of {self.femur:g} and {self.tibia:g} m reach "
                    f"{abs(self.femur - self.tibia):.3g} to {self.femur + self.tibia:.3g} m from the femur's axis."
                )
            for segment, angle, most in zip(SEGMENTS, angles[i], self.ranges, strict=True):
                check_bounds(f"{leg}_{segment}", angle, -most, most, "rad")
        return angles

    def nearest(self, feet: Array) -> tuple[Array, Array]:
        """Return the angles that bring feet nearest, and by how far these miss.

        Args:
            feet: (…, 6, 3), m.

        Returns:
            Joint angles, (…, 6, 3), rad, and distances, (…, 6), m.


        Ranges of joints are not looked at.
        """
        points = feet.reshape(-1, 3)
        angles, misses = np.empty_like(points), np.empty(len(points))
        compiled(_inverse)(points, self._numbers, angles, misses)
        return angles.reshape(feet.shape), misses.reshape(feet.shape[:-1])


def _inverse(feet: Any, numbers: Any, angles: Any, misses: Any) -> None:
    for i in range(feet.shape[0]):
        leg = i % numbers.shape[0]
        side, coxa, femur, tibia = numbers[leg, 3], numbers[leg, 4], numbers[leg, 5], numbers[leg, 6]
        dx, dy, up = feet[i, 0] - numbers[leg, 0], feet[i, 1] - numbers[leg, 1], feet[i, 2]
        turn = math.atan2(dy, dx) - numbers[leg, 2]
        angles[i, 0] = turn - 2.0 * math.pi * math.floor(turn / (2.0 * math.pi) + 0.5)
        out = math.hypot(dx, dy) - coxa
        distance = math.hypot(out, up)
        reached = min(max(distance, abs(femur - tibia) + 1e-12), femur + tibia)
        misses[i] = abs(distance - reached)
        toward = math.atan2(up, out)
        cosine = (femur * femur + reached * reached - tibia * tibia) / (2.0 * femur * reached)
        raised = toward + math.acos(min(max(cosine, -1.0), 1.0))
        below = math.atan2(
            reached * math.sin(toward) - femur * math.sin(raised),
            reached * math.cos(toward) - femur * math.cos(raised),
        )
        bend = below - raised - numbers[leg, 8] + numbers[leg, 7]
        bend -= 2.0 * math.pi * math.floor(bend / (2.0 * math.pi) + 0.5)
        angles[i, 1] = side * (raised - numbers[leg, 7])
        angles[i, 2] = side * bend


def hexapod_legs() -> Legs:
    """Return the legs of the AX-12A hexapod, x to the right and y forward, standing with the corner legs spread.

    Femur and tibia of its default pose are ±π/6 and ∓π/3. For walking the coxae of the corner legs are turned by
    π/8 towards the sides of the trunk.

    Source: Čížek, Faigl and others on this robot, table 1 and the lengths of table 2; the π/8 is theirs, its
    direction inferred from the pair of legs that touches first in long strides.
    """
    front, corner, middle = 0.1206, 0.0605, 0.1005
    places = (
        (-corner, front, 3 * math.pi / 4, -1.0, math.pi / 8),
        (-middle, 0.0, math.pi, -1.0, 0.0),
        (-corner, -front, 5 * math.pi / 4, -1.0, -math.pi / 8),
        (corner, front, math.pi / 4, 1.0, -math.pi / 8),
        (middle, 0.0, 0.0, 1.0, 0.0),
        (corner, -front, 7 * math.pi / 4, 1.0, math.pi / 8),
    )
    return Legs(
        mounts=[Mount(leg, *place[:4]) for leg, place in zip(LEGS, places, strict=True)],
        coxa=0.052,
        femur=0.066,
        tibia=0.138,
        femur_zero=-math.radians(13.6),
        tibia_zero=-math.radians(50.0),
        forward=math.pi / 2,
        stand=[[place[4], place[3] * math.pi / 6, -place[3] * math.pi / 3] for place in places],
    )
