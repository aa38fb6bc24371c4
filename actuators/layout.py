"""Where a joint's description and state live in MuJoCo's arrays.

Description: the joint's row of `mjModel.actuator_user` (so that it is saved, copied and randomised per
simulation like any model parameter). State: the joint's slice of `mjData.act` (so that resets, keyframes,
`mj_getState`, `rollout` and `Batch` carry it).
"""

from typing import Final

from pliant.actuators.bam import FRICTION_PARAMETERS
from pliant.actuators.law import MAX_PARAMETERS

# Row of actuator_user. MuJoCo writes six digits into XML, so the identity is three 16-bit words.
MAGIC: Final = 0
IDENTITY: Final = 1
MODE: Final = 4
MOTORS: Final = 5
PIVOT: Final = 6
IMPLICIT: Final = 7
EXPLICIT_STIFFNESS: Final = 8
SUBSTEP: Final = 9
TORQUE_LIMIT: Final = 10
MAP: Final = 11
PID_AT: Final = 12
MOTOR_AT: Final = 16
PIVOT_AT: Final = 22
LAW_AT: Final = 24

# The servo that drives a joint in mode 1: which loop, its numbers, its motor, its friction.
SERVO_AT: Final = LAW_AT + MAX_PARAMETERS
SERVO_LOOP_AT: Final = SERVO_AT + 1
SERVO_MOTOR_AT: Final = SERVO_LOOP_AT + 9
SERVO_FRICTION_AT: Final = SERVO_MOTOR_AT + 4
USER_SIZE: Final = SERVO_FRICTION_AT + len(FRICTION_PARAMETERS)

NO_SERVO: Final = 0.0
P_GAIN: Final = 1.0
"""Loop: duty per rad of error, largest duty."""
COMPLIANCE: Final = 2.0
"""Loop: margins and slopes (clockwise, counter-clockwise), punch, torque limit, overload time, progress speed,
whether an overload shuts the servo down."""

MAGIC_VALUE: Final = 7411.0

# Reference maps so common that the kernel knows them; any other is reached through the law.
DIRECT: Final = 1.0
ANTAGONISTIC: Final = 2.0

# Slice of act, modes 4 to 6: four numbers a motor. A pivot drive uses the first.
ANGLE: Final = 0
SPEED: Final = 1
ANCHOR: Final = 2
INTEGRAL: Final = 3
MOTOR_SIZE: Final = 4

# Slice of act of a servo: where its gear's bristle is anchored, what is remembered of the last step, protection.
FRICTION_ANCHOR: Final = 0
LAST_SPEED: Final = 1
SERVO_TORQUE: Final = 2
OVERLOADED_FOR: Final = 3
SHUT_DOWN: Final = 4
BEGUN: Final = 5
SERVO_SIZE: Final = 6

SIGNALS: Final = (
    "position",
    "velocity",
    "torque",
    "stiffness",
    "motor_position1",
    "motor_position2",
    "motor_velocity1",
    "motor_velocity2",
    "motor_torque1",
    "motor_torque2",
    "spring_torque1",
    "spring_torque2",
)
"""What `kernel.joint_signals` writes for a joint; ideal motors (modes 2 and 3) stand at their references."""


def identity_words(identity: str) -> tuple[float, float, float]:
    """Split a law's identity (12 hexadecimal digits) into three numbers that survive six printed digits."""
    return tuple(float(int(identity[i : i + 4], 16)) for i in (0, 4, 8))  # type: ignore[return-value]


def identity_key(word1: float, word2: float, word3: float) -> int:
    """The identity as one integer, for look-up."""
    return (int(word1) << 32) | (int(word2) << 16) | int(word3)
