"""Whether a law of interaction is stable in contact: the poles of its sampled loop, and gains that suit a contact.

The loop on each axis, from what is estimated of the contact: the command moves the tip through the servo, a lag of
first order; the tip presses on the surroundings, which yield in series with the arm; the force is low-passed and
sampled; the law answers a period later.

    1/K = 1/K_env + 1/K_servo,   f = K·y,   ẏ = b·(x_c − y),   x_c(k + 1) from f(k), in force from k + 1 on

In free motion the inertia of what hangs on the sensor closes the loop: f = m·ÿ.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array, positive
from pliant.controllers.interaction.gains import AXES, AdmittanceGains, DirectForceGains, Gains, Values, as_six
from pliant.controllers.interaction.laws import exact_step
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


class Loop(NamedTuple):
    """What closes the loop of one axis around a law."""

    stiffness: float
    """K, N/m or N·m/rad; 0 in free motion."""
    load: float
    """m, kg."""
    bandwidth: float
    """b, rad/s."""
    period: float
    """s"""
    low_pass: LowPass

    def poles(self, gains: Gains, axis: int) -> NDArray[np.complex128]:
        """Return the poles of the sampled loop with the gains of an axis, by its number in `AXES`."""
        a, b = _law(gains, axis, self.period)
        lag = -math.expm1(-self.bandwidth * self.period)
        # state: the law's; the tip now and in the two periods before; the force that the law saw last and its rate
        tip, force = len(a), len(a) + 3
        loop = np.zeros((force + 2, force + 2))
        loop[tip, tip], loop[tip, 0] = 1.0 - lag, lag
        loop[tip + 1, tip] = loop[tip + 2, tip + 1] = 1.0
        felt = np.zeros(force + 2)
        felt[tip : tip + 3] = self.load / self.period**2 * np.array([1.0, -2.0, 1.0])
        felt[tip] += self.stiffness
        omega = 2.0 * math.pi * self.low_pass.cutoff
        if math.isinf(omega):
            loop[force] = felt
        elif self.low_pass.order == 1:
            seen = -math.expm1(-omega * self.period)
            loop[force] = seen * felt
            loop[force, force] += 1.0 - seen
        else:
            step = exact_step(1.0, math.sqrt(2.0) * omega, omega**2, self.period)
            loop[force], loop[force + 1] = np.outer(omega**2 * np.array(step[4:]), felt)
            loop[force:, force:] += np.reshape(step[:4], (2, 2))
        before = np.zeros(force + 2)
        before[force] = 1.0
        loop[:tip, :tip] += a
        loop[:tip] -= np.outer(b[:, 0], loop[force]) + np.outer(b[:, 1], before)
        return np.linalg.eigvals(loop).astype(np.complex128)


class Verdict(NamedTuple):
    """On the loop of one axis."""

    axis: str
    loop: Loop
    poles: NDArray[np.complex128]

    @property
    def stable(self) -> bool:
        """Whether all poles are inside the unit circle; in free motion one may be at 1, which is the position."""
        return bool(np.abs(self.poles).max() < (1.0 if self.loop.stiffness else 1.0 + 1e-6))


def verdicts(
    gains: Gains, contact: Contact, period: float, low_pass: LowPass | None = None, load: float = 0.0
) -> list[Verdict]:
    """Return what is to be said of the loops of each axis that a law acts on: in contact, and in free motion.

    Args:
        gains: of the law.
        contact: what is estimated of the contact.
        period: s.
        low_pass: of the wrench; None: none.
        load: mass of what hangs on the sensor, kg; 0: nothing is said of free motion.
    """
    found = []
    for i in (i for i, axis in enumerate(AXES) if axis in gains.axes):
        loops = [Loop(contact.total(i), 0.0, contact.bandwidth, period, low_pass or LowPass())]
        if load > 0.0 and i < 3:
            loops.append(loops[0]._replace(stiffness=0.0, load=load))
        found += [Verdict(AXES[i], loop, loop.poles(gains, i)) for loop in loops]
    return found


def check_stability(
    gains: Gains, contact: Contact, period: float, low_pass: LowPass | None = None, load: float = 0.0
) -> None:
    """Raise `ConfigurationError`, with the poles and what would be stable, if a law is unstable; see `verdicts`.

    K_p·K above 0.2 is refused, too: with a resonance of arm and contact such a loop may not be stable.
    """
    for verdict in verdicts(gains, contact, period, low_pass, load):
        axis = AXES.index(verdict.axis)
        if not verdict.stable:
            raise ConfigurationError(_explained(gains, axis, verdict, contact))
        total = verdict.loop.stiffness
        part = as_six(gains.kp)[axis] * total if isinstance(gains, DirectForceGains) else 0.0
        if part > _PROPORTIONAL:
            raise ConfigurationError(
                f"axis {verdict.axis} may be unstable in contact: kp·K is {part:.3g}, and a resonance may amplify "
                f"it five times; kp up to {_PROPORTIONAL / total:.3g} keeps it at {_PROPORTIONAL:g}."
            )


def suggested_gains(contact: Contact, axes: tuple[str, ...] = ("z",)) -> DirectForceGains:
    """Return gains of a direct force control that suit a contact: no K_p, and K_i = `recommended_rate`/K."""
    rate = contact.recommended_rate()
    return DirectForceGains((0.0,) * 6, tuple(rate / contact.total(i) for i in range(6)), axes)


def _law(gains: Gains, axis: int, period: float) -> _Law:
    if isinstance(gains, AdmittanceGains):
        mass, damping, stiffness = (as_six(v)[axis] for v in (gains.mass, gains.damping, gains.stiffness))
        a, b, c, d, g, h = exact_step(mass, damping, stiffness, period)
        return np.array([[a, b], [c, d]]), np.array([[g, 0.0], [h, 0.0]])
    kp, ki = as_six(gains.kp)[axis], as_six(gains.ki)[axis]
    return np.eye(1), np.array([[kp + ki * period, -kp]])


def _explained(gains: Gains, axis: int, verdict: Verdict, contact: Contact) -> str:
    """Why an axis is refused, and what to change, one number at a time."""
    loop, direct = verdict.loop, isinstance(gains, DirectForceGains)
    worst = verdict.poles[np.argsort(-np.abs(verdict.poles))[:2]]
    shown = ", ".join(f"{p.real:.3g}" if abs(p.imag) < 1e-12 else f"{p.real:.3g}{p.imag:+.3g}i" for p in worst)
    if loop.stiffness:
        unit = "N/m" if axis < 3 else "N·m/rad"
        where = f"in contact: against {loop.stiffness:.3g} {unit} (surroundings and servo in series)"
        rate, total = contact.recommended_rate(), contact.total(axis)
        advice = f"ki {rate / total:.3g} and kp 0" if direct else f"damping {total / rate:.3g} or more"
        advice = f"Recommended for this contact: {advice}."
    else:
        where = f"in free motion: by the inertia of {loop.load:.3g} kg behind the sensor"
        advice = "A low-pass of the wrench of 5 to 20 Hz helps."
    found = []
    for name in ("ki", "kp") if direct else ("mass", "damping"):
        limit = _limit(
            _stable(gains, axis, loop, name), as_six(getattr(gains, name))[axis], 0.5 if direct else 2.0
        )
        if limit is not None:
            found.append(f"{name} {'up to' if direct else 'from'} {limit:.3g}{'' if direct else ' on'}")
    alone = f"With the other gains as they are it is stable with {' or '.join(found)}. " if found else ""
    return (
        f"axis {verdict.axis} is unstable {where} the loop sampled every {1e3 * loop.period:g} ms has poles up to "
        f"{np.abs(verdict.poles).max():.4g} in size ({shown}). {alone}{advice}"
    )


def _stable(gains: Gains, axis: int, loop: Loop, name: str) -> Callable[[float], bool]:
    """Whether a loop is stable with another value of one gain."""
    names = ("kp", "ki") if isinstance(gains, DirectForceGains) else ("mass", "damping", "stiffness")

    def check(value: float) -> bool:
        six: dict[str, Any] = {other: list(as_six(getattr(gains, other))) for other in names}
        six[name][axis] = value
        changed: Gains = replace(gains, **six)
        return Verdict(AXES[axis], loop, loop.poles(changed, axis)).stable

    return check


def _limit(stable: Callable[[float], bool], value: float, factor: float) -> float | None:
    """The value nearest to an unstable one, in the direction of the factor, at which the loop becomes stable."""
    inner = value
    for _ in range(20):
        inner *= factor
        if stable(inner):
            break
    else:
        return None
    outer = inner / factor
    for _ in range(40):
        middle = math.sqrt(inner * outer)
        inner, outer = (middle, outer) if stable(middle) else (inner, middle)
    return inner
