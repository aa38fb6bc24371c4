"""The arm as an interaction controller knows it, and whether it can do what is asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array, finite_array
from pliant.controllers.interaction.frames import ArmFrames, Frame, as_frame
from pliant.controllers.interaction.gains import Gains
from pliant.controllers.interaction.goals import (
    Approach,
    CartesianTrajectory,
    Goal,
    JointSetpoint,
    NewGains,
    Tare,
    Wait,
    as_gains,
)
from pliant.controllers.interaction.motion import CartesianPath, joint_duration
from pliant.controllers.interaction.stability import Contact, LowPass, check_stability
from pliant.controllers.interaction.wrench import QUANTITIES
from pliant.controllers.poses import difference, matrix
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, check_bounds
from pliant.hardware.robot import RobotInfo

_SPACING: Final = 0.02
"""From one pose to the next that a preview looks at, m and rad; at most `_MOST` of them."""
_MOST: Final = 200
_SINGULAR: Final = 0.06
"""Least singular value of the Jacobian, m, that a path may come by: below it an `ArmKinematics` slows down."""
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
    """Goes through goals without moving anything.

    Args:
        arm: see `Arm`.
        period: of the controller, s.
        frame: of the law.
        contact: what gains and approaches are checked against; None: nothing.
        low_pass: of the wrench.
        joint_speed: largest of a set-point, (joints,), rad/s or m/s.
        joint_acceleration: likewise, per s².
    """

    def __init__(
        self,
        arm: Arm,
        period: float,
        frame: Frame,
        contact: Contact | None,
        low_pass: LowPass,
        joint_speed: Array,
        joint_acceleration: float,
    ) -> None:
        self._arm, self._period, self._frame, self._contact = arm, period, frame, contact
        self._low_pass, self._speed, self._acceleration = low_pass, joint_speed, joint_acceleration

    def play(self, goals: Sequence[Goal], q: Array, tool: Array | None = None) -> float:
        """Go through goals, and return how long they take, s. An approach is taken to end where it begins.

        Args:
            goals: one after another.
            q: joint positions at the beginning, (joints,).
            tool: desired pose then, (7,); None: where the joints have it.

        Raises:
            OutOfBoundsError, ConfigurationError: one of them cannot be done; of several the message says which.
        """
        tool = self._arm.preview.pose(q) if tool is None else tool
        total = 0.0
        for number, goal in enumerate(goals, start=1):
            try:
                duration, q, tool = self._one(goal, q, tool)
            except (OutOfBoundsError, ConfigurationError) as error:
                where = f"goal {number} ({type(goal).__name__}): " if len(goals) > 1 else ""
                raise type(error)(f"{where}{error}") from error
            total += duration
        return total

    def joint_duration(self, goal: JointSetpoint, q: Array) -> float:
        """Return how long the joints take from q, (joints,), s."""
        fastest = joint_duration(np.asarray(goal.position) - q, self._speed, self._acceleration)
        return max(fastest, goal.duration or 0.0)

    def check_gains(self, gains: Gains) -> None:
        """Raise `ConfigurationError` for gains that are unstable; see `check_stability`."""
        if self._contact is not None:
            check_stability(gains, self._contact, self._period, self._low_pass, self._arm.load)

    def _one(self, goal: Goal, q: Array, tool: Array) -> tuple[float, Array, Array]:
        """How long a goal takes, and where joints and tool are after it."""
        frames = self._arm.frames
        if isinstance(goal, JointSetpoint):
            check_joints(self._arm, np.asarray(goal.position))
            position = np.asarray(goal.position)
            return self.joint_duration(goal, q), position, self._arm.preview.pose(position)
        if isinstance(goal, CartesianTrajectory):
            path = goal.path(frames.locate(as_frame(goal.frame), tool, tool), tool)
            return path.duration, check_path(self._arm, path, q), path.poses[-1]
        if isinstance(goal, Approach):
            self._check_speed(goal)
            path = goal.path(matrix(frames.locate(self._frame, tool, tool)[3:]), tool)
            check_path(self._arm, path, q)
            return path.duration, q, tool
        if isinstance(goal, NewGains):
            self.check_gains(as_gains(goal.gains))
        return goal.duration if isinstance(goal, Wait) else _TARE if isinstance(goal, Tare) else 0.0, q, tool

    def _check_speed(self, goal: Approach) -> None:
        fastest = np.inf if self._contact is None else self._contact.fastest_approach(goal.transient)
        if self._contact is not None and goal.speed > fastest:
            raise OutOfBoundsError(
                f"an approach at {goal.speed:g} m/s hits a contact of {self._contact.stiffness} N/m with more "
                f"than {goal.transient:g} N; at most {fastest:.3g} m/s are slow enough."
            )


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
