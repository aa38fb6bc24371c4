"""Laws of interaction: how far the commanded motion of a tool departs from the desired one under a force.

All act on six axes, three along and three about those of one frame. With x_d the desired motion, x_c the commanded
one and Δf = f_d − f_e the force that is missing (f_e is what the tool exerts on its surroundings, so that pressing
is positive), the state of a law is

    offset   e = x_c − x_d, (6,): m, and the rotation vector from the desired to the commanded orientation, rad
    rate     ẋ_c, (6,), m/s and rad/s

Rotations obey the law in their rotation vector, so that a turn about one axis is exact at any angle. An axis that
a law leaves free is led back to the desired motion, critically damped, and follows it from then on.

Source: Storiale, Ferrentino and Chiacchio 2022, "Robot-agnostic interaction controllers".
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, all_finite, number_array, positive
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

AXES: Final = ("x", "y", "z", "rx", "ry", "rz")
_STILL: Final = (0.0,) * 6
_RETURN: Final = 5.0
"""Rate at which an axis that no law acts on goes back to the desired motion, 1/s."""

Values = float | Sequence[float]
"""One number for x, y and z; or three; or six. A zero alone is for all."""


@dataclass(frozen=True)
class LawLimits:
    """How fast the commanded motion may be, and how far from the desired one. At a limit nothing winds up."""

    speed: float = 0.25
    """m/s, of each axis."""
    turning: float = 0.5
    """rad/s, likewise."""
    distance: float = 0.5
    """m, likewise."""
    angle: float = 1.5
    """rad, likewise; at most π."""
    acceleration: float = 0.25
    """With which a speed fades out that direct force takes over, m/s²."""
    turning_acceleration: float = 1.0
    """Likewise, rad/s²."""

    def __post_init__(self) -> None:
        for name, most, unit in (
            ("speed", 10.0, "m/s"),
            ("turning", 20.0, "rad/s"),
            ("distance", 10.0, "m"),
            ("angle", math.pi, "rad"),
            ("acceleration", 1e3, "m/s²"),
            ("turning_acceleration", 1e3, "rad/s²"),
        ):
            check_bounds(f"limits of the law: {name}", getattr(self, name), 1e-9, most, unit)


@dataclass(frozen=True)
class AdmittanceGains:
    """Of an `Admittance`: numbers for x, y, z (and, if it is to turn, for rx, ry, rz)."""

    mass: Values
    """M_d, kg and kg·m², > 0."""
    damping: Values
    """K_D, N·s/m and N·m·s/rad, ≥ 0."""
    stiffness: Values
    """K_P, N/m and N·m/rad, ≥ 0; 0 lets the tool stay where it was pushed."""
    axes: Sequence[str] = ("x", "y", "z")
    """On which it acts."""
    relative_damping: bool = False
    """Whether the damping acts on ẋ_c − ẋ_d, so that free motion is not dragged behind by K_D/K_P·ẋ_d; else, as in
    the paper, on ẋ_c."""

    def __post_init__(self) -> None:
        _settle(self, "admittance", {"mass": 1e-6, "damping": 0.0, "stiffness": 0.0})
        if not isinstance(self.relative_damping, bool):
            raise ConfigurationError(
                f"admittance: relative_damping is {self.relative_damping!r}; true or false is needed."
            )


@dataclass(frozen=True)
class DirectForceGains:
    """Of a `DirectForce`: numbers for x, y, z (and, if it is to turn, for rx, ry, rz)."""

    kp: Values
    """m/N and rad/(N·m), ≥ 0."""
    ki: Values
    """m/(N·s) and rad/(N·m·s), ≥ 0."""
    axes: Sequence[str] = ("z",)
    """On which the force is controlled."""

    def __post_init__(self) -> None:
        _settle(self, "direct force", {"kp": 0.0, "ki": 0.0})


Gains = AdmittanceGains | DirectForceGains
_Of = TypeVar("_Of", bound=Gains)


class Law(ABC, Generic[_Of]):
    """One law at work.

    Args:
        period: from one `advance` to the next, s.
        gains: of it.
        limits: of the motion that it makes.
    """

    def __init__(self, period: float, gains: _Of, limits: LawLimits | None = None) -> None:
        limits = limits or LawLimits()
        self.period = positive("period of the law", period, "s")
        self.offset, self.rate = np.zeros(6), np.zeros(6)
        self._speed = np.repeat([limits.speed, limits.turning], 3)
        self._reach = np.repeat([limits.distance, limits.angle], 3)
        self._fade = np.repeat([limits.acceleration, limits.turning_acceleration], 3) * self.period
        self._desired_before = np.zeros(6)
        self._new = True
        """Whether the law has just taken over."""
        self._gains = gains
        self._take(gains)

    @property
    def gains(self) -> _Of:
        """In force. Setting them keeps offset and rate, so that neither the command nor its speed jumps."""
        return self._gains

    @gains.setter
    def gains(self, gains: _Of) -> None:
        self._gains = gains
        self._take(gains)

    def begin(self, offset: ArrayLike = _STILL, rate: ArrayLike = _STILL) -> None:
        """Take over at an offset and a rate, (6,) each."""
        self.correct(offset, rate)
        self._new = True

    def correct(self, offset: ArrayLike, rate: ArrayLike) -> None:
        """Go on from another offset and rate, (6,) each, to which the motion was held back."""
        self.offset[:], self.rate[:] = offset, rate

    def turn(self, rotation: Array) -> None:
        """Go on in other axes: `rotation`, (3, 3), takes vectors from the old ones to them."""
        both = np.array([self.offset, self.rate]).reshape(4, 3) @ rotation.T
        self.begin(*both.reshape(2, 6))

    @abstractmethod
    def advance(self, desired_rate: Array, force: Array) -> None:
        """Let one period pass: `offset` and `rate` are then those at its end.

        Args:
            desired_rate: ẋ_d over the period, (6,), m/s and rad/s.
            force: Δf at its beginning, (6,), N and N·m.
        """

    @abstractmethod
    def _take(self, gains: _Of) -> None:
        """Prepare for gains."""


class Admittance(Law[AdmittanceGains]):
    """The tool gives way like a mass with a damper and a spring to the desired motion.

        M_d·ẍ_c + K_D·ẋ_c + K_P·(x_c − x_d) = Δf            (relative damping: K_D·(ẋ_c − ẋ_d))

    Each period is the exact solution for a force that stays and a desired motion at constant speed, so that any
    stiff or light axis is stable by itself at any period. Offset and rate are continuous whatever changes; the
    acceleration is when the force is.
    """

    def _take(self, gains: AdmittanceGains) -> None:
        self._steps = np.array([exact_step(1.0, 2.0 * _RETURN, _RETURN**2, self.period)] * 6)
        self._drag, self._acted = np.zeros(6), selected(gains.axes)
        self._steps[:, 4:] = 0.0  # no force acts on the others
        masses, dampings, stiffnesses = map(as_six, (gains.mass, gains.damping, gains.stiffness))
        for i in np.flatnonzero(self._acted):
            self._steps[i] = exact_step(masses[i], dampings[i], stiffnesses[i], self.period)
            self._drag[i] = 0.0 if gains.relative_damping else dampings[i]

    def advance(self, desired_rate: Array, force: Array) -> None:
        """Let one period pass; see `Law`."""
        if self._new:
            self._desired_before[:], self._new = desired_rate, False
        compiled(_advance_admittance)(
            self.offset,
            self.rate,
            desired_rate,
            self._desired_before,
            force,
            self._acted,
            self._steps,
            self._drag,
            self._speed,
            self._reach,
            self.period,
        )


class DirectForce(Law[DirectForceGains]):
    """A PI law makes the tool exert a desired force, axis by axis; there the desired motion counts for nothing.

        ẋ_c = K_i·Δf + K_p·Δḟ + w,   w = v − K_i·Δf at first, then to 0 at the limits' acceleration

    v is the speed of the axis at the moment that the law, an axis or a gain is taken into use, so that neither
    command nor speed jumps then; a step of the desired force of ΔF shifts the command by K_p·ΔF.
    What a limit holds back is not integrated.
    """

    def _take(self, gains: DirectForceGains) -> None:
        self._step = np.array(exact_step(1.0, 2.0 * _RETURN, _RETURN**2, self.period))
        self._forced = selected(gains.axes)
        self._kp, self._ki = np.array(as_six(gains.kp)), np.array(as_six(gains.ki))
        self._force_before, self._fading = np.zeros(6), np.zeros(6)
        self._changed = True

    def advance(self, desired_rate: Array, force: Array) -> None:
        """Let one period pass; see `Law`."""
        if self._new:
            self._desired_before[:] = desired_rate
        if self._new or self._changed:
            self._force_before[:] = force
            self._fading[:] = self.rate - self._ki * force
            self._new = self._changed = False
        compiled(_advance_direct)(
            self.offset,
            self.rate,
            desired_rate,
            self._desired_before,
            force,
            self._force_before,
            self._fading,
            self._forced,
            self._kp,
            self._ki,
            self._fade,
            self._step,
            self._speed,
            self._reach,
            self.period,
        )


class ExplicitAdmittance(Law[AdmittanceGains]):
    """The admittance as the code of the paper computes it, for comparison; not for a robot.

        ẋ_c += T·M_d⁻¹·(Δf − K_P·(x_c − x_d) − K_D·ẋ_c),   x_c += T·ẋ_c

    It diverges unless T < 2·M_d/K_D, about. The numbers that the code calls mass matrix are M_d⁻¹ here; taken as
    M_d themselves they make axes so light that no usual period is short enough. It has no limits.

    Source: github.com/unisa-acg/interaction_controllers, commit ba525b7.
    """

    def _take(self, gains: AdmittanceGains) -> None:
        self._inverse = selected(gains.axes) / np.array(as_six(gains.mass))
        self._damping, self._stiffness = np.array(as_six(gains.damping)), np.array(as_six(gains.stiffness))

    def advance(self, desired_rate: Array, force: Array) -> None:
        """Let one period pass; see `Law`."""
        acceleration = self._inverse * (force - self._stiffness * self.offset - self._damping * self.rate)
        self.rate += self.period * acceleration
        self.offset += self.period * (self.rate - desired_rate)


def law_of(period: float, gains: Gains, limits: LawLimits | None = None) -> Admittance | DirectForce:
    """Return the law that gains are of, at rest."""
    if isinstance(gains, AdmittanceGains):
        return Admittance(period, gains, limits)
    if isinstance(gains, DirectForceGains):
        return DirectForce(period, gains, limits)
    raise ConfigurationError(
        f"gains of a law are {type(gains).__name__}; AdmittanceGains or DirectForceGains are needed."
    )


def exact_step(
    mass: float, damping: float, stiffness: float, period: float
) -> tuple[float, float, float, float, float, float]:
    """Return (a, b, c, d, g, h) of m·ë + d·ė + k·e = f over a period in which f stays.

        e⁺ = a·e + b·ė + g·f,   ė⁺ = c·e + d·ė + h·f

    In closed form from the roots r of m·r² + d·r + k, for any damping and also without stiffness.
    """
    sigma, square = damping / (2.0 * mass), stiffness / mass
    determinant = sigma * sigma - square
    if determinant >= 0.0:
        slow_part = math.sqrt(determinant)
        fast = -sigma - slow_part
        slow = square / fast if fast else 0.0
        one, other = math.exp(slow * period), math.exp(fast * period)
        b = period * one * _mean(-2.0 * slow_part * period)
        a, d = one - slow * b, other + slow * b
        largest = -fast
        rest = (b - period * _mean(slow * period)) / fast if fast else 0.0
    else:
        turn = math.sqrt(-determinant)
        decay = math.exp(-sigma * period)
        b = decay * math.sin(turn * period) / turn
        a = decay * math.cos(turn * period) + sigma * b
        d = decay * math.cos(turn * period) - sigma * b
        largest = math.sqrt(square)
        rest = (1.0 - a) / square
    if largest * period < 1e-3:  # what is left of the differences above would be rounding
        t = period
        jerk = 4.0 * sigma**2 - square
        rest = t**2 / 2 - sigma * t**3 / 3 + jerk * t**4 / 24 + sigma * (square - 2.0 * sigma**2) * t**5 / 30
    return a, b, -square * b, d, rest / mass, b / mass


def selected(axes: Sequence[str]) -> Array:
    """Return which of `AXES` are named, (6,), of booleans."""
    return np.array([axis in axes for axis in AXES])


def as_six(values: Values) -> tuple[float, ...]:
    """Return numbers of gains for all six axes; those about the axes, if not given, are 1, or 0 if all are 0."""
    array = np.atleast_1d(np.asarray(values, np.float64))
    if array.size == 6:
        return tuple(array.tolist())
    return (*np.broadcast_to(array, 3).tolist(), *[float(array.any())] * 3)


def _settle(gains: Gains, what: str, lowest: dict[str, float]) -> None:
    """Check gains, and store tuples."""
    if isinstance(gains.axes, str) or not isinstance(gains.axes, Sequence):
        raise ConfigurationError(f"{what}: axes are {gains.axes!r}; a list of {', '.join(AXES)} is needed.")
    for axis in gains.axes:
        if axis not in AXES:
            raise unknown_name("axis", axis, AXES, what)
    turning = any(axis in AXES[3:] for axis in gains.axes)
    for name, low in lowest.items():
        array = all_finite(f"{what}: {name}", number_array(f"{what}: {name}", getattr(gains, name)))
        if array.shape not in ((), (3,), (6,)):
            raise ShapeError(f"{what}: {name} has shape {array.shape}; one number, (3,) or (6,) is needed.")
        if turning and array.shape != (6,) and array.any():
            raise ShapeError(
                f"{what}: {name} has {array.size} number(s), none of them for {', '.join(AXES[3:])}; it acts on "
                f"{', '.join(gains.axes)}, so six are needed."
            )
        if not (array >= low).all():
            raise OutOfBoundsError(f"{what}: {name} has the entry {array.min():g}; all must be ≥ {low:g}.")
        object.__setattr__(gains, name, tuple(array.tolist()) if array.ndim else float(array))
    object.__setattr__(gains, "axes", tuple(gains.axes))


def _mean(x: float) -> float:
    """Mean of exp over [0, x], for x ≤ 0."""
    return math.expm1(x) / x if x else 1.0


def _advance_admittance(
    offset: Array,
    rate: Array,
    desired_rate: Array,
    desired_before: Array,
    force: Array,
    acted: Array,
    steps: Array,
    drag: Array,
    speed: Array,
    reach: Array,
    period: float,
) -> None:
    for i in range(6):
        relative = rate[i] - (desired_rate[i] if acted[i] else desired_before[i])  # others have no inertia
        push = force[i] - drag[i] * desired_rate[i]
        before = offset[i]
        offset[i] = steps[i, 0] * before + steps[i, 1] * relative + steps[i, 4] * push
        rate[i] = steps[i, 2] * before + steps[i, 3] * relative + steps[i, 5] * push + desired_rate[i]
        if abs(rate[i]) > speed[i]:
            rate[i] = min(max(rate[i], -speed[i]), speed[i])
            offset[i] = before + period * (rate[i] - desired_rate[i])
        if abs(offset[i]) > reach[i]:
            offset[i] = min(max(offset[i], -reach[i]), reach[i])
            rate[i] = desired_rate[i]
        desired_before[i] = desired_rate[i]


def _advance_direct(
    offset: Array,
    rate: Array,
    desired_rate: Array,
    desired_before: Array,
    force: Array,
    force_before: Array,
    fading: Array,
    forced: Array,
    kp: Array,
    ki: Array,
    fade: Array,
    step: Array,
    speed: Array,
    reach: Array,
    period: float,
) -> None:
    for i in range(6):
        before, relative = offset[i], rate[i] - desired_before[i]
        if forced[i]:
            rate[i] = ki[i] * force[i] + kp[i] * (force[i] - force_before[i]) / period + fading[i]
            rate[i] = min(max(rate[i], -speed[i]), speed[i])
            offset[i] = before + period * (rate[i] - desired_rate[i])
        else:
            offset[i] = step[0] * before + step[1] * relative
            rate[i] = step[2] * before + step[3] * relative + desired_rate[i]
        force_before[i] = force[i]
        fading[i] -= min(max(fading[i], -fade[i]), fade[i])
        if abs(offset[i]) > reach[i]:
            offset[i] = min(max(offset[i], -reach[i]), reach[i])
            rate[i] = desired_rate[i]
        desired_before[i] = desired_rate[i]
