"""Where a robot rests: the command that holds it at given angles, with motors and delays as if it always had been.

A drive at rest carries the load of its link, L = g(q): its weight, and what passive springs of the model do.

| mode | torque on the link at rest |
|---|---|
| 0 | the command |
| 1 | kp·(u − q) + z, z of the integral; a servo's by its firmware and motor, without the friction of its gear |
| 2, 3 | τ(q, θ) of the law, the motors at their references |
| 4 | τ(q, θ), each motor where its spring carries the torque that is commanded |
| 5, 6 | τ(q, θ), each motor where its loop carries its spring: kp·(r − θ) + z = τᵢ(q, θ) |
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import CompliantJoint, JointOnModel, Mode
from pliant.actuators.layout import ANCHOR, ANGLE, INTEGRAL, MOTOR_SIZE, SERVO_SIZE
from pliant.actuators.pid import PID
from pliant.actuators.servo_kernel import servo_motor_torque
from pliant.controllers.checks import finite_array
from pliant.controllers.trajectories import check_range
from pliant.errors import OutOfBoundsError
from pliant.hardware.robot import Array, RobotInfo

_FARTHEST = 8.0 * math.pi
"""Motors are looked for up to this far from their references, rad."""
_SAME = 1e-12
"""Angles closer than this are the same, rad."""


class TrialStart(NamedTuple):
    """Where a trial begins: at rest, the motors carrying their loads."""

    position: Array | None
    """Angles of the links, (joints,), rad; None: the robot's own start, as `reset` without arguments leaves it."""
    command: Array
    """The command that holds the robot there, (columns,)."""
    lift: Array
    """By how much the learned columns of that command exceed the angles, (joints,): what a desired motion needs to
    be a command that begins at rest."""

    @property
    def settled(self) -> bool:
        """Whether the motors carry their loads; at the robot's own start they are at their references."""
        return self.position is not None


def trial_start(
    info: RobotInfo,
    model: mujoco.MjModel,
    joints: Sequence[JointOnModel],
    position: ArrayLike,
    columns: Sequence[int],
) -> TrialStart:
    """Return where a trial begins whose trajectory begins at `position`.

    A trajectory that begins where the robot itself does begins under its resting command, as published experiments
    do. Any other begins under the command that holds it; see `resting_command` for arguments and errors.
    """
    q = finite_array("start of the trajectory", position, (len(joints),))
    own = model.qpos0[[int(model.jnt_qposadr[joint.joint]) for joint in joints]]
    if np.abs(q - own).max() < _SAME:
        return TrialStart(None, info.rest, np.zeros(len(q)))
    command = resting_command(info, model, joints, q, columns)
    return TrialStart(q, command, command[list(columns)] - q)


def resting_command(
    info: RobotInfo,
    model: mujoco.MjModel,
    joints: Sequence[JointOnModel],
    position: ArrayLike,
    columns: Sequence[int],
) -> Array:
    """Return the command under which a robot rests at given angles, (columns,).

    One column per joint is solved for, by root finding between its bounds, so that the drive carries the load of
    its link; the others keep their resting values. Dry friction, contacts and equality constraints have no part in
    it.

    Args:
        info: the robot.
        model: its compiled model.
        joints: its joints, in order.
        position: where it is to rest, (joints,), rad.
        columns: index of the column to solve for, of each joint in order.

    Raises:
        ShapeError, OutOfBoundsError: angles that are no use or outside the range of a joint.
        OutOfBoundsError: no command within the bounds holds a joint there; the message has both torques.
    """
    from scipy.optimize import brentq

    q = finite_array(f"robot {info.name!r}: position", position, (len(joints),))
    check_range("the start", q, info, ranges=link_ranges(model, joints))
    loads = holding_torques(model, joints, q)
    command = info.rest.copy()
    at = 0
    for joint, column, angle, load in zip(joints, columns, q.tolist(), loads.tolist(), strict=True):
        own = slice(at, at + len(joint.actuators))
        at = own.stop
        channel = info.command[column]
        row = model.actuator_user[joint.actuators[0]].tolist()
        settled = partial(_settled_torque, joint.description, row, angle, load, command[own], column - own.start)
        least, most = sorted((settled(channel.low), settled(channel.high)))
        if not least <= load <= most:
            others = zip(info.command[own], command[own], strict=True)
            held = "".join(f", {c.name} at {value:.4g} {c.unit}" for c, value in others if c is not channel)
            raise OutOfBoundsError(
                f"no command holds joint {joint.name!r} of robot {info.name!r} at {angle:.4g} rad: its load there "
                f"is {load:.4g} N·m, and with {channel.name} in [{channel.low:.4g}, {channel.high:.4g}] "
                f"{channel.unit}{held} it carries {least:.4g} to {most:.4g} N·m. Begin elsewhere, stiffer, or "
                "with less load."
            )
        command[column] = brentq(lambda value, f=settled, aim=load: f(value) - aim, channel.low, channel.high)
    return command


