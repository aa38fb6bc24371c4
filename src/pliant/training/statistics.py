"""What can be said of all episodes of a policy from a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.errors import check_bounds


class Episode(NamedTuple):
    """What came of one episode."""

    seed: int
    """What it was begun with; the same seed gives the same episode."""
    reward: float
    """Sum of its rewards."""
    length: int
    """Periods."""
    success: bool
    """Whether the task was done at its end."""
    failure: str
    """Why the robot failed; empty if it did not."""


def summary(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return what can be said of a policy from some of its episodes.

    Mean and standard deviation of the reward, its extremes, the mean length, and the success rate with its 95 %
    confidence interval.
    """
    rewards = np.array([episode.reward for episode in episodes])
    successes = sum(episode.success for episode in episodes)
    low, high = wilson_interval(successes, len(episodes))
    return {
        "episodes": len(episodes),
        "reward_mean": float(rewards.mean()),
        "reward_deviation": float(rewards.std(ddof=1)) if len(rewards) > 1 else 0.0,
        "reward_lowest": float(rewards.min()),
        "reward_highest": float(rewards.max()),
        "length_mean": float(np.mean([episode.length for episode in episodes])),
        "success_rate": successes / len(episodes),
        "success_rate_low": low,
        "success_rate_high": high,
        "failures": sum(bool(episode.failure) for episode in episodes),
    }


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a probability, from successes among n independent trials.

    Right also near 0 and 1, where the normal approximation p ± z·√(p(1 − p)/n) has no width.

    Source: Wilson 1927, J. Am. Stat. Assoc. 22(158), 209–212.

    Raises:
        OutOfBoundsError: no trials, or more successes than trials.
    """
    check_bounds("number of episodes", n, 1, 10**12)
    check_bounds("number of successes", successes, 0, n)
    from scipy.stats import binomtest  # 0.5 s to import

    low, high = binomtest(int(successes), int(n)).proportion_ci(0.95, "wilson")
    return float(low), float(high)


def hardest(episodes: Iterable[Episode], count: int = 5) -> list[Episode]:
    """Return the episodes with the lowest rewards, failed ones first, to be looked at."""
    return sorted(episodes, key=lambda episode: (episode.success, episode.reward))[:count]


def success_text(found: Mapping[str, Any]) -> str:
    """Say a success rate with its confidence interval."""
    low, high = found["success_rate_low"], found["success_rate_high"]
    return f"{found['success_rate']:.1%} success (95 % confidence: {low:.1%} to {high:.1%})"
