"""Limits of joints as bounds of their accelerations, so that neither speed nor position passes its own."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, number_array
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds


class JointLimits:
    """Bounds of u̇ that keep speeds and positions of a robot's joints.

        v_high = min(v_max, (q_max − q)/window),    u̇ ≤ (v_high − u)/(window/4)

    and likewise below. On the bound a joint creeps up to its end like a critically damped spring of the time
    constant window/2, and does not pass it; a joint beyond one comes back so. With a short window it brakes hard
    and late: below 0.2 s a standing humanoid loses its footing.

    Args:
        mechanics: of the robot.
        position: smallest and largest, (joints, 2), rad or m; None: the model's ranges, of joints that have one.
        speed: largest, (joints,), rad/s or m/s, infinite where there is none; None: none.
        acceleration: likewise, rad/s² or m/s².
        margin: by which positions stay inside their ranges, rad or m.
        window: s.

    Raises:
        ShapeError, OutOfBoundsError: numbers that cannot be.
        ConfigurationError: a range that is empty.
    """

    def __init__(
        self,
        mechanics: Mechanics,
        *,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        margin: float = 0.0,
        window: float = 0.2,
    ) -> None:
        count = len(mechanics.joints)
        check_bounds("limits: margin", margin, 0.0, 1.0)
        self.window = check_bounds("limits: window", window, 1e-3, 10.0, "s")
        ranges = _ranges(mechanics) if position is None else _pairs(position, count)
        self.low, self.high = ranges[:, 0] + margin, ranges[:, 1] - margin
        """Of positions, (joints,), infinite where there is none."""
        for name, low, high in zip(mechanics.joints, self.low, self.high, strict=True):
            if not low < high:
                raise ConfigurationError(f"limits: joint {name!r} has no range: {low:g} … {high:g}.")
        self.speed = _largest("limits: speed", speed, count)
        self.acceleration = _largest("limits: acceleration", acceleration, count)
        self._dofs = mechanics.dofs
        self._mechanics = mechanics

    def apply(self, low: Array, high: Array) -> None:
        """Write the bounds of u̇ at the mechanics' instant into arrays of all degrees of freedom, (nv,)."""
        m = self._mechanics
        compiled(_bounds)(
            m.q, m.u, self.low, self.high, self.speed, self.acceleration, self.window, self._dofs, low, high
        )


def _bounds(
    q: Array, u: Array, low: Array, high: Array, speed: Array, most: Array, window: float, dofs: Array,
    lower: Array, upper: Array,
) -> None:  # fmt: skip
    quick = 0.25 * window
    for i in range(len(q)):
        most_up = min(max((high[i] - q[i]) / window, -speed[i]), speed[i])
        most_down = max(min((low[i] - q[i]) / window, speed[i]), -speed[i])
        above, below = (most_up - u[i]) / quick, (most_down - u[i]) / quick
        above, below = min(above, most[i]), max(below, -most[i])
        if below > above:  # one cannot be kept: braking at most
            below = above = min(max(-u[i] / quick, -most[i]), most[i])
        dof = dofs[i]
        upper[dof] = above if above < 1e6 else math.inf
        lower[dof] = below if below > -1e6 else -math.inf


def _ranges(mechanics: Mechanics) -> Array:
    model = mechanics.model
    found = np.empty((len(mechanics.joints), 2))
    for row, name in zip(found, mechanics.joints, strict=True):
        joint = model.joint(name).id
        row[:] = model.jnt_range[joint] if model.jnt_limited[joint] else (-math.inf, math.inf)
    return found


def _pairs(position: ArrayLike, count: int) -> Array:
    found = number_array("limits: position", position)
    if found.shape != (count, 2) or np.isnan(found).any():
        raise OutOfBoundsError(f"limits: position has shape {found.shape}; ({count}, 2) numbers are needed.")
    return found


def _largest(what: str, value: ArrayLike | None, count: int) -> Array:
    if value is None:
        return np.full(count, math.inf)
    given = number_array(what, value)
    if given.shape not in ((), (count,)):
        raise ShapeError(f"{what} has shape {given.shape}; a number, or one of each of {count} joints, is needed.")
    found = np.broadcast_to(given, (count,)).copy()
    if not (found > 0.0).all():
        raise OutOfBoundsError(f"{what} is {found.tolist()}; numbers above 0 are needed.")
    return found
