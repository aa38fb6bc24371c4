"""Position PID on the link of a rigid joint (mode 1): τ = sat(u, ±limit) with u of `pliant.actuators.pid`."""

from pliant.actuators.drive import link_drive
from pliant.actuators.motor import MOTOR_PARAMETERS
from pliant.actuators.pid import PID_PARAMETERS, integral_rate, integral_step, reference_rates, smoothed_speed


def step(
    q: float, target: float, step: float, integral: float, reference: float, ki: float, integral_limit: float,
    derivative_filter: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Integral torque, smoothed reference and its speed after a step."""
    speed = smoothed_speed(target, reference, step, derivative_filter)
    return integral_step(integral, target - q, step, ki, integral_limit), reference + step * speed, speed


def rates(
    q: float, target: float, step: float, integral: float, reference: float, reference_speed: float, ki: float,
    integral_limit: float, derivative_filter: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Their time derivatives."""
    second, third = reference_rates(target, reference, reference_speed, step, derivative_filter)
    return integral_rate(integral, target - q, ki, integral_limit), second, third


def rest(target: float) -> tuple[float, float, float]:
    """The reference where it always has been."""
    return 0.0, target, 0.0


def stiffness(kp: float) -> float:
    """N·m/rad."""
    return kp


def damping(kd: float) -> float:
    """N·m·s/rad."""
    return kd


@link_drive(
    parameters=(*PID_PARAMETERS, *(p for p in MOTOR_PARAMETERS if p.name == "torque_limit")),
    state=("integral", "reference", "reference_speed"),
    step=step,
    rates=rates,
    rest=rest,
    stiffness=stiffness,
    damping=damping,
)
def link_pid(
    q: float, dq: float, target: float, step: float, integral: float, reference: float, reference_speed: float,
    kp: float, kd: float, torque_limit: float, derivative_weight: float, derivative_filter: float,
) -> float:  # fmt: skip
    """Torque on the link, N·m; read between steps (a step of 0), with the speed that the reference last had."""
    wanted = smoothed_speed(target, reference, step, derivative_filter) if step > 0.0 else reference_speed
    torque = kp * (target - q) + integral + kd * (derivative_weight * wanted - dq)
    return min(max(torque, -torque_limit), torque_limit)
