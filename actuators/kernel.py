"""What MuJoCo's actuator callbacks compute for one joint, as plain functions over floats and arrays.

Both back ends run this very source: the Python one calls it, the native one compiles it with Numba. The three
functions at the top reach the joint's law; the native back end replaces them by calls through a pointer.

`law` is the joint's law, `p` its row of `actuator_user`, `act` its slice of `mjData.act` (see layout.py), q
and dq the link's angle and speed, c1 and c2 the controls in force.
"""

from collections.abc import MutableSequence, Sequence
from typing import Any

from pliant.actuators.layout import (
    ANCHOR,
    ANGLE,
    ANTAGONISTIC,
    DIRECT,
    EXPLICIT_STIFFNESS,
    IMPLICIT,
    INTEGRAL,
    MAP,
    MODE,
    MOTOR_AT,
    MOTOR_SIZE,
    MOTORS,
    NO_SERVO,
    PID_AT,
    PIVOT,
    PIVOT_AT,
    SERVO_AT,
    SERVO_SIZE,
    SERVO_TORQUE,
    SPEED,
    SUBSTEP,
    TORQUE_LIMIT,
)
from pliant.actuators.motor import motor_rates, motor_step, pivot_step
from pliant.actuators.pid import integral_rate, integral_step
from pliant.actuators.references import antagonistic, direct
from pliant.actuators.servo_kernel import servo_motor_torque, servo_step

Numbers = Sequence[float]
Buffer = MutableSequence[float]


def spring_torques(law: Any, q: float, theta1: float, theta2: float, p: Numbers) -> tuple[float, float]:
    """Torque of each spring on the link."""
    torques: tuple[float, float] = law.torques(q, theta1, theta2, p)
    return torques


def spring_stiffness(law: Any, q: float, theta1: float, theta2: float, p: Numbers) -> float:
    """Stiffness −∂τ/∂q."""
    stiffness: float = law.stiffness(q, theta1, theta2, p)
    return stiffness


def map_references(law: Any, equilibrium: float, preset: float, p: Numbers) -> tuple[float, float]:
    """Motor references of an equilibrium and a preset."""
    references: tuple[float, float] = law.references(equilibrium, preset, p)
    return references


def motor_references(law: Any, p: Numbers, c1: float, c2: float) -> tuple[float, float]:
    """References of the two motors from the controls, in modes 2 to 6 (mode 4: torques, passed through)."""
    if p[MODE] != 3.0 and p[MODE] != 6.0:
        return c1, c2
    if p[MAP] == ANTAGONISTIC:
        return antagonistic(c1, c2)
    if p[MAP] == DIRECT:
        return direct(c1, c2)
    return map_references(law, c1, c2, p)


def motor_angles(law: Any, p: Numbers, c1: float, c2: float, act: Numbers) -> tuple[float, float]:
    """Motor angles in force: integrated in modes 4 to 6, the references themselves in modes 2 and 3."""
    if p[MODE] >= 4.0:
        return act[ANGLE], act[MOTOR_SIZE + ANGLE] if p[MOTORS] == 2.0 else 0.0
    return motor_references(law, p, c1, c2)


def link_pid_torque(p: Numbers, q: float, dq: float, target: float, integral: float) -> float:
    """Torque of the link's position PID (mode 1), limited."""
    torque = p[PID_AT] * (target - q) + integral - p[PID_AT + 2] * dq
    return min(max(torque, -p[TORQUE_LIMIT]), p[TORQUE_LIMIT])


def link_torque(law: Any, p: Numbers, q: float, dq: float, c1: float, c2: float, act: Numbers) -> float:
    """Torque of the joint on its link; a servo's is that of the last step."""
    if p[MODE] == 0.0:
        return min(max(c1, -p[TORQUE_LIMIT]), p[TORQUE_LIMIT])
    if p[SERVO_AT] != NO_SERVO:
        return act[SERVO_TORQUE]
    if p[MODE] == 1.0:
        return link_pid_torque(p, q, dq, c1, act[0])
    theta1, theta2 = motor_angles(law, p, c1, c2, act)
    tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
    return tau1 + tau2


def implicit_stiffness(law: Any, p: Numbers, q: float, c1: float, c2: float, act: Numbers) -> float:
    """The part of the stiffness that an explicit step cannot carry, N·m/rad.

    It goes into the metric of MuJoCo's `discrete` integrator; what is below κ·I/h² stays explicit, which is
    more accurate where it is stable.
    """
    theta1, theta2 = motor_angles(law, p, c1, c2, act)
    return max(spring_stiffness(law, q, theta1, theta2, p) - p[EXPLICIT_STIFFNESS], 0.0)


def drive_torque(p: Numbers, target: float, angle: float, speed: float, integral: float) -> float:
    """Torque a motor's drive asks for, before its limit: the command in mode 4, the PID in modes 5 and 6."""
    if p[MODE] == 4.0:
        return target
    return p[PID_AT] * (target - angle) + integral - p[PID_AT + 2] * speed


