"""A network of stable-baselines3 behind its normaliser, as long as it is in memory; its file is an ONNX file."""

from typing import TYPE_CHECKING

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.policies.normalisation import Normalisation
from pliant.controllers.policy import Policy, PolicyInfo

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


class SB3Policy(Policy):
    """The deterministic policy of a stable-baselines3 algorithm behind its normaliser; see `export_onnx`."""

    def __init__(self, model: "BaseAlgorithm", info: PolicyInfo, normalisation: Normalisation | None) -> None:
        """Put the parts together.

        Args:
            model: whose observations are normalised ones and whose actions are in [−1, 1].
            info: what it sees and does.
            normalisation: of its observations; None if it learned on observations as they are.
        """
        super().__init__(info)
        self.model, self.normalisation = model, normalisation

    def act(self, observation: Array) -> Array:
        """Return the mean action, limited as in training."""
        return np.asarray(self.batch(observation[None])[0])

    def batch(self, observations: Array) -> Array:
        """Return the actions, (n, actions), for many observations, (n, observations)."""
        scaled = observations if self.normalisation is None else self.normalisation(observations)
        actions, _ = self.model.predict(scaled.astype(np.float32), deterministic=True)
        return np.asarray(actions, dtype=np.float64)
