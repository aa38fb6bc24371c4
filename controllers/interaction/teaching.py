"""Motions taught by hand: kept in joint space and in tool space, stored, and played again in either.

The file is one that `Recorded` reads, so `trajectory=recorded` replays the joints, and the goal `replay` the tool.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.poses import between
from pliant.controllers.recorded import Recorded
from pliant.errors import FileFormatError, OutOfBoundsError, PliantError, ShapeError
from pliant.files import PathLike, read_npz, write_npz

_STILL = (1e-3, 1e-2)
"""A tool that stays within this of where it was has not moved, m and rad."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A motion of an arm over time.

    Raises:
        ShapeError, OutOfBoundsError: arrays that do not go together, a NaN, or times that do not increase.
    """

    recorded: Recorded
    """Of the joints, rad or m, by their names."""
    poses: Array
    """Of the tool in the world, (n, 7), at the recorded times."""

    def __post_init__(self) -> None:
        poses = finite_array("poses of a demonstration", self.poses, (len(self.recorded.time), 7))
        if not (np.abs(np.linalg.norm(poses[:, 3:], axis=1) - 1.0) < 1e-3).all():
            raise OutOfBoundsError("a pose of a demonstration has no unit quaternion.")
        if not self.recorded.names:
            raise ShapeError("a demonstration needs the names of its joints.")
        object.__setattr__(self, "poses", poses)

    @classmethod
    def of(cls, time: ArrayLike, position: ArrayLike, kinematics: ArmKinematics) -> Self:
        """Return what an arm did, such as `run(…).motion.time` and `.position` of its joints.

        Args:
            time: (n,), s.
            position: of the joints of the kinematics, in their order, (n, joints), rad or m.
            kinematics: of the arm.
        """
        recorded = Recorded(np.asarray(time), np.asarray(position), kinematics.joints)
        return cls(recorded, np.array([kinematics.pose(q) for q in recorded.samples]))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote.

        Raises:
            MissingFileError, FileFormatError: there is no such file, or it is none.
        """
        arrays = read_npz(path, "demonstration", ["time", "position", "joints", "pose"], must_be_sealed=True)
        try:
            names = tuple(map(str, arrays["joints"]))
            return cls(Recorded(arrays["time"], arrays["position"], names), arrays["pose"])
        except (PliantError, TypeError) as error:
            raise FileFormatError(f"demonstration {path}: {error}") from error

    def save(self, path: PathLike) -> None:
        """Write it, as `.npz`; raises `OutputError` where that cannot be done."""
        arrays = {"time": self.recorded.time, "position": self.recorded.samples, "joints": self.recorded.names}
        write_npz(path, {**arrays, "pose": self.poses})

    def moving(self) -> Self:
        """Return it without the time at its beginning and end in which the tool stands.

        Raises:
            OutOfBoundsError: the tool never moves.
        """
        first, last = (self._leaves(order) for order in (1, -1))
        kept = slice(first, len(self.poses) - last)
        if last + first > len(self.poses) - 2:
            raise OutOfBoundsError("the tool does not move in this demonstration.")
        time, samples = self.recorded.time[kept], self.recorded.samples[kept]
        return type(self)(Recorded(time, samples, self.recorded.names), self.poses[kept])

    def waypoints(self, period: float, speed: float = 1.0) -> tuple[Array, Array]:
        """Return times, (n,), s, from 0, and poses, (n, 7), a period apart.

        Args:
            period: s, of the times returned; the poses in between are left out.
            speed: times that of the demonstration.
        """
        step = positive("period of waypoints", period, "s") * positive("speed of waypoints", speed)
        own = self.recorded.time
        instants = np.linspace(0.0, own[-1], max(round(own[-1] / step), 1) + 1)
        places = np.clip(np.searchsorted(own, instants, side="right") - 1, 0, len(own) - 2)
        shares = (instants - own[places]) / (own[places + 1] - own[places])
        poses = [between(self.poses[i], self.poses[i + 1], share) for i, share in zip(places, shares, strict=True)]
        return instants / speed, np.array(poses)

    def _leaves(self, order: int) -> int:
        """How many samples the tool stands for, from the beginning (1) or the end (−1)."""
        poses = self.poses[::order]
        away = np.linalg.norm(poses[:, :3] - poses[0, :3], axis=1) > _STILL[0]
        turned = 2.0 * np.arccos(np.clip(np.abs(poses[:, 3:] @ poses[0, 3:]), 0.0, 1.0)) > _STILL[1]
        moved = away | turned
        return max(int(moved.argmax()) - 1, 0) if moved.any() else len(poses)
