"""A trajectory as the command: each joint is told where to be, and its own drive and spring do the rest."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller, check_names
from pliant.controllers.desired_motion import desired_motion, for_joints
from pliant.controllers.feedforward import Rows
from pliant.controllers.trajectories import Trajectory
from pliant.controllers.trial import joint_columns
from pliant.errors import check_bounds
from pliant.hardware.robot import RobotInfo, State


class Setpoints(Controller):
    """Commands the desired angles of a trajectory, open loop: one column per joint, the others at rest.

    A soft joint hangs below its setpoint by what its spring yields. `through` says where to set it instead:
    `SpringHolding` so that the springs carry the weight of the arm.

    Args:
        trajectory: what to command, matched with the robot by `for_joints`.
        info: the robot.
        columns: one per joint; None: the first of each. See `joint_columns`.
        through: desired angles (joints,), rad -> values of the columns (joints,); None: the angles themselves.

    Raises:
        ShapeError, MismatchError: a trajectory of other joints.
        OutOfBoundsError: it leaves the range of a joint; see `desired_motion`.
        UnknownNameError, ConfigurationError: columns that the robot does not have, or not one per joint.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        info: RobotInfo,
        columns: Sequence[str] | None = None,
        through: Callable[[Array], ArrayLike] | None = None,
    ) -> None:
        self.trajectory = for_joints(trajectory, info.joints)
        desired_motion(self.trajectory, info)
        self._columns = list(joint_columns(info, columns))
        self._rest, self._through = info.rest, through
        self._joints, self._names = info.joints, info.command_names
        self.initial_command = self._at(0.0)

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, naming every difference, if the robot is another one than this was made for."""
        check_names("the setpoints", self._joints, self._names, info)

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,), for the time `t` of the trajectory, s; the state is not used."""
        return self._at(t)

    def _at(self, t: float) -> Array:
        desired = self.trajectory.position(t)
        command = np.array(self._rest)
        if self._through is not None:
            desired = finite_array("setpoints", self._through(desired), desired.shape)
        command[self._columns] = desired
        return command


class SetpointPID(Setpoints):
    """Follows a trajectory on a robot that takes positions: its setpoints are moved by what the links are off.

        u = q_d + clip(kp·e + z + kd·ė, ±limit),   e = q_d − q,   ė = q̇_d − q̇,   ż = ki·e, |z| ≤ limit

    For soft joints, and joints whose own loop leaves an error under load. Every joint has a loop of its own below
    this one, so keep kp well below 1 and 1/ki longer than that loop takes; `limit` bounds what can go wrong.

    Args:
        trajectory: what to follow; see `Setpoints`.
        info: the robot.
        kp: rad/rad, ≥ 0.
        ki: 1/s, ≥ 0.
        kd: s, ≥ 0.
        limit: largest correction of a setpoint, rad.
        columns: one per joint; None: the first of each.

    Raises:
        OutOfBoundsError: a gain or limit is negative or not finite. Others: as `Setpoints`.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        info: RobotInfo,
        *,
        kp: float = 0.2,
        ki: float = 0.5,
        kd: float = 0.0,
        limit: float = 0.2,
        columns: Sequence[str] | None = None,
    ) -> None:
        super().__init__(trajectory, info, columns)
        gains = {"kp": kp, "ki": ki, "kd": kd, "limit": limit}
        self._gains = [check_bounds(f"SetpointPID {name}", value, 0.0, 1e3) for name, value in gains.items()]
        self._integral = np.zeros(len(info.joints))
        self._time = 0.0

    def reset(self, state: State) -> None:
        """Begin again: forget the integral and the time."""
        self._integral = np.zeros_like(self._integral)
        self._time = 0.0

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,); raise `OutOfBoundsError` for a joint whose angle is not measured."""
        kp, ki, kd, limit = self._gains
        shape = self._integral.shape
        error = self.trajectory.position(t) - finite_array("measured position", state.position, shape)
        self._integral = np.clip(self._integral + ki * error * (t - self._time), -limit, limit)
        self._time = t
        correction = kp * error + self._integral
        if kd:
            speed = finite_array("measured velocity", state.velocity, shape)
            correction += kd * (self.trajectory.velocity(t) - speed)
        command = self._at(t)
        command[self._columns] += np.clip(correction, -limit, limit)
        return command


def hold(info: RobotInfo) -> Rows:
    """Return the controller that stands still under a robot's resting command."""
    return Rows(info.rest[None], info.command_names)
