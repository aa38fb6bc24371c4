"""Whether a law of interaction is stable in contact: the poles of its sampled loop, and gains that suit a contact.

The loop on each axis, from what is estimated of the contact: the command moves the tip through the servo, a lag of
first order; the tip presses on the surroundings, which yield in series with the arm; the force is low-passed and
sampled; the law answers a period later.

    1/K = 1/K_env + 1/K_servo,   f = K·y,   ẏ = b·(x_c − y),   x_c(k + 1) from f(k), in force from k + 1 on
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array, positive
from pliant.controllers.interaction.laws import (
    AXES,
    AdmittanceGains,
    DirectForceGains,
    Gains,
    Values,
    as_six,
    exact_step,
)
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, check_count

_FASTEST: Final = 20.0
"""Recommended K_i·K, rad/s: above it the force overshoots on a usual arm."""
_SHARE: Final = 0.25
"""Recommended K_i·K as a part of the servo's bandwidth."""
_PROPORTIONAL: Final = 0.2
"""Largest K_p·K: a resonance of arm and contact, which the lag below does not have, may amplify five times."""

_Law = tuple[Array, Array]
"""Of a law with the command first in its state z: z⁺ = A·z + B·(f, f before)."""


@dataclass(frozen=True)
class Contact:
    """What is estimated of an arm and of what it touches: numbers for x, y, z (and rx, ry, rz)."""

    stiffness: Values
    """Of the surroundings, K_env, N/m and N·m/rad."""
    servo_stiffness: Values = math.inf
    """Of the arm at its tip, K_servo, likewise."""
    bandwidth: float = math.inf
    """Of the arm's position loop, b, rad/s."""
    mass: float = 10.0
    """Of the arm as the tip feels it, kg."""
    turning_stiffness: float = 100.0
    """K_env about the axes, N·m/rad, where `stiffness` has three numbers or one."""

    def __post_init__(self) -> None:
        for name in ("stiffness", "servo_stiffness"):
            array = np.asarray(getattr(self, name), np.float64)
            if array.shape not in ((), (3,), (6,)):
                raise ShapeError(f"contact: {name} has shape {array.shape}; one number, (3,) or (6,) is needed.")
            if not (array > 0.0).all() or (name == "stiffness" and not np.isfinite(array).all()):
                raise OutOfBoundsError(f"contact: {name} is {array.tolist()}; numbers > 0 are needed.")
            object.__setattr__(self, name, tuple(array.tolist()) if array.ndim else float(array))
        if not self.bandwidth > 0.0:
            raise OutOfBoundsError(f"contact: bandwidth is {self.bandwidth!r} rad/s; a number > 0 is needed.")
        check_bounds("contact: mass", self.mass, 1e-3, 1e4, "kg")
        positive("contact: turning_stiffness", self.turning_stiffness, "N·m/rad")

    def total(self, axis: int) -> float:
        """Return K of an axis, N/m or N·m/rad."""
        environment, servo = self.stiffness, self.servo_stiffness
        around = np.size(np.asarray(environment)) < 6 and axis >= 3
        first = self.turning_stiffness if around else as_six(environment)[axis]
        second = math.inf if np.size(np.asarray(servo)) < 6 and axis >= 3 else as_six(servo)[axis]
        return 1.0 / (1.0 / first + 1.0 / second)

    def fastest_approach(self, transient: float = 2.0) -> float:
        """Return the speed, m/s, at which the stiffest direction is met with a peak of `transient` N.

        v = transient/√(K_env·m)
        """
        stiffest = max(as_six(self.stiffness)[:3])
        return positive("transient", transient, "N") / math.sqrt(stiffest * self.mass)

    def recommended_rate(self) -> float:
        """Return the largest recommended K_i·K, rad/s: 20, or a quarter of the servo's bandwidth."""
        return min(_FASTEST, _SHARE * self.bandwidth)


