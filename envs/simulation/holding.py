"""Where a trial begins: the command that holds a robot at given angles, for learning and for deployment alike.

A drive at rest carries the load of its link, L = g(q): its weight, and what passive springs of the model do.

| mode | torque on the link at rest |
|---|---|
| 0 | the command |
| 1 | kp·(u − q) + z, z of the integral; a servo's by its firmware and motor, without the friction of its gear |
| 2, 3 | τ(q, θ) of the law, the motors at their references |
| 4 | τ(q, θ), each motor where its spring carries the torque that is commanded |
| 5, 6 | τ(q, θ), each motor where its loop carries its spring: kp·(r − θ) + z = τᵢ(q, θ) |
| native | a position actuator's stiffness carries the load, a motor commands it |
"""

import copy
from collections.abc import Sequence
from functools import partial
from inspect import signature
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import CompliantJoint, Drive, Mode
from pliant.actuators.drives.link_pid import link_pid
from pliant.controllers.checks import finite_array
from pliant.controllers.desired_motion import check_range
from pliant.controllers.trajectories import Motion
from pliant.envs.simulation.compiled_robot import CompiledRobot
from pliant.envs.simulation.resting import (
    compensated_weight,
    integral_torque,
    joint_loads,
    loop_torque,
    settled_motors,
)
from pliant.errors import ConfigurationError, OutOfBoundsError
from pliant.hardware.robot import Array

_SAME = 1e-12
"""Angles closer than this are the same, rad."""
_APART, _MOST = 0.3, 64
"""Time between poses of a motion that are solved for, s, and how many of them at most."""
_NO_CONTACT = int(
    mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_EQUALITY
)


class TrialStart(NamedTuple):
    """Where a trial begins: at rest, the motors carrying their loads."""

    position: Array | None
    """Angles of the links, (joints,), rad; None: the robot's own start, as `reset` without arguments leaves it."""
    command: Array
    """The command that holds the robot there, (columns,)."""
    lift: Array
    """By how much the learned columns of that command exceed the angles, (joints,): what a desired motion needs to
    be a command that begins at rest."""

    @property
    def settled(self) -> bool:
        """Whether the motors carry their loads; at the robot's own start they are at their references."""
        return self.position is not None


def trial_start(
    robot: CompiledRobot, position: ArrayLike, columns: Sequence[int], *, held: bool = False
) -> TrialStart:
    """Return where a trial begins whose trajectory begins at `position`.

    A trajectory that begins where the robot itself does begins under its resting command, as published experiments
    do, unless it is to be `held` too. Any other begins under the command that holds it; see `resting_command` for
    arguments and errors.
    """
    q = finite_array("start of the trajectory", position, (len(robot.info.joints),))
    if not held and np.abs(q - robot.qpos[robot.positions]).max() < _SAME:
        return TrialStart(None, robot.info.rest, np.zeros(len(q)))
    command = resting_command(robot, q, columns)
    return TrialStart(q, command, command[list(columns)] - q)


def resting_command(
    robot: CompiledRobot, position: ArrayLike, columns: Sequence[int], loads: Array | None = None
) -> Array:
    """Return the command under which a robot rests at given angles, (columns,).

    One column per joint is solved for, by root finding between its bounds, so that the drive carries the load of
    its link; the others keep their resting values. Dry friction, contacts and equality constraints have no part in
    it.

    Args:
        robot: which.
        position: where it is to rest, (joints,), rad.
        columns: index of the column to solve for, of each joint in order.
        loads: that the drives are to carry, (nv,), N·m; None: those of the robot at rest.

    Raises:
        ShapeError, OutOfBoundsError: angles that are no use or outside the range of a joint.
        OutOfBoundsError: no command within the bounds holds a joint there; the message has both torques.
    """
    from scipy.optimize import brentq

    info, model = robot.info, robot.model
    q = finite_array(f"robot {info.name!r}: position", position, (len(info.joints),))
    check_range("the start", q, info, ranges=link_ranges(robot))
    qpos = robot.qpos.copy()
    qpos[robot.positions] = q
    if loads is None:
        loads = joint_loads(model, qpos)
    compliant = {joint.name: joint for joint in robot.joints}
    command = info.rest.copy()
    for name, column, angle in zip(info.joints, columns, q.tolist(), strict=True):
        load = float(loads[model.joint(name).dofadr[0]])
        if name not in compliant:
            command[column] = _native_command(robot, column, angle, load)
            continue
        joint = compliant[name]
        own = [k for k, channel in enumerate(info.command) if channel.owner == name]
        channel = info.command[column]
        settled = partial(_settled_torque, joint.description, angle, load, command[own], own.index(column))
        least, most = sorted((settled(channel.low), settled(channel.high)))
        if not least <= load <= most:
            held = "".join(
                f", {info.command[k].name} at {command[k]:.4g} {info.command[k].unit}" for k in own if k != column
            )
            raise OutOfBoundsError(
                f"no command holds joint {name!r} of robot {info.name!r} at {angle:.4g} rad: its load there "
                f"is {load:.4g} N·m, and with {channel.name} in [{channel.low:.4g}, {channel.high:.4g}] "
                f"{channel.unit}{held} it carries {least:.4g} to {most:.4g} N·m. Begin elsewhere, stiffer, or "
                "with less load."
            )
        command[column] = brentq(lambda value, f=settled, aim=load: f(value) - aim, channel.low, channel.high)
    return command


