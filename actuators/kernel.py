"""What MuJoCo's actuator callbacks compute for one joint, as plain functions over floats and arrays.

Both back ends run this very source: the Python one calls it, the native one compiles it with Numba. The four
functions at the top reach the joint's law and drives; the native back end replaces them by calls through pointers.

`law` is the joint's law, `drive` the drive of its link or first motor, `second` that of its second motor, `p`
its row of `actuator_user`, `act` its slice of `mjData.act` (see layout.py), q and dq the link's angle and speed,
c1 and c2 the controls in force.
"""

from collections.abc import MutableSequence, Sequence
from typing import Any

from pliant.actuators.layout import (
    ANGLE,
    ANTAGONISTIC,
    DIRECT,
    DRIVE_AT,
    EFFORT,
    EXPLICIT_STIFFNESS,
    IMPLICIT,
    MAP,
    MODE,
    MOTORS,
    RATES,
    SECOND_AT,
    SECOND_STATE,
    STATE,
    STEP,
    TORQUE,
    TORQUE_AFTER,
    VELOCITY,
)
from pliant.actuators.references import antagonistic, direct

_AHEAD = 1e-6
"""By how much, in rad and N·m, a derivative looks ahead."""

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


def call_drive(
    drive: Any,
    which: int,
    q: float,
    dq: float,
    target: float,
    load: float,
    step: float,
    inertia: float,
    explicit_stiffness: float,
    low: float,
    high: float,
    p: Numbers,
    at: int,
    act: Numbers,
    base: int,
    rates: Numbers,
    out: Buffer,
) -> float:
    """Ask a drive for something; see `layout.STEP` and `drive.DriveKind.text`."""
    value: float = drive(
        which, q, dq, target, load, step, inertia, explicit_stiffness, low, high, p, at, act, base, rates, out
    )
    return value


def ask_link(
    drive: Any,
    which: int,
    p: Numbers,
    q: float,
    dq: float,
    target: float,
    step: float,
    act: Numbers,
    rates: Buffer,
) -> float:
    """Torque or effort of a rigid joint's drive."""
    return call_drive(
        drive,
        which,
        q,
        dq,
        target,
        0.0,
        step,
        0.0,
        p[EXPLICIT_STIFFNESS],
        0.0,
        0.0,
        p,
        DRIVE_AT,
        act,
        0,
        rates,
        rates,
    )


def ask_motor(
    drive: Any, which: int, p: Numbers, at: int, target: float, load: float, step: float, act: Numbers, base: int,
    out: Buffer,
) -> float:  # fmt: skip
    """Step, rates, effort or speed of the motor whose state begins at `act[base]`, its parameters at `p[at]`."""
    return call_drive(drive, which, 0.0, 0.0, target, load, step, 0.0, 0.0, 0.0, 0.0, p, at, act, base, act, out)


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
        return act[ANGLE], act[int(p[SECOND_STATE]) + ANGLE] if p[MOTORS] == 2.0 else 0.0
    return motor_references(law, p, c1, c2)


def implicit_stiffness(law: Any, p: Numbers, q: float, c1: float, c2: float, act: Numbers) -> float:
    """The part of the stiffness that an explicit step cannot carry, N·m/rad.

    It goes into the metric of MuJoCo's `discrete` integrator; what is below κ·I/h² stays explicit, which is
    more accurate where it is stable.
    """
    theta1, theta2 = motor_angles(law, p, c1, c2, act)
    return max(spring_stiffness(law, q, theta1, theta2, p) - p[EXPLICIT_STIFFNESS], 0.0)


