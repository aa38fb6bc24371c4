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
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, positive
from pliant.controllers.interaction.gains import (
    AdmittanceGains,
    DirectForceGains,
    Gains,
    LawLimits,
    as_six,
    selected,
)
from pliant.errors import ConfigurationError

_STILL: Final = (0.0,) * 6
_RETURN: Final = 5.0
"""Rate at which an axis that no law acts on goes back to the desired motion, 1/s."""

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

    v is the speed of the axis at the moment that the law or an axis is taken into use; where gains change, w takes
    up what they would change the speed by. So neither command nor speed jumps, and gains may change in every
    period. A step of the desired force of ΔF shifts the command by K_p·ΔF.
    What a limit holds back is not integrated.
    """

    def __init__(self, period: float, gains: DirectForceGains, limits: LawLimits | None = None) -> None:
        self._kp, self._ki, self._forced = np.zeros(6), np.zeros(6), np.zeros(6, dtype=bool)
        self._force_before, self._fading = np.zeros(6), np.zeros(6)
        self._before, self._changed = (self._kp, self._ki, self._forced), False
        super().__init__(period, gains, limits)
        self._step = np.array(exact_step(1.0, 2.0 * _RETURN, _RETURN**2, self.period))

    def _take(self, gains: DirectForceGains) -> None:
        if not self._changed:
            self._before, self._changed = (self._kp, self._ki, self._forced), True
        self._forced = selected(gains.axes)
        self._kp, self._ki = np.array(as_six(gains.kp)), np.array(as_six(gains.ki))

    def advance(self, desired_rate: Array, force: Array) -> None:
        """Let one period pass; see `Law`."""
        if self._new:
            self._desired_before[:], self._force_before[:] = desired_rate, force
            self._fading[:] = self.rate - self._ki * force
        elif self._changed:
            kp, ki, forced = self._before
            change = (force - self._force_before) / self.period
            self._fading += (ki - self._ki) * force + (kp - self._kp) * change
            new = ~forced
            self._force_before[new] = force[new]
            self._fading[new] = (self.rate - self._ki * force)[new]
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
