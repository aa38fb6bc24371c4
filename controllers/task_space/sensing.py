"""Where a robot's state tells what task-space control needs: its joints, its base, and poses that are sensed."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.errors import MismatchError, OutOfBoundsError
from pliant.hardware.force_torque.wrench import QUANTITIES
from pliant.hardware.robot import RobotInfo, State

_POSE: Final = (*(f"position_{axis}" for axis in "xyz"), *(f"orientation_{axis}" for axis in "wxyz"))
_TWIST: Final = (*(f"velocity_{axis}" for axis in "xyz"), *(f"angular_velocity_{axis}" for axis in "xyz"))
BASE: Final = "base"


class Sensing:
    """Takes from the states of a robot what a model of it is at.

    Args:
        mechanics: the model.
        info: of the robot.
        actuated: joints that are commanded a torque.
        poses: groups of signals that tell a pose each, such as `tip`.
        wrenches: groups of signals that tell a wrench each, such as `wrist`.

    Raises:
        MismatchError: the robot lacks joints, columns or signals, all named.
    """

    def __init__(
        self,
        mechanics: Mechanics,
        info: RobotInfo,
        actuated: Sequence[str],
        poses: Sequence[str],
        wrenches: Sequence[str] = (),
    ) -> None:
        columns = [f"{name}/torque" for name in actuated]
        groups = {group: [f"{group}/{quantity}" for quantity in _POSE] for group in dict.fromkeys(poses)}
        groups |= {group: [f"{group}/{quantity}" for quantity in QUANTITIES] for group in wrenches}
        base = [f"{BASE}/{quantity}" for quantity in (*_POSE, *_TWIST)] if mechanics.base is not None else []
        sensors = [channel.name for channel in info.sensors]
        missing = [f"joint {name!r}" for name in mechanics.joints if name not in info.joints]
        missing += [f"command column {name!r}" for name in columns if name not in info.command_names]
        missing += [
            f"signal {name!r}" for name in (*base, *itertools.chain(*groups.values())) if name not in sensors
        ]
        if missing:
            raise MismatchError(
                f"task-space control does not fit the robot {info.name!r}, which lacks:\n  - "
                + "\n  - ".join(missing)
            )
        self.info = info
        self.columns = np.array([info.command_names.index(name) for name in columns], dtype=np.int64)
        """Of the torques, (drives,)."""
        self._mechanics = mechanics
        self._joints = np.array([info.joints.index(name) for name in mechanics.joints], dtype=np.int64)
        self._base = np.array([sensors.index(name) for name in base], dtype=np.int64)
        self._groups: Mapping[str, NDArray[np.int64]] = {
            group: np.array([sensors.index(name) for name in names]) for group, names in groups.items()
        }

    def read(self, state: State, still: Sequence[int] = ()) -> None:
        """Bring the mechanics to a state.

        Args:
            state: of the robot.
            still: joints of the mechanics whose velocity is taken to be 0, whatever is read.

        Raises:
            OutOfBoundsError: a joint or the base is not read: it is NaN.
        """
        mechanics = self._mechanics
        np.take(state.position, self._joints, out=mechanics.q)
        np.take(state.velocity, self._joints, out=mechanics.u)
        for k in still:
            mechanics.u[k] = 0.0
        if len(self._base):
            base = state.sensors[self._base]
            length = math.sqrt(float(base[3:7] @ base[3:7]))
            mechanics.base_pose[:3], mechanics.base_pose[3:] = base[:3], base[3:7] / max(length, 1e-9)
            mechanics.base_twist[:] = base[7:]
        known = mechanics.q.sum() + mechanics.u.sum() + mechanics.base_pose.sum() + mechanics.base_twist.sum()
        if not math.isfinite(known):
            raise OutOfBoundsError(self._unread(state))
        mechanics.refresh()

    def pose(self, state: State, group: str) -> Array:
        """Return a pose that is read, (7,): position, m, and quaternion; NaN where it is not."""
        found: Array = state.sensors[self._groups[group]].copy()
        length = math.sqrt(float(found[3:] @ found[3:]))
        found[3:] = found[3:] / length if length > 1e-9 else math.nan
        return found

    def wrench(self, state: State, group: str) -> Array:
        """Return a wrench that is read, (6,), N and N·m, raw; NaN where it is not."""
        found: Array = state.sensors[self._groups[group]]
        return found

    def _unread(self, state: State) -> str:
        mechanics = self._mechanics
        bad = [
            f"{name}/{what}"
            for what, values in (("position", mechanics.q), ("velocity", mechanics.u))
            for name, value in zip(mechanics.joints, values, strict=True)
            if not math.isfinite(value)
        ]
        if len(self._base) and not np.isfinite(state.sensors[self._base]).all():
            bad.append(BASE)
        return f"robot {self.info.name!r} does not tell {', '.join(bad)}: no torques can be found."
