"""Forces that a frame is to exert on its surroundings, beside the tasks that move the robot."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.poses import matrix
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.controllers.task_space.tasks import AXES, WORLD, Gain, gains, selected_axes
from pliant.errors import ShapeError, check_bounds
from pliant.hardware.force_torque.conditioning import WrenchConditioning
from pliant.hardware.force_torque.wrench import in_frame

_MOST: Final = 1e5
"""Of a force or torque, N or N·m."""


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
        given = finite_array(f"force of {frame!r}: wrench", wrench, (None,))
        if len(given) != count:
            raise ShapeError(f"force of {frame!r}: {len(given)} numbers for {count} axes.")
        for number in given:
            check_bounds(f"force of {frame!r}: wrench", number, -_MOST, _MOST)
        self.target = given.copy()
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
