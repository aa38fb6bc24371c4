"""Motor behind a spring under its own position PID (modes 5 and 6); see `pliant.actuators.motor` and `pid`."""

from pliant.actuators.drive import motor_drive
from pliant.actuators.motor import MOTOR_PARAMETERS, loop_pole, motor_rates, motor_step
from pliant.actuators.pid import PID_PARAMETERS, integral_rate, integral_step


def rates(
    angle: float, speed: float, anchor: float, integral: float, load: float, target: float, step: float,
    inertia: float, damping: float, torque_limit: float, speed_limit: float, static_friction: float,
    bristle_stiffness: float, kp: float, ki: float, kd: float, integral_limit: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Time derivatives of angle, speed, friction anchor and integral."""
    torque = kp * (target - angle) + integral - kd * speed
    first, second, third = motor_rates(
        angle, speed, anchor, load, torque, inertia, damping, torque_limit, speed_limit, static_friction,
        bristle_stiffness, step,
    )  # fmt: skip
    return first, second, third, integral_rate(integral, target - angle, ki, integral_limit)


def effort(
    angle: float, speed: float, integral: float, target: float, torque_limit: float, kp: float, kd: float
) -> float:
    """Torque of the motor, N·m."""
    torque = kp * (target - angle) + integral - kd * speed
    return min(max(torque, -torque_limit), torque_limit)


def rest(angle: float) -> tuple[float, float, float, float]:
    """Standing still, the bristle relaxed."""
    return angle, 0.0, angle, 0.0


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
    state=("angle", "speed", "anchor", "integral"),
    rates=rates,
    effort=effort,
    rest=rest,
    inertia=inertia,
    pole=pole,
)
def motor_pid(
    angle: float, speed: float, anchor: float, integral: float, load: float, target: float, step: float,
    inertia: float, damping: float, torque_limit: float, speed_limit: float, static_friction: float,
    bristle_stiffness: float, kp: float, ki: float, kd: float, integral_limit: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Angle, speed, friction anchor and integral after a step."""
    summed = integral_step(integral, target - angle, step, ki, integral_limit)
    first, second, third = motor_step(
        angle, speed, anchor, load, target, kp, kd, summed, step, inertia, damping, torque_limit, speed_limit,
        static_friction, bristle_stiffness,
    )  # fmt: skip
    return first, second, third, summed
