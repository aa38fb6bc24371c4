"""Forces on the surroundings: exerted beside the tasks that move the robot, or wanted of a contact as a task."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.poses import matrix
from pliant.controllers.task_space.contacts import Constraint, Prescribed
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.controllers.task_space.tasks import AXES, OWN, WORLD, Gain, Task, gains, selected_axes
from pliant.errors import ConfigurationError, ShapeError, check_bounds
from pliant.hardware.force_torque.conditioning import WrenchConditioning
from pliant.hardware.force_torque.wrench import in_frame

_MOST: Final = 1e5
"""Of a force or torque, N or N·m."""
_UNIT: Final = 0.01
"""What 1 N or N·m counts as beside accelerations, m/s²: as the solvers measure forces."""


class ForceTask:
    """A frame exerts a force on its surroundings along some axes.

        h ← h + Jᵀ·f,    f = f_r + K_I·∫(f_r − f_m)·dt

    f_r goes to what is wanted at a limited rate, f_m is what is measured. The forces stand among the robot's bias
    forces, so that every solver of torques takes them. Without surroundings nothing holds against them: along an
    axis that a motion task damps by K_D the frame then moves at f/(Λ·K_D), Λ the inertia that it has there.

    A motion task with stiffness along the same axes works against the force: leave these axes out there, or set
    their stiffness to 0.

    Args:
        frame: name of a site or body; the force acts at its origin.
        wrench: wanted, N and N·m: a number for each of the axes.
        relative_to: site or body whose axes they are.
        axes: some of x, y, z, rx, ry, rz.
        rate: largest change of f_r, N/s and N·m/s, of all axes or each.
        gain: K_I, 1/s; 0: nothing is fed back.
        correction: largest part that the feedback adds, N and N·m, of all axes or each.

    Raises:
        UnknownNameError: no such axis.
        ShapeError, OutOfBoundsError: numbers that cannot be.
    """

    def __init__(
        self,
        frame: str,
        wrench: ArrayLike,
        *,
        relative_to: str = WORLD,
        axes: Sequence[str] = AXES[:3],
        rate: Gain = 100.0,
        gain: float = 0.0,
        correction: Gain = 20.0,
    ) -> None:
        self.frame, self.relative_to = frame, relative_to
        self.axes = selected_axes(axes)
        count = len(self.axes)
        self.target = _wrench(f"force of {frame!r}", wrench, count)
        """What is wanted, (axes,), N and N·m; may be written at any time."""
        self.rate = gains(f"force of {frame!r}: rate", rate, count)
        self.gain = check_bounds(f"force of {frame!r}: gain", gain, 0.0, 1e3, "1/s")
        self.correction = gains(f"force of {frame!r}: correction", correction, count)
        self.measured = np.full(6, math.nan)
        """What the frame exerts as a sensor tells it, (6,), in those axes; NaN: nothing is fed back."""
        self._wanted, self._fed_back = np.zeros(count), np.zeros(count)
        self._chosen = list(self.axes)

    @property
    def wanted(self) -> Array:
        """f_r, (axes,): what is wanted by now."""
        return self._wanted.copy()

    @property
    def wrench(self) -> Array:
        """F, (6,), in the axes of `relative_to`, N and N·m."""
        found = np.zeros(6)
        found[self._chosen] = self._wanted + self._fed_back
        return found

    def reset(self) -> None:
        """Begin without a force."""
        self._wanted[:] = self._fed_back[:] = 0.0
        self.measured[:] = math.nan

    def bind(self, mechanics: Mechanics) -> None:
        """Take the robot; raise `UnknownNameError` if it lacks a frame."""
        self._own, self._other = mechanics.frame(self.frame), mechanics.frame(self.relative_to)

    def advance(self, period: float) -> None:
        """Let a time pass, s: f_r goes on, and what is missing is fed back."""
        way = self.target - self._wanted
        most = self.rate * period
        self._wanted += np.clip(way, -most, most)
        measured = self.measured[self._chosen]
        if self.gain > 0.0 and np.isfinite(measured).all():
            self._fed_back += self.gain * period * (self._wanted - measured)
            np.clip(self._fed_back, -self.correction, self.correction, out=self._fed_back)

    def in_world(self, mechanics: Mechanics) -> tuple[Array, Array]:
        """Return where the force acts, (3,), m, and F in the world's axes, (6,), at the mechanics' instant."""
        axes = matrix(mechanics.pose(self._other)[3:])
        force = self.wrench
        return mechanics.pose(self._own)[:3], np.concatenate([axes @ force[:3], axes @ force[3:]])

    def add(self, mechanics: Mechanics, bias: Array) -> None:
        """Add Jᵀ·f at the mechanics' instant to bias forces, (nv,)."""
        bias += mechanics.jacobian(self._own).T @ self.in_world(mechanics)[1]


