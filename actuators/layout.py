"""Where a joint's description and state live in MuJoCo's arrays.

Description: the joint's row of `mjModel.actuator_user` (so that it is saved, copied and randomised per
simulation like any model parameter). State: the joint's slice of `mjData.act` (so that resets, keyframes,
`mj_getState`, `rollout` and `Batch` carry it).
"""

from typing import Final

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
USER_SIZE: Final = LAW_AT + MAX_PARAMETERS

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


def act_size(mode: int, motors: int, implicit: bool) -> int:
    """Number of activation variables of a joint's first actuator."""
    size = MOTOR_SIZE * motors if mode >= 4 else (1 if mode == 1 else 0)
    return size + (1 if implicit else 0)


def identity_words(identity: str) -> tuple[float, float, float]:
    """Split a law's identity (12 hexadecimal digits) into three numbers that survive six printed digits."""
    return tuple(float(int(identity[i : i + 4], 16)) for i in (0, 4, 8))  # type: ignore[return-value]


def identity_key(word1: float, word2: float, word3: float) -> int:
    """The identity as one integer, for look-up."""
    return (int(word1) << 32) | (int(word2) << 16) | int(word3)