@dataclass(frozen=True)
class LowPass:
    """What the wrench is low-passed with before the law sees it."""

    cutoff: float = math.inf
    """Hz; infinite: with nothing."""
    order: int = 1
    """1, or 2 for Butterworth's."""

    def __post_init__(self) -> None:
        if not self.cutoff > 0.0:
            raise OutOfBoundsError(f"low-pass: cutoff is {self.cutoff!r} Hz; a number > 0 is needed.")
        check_count("low-pass: order", self.order, 1, 2)

    @classmethod
    def of(cls, conditioning: Any) -> "LowPass":
        """Return that of a conditioning with `settings.cutoff`, Hz or None, and `settings.order`; else none."""
        settings = getattr(conditioning, "settings", None)
        cutoff = getattr(settings, "cutoff", None)
        return cls() if cutoff is None else cls(cutoff, getattr(settings, "order", 1))


class Verdict(NamedTuple):
    """On the loop of one axis."""

    axis: str
    poles: NDArray[np.complex128]
    """Of the sampled loop."""
    stiffness: float
    """K, N/m or N·m/rad."""

    @property
    def stable(self) -> bool:
        """Whether all poles are inside the unit circle."""
        return bool(np.abs(self.poles).max() < 1.0)


def verdicts(gains: Gains, contact: Contact, period: float, low_pass: LowPass | None = None) -> list[Verdict]:
    """Return what is to be said of the loop of each axis that a law acts on, at a period in s."""
    low_pass = low_pass or LowPass()
    return [
        Verdict(axis, _poles(gains, i, contact, period, low_pass), contact.total(i))
        for i, axis in enumerate(AXES)
        if axis in gains.axes
    ]


def check_stability(gains: Gains, contact: Contact, period: float, low_pass: LowPass | None = None) -> None:
    """Raise `ConfigurationError`, with the poles and what would be stable, if a law is unstable in contact.

    So it is also where K_p·K is above 0.2: with a resonance of arm and contact the loop may not be stable.
    """
    low_pass = low_pass or LowPass()
    for verdict in verdicts(gains, contact, period, low_pass):
        axis = AXES.index(verdict.axis)
        if verdict.stable:
            _check_proportional(gains, axis, verdict)
            continue
        worst = verdict.poles[np.argsort(-np.abs(verdict.poles))[:2]]
        shown = ", ".join(f"{p.real:.3g}" if abs(p.imag) < 1e-12 else f"{p.real:.3g}{p.imag:+.3g}i" for p in worst)
        unit = "N/m" if axis < 3 else "N·m/rad"
        raise ConfigurationError(
            f"axis {verdict.axis} is unstable in contact: against {verdict.stiffness:.3g} {unit} (surroundings "
            f"and servo in series) the loop sampled every {1e3 * period:g} ms has poles up to "
            f"{np.abs(verdict.poles).max():.4g} in size ({shown}). "
            f"{_way_out(gains, axis, contact, period, low_pass)}"
        )


def _check_proportional(gains: Gains, axis: int, verdict: Verdict) -> None:
    part = as_six(gains.kp)[axis] * verdict.stiffness if isinstance(gains, DirectForceGains) else 0.0
    if part > _PROPORTIONAL:
        raise ConfigurationError(
            f"axis {verdict.axis} may be unstable in contact: kp·K is {part:.3g}, and a resonance may amplify it five "
            f"times; kp up to {_PROPORTIONAL / verdict.stiffness:.3g} keeps it at {_PROPORTIONAL:g}."
        )


def suggested_gains(contact: Contact, axes: tuple[str, ...] = ("z",)) -> DirectForceGains:
    """Return gains of a direct force control that suit a contact: no K_p, and K_i = `recommended_rate`/K."""
    rate = contact.recommended_rate()
    return DirectForceGains((0.0,) * 6, tuple(rate / contact.total(i) for i in range(6)), axes)


