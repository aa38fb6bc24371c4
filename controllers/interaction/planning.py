"""The arm as an interaction controller knows it, and whether it can do what is asked of it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array, finite_array
from pliant.controllers.interaction.frames import ArmFrames, Frame, as_frame
from pliant.controllers.interaction.goals import Approach, CartesianTrajectory, Goal, JointSetpoint, Tare, Wait
from pliant.controllers.interaction.motion import CartesianPath, joint_duration
from pliant.controllers.interaction.stability import Contact
from pliant.controllers.interaction.wrench import QUANTITIES
from pliant.controllers.poses import difference, matrix
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, check_bounds
from pliant.hardware.robot import RobotInfo

_SPACING: Final = 0.02
"""From one pose to the next that a preview looks at, m and rad; at most `_MOST` of them."""
_MOST: Final = 200
_SINGULAR: Final = 0.02
"""Least singular value of the Jacobian, m, that a path may come by; rotations count by `_LENGTH`."""
_LENGTH: Final = 0.3
"""What a rotation of 1 rad counts as, m."""
_TARE: Final = 2.0
"""How long a tare is taken to last, s."""


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm fixed to the world, as a controller believes it to be."""

    kinematics: ArmKinematics
    """Of its tool's centre point."""
    preview: ArmKinematics
    """The same once more, not shared with the controller's loop, so that a thread may ask it while that runs."""
    frames: ArmFrames
    speed: ArrayLike
    """Largest speeds of its joints, (joints,), rad/s or m/s."""
    load: float = 0.0
    """Mass of what hangs on its force-torque sensor, kg."""
    sensor: str = "wrist"
    """Name of its force-torque sensor, whose signals are `wrist/force_x` … `wrist/torque_z`."""

    def __post_init__(self) -> None:
        speed = finite_array("joint speeds of the arm", self.speed, (len(self.kinematics.joints),))
        for name, value in zip(self.kinematics.joints, speed, strict=True):
            check_bounds(f"largest speed of joint {name!r}", value, 1e-6, 1e3)
        check_bounds("load of the arm", self.load, 0.0, 1e3, "kg")
        object.__setattr__(self, "speed", speed)


def check_path(arm: Arm, path: CartesianPath, q: Array) -> Array:
    """Return the joint positions at the end of a path that begins at q, (joints,).

    It is followed in small steps. Takes some tenths of a millisecond for each.

    Raises:
        OutOfBoundsError: a pose on it is out of reach, behind a joint's limit, or next to a singular posture; the
            message says when.
    """
    kinematics = arm.preview
    for i, begin in enumerate(path.time[:-1]):
        end = path.time[i + 1]
        way = np.abs(difference(path.poses[i + 1], path.poses[i]))
        steps = min(max(int(np.ceil(way.max() / _SPACING)), 1), _MOST)
        for share in np.arange(1, steps + 1) / steps:
            time = begin + share * (end - begin)
            try:
                q = kinematics.reach(path.pose(time), q)
            except OutOfBoundsError as error:
                raise OutOfBoundsError(f"the path cannot be followed at {time:.4g} s: {error}") from error
            least = singular_value(kinematics, q)
            if least < _SINGULAR:
                raise OutOfBoundsError(
                    f"the path comes by a singular posture at {time:.4g} s, {np.round(q, 3).tolist()}: the least "
                    f"singular value of the Jacobian is {least:.3g} m there; {_SINGULAR:g} m is needed."
                )
    return q


def check_joints(arm: Arm, q: Array) -> None:
    """Raise unless q, (joints,), are positions that the arm's joints can have."""
    kinematics = arm.kinematics
    if len(q) != len(kinematics.joints):
        raise ConfigurationError(
            f"a joint set-point has {len(q)} positions; the arm has {len(kinematics.joints)} joints: "
            f"{', '.join(kinematics.joints)}."
        )
    for name, value, low, high in zip(kinematics.joints, q, kinematics.low, kinematics.high, strict=True):
        if not low <= value <= high:
            check_bounds(f"joint set-point of {name!r}", value, low, high, "rad")


