"""Where a robot starts: a keyframe or a pose, a floating base on the floor, everything settled."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.actuators import JointOnModel
from pliant.envs.models.robot_model import BASE, RobotModel, as_pose
from pliant.envs.simulation.resting import put_at_rest
from pliant.errors import OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.robot import Array

_HALVINGS = 50


def starting_state(model: mujoco.MjModel, robot: RobotModel) -> tuple[Array, int | None]:
    """Return the positions at the start, (nq,), and the number of the keyframe they are from, if any.

    Raises:
        UnknownNameError: no such keyframe, joint or free body.
        OutOfBoundsError: a joint is to start outside its range.
        ShapeError: a pose that is neither three nor seven numbers.
    """
    start, keyframe = robot.start, None
    qpos = model.qpos0.copy()
    if start.keyframe is not None:
        names = [model.key(k).name for k in range(model.nkey)]
        if start.keyframe not in names:
            raise unknown_name("keyframe", start.keyframe, filter(None, names), f"the model of {robot.name!r}")
        keyframe = names.index(start.keyframe)
        qpos = model.key_qpos[keyframe].copy()
    for name in start.joints:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints, f"the start of robot {robot.name!r}")
    for name in robot.joints:
        joint, limits = model.joint(name), (-1e9, 1e9)
        if joint.limited[0]:
            limits = (float(joint.range[0]), float(joint.range[1]))
        place = int(joint.qposadr[0])
        if name in start.joints:
            qpos[place] = check_bounds(f"start of joint {name!r}", start.joints[name], *limits)
        elif keyframe is None:
            qpos[place] = min(max(float(qpos[place]), limits[0]), limits[1])
    places = free_places(model, robot)
    for name in start.bodies:
        if name not in places:
            raise unknown_name("free body", name, places, f"the start of robot {robot.name!r}")
    poses = {**({} if start.base is None else {BASE: start.base}), **start.bodies}
    for name, place in places.items():
        if name in poses:
            qpos[place : place + 7] = as_pose(f"start of robot {robot.name!r}: {name}", poses[name])
    if robot.base is not None and start.on_floor:
        _stand(model, qpos, places[BASE], model.body(robot.base).id)
    return qpos, keyframe


def free_places(model: mujoco.MjModel, robot: RobotModel) -> dict[str, int]:
    """Where in `qpos` the seven numbers of everything that floats begin, by name."""
    first = {name: int(model.body(body).jntadr[0]) for name, body in robot.floating.items()}
    return {name: int(model.jnt_qposadr[joint]) for name, joint in first.items()}


def _stand(model: mujoco.MjModel, qpos: Array, place: int, base: int) -> None:
    """Move a floating base up or down until what hangs on it just touches the rest of the world, if it can."""
    data, height = mujoco.MjData(model), float(qpos[place + 2])
    mine = model.body_rootid[model.geom_bodyid] == model.body_rootid[base]

    def touches(z: float) -> bool:
        data.qpos[:] = qpos
        data.qpos[place + 2] = z
        mujoco.mj_fwdPosition(model, data)
        pairs = data.contact.geom[data.contact.dist < 0.0]
        return any(bool(mine[a]) != bool(mine[b]) for a, b in pairs.tolist() if min(a, b) >= 0)

    mujoco.mj_fwdPosition(model, data)
    reach = 2.0 * float(model.stat.extent)
    low, high = height - reach, height + reach
    if touches(high) or not touches(low):
        return
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if touches(middle) else (low, middle)
    qpos[place + 2] = high


def settled(
    model: mujoco.MjModel, qpos: Array, controls: Array, joints: Sequence[JointOnModel], seconds: float
) -> Array:
    """Return the positions, (nq,), in which a robot stands `seconds` after it was put at `qpos` with `controls`.

    Raises:
        OutOfBoundsError: it does not stand: the simulation diverges.
    """
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = qpos, controls
    put_at_rest(model, data, joints)
    mujoco.mj_step(model, data, round(seconds / float(model.opt.timestep)))
    if not np.isfinite(data.qpos).all() or data.warning.number.any():
        raise OutOfBoundsError("the robot does not stand: its simulation diverges while it settles at its start.")
    positions: Array = data.qpos.copy()
    return positions


def fill_histories(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Let sensors with a delay or period read as if the simulation had always been as it is now."""
    delay, interval = model.sensor_delay.copy(), model.sensor_interval.copy()
    model.sensor_delay[:], model.sensor_interval[:] = 0.0, 0.0
    mujoco.mj_forward(model, data)
    now = data.sensordata.copy()
    model.sensor_delay[:], model.sensor_interval[:] = delay, interval
    for sensor in np.flatnonzero(model.sensor_history[:, 0] > 0).tolist():
        first, size = int(model.sensor_adr[sensor]), int(model.sensor_dim[sensor])
        last = float(interval[sensor, 1]) or -float(interval[sensor, 0])
        values = np.tile(now[first : first + size], (int(model.sensor_history[sensor, 0]), 1))
        mujoco.mj_initSensorHistory(model, data, sensor, None, values, last)
