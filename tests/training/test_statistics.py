import numpy as np
import pytest
from scipy.stats import binom

from pliant.errors import OutOfBoundsError
from pliant.training.statistics import Episode, hardest, short_text, success_text, summary, wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(successes, n, low, high):
    """Newcombe 1998, Statistics in Medicine 17, 857-872, table I, method 3."""
    np.testing.assert_allclose(wilson_interval(successes, n), (low, high), atol=6e-5)


@pytest.mark.parametrize("truth", [0.03, 0.5, 0.95])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(truth):
    n = 100
    intervals = [wilson_interval(k, n) for k in range(n + 1)]
    holds = [low <= truth <= high for low, high in intervals]
    covered = float(binom.pmf(np.arange(n + 1), n, truth)[holds].sum())
    assert 0.92 < covered < 0.985


def test_the_interval_of_all_or_nothing_has_a_width():
    assert wilson_interval(100, 100)[1] == 1.0
    assert 0.95 < wilson_interval(100, 100)[0] < 0.97
    assert wilson_interval(0, 1)[0] == 0.0
    with pytest.raises(OutOfBoundsError):
        wilson_interval(0, 0)
    with pytest.raises(OutOfBoundsError):
        wilson_interval(3, 2)


def test_a_summary_says_what_the_episodes_say():
    episodes = [
        Episode(1, -3.0, 10, success=True, failure=""),
        Episode(2, 5.0, 20, success=False, failure="diverged"),
        Episode(3, 1.0, 30, success=True, failure=""),
    ]
    found = summary(episodes)
    assert (found["episodes"], found["failures"]) == (3, 1)
    assert (found["reward_mean"], found["reward_lowest"], found["reward_highest"]) == (1.0, -3.0, 5.0)
    assert found["reward_deviation"] == pytest.approx(4.0)
    assert found["success_rate"] == pytest.approx(2 / 3)
    assert found["success_rate_low"] < 2 / 3 < found["success_rate_high"]
    assert [episode.seed for episode in hardest(episodes, 2)] == [2, 1]
    half = 4.302653 * 4.0 / 3**0.5  # 97.5 % point of Student's t with 2 degrees of freedom, from tables
    assert found["reward_mean_low"] == pytest.approx(1.0 - half, rel=1e-6)
    assert found["reward_mean_high"] == pytest.approx(1.0 + half, rel=1e-6)
    alone = summary(episodes[:1])
    assert (alone["reward_deviation"], alone["reward_mean_low"], alone["reward_mean_high"]) == (0.0, None, None)


def test_a_rate_is_told_only_where_every_episode_tells_of_success():
    episodes = [Episode(1, 2.0, 10, None, ""), Episode(2, 4.0, 10, success=True, failure="")]
    found = summary(episodes)
    assert (found["success_rate"], found["success_rate_low"], found["success_rate_high"]) == (None, None, None)
    assert success_text(found) == "the environment does not tell of success"
    assert short_text(found) == "a reward of 3.00"
    assert short_text(summary(episodes[1:])) == "100% success"
