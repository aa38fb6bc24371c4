"""Operators of a task, to be composed: its Jacobian, inertia, null space and bias forces.

    tool = TaskOperators(mechanics, mechanics.jacobian(mechanics.frame("tcp"))[:3], drift)
    torque = tool.jacobian.T @ (tool.inertia @ wanted + tool.mu + tool.p) + tool.null_space.T @ mechanics.gravity

An operator is applied to vectors or matrices with `@`, in as few products as it has factors, and has its `matrix`.
"""

from collections.abc import Callable
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.errors import ShapeError


class Operator:
    """A linear map, (rows, columns), that need not be written out.

    Args:
        shape: rows and columns.
        apply: from a matrix, (columns, k), to the product, (rows, k).
        transposed: likewise from (rows, k) to (columns, k).
    """

    def __init__(
        self, shape: tuple[int, int], apply: Callable[[Array], Array], transposed: Callable[[Array], Array]
    ) -> None:
        self.shape = shape
        self._apply, self._transposed = apply, transposed

    @property
    def T(self) -> "Operator":  # noqa: N802  as of an array
        """The transposed operator."""
        return Operator((self.shape[1], self.shape[0]), self._transposed, self._apply)

    @property
    def matrix(self) -> Array:
        """Written out, (rows, columns)."""
        return self._apply(np.eye(self.shape[1]))

    def __matmul__(self, other: ArrayLike) -> Array:
        """Return the product with a vector, (columns,), or a matrix, (columns, k).

        Raises:
            ShapeError: of another size.
        """
        array = np.asarray(other, dtype=np.float64)
        if array.ndim not in (1, 2) or array.shape[0] != self.shape[1]:
            raise ShapeError(f"an operator of shape {self.shape} is applied to an array of shape {array.shape}.")
        if array.ndim == 1:
            return self._apply(array[:, None])[:, 0]
        return self._apply(array)


class TaskOperators:
    """Operators of one task at one instant, below others or not.

        G* = G·N_prev,  L = (G*·M⁻¹·G*ᵀ)⁺,  Ḡ = M⁻¹·G*ᵀ·L,  N = N_prev·(1 − Ḡ·G*)
        μ = L·(G*·M⁻¹·c − Ġ·u),  p = L·G*·M⁻¹·g,  with c + g = h

    so that f = G*ᵀ·(L·ẍ* + μ + p) gives the task the acceleration ẍ*. M⁻¹ is applied by the sparse factors of the
    model's mass matrix, N in two thin products; neither is written out.

    They are those of the instant of the mechanics when they are made; make new ones after the next.

    Args:
        mechanics: of the robot.
        jacobian: G, (rows, nv).
        drift: Ġ·u, (rows,).
        above: operators of the level before; None: this is the first.
        rank: eigenvalues of A below this part of the largest count as 0.

    Source: Khatib 1987; Sentis and Khatib 2005; named as in Sherman and Seth's Simbody milestone report 21, 2014.
    """

    def __init__(
        self,
        mechanics: Mechanics,
        jacobian: ArrayLike,
        drift: ArrayLike | None = None,
        *,
        above: "TaskOperators | None" = None,
        rank: float = 1e-9,
    ) -> None:
        self.mechanics, self.above = mechanics, above
        own = finite_array("jacobian", jacobian, (None, mechanics.nv))
        self.drift = (
            np.zeros(len(own)) if drift is None else finite_array("drift", drift, (len(own),)).astype(np.float64)
        )
        """Ġ·u, (rows,)."""
        self._own = own
        self._reduced: Array = own if above is None else (above.null_space.T @ own.T).T
        mujoco.mj_factorM(mechanics.model, mechanics.data)
        self._solved = _solve(mechanics, self._reduced.T)
        self._inverse_inertia = self._reduced @ self._solved
        values, vectors = np.linalg.eigh(self._inverse_inertia)
        vectors = vectors[:, values > rank * values[-1]]
        values = values[values > rank * values[-1]]
        self._inertia: Array = (vectors / values) @ vectors.T
        self._bias = mechanics.bias.copy()
        self._gravity = mechanics.gravity.copy()

    @cached_property
    def jacobian(self) -> Operator:
        """G*, (rows, nv): what of the Jacobian the levels above leave."""
        return _dense(self._reduced)

    @cached_property
    def inertia(self) -> Operator:
        """L, (rows, rows): inertia as the task feels it, kg and kg·m²."""
        return _dense(self._inertia)

    @cached_property
    def inverse_inertia(self) -> Operator:
        """A = G*·M⁻¹·G*ᵀ, (rows, rows)."""
        return _dense(self._inverse_inertia)

    @cached_property
    def inverse(self) -> Operator:
        """Ḡ, (nv, rows): the dynamically consistent inverse of G*."""
        return Operator(
            self._reduced.shape[::-1],
            lambda x: self._solved @ (self._inertia @ x),
            lambda x: self._inertia @ (self._solved.T @ x),
        )

    @cached_property
    def null_space(self) -> Operator:
        """N, (nv, nv): what of a joint motion disturbs neither this task nor those above. Nᵀ takes torques."""
        nv = self.mechanics.nv

        def forwards(x: Array) -> Array:
            rest = x - self.inverse._apply(self._reduced @ x)
            return rest if self.above is None else self.above.null_space._apply(rest)

        def backwards(x: Array) -> Array:
            rest = x if self.above is None else self.above.null_space._transposed(x)
            return rest - self._reduced.T @ self.inverse._transposed(rest)

        return Operator((nv, nv), forwards, backwards)

    @cached_property
    def mu(self) -> Array:
        """μ, (rows,): Coriolis and centrifugal forces as the task feels them, N and N·m."""
        coriolis = self._bias - self._gravity
        found: Array = self._inertia @ (self._solved.T @ coriolis - self.drift)
        return found

    @cached_property
    def p(self) -> Array:
        """p, (rows,): gravity as the task feels it, N and N·m."""
        found: Array = self._inertia @ (self._solved.T @ self._gravity)
        return found


def _dense(matrix: Array) -> Operator:
    return Operator((matrix.shape[0], matrix.shape[1]), lambda x: matrix @ x, lambda x: matrix.T @ x)


def _solve(mechanics: Mechanics, columns: Array) -> Array:
    """M⁻¹ times columns, (nv, k)."""
    rows = np.ascontiguousarray(columns.T)
    found = np.empty_like(rows)
    mujoco.mj_solveM(mechanics.model, mechanics.data, found, rows)
    return found.T
