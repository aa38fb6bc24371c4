"""Learning laws of iterative learning control: from a trial's error to the next trial's command.

A law works in joint space on whole trials: `command`, `error` and `error_rate` are (n, joints), one row a
period, in rad and rad/s. It holds no state, so that a trial's command depends on the trial before and
nothing else. The loop around it is `pliant.controllers.learning`.

With a plant y = P·u + d and an update u⁺ = u + L·e, the error obeys e⁺ = (I − P·L)·e: it vanishes if the
spectral radius ρ(I − L·P) < 1, and shrinks in every trial (2-norm) if the largest singular value of
I − P·L is below 1. Bristow, Tharayil & Alleyne 2006, A survey of iterative learning control, theorems 1, 2.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import Array, all_finite, number_array, positive
from pliant.controllers.lifted import LiftedModel, coupled_response
from pliant.controllers.trajectories import check_samples
from pliant.errors import OutOfBoundsError, ShapeError, check_bounds
from pliant.files import plain

InputGain = float | Sequence[float] | Array | Callable[[Array, Array], ArrayLike]
"""A number, (joints,), (n, joints), or a function (command, error) -> one of these."""


class LearningLaw(ABC):
    """What every learning law does. A law of your own needs only `update`."""

    def initial(self, desired: Array) -> Array:
        """Return the command of the first trial: the desired motion itself, (n, joints)."""
        return np.array(desired)

    @abstractmethod
    def update(self, iteration: int, command: Array, error: Array, error_rate: Array) -> Array:
        """Return the command of trial number `iteration` (2, 3, …) from the trial before it.

        Args:
            iteration: number of the trial that the result is for; the first trial, 1, runs `initial`.
            command: what the trial before was given, (n, joints).
            error: desired minus measured position of the trial before, (n, joints), rad.
            error_rate: desired minus measured velocity of the trial before, (n, joints), rad/s.
        """

    def transfer(self, iteration: int, frequency: Array) -> NDArray[np.complexfloating] | None:
        """Return what the law makes of an error, L, for a forecast; None if it does not say.

        Args:
            iteration: number of the trial that the correction is for.
            frequency: (f,), Hz.

        Returns:
            (f, joints) or (f, 1): correction over error, rad per rad.
        """
        return None

    def identity(self) -> Mapping[str, object]:
        """Return the law's name and settings as plain data: equal for laws that learn alike.

        Arrays are told apart by a digest, functions only by their name.
        """
        return {"law": type(self).__name__, **{name: _identity(value) for name, value in vars(self).items()}}


@dataclass(frozen=True)
class PTypeILC(LearningLaw):
    """Proportional learning with a gain that fades from trial to trial.

    u(n) = u(n−1) + K(n)·e(n−1), K(n) = gain·exp(−n/decay); the units of u are those of e (rad).

    Converges where the static gain g = dq/du is near 1, so for moves that are slow against the joint's
    resonance: there e(n) = (1 − K(n)·g)·e(n−1), which shrinks for 0 < K(n)·g < 2. Since K fades, learning
    stops at about exp(−g·ΣK(n)) of the first error; with decay = inf it goes on, and any frequency at which
    |1 − gain·P| > 1 then grows. Not for fast moves: use `PDTypeILC` or `NormOptimalILC`.

    Source: Mengacci et al., ROS-Gazebo toolbox for articulated soft robots, the learning experiment.
    """

    gain: float = 0.5
    """K(0), rad per rad, > 0."""
    decay: float = 10.0
    """Trials in which the gain falls by a factor e, > 0; inf for a constant gain."""

    def __post_init__(self) -> None:
        positive("PTypeILC gain", self.gain)
        if self.decay != math.inf:
            positive("PTypeILC decay", self.decay, "trials")

    def update(self, iteration: int, command: Array, error: Array, error_rate: Array) -> Array:
        """Return u + K(iteration)·e, (n, joints)."""
        return command + self._gain(iteration) * error

    def transfer(self, iteration: int, frequency: Array) -> NDArray[np.complexfloating]:
        """Return K(iteration) at every frequency, (f, 1)."""
        return np.full((len(frequency), 1), self._gain(iteration), dtype=np.complex128)

    def _gain(self, iteration: int) -> float:
        return self.gain * math.exp(-iteration / self.decay)


@dataclass(frozen=True, eq=False)
class PDTypeILC(LearningLaw):
    """Proportional-derivative learning on the low-passed error of the joint's state (q, q̇).

    u⁺ = u + (Kp,off + Kp,on)·ē + (Kd,off + Kd,on)·ē̇, with the state error ē = (e, ė). Per joint:

        u⁺ = u + (kp + kp_online)·e + (kd + kd_online)·ė + (1 + epsilon)/B·ë,

    where B (1/s²) says how a change of command accelerates the link, q̈ = … + B·u, and the pseudo-inverse
    B† = [0, 1/B] in Kd,off acts on the acceleration. For a pair of equal exponential springs (a, k) with
    preset θs on an inertia I: B = 2·a·k·cosh(a·θs)·cosh(a·(u − q))/I; at rest that is stiffness/inertia.

    The error passes a zero-phase low-pass first (second-order Butterworth forwards and backwards, gain
    1/(1 + (f/cutoff)⁴)), so what is faster than `cutoff` is neither learned nor amplified.

    Converges for fast motion if |1 − (1 + epsilon)·B/B̂| < 1 with the true B over the given one, so for
    0 ≤ epsilon < 1 and a good B; at lower frequencies f also |1 − F·L·P| < 1 is needed, with
    L = kp + kd·s + (1 + epsilon)·s²/B. On the joint I·q̈ + d·q̇ + K·q = K·u the choice kp = 1 + epsilon,
    kd = (1 + epsilon)·d/K makes L·P = 1 + epsilon throughout.

    Source: Angelini et al. 2018, Decentralized trajectory tracking control for soft robots interacting with
    the environment.
    """

    period: float
    """Time from one row to the next, s."""
    input_gain: InputGain
    """B, 1/s², > 0: a number, per joint, per time step and joint, or a function (command, error) -> B."""
    kp: float | Sequence[float] = 1.0
    """Off-line gain on the position error, number or per joint, rad per rad."""
    kd: float | Sequence[float] = 0.0
    """Off-line gain on the velocity error, number or per joint, s."""
    kp_online: float | Sequence[float] = 0.0
    """Gain of the position feedback that ran during the trial, rad per rad; 0 for pure feed-forward."""
    kd_online: float | Sequence[float] = 0.0
    """Gain of the velocity feedback that ran during the trial, s; 0 for pure feed-forward."""
    epsilon: float = 0.9
    """Over-relaxation of the acceleration term, in [0, 1]."""
    cutoff: float = 2.0
    """Of the low-pass, Hz, below half the sampling frequency."""

    def __post_init__(self) -> None:
        positive("PDTypeILC period", self.period, "s")
        check_bounds("PDTypeILC epsilon", self.epsilon, 0.0, 1.0)
        positive("PDTypeILC cutoff", self.cutoff, "Hz")
        if not self.cutoff < 0.5 / self.period:
            raise OutOfBoundsError(
                f"PDTypeILC cutoff = {self.cutoff:g} Hz must be below half the sampling frequency, "
                f"{0.5 / self.period:g} Hz."
            )
        for name in ("kp", "kd", "kp_online", "kd_online"):
            what = f"PDTypeILC {name}"
            object.__setattr__(self, name, all_finite(what, number_array(what, getattr(self, name))))
        if not callable(self.input_gain):
            object.__setattr__(self, "input_gain", _input_gain(self.input_gain))

    def update(self, iteration: int, command: Array, error: Array, error_rate: Array) -> Array:
        """Return the command of the next trial, (n, joints); see the class for the law."""
        given = self.input_gain(command, error) if callable(self.input_gain) else self.input_gain
        try:
            B = np.broadcast_to(_input_gain(given), error.shape)
            kp = np.broadcast_to(np.add(self.kp, self.kp_online), error.shape)
            kd = np.broadcast_to(np.add(self.kd, self.kd_online), error.shape)
        except ValueError as mismatch:
            raise ShapeError(f"PDTypeILC: a gain does not fit a motion of shape {error.shape}.") from mismatch
        e, de = self._low_pass(error), self._low_pass(error_rate)
        dde = np.gradient(de, self.period, axis=0)
        return command + kp * e + kd * de + (1.0 + self.epsilon) / B * dde

    def transfer(self, iteration: int, frequency: Array) -> NDArray[np.complexfloating] | None:
        """Return F·(kp + kd·s + (1 + ε)/B·s²), (f, joints); None where B varies along the trial."""
        gain = self.input_gain
        if callable(gain) or np.ndim(gain) > 1:
            return None
        s = 2j * np.pi * frequency[:, None]
        low_pass = 1.0 / (1.0 + (frequency[:, None] / self.cutoff) ** 4)
        kp, kd = np.add(self.kp, self.kp_online), np.add(self.kd, self.kd_online)
        return np.asarray(low_pass * (kp + kd * s + (1.0 + self.epsilon) / np.asarray(gain) * s**2))

    def _low_pass(self, signal: Array) -> Array:
        from scipy.signal import butter, sosfiltfilt  # 0.9 s to import

        sections = butter(2, self.cutoff, fs=1.0 / self.period, output="sos")
        pad = min(len(signal) - 1, round(1.0 / (self.cutoff * self.period)))  # one period of the cut-off
        return np.asarray(sosfiltfilt(sections, signal, axis=0, padlen=pad), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NormOptimalILC(LearningLaw):
    """Learning that minimises the next trial's predicted cost, from a linear model of the plant.

    u⁺ = u + Δ, where Δ minimises |e − P·Δ|² + effort·(|Δ|² + |Δ̈|²/(2π·cutoff)⁴).

    P is the lifted model (`pliant.controllers.lifted`); it may couple the joints and change along the motion. The
    system (Pᵀ·P + effort·R)·Δ = Pᵀ·e is solved for the whole trial by conjugate gradients with products by FFT.

    What is held after the motion is what was reached: the sum goes on beyond the end of the trial for as long as
    the model remembers, with the last command held and the last error lasting. So the last commands count like
    all others. The `cutoff` makes them change smoothly to the end, and from the first command on, which stays
    that of the start.

    With the right model, what the plant passes with gain |P| shrinks by w/(w + |P|²) a trial, where w(f) =
    effort·(1 + (f/cutoff)⁴): the error falls in every trial. With another plant G it still converges where
    |1 − G·P*/(w + |P|²)| < 1: a larger effort is slower and forgives more, and above its cutoff it learns nothing
    that a model of fast motion, usually the worse one, could spoil. Command and error in rad.

    Not for a plant that is not near any linear one, and not without a model: use `PTypeILC` for slow motion.

    Source: Amann, Owens & Rogers 1996, Iterative learning control using optimal feedback and feedforward
    actions; Bristow, Tharayil & Alleyne 2006, A survey of iterative learning control, quadratically optimal
    design.
    """

    impulse_response: ArrayLike
    """Position, rad, at 0, period, 2·period, … after a command of 1 rad that lasts one period, from rest;
    (m,) for all joints, (m, joints), or (instants, m, joints, joints) of each joint to the command of each, at
    instants evenly spread over the trial. Zero after its end. See `joint_impulse_response` and
    `pliant.envs.linearisation`."""
    period: float
    """Time from one row to the next, s."""
    effort: float = 0.1
    """Weight on the squared change of command against the squared error, > 0."""
    cutoff: float = 2.0
    """Frequency above which changes of command weigh more, and more by the fourth power, Hz; inf: none does, and a
    model that is not exact ends in a jump."""

    def __post_init__(self) -> None:
        positive("NormOptimalILC effort", self.effort)
        positive("NormOptimalILC period", self.period, "s")
        if self.cutoff != math.inf:
            positive("NormOptimalILC cutoff", self.cutoff, "Hz")
        what = "NormOptimalILC impulse_response"
        response = all_finite(what, number_array(what, self.impulse_response))
        if response.ndim not in (1, 2, 4) or not response.any():
            raise ShapeError(
                f"{what} has shape {response.shape}; (m,), (m, joints) or (instants, m, joints, joints), not all "
                "zero, is needed."
            )
        object.__setattr__(self, "impulse_response", response)

    def update(self, iteration: int, command: Array, error: Array, error_rate: Array) -> Array:
        """Return u + Δ, (n, joints); see the class for Δ.

        Conjugate gradients stop when the residual is 1e-9 of the right-hand side, or after 200 products; the cost
        falls with every product, so an early stop is still an improvement.
        """
        from scipy.sparse.linalg import LinearOperator, cg  # 0.2 s to import

        n, joints = shape = error.shape
        try:
            response = coupled_response(np.asarray(self.impulse_response), joints)
        except ShapeError as mismatch:
            raise ShapeError(f"NormOptimalILC: {mismatch}") from mismatch
        held = response.shape[1] - 1
        model = LiftedModel(response, n, held)
        smoothing = (2.0 * math.pi * self.cutoff * self.period) ** -4.0

        def normal(flat: Array) -> Array:
            change = flat.reshape(shape)
            effort = change + smoothing * _curvature_transposed(_curvature(change)) if smoothing else change
            return (model.transposed(model.positions(change)) + self.effort * effort).ravel()

        turn = 2.0 - 2.0 * np.cos(2.0 * np.pi * np.fft.rfftfreq(model.size))  # |second difference| at a frequency
        mean = model.spectrum.mean(axis=0)
        squared = np.matmul(mean.conj().swapaxes(-1, -2), mean)
        weight = self.effort * (1.0 + smoothing * turn**2)
        near_inverse = np.linalg.inv(squared + weight[:, None, None] * np.eye(joints))

        def nearly_solved(flat: Array) -> Array:
            residual = np.fft.rfft(flat.reshape(shape), model.size, axis=0)[..., None]
            return np.fft.irfft(np.matmul(near_inverse, residual)[..., 0], model.size, axis=0)[:n].ravel()

        size = 2 * (n * joints,)
        change, _ = cg(
            LinearOperator(size, normal, dtype=np.float64),
            model.transposed(np.concatenate([error, np.repeat(error[-1:], held, axis=0)])).ravel(),
            rtol=1e-9,
            maxiter=200,
            M=LinearOperator(size, nearly_solved, dtype=np.float64),
        )
        return command + np.asarray(change, dtype=np.float64).reshape(shape)


def _curvature(change: Array) -> Array:
    """Second differences of a change, (n + 2, joints): none before its first row, its last one held after it."""
    ends = np.zeros_like(change[:1]), change[-1:]
    return np.diff(np.concatenate([ends[0], ends[0], change, ends[1], ends[1]]), 2, axis=0)


def _curvature_transposed(curvature: Array) -> Array:
    """The transpose of `_curvature`: (n + 2, joints) -> (n, joints)."""
    spread = np.zeros((len(curvature) + 2, curvature.shape[1]))
    for offset, weight in enumerate((1.0, -2.0, 1.0)):
        spread[offset : offset + len(curvature)] += weight * curvature
    change = spread[2:-2].copy()
    change[-1] += spread[-2:].sum(axis=0)
    return change


def joint_impulse_response(
    frequency: float, damping: float, period: float, duration: float, gain: float = 1.0
) -> Array:
    """Return the sampled impulse response of a spring-driven joint, (m,), for `NormOptimalILC`.

    The joint is q̈ + 2ζω·q̇ + ω²·q = gain·ω²·u with u held over a period, so the entries are the increments
    of its step response, exact at the samples; they sum to `gain` once it has settled.

    Args:
        frequency: ω = √(stiffness/inertia), rad/s, > 0.
        damping: ζ, ≥ 0 (1 is critical).
        period: time between samples, s.
        duration: length of the response, s: several times 1/(ζω).
        gain: static gain dq/du, rad per rad.
    """
    omega = positive("frequency", frequency, "rad/s")
    zeta = check_bounds("damping", damping, 0.0, np.inf)
    step = positive("period", period, "s")
    check_samples("an impulse response", positive("duration", duration, "s"), step)
    t = np.arange(int(duration / step) + 1) * step
    split = omega * np.sqrt(complex(zeta**2 - 1.0))
    # q = 1 − e^{−ζωt}·(cosh(split·t) + ζω·sinh(split·t)/split), written without overflow for large ζ
    fast, slow = np.exp((-zeta * omega - split) * t), np.exp((-zeta * omega + split) * t)
    ramp = t * fast if abs(split) < 1e-6 * omega else (slow - fast) / (2.0 * split)
    settled = gain * (1.0 - ((slow + fast) / 2.0 + zeta * omega * ramp).real)
    return np.diff(settled, prepend=0.0)


def _input_gain(value: Any) -> Array:
    gain = all_finite("PDTypeILC input_gain", number_array("PDTypeILC input_gain", value))
    if not (gain > 0.0).all():
        raise OutOfBoundsError(f"PDTypeILC input_gain has the entry {gain.min():g} 1/s²; all must be > 0.")
    return gain


def _identity(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return f"array{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    if callable(value):
        return f"{getattr(value, '__module__', '?')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return plain(value)
