"""Levels of least squares under bounds, one after the other, and what is done when there is no solution."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, positive
from pliant.controllers.task_space import reduction
from pliant.controllers.task_space.problem import Problem, Solution, Status
from pliant.errors import ConfigurationError, check_bounds, require_extra

_UNIT_FORCE = 0.01
"""How much a force counts beside an acceleration where they are measured together: 100 N as 1 rad/s²."""
_PULLS, _STILL = 10, 1e-9
"""Most of `reduction.pull`, and the step at which they end, relative to 1 + the residual."""
_RELAXING_PULLS = 4
"""Most of them in the search for what must give way."""
_UNEVEN = (1e-5, 1e-2)
"""Directions of unlike weight that daqp is given, tried in turn: it forms the products of its rows, and takes one for
dependent on others below the square root of 3.7e-11."""
_UNEVEN_LEVELS = (1e-3, 1e-1)
"""Likewise where a level leaves motions to the next ones."""
_RELAXING = 1e-2
"""Likewise of what is relaxed and all other motion."""
_INACCURATE = 1e-5
"""Bounds that daqp says it could keep no better, rad/s², N·m or N."""
_COUNTING = 1e-7
"""How far a bound moves y for it to count, relative to 1 + the farthest that one does."""


class _Free(NamedTuple):
    """Motions x = found + B·z, see `reduction`."""

    found: Array
    basis: Array
    offset: Array


class _Level(NamedTuple):
    """Optimum of a level, see `reduction.optimum` and `reduction.narrow`."""

    tasks: Array
    step: Array
    found: Array
    root: Array
    among: Array | None
    """How what is bounded follows from y, if bounds count."""


class NoSolutionError(Exception):
    """There is none, or none was found."""


class NotFiniteError(Exception):
    """Something that was given, or that followed from it, is not a finite number."""


class BoundedLeastNorm:
    """Finds the least |y| with low ≤ rows·y ≤ high by daqp; begins with the bounds that were met the last time."""

    def __init__(self) -> None:
        self._daqp: Any = require_extra("daqp", "task-space", "a solver of task-space control")
        self._multipliers = np.zeros(0)
        self._models: dict[tuple[int, int], tuple[Any, NDArray[np.intc]]] = {}

    def solve(self, rows: Array, low: Array, high: Array, same: bool = False) -> Array:
        """Return y, (columns,).

        Args:
            rows: (bounds, columns).
            low, high: (bounds,) each.
            same: whether the rows are those of the last call.

        Raises:
            NoSolutionError: there is none, or none was found.
        """
        if rows.shape[1] == 0:
            if (low > reduction.FEASIBLE).any() or (high < -reduction.FEASIBLE).any():
                raise NoSolutionError
            self._multipliers = np.zeros(len(low))
            return np.zeros(0)
        model, sense = self._models.get(rows.shape) or self._add(rows)
        found = self._solve(model, rows, low, high, sense, same)
        if found is None and sense.any():
            sense[:] = 0
            found = self._solve(model, rows, low, high, sense, False)
        if found is None:
            raise NoSolutionError
        return found

    def held(self, rows: Array) -> Array:
        """Return the rows whose bounds count in the last solution."""
        shifts = np.abs(self._multipliers) * np.sqrt(np.einsum("ij,ij->i", rows, rows))
        held: Array = rows[shifts > _COUNTING * (1.0 + shifts.max())]
        return held

    def _solve(
        self, model: Any, rows: Array, low: Array, high: Array, sense: NDArray[np.intc], same: bool
    ) -> Array | None:
        if model.update(A=None if same else rows, bupper=high, blower=low, sense=sense) < 0:
            return None
        y, _, flag, info = model.solve()
        if flag not in (1, 4) or not math.isfinite(y @ y):
            return None
        if flag == 4 and max((rows @ y - high).max(), (low - rows @ y).max()) > _INACCURATE:
            return None
        self._multipliers = np.array(info["lam"])
        compiled(reduction.activate)(self._multipliers, sense)
        return np.array(y)

    def _add(self, rows: Array) -> tuple[Any, NDArray[np.intc]]:
        model, (count, size) = self._daqp.Model(), rows.shape
        # H is 1: no regularisation; rows may be short beside others; equalities are eliminated before
        model.settings = {"primal_tol": reduction.FEASIBLE, "zero_tol": 1e-24, "eps_prox": 0.0, "iter_limit": 1000}
        wide = np.full(count, reduction.INFINITE)
        model.setup(np.eye(size), np.zeros(size), rows, wide, -wide, np.zeros(count, dtype=np.intc))
        self._models[rows.shape] = model, np.zeros(count, dtype=np.intc)
        return self._models[rows.shape]


class LevelledSolver:
    """Minimises one level of tasks after the other, each among the motions that leave the former ones as they are.

    Level k minimises |s·(G·u̇ + F·λ − b)|² + ε·|x|² over its rows, s their scale and |x| the norm of `reduction`, with
    the robot's rows and the constraints as equalities and torques, accelerations and cones within bounds.
    What is done when that cannot be is in `Status`.

    Args:
        problem: whose sizes are served.
        levels: where each level begins among the rows of tasks, and their number.
        scale: s by which the rows' own weights are multiplied, (rows,).
        regularisation: ε of u̇, above 0.
        force_regularisation: ε of λ, from 1e-8 times that of u̇ on.
        mass_weighted: whether |u̇|² is u̇ᵀ·M·u̇.

    Raises:
        MissingExtraError: daqp is not installed.
        OutOfBoundsError: a regularisation is not above 0.
    """

    def __init__(
        self,
        problem: Problem,
        levels: Sequence[int],
        scale: Array,
        regularisation: float,
        force_regularisation: float,
        mass_weighted: bool,
    ) -> None:
        least = positive("regularisation", regularisation)
        forces = check_bounds("regularisation of forces", force_regularisation, 1e-8 * least, 1e8)
        self._ratio = min(_UNIT_FORCE, float(np.sqrt(forces / least)))
        self._damping = float(np.sqrt(least)), float(np.sqrt(max(forces - least * self._ratio**2, 0.0)))
        self._mass_weighted = bool(mass_weighted)
        self._sizes = _sizes(problem)
        self._levels = [slice(*ends) for ends in pairwise(levels)] or [slice(0, 0)]
        self._scale = scale
        self._passive = np.setdiff1d(np.arange(self._sizes[0]), problem.actuated).astype(np.int64)
        self._solution = Solution(problem)
        self._bounded = [BoundedLeastNorm() for _ in self._levels]
        self._aside = BoundedLeastNorm()
        """Of the search for what must be relaxed."""

    def solve(self, problem: Problem) -> Solution:
        """Return the solution of this instant; it lives until the next call.

        Raises:
            ConfigurationError: the problem has other sizes than the one that the solver was made for.
        """
        if _sizes(problem) != self._sizes:
            raise ConfigurationError(
                f"The problem has the sizes {_sizes(problem)} (degrees of freedom, drives, constraints, cone rows, rows "
                f"of tasks); this solver was made for {self._sizes}."
            )
        with np.errstate(all="ignore"):
            try:
                found, drive = self._found(problem)
                self._write(problem, found, drive)
            except (NoSolutionError, NotFiniteError, np.linalg.LinAlgError):
                self._brake(problem)
        return self._solution

    def _found(self, problem: Problem) -> tuple[Array, Array]:
        """Return x and the map from it to τ − h of the best that can be had."""
        low, high = self._bounds(problem)
        wanted = problem.constraint_wanted
        free, drive, misfit = self._eliminated(problem, wanted)
        if misfit > reduction.FEASIBLE:
            free, drive, _ = self._eliminated(problem, _nearest(problem.constraint, wanted))
        try:
            return self._tasks(problem, drive, free, low, high), drive
        except NoSolutionError:
            pass
        try:
            free, low, high = self._relaxed(problem, drive, free, low, high, feasible=False)
        except NoSolutionError:
            free, low, high = self._slipping(problem, drive, low, high)
            free, low, high = self._relaxed(problem, drive, free, low, high, feasible=True)
        try:
            return self._tasks(problem, drive, free, low, high), drive
        except NoSolutionError:
            return free.found, drive

    def _bounds(self, problem: Problem) -> tuple[Array, Array]:
        """Return the bounds of (τ − h, u̇, C·λ); crossed ones of u̇ meet in their middle."""
        low, high, fit = compiled(reduction.limits)(
            problem.actuated,
            problem.bias,
            problem.torque_low,
            problem.torque_high,
            problem.acceleration_low,
            problem.acceleration_high,
            problem.cone_low,
            problem.cone_high,
        )
        if not fit:
            nv, drives = self._sizes[:2]
            a, b = low[drives : drives + nv], high[drives : drives + nv]
            a[:], b[:] = np.where(a > b, 0.5 * (a + b), a), np.where(a > b, 0.5 * (a + b), b)
            if not (low <= high).all():
                raise NoSolutionError
        return low, high

    def _eliminated(self, problem: Problem, wanted: Array | None) -> tuple[_Free, Array, float]:
        """Return what `reduction.eliminate` does, with or without accelerations of the constraints."""
        start, basis, drive, misfit = compiled(reduction.eliminate)(
            problem.actuated,
            self._passive,
            problem.inertia,
            problem.bias,
            problem.constraint,
            problem.constraint_wanted if wanted is None else wanted,
            wanted is not None,
            self._mass_weighted,
            self._ratio,
        )
        if not math.isfinite(misfit):
            raise NotFiniteError
        return _Free(start, basis, np.zeros(basis.shape[1])), drive, misfit

    def _tasks(self, problem: Problem, drive: Array, free: _Free, low: Array, high: Array) -> Array:
        """Return x of the tasks, level by level."""
        for level, bounded in zip(self._levels, self._bounded, strict=True):
            try:
                now = _level(
                    bounded,
                    (
                        problem.jacobian[level],
                        problem.force_map[level],
                        problem.wanted[level],
                        problem.weight[level],
                        self._scale[level],
                    ),
                    self._damping,
                    _UNEVEN if len(self._levels) == 1 else _UNEVEN_LEVELS,
                    _PULLS,
                    (*free, drive, problem.cone),
                    (low, high),
                )
            except NoSolutionError:
                if level is self._levels[0]:
                    raise
                continue  # what the higher levels have reached is a solution
            if level is self._levels[-1]:
                return now.found
            free = _narrowed(bounded, now, free, level.stop - level.start)
        return free.found

    def _relaxed(
        self, problem: Problem, drive: Array, free: _Free, low: Array, high: Array, feasible: bool
    ) -> tuple[_Free, Array, Array]:
        """Return the motions with the least sum of squares of what limits of u̇ are passed by, and bounds for them.

        Args:
            problem: the instant.
            drive: see `reduction.eliminate`.
            free: all motions that are left.
            low, high: see `reduction.limits`.
            feasible: whether the one found so far keeps torques and cones.
        """
        nv, drives = self._sizes[:2]
        limited = drives + np.flatnonzero(
            (low[drives : drives + nv] > -reduction.INFINITE) | (high[drives : drives + nv] < reduction.INFINITE)
        )
        rows = compiled(reduction.bound_rows)(drive, problem.cone, free.basis)
        size = rows.shape[1]
        slack = np.zeros((len(low), len(limited)))
        slack[limited, np.arange(len(limited))] = 1.0
        everything = np.hstack([rows / _RELAXING, slack])
        unlimited = low.copy(), high.copy()
        unlimited[0][limited], unlimited[1][limited] = -reduction.INFINITE, reduction.INFINITE
        step, at = np.zeros(size), compiled(reduction.bounded_values)(drive, problem.cone, free.found)
        if not feasible:
            down, up = compiled(reduction.gaps)(rows, at, *unlimited)
            self._aside.solve(rows, down, up)  # whether there is any solution is told sooner without slack
        for k in range(_RELAXING_PULLS):
            down, up = compiled(reduction.gaps)(everything, at, low, high)
            try:
                y = self._aside.solve(everything, down, up, same=k > 0)
            except NoSolutionError:
                if not feasible and not k:
                    raise
                if not k:
                    return free, np.minimum(low, at), np.maximum(high, at)
                break
            moved = y[:size] / _RELAXING
            step, at = step + moved, at + rows @ moved
            if y[:size] @ y[:size] <= _STILL * y @ y:
                break
        found = free.found + free.basis @ step
        held = np.ascontiguousarray(self._aside.held(everything)[:, :size])
        kept, offset = compiled(reduction.narrow)(rows[:0], held, np.eye(size), free.basis, free.offset, step)
        return _Free(found, kept, offset), np.minimum(low, at), np.maximum(high, at)

    def _slipping(self, problem: Problem, drive: Array, low: Array, high: Array) -> tuple[_Free, Array, Array]:
        """Return the motions whose accelerations of the constraints are nearest to those wanted, and bounds for them."""
        free, _, _ = self._eliminated(problem, None)
        nv, drives = self._sizes[:2]
        rows = len(problem.constraint_wanted)
        without = low.copy(), high.copy()
        without[0][drives : drives + nv], without[1][drives : drives + nv] = (
            -reduction.INFINITE,
            reduction.INFINITE,
        )
        now = _level(
            self._aside,
            (problem.constraint, np.zeros((rows, rows)), problem.constraint_wanted, np.ones(rows), np.ones(rows)),
            (_RELAXING**2, 0.0),
            (_RELAXING, 1.0),
            _RELAXING_PULLS,
            (*free, drive, problem.cone),
            without,
        )
        at = compiled(reduction.bounded_values)(drive, problem.cone, now.found)
        at[drives : drives + nv] = low[drives : drives + nv]  # those of u̇ stay as they are
        return _narrowed(self._aside, now, free, rows), np.minimum(low, at), np.maximum(high, at)

    def _write(self, problem: Problem, found: Array, drive: Array) -> None:
        """Write x into the solution."""
        solution = self._solution
        status = compiled(reduction.report)(
            found,
            problem.actuated,
            problem.bias,
            problem.constraint,
            problem.constraint_wanted,
            drive,
            problem.jacobian,
            problem.force_map,
            problem.wanted,
            problem.cone,
            (
                problem.torque_low,
                problem.torque_high,
                problem.acceleration_low,
                problem.acceleration_high,
                problem.cone_low,
                problem.cone_high,
            ),
            (solution.acceleration, solution.torque, solution.force, solution.residual),
            (solution.torque_bound, solution.acceleration_bound, solution.cone_bound),
        )
        if status == Status.BRAKING:
            raise NotFiniteError
        solution.status = Status(status)

    def _brake(self, problem: Problem) -> None:
        """Write the torques nearest to those of braking; 0 where nothing finite says more."""
        solution = self._solution
        solution.status = Status.BRAKING
        solution.force[:] = 0.0
        torque = np.zeros(len(problem.actuated))
        known = (problem.inertia, problem.bias, problem.constraint, problem.braking)
        usable = all(np.isfinite(array).all() for array in known)
        if usable:
            needed = problem.inertia @ problem.braking + problem.bias
            bearing = problem.constraint[:, self._passive].T
            solution.force[:] = np.linalg.lstsq(bearing, needed[self._passive], rcond=reduction.CONSTRAINT_RANK)[0]
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
        mark = compiled(reduction.mark)
        mark(solution.torque, low, high, solution.torque_bound)
        mark(
            solution.acceleration, problem.acceleration_low, problem.acceleration_high, solution.acceleration_bound
        )
        mark(problem.cone @ solution.force, problem.cone_low, problem.cone_high, solution.cone_bound)


def _sizes(problem: Problem) -> tuple[int, int, int, int, int]:
    cones, constraints = problem.cone.shape
    return len(problem.bias), len(problem.actuated), constraints, cones, problem.levels[-1]


def _level(
    bounded: BoundedLeastNorm,
    rows: tuple[Array, Array, Array, Array, Array],
    damping: tuple[float, float],
    uneven: tuple[float, ...],
    pulls: int,
    free: tuple[Array, Array, Array, Array, Array],
    limits: tuple[Array, Array],
) -> _Level:
    """Return the optimum of a level within its bounds; arguments as of `reduction.optimum`."""
    for ratio in uneven:
        status, tasks, missing, step, found, root, among, down, up = compiled(reduction.optimum)(
            *rows, *damping, ratio, *free, *limits
        )
        if status == reduction.NOT_FINITE:
            raise NotFiniteError
        if status == reduction.SATISFIED:
            return _Level(tasks, step, found, root, None)
        try:
            shift = bounded.solve(among, down, up)
        except NoSolutionError:
            continue
        go, pull = compiled(reduction.go), compiled(reduction.pull)
        go(shift, root, free[1], step, found)
        y = shift
        for _ in range(pulls if status == reduction.INEXACT else 0):
            moved = among @ y
            down, up = down - moved, up - moved
            y = pull(tasks, missing, step, root)
            moved = among @ y
            try:
                shift = bounded.solve(among, down - moved, up - moved, same=True)
            except NoSolutionError:
                break
            y += shift
            go(y, root, free[1], step, found)
            if y @ y <= _STILL**2 * (1.0 + missing @ missing):
                break
        return _Level(tasks, step, found, root, among)
    raise NoSolutionError


def _narrowed(bounded: BoundedLeastNorm, level: _Level, free: _Free, own: int) -> _Free:
    """Return the motions that leave what the own rows of a level have reached."""
    held = level.tasks[:0] if level.among is None else bounded.held(level.among)
    kept = compiled(reduction.narrow)(level.tasks[:own], held, level.root, free.basis, free.offset, level.step)
    return _Free(level.found, *kept)


def _nearest(constraint: Array, wanted: Array) -> Array:
    """Return the accelerations nearest to the wanted ones that all rows of a constraint can have together."""
    motion = np.linalg.lstsq(constraint, wanted, rcond=reduction.CONSTRAINT_RANK)[0]
    return np.asarray(constraint @ motion)
