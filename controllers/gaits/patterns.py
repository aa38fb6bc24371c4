"""Gaits of six legs as tables of phases, which the lags of coupled oscillators hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.controllers.checks import Array, finite_array
from pliant.errors import check_bounds, unknown_name

LEGS = ("front_left", "middle_left", "rear_left", "front_right", "middle_right", "rear_right")
"""Order of the legs in every array of a gait."""


@dataclass(frozen=True)
class Pattern:
    """When each leg swings."""

    name: str
    lift: Sequence[float]
    """When each leg of `LEGS` lifts off, (6,), cycles."""
    duty: float
    """Duty factor: share of a cycle that a foot is on the ground, in [0.5, 0.95]."""

    def __post_init__(self) -> None:
        finite_array(f"pattern {self.name}: lift", self.lift, (len(LEGS),))
        check_bounds(f"pattern {self.name}: duty", self.duty, 0.5, 0.95)

    @property
    def offsets(self) -> Array:
        """Phase of each leg while the cycle begins, (6,), cycles in [0, 1); a leg lifts off at phase 0."""
        return finite_array("offsets", [-lift % 1.0 for lift in self.lift], (len(LEGS),))


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern("tripod", (0.0, 1 / 2, 0.0, 1 / 2, 0.0, 1 / 2), 1 / 2),
        Pattern("tetrapod", (2 / 3, 1 / 3, 0.0, 0.0, 2 / 3, 1 / 3), 2 / 3),
        Pattern("ripple", (2 / 3, 1 / 3, 0.0, 1 / 6, 5 / 6, 1 / 2), 2 / 3),
        Pattern("wave", (2 / 6, 1 / 6, 0.0, 5 / 6, 4 / 6, 3 / 6), 5 / 6),
    )
}
"""Gaits by name.

On each side a wave of steps runs from the rear to the front. The gaits differ by the lag between neighbours (1/2,
1/3, 1/3, 1/6 of a cycle, from tripod to wave) and between the sides (1/2, 1/3, 1/2, 1/2).

Source: Wilson 1966, Insect walking; Collins and Stewart 1993, Hexapodal gaits and coupled nonlinear
oscillator models.
"""


def pattern_of(pattern: str | Pattern) -> Pattern:
    """Return the gait of that name, or a `Pattern` as it is; raise `UnknownNameError` if there is none."""
    if isinstance(pattern, Pattern):
        return pattern
    if pattern not in PATTERNS:
        raise unknown_name("gait", pattern, PATTERNS)
    return PATTERNS[pattern]
