"""Reading one simulation, or all of a batch, in one compiled call. Imports Numba, unlike the Python back end."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from pliant.actuators import JointOnModel, kernel, native
from pliant.actuators.cache import numba_cache
from pliant.actuators.compiled import make_callable
from pliant.actuators.layout import MOTORS, SIGNALS
from pliant.actuators.native_access import doubles, find_drives, find_law
from pliant.actuators.python_backend import push_step, torque_bounds
from pliant.envs.simulation.readings import WARNINGS, collect
from pliant.envs.simulation.signal_layout import Readings
from pliant.hardware.robot import Array

_SIGNALS = len(SIGNALS)

read_joints = register_jitable(native.read_joints)
make_callable(collect)


def read_one(
    model: int,
    data: int,
    joints: int,
    signals: int,
    first: int,
    qpos: int,
    qvel: int,
    sensordata: int,
    source: NDArray[np.int64],
    index: NDArray[np.int64],
    counts: NDArray[np.int32],
    values: Array,
) -> bool:
    """Read the signals of all joints, as `JointReader` does, and collect what is measured.

    Args:
        model: address of the `mjModel`.
        data: address of the `mjData`.
        joints: how many.
        signals: address of room for their signals.
        first: address of the joints' first actuators.
        qpos: address, as are the next two; see `collect`.
        qvel: likewise.
        sensordata: likewise.
        source: likewise.
        index: likewise.
        counts: likewise.
        values: likewise.
    """
    read_joints(model, data, first, joints, signals)
    sound: bool = collect(
        doubles(signals), doubles(qpos), doubles(qvel), doubles(sensordata), source, index, counts, values
    )
    return sound


def native_reader() -> Callable[..., bool]:
    """Compile `read_one` at its first call, or load it from the cache."""
    return compiled_reader(read_one)


@cache
def compiled_reader(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that uses the joints' kernel at its first call, or load it from the cache."""
    native.callbacks()  # makes the joint kernel callable from compiled code
    with numba_cache() as caching:
        reader: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return reader


class BatchSensors:
    """Reads every simulation of a batch into `values`, in the order of its `Readings`."""

    def __init__(
        self,
        batch: Batch,
        joints: Sequence[JointOnModel],
        readings: Readings,
        control: Array,
        parameters: Array | None,
    ) -> None:
        """Look up where everything is; it stays there.

        Args:
            batch: the simulations.
            joints: the compliant ones, in the robot's order.
            readings: what is measured.
            control: the controls in force at the joints, (n, nu), read at every call.
            parameters: rows of `actuator_user` of each simulation, (n, actuators, width); None: the model's.
        """
        self.values: Array = np.zeros((batch.nsim, readings.index.size))
        self.sound = np.zeros(batch.nsim, dtype=np.bool_)
        """Which simulations have not diverged, (n,)."""
        self.counts: NDArray[np.int32] = batch.warning[:, WARNINGS, 1]
        """MuJoCo's counters of bad positions, velocities and accelerations, live, (n, 3)."""
        self.read: Callable[[NDArray[np.intp]], None]
        """Refresh `values` and `sound` of the simulations given, (k,)."""
        rows = batch.model.actuator_user[None] if parameters is None else parameters
        act = batch.bind("act")
        sensordata = batch.bind("sensordata") if readings.uses_sensors else np.zeros((batch.nsim, 0))
        self._held = (rows, act, control)  # their addresses are used
        self.read = partial(
            compiled_reader(read_batch),
            _places(batch.model, joints),
            np.array([torque_bounds(batch.model, joint.joint) for joint in joints]).reshape(-1, 2),
            push_step(batch.model),
            rows.ctypes.data,
            rows.strides[0] if parameters is not None else 0,
            rows.strides[1],
            batch.bind("qpos"),
            batch.bind("qvel"),
            sensordata,
            control,
            act.ctypes.data,
            act.strides[0],
            readings.source,
            readings.index,
            self.counts,
            self.values,
            self.sound,
        )


def _places(model: mujoco.MjModel, joints: Sequence[JointOnModel]) -> NDArray[np.int64]:
    """Per joint its first actuator, and where its angle, speed, activations and controls are, (joints, 6)."""
    rows = []
    for joint in joints:
        first = joint.actuators[0]
        link = int(model.jnt_qposadr[joint.joint]), int(model.jnt_dofadr[joint.joint])
        activation = max(int(model.actuator_actadr[first]), 0)
        rows.append((first, *link, activation, joint.controls[0], joint.controls[-1]))
    return np.array(rows, dtype=np.int64).reshape(-1, 6)


def read_batch(
    places: NDArray[np.int64],
    bounds: Array,
    push: float,
    parameters: int,
    simulation_stride: int,
    row_stride: int,
    qpos: Array,
    qvel: Array,
    sensordata: Array,
    control: Array,
    act: int,
    act_stride: int,
    source: NDArray[np.int64],
    index: NDArray[np.int64],
    counts: NDArray[np.int32],
    values: Array,
    sound: NDArray[np.bool_],
    which: NDArray[np.intp],
) -> None:
    """Compute the joints' signals from the state of simulations and collect what is measured.

    Args:
        places: per joint, see `_places`, (joints, 6).
        bounds: torques that the joints let through, N·m, (joints, 2).
        push: time step by which springs push the motors, s; see `kernel.joint_signals`.
        parameters: address of the rows of `actuator_user`.
        simulation_stride: bytes from a simulation's rows to those of the next, 0 if they share them.
        row_stride: bytes from an actuator's row to the next.
        qpos: (n, nq).
        qvel: (n, nv).
        sensordata: (n, numbers); none where no sensor is read.
        control: (n, nu), in force.
        act: address of the activations.
        act_stride: bytes from a simulation's activations to those of the next.
        source: see `collect`, as are the rest, here with the simulation as leading axis.
        index: likewise.
        counts: (n, 3).
        values: (n, size), written.
        sound: (n,), written.
        which: simulations, (k,).
    """
    joints = places.shape[0]
    signals = np.empty(joints * _SIGNALS)
    for s in which:
        for j in range(joints):
            p = doubles(parameters + s * simulation_stride + places[j, 0] * row_stride)
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
                push,
                doubles(signals.ctypes.data + 8 * _SIGNALS * j),
            )
        sound[s] = collect(signals, qpos[s], qvel[s], sensordata[s], source, index, counts[s], values[s])
