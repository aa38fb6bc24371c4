"""Command columns of a simulated robot: compliant joints and whatever actuators the model brings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from pliant.actuators import JointOnModel
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Channel

_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
_TURN = 2.0 * math.pi
_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_ORIENTATION = int(mujoco.mjtTrn.mjTRN_SO3)
_INPUTS = {"pos": "position", "vel": "velocity", "ff": "torque"}
"""MuJoCo's names of an actuator's inputs, as quantities of a column; others are taken as they are."""
_QUATERNION = ("qw", "qx", "qy", "qz")


class Column(NamedTuple):
    """One column of a command, and the control of the simulation that it sets."""

    channel: Channel
    control: int
    """Index into `ctrl`."""
    scale: float
    """Control for a command of one unit: a gear stands between an actuator and its joint."""


def compliant_columns(joint: JointOnModel, position: float) -> list[Column]:
    """The references of a compliant joint, resting where they hold it at its position at the start (rad, m)."""
    resting = joint.description.holding(position)
    return [
        Column(
            Channel(f"{joint.name}/{r.name}", r.unit, r.low, r.high, min(max(rest, r.low), r.high)), control, 1.0
        )
        for r, control, rest in zip(joint.references, joint.controls, resting, strict=True)
    ]


def native_actuators(model: mujoco.MjModel, compliant: Sequence[JointOnModel]) -> dict[str, list[int]]:
    """The model's own actuators, by the joint that they act on, or by their own name where that is no joint."""
    ours = {actuator for joint in compliant for actuator in joint.actuators}
    found: dict[str, list[int]] = {}
    for actuator in range(len(model.actuator_trntype)):
        if actuator not in ours:
            found.setdefault(owner(model, actuator), []).append(actuator)
    return found


def owner(model: mujoco.MjModel, actuator: int) -> str:
    """The joint that an actuator acts on; else its own name, or what it acts on."""
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    if kind in _ON_JOINT:
        return model.joint(target).name or f"joint{target}"
    return model.actuator(actuator).name or f"actuator{actuator}"


def native_columns(
    model: mujoco.MjModel, actuator: int, rest: Array, ranges: Mapping[str, tuple[float, float]]
) -> list[Column]:
    """The inputs of one of the model's own actuators.

    A position, velocity or torque at a joint is the joint's own, whatever the gear: a `<motor gear="150">` with
    controls within ±1 is commanded in N·m within ±150.

    Args:
        model: compiled.
        actuator: its index.
        rest: all controls at the robot's start, (nu,).
        ranges: bounds by column, in place of the model's.

    Raises:
        ConfigurationError: nothing bounds a column.
    """
    name = owner(model, actuator)
    at_joint = int(model.actuator_trntype[actuator]) in _ON_JOINT
    joint = int(model.actuator_trnid[actuator, 0]) if at_joint else -1
    columns = []
    for k, (quantity, scale) in enumerate(_inputs(model, actuator)):
        column, control = f"{name}/{quantity}", int(model.actuator_ctrladr[actuator]) + k
        unit = _unit(quantity, slides=at_joint and int(model.jnt_type[joint]) == _SLIDE, at_joint=at_joint)
        low, high = _bounds(model, actuator, joint, quantity, control, scale, column, ranges)
        resting = min(max(float(rest[control]) / scale, low), high)
        columns.append(Column(Channel(column, unit, low, high, resting), control, scale))
    return columns


def resting_controls(model: mujoco.MjModel, qpos: Array, keyframe: int | None) -> Array:
    """Controls of the model's own actuators that hold the robot where it starts, (nu,).

    Those of the keyframe; or, for positions, where the joints stand, and 0 for all else.
    """
    if keyframe is not None:
        return np.array(model.key_ctrl[keyframe])
    controls = np.zeros(model.nu)
    for actuator in range(len(model.actuator_trntype)):
        kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
        for k, (quantity, scale) in enumerate(_inputs(model, actuator)):
            control = int(model.actuator_ctrladr[actuator]) + k
            if kind in _ON_JOINT and quantity == "position":
                controls[control] = scale * float(qpos[int(model.jnt_qposadr[target])])
            elif kind == _ORIENTATION and quantity in _QUATERNION:
                controls[control] = float(qpos[int(model.jnt_qposadr[target]) + _QUATERNION.index(quantity)])
    return controls


