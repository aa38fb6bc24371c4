"""What a robot is, as plain data: its parameters for the files of what is learned on it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import mujoco

from pliant.actuators import JointOnModel, compliant_joints
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.randomisation import Randomisation
from pliant.envs.simulation.columns import native_actuators
from pliant.files import plain

_NUMERICAL = ("identity", "drives", "preset_range", "position_range", "implicit")
"""What a joint's description says of its code and its numerics, and of the ranges of its columns."""
_FACTORS = ("mass", "damping", "friction", "stiffness", "supply", "law", "drive")
_DIGITS = 9


def robot_parameters(
    model: mujoco.MjModel, robot: RobotModel, compliant: Sequence[JointOnModel], varied: Randomisation
) -> dict[str, Any]:
    """Return what a robot is, as `pliant.controllers.robot_parameters` compares it.

    Args:
        model: compiled, with nothing drawn.
        robot: of which it is.
        compliant: its joints that a law or drive moves.
        varied: how it differs from episode to episode.
    """
    described = {joint.name: _described(joint) for joint in compliant}
    joints = {name: {"law": None, **_friction(model, name), **described.get(name, {})} for name in robot.joints}
    native = native_actuators(model, compliant_joints(model))
    return {
        "joints": joints,
        "actuators": {
            f"{name}{f'/{k + 1}' if k else ''}": _actuator(model, actuator)
            for name, found in native.items()
            for k, actuator in enumerate(found)
        },
        "bodies": {_name(model, body): _body(model, body) for body in links(model, robot)},
        **({"varied": factors} if (factors := dict(_varied(varied))) else {}),
    }


def _described(joint: JointOnModel) -> dict[str, Any]:
    """Law and drive of a joint; of a law of somebody's own also the digest of its source."""
    told = joint.description.describe()
    ours = str(told["law"]).startswith("pliant.")
    kept = {key: value for key, value in told.items() if key not in _NUMERICAL or (key == "identity" and not ours)}
    return dict(plain(kept))


def _friction(model: mujoco.MjModel, joint: str) -> dict[str, Any]:
    number = model.joint(joint).id
    dof = int(model.jnt_dofadr[number])
    return {
        "axis": _numbers(model.jnt_axis[number]),
        "stiffness": _numbers(model.jnt_stiffness[number]),
        "damping": _numbers(model.dof_damping[dof]),
        "friction": _numbers(model.dof_frictionloss[dof]),
        "armature": _numbers(model.dof_armature[dof]),
    }


def _actuator(model: mujoco.MjModel, actuator: int) -> dict[str, Any]:
    return {
        name: _numbers(getattr(model, f"actuator_{name}")[actuator])
        for name in ("gear", "gainprm", "biasprm", "dynprm", "forcerange")
    }


def links(model: mujoco.MjModel, robot: RobotModel) -> list[int]:
    """Return the bodies that the robot's joints and base move; what lies or stands around is not among them."""
    roots = {int(model.body_rootid[int(model.jnt_bodyid[model.joint(name).id])]) for name in robot.joints}
    return [b for b in range(1, model.nbody) if int(model.body_rootid[b]) in roots and model.body_weldid[b] != 0]


def _name(model: mujoco.MjModel, body: int) -> str:
    return model.body(body).name or f"body{body}"


def _body(model: mujoco.MjModel, body: int) -> dict[str, Any]:
    return {
        "mass": _numbers(model.body_mass[body]),
        "inertia": _numbers(model.body_inertia[body]),
        "centre": _numbers(model.body_ipos[body]),
        "position": _numbers(model.body_pos[body]),
        "gravity_compensation": _numbers(model.body_gravcomp[body]),
    }


def _varied(varied: Randomisation) -> Iterator[tuple[str, list[float]]]:
    """Bounds of every factor that is drawn."""
    for entry in fields(varied):
        value = getattr(varied, entry.name)
        if entry.name not in _FACTORS or value is None:
            continue
        if isinstance(value, Mapping):
            yield from ((f"{entry.name}.{key}", _numbers(d.bounds)) for key, d in value.items())
        else:
            yield "drive.voltage" if entry.name == "supply" else entry.name, _numbers(value.bounds)


def _numbers(values: Any) -> Any:
    """Numbers as they are written, without the last digits, which compilers round as they like."""
    told = plain(values)
    return [_numbers(value) for value in told] if isinstance(told, list) else float(f"{told:.{_DIGITS}g}")
