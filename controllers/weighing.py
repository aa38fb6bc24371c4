"""Postures in which an arm weighs its tool: gravity along every axis of the sensor."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.interaction.frames import mounted
from pliant.controllers.interaction.planning import Arm
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, check_count
from pliant.hardware.force_torque.wrench import GRAVITY

_DRAWN: Final = 3000
"""Postures to choose from."""
_MARGIN: Final = 0.05
"""Distance from the joints' limits, rad or m."""
_LOOKS: Final = 12
"""Places on a way that are looked at."""
_FEWEST: Final = 3


class Tour(NamedTuple):
    """Postures in the order in which an arm goes through them, each way straight for its joints."""

    postures: Array
    """(n, joints), rad or m."""
    by_start: NDArray[np.bool_]
    """Which of them are gone to by the start, because the way from the one before leaves the box, (n,)."""


def weighing_tour(
    arm: Arm,
    start: Array,
    count: int,
    *,
    reach: float = 1.0,
    box: Sequence[Sequence[float]] = ((-0.3, -0.3, -0.3), (0.3, 0.3, 0.3)),
    seed: int = 0,
) -> Tour:
    """Return postures that an arm goes through from a start.

    Of postures drawn evenly, those are taken one after another that tell most of mass, first moment and bias
    together, by the determinant of the normal equations of `identify_load` (D-optimal, greedily). Nothing is known
    of what stands around.

    Args:
        arm: see `Arm`.
        start: joint positions, (joints,), rad or m.
        count: how many postures, at least 3.
        reach: farthest that a joint goes from the start, rad or m.
        box: two corners, m, from where the tool's tip is at the start, in the axes of the world: on all ways the
            tip stays within, and the sensor within as much about its own place.
        seed: of the postures drawn.

    Raises:
        ConfigurationError: within limits, reach and box there are no three postures.
        OutOfBoundsError, ShapeError: numbers that cannot be.
    """
    check_count("poses", count, _FEWEST, 200)
    check_bounds("reach", reach, 1e-3, 10.0, "rad")
    corners = finite_array("box", box, (2, 3))
    if not (corners[0] < corners[1]).all():
        raise OutOfBoundsError(f"box: the corner {corners[0].tolist()} is not below {corners[1].tolist()}.")
    kinematics, frame = arm.preview, np.asarray(arm.frames.sensor, np.float64)
    q0 = finite_array("start", start, kinematics.low.shape)

    def places(q: Array) -> tuple[Array, Array]:
        """Of tip and sensor, (2, 3), and the sensor's rotation."""
        tip = kinematics.place(q)
        sensor, rotation = mounted(tip, frame)
        return np.array([tip[:3], sensor[:3]]), rotation

    def within(begin: Array, end: Array) -> bool:
        for share in np.arange(_LOOKS, 0, -1) / _LOOKS:
            moved = places(begin + share * (end - begin))[0] - at_start
            if not ((moved >= corners[0]).all() and (moved <= corners[1]).all()):
                return False
        return True

    at_start = places(q0)[0]
    low = np.minimum(np.maximum(kinematics.low + _MARGIN, q0 - reach), q0)
    high = np.maximum(np.minimum(kinematics.high - _MARGIN, q0 + reach), q0)
    drawn = np.random.default_rng(seed).uniform(low, high, (_DRAWN, len(q0)))
    postures = np.array([q for q in drawn if within(q0, q)])
    if len(postures) < _FEWEST:
        raise ConfigurationError(
            f"{len(postures)} of {_DRAWN} postures are gone to within the box {corners.tolist()} about where "
            f"the tool starts, with joints up to {reach:g} rad away; three are needed: a wider box, or less reach."
        )
    down = np.array(GRAVITY) / np.linalg.norm(GRAVITY)
    chosen = _most_telling(np.array([_design(places(q)[1].T @ down) for q in postures]), count)
    ordered = _in_order(postures[chosen], q0)
    before = [q0, *ordered[:-1]]
    return Tour(ordered, np.array([not within(a, b) for a, b in zip(before, ordered, strict=True)]))


def _design(down: Array) -> Array:
    """Normal equations, (10, 10), of a pose for m, b_f, m·c and b_τ, with gravity's direction in the sensor."""
    x, y, z = down
    rows = np.zeros((6, 10))
    rows[:3, 0], rows[:3, 1:4] = -down, np.eye(3)
    rows[3:, 4:7] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    rows[3:, 7:] = np.eye(3)
    return rows.T @ rows


def _most_telling(designs: Array, count: int) -> list[int]:
    """Which of many poses, chosen one by one, make the determinant of their sum largest."""
    total, chosen = 1e-3 * np.eye(10), list[int]()
    for _ in range(min(count, len(designs))):
        worth = np.linalg.slogdet(total + designs)[1]
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        total = total + designs[chosen[-1]]
    return chosen


def _in_order(postures: Array, rest: Array) -> Array:
    """Each the nearest to the one before, by the joint that has farthest to go."""
    left, here, ordered = list(postures), rest, []
    while left:
        nearest = int(np.argmin([np.abs(q - here).max() for q in left]))
        here = left.pop(nearest)
        ordered.append(here)
    return np.array(ordered)
