"""Position PID of the low-level control, with the integral clamped against wind-up.

u = kp·e + z − kd·θ̇, ż = ki·e, |z| ≤ integral_limit, e = θ_desired − θ

The derivative acts on the measured speed, not on the error, so that a step of the reference causes no kick.
"""

from dataclasses import dataclass

from pliant.actuators.parameters import Parameter, resolve

PID_PARAMETERS = (
    Parameter("kp", "N·m/rad", 125.0, 0.0, 1e6, "proportional gain", "toolbox"),
    Parameter("ki", "N·m/(rad·s)", 0.0, 0.0, 1e6, "integral gain", "toolbox"),
    Parameter("kd", "N·m·s/rad", 4.5, 0.0, 1e5, "derivative gain", "toolbox"),
    Parameter("integral_limit", "N·m", 2.0, 0.0, 1e4, "largest integral torque", "estimate"),
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


def integral_step(integral: float, error: float, step: float, ki: float, limit: float) -> float:
    """Integral torque z after one step, clamped to ±limit."""
    return min(max(integral + step * ki * error, -limit), limit)
