"""Position PID of the low-level control, with the integral clamped against wind-up.

u = kp·e + z + kd·(c·θ̇_desired − θ̇), ż = ki·e, |z| ≤ integral_limit, e = θ_desired − θ

With the weight c = 1 the derivative is that of the error, as in equation 11 of Mengacci et al.: the loop follows
a ramp with a lag of D/kp, and a step of the reference kicks it, as hard as its torque limit lets it. With c = 0 it
is that of the measured angle alone, as in their toolbox: no kick, and a lag of (kd + D)/kp. (Åström & Hägglund,
"Advanced PID Control", 2006, call c the set-point weight of the derivative.)

θ̇_desired is that of the reference smoothed by a first-order lag, because references come in steps, one a command:
with a lag of a time step only, every one of them would be a kick that is lost in the torque limit. With the
default of 2 ms the default motor's loop has at 6 Hz a gain of 1.08 and a phase of −12° (without it 1.04 and −9°,
with c = 0 0.62 and −63°); for commands that are held for long, half that time is a good lag.
"""

from dataclasses import dataclass

from pliant.actuators.parameters import Parameter, resolve

PID_PARAMETERS = (
    Parameter("kp", "N·m/rad", 125.0, 0.0, 1e6, "proportional gain", "toolbox"),
    Parameter("ki", "N·m/(rad·s)", 0.0, 0.0, 1e6, "integral gain", "toolbox"),
    Parameter("kd", "N·m·s/rad", 4.5, 0.0, 1e5, "derivative gain", "toolbox"),
    Parameter("integral_limit", "N·m", 2.0, 0.0, 1e4, "largest integral torque", "estimate"),
    Parameter(
        "derivative_weight", "1", 1.0, 0.0, 1.0, "share c of the reference's speed in the derivative", "paper"
    ),
    Parameter("derivative_filter", "s", 2e-3, 0.0, 1.0, "time constant T by which that speed lags", "estimate"),
)


@dataclass(frozen=True)
class PID:
    """Gains of a position PID. The defaults are the motor loop's: ωn = 73 rad/s, ζ = 1.4 with the default motor.

    The link loop of mode 1 has its own defaults, `LINK_PID`.
    """

    kp: float = 125.0
    """N·m/rad"""
    ki: float = 0.0
    """N·m/(rad·s)"""
    kd: float = 4.5
    """N·m·s/rad"""
    integral_limit: float = 2.0
    """N·m"""
    derivative_weight: float = 1.0
    """1: the derivative is that of the error (the paper); 0: of the measured angle (the toolbox)"""
    derivative_filter: float = 2e-3
    """s; time constant by which the speed of the reference is smoothed"""

    def __post_init__(self) -> None:
        resolve("PID", PID_PARAMETERS, vars(self))

    @property
    def values(self) -> tuple[float, ...]:
        """Values in the order of `PID_PARAMETERS`."""
        return resolve("PID", PID_PARAMETERS, vars(self))


LINK_PID = PID(kp=0.8, ki=0.0, kd=0.2)
"""Gains of the link loop of mode 1 (toolbox)."""


def integral_rate(integral: float, error: float, ki: float, limit: float) -> float:
    """ż = ki·e; zero where z is at its limit and the error would push it further."""
    rate = ki * error
    if (integral >= limit and rate > 0.0) or (integral <= -limit and rate < 0.0):
        return 0.0
    return rate


def smoothed_speed(target: float, reference: float, step: float, time_constant: float) -> float:
    """Speed over a step of a reference that follows the given one with a lag, implicitly integrated."""
    return (target - reference) / (time_constant + step)


def reference_rates(
    target: float, reference: float, reference_speed: float, step: float, time_constant: float
) -> tuple[float, float]:
    """Time derivatives of the smoothed reference and of the speed that is remembered of it, for RK4."""
    speed = smoothed_speed(target, reference, step, time_constant)
    return speed, (speed - reference_speed) / step


def integral_step(integral: float, error: float, step: float, ki: float, limit: float) -> float:
    """Integral torque z after one step, clamped to ±limit."""
    return min(max(integral + step * ki * error, -limit), limit)