def step_motor(p: Numbers, at: int, load: float, target: float, step: float, act: Buffer) -> None:
    """Advance the motor whose state starts at `act[at]` by one sub-step."""
    kp, kd, offset = 0.0, 0.0, target
    if p[MODE] != 4.0:
        error = target - act[at + ANGLE]
        act[at + INTEGRAL] = integral_step(act[at + INTEGRAL], error, step, p[PID_AT + 1], p[PID_AT + 3])
        kp, kd, offset = p[PID_AT], p[PID_AT + 2], act[at + INTEGRAL]
    act[at + ANGLE], act[at + SPEED], act[at + ANCHOR] = motor_step(
        act[at + ANGLE], act[at + SPEED], act[at + ANCHOR], load, target, kp, kd, offset, step,
        p[MOTOR_AT], p[MOTOR_AT + 1], p[MOTOR_AT + 2], p[MOTOR_AT + 3], p[MOTOR_AT + 4], p[MOTOR_AT + 5],
    )  # fmt: skip


def step_motors(law: Any, p: Numbers, q: float, dq: float, c1: float, c2: float, step: float, act: Buffer) -> None:
    """Advance the motors of a joint by one physics step, in sub-steps, the link moving on at its speed."""
    target1, target2 = motor_references(law, p, c1, c2)
    count = max(int(step / p[SUBSTEP] + 0.999), 1)
    small = step / count
    for k in range(count):
        link = q + dq * small * (k + 0.5)
        theta1 = act[ANGLE] + 0.5 * small * act[SPEED]
        theta2 = 0.0
        if p[MOTORS] == 2.0:
            theta2 = act[MOTOR_SIZE + ANGLE] + 0.5 * small * act[MOTOR_SIZE + SPEED]
        load1, load2 = spring_torques(law, link, theta1, theta2, p)
        step_motor(p, 0, load1, target1, small, act)
        if p[PIVOT] == 1.0:
            act[MOTOR_SIZE] = pivot_step(act[MOTOR_SIZE], target2, small, p[PIVOT_AT], p[PIVOT_AT + 1])
        elif p[MOTORS] == 2.0:
            step_motor(p, MOTOR_SIZE, load2, target2, small, act)


def motor_derivatives(
    p: Numbers, at: int, load: float, target: float, act: Numbers, rates: Buffer, step: float
) -> None:
    """Write the time derivatives of the motor whose state starts at `act[at]`."""
    angle, speed, integral = act[at + ANGLE], act[at + SPEED], act[at + INTEGRAL]
    torque = drive_torque(p, target, angle, speed, integral)
    rates[at + ANGLE], rates[at + SPEED], rates[at + ANCHOR] = motor_rates(
        angle, speed, act[at + ANCHOR], load, torque,
        p[MOTOR_AT], p[MOTOR_AT + 1], p[MOTOR_AT + 2], p[MOTOR_AT + 3], p[MOTOR_AT + 4], p[MOTOR_AT + 5], step,
    )  # fmt: skip
    rates[at + INTEGRAL] = 0.0
    if p[MODE] != 4.0:
        rates[at + INTEGRAL] = integral_rate(integral, target - angle, p[PID_AT + 1], p[PID_AT + 3])


def joint_derivatives(
    law: Any, p: Numbers, q: float, c1: float, c2: float, act: Numbers, rates: Buffer, step: float
) -> None:
    """Write the time derivatives of all motors of a joint (multi-stage integrators)."""
    target1, target2 = motor_references(law, p, c1, c2)
    theta2 = act[MOTOR_SIZE + ANGLE] if p[MOTORS] == 2.0 else 0.0
    load1, load2 = spring_torques(law, q, act[ANGLE], theta2, p)
    motor_derivatives(p, 0, load1, target1, act, rates, step)
    if p[PIVOT] == 1.0:
        rate = (target2 - theta2) / p[PIVOT_AT]
        rates[MOTOR_SIZE] = min(max(rate, -p[PIVOT_AT + 1]), p[PIVOT_AT + 1])
        for k in range(1, MOTOR_SIZE):
            rates[MOTOR_SIZE + k] = 0.0
    elif p[MOTORS] == 2.0:
        motor_derivatives(p, MOTOR_SIZE, load2, target2, act, rates, step)


