"""The arm that an interaction controller needs to know, from the description of a robot."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from pliant.actuators import compile_model
from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array
from pliant.controllers.interaction import Arm, ArmFrames
from pliant.controllers.poses import compose, inverse
from pliant.envs.description import describe
from pliant.errors import ConfigurationError, unknown_name

_SPEEDS = "speed_limits"
"""Numeric of a model: largest speeds of its joints, rad/s or m/s."""


def arm(
    robot: Any,
    end_effector: str = "tip",
    sensor: str = "wrist",
    *,
    flange: str | None = None,
    joints: Sequence[str] | None = None,
    speed: float | Sequence[float] | None = None,
) -> Arm:
    """Return an arm's kinematics, frames and speeds.

    Args:
        robot: see `describe`.
        end_effector: name of the one whose site is the tool's centre point.
        sensor: name of the force-torque sensor.
        flange: site of the flange; None: that of the sensor.
        joints: that move it; None: all of the robot between its base and the site.
        speed: largest joint speeds, rad/s or m/s, one for all or each; None: the model's numeric `speed_limits`.

    Raises:
        UnknownNameError: no such end effector, sensor, site or joint.
        ConfigurationError: a floating robot; a sensor or flange that moves against the tool; no speed known.
    """
    found = describe(robot).model
    for kind, name, known in (
        ("end effector", end_effector, found.end_effectors),
        ("force-torque sensor", sensor, found.force_torque),
    ):
        if name not in known:
            raise unknown_name(kind, name, known, f"robot {found.name!r}")
    if found.base is not None:
        raise ConfigurationError(f"robot {found.name!r} floats; an arm that is fixed to the world is needed.")
    model = compile_model(found.spec)
    site = found.end_effectors[end_effector]
    chain = _chain(model, model.site(site).bodyid[0])
    names = tuple(joints) if joints is not None else tuple(name for name in found.joints if name in chain)
    frames = ArmFrames(
        base=_body_pose(model, model.body_parentid[model.joint(chain[0]).bodyid[0]]) if chain else np.zeros(7),
        sensor=_fixed(model, site, found.force_torque[sensor]),
        flange=_fixed(model, site, flange or found.force_torque[sensor]),
    )
    own, preview = (ArmKinematics(model, site, names) for _ in range(2))
    return Arm(own, preview, frames, _speeds(model, found.name, found.joints, names, speed), sensor)


def _chain(model: mujoco.MjModel, body: int) -> list[str]:
    """Names of the joints that move a body, from the base on."""
    names: list[str] = []
    while body:
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        names = [model.joint(i).name for i in range(first, first + count)] + names
        body = model.body_parentid[body]
    return names


def _body_pose(model: mujoco.MjModel, body: int) -> Array:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return np.concatenate([data.xpos[body], data.xquat[body]])


def _fixed(model: mujoco.MjModel, tool: str, name: str) -> Array:
    """Pose of a site in the tool's frame, the same wherever the joints are."""
    known = [model.site(i).name for i in range(model.nsite)]
    if name not in known:
        raise unknown_name("site", name, known, "the model")
    data = mujoco.MjData(model)
    found = []
    for shift in (0.0, 0.3):
        data.qpos[:] = model.qpos0
        for joint in range(model.njnt):
            if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
                data.qpos[model.jnt_qposadr[joint]] += shift
        mujoco.mj_kinematics(model, data)
        found.append(compose(inverse(_site_pose(data, tool)), _site_pose(data, name)))
    if np.abs(found[0][:3] - found[1][:3]).max() > 1e-9 or abs(found[0][3:] @ found[1][3:]) < 1.0 - 1e-9:
        raise ConfigurationError(f"site {name!r} moves against the tool's {tool!r}: a joint is in between.")
    return found[0]


def _site_pose(data: mujoco.MjData, name: str) -> Array:
    pose = np.empty(7)
    pose[:3] = data.site(name).xpos
    mujoco.mju_mat2Quat(pose[3:], data.site(name).xmat)
    return pose


def _speeds(
    model: mujoco.MjModel,
    robot: str,
    all_joints: Sequence[str],
    joints: Sequence[str],
    given: float | Sequence[float] | None,
) -> Array:
    if given is not None:
        return np.broadcast_to(np.asarray(given, np.float64), len(joints)).copy()
    numerics = [model.numeric(i).name for i in range(model.nnumeric)]
    if _SPEEDS not in numerics or len(model.numeric(_SPEEDS).data) != len(all_joints):
        raise ConfigurationError(
            f"robot {robot!r} does not say how fast its joints may be: give `speed`, or its model a numeric "
            f"{_SPEEDS!r} with {len(all_joints)} numbers, in rad/s or m/s."
        )
    speeds = dict(zip(all_joints, model.numeric(_SPEEDS).data, strict=True))
    return np.array([speeds[name] for name in joints])


def load_behind(robot: Any, sensor: str = "wrist") -> dict[str, Any]:
    """Return what hangs on a force-torque sensor, by the robot's model: `mass`, kg, and `com`, m, in its axes.

    Errors of `arm`.
    """
    found = describe(robot).model
    if sensor not in found.force_torque:
        raise unknown_name("force-torque sensor", sensor, found.force_torque, f"robot {found.name!r}")
    model = compile_model(found.spec)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    site = found.force_torque[sensor]
    body = model.site(site).bodyid[0]
    away = data.subtree_com[body] - data.site(site).xpos
    com = away @ data.site(site).xmat.reshape(3, 3)
    return {"mass": float(model.body_subtreemass[body]), "com": com.tolist()}
