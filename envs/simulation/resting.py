"""Where a robot starts so that nothing jumps: motors at their references, delayed commands already in force."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, JointOnModel, Mode
from pliant.actuators.layout import ANCHOR, ANGLE, MOTOR_SIZE
from pliant.hardware.robot import Array

_FILTERS = (int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT))
_INTEGRATOR = int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


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


def resting_act(joint: CompliantJoint, position: float, references: Sequence[float]) -> Array:
    """The joint's activation variables at rest: motors as in `resting_motors`, not moving, bristles relaxed."""
    act = np.zeros(joint.act_size)
    if joint.mode.has_motors:
        for motor, angle in enumerate(resting_motors(joint, position, references)):
            act[motor * MOTOR_SIZE + ANGLE] = angle
            if not (motor == 1 and joint.law.law.pivot):
                act[motor * MOTOR_SIZE + ANCHOR] = angle
    return act


def _rest_native(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> None:
    """Let a filter of the model's own be at its input, and an integrator of speed at the joint's position."""
    kind, at = int(model.actuator_dyntype[actuator]), int(model.actuator_actadr[actuator])
    if kind in _FILTERS:
        data.act[at] = data.ctrl[model.actuator_ctrladr[actuator]]
    elif kind == _INTEGRATOR and int(model.actuator_trntype[actuator]) in _ON_JOINT:
        joint = int(model.actuator_trnid[actuator, 0])
        data.act[at] = model.actuator_gear[actuator, 0] * data.qpos[model.jnt_qposadr[joint]]


def put_at_rest(model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel]) -> None:
    """Set the activations of all actuators and the control history for the positions and controls in `data`."""
    for actuator in range(len(model.actuator_trntype)):
        _rest_native(model, data, actuator)
    for joint in joints:
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        if size:
            position = float(data.qpos[model.jnt_qposadr[joint.joint]])
            references = [float(data.ctrl[model.actuator_ctrladr[actuator]]) for actuator in joint.actuators]
            data.act[at : at + size] = resting_act(joint.description, position, references)
    for actuator in range(len(model.actuator_trntype)):
        samples = int(model.actuator_history[actuator, 0])
        if samples:
            first, size = int(model.actuator_ctrladr[actuator]), int(model.actuator_ctrlnum[actuator])
            values = np.tile(data.ctrl[first : first + size], (samples, 1))
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values)
