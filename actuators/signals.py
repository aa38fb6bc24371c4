"""Reading compliant joints: link, motors, springs and stiffness, live or along a recorded motion.

A recorded motion is what `mujoco.rollout` returns, so that a whole trial is read without stepping it again.
"""

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import callbacks, kernel, python_backend
from pliant.actuators.callbacks import Backend
from pliant.actuators.layout import MOTORS, SIGNALS
from pliant.actuators.model import JointOnModel
from pliant.errors import ShapeError

Array = NDArray[np.float64]


class JointReader:
    """Reads the signals of joints from an `MjData` into one array, without allocating.

    `values` is (joints, signals), its columns in the order of `layout.SIGNALS`, refreshed by `read`. The reader
    belongs to one model and data, and to the back end in force when it was made.

    Raises:
        CallbackOwnershipError: the callbacks are not installed, or no longer: the joints have no torque.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel]) -> None:
        self.values: Array = np.zeros((len(joints), len(SIGNALS)))
        self._model, self._data = model, data
        self._names = [joint.name for joint in joints]
        if joints:
            callbacks.check_installed(self._names)
        for joint in joints:
            callbacks.register(joint.description)
        self._first = np.array([joint.actuators[0] for joint in joints], dtype=np.int32)
        self._native = None
        if callbacks.current_backend() is Backend.NATIVE:
            from pliant.actuators import native

            self._native = native.readers()[0]
            self._arguments = (
                model._address,
                data._address,
                self._first.ctypes.data,
                len(self._first),
                self.values.ctypes.data,
            )

    def read(self) -> Array:
        """Refresh and return `values` for the state of the data as it is now."""
        if self._names:
            callbacks.check_installed(self._names)
        if self._native is not None:
            self._native(*self._arguments)
        else:
            for line, first in zip(self.values, self._first, strict=True):
                python_backend.read_joint(self._model, self._data, int(first), line)
        return self.values


def trace_joint(
    model: mujoco.MjModel, joint: JointOnModel, position: Array, velocity: Array, control: Array, act: Array
) -> dict[str, Array]:
    """Signals of a joint along a motion, each (steps,), by the names in `layout.SIGNALS`.

    Args:
        model: the joint's model.
        joint: which joint.
        position: (steps,) link angles, rad.
        velocity: (steps,) link speeds, rad/s.
        control: (steps, references) the joint's controls as they were in force.
        act: (steps, n) the joint's activation variables; n may be 0.

    Raises:
        ShapeError: the arrays do not fit together.
    """
    steps, columns = len(position), len(joint.actuators)
    size = int(model.actuator_actnum[joint.actuators[0]])
    for name, array, shape in (
        ("velocity", velocity, (steps,)),
        ("control", control, (steps, columns)),
        ("act", act, (steps, size)),
    ):
        if array.shape != shape:
            raise ShapeError(f"joint {joint.name!r}: {name} has shape {array.shape}; expected {shape}.")
    callbacks.register(joint.description)
    out = np.zeros((steps, len(SIGNALS)))
    row = np.ascontiguousarray(model.actuator_user[joint.actuators[0]])
    bounds = np.array([*python_backend.torque_bounds(model, joint.joint), python_backend.push_step(model)])
    arrays = [np.ascontiguousarray(a, dtype=np.float64) for a in (position, velocity, control, act)]
    if callbacks.current_backend() is Backend.NATIVE:
        from pliant.actuators import native

        q, dq, c, a = (array.ctypes.data for array in arrays)
        native.readers()[1](
            row.ctypes.data, steps, q, dq, c, columns, a, size, bounds.ctypes.data, out.ctypes.data
        )
    else:
        p = row.tolist()
        parts = python_backend.find(p)
        assert parts is not None
        low, high, push = bounds.tolist()
        for k in range(steps):
            q_k, dq_k, c_k, a_k = (array[k].tolist() for array in arrays)
            c2 = c_k[1] if p[MOTORS] == 2.0 else 0.0
            kernel.joint_signals(*parts, p, q_k, dq_k, c_k[0], c2, a_k, low, high, push, out[k])
    return {name: out[:, i].copy() for i, name in enumerate(SIGNALS)}
