"""Policies for a first look at an environment, before anything is learned."""

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.policy import Policy, PolicyInfo


class ZeroPolicy(Policy):
    """Does nothing but hold every command in the middle of its bounds: the action 0."""

    def act(self, observation: Array) -> Array:
        """Return zeros."""
        return np.zeros(len(self.info.actions))


class RandomPolicy(Policy):
    """Draws every action anew, evenly from [−1, 1]. The same seed draws the same actions."""

    def __init__(self, info: PolicyInfo, seed: int | None = None) -> None:
        """Seed it; None for other actions every time."""
        super().__init__(info)
        self._random = np.random.default_rng(seed)

    def act(self, observation: Array) -> Array:
        """Return random numbers."""
        return self._random.uniform(-1.0, 1.0, len(self.info.actions))