def act_rates(
    law: Any,
    p: Numbers,
    q: float,
    dq: float,
    c1: float,
    c2: float,
    act: Numbers,
    rates: Buffer,
    step: float,
    multistage: bool,
    inertia: float,
    low: float,
    high: float,
) -> None:
    """Write `act_dot` of one joint.

    Single-step integrators add `step * act_dot` to `act`, so the rate written for them is that of the joint's
    own sub-stepped motion, (new − old)/step. RK4 asks for derivatives at several stages and gets those.

    Args:
        multistage: the integrator is RK4.
        inertia: of the joint with all that hangs on it, kg·m²; only for a servo.
        low: least torque that the joint lets through (`actuatorfrcrange`), N·m; only for a servo.
        high: largest.
    """
    size = 0
    if p[SERVO_AT] != NO_SERVO:
        servo_step(p, q, dq, c1, step, inertia, low, high, act, rates)
        for i in range(SERVO_SIZE):
            rates[i] = (rates[i] - act[i]) / step
    elif p[MODE] == 1.0:
        size = 1
        rates[0] = (integral_step(act[0], c1 - q, step, p[PID_AT + 1], p[PID_AT + 3]) - act[0]) / step
        if multistage:
            rates[0] = integral_rate(act[0], c1 - q, p[PID_AT + 1], p[PID_AT + 3])
    elif p[MODE] >= 4.0:
        size = MOTOR_SIZE * int(p[MOTORS])
        if multistage:
            joint_derivatives(law, p, q, c1, c2, act, rates, step)
        else:
            for i in range(size):
                rates[i] = act[i]
            step_motors(law, p, q, dq, c1, c2, step, rates)
            for i in range(size):
                rates[i] = (rates[i] - act[i]) / step
    if p[IMPLICIT] == 1.0:
        rates[size] = (-implicit_stiffness(law, p, q, c1, c2, act) - act[size]) / step


def carried_motion(
    law: Any, p: Numbers, q: float, torque: float, stiffness: float, act: Numbers, rates: Numbers, step: float
) -> float:
    """Torque that the motors' own motion during the step adds to the implicit part of the spring.

    The integrator takes that part at the link angle of the step's end; with the motors left at its beginning, a
    moving joint would be dragged by K·h·θ̇.
    """
    theta1 = act[ANGLE] + step * rates[ANGLE]
    theta2 = 0.0
    if p[MOTORS] == 2.0:
        theta2 = act[MOTOR_SIZE + ANGLE] + step * rates[MOTOR_SIZE + ANGLE]
    tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
    return (tau1 + tau2 - torque) * stiffness / (stiffness + p[EXPLICIT_STIFFNESS])


def bias_force(
    law: Any, p: Numbers, q: float, dq: float, c1: float, c2: float, act: Numbers, rates: Numbers, step: float
) -> float:
    """Bias force of a joint's first actuator: its torque, less what MuJoCo's gain term adds by itself.

    With implicit stiffness the last activation is −K and the gain is the joint angle: MuJoCo adds −K·q (with
    the next activation, `actearly`) and knows its derivative. Taking it back here leaves the torque exact.
    """
    if p[SERVO_AT] != NO_SERVO:
        return act[SERVO_TORQUE] + step * rates[SERVO_TORQUE]
    torque = link_torque(law, p, q, dq, c1, c2, act)
    if p[IMPLICIT] == 0.0:
        return torque
    last = MOTOR_SIZE * int(p[MOTORS]) if p[MODE] >= 4.0 else 0
    stiffness = -(act[last] + step * rates[last])
    if p[MODE] >= 4.0 and stiffness > 0.0:
        torque += carried_motion(law, p, q, torque, stiffness, act, rates, step)
    return torque + stiffness * q


def joint_signals(
    law: Any,
    p: Numbers,
    q: float,
    dq: float,
    c1: float,
    c2: float,
    act: Numbers,
    low: float,
    high: float,
    out: Buffer,
) -> None:
    """Write everything that can be read of a joint, in the order of layout.SIGNALS.

    Args:
        low: least torque that the joint lets through (`actuatorfrcrange`), N·m.
        high: largest.
    """
    theta1, theta2, tau1, tau2 = 0.0, 0.0, 0.0, 0.0
    stiffness = 0.0
    if p[MODE] >= 2.0:
        theta1, theta2 = motor_angles(law, p, c1, c2, act)
        tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
        stiffness = spring_stiffness(law, q, theta1, theta2, p)
    out[0] = q
    out[1] = dq
    out[2] = min(max(link_torque(law, p, q, dq, c1, c2, act), low), high)
    out[3] = stiffness
    out[4], out[5] = theta1, theta2
    out[6], out[7] = 0.0, 0.0
    out[8], out[9] = 0.0, 0.0
    out[10], out[11] = tau1, tau2
    if p[SERVO_AT] != NO_SERVO:
        out[8] = servo_motor_torque(p, q, dq, c1, act)
    if p[MODE] >= 4.0:
        target1, target2 = motor_references(law, p, c1, c2)
        limit = p[MOTOR_AT + 2]
        torque = drive_torque(p, target1, theta1, act[SPEED], act[INTEGRAL])
        out[6], out[8] = act[SPEED], min(max(torque, -limit), limit)
        if p[MOTORS] == 2.0 and p[PIVOT] == 0.0:
            torque = drive_torque(p, target2, theta2, act[MOTOR_SIZE + SPEED], act[MOTOR_SIZE + INTEGRAL])
            out[7], out[9] = act[MOTOR_SIZE + SPEED], min(max(torque, -limit), limit)
        elif p[PIVOT] == 1.0:
            rate = (target2 - theta2) / p[PIVOT_AT]
            out[7] = min(max(rate, -p[PIVOT_AT + 1]), p[PIVOT_AT + 1])
