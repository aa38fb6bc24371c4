"""Named distributions of one number. Each knows its bounds, so that what is drawn can be checked beforehand."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from pliant.controllers.checks import finite_array, positive
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds

_LARGEST = float(np.finfo(np.float64).max)


class Distribution(ABC):
    """A distribution of one number between two bounds."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest number that can be drawn."""

    @abstractmethod
    def draw(self, random: np.random.Generator) -> float:
        """Return one number. Takes one number from the generator's stream."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Evenly between `low` and `high`; always the same number if they are equal.

    Raises:
        OutOfBoundsError: a bound is not finite.
        ConfigurationError: they are not ascending.
    """

    low: float
    """Smallest number."""
    high: float
    """Largest number."""

    def __post_init__(self) -> None:
        _check_range(self, self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """`low` and `high`."""
        return float(self.low), float(self.high)

    def draw(self, random: np.random.Generator) -> float:
        """Return low + (high − low)·u."""
        return min(self.low + (self.high - self.low) * random.random(), self.high)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Evenly in the logarithm between `low` and `high`, both positive: for what is known to an order of magnitude.

    Raises:
        OutOfBoundsError: a bound is not finite or not positive.
        ConfigurationError: they are not ascending.
    """

    low: float
    """Smallest number."""
    high: float
    """Largest number."""

    def __post_init__(self) -> None:
        positive("LogUniform low", self.low)
        _check_range(self, self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """`low` and `high`."""
        return float(self.low), float(self.high)

    def draw(self, random: np.random.Generator) -> float:
        """Return low·(high/low)ᵘ."""
        value = self.low * math.exp(math.log(self.high / self.low) * random.random())
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Normal(Distribution):
    """A normal distribution cut off at `low` and `high`, by the inverse of its distribution function.

    Raises:
        OutOfBoundsError: a number is not finite, or the deviation is not positive.
        ConfigurationError: the mean is not between the bounds.
    """

    mean: float
    deviation: float
    low: float
    """Smallest number."""
    high: float
    """Largest number."""

    def __post_init__(self) -> None:
        positive("Normal deviation", self.deviation)
        _check_range(self, self.low, self.high)
        if not self.low <= check_bounds("Normal mean", self.mean, -_LARGEST, _LARGEST) <= self.high:
            raise ConfigurationError(
                f"Normal: the mean {self.mean:g} must be between low {self.low:g} and high {self.high:g}."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """`low` and `high`."""
        return float(self.low), float(self.high)

    def draw(self, random: np.random.Generator) -> float:
        """Return mean + deviation·Φ⁻¹(v), v evenly between Φ at the bounds."""
        first, last = (float(ndtr((bound - self.mean) / self.deviation)) for bound in self.bounds)
        value = self.mean + self.deviation * float(ndtri(first + (last - first) * random.random()))
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Choice(Distribution):
    """One of a few numbers.

    Raises:
        ShapeError, OutOfBoundsError: no values, or not finite numbers.
        ConfigurationError: the weights do not fit the values, or none is positive.
    """

    values: Sequence[float]
    weights: Sequence[float] | None = None
    """How often each comes, relative to the others; None: all alike."""

    def __post_init__(self) -> None:
        values = finite_array("Choice values", self.values, (None,))
        object.__setattr__(self, "values", tuple(values.tolist()))
        if self.weights is None:
            return
        weights = finite_array("Choice weights", self.weights, (len(values),))
        if weights.min() < 0.0 or weights.sum() <= 0.0:
            raise ConfigurationError(f"Choice weights {self.weights} must be at least 0, and one of them above.")
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return min(self.values), max(self.values)

    def draw(self, random: np.random.Generator) -> float:
        """Return one of the values."""
        if self.weights is None:
            return self.values[int(random.random() * len(self.values))]
        share = np.cumsum(self.weights) / np.sum(self.weights)
        return self.values[int(np.searchsorted(share[:-1], random.random(), side="right"))]


def _check_range(distribution: Distribution, low: float, high: float) -> None:
    kind = type(distribution).__name__
    check_bounds(f"{kind} low", low, -_LARGEST, _LARGEST)
    check_bounds(f"{kind} high", high, -_LARGEST, _LARGEST)
    if low > high:
        raise ConfigurationError(f"{kind}: low {low:g} must not exceed high {high:g}.")


def check_support(what: str, distribution: Distribution, low: float, high: float, unit: str = "") -> None:
    """Raise `OutOfBoundsError` if the distribution can draw a number outside [low, high]."""
    first, last = distribution.bounds
    try:
        check_bounds(what, first, low, high, unit)
        check_bounds(what, last, low, high, unit)
    except OutOfBoundsError as error:
        raise OutOfBoundsError(f"{error} ({type(distribution).__name__} from {first:g} to {last:g})") from None
