"""What a simulated robot measures: from the joints' signals to numbers in the order of a `State`."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import Backend, JointOnModel, JointReader, current_backend
from pliant.actuators.layout import SIGNALS
from pliant.hardware.robot import Array, State

_PER_JOINT = ("position", "velocity", "torque", "stiffness")
_PER_MOTOR = ("motor_position", "motor_velocity", "motor_torque", "spring_torque")
_QUANTITIES = ("position", "velocity", "acceleration")

WARNINGS = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADQACC) + 1)
"""Where MuJoCo counts positions, velocities and accelerations that are not finite or beyond 1e10."""


class StateLayout:
    """Which signals of which joints make up a robot's state, and in what order.

    The motors are those that the simulation has: one or two of an elastic joint, none of a rigid one (modes 0
    and 1), whose drive acts on the link itself.
    """

    def __init__(self, joints: Sequence[JointOnModel]) -> None:
        count = [0 if joint.description.mode.rigid else joint.description.motors for joint in joints]
        motors = [(j, m) for j in range(len(joints)) for m in range(count[j])]
        self.motors = tuple(f"{joints[j].name}/{m + 1}" for j, m in motors)
        """Motor names, `joint/1` and `joint/2`."""
        self._pivots = np.array([m == 1 and joints[j].description.law.law.pivot for j, m in motors], dtype=bool)
        self._joints = len(joints)
        per_joint = [(j, SIGNALS.index(name)) for name in _PER_JOINT for j in range(len(joints))]
        per_motor = [(j, SIGNALS.index(f"{name}{m + 1}")) for name in _PER_MOTOR for j, m in motors]
        self.order = np.array([j * len(SIGNALS) + k for j, k in per_joint + per_motor])
        """Where each measured number is among the signals, (size,)."""
        ends = np.cumsum([len(joints)] * len(_PER_JOINT) + [len(motors)] * len(_PER_MOTOR)).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def measure(self, signals: Array) -> Array:
        """Return the measured numbers (…, size) of signals (…, joints·signals), as a new array.

        Positions, velocities and torques of the joints come first, in this order.
        """
        return signals.take(self.order, axis=-1)

    def state(self, time: float | Array, measured: Array, command: Array) -> State:
        """Return the state of what was measured; its arrays are views of `measured`, (…, joints or motors)."""
        parts = [measured[..., part] for part in self._slices]
        return State._make((time, *parts, command, measured[..., self._slices[-1].stop :]))

    def deviations(self, position: float, velocity: float, torque: float) -> Array:
        """Standard deviations of the noise on each measured number, (size,).

        The stiffness has none, nor has the pivot of a lever, which is no motor angle.
        """
        rotary = np.where(self._pivots, 0.0, 1.0)
        links = np.repeat([position, velocity, torque, 0.0], self._joints)
        return np.concatenate([links, np.outer([position, velocity, torque, torque], rotary).ravel()])


class Sensors:
    """Reads joints from an `MjData` into `values`, in the order of a `StateLayout`, without allocating.

    They belong to one model and data, and to the back end in force when they were made.
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[JointOnModel], layout: StateLayout
    ) -> None:
        self.values: Array = np.zeros(layout.order.size)
        self.read: Callable[[], bool]
        """Refresh `values`; returns False if the simulation has diverged."""
        self.counts: NDArray[np.int32] = data.warning.number[WARNINGS]
        """MuJoCo's counters of bad positions, velocities and accelerations, live, (3,)."""
        signals = np.zeros(len(joints) * len(SIGNALS))
        if current_backend() is Backend.NATIVE:
            from pliant.envs.native_sensors import native_reader

            self._first = np.array([joint.actuators[0] for joint in joints], dtype=np.int32)
            addresses = (model._address, data._address, self._first.ctypes.data, len(joints), signals.ctypes.data)
            self.read = partial(native_reader(), *addresses, signals, layout.order, self.counts, self.values)
        else:
            reader = JointReader(model, data, joints)
            self.read = partial(_read, reader, layout.order, self.counts, self.values)


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


def _read(reader: JointReader, order: NDArray[np.intp], counts: NDArray[np.int32], values: Array) -> bool:
    return collect(reader.read().reshape(-1), order, counts, values)


def collect(signals: Array, order: NDArray[np.intp], counts: NDArray[np.int32], measured: Array) -> bool:
    """Write what is measured of the signals; False if it is not finite or MuJoCo has counted a divergence.

    Args:
        signals: (joints·signals,).
        order: `StateLayout.order`, (size,).
        counts: MuJoCo's counters of coordinates that are not finite or beyond 1e10, (3,).
        measured: (size,), written.
    """
    sound = True
    for k in range(order.size):
        measured[k] = signals[order[k]]
        if not math.isfinite(measured[k]):
            sound = False
    for k in range(counts.size):
        if counts[k] != 0:
            sound = False
    return sound


def give(command: Array, low: Array, high: Array, actuators: NDArray[np.intp], control: Array) -> bool:
    """Limit a command to its bounds and give it to its actuators; False, and nothing done, if it is not finite.

    Args:
        command: (columns,), limited.
        low: (columns,).
        high: (columns,).
        actuators: of each column, (columns,).
        control: of all actuators, (nu,), written.
    """
    for k in range(command.size):
        if not math.isfinite(command[k]):
            return False
    for k in range(command.size):
        command[k] = min(max(command[k], low[k]), high[k])
        control[actuators[k]] = command[k]
    return True


def deliver(values: Array, in_force: Array, signals: Array, command: Array) -> None:
    """Write the measured numbers and the command in force.

    Args:
        values: in the order of a `StateLayout`.
        in_force: (columns,).
        signals: written.
        command: (columns,), written.
    """
    for k in range(signals.size):
        signals[k] = values[k]
    for k in range(command.size):
        command[k] = in_force[k]
