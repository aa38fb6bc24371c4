"""Drive that moves the pivot of a lever (AwAS-II): a rate-limited first-order lag that the spring cannot move.

σ̇ = clamp((σ_d − σ)/T, ±v_max), all in m and s. Its state is the position, called `angle` as in any motor.
"""

from pliant.actuators.drive import motor_drive
from pliant.actuators.motor import PIVOT_PARAMETERS, pivot_step


def velocity(angle: float, target: float, time_constant: float, speed_limit: float) -> float:
    """Speed of the pivot, m/s."""
    return min(max((target - angle) / time_constant, -speed_limit), speed_limit)


def pole(time_constant: float) -> float:
    """1/s; RK4 is asked for a step within the lag, so it is made as quick as 2.6 of them."""
    return 2.6 / time_constant


@motor_drive(parameters=PIVOT_PARAMETERS, state=("angle",), rates=velocity, velocity=velocity, pole=pole)
def lever_pivot(angle: float, target: float, step: float, time_constant: float, speed_limit: float) -> float:
    """Position of the pivot after a step, m."""
    return pivot_step(angle, target, step, time_constant, speed_limit)
