"""Gravity compensation through the springs: where to set a soft joint so that its spring carries a torque.

A joint in mode 3 or 6 is commanded an equilibrium, and its link hangs below it by what the spring yields.
Commanded the equilibrium found here instead, the link rests where it should, as soft as before. Nothing is
measured: this is feed-forward, as good as the model of spring and mass.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import Compliance
from pliant.actuators.laws.qbmove import qbmove
from pliant.controllers.checks import Array, finite_array
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError


class GravityTorque:
    """Torques g(q) that hold an arm still against gravity, as a function of its angles; `JointPID` takes it too.

    Raises:
        ConfigurationError: the model has a free or ball joint; it must be the arm alone.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        if model.nq != model.nv:
            raise ConfigurationError(
                "gravity torques are for hinges and slides; the model has a free or ball joint."
            )
        self._model, self._data = model, mujoco.MjData(model)

    def __call__(self, position: ArrayLike) -> Array:
        """Return g(q), (joints,), N·m. Raises `ShapeError` or `OutOfBoundsError` for angles that are no use."""
        self._data.qpos[:] = finite_array("position", position, (self._model.nq,))
        torque = np.empty(self._model.nv)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_comVel(self._model, self._data)
        mujoco.mj_rne(self._model, self._data, 0, torque)
        return torque


def spring_equilibrium(law: Compliance, position: float, torque: float, preset: float = 0.0) -> float:
    """Return the equilibrium θeq at which the springs put `torque` on the link at `position`, rad.

    The θeq that solves Σᵢ τᵢ(q, θ1, θ2) = τ with (θ1, θ2) from the law's reference map. In closed form for a
    qbMove with equal springs, none of them saturated: θeq = q + asinh(τ/(2·k·cosh(a·θs)))/a; by root finding
    otherwise.

    Args:
        law: of the joint; its torque must not fall as the equilibrium rises.
        position: q, rad.
        torque: τ on the link, positive along +q, N·m.
        preset: stiffness preset θs, rad (m for a pivot).

    Raises:
        OutOfBoundsError: the springs cannot carry that torque, or a number is not finite.
    """
    q, load, setting = (
        float(v) for v in finite_array("position, torque and preset", (position, torque, preset), (3,))
    )
    deflection = _symmetric(law, load, setting)
    return q + (_root(law, q, load, setting) if deflection is None else deflection)


def holding_equilibria(
    laws: Sequence[Compliance], position: ArrayLike, torque: ArrayLike, preset: ArrayLike
) -> Array:
    """Return `spring_equilibrium` of every joint of an arm, (joints,), rad.

    Args:
        laws: one per joint.
        position: (joints,), rad.
        torque: what the springs are to carry, such as `GravityTorque` at `position`, (joints,), N·m.
        preset: one for all joints or (joints,), rad (m for a pivot).

    Raises:
        ShapeError: values of the wrong shape.
        OutOfBoundsError: as `spring_equilibrium`, with the joint's index.
    """
    q = finite_array("position", position, (len(laws),))
    load = finite_array("torque", torque, (len(laws),))
    setting = np.asarray(preset, dtype=np.float64)
    if setting.shape not in ((), q.shape):
        raise ShapeError(f"preset has shape {setting.shape}; () or {q.shape} is needed.")
    equilibria = np.empty(len(laws))
    rows = np.column_stack(np.broadcast_arrays(q, load, setting)).tolist()
    for i, (law, row) in enumerate(zip(laws, rows, strict=True)):
        try:
            equilibria[i] = spring_equilibrium(law, *row)
        except OutOfBoundsError as error:
            raise OutOfBoundsError(f"joint {i}: {error}") from error
    return equilibria


@dataclass(frozen=True, eq=False)
class SpringHolding:
    """Desired angles -> the equilibria at which the springs carry the arm's weight there, for `Setpoints`.

    Feed-forward of statics alone: right for motion that is slow against the joints' resonances. Errors as
    `holding_equilibria`.
    """

    laws: Sequence[Compliance]
    """One per joint."""
    gravity: Callable[[Array], ArrayLike]
    """g: angles (joints,), rad -> torques that hold the arm there, (joints,), N·m, such as `GravityTorque`."""
    preset: float | Sequence[float] = 0.0
    """Of all joints, or one each, rad (m for a pivot)."""

    def __call__(self, position: ArrayLike) -> Array:
        """Return the equilibria, (joints,), rad."""
        q = finite_array("position", position, (len(self.laws),))
        return holding_equilibria(self.laws, q, self.gravity(q), self.preset)


def _symmetric(law: Compliance, torque: float, preset: float) -> float | None:
    """Deflection θeq − q of a qbMove with equal springs; None for other laws and for a saturated spring."""
    if law.law is not qbmove:
        return None
    k1, a1, k2, a2, limit = law.values
    if k1 != k2 or a1 != a2:
        return None
    deflection = math.asinh(torque / (2.0 * k1 * math.cosh(a1 * preset))) / a1
    return deflection if abs(deflection) + abs(preset) <= limit else None


def _root(law: Compliance, position: float, torque: float, preset: float) -> float:
    """Deflection θeq − q by root finding."""
    from scipy.optimize import brentq

    def excess(deflection: float) -> float:
        return law.torque(position, *law.references(position + deflection, preset)) - torque

    spread = 0.0 if law.law.pivot else max(map(abs, law.references(0.0, preset)))
    reach = law.max_deflection + spread
    low, high = excess(-reach) + torque, excess(reach) + torque
    if not low <= torque <= high:
        raise OutOfBoundsError(
            f"the springs of law {law.law.name!r} at preset {preset:g} carry {low:.4g} to {high:.4g} N·m; "
            f"{torque:.4g} N·m is asked of them. Choose another posture or a lighter load."
        )
    return float(brentq(excess, -reach, reach, xtol=1e-14))