def slow_commands(robot: CompiledRobot, motion: Motion, columns: Sequence[int]) -> Array:
    """Return the commands of the chosen columns that lead a robot through a slow motion, (n, joints).

    Drives are taken as at rest under the loads that inverse dynamics finds along the motion, friction included:
    right as far as the motion is slow against them. Loads are solved for every few tenths of a second; between,
    by how much the command exceeds the angle is interpolated. So friction, which sets in at once, leads to no
    jump.

    Args:
        robot: which.
        motion: where it is to be led.
        columns: index of the column of each joint.

    Raises:
        OutOfBoundsError: no command carries such a load; see `resting_command`.
    """
    from scipy.interpolate import PchipInterpolator

    poses = min(max(round(motion.time[-1] / _APART), 1), _MOST) + 1
    rows = np.unique(np.linspace(0, len(motion.time) - 1, poses).round().astype(int))
    acceleration = np.gradient(motion.velocity, motion.period, axis=0)
    acceleration[~motion.velocity.any(axis=1)] = 0.0  # friction does not yet act on what stands
    lifts = []
    for k in rows:
        loads = moving_loads(robot, motion.position[k], motion.velocity[k], acceleration[k])
        lifts.append(
            resting_command(robot, motion.position[k], columns, loads)[list(columns)] - motion.position[k]
        )
    return motion.position + PchipInterpolator(rows, np.array(lifts))(np.arange(len(motion.time)))


def moving_loads(robot: CompiledRobot, position: Array, velocity: Array, acceleration: Array) -> Array:
    """Return what drives must put on all joints of a moving robot, (nv,), N·m, by inverse dynamics.

    Dry friction is included. Stops, contacts and equality constraints have no part in it.

    Args:
        robot: which.
        position: of its joints, (joints,), rad.
        velocity: rad/s.
        acceleration: rad/s².
    """
    model = copy.copy(robot.model)
    model.opt.disableflags |= _NO_CONTACT
    data = mujoco.MjData(model)
    data.qpos[:] = robot.qpos
    data.qpos[robot.positions] = position
    speeds = [int(model.joint(name).dofadr[0]) for name in robot.info.joints]
    data.qvel[speeds], data.qacc[speeds] = velocity, acceleration
    mujoco.mj_inverse(model, data)
    return np.array(data.qfrc_inverse - compensated_weight(model, data))


def _native_command(robot: CompiledRobot, column: int, angle: float, load: float) -> float:
    """The command of one of the model's own actuators under which its joint rests at an angle under a load."""
    channel, control = robot.info.command[column], int(robot.controls[column])
    quantity = channel.quantity
    if quantity == "torque":
        value = load
    elif quantity == "position":
        model = robot.model
        actuator = int(np.searchsorted(model.actuator_ctrladr, control, side="right")) - 1
        stiffness = -float(model.actuator_biasprm[actuator, 1]) * float(model.actuator_gear[actuator, 0]) ** 2
        value = angle + load / stiffness
    else:
        raise ConfigurationError(
            f"nothing holds {channel.name.rpartition('/')[0]!r} at {angle:.4g} by a command of {quantity}; a "
            "trajectory that begins elsewhere than the robot needs positions, torques or springs."
        )
    if not channel.low <= value <= channel.high:
        raise OutOfBoundsError(
            f"no command holds the robot at {angle:.4g}: {channel.name} would have to be {value:.4g} "
            f"{channel.unit}, outside [{channel.low:.4g}, {channel.high:.4g}]."
        )
    return value


def link_ranges(robot: CompiledRobot) -> tuple[Array, Array]:
    """Return the lowest and highest position that the stops of each joint allow, (joints,); infinite without."""
    model = robot.model
    chosen = [model.joint(name).id for name in robot.info.joints]
    limits = np.where(model.jnt_limited[chosen][:, None] > 0, model.jnt_range[chosen], [-np.inf, np.inf])
    return limits[:, 0].copy(), limits[:, 1].copy()


def _settled_torque(
    joint: CompliantJoint,
    position: float,
    load: float,
    references: Array,
    column: int,
    value: float,
) -> float:
    """Torque on a resting link with one of the joint's references at `value`, N·m; see the module."""
    given = references.tolist()
    given[column] = float(value)
    if joint.mode is Mode.LINK_TORQUE:
        return float(given[0])
    if joint.mode is Mode.LINK_POSITION:
        drive = joint.drives[0]
        if drive.kind is link_pid:
            return loop_torque(joint, given[0] - position, integral_torque(joint.pid, load))
        return _resting_torque(drive, position, given[0])
    return joint.law.torque(position, *settled_motors(joint, position, given))


def _resting_torque(drive: Drive, position: float, target: float) -> float:
    """Torque of a drive on a resting link, N·m, without the friction of its gear."""
    if drive.affine is not None:
        return drive.affine.stiffness * (target - position)
    function = drive.kind.effort or drive.kind.torque
    assert function is not None
    known = {
        **drive.parameters,
        **dict.fromkeys(drive.kind.state, 0.0),
        "q": position,
        "dq": 0.0,
        "target": target,
    }
    return float(function(*(known[name] for name in signature(function).parameters)))
