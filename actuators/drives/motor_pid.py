"""Motor behind a spring under its own position PID (modes 5 and 6); see `pliant.actuators.motor` and `pid`."""

from pliant.actuators.drive import motor_drive
from pliant.actuators.motor import MOTOR_PARAMETERS, loop_pole, mean_speed, motor_rates, motor_step
from pliant.actuators.pid import PID_PARAMETERS, integral_rate, integral_step, reference_rates, smoothed_speed


def rates(
    angle: float, speed: float, anchor: float, integral: float, reference: float, reference_speed: float,
    load: float, target: float, step: float, inertia: float, damping: float, torque_limit: float,
    speed_limit: float, static_friction: float, bristle_stiffness: float, kp: float, ki: float, kd: float,
    integral_limit: float, derivative_weight: float, derivative_filter: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Time derivatives of the state."""
    fifth, sixth = reference_rates(target, reference, reference_speed, step, derivative_filter)
    torque = kp * (target - angle) + integral + kd * (derivative_weight * fifth - speed)
    first, second, third = motor_rates(
        angle, speed, anchor, load, torque, inertia, damping, torque_limit, speed_limit, static_friction,
        bristle_stiffness, step,
    )  # fmt: skip
    return first, second, third, integral_rate(integral, target - angle, ki, integral_limit), fifth, sixth


def effort(
    angle: float, speed: float, integral: float, reference_speed: float, target: float, load: float, step: float,
    inertia: float, torque_limit: float, kp: float, kd: float, derivative_weight: float,
) -> float:  # fmt: skip
    """Torque of the motor, N·m."""
    now = mean_speed(speed, load, step, inertia)
    torque = kp * (target - angle) + integral + kd * (derivative_weight * reference_speed - now)
    return min(max(torque, -torque_limit), torque_limit)


def velocity(speed: float, load: float, step: float, inertia: float) -> float:
    """Speed of the motor, rad/s."""
    return mean_speed(speed, load, step, inertia)


def rest(
    angle: float, target: float, load: float, step: float, inertia: float
) -> tuple[float, float, float, float, float, float]:
    """Standing still, the bristle relaxed, the reference where it always has been."""
    return angle, -mean_speed(0.0, load, step, inertia), angle, 0.0, target, 0.0


def pole(
    spring: float, inertia: float, damping: float, static_friction: float, bristle_stiffness: float, kp: float,
    kd: float,
) -> float:  # fmt: skip
    """Quickest rate of the motor under its loop and on a spring, 1/s."""
    bristle = bristle_stiffness if static_friction > 0.0 else 0.0
    return loop_pole(inertia, damping + kd, kp + bristle + spring)


def inertia(inertia: float) -> float:
    """Of the rotor, kg·m²."""
    return inertia


@motor_drive(
    parameters=(*MOTOR_PARAMETERS, *PID_PARAMETERS),
    state=("angle", "speed", "anchor", "integral", "reference", "reference_speed"),
    rates=rates,
    effort=effort,
    velocity=velocity,
    rest=rest,
    inertia=inertia,
    pole=pole,
)
def motor_pid(
    angle: float, speed: float, anchor: float, integral: float, reference: float, load: float, target: float,
    step: float, inertia: float, damping: float, torque_limit: float, speed_limit: float, static_friction: float,
    bristle_stiffness: float, kp: float, ki: float, kd: float, integral_limit: float, derivative_weight: float,
    derivative_filter: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Angle, speed, friction anchor, integral, reference and its speed after a step."""
    summed = integral_step(integral, target - angle, step, ki, integral_limit)
    wanted = smoothed_speed(target, reference, step, derivative_filter)
    offset = summed + kd * derivative_weight * wanted
    first, second, third = motor_step(
        angle, speed, anchor, load, target, kp, kd, offset, step, inertia, damping, torque_limit, speed_limit,
        static_friction, bristle_stiffness,
    )  # fmt: skip
    return first, second, third, summed, reference + step * wanted, wanted
