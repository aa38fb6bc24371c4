"""A straight line of a robot's tool as a trajectory of its joints."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.paths import JointViaPoints, Line, joint_trajectory
from pliant.controllers.poses import between, compose, pose, rotation_vector
from pliant.envs.description import RobotDescription, describe
from pliant.envs.simulation.arms import tool_site
from pliant.errors import unknown_name

_FRAMES: Final = ("world", "tool")


def arm_kinematics(robot: Any, end_effector: str | None = None, length: float = 0.3) -> ArmKinematics:
    """Return the kinematics of an end effector by the joints of a robot that is fixed to the world.

    Args:
        robot: whatever `pliant.envs.description.describe` takes.
        end_effector: one of the robot's; None: its only one.
        length: of `ArmKinematics`; 0: the position alone.

    Raises:
        UnknownNameError: no such end effector.
        ConfigurationError: none is named and the robot has none or several, or its base floats.
    """
    description = describe(robot)
    compiled = description.simulated().compiled
    site = tool_site(compiled, description.model.end_effectors, end_effector)
    return ArmKinematics(compiled.model, site, compiled.info.joints, compiled.qpos, length=length)


def straight_line(
    robot: Any,
    move: Sequence[float],
    turn: Sequence[float] | None = (0.0, 0.0, 0.0),
    duration: float = 4.0,
    *,
    frame: str = "world",
    start: Sequence[float] | None = None,
    end_effector: str | None = None,
    period: float = 0.01,
) -> JointViaPoints:
    """Return the joint motion that takes the tool along a straight line with the timing of least jerk.

    It turns evenly about an axis that stays. Between the samples the tool is off the line by the order of period⁶.

    Args:
        robot: a name, a file or a description of one that is fixed to the world.
        move: way of the end effector, (3,), m, in the axes of `frame`.
        turn: rotation vector, (3,), rad, likewise; None: the orientation is as it comes, for arms of fewer joints
            than six.
        duration: s.
        frame: `world`, or `tool`: the end effector's own axes at the start.
        start: joint angles, (joints,), rad; None: where the robot starts.
        end_effector: which; None: the only one.
        period: from one sample to the next, s.

    Raises:
        UnknownNameError: no such frame or end effector.
        ConfigurationError: as `arm_kinematics`, or a joint jumps on the way.
        OutOfBoundsError, ShapeError: numbers that cannot be, or a part of the line is out of reach, with when.
    """
    if frame not in _FRAMES:
        raise unknown_name("frame", frame, _FRAMES, "the straight line")
    description: RobotDescription = describe(robot)
    arm = arm_kinematics(description, end_effector, 0.3 if turn is not None else 0.0)
    compiled = description.simulated().compiled
    near = np.array(compiled.qpos[compiled.positions] if start is None else start, dtype=np.float64)
    begin, way = arm.pose(near), pose(move, (0.0, 0.0, 0.0) if turn is None else turn)
    if frame == "tool":
        end = compose(begin, way)
    else:
        end = compose(pose((0.0, 0.0, 0.0), rotation_vector(way[3:])), begin)
        end[:3] = begin[:3] + way[:3]
    path = Line([0.0], [1.0], duration)
    return joint_trajectory(
        path, lambda share, q: arm.reach(between(begin, end, float(share[0])), q), near, period
    )
