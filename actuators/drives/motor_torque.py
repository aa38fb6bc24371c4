"""Motor behind a spring that a torque command drives (mode 4); see `pliant.actuators.motor`."""

from pliant.actuators.drive import motor_drive
from pliant.actuators.motor import MOTOR_PARAMETERS, loop_pole, mean_speed, motor_rates, motor_step


def rates(
    angle: float, speed: float, anchor: float, load: float, target: float, step: float, inertia: float,
    damping: float, torque_limit: float, speed_limit: float, static_friction: float, bristle_stiffness: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Time derivatives of angle, speed and friction anchor."""
    return motor_rates(
        angle, speed, anchor, load, target, inertia, damping, torque_limit, speed_limit, static_friction,
        bristle_stiffness, step,
    )  # fmt: skip


def effort(target: float, torque_limit: float) -> float:
    """The command within the motor's limit, N·m."""
    return min(max(target, -torque_limit), torque_limit)


def velocity(speed: float, load: float, step: float, inertia: float) -> float:
    """Speed of the motor, rad/s."""
    return mean_speed(speed, load, step, inertia)


def rest(angle: float, load: float, step: float, inertia: float) -> tuple[float, float, float]:
    """Standing still, the bristle relaxed."""
    return angle, -mean_speed(0.0, load, step, inertia), angle


def pole(spring: float, inertia: float, damping: float, static_friction: float, bristle_stiffness: float) -> float:
    """Quickest rate of the motor on a spring, 1/s."""
    bristle = bristle_stiffness if static_friction > 0.0 else 0.0
    return loop_pole(inertia, damping, bristle + spring)


def inertia(inertia: float) -> float:
    """Of the rotor, kg·m²."""
    return inertia


@motor_drive(
    parameters=MOTOR_PARAMETERS,
    state=("angle", "speed", "anchor"),
    rates=rates,
    effort=effort,
    velocity=velocity,
    torque_command=True,
    rest=rest,
    inertia=inertia,
    pole=pole,
)
def motor_torque(
    angle: float, speed: float, anchor: float, load: float, target: float, step: float, inertia: float,
    damping: float, torque_limit: float, speed_limit: float, static_friction: float, bristle_stiffness: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Angle, speed and friction anchor after a step."""
    return motor_step(
        angle, speed, anchor, load, target, 0.0, 0.0, target, step, inertia, damping, torque_limit, speed_limit,
        static_friction, bristle_stiffness,
    )  # fmt: skip