def _poles(gains: Gains, axis: int, contact: Contact, period: float, low_pass: LowPass) -> NDArray[np.complex128]:
    a, b = _law(gains, axis, period)
    n, total = len(a), contact.total(axis)
    lag = -math.expm1(-contact.bandwidth * period)
    # state: the law's, the tip, the force that the law saw last and, of second order, its rate
    order = low_pass.order if math.isfinite(low_pass.cutoff) else 1
    size = n + 1 + order
    tip, force = n, n + 1
    loop = np.zeros((size, size))
    loop[tip, tip], loop[tip, 0] = 1.0 - lag, lag
    omega = 2.0 * math.pi * low_pass.cutoff
    if order == 1:
        seen = -math.expm1(-omega * period)
        loop[force, force], loop[force, tip] = 1.0 - seen, seen * total
    else:
        c00, c01, c10, c11, g, h = exact_step(1.0, math.sqrt(2.0) * omega, omega**2, period)
        loop[force, force], loop[force, force + 1], loop[force, tip] = c00, c01, omega**2 * g * total
        loop[force + 1, force], loop[force + 1, force + 1] = c10, c11
        loop[force + 1, tip] = omega**2 * h * total
    before = np.zeros(size)
    before[force] = 1.0
    loop[:n, :n] += a
    loop[:n] -= np.outer(b[:, 0], loop[force]) + np.outer(b[:, 1], before)
    return np.linalg.eigvals(loop).astype(np.complex128)


def _law(gains: Gains, axis: int, period: float) -> _Law:
    if isinstance(gains, AdmittanceGains):
        mass, damping, stiffness = (as_six(v)[axis] for v in (gains.mass, gains.damping, gains.stiffness))
        a, b, c, d, g, h = exact_step(mass, damping, stiffness, period)
        return np.array([[a, b], [c, d]]), np.array([[g, 0.0], [h, 0.0]])
    kp, ki = as_six(gains.kp)[axis], as_six(gains.ki)[axis]
    return np.eye(1), np.array([[kp + ki * period, -kp]])


def _way_out(gains: Gains, axis: int, contact: Contact, period: float, low_pass: LowPass) -> str:
    """What to change, one number at a time, in words."""

    def stable(name: str) -> Callable[[float], bool]:
        def check(value: float) -> bool:
            six = [*as_six(getattr(gains, name))]
            six[axis] = value
            others: dict[str, Any] = {other: as_six(getattr(gains, other)) for other in names}
            changed: Gains = replace(gains, **{**others, name: tuple(six)})
            return bool(np.abs(_poles(changed, axis, contact, period, low_pass)).max() < 1.0)

        return check

    direct = isinstance(gains, DirectForceGains)
    names = ("kp", "ki") if direct else ("mass", "damping", "stiffness")
    found = []
    for name in ("ki", "kp") if direct else ("mass", "damping"):
        limit = _limit(stable(name), as_six(getattr(gains, name))[axis], 0.5 if direct else 2.0)
        if limit is not None:
            found.append(f"{name} {'up to' if direct else 'from'} {limit:.3g}{'' if direct else ' on'}")
    total = contact.total(axis)
    rate = contact.recommended_rate()
    best = f"ki {rate / total:.3g} and kp 0" if direct else f"damping {total / rate:.3g} or more"
    stable_ones = f"With the other gains as they are it is stable with {' or '.join(found)}. " if found else ""
    return f"{stable_ones}Recommended for this contact: {best}; a longer period or lower cutoff asks for less."


def _limit(stable: Callable[[float], bool], value: float, factor: float) -> float | None:
    """The value nearest to an unstable one, in the direction of the factor, at which the loop becomes stable."""
    inner = value
    for _ in range(60):
        inner *= factor
        if inner == 0.0:
            return None
        if stable(inner):
            break
    else:
        return None
    outer = inner / factor
    for _ in range(40):
        middle = math.sqrt(inner * outer)
        inner, outer = (middle, outer) if stable(middle) else (inner, middle)
    return inner
