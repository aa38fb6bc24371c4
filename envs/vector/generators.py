"""The random generators of many environments."""

from collections.abc import Sequence

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from pliant.errors import ShapeError


class Generators:
    """A generator for each of n environments, seeded as `gymnasium.Env` seeds its own."""

    def __init__(self, n: int) -> None:
        self._random: list[np.random.Generator | None] = [None] * n
        self._seeds = [-1] * n

    def __getitem__(self, i: int) -> np.random.Generator:
        """The generator of environment i; seeded by chance if it never was."""
        if self._random[i] is None:
            self._reseed(i, None)
        random = self._random[i]
        assert random is not None
        return random

    def seed_of(self, i: int) -> int:
        """What the generator of environment i was seeded with."""
        self[i]
        return self._seeds[i]

    def seed(self, seed: int | Sequence[int | None] | None, mask: NDArray[np.bool_] | None = None) -> None:
        """Seed the generators.

        Args:
            seed: one for each environment, None where it goes on; a single number stands for seed, seed + 1, ….
            mask: which environments are seeded, (n,); None: all.

        Raises:
            ShapeError: not one for each environment.
        """
        n = len(self._random)
        if seed is None:
            return
        seeds = range(int(seed), int(seed) + n) if isinstance(seed, int | np.integer) else seed
        if len(seeds) != n:
            raise ShapeError(f"{len(seeds)} seeds are given for {n} environments.")
        for i, own in enumerate(seeds):
            if own is not None and (mask is None or mask[i]):
                self._reseed(i, int(own))

    def _reseed(self, i: int, seed: int | None) -> None:
        self._random[i], self._seeds[i] = seeding.np_random(seed)
