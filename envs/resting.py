"""Where a robot starts so that nothing jumps: motors at their references, delayed commands already in force."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.actuators import JointOnModel


def put_at_rest(model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel]) -> None:
    """Set the activations of the joints and the control history for the angles and controls in `data`."""
    for joint in joints:
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        if size:
            position = float(data.qpos[model.jnt_qposadr[joint.joint]])
            references = data.ctrl[list(joint.controls)].tolist()
            data.act[at : at + size] = joint.description.resting_act(position, references)
    for actuator in range(model.nactuator):
        samples, first = int(model.actuator_history[actuator, 0]), int(model.actuator_ctrladr[actuator])
        if samples:
            given = data.ctrl[first : first + int(model.actuator_ctrlnum[actuator])]
            values = np.tile(given, (samples, 1))
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values)