def step_motors(
    law: Any,
    drive: Any,
    second: Any,
    p: Numbers,
    q: float,
    dq: float,
    c1: float,
    c2: float,
    step: float,
    inertia: float,
    force: float,
    act: Numbers,
    out: Buffer,
) -> None:
    """Advance the motors of a joint by one physics step, under the torque that their springs put on the link."""
    target1, target2 = motor_references(law, p, c1, c2)
    base, at = int(p[SECOND_STATE]), int(p[SECOND_AT])
    theta1 = act[ANGLE]
    theta2 = act[base + ANGLE] if p[MOTORS] == 2.0 else 0.0
    load1, load2 = spring_torques(law, q, theta1, theta2, p)
    if p[IMPLICIT] == 1.0:
        whole = spring_stiffness(law, q, theta1, theta2, p)
        if whole > p[EXPLICIT_STIFFNESS]:
            ahead1, ahead2 = spring_torques(law, q + _AHEAD, theta1, theta2, p)
            share = (1.0 - p[EXPLICIT_STIFFNESS] / whole) / _AHEAD
            moved1, stiffness1 = yielding(
                drive, p, DRIVE_AT, target1, load1, share * (load1 - ahead1), step, act, 0, out
            )
            moved2, stiffness2 = 0.0, 0.0
            if p[MOTORS] == 2.0:
                moved2, stiffness2 = yielding(
                    second, p, at, target2, load2, share * (load2 - ahead2), step, act, base, out
                )
            per_force = step * step / inertia
            pulled = load1 + load2 + stiffness1 * moved1 + stiffness2 * moved2 + force
            link = (step * dq + per_force * pulled) / (1.0 + per_force * (stiffness1 + stiffness2))
            load1 += stiffness1 * (moved1 - link)
            load2 += stiffness2 * (moved2 - link)
    ask_motor(drive, STEP, p, DRIVE_AT, target1, load1, step, act, 0, out)
    if p[MOTORS] == 2.0:
        ask_motor(second, STEP, p, at, target2, load2, step, act, base, out)


def yielding(
    drive: Any, p: Numbers, at: int, target: float, load: float, stiffness: float, step: float, act: Numbers,
    base: int, out: Buffer,
) -> tuple[float, float]:  # fmt: skip
    """How far a motor moves in a step under a load, and the stiffness of its spring with the motor in series.

    A motor that yields by c per N·m leaves of a stiffness k, over the step, k/(1 + k·c).
    """
    ask_motor(drive, STEP, p, at, target, load, step, act, base, out)
    moved = out[base + ANGLE] - act[base + ANGLE]
    less = load if abs(load) > _AHEAD else _AHEAD
    ask_motor(drive, STEP, p, at, target, load - less, step, act, base, out)
    yields = (out[base + ANGLE] - act[base + ANGLE] - moved) / less
    return moved, stiffness / (1.0 + stiffness * max(yields, 0.0))


def joint_derivatives(
    law: Any, drive: Any, second: Any, p: Numbers, q: float, c1: float, c2: float, act: Numbers, rates: Buffer,
    step: float,
) -> None:  # fmt: skip
    """Write the time derivatives of all motors of a joint (multi-stage integrators)."""
    target1, target2 = motor_references(law, p, c1, c2)
    base = int(p[SECOND_STATE])
    theta2 = act[base + ANGLE] if p[MOTORS] == 2.0 else 0.0
    load1, load2 = spring_torques(law, q, act[ANGLE], theta2, p)
    ask_motor(drive, RATES, p, DRIVE_AT, target1, load1, step, act, 0, rates)
    if p[MOTORS] == 2.0:
        ask_motor(second, RATES, p, int(p[SECOND_AT]), target2, load2, step, act, base, rates)


