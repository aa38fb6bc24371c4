"""Levels of least squares under bounds, one after the other; plain functions over arrays, to be compiled."""

import math

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.task_space.least_norm import FEASIBLE, Bounds, bounded_values, least_norm
from pliant.controllers.task_space.reduction import Damping, Motions, Rows, narrow, optimum
from pliant.controllers.task_space.standstill import calm, resting

FREE, BOUNDED, NO_SOLUTION, NOT_FINITE = 0, 1, 2, 3
"""How a level ended: no bound is met; some are; they cannot be kept; something is not a finite number."""


def solve_levels(
    tasks: Rows,
    scale: Array,
    unit: Array,
    braking: Array,
    ends: NDArray[np.int64],
    damping: Damping,
    standing: float,
    rests: bool,
    motions: Motions,
    bounds: Bounds,
    active: NDArray[np.int8],
) -> tuple[int, Array]:
    """Return how the first level ended, or that something is not finite, and x of all levels.

    Args:
        tasks: of all levels.
        scale: that multiplies their rows besides, (rows,).
        unit, braking: `Problem.scale`, `Problem.braking`.
        ends: where each level begins among the rows, and their number, (levels + 1,).
        damping: of all levels.
        standing: see `standstill.calm`; 0: no level is calmed.
        rests: see `Problem.rest`.
        motions: those that are possible.
        bounds: see `outcome.limits`; those of lower levels contain what the higher ones have reached.
        active: bounds that were met the last time, as a level is and as it is calmed, (levels, 2, bounds).
    """
    jacobian, force_map, wanted, weight = tasks
    found, basis, offset = motions
    drive, cone, low, high = bounds
    stands, first = 0.0, FREE
    if not math.isfinite(np.sum(jacobian) + np.sum(force_map) + np.sum(wanted) + np.sum(weight)):
        return NOT_FINITE, found
    for k in range(len(ends) - 1):
        begin, end = ends[k], ends[k + 1]
        last = k == len(ends) - 2
        rows, forces, loads = jacobian[begin:end], force_map[begin:end], weight[begin:end] * scale[begin:end]
        aims = wanted[begin:end].copy()
        if last and rests and stands > 0.0:
            aims += stands * (np.dot(rows, resting(braking)) - aims)
        here, within = (found, basis, offset), (drive, cone, low, high)
        status, now, reduced, step, held = level((rows, forces, aims, loads), damping, here, within, active[k, 0])
        if status == NOT_FINITE or (k == 0 and status == NO_SOLUTION):
            return status, found
        if k == 0:
            first = status
        if status == NO_SOLUTION:
            continue  # what the higher levels have reached is a solution
        if standing > 0.0 and status == BOUNDED and not (last and rests):
            share, added, goals = calm(rows, forces, aims, loads, unit[begin:end], braking, now, standing)
            if share > 0.0:
                stands = max(stands, share)
                count = end - begin
                both = np.empty((count + len(added), rows.shape[1]))
                maps = np.zeros((count + len(added), forces.shape[1]))
                both[:count], both[count:], maps[:count] = rows, added, forces
                aims, loads = np.concatenate((aims, goals)), np.concatenate((loads, np.ones(len(added))))
                calmed = level((both, maps, aims, loads), damping, here, within, active[k, 1])
                if calmed[0] <= BOUNDED:
                    status, now, reduced, step, held = calmed
        found = now
        if last or basis.shape[1] == 0:
            break
        basis, offset = narrow(reduced[: end - begin], held, basis, offset, step)
        at = bounded_values(drive, cone, found)
        low, high = np.minimum(low, at), np.maximum(high, at)
    return first, found


def level(
    rows: Rows, damping: Damping, motions: Motions, bounds: Bounds, active: NDArray[np.int8]
) -> tuple[int, Array, Array, Array, Array]:
    """Return how a level ended; x, (nv + constraints,); A, z and the rows of bounds that count, see `narrow`.

    Args:
        rows, damping, motions: see `optimum`.
        bounds, active: see `least_norm`.
    """
    start, basis, offset = motions
    drive, cone, low, high = bounds
    if basis.shape[1] == 0:
        at = bounded_values(drive, cone, start)
        fits = np.all(at >= low - FEASIBLE) and np.all(at <= high + FEASIBLE)
        return FREE if fits else NO_SOLUTION, start, basis[:0], offset, basis[:0]
    tasks, missing, step, root = optimum(rows, damping, motions)
    found = start + np.dot(basis, step)
    at = bounded_values(drive, cone, found)
    if not math.isfinite(np.sum(missing) + np.sum(at)):
        return NOT_FINITE, found, tasks, step, tasks[:0]
    if np.all(at >= low - FEASIBLE) and np.all(at <= high + FEASIBLE):
        active[:] = 0
        return FREE, found, tasks, step, tasks[:0]
    kept, further, held = least_norm(found, basis, root, bounds, active)
    if not kept:
        return NO_SOLUTION, found, tasks, step, held
    return BOUNDED, found + np.dot(basis, further), tasks, step + further, held