def singular_value(kinematics: ArmKinematics, q: Array) -> float:
    """Return the least singular value of the Jacobian at q, m, with 1 rad counting as 0.3 m."""
    jacobian = kinematics.jacobian(q).copy()
    jacobian[3:] *= _LENGTH
    return float(np.linalg.svd(jacobian, compute_uv=False)[min(jacobian.shape) - 1])


class Rehearsal:
    """Goes through goals one after another, without moving anything.

    Args:
        arm: see `Arm`.
        q: joint positions at the beginning, (joints,).
        tool: desired pose at the beginning, (7,).
        axes: frame of the law.
        contact: what approaches are checked against; None: nothing.
        joint_speed: largest of a set-point, (joints,).
        joint_acceleration: likewise.
    """

    def __init__(
        self,
        arm: Arm,
        q: Array,
        tool: Array,
        axes: Frame,
        contact: Contact | None,
        joint_speed: Array,
        joint_acceleration: float,
    ) -> None:
        self.duration = 0.0
        """Of what was gone through, s."""
        self._arm, self._q, self._tool, self._axes = arm, q, tool, axes
        self._contact, self._speed, self._acceleration = contact, joint_speed, joint_acceleration

    def play(self, goal: Goal) -> None:
        """Go through a goal. What an approach meets is not known: it is taken to end where it begins.

        Raises:
            OutOfBoundsError, ConfigurationError: it cannot be done.
        """
        frames = self._arm.frames
        if isinstance(goal, JointSetpoint):
            position = np.asarray(goal.position)
            check_joints(self._arm, position)
            fastest = joint_duration(position - self._q, self._speed, self._acceleration)
            self.duration += max(fastest, goal.duration or 0.0)
            self._q, self._tool = position, self._arm.preview.pose(position)
        elif isinstance(goal, CartesianTrajectory):
            path = goal.path(frames.locate(as_frame(goal.frame), self._tool, self._tool), self._tool)
            self._q = check_path(self._arm, path, self._q)
            self._tool = path.poses[-1]
            self.duration += path.duration
        elif isinstance(goal, Approach):
            if self._contact is not None:
                fastest = self._contact.fastest_approach(goal.transient)
                if goal.speed > fastest:
                    raise OutOfBoundsError(
                        f"an approach at {goal.speed:g} m/s hits a contact of {self._contact.stiffness} N/m with "
                        f"more than {goal.transient:g} N; at most {fastest:.3g} m/s are slow enough."
                    )
            axes = matrix(frames.locate(self._axes, self._tool, self._tool)[3:])
            path = goal.path(axes, self._tool)
            check_path(self._arm, path, self._q)
            self.duration += path.duration
        elif isinstance(goal, Wait):
            self.duration += goal.duration
        elif isinstance(goal, Tare):
            self.duration += _TARE


def places(arm: Arm, info: RobotInfo) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return where the arm's joints stand in a state and in a command, and its wrench among the sensors.

    Raises:
        MismatchError: the robot lacks one of them; the message names all that it lacks.
    """
    missing = [f"joint {name!r}" for name in arm.kinematics.joints if name not in info.joints]
    columns = []
    for name in arm.kinematics.joints:
        found = [i for i, c in enumerate(info.command) if c.owner == name and c.unit in ("rad", "m")]
        columns += found[:1]
        if name in info.joints and not found:
            missing.append(f"a column of positions for joint {name!r}")
    sensors = [channel.name for channel in info.sensors]
    names = [f"{arm.sensor}/{quantity}" for quantity in QUANTITIES]
    missing += [f"signal {name!r}" for name in names if name not in sensors]
    if missing:
        raise MismatchError(
            f"the interaction controller does not fit the robot {info.name!r}, which lacks:\n  - "
            + "\n  - ".join(missing)
        )
    joints = tuple(info.joints.index(name) for name in arm.kinematics.joints)
    return joints, tuple(columns), tuple(sensors.index(name) for name in names)
