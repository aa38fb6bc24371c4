"""Levels of least squares under bounds, one after the other."""

import math
from collections.abc import Sequence

import numpy as np

from pliant.actuators.compiled import compiled, share
from pliant.controllers.checks import Array, positive
from pliant.controllers.task_space import giving_way, levels, outcome, reduction
from pliant.controllers.task_space.giving_way import Free, NoSolutionError
from pliant.controllers.task_space.least_norm import FEASIBLE, bounded_values, least_norm
from pliant.controllers.task_space.problem import Problem, Solution, Status
from pliant.errors import ConfigurationError, check_bounds

_UNIT_FORCE = 0.01
"""How much a force counts beside an acceleration where they are measured together: 100 N as 1 rad/s²."""


class NotFiniteError(Exception):
    """Something that was given, or that followed from it, is not a finite number."""


class LevelledSolver:
    """Minimises one level of tasks after the other, each among the motions that leave the former ones as they are.

    A level minimises |s·w·(G·u̇ + F·λ − b)|² + ε·|x|² over its rows, s their scale and |x| the norm of `reduction`,
    with the robot's rows and the constraints as equalities and torques, accelerations and cones within bounds.
    What is done when that cannot be is in `Status`, how a level that can get no further is calmed in `standstill`.

    Args:
        problem: whose sizes are served.
        ends: where each level begins among the rows of tasks, and their number.
        scale: s by which the rows' own weights are multiplied, (rows,).
        regularisation: ε of u̇, above 0.
        force_regularisation: ε of λ, from 1e-8 times that of u̇ on.
        mass_weighted: whether |u̇|² is u̇ᵀ·M·u̇.
        standing: speed of a level up to which it is calmed, m/s; 0: none is.

    Raises:
        OutOfBoundsError: a regularisation is outside of that, or a speed below 0.
    """

    _compiled = False
    """Whether all is compiled that any instant may need."""

    def __init__(
        self,
        problem: Problem,
        ends: Sequence[int],
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
        self._ends, self._scale = np.array(ends if len(ends) > 1 else (0, 0)), scale
        self._passive = np.setdiff1d(np.arange(self._sizes[0]), problem.actuated).astype(np.int64)
        self._solution = Solution(problem)
        bounds = len(problem.actuated) + len(problem.bias) + len(problem.cone)
        self._active = np.zeros((len(self._ends) - 1, 2, bounds), dtype=np.int8)
        self._limits, self._slips, self._slipped = np.zeros((3, bounds), dtype=np.int8)
        """Bounds that were met: by levels, see `levels.solve_levels`, and by what gives way, see `giving_way`."""
        if not LevelledSolver._compiled:
            LevelledSolver._compiled = True
            _compile_all()

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
        if misfit > FEASIBLE:
            free, drive, _ = self._eliminated(problem, giving_way.nearest(problem.constraint, wanted))
        try:
            return self._tasks(problem, drive, free, low, high), drive
        except NoSolutionError:
            pass
        try:
            free, low, high = giving_way.relaxed(problem, drive, free, low, high, False, self._limits)
        except NoSolutionError:
            free, _, _ = self._eliminated(problem, None)
            free, low, high = giving_way.slipping(problem, drive, free, low, high, self._slips)
            free, low, high = giving_way.relaxed(problem, drive, free, low, high, True, self._slipped)
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
        status, found = compiled(levels.solve_levels)(
            (problem.jacobian, problem.force_map, problem.wanted, problem.weight),
            self._scale,
            problem.scale,
            problem.braking,
            self._ends,
            self._damping,
            self._standing,
            problem.rest,
            tuple(free),
            (drive, problem.cone, low, high),
            self._active,
        )
        if status == levels.NOT_FINITE:
            raise NotFiniteError
        if status == levels.NO_SOLUTION:
            raise NoSolutionError
        return np.asarray(found)

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


def _compile_all() -> None:
    """Solve what no drive can hold, then what is no number: the machine code of all that may be needed is there.

    A machine on its way could not wait for it where it is needed first.
    """
    for function in (bounded_values, reduction.narrow, least_norm, levels.level):  # each calls those before it
        share(function)
    problem = Problem(np.array([0]), 2, 1, 2, (0, 1))  # a drive, and 12 N on a bearing that bears 9 N
    problem.torque_low[:], problem.torque_high[:] = -1.0, 1.0
    problem.bias[1], problem.constraint[0, 1], problem.jacobian[0, 0] = 12.0, 1.0, 1.0
    problem.cone[:, 0], problem.cone_high[0] = (1.0, -1.0), 9.0
    solver = LevelledSolver(problem, problem.levels, np.ones(1), 1e-6, 1e-6, False)
    solver.solve(problem)
    problem.bias[0] = math.nan
    solver.solve(problem)


def _sizes(problem: Problem) -> tuple[int, int, int, int, int]:
    cones, constraints = problem.cone.shape
    return len(problem.bias), len(problem.actuated), constraints, cones, problem.levels[-1]
