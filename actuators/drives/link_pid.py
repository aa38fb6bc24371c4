"""Position PID on the link of a rigid joint (mode 1): τ = sat(kp·e + z − kd·q̇, ±limit), ż = ki·e, |z| limited."""

from pliant.actuators.drive import link_drive
from pliant.actuators.motor import MOTOR_PARAMETERS
from pliant.actuators.pid import PID_PARAMETERS, integral_rate, integral_step


def step(q: float, target: float, step: float, integral: float, ki: float, integral_limit: float) -> float:
    """Integral torque after a step, N·m."""
    return integral_step(integral, target - q, step, ki, integral_limit)


def rates(q: float, target: float, integral: float, ki: float, integral_limit: float) -> float:
    """Its time derivative, N·m/s."""
    return integral_rate(integral, target - q, ki, integral_limit)


def stiffness(kp: float) -> float:
    """N·m/rad."""
    return kp


def damping(kd: float) -> float:
    """N·m·s/rad."""
    return kd


@link_drive(
    parameters=(*PID_PARAMETERS, *(p for p in MOTOR_PARAMETERS if p.name == "torque_limit")),
    state=("integral",),
    step=step,
    rates=rates,
    stiffness=stiffness,
    damping=damping,
)
def link_pid(
    q: float, dq: float, target: float, integral: float, kp: float, kd: float, torque_limit: float
) -> float:
    """Torque on the link, N·m."""
    torque = kp * (target - q) + integral - kd * dq
    return min(max(torque, -torque_limit), torque_limit)
