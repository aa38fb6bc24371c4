"""What an interaction controller needs to know of an arm, from the description of a robot."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from pliant.actuators import compile_model
from pliant.controllers.checks import Array
from pliant.controllers.interaction import Arm, ArmFrames
from pliant.controllers.poses import compose, inverse
from pliant.envs.description import describe
from pliant.envs.models.robot_model import RobotModel, tool_load
from pliant.envs.straight_line import arm_kinematics
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.wrench import ToolLoad

_SPEEDS = "speed_limits"
"""Numeric of a model: largest speeds of its joints, rad/s or m/s."""
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def arm(
    robot: Any,
    end_effector: str | None = None,
    sensor: str = "wrist",
    *,
    flange: str | None = None,
    speed: float | Sequence[float] | None = None,
) -> Arm:
    """Return an arm's kinematics, frames, speeds and load.

    Args:
        robot: see `describe`.
        end_effector: whose site is the tool's centre point; None: the only one.
        sensor: name of the force-torque sensor.
        flange: site of the flange; None: that of the sensor.
        speed: largest joint speeds, rad/s or m/s, one for all or each; None: the model's numeric `speed_limits`.

    Raises:
        UnknownNameError: no such end effector, sensor or site.
        ConfigurationError: as `arm_kinematics`; a sensor or flange that moves against the tool; no speed is known.
    """
    found = describe(robot)
    own, preview = (arm_kinematics(found, end_effector) for _ in range(2))
    site = _sensor_site(found.model, sensor)
    model = compile_model(found.model.spec)
    frames = ArmFrames(
        base=_base(model, found.model.joints[0]),
        flange=_fixed(model, own.site, flange or site),
        sensor=_fixed(model, own.site, site),
    )
    load = tool_load(found.model, sensor).mass
    return Arm(own, preview, frames, _speeds(model, found.model, speed), load, sensor)


def load_behind(robot: Any, sensor: str = "wrist") -> ToolLoad:
    """Return what hangs on a force-torque sensor of a robot. Errors of `describe` and `tool_load`."""
    return tool_load(describe(robot).model, sensor)


def _sensor_site(model: RobotModel, sensor: str) -> str:
    if sensor not in model.force_torque:
        raise unknown_name("force-torque sensor", sensor, model.force_torque, f"robot {model.name!r}")
    return model.force_torque[sensor]


def _base(model: mujoco.MjModel, joint: str) -> Array:
    """Pose of the body that the first joint turns against."""
    body = model.body_parentid[model.joint(joint).bodyid[0]]
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
            if int(model.jnt_type[joint]) in _SCALAR:
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


def _speeds(model: mujoco.MjModel, robot: RobotModel, given: float | Sequence[float] | None) -> Array:
    number = len(robot.joints)
    if given is not None:
        try:
            return np.broadcast_to(np.asarray(given, np.float64), number).copy()
        except ValueError as error:
            raise ConfigurationError(f"speeds of {number} joints are {given!r}; one for all, or each.") from error
    numerics = [model.numeric(i).name for i in range(model.nnumeric)]
    if _SPEEDS not in numerics or len(model.numeric(_SPEEDS).data) != number:
        raise ConfigurationError(
            f"robot {robot.name!r} does not say how fast its joints may be: give `speed`, or its model a numeric "
            f"{_SPEEDS!r} with {number} numbers, in rad/s or m/s."
        )
    return np.array(model.numeric(_SPEEDS).data)
