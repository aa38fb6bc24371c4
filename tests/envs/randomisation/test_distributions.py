import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pliant.envs.randomisation import Choice, LogUniform, Normal, Uniform
from pliant.envs.randomisation.distributions import check_support
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

CASES = [
    (Uniform(-2.0, 3.0), stats.uniform(-2.0, 5.0)),
    (LogUniform(0.01, 10.0), stats.loguniform(0.01, 10.0)),
    (Normal(1.0, 0.5, 0.2, 4.0), stats.truncnorm(-1.6, 6.0, 1.0, 0.5)),
    (Normal(0.0, 5.0, 0.0, 1.0), stats.truncnorm(0.0, 0.2, 0.0, 5.0)),
]


@pytest.mark.parametrize(("distribution", "reference"), CASES)
def test_draws_follow_the_distribution(distribution, reference):
    random = np.random.default_rng(0)
    drawn = [distribution.draw(random) for _ in range(2000)]
    assert stats.kstest(drawn, reference.cdf).pvalue > 0.01


def test_choices_come_as_often_as_their_weights_say():
    random = np.random.default_rng(0)
    drawn = [Choice([1.0, 2.0, 5.0], [3, 0, 1]).draw(random) for _ in range(4000)]
    assert set(drawn) == {1.0, 5.0}
    assert drawn.count(1.0) / 4000 == pytest.approx(0.75, abs=0.02)
    even = [Choice([1.0, 2.0, 5.0]).draw(random) for _ in range(3000)]
    assert stats.chisquare([even.count(value) for value in (1.0, 2.0, 5.0)]).pvalue > 0.01


@given(low=st.floats(1e-3, 1e3), span=st.floats(0.0, 1e3), seed=st.integers(0, 2**32 - 1))
def test_nothing_is_drawn_outside_the_bounds(low, span, seed):
    high = low + span
    random = np.random.default_rng(seed)
    for distribution in (
        Uniform(low, high),
        LogUniform(low, high),
        Normal(low, 0.1, low, high),
        Normal(high, 10.0, low, high),
        Choice([low, high]),
    ):
        assert distribution.bounds == (low, high)
        assert low <= distribution.draw(random) <= high


@pytest.mark.parametrize("distribution", [Uniform(0, 1), LogUniform(1, 2), Normal(0, 1, -1, 1), Choice([1, 2, 3])])
def test_each_draw_takes_one_number_of_the_stream(distribution):
    random, same = np.random.default_rng(3), np.random.default_rng(3)
    distribution.draw(random)
    same.random()
    assert random.random() == same.random()


def test_bad_distributions_are_refused():
    with pytest.raises(ConfigurationError, match="Uniform: low 2 must not exceed high 1"):
        Uniform(2.0, 1.0)
    with pytest.raises(OutOfBoundsError, match="Uniform high is nan"):
        Uniform(0.0, math.nan)
    with pytest.raises(OutOfBoundsError, match="LogUniform low is 0"):
        LogUniform(0.0, 1.0)
    with pytest.raises(OutOfBoundsError, match="Normal deviation is 0"):
        Normal(0.0, 0.0, -1.0, 1.0)
    with pytest.raises(ConfigurationError, match="mean 3 must be between low -1 and high 1"):
        Normal(3.0, 1.0, -1.0, 1.0)
    with pytest.raises(ShapeError, match=r"Choice values has shape \(0,\)"):
        Choice([])
    with pytest.raises(ShapeError, match=r"Choice weights has shape \(1,\)"):
        Choice([1.0, 2.0], [1.0])
    for weights in ([1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(ConfigurationError, match="Choice weights"):
            Choice([1.0, 2.0], weights)


def test_a_support_outside_the_allowed_range_is_named_with_its_distribution():
    check_support("mass", Uniform(0.5, 2.0), 0.5, 2.0)
    with pytest.raises(OutOfBoundsError, match=r"mass = 2.*outside.*\(Uniform from 0.5 to 2\)"):
        check_support("mass", Uniform(0.5, 2.0), 0.0, 1.0)
