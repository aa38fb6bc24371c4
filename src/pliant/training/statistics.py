"""What can be said of all episodes of a policy from a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import check_bounds


class Episode(NamedTuple):
    """What came of one episode."""

    seed: int
    """What it was begun with; the same seed gives the same episode."""
    reward: float
    """Sum of its rewards."""
    length: int
    """Periods."""
    success: bool | None
    """Whether the task was done at its end; None where the environment does not tell."""
    failure: str
    """Why the robot failed; empty if it did not."""
    errors: Mapping[str, Mapping[str, float]] = {}
    """Of joints that the task has goals for, by joint; see `JointErrors.of_episode`."""


def summary(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return what can be said of a policy from some of its episodes.

    Mean and standard deviation of the reward, its extremes, the mean length, and the success rate; of mean and
    rate the 95 % confidence interval. What is not known is None: the interval of a single reward, the rate where
    the environment does not tell of success. Of joints that have goals, the largest error of all episodes, and the
    root of the episodes' mean squares: `max_error_per_joint` and `rms_error_per_joint` of goals that move, in all
    periods, `max_final_error_per_joint` and `rms_final_error_per_joint` of those that stay, at the ends.
    """
    rewards = np.array([episode.reward for episode in episodes])
    told = [episode.success for episode in episodes if episode.success is not None]
    rate, low, high = None, None, None
    if len(told) == len(episodes):
        rate = sum(told) / len(episodes)
        low, high = wilson_interval(sum(told), len(episodes))
    reward_low, reward_high = mean_interval(rewards) if len(rewards) > 1 else (None, None)
    return {
        "episodes": len(episodes),
        "reward_mean": float(rewards.mean()),
        "reward_mean_low": reward_low,
        "reward_mean_high": reward_high,
        "reward_deviation": float(rewards.std(ddof=1)) if len(rewards) > 1 else 0.0,
        "reward_lowest": float(rewards.min()),
        "reward_highest": float(rewards.max()),
        "length_mean": float(np.mean([episode.length for episode in episodes])),
        "success_rate": rate,
        "success_rate_low": low,
        "success_rate_high": high,
        "failures": sum(bool(episode.failure) for episode in episodes),
        **_joint_errors(episodes),
    }


def _joint_errors(episodes: Sequence[Episode]) -> dict[str, dict[str, float]]:
    """Largest and root-mean-square errors of joints over all episodes."""
    if not episodes[0].errors:
        return {}

    def each(kind: str) -> tuple[list[str], NDArray[np.float64]]:
        return list(episodes[0].errors[kind]), np.array([list(e.errors[kind].values()) for e in episodes])

    final = "final_error" in episodes[0].errors
    joints, largest = each("final_error" if final else "max_error")
    squares = np.mean((largest if final else each("rms_error")[1]) ** 2, axis=0)
    name = "final_error" if final else "error"
    return {
        f"max_{name}_per_joint": dict(zip(joints, largest.max(axis=0).tolist(), strict=True)),
        f"rms_{name}_per_joint": dict(zip(joints, np.sqrt(squares).tolist(), strict=True)),
    }


def joint_errors(found: Mapping[str, Any]) -> tuple[str, list[tuple[str, float, float]]]:
    """Return of a `summary` what its joints' errors are, and each joint with largest and RMS."""
    for name, what in (("error", "error"), ("final_error", "error at the end")):
        if f"max_{name}_per_joint" in found:
            largest, rms = (found[f"{kind}_{name}_per_joint"] for kind in ("max", "rms"))
            return what, [(joint, largest[joint], rms[joint]) for joint in largest]
    return "", []


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean, from n ≥ 2 independent values: x̄ ± t·s/√n.

    Right where the values are normally distributed, and nearly so where n is large.

    Source: Student 1908, Biometrika 6(1), 1–25.
    """
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half


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
    return sorted(episodes, key=lambda episode: (bool(episode.success), episode.reward))[:count]


def success_text(found: Mapping[str, Any]) -> str:
    """Say a success rate with its confidence interval."""
    if found["success_rate"] is None:
        return "the environment does not tell of success"
    low, high = found["success_rate_low"], found["success_rate_high"]
    return f"{found['success_rate']:.1%} success (95 % confidence: {low:.1%} to {high:.1%})"


def short_text(found: Mapping[str, Any]) -> str:
    """Say in a few words how good a policy is: its success rate, or its reward where there is none."""
    rate = found["success_rate"]
    return f"a reward of {found['reward_mean']:.2f}" if rate is None else f"{rate:.0%} success"


def reward_text(found: Mapping[str, Any]) -> str:
    """Say a mean reward with its confidence interval, if it has one."""
    low, high = found["reward_mean_low"], found["reward_mean_high"]
    within = "" if low is None else f" (95 % confidence: {low:.2f} to {high:.2f})"
    return f"reward {found['reward_mean']:.2f}{within}"
