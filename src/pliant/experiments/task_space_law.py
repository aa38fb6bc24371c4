"""Task-space control as the milestone report writes it, without a solver: another way to the same torques."""

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller
from pliant.controllers.task_space import Mechanics, TaskOperators
from pliant.hardware.robot import State


class WrittenLaw(Controller):
    """A point of an arm goes to a target.

        τ = Jᵀ·(Λ·(K_P·e − K_D·ẋ) + μ + p) + Nᵀ·(g − c·D·u),   D = M or 1

    Args:
        mechanics: of the arm, all of whose joints are commanded torques in their order.
        frame: the point.
        target: m.
        stiffness: K_P, 1/s².
        damping: K_D, 1/s.
        null_damping: c, 1/s with D = M, N·m·s/rad with D = 1.
        mass_weighted: whether D is M.
        gravity: whether g, the weight, is carried in the null space.

    Source: Sherman and Seth, Simbody milestone report 21, 2014, and its example on a UR10.
    """

    def __init__(
        self,
        mechanics: Mechanics,
        frame: str,
        target: ArrayLike,
        stiffness: float,
        damping: float,
        *,
        null_damping: float,
        mass_weighted: bool = True,
        gravity: bool = True,
    ) -> None:
        self._mechanics, self._frame = mechanics, mechanics.frame(frame)
        self._target = finite_array("target", target, (3,))
        self._gains, self._null = (stiffness, damping), (null_damping, mass_weighted, gravity)

    def update(self, state: State, t: float) -> Array:
        """See `Controller`."""
        m = self._mechanics
        m.update(state.position, state.velocity)
        u = np.asarray(state.velocity)
        jacobian = m.jacobian(self._frame)[:3]
        tool = TaskOperators(m, jacobian, m.acceleration_drift(self._frame)[:3])
        stiffness, damping = self._gains
        wanted = stiffness * (self._target - m.pose(self._frame)[:3]) - damping * (jacobian @ u)
        factor, mass_weighted, gravity = self._null
        rest = -factor * (m.inertia @ u if mass_weighted else u)
        if gravity:
            rest = rest + m.gravity
        torque: Array = jacobian.T @ (tool.inertia @ wanted + tool.mu + tool.p) + tool.null_space.T @ rest
        return torque
