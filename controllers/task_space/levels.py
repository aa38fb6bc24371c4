"""One level of least squares under bounds, and what it leaves to the next one."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array
from pliant.controllers.task_space import reduction
from pliant.errors import require_extra

_STILL = 1e-9
"""Step at which the repetitions of `reduction.pull` end, relative to 1 + the residual."""
_INACCURATE = 1e-5
"""Bounds that daqp says it could keep no better, rad/s², N·m or N."""


class Free(NamedTuple):
    """Motions x = found + B·z, see `reduction`."""

    found: Array
    basis: Array
    offset: Array


class Level(NamedTuple):
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
        held: Array = compiled(reduction.counting)(rows, self._multipliers)
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


def solve_level(
    bounded: BoundedLeastNorm,
    rows: tuple[Array, Array, Array, Array, Array],
    damping: tuple[float, float],
    uneven: tuple[float, ...],
    pulls: int,
    free: tuple[Array, Array, Array, Array, Array],
    limits: tuple[Array, Array],
) -> Level:
    """Return the optimum of a level within its bounds.

    Args:
        bounded: warm from the level's last instant.
        rows, damping, free, limits: arguments of `reduction.optimum`, in its order.
        uneven: of that too, tried in turn: daqp forms the products of its rows, and takes one for dependent on
            others below the square root of 3.7e-11.
        pulls: most repetitions of `reduction.pull`.

    Raises:
        NoSolutionError, NotFiniteError: see there.
    """
    for ratio in uneven:
        status, tasks, missing, step, found, root, among, down, up = compiled(reduction.optimum)(
            *rows, *damping, ratio, *free, *limits
        )
        if status == reduction.NOT_FINITE:
            raise NotFiniteError
        if status == reduction.SATISFIED:
            return Level(tasks, step, found, root, None)
        try:
            shift = bounded.solve(among, down, up)
        except NoSolutionError:
            continue
        proceed, arrive = compiled(reduction.proceed), compiled(reduction.arrive)
        basis, enough = free[1], _STILL**2 * (1.0 + missing @ missing)
        y = np.zeros_like(shift)
        arrive(y, shift, root, basis, step, found)
        for _ in range(pulls if status == reduction.INEXACT else 0):
            y, lower, upper = proceed(tasks, missing, step, root, among, y, down, up)
            try:
                shift = bounded.solve(among, lower, upper, same=True)
            except NoSolutionError:
                break
            if arrive(y, shift, root, basis, step, found) <= enough:
                break
        return Level(tasks, step, found, root, among)
    raise NoSolutionError


def narrowed(bounded: BoundedLeastNorm, level: Level, free: Free, own: int) -> Free:
    """Return the motions that leave what the own rows of a level have reached."""
    held = level.tasks[:0] if level.among is None else bounded.held(level.among)
    kept = compiled(reduction.narrow)(level.tasks[:own], held, level.root, free.basis, free.offset, level.step)
    return Free(level.found, *kept)
