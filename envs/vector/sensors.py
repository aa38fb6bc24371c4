"""Reading all simulations of a batch in one compiled call. Imports Numba; `Batch` needs compiled joints anyway."""

from collections.abc import Callable, Sequence
from functools import partial

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from pliant.actuators import JointOnModel, kernel
from pliant.actuators.layout import MOTORS, SIGNALS
from pliant.actuators.native_access import doubles, find_drives, find_law
from pliant.actuators.python_backend import torque_bounds
from pliant.envs.measuring import WARNINGS, StateLayout
from pliant.envs.native_sensors import collect_measured, compiled_reader
from pliant.hardware.robot import Array

_SIGNALS = len(SIGNALS)


class BatchSensors:
    """Reads the joints of every simulation of a batch into `values`, in the order of a `StateLayout`."""

    def __init__(
        self,
        batch: Batch,
        joints: Sequence[JointOnModel],
        layout: StateLayout,
        control: Array,
        parameters: Array | None,
    ) -> None:
        """Look up where everything is; it stays there.

        Args:
            batch: the simulations.
            joints: in the robot's order.
            layout: what is measured.
            control: the controls in force at the joints, (n, nu), read at every call.
            parameters: rows of `actuator_user` of each simulation, (n, actuators, width); None: as in the model.
        """
        self.values: Array = np.zeros((batch.nsim, layout.order.size))
        self.sound = np.zeros(batch.nsim, dtype=np.bool_)
        """Which simulations have not diverged, (n,)."""
        self.counts: NDArray[np.int32] = batch.warning[:, WARNINGS, 1]
        """MuJoCo's counters of bad positions, velocities and accelerations, live, (n, 3)."""
        self.read: Callable[[NDArray[np.intp]], None]
        """Refresh `values` and `sound` of the simulations given, (k,)."""
        rows = batch.model.actuator_user[None] if parameters is None else parameters
        act = batch.bind("act")
        self._held = (rows, act, control)  # their addresses are used
        self.read = partial(
            compiled_reader(read_batch),
            _places(batch.model, joints),
            np.array([torque_bounds(batch.model, joint.joint) for joint in joints]),
            rows.ctypes.data,
            rows.strides[0] if parameters is not None else 0,
            rows.strides[1],
            batch.bind("qpos"),
            batch.bind("qvel"),
            control,
            act.ctypes.data,
            act.strides[0],
            layout.order,
            self.counts,
            self.values,
            self.sound,
        )


def _places(model: mujoco.MjModel, joints: Sequence[JointOnModel]) -> NDArray[np.int64]:
    """Per joint its first actuator and where its angle, speed, first activation and controls are, (joints, 6)."""
    rows = []
    for joint in joints:
        first = joint.actuators[0]
        activation = max(int(model.actuator_actadr[first]), 0)
        link = int(model.jnt_qposadr[joint.joint]), int(model.jnt_dofadr[joint.joint])
        rows.append((first, *link, activation, joint.controls[0], joint.controls[-1]))
    return np.array(rows, dtype=np.int64)


def read_batch(
    places: NDArray[np.int64],
    bounds: Array,
    parameters: int,
    simulation_stride: int,
    row_stride: int,
    qpos: Array,
    qvel: Array,
    control: Array,
    act: int,
    act_stride: int,
    order: NDArray[np.intp],
    counts: NDArray[np.int32],
    values: Array,
    sound: NDArray[np.bool_],
    index: NDArray[np.intp],
) -> None:
    """Compute the joints' signals from the state of simulations and collect what is measured.

    Args:
        places: per joint, see `_places`, (joints, 6).
        bounds: torques that the joints let through, N·m, (joints, 2).
        parameters: address of the rows of `actuator_user`.
        simulation_stride: bytes from a simulation's rows to those of the next, 0 if they share them.
        row_stride: bytes from an actuator's row to the next.
        qpos: (n, nq).
        qvel: (n, nv).
        control: (n, nu), in force.
        act: address of the activations.
        act_stride: bytes from a simulation's activations to those of the next.
        order: see `collect`, as are the rest, here with the simulation as leading axis.
        counts: (n, 3).
        values: (n, size), written.
        sound: (n,), written.
        index: which simulations, (k,).
    """
    joints = places.shape[0]
    signals = np.empty(joints * _SIGNALS)
    for s in index:
        for j in range(joints):
            first = places[j, 0]
            p = doubles(parameters + s * simulation_stride + first * row_stride)
            second = control[s, places[j, 5]] if p[MOTORS] == 2.0 else 0.0
            _, drive, second_drive = find_drives(p)
            kernel.joint_signals(
                find_law(p),
                drive,
                second_drive,
                p,
                qpos[s, places[j, 1]],
                qvel[s, places[j, 2]],
                control[s, places[j, 4]],
                second,
                doubles(act + s * act_stride + 8 * places[j, 3]),
                bounds[j, 0],
                bounds[j, 1],
                doubles(signals.ctypes.data + 8 * _SIGNALS * j),
            )
        sound[s] = collect_measured(signals, order, counts[s], values[s])
