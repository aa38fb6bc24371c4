"""One least squares of all tasks, whose levels differ by their weights."""

from collections.abc import Sequence

import numpy as np

from pliant.controllers.checks import finite_array, positive
from pliant.controllers.task_space.least_squares import LevelledSolver
from pliant.controllers.task_space.problem import Problem


class WeightedQP(LevelledSolver):
    """Minimises all tasks together under torque, acceleration and cone bounds.

        Σ_k weights_k·|w·(G·u̇ + F·λ − b)|² + regularisation·|u̇|² + force_regularisation·|λ|²

    Tasks that conflict share what can be had by their weights, so that none is done exactly: see `HierarchicalQP`.
    What is done when there is no solution is in `Status`.

    Args:
        problem: whose sizes are served.
        weights: of each of its levels, (levels,), above 0.
        regularisation: of u̇, 1 for a weight of 1: what the tasks leave free is as small as can be. 1e-6 is already
            a task of its own for light wrists.
        force_regularisation: of λ; spreads a load over several contacts. Forces are thousands of N: too much of it
            makes them small at the cost of light tasks, above all those of `Prescribed` joints.
        mass_weighted: whether |u̇|² is u̇ᵀ·M·u̇.

    Raises:
        ShapeError: not one weight a level.
        OutOfBoundsError: a weight or regularisation is not a finite number above 0, or that of λ below 1e-8 times
            that of u̇.
    """

    def __init__(
        self,
        problem: Problem,
        weights: Sequence[float],
        regularisation: float = 1e-10,
        force_regularisation: float = 1e-10,
        mass_weighted: bool = False,
    ) -> None:
        count = len(problem.levels) - 1
        given = finite_array("weights of levels", weights, (count,) if count else (0,))
        scale = np.sqrt([positive(f"weight of level {k}", weight) for k, weight in enumerate(given)])
        rows = np.repeat(scale, np.diff(problem.levels))
        super().__init__(
            problem, (0, problem.levels[-1]), rows, regularisation, force_regularisation, mass_weighted
        )