class ContactForceTask(Task):
    """A constraint bears a force: a foot a part of the weight, a hand that touches a wall a push.

        F·λ = f,    f goes from what is borne when it begins to what is wanted, at a rate

    λ are the forces of the constraint on the robot, in its axes: of a contact, z pushes the robot off. They come
    level by level with motions, and a contact's bounds go before. While the constraint is off, the task is. It is
    the model's force: no sensor is fed back. `Recursion` has no such tasks.

    Args:
        constraint: name of a weld or contact of the stack.
        wrench: wanted, N and N·m: a number for each of the axes; `target` may be written at any time.
        axes: some of x, y, z, rx, ry, rz, those of the constraint.
        rate: largest change of f, N/s and N·m/s, of all axes or each.
        level: see `Task`.
        weight: of the squared error within its level, N² or (N·m)²: 1e-4 makes 100 N count as 1 m/s².

    Raises:
        UnknownNameError: no such axis.
        ShapeError, OutOfBoundsError: numbers that cannot be.
    """

    def __init__(
        self,
        constraint: str,
        wrench: ArrayLike,
        *,
        axes: Sequence[str] = ("z",),
        rate: Gain = 500.0,
        level: int = 1,
        weight: float = _UNIT**2,
    ) -> None:
        chosen = selected_axes(axes)
        count = len(chosen)
        super().__init__(OWN, count, count, count, 0.0, 0.0, level, weight)
        self.constraint = constraint
        self.target[:] = _wrench(f"force of {constraint!r}", wrench, count)
        self.rate_of_change = gains(f"force of {constraint!r}: rate", rate, count)
        self._chosen = chosen
        self._wanted = np.full(count, math.nan)

    @property
    def wanted(self) -> Array:
        """f, (axes,), by now, N and N·m; NaN before anything is borne."""
        return self._wanted.copy()

    @property
    def lacking(self) -> bool:
        """Whether the constraint should bear what is wanted by now, and does not by 2 % and 1 N (or N·m)."""
        missing = float(np.linalg.norm(self.error))
        return bool((self._wanted == self.target).all()) and missing > max(
            1.0, 0.02 * float(np.linalg.norm(self.target))
        )

    def rows_of(self, constraint: Constraint | Prescribed) -> list[int]:
        """Return which of the forces of a constraint it is about.

        Raises:
            ConfigurationError: the constraint does not hold these axes.
        """
        held = list(getattr(constraint, "axes", ()))
        if not set(self._chosen) <= set(held):
            names = [AXES[k] for k in self._chosen if k not in held]
            has = ", ".join(AXES[k] for k in held) or "none"
            raise ConfigurationError(
                f"force of {self.constraint!r}: that does not hold {', '.join(names)}. Valid axes: {has}."
            )
        return [held.index(k) for k in self._chosen]

    def advance(self, period: float, borne: Array | None) -> bool:
        """Let a time pass, s; return whether the task is on.

        Args:
            period: s.
            borne: λ of its axes at the last instant, (axes,); None: the constraint bears nothing yet, or is off.
        """
        if borne is None:
            self._wanted[:] = math.nan
            self.error[:] = 0.0
            return False
        begins = np.isnan(self._wanted)
        self._wanted[begins] = borne[begins]
        most = self.rate_of_change * period
        self._wanted += np.clip(self.target - self._wanted, -most, most)
        self.error[:] = self.target - borne
        return True

    def hold(self, mechanics: Mechanics) -> None:
        """Begin anew from what is borne; the target stays."""
        self._wanted[:] = math.nan
        self.error[:] = 0.0

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        return {}

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        return self.target

    def write(self, mechanics: Mechanics, jacobian: Array, wanted: Array, scale: Array) -> None:
        """See `Task`."""
        jacobian[:] = 0.0
        wanted[:] = np.nan_to_num(self._wanted)
        scale[:] = _UNIT


class MeasuredWrench:
    """What a frame exerts on its surroundings, by a force-torque sensor between it and the robot.

    Args:
        sensor: group of the signals, such as `wrist`.
        site: of the sensor in the controller's model, whose axes it measures along.
        conditioning: of the raw wrench.
    """

    def __init__(self, sensor: str, site: str, conditioning: WrenchConditioning) -> None:
        self.sensor, self.site, self.conditioning = sensor, site, conditioning

    def take(self, time: float, raw: Array, force: ForceTask, mechanics: Mechanics) -> str:
        """Tell a force task its wrench from a reading, (6,); returns the sensor's fault, empty if it has none."""
        sensor = mechanics.pose(mechanics.frame(self.site))
        turn = matrix(sensor[3:])
        contact, fault = self.conditioning.update(time, raw, turn)
        if fault:
            force.measured[:] = math.nan
            return fault
        axes = matrix(mechanics.pose(mechanics.frame(force.relative_to))[3:])
        frame = mechanics.pose(mechanics.frame(force.frame))
        force.measured[:] = in_frame(contact, axes.T @ turn, axes.T @ (sensor[:3] - frame[:3]))
        return ""


def _wrench(what: str, wrench: ArrayLike, count: int) -> Array:
    given = finite_array(f"{what}: wrench", wrench, (None,))
    if len(given) != count:
        raise ShapeError(f"{what}: {len(given)} numbers for {count} axes.")
    for number in given:
        check_bounds(f"{what}: wrench", number, -_MOST, _MOST)
    return given.copy()
