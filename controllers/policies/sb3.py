"""A network of stable-baselines3 behind its normaliser, as long as it is in memory; its file is an ONNX file."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
            model: whose observations are normalised ones and whose actions are in [−1, 1], or are choices, of
                which the policy gives the probabilities, spread over [−1, 1].
            info: what it sees and does.
            normalisation: of its observations; None if it learned on observations as they are.
        """
        super().__init__(info)
        self.model, self.normalisation = model, normalisation

    @property
    def chooses(self) -> bool:
        """Whether its actions are choices, of which the one with the largest number is taken."""
        return hasattr(self.model.action_space, "n")

    def act(self, observation: Array) -> Array:
        """Return the mean action, limited as in training, or how probable each choice is."""
        return np.asarray(self.batch(observation[None])[0])

    def batch(self, observations: Array) -> Array:
        """Return the actions, (n, actions), for many observations, (n, observations)."""
        scaled = observations if self.normalisation is None else self.normalisation(observations)
        if self.chooses:
            return 2.0 * self._probabilities(scaled.astype(np.float32)) - 1.0
        actions, _ = self.model.predict(scaled.astype(np.float32), deterministic=True)
        return np.asarray(actions, dtype=np.float64)

    def _probabilities(self, observations: NDArray[np.float32]) -> Array:
        import torch

        network: Any = self.model.policy
        network.set_training_mode(False)
        with torch.no_grad():
            seen, _ = network.obs_to_tensor(observations)
            found = network.get_distribution(seen).distribution.probs
        return np.asarray(found.cpu().numpy(), dtype=np.float64)