def holding_torques(model: mujoco.MjModel, joints: Sequence[JointOnModel], position: ArrayLike) -> Array:
    """Return the torques that drives must put on resting links at given angles, (joints,), N·m: L = g(q)."""
    data = mujoco.MjData(model)
    data.qpos[[int(model.jnt_qposadr[joint.joint]) for joint in joints]] = position
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    return np.array((data.qfrc_bias - data.qfrc_passive)[[int(model.jnt_dofadr[joint.joint]) for joint in joints]])


def link_ranges(model: mujoco.MjModel, joints: Sequence[JointOnModel]) -> tuple[Array, Array]:
    """Return the lowest and highest angle that the stops of each joint allow, (joints,), rad; infinite without."""
    chosen = [joint.joint for joint in joints]
    limits = np.where(model.jnt_limited[chosen][:, None] > 0, model.jnt_range[chosen], [-np.inf, np.inf])
    return limits[:, 0].copy(), limits[:, 1].copy()


def resting_motors(joint: CompliantJoint, position: float, references: Sequence[float]) -> tuple[float, ...]:
    """Angles (a pivot's position) of a joint's motors at rest, one per motor, rad (m).

    In modes 5 and 6 they are the references, through the law's map in mode 6. In mode 4 the references are
    torques: the motors stand where the springs carry no load, a pivot at its reference.

    Args:
        joint: an elastic joint.
        position: link angle, rad.
        references: what the joint is given.
    """
    first, second = (*references, 0.0)[:2]
    if joint.mode is Mode.MOTOR_TORQUES:
        first, second = joint.law.references(position, second if joint.law.law.pivot else 0.0)
    elif joint.mode.maps_references:
        first, second = joint.law.references(first, second)
    return (first, second)[: joint.motors]


def settled_motors(joint: CompliantJoint, position: float, references: Sequence[float]) -> tuple[float, ...]:
    """Angles at which a joint's motors come to rest under the load of their springs, rad (m); see the module.

    Arguments as of `resting_motors`. A motor that nothing balances has wound its spring up.
    """
    motors = list(resting_motors(joint, position, references))
    if not joint.mode.has_motors:
        return tuple(motors)
    wanted = references if joint.mode is Mode.MOTOR_TORQUES else tuple(motors)
    driven = motors[:1] if joint.law.law.pivot else motors
    for _ in driven:  # springs that feel both motors settle together
        for k in range(len(driven)):
            motors[k] = _balanced(joint, position, motors, k, wanted[k])
    return tuple(motors)


