"""The way of a robot that falls without torque: from where it rests to where it stands, and back."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

import numpy as np

from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.limits import Bounds, Motion
from pliant.hardware.retracing import straight
from pliant.hardware.robot import Array, RobotInfo

Poses = Sequence[Mapping[str, float]]
"""Joint positions by name or pattern (`*_coxa`), rad or m, from where a robot rests to where it stands."""
NEAR: Final = 0.45
"""A robot no joint of which is further from its way, rad or m, begins there; any other begins at rest."""
_PARTS = 32
"""Points of the way from one pose to the next at which it may be joined."""


class RestingWay:
    """Straight lines of the joints, all in step, from one pose to the next.

    A joint that a pose does not name is where the pose before has it, in the first one at its resting command.

    Args:
        poses: from where the robot rests without torque to where it stands.
        info: of the robot.

    Raises:
        UnknownNameError: a name or pattern that no joint has.
        ConfigurationError: what is no pose, or a joint that is commanded no position.
        OutOfBoundsError: a position beyond the range of its command.
    """

    def __init__(self, poses: Poses, info: RobotInfo) -> None:
        columns = {c.owner: k for k, c in enumerate(info.command) if c.quantity in ("position", "equilibrium")}
        rows, named = np.tile(info.rest, (len(poses), 1)), set[int]()
        for number, pose in enumerate(poses, 1):
            row = rows[number - 1]
            row[:] = rows[max(number - 2, 0)]
            where = f"pose {number} of the way to rest"
            if not isinstance(pose, Mapping):
                raise ConfigurationError(f"{where} is {pose!r}; positions by joint are needed: {{hip: 0.3}}.")
            for pattern, position in pose.items():
                found = [joint for joint in info.joints if fnmatchcase(joint, pattern)]
                if not found:
                    raise unknown_name("joint", pattern, info.joints, where)
                for joint in found:
                    if joint not in columns:
                        raise ConfigurationError(f"{where}: joint {joint!r} is commanded no position.")
                    at = columns[joint]
                    low, high = info.command[at].low, info.command[at].high
                    row[at] = check_bounds(f"{where}: {joint}", position, low, high)
                    named.add(at)
        self._named = sorted(named)
        shares = np.linspace(0.0, 1.0, _PARTS, endpoint=False)[:, None]
        lines = [(1.0 - shares) * one + shares * other for one, other in pairwise(rows)]
        self._points: Array = np.vstack([*lines, rows[-1:]])

    @property
    def rest(self) -> Array:
        """Where it rests without torque, (columns,)."""
        first: Array = self._points[0]
        return first

    def up(self, here: Array, target: Array, limits: Bounds, period: float) -> Iterator[Motion]:
        """Return the targets, one a period, from a pose by this way to another.

        Args:
            here: (columns,).
            target: (columns,).
            limits: range, speeds and accelerations, of each column.
            period: s.
        """
        at, away = self._nearest(here)
        at = at if away <= NEAR else 0
        corners = range(-(-at // _PARTS) * _PARTS, len(self._points), _PARTS)
        places = [here, self._points[at], *(self._points[k] for k in corners), target]
        yield from _along(places, limits, period)

    def down(self, here: Array, limits: Bounds, period: float) -> Iterator[Motion]:
        """Return the targets from a pose to the nearest one of this way, and on it to rest; see `up`.

        Joints that the way does not move come to it before the others: the hips of a robot in mid-step, so that
        feet in the air are set down where they are to stand, and feet on the ground need not slide.
        """
        at, _ = self._nearest(here)
        aside = np.where((self._points == self._points[0]).all(axis=0), self._points[0], here)
        corners = range(at // _PARTS * _PARTS, -1, -_PARTS)
        yield from _along([here, aside, self._points[at], *(self._points[k] for k in corners)], limits, period)

    def _nearest(self, here: Array) -> tuple[int, float]:
        """Return which point is nearest by the joint that is furthest, of equals the last one, and how far."""
        away = np.abs(self._points - here)[:, self._named].max(axis=1, initial=0.0)
        least = float(away.min())
        return int(np.flatnonzero(away <= least + 1e-9)[-1]), least


def _along(places: Sequence[Array], limits: Bounds, period: float) -> Iterator[Motion]:
    for begin, end in pairwise(places):
        yield from straight(begin, end, limits, period)
