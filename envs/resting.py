"""Where a robot starts so that nothing jumps: motors at their references, delayed commands already in force."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, JointOnModel, Mode
from pliant.actuators.layout import ANCHOR, ANGLE, MOTOR_SIZE
from pliant.hardware.robot import Array


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


def put_at_rest(model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel]) -> None:
    """Set the activations of the joints and the control history for the angles and controls in `data`."""
    for joint in joints:
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        if size:
            position = float(data.qpos[model.jnt_qposadr[joint.joint]])
            references = data.ctrl[list(joint.actuators)].tolist()
            data.act[at : at + size] = resting_act(joint.description, position, references)
    for actuator in range(model.nu):
        samples = int(model.actuator_history[actuator, 0])
        if samples:
            values = np.full((samples, 1), data.ctrl[actuator])
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values)
