"""A learner's trial on a robot: from joint commands to the robot's commands, and back to measured positions."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import RobotInfo, State


def joint_columns(info: RobotInfo, names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Return the command column that is learned for each joint.

    Args:
        info: the robot.
        names: one column per joint, in the order of the joints; None: the first column of each joint.

    Raises:
        UnknownNameError: the robot has no such column.
        ConfigurationError: not one column per joint.
    """
    available = info.command_names
    if names is None:
        firsts = [next((c for c in available if c.startswith(f"{joint}/")), None) for joint in info.joints]
        for joint, first in zip(info.joints, firsts, strict=True):
            if first is None:
                raise ConfigurationError(
                    f"joint {joint!r} of robot {info.name!r} has no command column, so nothing is learned "
                    f"for it; there are {', '.join(available) or 'none'}. Drive it, or ignore it."
                )
        names = [name for name in firsts if name is not None]
    for name in names:
        if name not in available:
            raise unknown_name("command column", name, available, f"robot {info.name!r}")
    if len(set(names)) != len(info.joints):
        raise ConfigurationError(
            f"robot {info.name!r} has {len(info.joints)} joints ({', '.join(info.joints)}); one command column "
            f"for each is needed, not {', '.join(names)}."
        )
    return tuple(available.index(name) for name in names)


class CommandPlayer(Protocol):
    """A robot that plays known commands by itself from where it was reset, as `SimulatedRobot.run` does in C.

    To the last bit what `controllers.run` gives with `Rows`, which any robot can be given.
    """

    @property
    def info(self) -> RobotInfo:
        """The robot's."""

    def run(self, commands: ArrayLike) -> State:
        """Return the motion under commands, a row a period: n + 1 instants for (n, columns)."""


class JointTrials:
    """Runs trials of a learner on a simulated robot: learned columns as given, all others at rest.

    Every trial starts from the robot's last reset.
    """

    def __init__(self, robot: CommandPlayer, columns: Sequence[str] | None = None) -> None:
        """Choose the learned columns; see `joint_columns`."""
        self._robot = robot
        self._columns = list(joint_columns(robot.info, columns))

    @property
    def columns(self) -> tuple[int, ...]:
        """Index of the learned column of each joint."""
        return tuple(self._columns)

    @property
    def low(self) -> Array:
        """Lower bounds of the learned columns, (joints,)."""
        return self._robot.info.low[self._columns]

    @property
    def high(self) -> Array:
        """Upper bounds of the learned columns, (joints,)."""
        return self._robot.info.high[self._columns]

    def robot_command(self, command: Array) -> Array:
        """Return the robot's commands, (n, columns), for the learned ones, (n, joints)."""
        rows = finite_array("command of a trial", command, (None, len(self._columns)))
        full = np.tile(self._robot.info.rest, (len(rows), 1))
        full[:, self._columns] = rows
        return full

    def __call__(self, command: Array) -> Array:
        """Run a trial and return the measured positions at the times of the rows, (n, joints), rad."""
        return self._robot.run(self.robot_command(command)[:-1]).position
