"""A trajectory as the command itself: each joint is told where to be, and its own drive and spring do the rest."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller, check_names
from pliant.controllers.trajectories import Trajectory, for_joints
from pliant.controllers.trial import joint_columns
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
        self._columns = list(joint_columns(info, columns))
        self._rest, self._through = info.rest, through
        self._joints, self._names = info.joints, info.command_names

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, naming every difference, if the robot is another one than this was made for."""
        check_names("the setpoints", self._joints, self._names, info)

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,), for the time `t` of the trajectory, s; the state is not used."""
        desired = self.trajectory.position(t)
        command = np.array(self._rest)
        if self._through is not None:
            desired = finite_array("setpoints", self._through(desired), desired.shape)
        command[self._columns] = desired
        return command
