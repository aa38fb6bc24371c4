"""Strict levels of tasks, each the least squares of its own."""

import numpy as np

from pliant.controllers.task_space.least_squares import LevelledSolver
from pliant.controllers.task_space.problem import Problem


class HierarchicalQP(LevelledSolver):
    """Minimises one level of tasks after the other under torque, acceleration and cone bounds.

    A level takes only what all higher ones leave free: it changes none of their residuals, not even where they
    cannot be fulfilled. It needs no weights, but solves one QP or more for every level at which bounds bind, where
    `WeightedQP` solves one. A level that its bounds hold up is calmed, see `standstill`: out of reach a robot
    rests. Else singular postures are not damped other than by the bounds.
    What is done when there is no solution is in `Status`.

    Source: Kanoun, Lamiraux and Wieber 2011, "Kinematic control of redundant manipulators: generalizing the
    task-priority framework to inequality tasks"; Escande, Mansard and Wieber 2014, "Hierarchical quadratic
    programming".

    Args:
        problem: whose sizes are served.
        regularisation: of u̇, beside 1 for the tasks of every level: what tasks leave free is as small as can be.
        force_regularisation: of λ, likewise.
        mass_weighted: whether |u̇|² is u̇ᵀ·M·u̇.
        standing: speed up to which a level that can get no further is wholly calmed, m/s; from three times of it
            on it is left alone. 0: always.

    Raises:
        OutOfBoundsError: a regularisation is not a finite number above 0, or that of λ below 1e-8 times that of u̇;
            a speed below 0.
    """

    def __init__(
        self,
        problem: Problem,
        regularisation: float = 1e-10,
        force_regularisation: float = 1e-14,
        mass_weighted: bool = False,
        standing: float = 0.1,
    ) -> None:
        scale = np.ones(problem.levels[-1])
        super().__init__(
            problem, problem.levels, scale, regularisation, force_regularisation, mass_weighted, standing
        )
