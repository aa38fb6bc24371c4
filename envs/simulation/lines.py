"""What measurements and commands of many robots meet on their way: noise, from a generator each, and delay."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.hardware.robot import Array

_BLOCK = 16


class NoiseStreams:
    """Standard normal numbers for n robots: to the last bit those that each would draw period by period."""

    def __init__(self, n: int, size: int) -> None:
        """Make room; nothing is drawn before `restart`.

        Args:
            n: robots.
            size: numbers a period.
        """
        self._random: list[np.random.Generator | None] = [None] * n
        self._blocks = np.zeros((n, _BLOCK, size))
        self._used = np.zeros(n, dtype=np.intp)
        self._rows = np.arange(n)

    def restart(self, index: NDArray[np.intp], random: Sequence[np.random.Generator]) -> None:
        """Give the robots `index` new generators."""
        for i, generator in zip(index.tolist(), random, strict=True):
            self._random[i] = generator
        self._used[index] = _BLOCK

    def draw(self, index: NDArray[np.intp]) -> Array:
        """Return the next numbers of the robots `index`, (len(index), size)."""
        for i in index[self._used[index] == _BLOCK].tolist():
            generator = self._random[i]
            assert generator is not None
            generator.standard_normal(out=self._blocks[i])
            self._used[i] = 0
        rows: Array = self._blocks[index, self._used[index]]
        self._used[index] += 1
        return rows


class DelayLine:
    """Rows of n simulations that come out some periods after they went in, each number with its own lag."""

    def __init__(self, n: int, width: int, longest: int) -> None:
        """Start with zeros on their way.

        Args:
            n: simulations.
            width: numbers in a row.
            longest: the longest lag, periods.
        """
        self.lag: NDArray[np.intp] = np.zeros((n, width), dtype=np.intp)
        """Periods, (n, width), to be written; not beyond `longest`."""
        self._ring = np.zeros((longest + 1, n, width))
        self._head = 0

    def fill(self, index: NDArray[np.intp], rows: Array) -> None:
        """Let the simulations `index` be as if `rows` had always gone in."""
        self._ring[:, index] = rows

    def push(self, rows: Array) -> None:
        """Let a row of every simulation go in, (n, width)."""
        self._head = (self._head + 1) % len(self._ring)
        self._ring[self._head] = rows

    def late(self) -> Array:
        """Return the rows that come out now, (n, width)."""
        at = (self._head - self.lag) % len(self._ring)
        rows: Array = np.take_along_axis(self._ring, at[None], axis=0)[0]
        return rows