def resting_act(
    joint: CompliantJoint, position: float, references: Sequence[float], load: float | None = None
) -> Array:
    """The joint's activation variables at rest, motors not moving, bristles relaxed.

    Args:
        joint: the joint.
        position: link angle, rad.
        references: what the joint is given.
        load: torque that the drive carries, N·m: motors and integrals as they settle under it; None: motors as in
            `resting_motors`, as if their springs did not pull at them.
    """
    act = np.zeros(joint.act_size)
    if not joint.mode.has_motors:
        if load is not None and joint.mode is Mode.LINK_POSITION and joint.servo is None:
            act[0] = _integral(joint.pid, load)
        return act
    place = resting_motors if load is None else settled_motors
    motors = place(joint, position, references)
    springs = joint.law.torques(position, *motors)
    for motor, angle in enumerate(motors):
        at = motor * MOTOR_SIZE
        act[at + ANGLE] = angle
        if not (motor == 1 and joint.law.law.pivot):
            act[at + ANCHOR] = angle
            act[at + INTEGRAL] = 0.0 if load is None else _integral(joint.pid, springs[motor])
    return act


def put_at_rest(
    model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel], *, settled: bool = False
) -> None:
    """Set the activations of the joints and the control history for the angles and controls in `data`.

    Args:
        model: the robot's.
        data: changed.
        joints: the robot's.
        settled: whether motors stand where they carry their loads, instead of at their references.
    """
    angles = [float(data.qpos[model.jnt_qposadr[joint.joint]]) for joint in joints]
    loads: list[float | None] = [None] * len(joints)
    if settled:
        loads = list(holding_torques(model, joints, angles).tolist())
    for joint, position, load in zip(joints, angles, loads, strict=True):
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        if size:
            references = data.ctrl[list(joint.actuators)].tolist()
            data.act[at : at + size] = resting_act(joint.description, position, references, load)
    for actuator in range(model.nu):
        samples = int(model.actuator_history[actuator, 0])
        if samples:
            values = np.full((samples, 1), data.ctrl[actuator])
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values)


def _settled_torque(
    joint: CompliantJoint,
    row: Sequence[float],
    position: float,
    load: float,
    references: Array,
    column: int,
    value: float,
) -> float:
    """Torque on a resting link with one of the joint's references at `value`, N·m; see the module."""
    given = references.tolist()
    given[column] = float(value)
    if joint.mode is Mode.LINK_TORQUE:
        return float(given[0])
    if joint.mode is Mode.LINK_POSITION:
        if joint.servo is not None:
            return servo_motor_torque(row, position, 0.0, given[0], [0.0] * SERVO_SIZE)
        return _loop_torque(joint, given[0] - position, _integral(joint.pid, load))
    return joint.law.torque(position, *settled_motors(joint, position, given))


def _loop_torque(joint: CompliantJoint, error: float, integral: float) -> float:
    """Torque of a resting position loop, N·m."""
    assert joint.pid is not None
    limit = joint.motor.torque_limit
    return min(max(joint.pid.kp * error + integral, -limit), limit)


def _integral(pid: PID | None, load: float) -> float:
    """The torque of an integral that carries a load as far as it may; 0 without integral action."""
    if pid is None or pid.ki == 0.0:
        return 0.0
    return min(max(load, -pid.integral_limit), pid.integral_limit)


def _balanced(joint: CompliantJoint, position: float, motors: Sequence[float], motor: int, wanted: float) -> float:
    """Where one motor stands still: what drives it there equals what its spring takes."""
    from scipy.optimize import brentq

    def surplus(angle: float) -> float:
        first, second = (*motors[:motor], angle, *motors[motor + 1 :], 0.0)[:2]
        spring = joint.law.torques(position, first, second)[motor]
        if joint.mode is Mode.MOTOR_TORQUES:
            return wanted - spring
        return _loop_torque(joint, wanted - angle, _integral(joint.pid, spring)) - spring

    guess, width = motors[motor], 1e-3
    here, there = surplus(guess), guess
    while here != 0.0 and width < _FARTHEST:
        there = guess + math.copysign(width, here)
        if surplus(there) * here <= 0.0:
            return float(brentq(surplus, guess, there, xtol=1e-14))
        width *= 2.0
    return guess if here == 0.0 else there
