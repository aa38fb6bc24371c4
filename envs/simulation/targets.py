"""Where the targets in a robot's scene are, and moving them; see `pliant.envs.models.targets`."""

from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.envs.models.robot_model import as_pose
from pliant.errors import unknown_name
from pliant.hardware.robot import Array


class Targets:
    """The targets of a simulation. A target stays where it is put until it is moved or the robot is reset."""

    def __init__(self, sites: Mapping[str, str], model: mujoco.MjModel, data: mujoco.MjData, where: str) -> None:
        """Look at a simulation.

        Args:
            sites: the site of each target, by its name.
            model: which has them, each on a mocap body.
            data: the simulation.
            where: what has them, for messages (`robot 'arm2'`).
        """
        self._sites, self._model, self._data, self._where = sites, model, data, where

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._sites)

    def pose(self, name: str) -> Array:
        """Return where a target is: position and unit quaternion (w first), (7,), in the world.

        Raises:
            UnknownNameError: no such target.
        """
        mocap = self._mocap(name)
        return np.concatenate([self._data.mocap_pos[mocap], self._data.mocap_quat[mocap]])

    def move(self, name: str, pose: ArrayLike) -> None:
        """Put a target somewhere. What is read of it follows in the next period.

        Args:
            name: of the target, one of `names`.
            pose: position, (3,), or both, (7,), as `as_pose`, in the world.

        Raises:
            UnknownNameError: no such target.
            ShapeError, OutOfBoundsError: no pose.
        """
        mocap, there = self._mocap(name), as_pose(f"{self._where}: {name}", pose)
        self._data.mocap_pos[mocap] = there[:3]
        if np.size(pose) == 7:
            self._data.mocap_quat[mocap] = there[3:]

    def _mocap(self, name: str) -> int:
        """Number of the mocap body of a target."""
        if name not in self._sites:
            raise unknown_name("target", name, self._sites, self._where)
        return int(self._model.body_mocapid[self._model.site(self._sites[name]).bodyid[0]])
