"""The controllers of the X series' firmware, as pure functions: from errors to the duty of the motor.

Duty is the share of the supply voltage that is put on the motor, −1 … 1.
"""

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
