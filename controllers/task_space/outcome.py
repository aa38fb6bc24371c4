"""From the bounds of a problem to what is bounded, and from x to a solution; plain functions, to be compiled."""

import math

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.task_space.least_norm import INFINITE

PASSED = 1e-6
"""From where on a limit or a constraint counts as not kept, relative to 1 + |limit|."""
NEAR = 1e-7
"""How near to a bound counts as at it, relative to 1 + |bound|."""


def limits(
    actuated: NDArray[np.int64],
    bias: Array,
    torque_low: Array,
    torque_high: Array,
    acceleration_low: Array,
    acceleration_high: Array,
    cone_low: Array,
    cone_high: Array,
) -> tuple[Array, Array, bool]:
    """Return the lower and the upper bounds of (τ − h, u̇, C·λ), none infinite, and whether they can be used.

    They cannot where one is NaN or a lower one is above its upper one.
    """
    drives, nv, cones = len(actuated), len(bias), len(cone_low)
    low, high = np.empty(drives + nv + cones), np.empty(drives + nv + cones)
    for k in range(drives):
        low[k], high[k] = torque_low[k] - bias[actuated[k]], torque_high[k] - bias[actuated[k]]
    low[drives : drives + nv], high[drives : drives + nv] = acceleration_low, acceleration_high
    low[drives + nv :], high[drives + nv :] = cone_low, cone_high
    fit = True
    for k in range(len(low)):
        fit = fit and low[k] <= high[k]
        low[k], high[k] = max(low[k], -INFINITE), min(high[k], INFINITE)
    return low, high, fit


def report(
    found: Array,
    actuated: NDArray[np.int64],
    bias: Array,
    constraint: Array,
    constraint_wanted: Array,
    drive: Array,
    jacobian: Array,
    force_map: Array,
    wanted: Array,
    cone: Array,
    bounds: tuple[Array, Array, Array, Array, Array, Array],
    results: tuple[Array, Array, Array, Array],
    marks: tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8]],
) -> int:
    """Write a solution x into the arrays of a `Solution`; return its `Status`, `BRAKING` where it is not finite.

    Args:
        found: x.
        actuated, bias, constraint, constraint_wanted, jacobian, force_map, wanted, cone: see `Problem`.
        drive: see `eliminate`.
        bounds: of torque, acceleration and cone, low and high in turn; the torque is cut to its own.
        results: acceleration, torque, force, residual.
        marks: torque_bound, acceleration_bound, cone_bound.
    """
    acceleration, torque, force, residual = results
    nv = len(acceleration)
    acceleration[:], force[:] = found[:nv], found[nv:]
    if len(torque):
        torque[:] = np.dot(drive, found)
    for k in range(len(torque)):
        torque[k] = min(max(torque[k] + bias[actuated[k]], bounds[0][k]), bounds[1][k])
    residual[:] = 0.0
    if len(wanted):
        residual[:] = np.dot(jacobian, acceleration) - wanted
    if np.any(force_map != 0.0):
        residual += np.dot(force_map, force)
    mark(torque, bounds[0], bounds[1], marks[0])
    passed = mark(acceleration, bounds[2], bounds[3], marks[1])
    if len(cone):
        mark(np.dot(cone, force), bounds[4], bounds[5], marks[2])
    if not math.isfinite(np.sum(torque) + np.sum(found)):
        return 3
    for i in range(len(constraint_wanted)):
        if abs(np.dot(constraint[i], acceleration) - constraint_wanted[i]) > PASSED * (
            1.0 + abs(constraint_wanted[i])
        ):
            return 2
    return 1 if passed else 0


def mark(value: Array, low: Array, high: Array, at: NDArray[np.int8]) -> bool:
    """Write −1 or 1 into `at` where a value is at its lower or upper bound or beyond; return if one is beyond."""
    passed = False
    for k in range(len(value)):
        above, below = (value[k] - high[k]) / (1.0 + abs(high[k])), (low[k] - value[k]) / (1.0 + abs(low[k]))
        at[k] = 1 if above >= -NEAR else (-1 if below >= -NEAR else 0)
        passed = passed or above > PASSED or below > PASSED
    return passed
