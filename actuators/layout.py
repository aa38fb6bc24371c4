"""Where a joint's description and state live in MuJoCo's arrays.

Description: the joint's row of `mjModel.actuator_user` (so that it is saved, copied and randomised per
simulation like any model parameter). State: the joint's slice of `mjData.act` (so that resets, keyframes,
`mj_getState`, `rollout` and `Batch` carry it).
"""

from typing import Final

MOST_LAW_PARAMETERS: Final = 16
MOST_DRIVE_PARAMETERS: Final = 32
"""A law's and a drive's parameters travel in fixed blocks of the row."""

# Row of actuator_user. MuJoCo writes six digits into XML, so an identity is three 16-bit words.
MAGIC: Final = 0
IDENTITY: Final = 1
MODE: Final = 4
MOTORS: Final = 5
PIVOT: Final = 6
IMPLICIT: Final = 7
EXPLICIT_STIFFNESS: Final = 8
STATE: Final = 9
"""Number of activations of the drives; with implicit stiffness one more follows."""
MAP: Final = 10
DRIVE: Final = 11
"""Identity of the drive of the link or of the first motor; zeros for ideal motors."""
SECOND_DRIVE: Final = 14
"""Identity of the drive of the second motor."""
SECOND_STATE: Final = 17
"""Where its state begins in the joint's activations."""
SECOND_AT: Final = 18
"""Where its parameters begin in the row."""
LARGEST_STEP: Final = 19
"""Time step at which the model's joints become unstable, s; 0: not known. A longer one ends in NaN."""
LAW_AT: Final = 24
DRIVE_AT: Final = LAW_AT + MOST_LAW_PARAMETERS
OTHER_AT: Final = DRIVE_AT + MOST_DRIVE_PARAMETERS
"""Parameters of a second drive that is not like the first."""
MOST_OTHER_PARAMETERS: Final = 8
USER_SIZE: Final = OTHER_AT + MOST_OTHER_PARAMETERS

MAGIC_VALUE: Final = 7412.0

# Reference maps so common that the kernel knows them; any other is reached through the law.
DIRECT: Final = 1.0
ANTAGONISTIC: Final = 2.0

# Slice of act of a motor: its drive's state, the angle first.
ANGLE: Final = 0
LEAST_MOTOR_STATE: Final = 4
"""A motor has as many activations at least, so that what follows stands where it does with the usual motor."""

# What a drive is asked for (see `drive.DriveKind.text`).
STEP: Final = 0
"""Write the state after a step to `out`."""
RATES: Final = 1
"""Write the time derivatives of the state to `out`."""
TORQUE: Final = 2
"""Return the torque on the link."""
TORQUE_AFTER: Final = 3
"""Return the torque over the step whose change of state is `step·rates`."""
EFFORT: Final = 4
"""Return the torque of the motor."""
VELOCITY: Final = 5
"""Return the speed of the motor."""

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
    """Split an identity (12 hexadecimal digits) into three numbers that survive six printed digits."""
    return tuple(float(int(identity[i : i + 4], 16)) for i in (0, 4, 8))  # type: ignore[return-value]


def identity_key(word1: float, word2: float, word3: float) -> int:
    """The identity as one integer, for look-up."""
    return (int(word1) << 32) | (int(word2) << 16) | int(word3)
