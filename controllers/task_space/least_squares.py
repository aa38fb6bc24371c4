"""Levels of least squares under bounds, one after the other."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, positive
from pliant.controllers.task_space import giving_way, outcome, reduction, standstill
from pliant.controllers.task_space.levels import (
    BoundedLeastNorm,
    Free,
    Level,
    NoSolutionError,
    NotFiniteError,
    narrowed,
    solve_level,
)
from pliant.controllers.task_space.problem import Problem, Solution, Status
from pliant.errors import ConfigurationError, check_bounds

_UNIT_FORCE = 0.01
"""How much a force counts beside an acceleration where they are measured together: 100 N as 1 rad/s²."""
_UNEVEN, _UNEVEN_LEVELS = (1e-5, 1e-2), (1e-3, 1e-1)
"""See `solve_level`: of a level alone, and of levels that leave motions to the next ones."""
_PULLS = 10
"""Most repetitions of `reduction.pull`."""

_Rows = tuple[Array, Array, Array, Array, Array]
_Instant = tuple[tuple[Array, Array, Array, Array, Array], tuple[Array, Array]]
"""See `solve_level`."""


class LevelledSolver:
    """Minimises one level of tasks after the other, each among the motions that leave the former ones as they are.

    A level minimises |s·w·(G·u̇ + F·λ − b)|² + ε·|x|² over its rows, s their scale and |x| the norm of `reduction`,
    with the robot's rows and the constraints as equalities and torques, accelerations and cones within bounds.
    What is done when that cannot be is in `Status`, how a level that can get no further is calmed in `standstill`.

    Args:
        problem: whose sizes are served.
        levels: where each level begins among the rows of tasks, and their number.
        scale: s by which the rows' own weights are multiplied, (rows,).
        regularisation: ε of u̇, above 0.
        force_regularisation: ε of λ, from 1e-8 times that of u̇ on.
        mass_weighted: whether |u̇|² is u̇ᵀ·M·u̇.
        standing: speed of a level up to which it is calmed, m/s; 0: none is.

    Raises:
        MissingExtraError: daqp is not installed.
        OutOfBoundsError: a regularisation is outside of that, or a speed below 0.
    """

    def __init__(
        self,
        problem: Problem,
        levels: Sequence[int],
        scale: Array,
        regularisation: float,
        force_regularisation: float,
        mass_weighted: bool,
        standing: float = 0.0,
    ) -> None:
        self._standing = check_bounds("standing", standing, 0.0, 1e3, "m/s")
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
        self._calmed = [BoundedLeastNorm() for _ in self._levels]
        self._aside = BoundedLeastNorm()
        """Of the search for what gives way."""

    def solve(self, problem: Problem) -> Solution:
        """Return the solution of this instant; it lives until the next call.

        Raises:
            ConfigurationError: the problem has other sizes than the one that the solver was made for.
        """
        if _sizes(problem) != self._sizes:
            raise ConfigurationError(
                f"The problem has the sizes {_sizes(problem)} (degrees of freedom, drives, constraints, "
                f"cone rows, rows of tasks); this solver was made for {self._sizes}."
            )
        with np.errstate(all="ignore"):
            try:
                found, drive = self._found(problem)
                self._write(problem, found, drive)
            except (NoSolutionError, NotFiniteError, np.linalg.LinAlgError):
                giving_way.brake(problem, self._passive, self._solution)
        return self._solution

    def _found(self, problem: Problem) -> tuple[Array, Array]:
        """Return x and the map from it to τ − h of the best that can be had."""
        low, high = self._bounds(problem)
        wanted = problem.constraint_wanted
        free, drive, misfit = self._eliminated(problem, wanted)
        if misfit > reduction.FEASIBLE:
            free, drive, _ = self._eliminated(problem, giving_way.nearest(problem.constraint, wanted))
        try:
            return self._tasks(problem, drive, free, low, high), drive
        except NoSolutionError:
            pass
        try:
            free, low, high = giving_way.relaxed(self._aside, problem, drive, free, low, high, feasible=False)
        except NoSolutionError:
            free, _, _ = self._eliminated(problem, None)
            free, low, high = giving_way.slipping(self._aside, problem, drive, free, low, high)
            free, low, high = giving_way.relaxed(self._aside, problem, drive, free, low, high, feasible=True)
        try:
            return self._tasks(problem, drive, free, low, high), drive
        except NoSolutionError:
            return free.found, drive

    def _bounds(self, problem: Problem) -> tuple[Array, Array]:
        """Return the bounds of (τ − h, u̇, C·λ); crossed ones of u̇ meet in their middle."""
        low, high, fit = compiled(outcome.limits)(
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

    def _eliminated(self, problem: Problem, wanted: Array | None) -> tuple[Free, Array, float]:
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
        return Free(start, basis, np.zeros(basis.shape[1])), drive, misfit

    def _tasks(self, problem: Problem, drive: Array, free: Free, low: Array, high: Array) -> Array:
        """Return x of the tasks, level by level."""
        stands = 0.0
        for k, level in enumerate(self._levels):
            bounded, last = self._bounded[k], k == len(self._levels) - 1
            wanted, rest = problem.wanted[level], last and problem.rest
            if rest and stands > 0.0:
                aim = compiled(standstill.resting)(problem.braking)
                wanted = wanted + stands * (problem.jacobian[level] @ aim - wanted)
            rows = (
                problem.jacobian[level],
                problem.force_map[level],
                wanted,
                problem.weight[level],
                self._scale[level],
            )
            instant = (*free, drive, problem.cone), (low, high)
            try:
                now = self._level(bounded, rows, instant)
            except NoSolutionError:
                if k == 0:
                    raise
                continue  # what the higher levels have reached is a solution
            if self._standing > 0.0 and now.among is not None and not rest:
                share, added = self._calming(problem, level, now)
                if share > 0.0:
                    stands = max(stands, share)
                    try:
                        now = self._level(self._calmed[k], _both(rows, added), instant)
                        bounded = self._calmed[k]
                    except NoSolutionError:
                        pass  # it is not calmed
            if last:
                return now.found
            free = narrowed(bounded, now, free, level.stop - level.start)
        return free.found

    def _level(self, bounded: BoundedLeastNorm, rows: _Rows, instant: _Instant) -> Level:
        uneven = _UNEVEN if len(self._levels) == 1 else _UNEVEN_LEVELS
        return solve_level(bounded, rows, self._damping, uneven, _PULLS, *instant)

    def _calming(self, problem: Problem, level: slice, now: Level) -> tuple[float, _Rows]:
        """Return how far a level stands, and the rows that calm it."""
        share, added, goals = compiled(standstill.calm)(
            problem.jacobian[level],
            problem.force_map[level],
            problem.wanted[level],
            problem.weight[level] * self._scale[level],
            problem.scale[level],
            problem.braking,
            now.found,
            self._standing,
        )
        ones = np.ones(len(goals))
        return share, (added, np.zeros((len(goals), self._sizes[2])), goals, ones, ones)

    def _write(self, problem: Problem, found: Array, drive: Array) -> None:
        """Write x into the solution."""
        solution = self._solution
        status = compiled(outcome.report)(
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


def _both(rows: _Rows, added: _Rows) -> _Rows:
    one, two, three, four, five = (np.concatenate(pair) for pair in zip(rows, added, strict=True))
    return one, two, three, four, five


def _sizes(problem: Problem) -> tuple[int, int, int, int, int]:
    cones, constraints = problem.cone.shape
    return len(problem.bias), len(problem.actuated), constraints, cones, problem.levels[-1]
