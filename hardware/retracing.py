"""The way back of a machine that must not cut across: by the commands that it came by."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from pliant.hardware.limits import Bounds, Motion
from pliant.hardware.robot import Array

_SAME = 2e-4
"""Commands that differ by less, rad or m, are the same place."""
_STILL = 1e-7
"""From one period to the next, rad or m: less is standing."""
_PART = 0.8
"""Of the acceleration that is allowed."""
_RAMP = 0.5
"""Until it goes back at its full pace, s."""
_CLEARING = 0.8
"""Until a tool is clear of what it touches, s, at least."""


class Trail:
    """The commands that a robot was sent, to go back by."""

    def __init__(self) -> None:
        self._sent: list[Array] = []
        self._rows: list[Array] = []

    def add(self, sent: Array) -> None:
        """Note a command, (columns,); one that stays where the last one was is left out."""
        if not self._sent or np.abs(sent - self._sent[-1]).max() > _STILL:
            self._sent.append(np.array(sent))
            self._rows.append(self._sent[-1])

    def shift(self, by: ArrayLike) -> None:
        """Go back beside the last command, by so much, (columns,): clear of what is touched there."""
        if self._sent:
            self._rows[-1] = self._sent[-1] + np.asarray(by)

    def back(self, limits: Bounds, period: float) -> Iterator[Motion]:
        """Return the targets, one a period, from the last command to the first, and forget them.

        All columns keep step, so that it is the same way. The pace is the one it came at, slower or quicker by one
        factor, as the limits allow; standing is left out, and a loop at the end: if the last command was sent
        earlier too, the way back begins there.

        If the way back lies beside the last command, it goes there first, straight.

        Args:
            limits: range, speeds and accelerations, of each column.
            period: s.
        """
        if not self._rows:
            return
        rows, last = np.clip(self._rows, limits.low, limits.high), self._sent[-1]
        self._rows.clear()
        self._sent.clear()
        yield from straight(last, rows[-1], limits, period, _CLEARING)
        near = np.abs(rows - rows[-1]).max(axis=1) < _SAME
        left = np.flatnonzero(near[:-1] & ~near[1:])  # when it left this place before
        rows = (rows[: left[0] + 1] if left.size else rows)[::-1]
        pace, place, rate, before = self._pace(rows, limits, period), 0.0, 0.0, rows[0]
        while place < len(rows) - 1:
            rate = min(rate + pace * period / _RAMP, pace)
            place = min(place + rate, len(rows) - 1)
            first = min(int(place), len(rows) - 2)
            target = rows[first] + (place - first) * (rows[first + 1] - rows[first])
            yield Motion(target, (target - before) / period)
            before = target
        yield Motion(rows[-1], np.zeros(rows.shape[1]))

    @staticmethod
    def _pace(rows: Array, limits: Bounds, period: float) -> float:
        """Rows a period, so that speed and acceleration keep the limits."""
        speed = np.abs(np.diff(rows, axis=0)) / period
        change = np.abs(np.diff(rows, n=2, axis=0)) / period**2
        by_speed = (limits.speed / np.maximum(speed.max(axis=0, initial=0.0), 1e-12)).min()
        allowed = _PART * limits.acceleration / np.maximum(change.max(axis=0, initial=0.0), 1e-12)
        return float(min(by_speed, np.sqrt(allowed.min())))


def straight(begin: Array, end: Array, limits: Bounds, period: float, least: float = 0.0) -> Iterator[Motion]:
    """Targets on a line from rest to rest, of least jerk, whose largest rates are 1.875 and 5.774.

    Args:
        begin: (columns,).
        end: (columns,).
        limits: speeds and accelerations of each column.
        period: s.
        least: time that it takes at least, s.
    """
    way = end - begin
    if np.abs(way).max() <= _STILL:
        return
    by_speed = 1.875 * float((np.abs(way) / limits.speed).max())
    by_change = float(np.sqrt(5.774 * np.abs(way) / (_PART * limits.acceleration)).max())
    steps = int(np.ceil(max(by_speed, by_change, least) / period))
    before = begin
    for s in np.arange(1, steps + 1) / steps:
        target = begin + s**3 * (10.0 - 15.0 * s + 6.0 * s**2) * way
        yield Motion(target, (target - before) / period)
        before = target
