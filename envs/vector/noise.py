"""Noise of many robots, each from its own generator, drawn a block of periods at a time."""

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
