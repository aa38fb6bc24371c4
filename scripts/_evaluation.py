"""How good a policy is: episodes from given seeds, and what can be said of all episodes from these few."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.controllers.policy import Policy
from pliant.errors import check_bounds

TRAINING_CHECKS = 1_000_000
"""First seed of the evaluations during training, far from the training's own …"""
HELD_OUT = 2_000_000
"""… and of those afterwards, on which nothing was selected."""


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


def run_episode(policy: Policy, env: Any, seed: int, each: Callable[[], None] = lambda: None) -> Episode:
    """Run one episode of an environment.

    Args:
        policy: made ready for it.
        env: a Gymnasium environment.
        seed: of the episode.
        each: called when it has begun and after every period.
    """
    observation, _ = env.reset(seed=seed)
    policy.reset()
    each()
    total, length, over, info = 0.0, 0, False, dict[str, Any]()
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        total, length, over = total + float(reward), length + 1, terminated or truncated
        each()
    return Episode(seed, total, length, *_outcome(info))


def run_together(decide: Callable[[Any], Any], environments: Any, seed: int) -> list[Episode]:
    """Run one episode in each of many environments at once, the same ones for the same seed.

    Args:
        decide: observations, (n, observations) -> actions, (n, actions).
        environments: behind stable-baselines3's interface; every episode must come to an end.
        seed: of the first; the others follow.
    """
    n = environments.num_envs
    environments.seed(seed)
    observation = environments.reset()
    total, found, length = np.zeros(n), dict[int, Episode](), 0
    while len(found) < n:
        length += 1
        observation, reward, done, infos = environments.step(decide(observation))
        total += reward
        for k in np.flatnonzero(done):
            episode = Episode(seed + int(k), float(total[k]), length, *_outcome(infos[k]))
            found.setdefault(int(k), episode)  # later episodes are of no account
    return [found[k] for k in sorted(found)]


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


def _outcome(info: dict[str, Any]) -> tuple[bool, str]:
    return bool(info.get("is_success", False)), str(info.get("failure", ""))
