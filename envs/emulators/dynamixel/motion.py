"""The control laws of the servos' firmware, as pure functions: from errors to the duty of the motor.

Duty is the share of the supply voltage that is put on the motor, −1 … 1.
"""

import math
from typing import NamedTuple

_FULL = 885
"""PWM counts of full duty, X series and MX(2.0)."""


class Gains(NamedTuple):
    """Gains of the firmware's controllers, already divided by their table's factors."""

    p: float
    i: float
    d: float = 0.0


class Loop(NamedTuple):
    """State of a controller: the sum of its errors and the last one, in counts."""

    total: float = 0.0
    last: float | None = None


def pid(error: float, loop: Loop, gains: Gains, limit: float) -> tuple[float, Loop]:
    """Return the duty K_P·e + K_I·Σe + K_D·Δe, in PWM counts over 885, and the loop's next state.

    The sum and the difference are per tick of 1 ms. The e-manual gives the gains but not the period of the
    firmware's loop. While the output is at its limit the sum does not grow (anti-windup).

    Args:
        error: reference − present value, in counts (position) or units of 0.229 rpm (velocity).
        loop: state after the last tick.
        gains: gains in PWM counts per count.
        limit: largest |duty|.
    """
    change = 0.0 if loop.last is None else error - loop.last
    total = loop.total + error
    duty = (gains.p * error + gains.i * total + gains.d * change) / _FULL
    if abs(duty) > limit and duty * error > 0.0:
        total = loop.total
    return min(max(duty, -limit), limit), Loop(total, error)


class Compliance(NamedTuple):
    """One direction of the AX-12A's position law, angles in counts, duties as shares of 1."""

    margin: float
    slope: float
    punch: float
    limit: float


def compliance_slope(count: int) -> float:
    """Return the slope that a register means, in position counts: the power of two below it, 2 … 128."""
    return float(min(max(1 << max(count, 1).bit_length() - 1, 2), 128))


def compliant_duty(error: float, law: Compliance) -> float:
    """Return the duty of an AX-12A at a position error in counts.

    |e| ≤ M: 0;  M < |e| < M + S: sign(e)·(P + (T − P)·(|e| − M)/S);  beyond: sign(e)·T, with margin M,
    slope S, punch P and torque limit T. The punch never exceeds the limit.
    """
    excess = abs(error) - law.margin
    if excess <= 0.0:
        return 0.0
    punch = min(law.punch, law.limit)
    duty = punch + (law.limit - punch) * excess / law.slope
    return math.copysign(min(duty, law.limit), error)