def _inputs(model: mujoco.MjModel, actuator: int) -> Iterator[tuple[str, float]]:
    """Quantity and scale of each input of an actuator."""
    gear = float(model.actuator_gear[actuator, 0]) or 1.0
    for k in range(int(model.actuator_ctrlnum[actuator])):
        known = mujoco.mj_actuatorInputName(model, actuator, k)
        if known in _INPUTS:
            yield _INPUTS[known], 1.0 / gear if known == "ff" else gear
        elif known:
            yield known, 1.0
        else:
            yield _quantity(model, actuator, gear)


def _quantity(model: mujoco.MjModel, actuator: int, gear: float) -> tuple[str, float]:
    """Quantity and scale of the input of an actuator with fixed gain: what its affine law makes it follow."""
    gain, bias = model.actuator_gainprm[actuator], model.actuator_biasprm[actuator]
    kinds = (int(model.actuator_gaintype[actuator]), int(model.actuator_biastype[actuator]))
    fixed, none, affine = (
        int(mujoco.mjtGain.mjGAIN_FIXED),
        int(mujoco.mjtBias.mjBIAS_NONE),
        int(mujoco.mjtBias.mjBIAS_AFFINE),
    )
    integrates = int(model.actuator_dyntype[actuator]) == int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
    if kinds == (fixed, affine) and gain[0] and bias[1] == -gain[0]:
        return "velocity" if integrates else "position", gear
    if kinds == (fixed, affine) and gain[0] and bias[1] == 0.0 and bias[2] == -gain[0] and not integrates:
        return "velocity", gear
    if kinds == (fixed, none) and gain[0] and not integrates:
        return "torque", 1.0 / (gear * float(gain[0]))
    return "control", 1.0


def _unit(quantity: str, *, slides: bool, at_joint: bool) -> str:
    if not at_joint:
        return "1"
    length, force = ("m", "N") if slides else ("rad", "N·m")
    return {"position": length, "velocity": f"{length}/s", "torque": force, "voltage": "V"}.get(quantity, "1")


def _bounds(
    model: mujoco.MjModel,
    actuator: int,
    joint: int,
    quantity: str,
    control: int,
    scale: float,
    column: str,
    ranges: Mapping[str, tuple[float, float]],
) -> tuple[float, float]:
    if column in ranges:
        low, high = (check_bounds(f"range of {column!r}", bound, -1e12, 1e12) for bound in ranges[column])
    elif model.actuator_ctrllimited[control]:
        low, high = sorted(float(bound) / scale for bound in model.actuator_ctrlrange[control])
    elif quantity in _QUATERNION:
        low, high = -1.0, 1.0
    elif quantity == "position" and joint >= 0:
        low, high = model.jnt_range[joint].tolist() if model.jnt_limited[joint] else (-_TURN, _TURN)
    elif quantity == "torque" and joint >= 0 and model.jnt_actfrclimited[joint]:
        low, high = model.jnt_actfrcrange[joint].tolist()
    elif quantity == "torque" and model.actuator_forcelimited[actuator]:
        gear = float(model.actuator_gear[actuator, 0]) or 1.0
        low, high = sorted(gear * float(bound) for bound in model.actuator_forcerange[actuator])
    else:
        raise ConfigurationError(
            f"nothing bounds the command {column!r}: its actuator has no ctrlrange. Give it one in the model, or "
            f"a range in the robot's description (ranges: {{{column}: [low, high]}})."
        )
    if not low < high:
        raise ConfigurationError(f"range of {column!r}: [{low:g}, {high:g}] is not ascending.")
    return low, high


def check_ranges(ranges: Mapping[str, tuple[float, float]], columns: Sequence[Column], robot: str) -> None:
    """Raise `UnknownNameError` where a range is given for a column that does not exist."""
    names = [column.channel.name for column in columns]
    for name in ranges:
        if name not in names:
            raise unknown_name("command column", name, names, f"the ranges of robot {robot!r}")
