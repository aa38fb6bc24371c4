"""The normaliser that learning put before a network: part of the policy, without which it is another one."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array, positive
from pliant.errors import FileFormatError, OutOfBoundsError, PliantError


@dataclass(frozen=True, eq=False)
class Normalisation:
    """z = clip((observation − mean)/√(variance + epsilon), −clip, clip), in double precision.

    In single precision, z of an entry that hardly varied in training would be wrong in its third digit.

    Raises:
        ShapeError, OutOfBoundsError: arrays of different sizes, or numbers that are not finite or negative.
    """

    mean: Array
    """(observations,)."""
    variance: Array
    """(observations,), ≥ 0."""
    clip: float
    """Largest |z|."""
    epsilon: float
    """Keeps an entry that never varied finite."""

    def __post_init__(self) -> None:
        mean = finite_array("normalisation mean", self.mean, (None,))
        variance = finite_array("normalisation variance", self.variance, mean.shape)
        if (variance < 0.0).any():
            raise OutOfBoundsError(f"normalisation variance has the entry {variance.min():g}; all must be ≥ 0.")
        values: dict[str, Array | float] = {"mean": mean, "variance": variance}
        values |= {name: positive(f"normalisation {name}", getattr(self, name)) for name in ("clip", "epsilon")}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def deviation(self) -> Array:
        """√(variance + epsilon), (observations,)."""
        return np.asarray(np.sqrt(self.variance + self.epsilon))

    def __call__(self, observation: ArrayLike) -> Array:
        """Return z of observations, (…, observations)."""
        scaled = (np.asarray(observation, dtype=np.float64) - self.mean) / self.deviation
        return np.asarray(np.clip(scaled, -self.clip, self.clip))

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types, exactly."""
        return {"mean": self.mean.tolist(), "variance": self.variance.tolist()} | {
            "clip": self.clip,
            "epsilon": self.epsilon,
        }

    @classmethod
    def from_json(cls, data: Any, where: str) -> Self:
        """Return what `to_json` gave; raise `FileFormatError`, naming the file `where`, if it is no such thing."""
        try:
            return cls(*(data[name] for name in ("mean", "variance", "clip", "epsilon")))
        except (PliantError, KeyError, TypeError) as error:
            raise FileFormatError(f"{where}: its normalisation lacks or garbles {error}.") from error
