"""The joint callbacks in Python: slow, and every line can be stepped in a debugger."""

import math
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from pliant.actuators import kernel
from pliant.actuators.drive import DriveKind, Function
from pliant.actuators.law import Compliance, Law, Pair
from pliant.actuators.layout import (
    DRIVE,
    IDENTITY,
    IMPLICIT,
    LARGEST_STEP,
    LAW_AT,
    MAGIC,
    MAGIC_VALUE,
    MOTORS,
    SECOND_DRIVE,
    USER_SIZE,
    identity_key,
)

_laws: dict[int, "CallableLaw"] = {}
_drives: dict[int, Function] = {}


@dataclass(frozen=True)
class CallableLaw:
    """A law called with its parameters still in the joint's row `p`, as the kernel does it."""

    law: Law

    def _bind(self, p: Sequence[float]) -> Compliance:
        return Compliance(self.law, tuple(p[LAW_AT : LAW_AT + len(self.law.parameters)]))

    def torques(self, q: float, theta1: float, theta2: float, p: Sequence[float]) -> Pair:
        """Torque of each spring on the link."""
        return self._bind(p).torques(q, theta1, theta2)

    def stiffness(self, q: float, theta1: float, theta2: float, p: Sequence[float]) -> float:
        """Stiffness −∂τ/∂q."""
        return self._bind(p).stiffness(q, theta1, theta2)

    def references(self, equilibrium: float, preset: float, p: Sequence[float]) -> Pair:
        """Motor references of an equilibrium and a preset."""
        return self.law.reference_map(equilibrium, preset)


class Parts(NamedTuple):
    """What the kernel calls for a joint."""

    law: CallableLaw
    drive: Function | None
    """Of the link or the first motor; None for ideal motors."""
    second: Function | None


def register_law(law: Law) -> None:
    """Make a law known to the Python callbacks under its identity."""
    _laws[int(law.identity, 16)] = CallableLaw(law)


def register_drive(kind: DriveKind) -> None:
    """Make a drive known to the Python callbacks under its identity."""
    _drives[int(kind.identity, 16)] = kind.function


def find(p: Sequence[float]) -> Parts | None:
    """Return the law and drives of a joint's row, or None if this process does not know one of them."""
    law = _laws.get(identity_key(*p[IDENTITY : IDENTITY + 3]))
    keys = [identity_key(*p[at : at + 3]) for at in (DRIVE, SECOND_DRIVE)]
    drive, second = (_drives.get(key) for key in keys)
    unknown = any(key and found is None for key, found in zip(keys, (drive, second), strict=True))
    return None if law is None or unknown else Parts(law, drive, second)


def _control(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> float:
    """The control in force: delayed and limited as MuJoCo does it for its own actuators."""
    delay = float(model.actuator_delay[actuator])
    nsample, interpolation = model.actuator_history[actuator]
    if nsample > 0 and delay > 0.0:
        # mj_readCtrl itself goes back by the actuator's delay
        value = float(mujoco.mj_readCtrl(model, data, actuator, data.time, np.zeros(1), int(interpolation))[0])
    else:
        value = float(data.ctrl[model.actuator_ctrladr[actuator]])
    address = model.actuator_ctrladr[actuator]
    if model.actuator_ctrllimited[address]:
        low, high = model.actuator_ctrlrange[address]
        value = min(max(value, float(low)), float(high))
    return value


def _row(model: mujoco.MjModel, actuator: int) -> list[float] | None:
    if model.nuser_actuator < USER_SIZE:
        return None
    row: list[float] = model.actuator_user[actuator].tolist()
    return row if row[MAGIC] == MAGIC_VALUE else None


def _gather(
    model: mujoco.MjModel, data: mujoco.MjData, actuator: int, p: list[float]
) -> tuple[float, float, float, float, slice]:
    joint = model.actuator_trnid[actuator, 0]
    q = float(data.qpos[model.jnt_qposadr[joint]])
    dq = float(data.qvel[model.jnt_dofadr[joint]])
    c1 = _control(model, data, actuator)
    c2 = _control(model, data, actuator + 1) if p[MOTORS] == 2.0 else 0.0
    first = max(int(model.actuator_actadr[actuator]), 0)
    return q, dq, c1, c2, slice(first, first + int(model.actuator_actnum[actuator]))


def _inertia(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> float:
    """Diagonal entry of the inertia matrix of the joint that an actuator acts on: the last of its row."""
    dof = model.jnt_dofadr[model.actuator_trnid[actuator, 0]]
    return float(data.M[model.M_rowadr[dof] + model.M_rownnz[dof] - 1])


def _other_force(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> float:
    """Force on the joint that an actuator acts on, without that of actuators and constraints."""
    dof = model.jnt_dofadr[model.actuator_trnid[actuator, 0]]
    return float(data.qfrc_passive[dof] + data.qfrc_applied[dof] - data.qfrc_bias[dof])


def torque_bounds(model: mujoco.MjModel, joint: int) -> Pair:
    """Least and largest torque that a joint lets through (`actuatorfrcrange`), N·m."""
    if not model.jnt_actfrclimited[joint]:
        return -math.inf, math.inf
    low, high = model.jnt_actfrcrange[joint].tolist()
    return low, high


def push_step(model: mujoco.MjModel) -> float:
    """Time step by which springs push the motors, s; 0 under RK4, which takes derivatives."""
    return 0.0 if _multistage(model) else float(model.opt.timestep)


def _multistage(model: mujoco.MjModel) -> bool:
    return int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)


def act_dyn(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> float:
    """`mjcb_act_dyn`: writes all rows of the joint's `act_dot`."""
    p = _row(model, actuator)
    parts = find(p) if p is not None else None
    if p is None or parts is None:
        return math.nan
    q, dq, c1, c2, where = _gather(model, data, actuator, p)
    rates = data.act_dot[where].tolist()
    multistage = _multistage(model)
    inertia = _inertia(model, data, actuator)
    act, step = data.act[where].tolist(), float(model.opt.timestep)
    low, high = torque_bounds(model, model.actuator_trnid[actuator, 0])
    force = _other_force(model, data, actuator) if p[IMPLICIT] == 1.0 else 0.0
    kernel.act_rates(*parts, p, q, dq, c1, c2, act, rates, step, multistage, inertia, force, low, high)
    data.act_dot[where] = rates
    return float(rates[0])


def act_bias(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> float:
    """`mjcb_act_bias`: torque of the joint on its link."""
    p = _row(model, actuator)
    parts = find(p) if p is not None else None
    if p is None or parts is None:
        return math.nan
    q, dq, c1, c2, where = _gather(model, data, actuator, p)
    if model.opt.timestep >= p[LARGEST_STEP] > 0.0:
        return math.nan
    act, rates = data.act[where].tolist(), data.act_dot[where].tolist()
    return kernel.bias_force(parts.law, parts.drive, p, q, dq, c1, c2, act, rates, float(model.opt.timestep))


def read_joint(model: mujoco.MjModel, data: mujoco.MjData, actuator: int, out: MutableSequence[float]) -> None:
    """Write the signals of the joint whose first actuator is given (see layout.SIGNALS)."""
    p: list[float] = model.actuator_user[actuator].tolist()
    q, dq, c1, c2, where = _gather(model, data, actuator, p)
    low, high = torque_bounds(model, model.actuator_trnid[actuator, 0])
    parts = find(p)
    assert parts is not None
    kernel.joint_signals(*parts, p, q, dq, c1, c2, data.act[where].tolist(), low, high, push_step(model), out)
