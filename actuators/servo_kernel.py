"""What MuJoCo's actuator callbacks compute for a joint that a position servo drives (mode 1).

Firmware: the position error becomes a duty cycle, by a P gain or by the compliance law of an AX-12A, which also
counts its overload and shuts down. Motor: a DC motor, its inertia on the MuJoCo joint as armature. Gear: friction
with a budget (`pliant.actuators.bam`), carried by a bristle:

    τf = −clip(K·(q − w) + D·q̇, ±budget),   w dragged along so that |K·(q − w)| ≤ budget,   D = 2·h·K

so that it takes energy only, holds still what it can hold, and needs no constraint. K is what an explicit step
carries on the joint's smallest inertia (row `EXPLICIT_STIFFNESS`): the bristle gives way by budget/K, which falls
with the square of the step, and is half-critically damped. Where the joint would turn round within a step it is
stopped exactly, as the friction of rest begins at the speed zero.

The load on the gear (τe of the friction laws) is not known to a callback when contacts have a part in it. It
is taken from the step before: what accelerated the joint and did not come from the servo,

    τe = I·Δq̇/h − τ,   I: the joint's own entry of the inertia matrix, τ: the servo's torque, friction included

which for a pendulum is its weight, and is found from positions, velocities and activations alone, so that a
state that is copied or restored goes on as it did.

`p` is the joint's row of `actuator_user`, `act` its slice of `mjData.act`; see layout.py.
"""

from collections.abc import MutableSequence, Sequence

from pliant.actuators.ax12a import COUNT, FULL, compliance_drive, overload_clock
from pliant.actuators.bam import (
    REFERENCE_TEMPERATURE,
    friction_budget,
    friction_torque,
    loaded_resistance,
    motor_torque,
    servo_duty,
)
from pliant.actuators.layout import (
    BEGUN,
    COMPLIANCE,
    EXPLICIT_STIFFNESS,
    FRICTION_ANCHOR,
    LAST_SPEED,
    OVERLOADED_FOR,
    SERVO_AT,
    SERVO_FRICTION_AT,
    SERVO_LOOP_AT,
    SERVO_MOTOR_AT,
    SERVO_TORQUE,
    SHUT_DOWN,
)

Numbers = Sequence[float]
Buffer = MutableSequence[float]


def firmware_duty(p: Numbers, error: float) -> float:
    """Duty cycle −1…1 for a position error, rad."""
    at = SERVO_LOOP_AT
    if p[SERVO_AT] != COMPLIANCE:
        return servo_duty(error, 1.0, p[at], p[at + 1])
    side = 1 if error > 0.0 else 0
    return compliance_drive(error / COUNT, p[at + side], p[at + 2 + side], p[at + 4], p[at + 5]) / FULL


def servo_motor_torque(p: Numbers, q: float, dq: float, target: float, act: Numbers) -> float:
    """Torque of the motor before friction, N·m; zero after a shutdown, when the motor turns freely."""
    if act[SHUT_DOWN] != 0.0:
        return 0.0
    at = SERVO_MOTOR_AT
    duty = firmware_duty(p, target - q)
    resistance = loaded_resistance(duty, REFERENCE_TEMPERATURE, p[at + 2], p[at + 3], 0.0)
    return motor_torque(duty, dq, p[at], p[at + 1], resistance)


def gear_friction(
    q: float,
    dq: float,
    torque: float,
    anchor: float,
    budget: float,
    bristle_stiffness: float,
    inertia: float,
    step: float,
) -> tuple[float, float]:
    """Friction over a step, N·m, and the bristle's anchor after it, rad.

    Args:
        q: angle of the joint, rad.
        dq: its speed, rad/s.
        torque: of motor and load on it, N·m.
        anchor: w, rad.
        budget: largest friction, N·m.
        bristle_stiffness: K, N·m/rad.
        inertia: I, kg·m².
        step: h, s.
    """
    reach = budget / bristle_stiffness
    held = min(max(anchor, q - reach), q + reach)
    pull = bristle_stiffness * (q - held + 2.0 * step * dq)
    friction = friction_torque(-pull, budget)
    after = dq + step * (torque + friction) / inertia
    if abs(pull) > budget and after * dq < 0.0:  # it slips and would turn round: it stops, its bristle in balance
        friction = friction_torque(-(inertia * dq / step + torque), budget)
        held = q - torque / bristle_stiffness
    return friction, held


def servo_step(
    p: Numbers,
    q: float,
    dq: float,
    target: float,
    step: float,
    inertia: float,
    low: float,
    high: float,
    act: Numbers,
    new: Buffer,
) -> None:
    """Write the activations after a step; among them the torque of the servo over the step, friction included.

    Args:
        p: the joint's row.
        q: angle of the joint, rad.
        dq: its speed, rad/s.
        target: goal in force, rad.
        step: s.
        inertia: of the joint, with all that hangs on it and the servo's armature, kg·m².
        low: least torque that the joint lets through, N·m.
        high: largest.
        act: activations before the step.
        new: written.
    """
    motor = servo_motor_torque(p, q, dq, target, act)
    external, anchor = 0.0, q
    if act[BEGUN] != 0.0:
        external, anchor = inertia * (dq - act[LAST_SPEED]) / step - act[SERVO_TORQUE], act[FRICTION_ANCHOR]
    at = SERVO_FRICTION_AT
    budget = friction_budget(
        dq, motor, external, p[at], p[at + 1], p[at + 2], p[at + 3], p[at + 4], p[at + 5], p[at + 6], p[at + 7],
        p[at + 8], p[at + 9], p[at + 10],
    )  # fmt: skip
    friction, new[FRICTION_ANCHOR] = gear_friction(
        q, dq, motor + external, anchor, budget, p[EXPLICIT_STIFFNESS], inertia, step
    )
    new[SERVO_TORQUE] = min(max(motor + friction, low), high)
    new[LAST_SPEED] = dq
    new[BEGUN] = 1.0
    new[OVERLOADED_FOR], new[SHUT_DOWN] = act[OVERLOADED_FOR], act[SHUT_DOWN]
    if p[SERVO_AT] == COMPLIANCE and act[SHUT_DOWN] == 0.0:
        at = SERVO_LOOP_AT
        drive = firmware_duty(p, target - q) * FULL
        new[OVERLOADED_FOR] = overload_clock(act[OVERLOADED_FOR], drive, p[at + 5], dq, p[at + 7], step)
        if p[at + 8] != 0.0 and new[OVERLOADED_FOR] >= p[at + 6]:
            new[SHUT_DOWN] = 1.0
