"""Joint-space feedback to torques: PID with gravity compensation, and computed torque around it.

An update takes about 0.1 ms, so that 1 kHz is easy. Angles rad, torques N·m.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, all_finite, finite_array, number_array, positive
from pliant.controllers.controller import Controller
from pliant.controllers.desired_motion import desired_motion
from pliant.controllers.trajectories import Trajectory
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, ShapeError
from pliant.hardware.robot import RobotInfo, State

Gain = float | Sequence[float] | Array
"""One number for all joints, or (joints,)."""


@dataclass(eq=False)
class JointPID(Controller):
    """Follows a joint trajectory: a spring and a damper to the desired motion, an integral, and the weight.

        τ = kp·e + z + kd·ė + g(q),   e = q_d − q,   ė = q̇_d − q̇,   ż = ki·e, |z| ≤ integral_limit

    ė is no difference of errors: it compares the measured speed with the trajectory's own velocity. So a move at
    constant speed is not dragged behind by kd·q̇, and a `Step`, whose velocity is zero throughout, causes no
    kick. (A joint's own low-level PID knows no reference speed and damps q̇ alone.)

    Without integral and compensation the joints rest at e = g(q)/kp; with the right compensation, or an integral
    whose limit exceeds |g|, at e = 0. On rigid joints any kp, kd > 0 are stable while the period is short against
    inertia/kd; an integral needs ki below about kp·kd/inertia.

    Source: Siciliano et al. 2009, Robotics, section 8.5.1, PD control with gravity compensation.

    Raises:
        ShapeError, OutOfBoundsError: gains of a wrong length, negative or not finite.
    """

    trajectory: Trajectory
    """What to follow. Its time is the `t` of `update`."""
    kp: Gain
    """N·m/rad, ≥ 0."""
    kd: Gain
    """N·m·s/rad, ≥ 0."""
    ki: Gain = 0.0
    """N·m/(rad·s), ≥ 0."""
    integral_limit: Gain = math.inf
    """Largest torque |z| of the integral, N·m, ≥ 0: bounds wind-up while a joint is held or saturated."""
    gravity: Callable[[Array], ArrayLike] | None = None
    """g: measured angles (joints,) -> torques (joints,) that hold the arm there; none by default."""
    _integral: Array = field(init=False, repr=False)
    _time: float | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        for name in ("kp", "kd", "ki", "integral_limit"):
            setattr(self, name, _gain(name, getattr(self, name), self.trajectory.joints))
        self._integral = np.zeros(self.trajectory.joints)

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError` unless the robot's commands are a torque for each joint of the trajectory.

        And `OutOfBoundsError` if the trajectory turns further than any joint does; see `desired_motion`.
        """
        joints, columns = self.trajectory.joints, info.command
        if not joints == len(info.joints) == len(columns):
            raise MismatchError(
                f"the controller of {joints} joint(s) does not fit the robot {info.name!r} with the joints "
                f"{', '.join(info.joints)} and the command {', '.join(info.command_names)}."
            )
        if wrong := [f"{channel.name} in {channel.unit}" for channel in columns if channel.unit != "N·m"]:
            raise MismatchError(
                f"the controller commands torques in N·m; the robot {info.name!r} takes {', '.join(wrong)}."
            )
        desired_motion(self.trajectory, info)

    def reset(self, state: State) -> None:
        """Begin again: forget the integral and the time. Raises as `update` does for a state that is no use."""
        self._measured(state)
        self._integral = np.zeros(self.trajectory.joints)
        self._time = None

    def update(self, state: State, t: float) -> Array:
        """Return the torques to command, (joints,), N·m.

        Args:
            state: what was read; its position and velocity are used.
            t: time since the start of the trajectory, s. The integral grows by ki·e times the time since the
                last update, so not at the first one.

        Raises:
            ShapeError: a state of another number of joints than the trajectory.
            OutOfBoundsError: a position or velocity that is not measured (NaN); a time before the last one.
        """
        position, velocity = self._measured(state)
        error = self.trajectory.position(t) - position
        error_rate = self.trajectory.velocity(t) - velocity
        integral = self._integral + self.ki * error * self._elapsed(t)
        self._integral = np.clip(integral, np.negative(self.integral_limit), self.integral_limit)
        torque = self.kp * error + self._integral + self.kd * error_rate
        if self.gravity is not None:
            torque = torque + finite_array("gravity compensation", self.gravity(position), torque.shape)
        return np.asarray(torque, dtype=np.float64)

    def _measured(self, state: State) -> tuple[Array, Array]:
        shape = (self.trajectory.joints,)
        return (
            finite_array("measured position", state.position, shape),
            finite_array("measured velocity", state.velocity, shape),
        )

    def _elapsed(self, t: float) -> float:
        last = t if self._time is None else self._time
        if t < last:
            raise OutOfBoundsError(f"time went back from {last:g} s to {t:g} s; reset the controller to restart.")
        self._time = float(t)
        return float(t) - last


@dataclass(eq=False)
class ComputedTorque(Controller):
    """Makes every joint a unit mass by the arm's inverse dynamics, and a PID accelerate it.

        τ = M(q)·a + C(q, q̇)·q̇ + g(q),   a = q̈_d + kp·e + z + kd·ė

    With the right model every joint obeys ë + kd·ė + kp·e = 0, decoupled, in any pose and at any speed: kp = ω²
    and kd = 2ζω place it. The gains of `feedback` are therefore in 1/s² and 1/s, its integral's limit in rad/s².
    q̈_d is the trajectory's velocity differentiated numerically; not for a `Recorded` trajectory, whose velocity
    jumps (`JointViaPoints` through the same samples is smooth). Not for soft joints, whose links the
    torques reach late.

    Source: Siciliano et al. 2009, Robotics, section 8.5.2, inverse dynamics control.
    """

    feedback: JointPID
    """Trajectory and gains; without gravity compensation, which the inverse dynamics hold already."""
    inverse_dynamics: Callable[[Array, Array, Array], ArrayLike]
    """Angles, speeds, accelerations (joints,) -> torques (joints,)."""
    step: float = 1e-3
    """Half the time over which the desired velocity is differentiated, s."""

    def __post_init__(self) -> None:
        if self.feedback.gravity is not None:
            raise ConfigurationError(
                "ComputedTorque: its inverse dynamics hold gravity already; leave the feedback's gravity out."
            )
        positive("ComputedTorque step", self.step, "s")

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, as `JointPID.check`."""
        self.feedback.check(info)

    def reset(self, state: State) -> None:
        """Begin again, as `JointPID.reset`."""
        self.feedback.reset(state)

    def update(self, state: State, t: float) -> Array:
        """Return the torques to command, (joints,), N·m. Arguments and errors as `JointPID.update`."""
        acceleration = self._desired_acceleration(t) + self.feedback.update(state, t)
        torque = self.inverse_dynamics(state.position, state.velocity, acceleration)
        return finite_array("inverse dynamics", torque, acceleration.shape)

    def _desired_acceleration(self, t: float) -> Array:
        trajectory = self.feedback.trajectory
        ends = np.clip([t - self.step, t + self.step], 0.0, trajectory.duration)  # no jump to rest in between
        before, after = trajectory.velocity(ends)
        width = ends[1] - ends[0]
        return np.asarray((after - before) / width if width > 0.0 else np.zeros_like(after), dtype=np.float64)


def _gain(name: str, value: Gain, joints: int) -> Array:
    """Return a gain as (joints,) numbers ≥ 0; only the integral's limit may be infinite."""
    what = f"JointPID {name}"
    gain = number_array(what, value)
    if gain.shape not in ((), (joints,)):
        raise ShapeError(f"{what} has shape {gain.shape}; () or ({joints},) is needed.")
    if name != "integral_limit":
        all_finite(what, gain)
    if not (gain >= 0.0).all():
        raise OutOfBoundsError(f"{what} has the entry {gain.min():g}; all must be ≥ 0.")
    return np.broadcast_to(gain, joints)
