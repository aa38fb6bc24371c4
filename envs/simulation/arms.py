"""What a controller of an arm needs to know of it, from a compiled model."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array
from pliant.controllers.interaction import Arm, ArmFrames
from pliant.controllers.poses import compose, inverse
from pliant.envs.models.robot_model import BASE, load_at, sensor_site
from pliant.envs.simulation.compiled_robot import CompiledRobot
from pliant.errors import ConfigurationError, unknown_name

_SPEEDS = "speed_limits"
"""Numeric of a model: largest speeds of its joints, rad/s or m/s."""
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def arm_of(
    robot: CompiledRobot,
    end_effectors: Mapping[str, str],
    sensors: Mapping[str, str],
    end_effector: str | None,
    sensor: str,
    *,
    flange: str | None = None,
    speed: float | Sequence[float] | None = None,
) -> Arm:
    """Return an arm's kinematics, frames, speeds and load.

    Args:
        robot: the arm.
        end_effectors: sites by name.
        sensors: sites of the force-torque sensors, by name.
        end_effector: whose site is the tool's centre point; None: the only one.
        sensor: name of the force-torque sensor.
        flange: site of the flange; None: that of the sensor.
        speed: largest joint speeds, rad/s or m/s, one for all or each; None: the model's numeric `speed_limits`.

    Raises:
        UnknownNameError: no such end effector, sensor or site.
        ConfigurationError: as `tool_site`; a sensor or flange that moves against the tool; no speed is known.
    """
    model, joints, tip = robot.model, robot.info.joints, tool_site(robot, end_effectors, end_effector)
    site = sensor_site(robot.info.name, sensors, sensor)
    own, preview = (ArmKinematics(model, tip, joints, robot.qpos) for _ in range(2))
    frames = ArmFrames(
        base=_base(model, joints[0]), flange=_fixed(model, tip, flange or site), sensor=_fixed(model, tip, site)
    )
    speeds = _speeds(model, robot.info.name, len(joints), speed)
    return Arm(own, preview, frames, speeds, load_at(model, site).mass, sensor)


def tool_site(robot: CompiledRobot, end_effectors: Mapping[str, str], name: str | None) -> str:
    """Return the site of an end effector of a robot that is fixed to the world; None: of its only one.

    Raises:
        UnknownNameError: no such end effector.
        ConfigurationError: none is named and the robot has none or several, or its base floats.
    """
    where = f"robot {robot.info.name!r}"
    if BASE in robot.bodies:
        raise ConfigurationError(f"{where} is not fixed: its joints alone do not say where its tool is.")
    if name is None and len(end_effectors) != 1:
        names = ", ".join(end_effectors) or "none"
        raise ConfigurationError(f"say which end effector: {where} has {names}.")
    chosen = next(iter(end_effectors)) if name is None else name
    if chosen not in end_effectors:
        raise unknown_name("end effector", chosen, end_effectors, where)
    return end_effectors[chosen]


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


def _speeds(model: mujoco.MjModel, robot: str, number: int, given: float | Sequence[float] | None) -> Array:
    if given is not None:
        try:
            return np.broadcast_to(np.asarray(given, np.float64), number).copy()
        except ValueError as error:
            raise ConfigurationError(f"speeds of {number} joints are {given!r}; one for all, or each.") from error
    numerics = [model.numeric(i).name for i in range(model.nnumeric)]
    if _SPEEDS not in numerics or len(model.numeric(_SPEEDS).data) != number:
        raise ConfigurationError(
            f"robot {robot!r} does not say how fast its joints may be: give `speed`, or its model a numeric "
            f"{_SPEEDS!r} with {number} numbers, in rad/s or m/s."
        )
    return np.array(model.numeric(_SPEEDS).data)
