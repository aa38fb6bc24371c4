import numpy as np
import pytest

from pliant.controllers.policies import SB3Policy


def test_the_normaliser_is_part_of_what_it_does(make_model, info, normalisation):
    model, seen = make_model("PPO"), np.array([0.5, 3.0, 1.0, 1.0, 0.2])
    with_it, without = SB3Policy(model, info, normalisation), SB3Policy(model, info, None)
    assert np.abs(with_it(seen) - without(seen)).max() > 0.1
    scaled = np.clip((seen - normalisation.mean) / np.sqrt(normalisation.variance + 1e-8), -10.0, 10.0)
    np.testing.assert_array_equal(with_it(seen), without(scaled))


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "SAC", "TD3", "TQC"])
def test_many_observations_are_answered_as_one_by_one(make_model, info, normalisation, algorithm):
    policy = SB3Policy(make_model(algorithm), info, normalisation)
    seen = np.random.default_rng(0).uniform(-30.0, 30.0, (20, 5))
    np.testing.assert_allclose(policy.batch(seen), [policy.act(row) for row in seen], rtol=0.0, atol=1e-5)
