"""What gives way where a problem has no solution: limits, then constraints, then tasks."""

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array
from pliant.controllers.task_space import outcome, reduction
from pliant.controllers.task_space.levels import BoundedLeastNorm, Free, NoSolutionError, narrowed, solve_level
from pliant.controllers.task_space.problem import Problem, Solution, Status

_PULLS, _STILL = 4, 1e-9
"""Most repetitions of a search, and the square of the step at which it ends, relative to what is found."""
_ALL_MOTION = 1e-2
"""Weight of all motion beside 1 of what gives way; the repetitions take it out of the result."""


def relaxed(
    bounded: BoundedLeastNorm, problem: Problem, drive: Array, free: Free, low: Array, high: Array, feasible: bool
) -> tuple[Free, Array, Array]:
    """Return the motions with the least sum of squares of what limits of u̇ are passed by, and bounds for them.

    Args:
        bounded: for this search.
        problem: the instant.
        drive: see `reduction.eliminate`.
        free: all motions that are left.
        low, high: see `outcome.limits`.
        feasible: whether the one found so far keeps torques and cones.
    """
    drives, nv = len(problem.actuated), len(problem.bias)
    limited = drives + np.flatnonzero(
        (low[drives : drives + nv] > -reduction.INFINITE) | (high[drives : drives + nv] < reduction.INFINITE)
    )
    rows = compiled(reduction.bound_rows)(drive, problem.cone, free.basis)
    size = rows.shape[1]
    slack = np.zeros((len(low), len(limited)))
    slack[limited, np.arange(len(limited))] = 1.0
    everything = np.hstack([rows / _ALL_MOTION, slack])
    unlimited = low.copy(), high.copy()
    unlimited[0][limited], unlimited[1][limited] = -reduction.INFINITE, reduction.INFINITE
    step, at = np.zeros(size), compiled(reduction.bounded_values)(drive, problem.cone, free.found)
    if not feasible:
        down, up = compiled(reduction.gaps)(rows, at, *unlimited)
        bounded.solve(rows, down, up)  # whether there is any solution is told sooner without slack
    for k in range(_PULLS):
        down, up = compiled(reduction.gaps)(everything, at, low, high)
        try:
            y = bounded.solve(everything, down, up, same=k > 0)
        except NoSolutionError:
            if not feasible and not k:
                raise
            if not k:
                return free, np.minimum(low, at), np.maximum(high, at)
            break
        moved = y[:size] / _ALL_MOTION
        step, at = step + moved, at + rows @ moved
        if y[:size] @ y[:size] <= _STILL * y @ y:
            break
    found = free.found + free.basis @ step
    held = np.ascontiguousarray(bounded.held(everything)[:, :size])
    kept, offset = compiled(reduction.narrow)(rows[:0], held, np.eye(size), free.basis, free.offset, step)
    return Free(found, kept, offset), np.minimum(low, at), np.maximum(high, at)


def slipping(
    bounded: BoundedLeastNorm, problem: Problem, drive: Array, free: Free, low: Array, high: Array
) -> tuple[Free, Array, Array]:
    """Return the motions whose accelerations of the constraints are nearest to those wanted, and bounds for them.

    Args:
        bounded: for this search.
        problem: the instant.
        drive: see `reduction.eliminate`.
        free: all motions of the robot without its constraints.
        low, high: see `outcome.limits`.
    """
    drives, nv = len(problem.actuated), len(problem.bias)
    rows = len(problem.constraint_wanted)
    without = low.copy(), high.copy()
    without[0][drives : drives + nv], without[1][drives : drives + nv] = (
        -reduction.INFINITE,
        reduction.INFINITE,
    )
    now = solve_level(
        bounded,
        (problem.constraint, np.zeros((rows, rows)), problem.constraint_wanted, np.ones(rows), np.ones(rows)),
        (_ALL_MOTION**2, 0.0),
        (_ALL_MOTION, 1.0),
        _PULLS,
        (*free, drive, problem.cone),
        without,
    )
    at = compiled(reduction.bounded_values)(drive, problem.cone, now.found)
    at[drives : drives + nv] = low[drives : drives + nv]  # those of u̇ stay as they are
    return narrowed(bounded, now, free, rows), np.minimum(low, at), np.maximum(high, at)


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