def act_rates(
    law: Any,
    drive: Any,
    second: Any,
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
    force: float,
    low: float,
    high: float,
) -> None:
    """Write `act_dot` of one joint.

    Single-step integrators add `step * act_dot` to `act`, so the rate written for them is that of the joint's
    own step, (new − old)/step. RK4 asks for derivatives at several stages and gets those.

    Args:
        multistage: the integrator is RK4.
        inertia: of the joint with all that hangs on it, kg·m².
        force: on the joint without that of its actuators, N·m.
        low: least torque that the joint lets through (`actuatorfrcrange`), N·m.
        high: largest.
    """
    size = int(p[STATE])
    if size > 0 and multistage:
        for i in range(size):
            rates[i] = 0.0
        if p[MODE] >= 4.0:
            joint_derivatives(law, drive, second, p, q, c1, c2, act, rates, step)
        else:
            call_drive(
                drive, RATES, q, dq, c1, 0.0, step, inertia, p[EXPLICIT_STIFFNESS], low, high, p, DRIVE_AT, act, 0,
                rates, rates,
            )  # fmt: skip
    elif size > 0:
        for i in range(size):
            rates[i] = act[i]
        if p[MODE] >= 4.0:
            step_motors(law, drive, second, p, q, dq, c1, c2, step, inertia, force, act, rates)
        else:
            call_drive(
                drive, STEP, q, dq, c1, 0.0, step, inertia, p[EXPLICIT_STIFFNESS], low, high, p, DRIVE_AT, act, 0,
                rates, rates,
            )  # fmt: skip
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
        base = int(p[SECOND_STATE])
        theta2 = act[base + ANGLE] + step * rates[base + ANGLE]
    tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
    return (tau1 + tau2 - torque) * stiffness / (stiffness + p[EXPLICIT_STIFFNESS])


def bias_force(
    law: Any,
    drive: Any,
    p: Numbers,
    q: float,
    dq: float,
    c1: float,
    c2: float,
    act: Numbers,
    rates: Buffer,
    step: float,
) -> float:
    """Bias force of a joint's first actuator: its torque, less what MuJoCo's gain term adds by itself.

    With implicit stiffness the last activation is −K and the gain is the joint angle: MuJoCo adds −K·q (with
    the next activation, `actearly`) and knows its derivative. Taking it back here leaves the torque exact.
    """
    if p[MODE] < 2.0:
        return ask_link(drive, TORQUE_AFTER, p, q, dq, c1, step, act, rates)
    theta1, theta2 = motor_angles(law, p, c1, c2, act)
    tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
    torque = tau1 + tau2
    if p[IMPLICIT] == 0.0:
        return torque
    last = int(p[STATE])
    stiffness = -(act[last] + step * rates[last])
    if p[MODE] >= 4.0 and stiffness > 0.0:
        torque += carried_motion(law, p, q, torque, stiffness, act, rates, step)
    return torque + stiffness * q


def joint_signals(
    law: Any,
    drive: Any,
    second: Any,
    p: Numbers,
    q: float,
    dq: float,
    c1: float,
    c2: float,
    act: Numbers,
    low: float,
    high: float,
    push: float,
    out: Buffer,
) -> None:
    """Write everything that can be read of a joint, in the order of layout.SIGNALS.

    Args:
        low: least torque that the joint lets through (`actuatorfrcrange`), N·m.
        high: largest.
        push: time step by which springs push the motors, s: 0 under RK4, which does not.
    """
    for k in range(12):
        out[k] = 0.0
    out[0], out[1] = q, dq
    if p[MODE] < 2.0:
        out[2] = ask_link(drive, TORQUE, p, q, dq, c1, 0.0, act, out)
        out[8] = ask_link(drive, EFFORT, p, q, dq, c1, 0.0, act, out)
    else:
        theta1, theta2 = motor_angles(law, p, c1, c2, act)
        tau1, tau2 = spring_torques(law, q, theta1, theta2, p)
        out[2] = tau1 + tau2
        out[3] = spring_stiffness(law, q, theta1, theta2, p)
        out[4], out[5] = theta1, theta2
        out[10], out[11] = tau1, tau2
    out[2] = min(max(out[2], low), high)
    if p[MODE] >= 4.0:
        target1, target2 = motor_references(law, p, c1, c2)
        out[6] = ask_motor(drive, VELOCITY, p, DRIVE_AT, target1, out[10], push, act, 0, out)
        out[8] = ask_motor(drive, EFFORT, p, DRIVE_AT, target1, out[10], push, act, 0, out)
        if p[MOTORS] == 2.0:
            base, at = int(p[SECOND_STATE]), int(p[SECOND_AT])
            out[7] = ask_motor(second, VELOCITY, p, at, target2, out[11], push, act, base, out)
            out[9] = ask_motor(second, EFFORT, p, at, target2, out[11], push, act, base, out)
