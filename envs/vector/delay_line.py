"""What passes between many robots and their controller on its way."""

import numpy as np
from numpy.typing import NDArray

from pliant.hardware.robot import Array


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
