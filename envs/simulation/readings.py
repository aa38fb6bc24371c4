"""Reading a simulation into an array, giving it a command, and telling why it has diverged."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import Backend, JointOnModel, JointReader, current_backend
from pliant.actuators.layout import SIGNALS
from pliant.envs.simulation.signal_layout import Readings
from pliant.envs.simulation.signals import JOINT, QPOS, QVEL, SENSOR
from pliant.hardware.robot import Array

_QUANTITIES = ("position", "velocity", "acceleration")

WARNINGS = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADQACC) + 1)
"""Where MuJoCo counts positions, velocities and accelerations that are not finite or beyond 1e10."""


class Sensors:
    """Reads an `MjData` into `values`, in the order of its `Readings`, without allocating.

    They belong to one model and data, and to the back end in force when they were made.
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel], readings: Readings
    ) -> None:
        self.values: Array = np.zeros(readings.index.size)
        self.read: Callable[[], bool]
        """Refresh `values`; returns False if the simulation has diverged."""
        self.counts: NDArray[np.int32] = data.warning.number[WARNINGS]
        """MuJoCo's counters of bad positions, velocities and accelerations, live, (3,)."""
        rest = (readings.source, readings.index, self.counts, self.values)
        if current_backend() is Backend.NATIVE:
            from pliant.envs.simulation.native_readings import native_reader

            signals = np.zeros(len(joints) * len(SIGNALS))
            self._held = (signals, np.array([joint.actuators[0] for joint in joints], dtype=np.int32))
            addresses = [array.ctypes.data for array in (*self._held, data.qpos, data.qvel, data.sensordata)]
            self.read = partial(native_reader(), model._address, data._address, len(joints), *addresses, *rest)
        else:
            reader = JointReader(model, data, joints)
            self.read = partial(_read, reader, data, *rest)


def diverged(name: str, time: float, counts: NDArray[np.int32]) -> str:
    """Say that and how a simulated robot has diverged.

    Args:
        name: of the robot.
        time: s.
        counts: MuJoCo's counters, see `Sensors.counts`.
    """
    reason = "the state of a motor is not finite"
    if counts.any():
        quantity = _QUANTITIES[int(np.argmax(counts))]
        reason = f"the {quantity} of a joint is not finite or beyond 1e10 (in rad, s)"
    return f"simulated robot {name!r} diverged at {time:.6g} s: {reason}. Call reset() to start again."


def _read(
    reader: JointReader,
    data: mujoco.MjData,
    source: NDArray[np.int64],
    index: NDArray[np.int64],
    counts: NDArray[np.int32],
    values: Array,
) -> bool:
    signals = reader.read().reshape(-1)
    return collect(signals, data.qpos, data.qvel, data.sensordata, source, index, counts, values)


def collect(
    signals: Array,
    qpos: Array,
    qvel: Array,
    sensordata: Array,
    source: NDArray[np.int64],
    index: NDArray[np.int64],
    counts: NDArray[np.int32],
    measured: Array,
) -> bool:
    """Write what is measured; False if it is not finite or MuJoCo has counted a divergence.

    Args:
        signals: what the joints' laws tell, (joints·signals,).
        qpos: positions, (nq,).
        qvel: speeds, (nv,).
        sensordata: of the simulation's sensors.
        source: `Readings.source`, (size,).
        index: `Readings.index`, (size,).
        counts: MuJoCo's counters of coordinates that are not finite or beyond 1e10, (3,).
        measured: (size,), written.
    """
    sound = True
    for k in range(index.size):
        value = 0.0
        if source[k] == JOINT:
            value = signals[index[k]]
        elif source[k] == QPOS:
            value = qpos[index[k]]
        elif source[k] == QVEL:
            value = qvel[index[k]]
        elif source[k] == SENSOR:
            value = sensordata[index[k]]
        measured[k] = value
        if not math.isfinite(value):
            sound = False
    for k in range(counts.size):
        if counts[k] != 0:
            sound = False
    return sound


def give(
    command: Array, low: Array, high: Array, controls: NDArray[np.intp], scale: Array, control: Array
) -> bool:
    """Limit a command to its bounds and give it to the simulation; False, and nothing done, if it is not finite.

    Args:
        command: (columns,), limited.
        low: (columns,).
        high: (columns,).
        controls: the control of each column, (columns,).
        scale: control for a command of one unit, (columns,).
        control: all controls, (nu,), written.
    """
    for k in range(command.size):
        if not math.isfinite(command[k]):
            return False
    for k in range(command.size):
        command[k] = min(max(command[k], low[k]), high[k])
        control[controls[k]] = command[k] * scale[k]
    return True


def deliver(values: Array, in_force: Array, signals: Array, command: Array) -> None:
    """Write the measured numbers and the command in force.

    Args:
        values: in the order of `Readings`.
        in_force: (columns,).
        signals: written.
        command: (columns,), written.
    """
    for k in range(signals.size):
        signals[k] = values[k]
    for k in range(command.size):
        command[k] = in_force[k]
