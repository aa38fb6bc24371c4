"""What gives way where a problem has no solution: limits, then constraints, then tasks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array
from pliant.controllers.task_space import levels, outcome, reduction
from pliant.controllers.task_space.least_norm import INFINITE, bound_rows, bounded_values, least_norm
from pliant.controllers.task_space.problem import Problem, Solution, Status

_ALL_MOTION = 1e-5
"""Weight of all motion beside 1 of what gives way."""


class Free(NamedTuple):
    """Motions x = found + B·z, see `reduction`."""

    found: Array
    basis: Array
    offset: Array


class NoSolutionError(Exception):
    """There is none, or none was found."""


def relaxed(
    problem: Problem,
    drive: Array,
    free: Free,
    low: Array,
    high: Array,
    feasible: bool,
    active: NDArray[np.int8],
) -> tuple[Free, Array, Array]:
    """Return the motions with the least sum of squares of what limits of u̇ are passed by, and bounds for them.

    Args:
        problem: the instant.
        drive: see `reduction.eliminate`.
        free: all motions that are left.
        low, high: see `outcome.limits`.
        feasible: whether the one found so far keeps torques and cones.
        active: bounds that were met the last time, (bounds,), see `least_norm`.

    Raises:
        NoSolutionError: torques and cones cannot be kept, and none is known that keeps them.
    """
    drives, nv = len(problem.actuated), len(problem.bias)
    limited = drives + np.flatnonzero(
        (low[drives : drives + nv] > -INFINITE) | (high[drives : drives + nv] < INFINITE)
    )
    rows, at = compiled(bound_rows)(drive, problem.cone, free.basis), _values(problem, drive, free.found)
    slack = np.zeros((len(low), len(limited)))
    slack[limited, np.arange(len(limited))] = 1.0
    both, own = np.hstack([slack, rows]), len(limited)  # what costs most comes first, as in R of a level
    width = both.shape[1]
    down, up = np.where(low > -INFINITE, low - at, low), np.where(high < INFINITE, high - at, high)
    found, step, held = compiled(least_norm)(
        np.zeros(width),
        np.eye(width),
        np.diag(np.where(np.arange(width) < own, 1.0, _ALL_MOTION)),
        (both, np.zeros((0, width)), down, up),
        active,
    )
    if not found:
        if not feasible:
            raise NoSolutionError
        return free, np.minimum(low, at), np.maximum(high, at)
    moved = step[own:]
    kept, offset = compiled(reduction.narrow)(
        rows[:0], np.ascontiguousarray(held[:, own:]), free.basis, free.offset, moved
    )
    at += rows @ moved
    return Free(free.found + free.basis @ moved, kept, offset), np.minimum(low, at), np.maximum(high, at)


def slipping(
    problem: Problem, drive: Array, free: Free, low: Array, high: Array, active: NDArray[np.int8]
) -> tuple[Free, Array, Array]:
    """Return the motions whose accelerations of the constraints are nearest to those wanted, and bounds for them.

    Args:
        problem: the instant.
        drive: see `reduction.eliminate`.
        free: all motions of the robot without its constraints.
        low, high: see `outcome.limits`.
        active: bounds that were met the last time, (bounds,), see `least_norm`.

    Raises:
        NoSolutionError: torques and cones cannot be kept.
    """
    drives, nv = len(problem.actuated), len(problem.bias)
    rows, limits = len(problem.constraint_wanted), slice(drives, drives + nv)
    without = low.copy(), high.copy()
    without[0][limits], without[1][limits] = -INFINITE, INFINITE
    status, found, tasks, step, held = compiled(levels.level)(
        (problem.constraint, np.zeros((rows, rows)), problem.constraint_wanted, np.ones(rows)),
        (_ALL_MOTION, 0.0),
        tuple(free),
        (drive, problem.cone, *without),
        active,
    )
    if status > levels.BOUNDED:
        raise NoSolutionError
    at = _values(problem, drive, found)
    at[limits] = low[limits]  # those of u̇ stay as they are
    kept = compiled(reduction.narrow)(tasks[:rows], held, free.basis, free.offset, step)
    return Free(found, *kept), np.minimum(low, at), np.maximum(high, at)


def _values(problem: Problem, drive: Array, found: Array) -> Array:
    return np.array(compiled(bounded_values)(drive, problem.cone, found))


def nearest(constraint: Array, wanted: Array) -> Array:
    """Return the accelerations nearest to the wanted ones that all rows of a constraint can have together."""
    motion = np.linalg.lstsq(constraint, wanted, rcond=reduction.CONSTRAINT_RANK)[0]
    return np.asarray(constraint @ motion)


def brake(problem: Problem, passive: NDArray[np.int64], solution: Solution) -> None:
    """Write the torques nearest to those of braking; 0 where nothing finite says more."""
    solution.status = Status.BRAKING
    solution.force[:] = 0.0
    torque = np.zeros(len(problem.actuated))
    known = (problem.inertia, problem.bias, problem.constraint, problem.braking)
    usable = all(np.isfinite(array).all() for array in known)
    if usable:
        needed = problem.inertia @ problem.braking + problem.bias
        bearing = problem.constraint[:, passive].T
        solution.force[:] = np.linalg.lstsq(bearing, needed[passive], rcond=reduction.CONSTRAINT_RANK)[0]
        torque = (needed - problem.constraint.T @ solution.force)[problem.actuated]
    low, high = problem.torque_low, problem.torque_high
    torque = np.where(low <= high, np.clip(torque, low, high), 0.5 * (low + high))
    solution.torque[:] = np.where(np.isfinite(torque), torque, 0.0)
    solution.acceleration[:] = 0.0
    if usable:
        pushed = problem.constraint.T @ solution.force - problem.bias
        pushed[problem.actuated] += solution.torque
        solution.acceleration[:] = np.linalg.lstsq(problem.inertia, pushed, rcond=None)[0]
    residual = problem.jacobian @ solution.acceleration + problem.force_map @ solution.force - problem.wanted
    solution.residual[:] = np.where(np.isfinite(residual), residual, 0.0)
    mark = compiled(outcome.mark)
    mark(solution.torque, low, high, solution.torque_bound)
    mark(solution.acceleration, problem.acceleration_low, problem.acceleration_high, solution.acceleration_bound)
    mark(problem.cone @ solution.force, problem.cone_low, problem.cone_high, solution.cone_bound)
