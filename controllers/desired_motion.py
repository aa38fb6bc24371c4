"""What a trajectory asks of a robot: its joints matched, its angles within their ranges."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array
from pliant.controllers.recorded import Recorded, other_joints
from pliant.controllers.trajectories import Motion, Trajectory, sample
from pliant.errors import OutOfBoundsError
from pliant.hardware.robot import RobotInfo

_FARTHEST = 4.0 * np.pi
"""No joint is asked to turn further than this where nothing is known of its range, rad."""


def for_joints(trajectory: Trajectory, joints: Sequence[str], *, one_for_all: bool = False) -> Trajectory:
    """Return a trajectory in the order of a robot's joints.

    A recorded motion is matched by the names in it (`Recorded.for_joints`); others have none and are taken in the
    robot's order.

    Args:
        trajectory: of any kind.
        joints: names of the robot's joints, in order.
        one_for_all: whether a trajectory of one joint, without a name, may move all of them.

    Raises:
        ShapeError: it moves another number of joints.
        MismatchError: a recorded motion names other joints.
    """
    if isinstance(trajectory, Recorded):
        return trajectory.for_joints(joints)
    if trajectory.joints != len(joints) and not (one_for_all and trajectory.joints == 1):
        raise other_joints(trajectory.joints, joints)
    return trajectory


def desired_motion(
    trajectory: Trajectory,
    info: RobotInfo,
    *,
    one_for_all: bool = False,
    ranges: tuple[Array, Array] | None = None,
) -> Motion:
    """Return the motion that a trajectory asks of a robot: its joints matched, sampled at the robot's period.

    Args:
        trajectory: of any kind.
        info: the robot.
        one_for_all: see `for_joints`.
        ranges: see `check_range`.

    Raises:
        ShapeError, MismatchError: it is not one of these joints; see `for_joints`.
        OutOfBoundsError: it is shorter than a period, or leaves the range of a joint; see `check_range`.
    """
    motion = sample(for_joints(trajectory, info.joints, one_for_all=one_for_all), info.period)
    check_range("the trajectory", motion.position, info, motion.time, ranges)
    return motion


def joint_ranges(info: RobotInfo) -> tuple[Array, Array]:
    """Return the lowest and highest angle of each joint that a robot can be asked for, (joints,), rad.

    That is what its own columns in rad reach. For a joint without one (driven by torques) no range is known, and
    two turns to either side are taken as what no joint goes beyond.
    """
    low, high = np.full(len(info.joints), -_FARTHEST), np.full(len(info.joints), _FARTHEST)
    for i, joint in enumerate(info.joints):
        angles = [c for c in info.command if c.owner == joint and c.unit == "rad"]
        if angles:
            low[i], high[i] = min(c.low for c in angles), max(c.high for c in angles)
    return low, high


def check_range(
    what: str,
    position: ArrayLike,
    info: RobotInfo,
    time: ArrayLike | None = None,
    ranges: tuple[Array, Array] | None = None,
) -> None:
    """Raise `OutOfBoundsError`, saying what, where and the valid range, if angles leave the range of a joint.

    Args:
        what: whose angles they are, such as "the trajectory".
        position: (joints,) or (n, joints), rad, in the robot's order; (n, 1) for all joints alike.
        info: the robot.
        time: of the rows, (n,), s, for the message.
        ranges: lowest and highest angles, (joints,), rad, where more is known of them than `joint_ranges` does.
    """
    low, high = joint_ranges(info)
    if ranges is not None:
        low, high = np.maximum(low, ranges[0]), np.minimum(high, ranges[1])
    rows = np.atleast_2d(np.asarray(position, dtype=np.float64))
    angles = np.broadcast_to(rows, (len(rows), len(low)))
    beyond = np.maximum(low - angles, angles - high)
    row, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[row, joint] <= 1e-9:
        return
    when = "" if time is None else f" at {np.asarray(time)[row]:.4g} s"
    angle = angles[row, joint]
    meant = (
        f"; {angle:g}° would be {np.radians(angle):.4g} rad"
        if low[joint] <= np.radians(angle) <= high[joint]
        else ""
    )
    raise OutOfBoundsError(
        f"{what}: joint {info.joints[joint]!r} of robot {info.name!r} is asked for {angle:.4g} rad{when}, outside "
        f"its range of [{low[joint]:.4g}, {high[joint]:.4g}] rad (angles are in rad{meant})."
    )
