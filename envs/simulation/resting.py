"""How a robot rests: motors, filters and delays as if it always had been where it is.

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

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, JointOnModel, Mode
from pliant.actuators.drives.link_pid import link_pid
from pliant.actuators.drives.motor_pid import motor_pid
from pliant.actuators.pid import PID
from pliant.actuators.python_backend import push_step
from pliant.hardware.robot import Array

_FARTHEST = 8.0 * math.pi
"""Motors are looked for up to this far from their references, rad."""
_FILTERS = (int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT))
_INTEGRATOR = int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def joint_loads(model: mujoco.MjModel, qpos: Array) -> Array:
    """Return what drives must put on all resting joints, (nv,), N·m: gravity, less what passive springs do.

    The weight that a joint's actuators compensate by themselves (`actuatorgravcomp`) is not theirs to command.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    return np.array(data.qfrc_bias - data.qfrc_passive - compensated_weight(model, data))


def compensated_weight(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Return the weight that actuators carry by themselves (`actuatorgravcomp`), beside commands, (nv,), N·m.

    Args:
        model: of the robot.
        data: after `mj_fwdVelocity`.
    """
    return np.where(model.jnt_actgravcomp[model.dof_jntid] > 0, data.qfrc_gravcomp, 0.0)


def settled_motors(joint: CompliantJoint, position: float, references: Sequence[float]) -> tuple[float, ...]:
    """Angles at which a joint's motors come to rest under the load of their springs, rad (m); see the module.

    Arguments as of `CompliantJoint.resting_motors`. A motor that nothing balances has wound its spring up.
    """
    motors = list(joint.resting_motors(position, references))
    if not joint.mode.has_motors:
        return tuple(motors)
    wanted = references if joint.mode is Mode.MOTOR_TORQUES else tuple(motors)
    driven = motors[:1] if joint.law.law.pivot else motors
    for _ in driven:  # springs that feel both motors settle together
        for k in range(len(driven)):
            motors[k] = _balanced(joint, position, motors, k, wanted[k])
    return tuple(motors)


def resting_act(
    joint: CompliantJoint,
    position: float,
    references: Sequence[float],
    load: float | None = None,
    step: float = 0.0,
) -> Array:
    """The joint's activation variables at rest, motors not moving, bristles relaxed.

    Args:
        joint: the joint.
        position: link angle, rad.
        references: what the joint is given.
        load: torque that the drive carries, N·m: motors and integrals as they settle under it; None: motors at
            their references, as if their springs did not pull at them.
        step: time step of a single-step integrator, s; 0 for RK4 (see `actuators.motor.motor_step`).
    """
    act = np.array(joint.resting_act(position, references))
    if load is None:
        return act
    if not joint.mode.has_motors:
        if joint.drives and joint.drives[0].kind is link_pid:
            act[link_pid.state.index("integral")] = integral_torque(joint.pid, load)
        return act
    motors = settled_motors(joint, position, references)
    springs = joint.law.torques(position, *motors)
    wanted = references if joint.mode is Mode.MOTOR_TORQUES else joint.resting_motors(position, references)
    at = 0
    for drive, size, angle, target, spring in zip(
        joint.drives, joint.state_sizes, motors, wanted, springs, strict=False
    ):
        state = drive.resting(angle, target, spring, step)
        act[at : at + len(state)] = state
        if drive.kind is motor_pid:
            act[at + drive.kind.state.index("integral")] = integral_torque(joint.pid, spring)
        at += size
    return act


def _rest_native(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> None:
    """Let a filter of the model's own be at its input, and an integrator of speed at the joint's position."""
    kind, at = int(model.actuator_dyntype[actuator]), int(model.actuator_actadr[actuator])
    if kind in _FILTERS:
        data.act[at] = data.ctrl[model.actuator_ctrladr[actuator]]
    elif kind == _INTEGRATOR and int(model.actuator_trntype[actuator]) in _ON_JOINT:
        joint = int(model.actuator_trnid[actuator, 0])
        data.act[at] = model.actuator_gear[actuator, 0] * data.qpos[model.jnt_qposadr[joint]]


def put_at_rest(
    model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel], *, settled: bool = False
) -> None:
    """Set the activations of all actuators and the control history for the positions and controls in `data`.

    Args:
        model: the robot's.
        data: changed.
        joints: its compliant joints.
        settled: whether motors stand where they carry their loads, instead of at their references.
    """
    for actuator in range(model.nactuator):
        _rest_native(model, data, actuator)
    loads = joint_loads(model, data.qpos) if settled else None
    for joint in joints:
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        if size:
            position = float(data.qpos[model.jnt_qposadr[joint.joint]])
            load = None if loads is None else float(loads[model.jnt_dofadr[joint.joint]])
            references = data.ctrl[list(joint.controls)].tolist()
            data.act[at : at + size] = resting_act(joint.description, position, references, load, push_step(model))
    for actuator in range(model.nactuator):
        samples = int(model.actuator_history[actuator, 0])
        if samples:
            first, size = int(model.actuator_ctrladr[actuator]), int(model.actuator_ctrlnum[actuator])
            values = np.tile(data.ctrl[first : first + size], (samples, 1))
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values)


def loop_torque(joint: CompliantJoint, error: float, integral: float) -> float:
    """Torque of a resting position loop, N·m."""
    assert joint.pid is not None
    limit = joint.motor.torque_limit
    return min(max(joint.pid.kp * error + integral, -limit), limit)


def integral_torque(pid: PID | None, load: float) -> float:
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
        return loop_torque(joint, wanted - angle, integral_torque(joint.pid, spring)) - spring

    guess, width = motors[motor], 1e-3
    here, there = surplus(guess), guess
    while here != 0.0 and width < _FARTHEST:
        there = guess + math.copysign(width, here)
        if surplus(there) * here <= 0.0:
            return float(brentq(surplus, guess, there, xtol=1e-14))
        width *= 2.0
    return guess if here == 0.0 else there
