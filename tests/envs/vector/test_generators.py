import gymnasium
import numpy as np
import pytest
from gymnasium.utils import seeding

from pliant.envs.vector.generators import Generators
from pliant.errors import ShapeError


@pytest.mark.parametrize("seed", [7, np.int64(7), [7, 8, 9], range(7, 10)])
def test_seeds_count_up_from_a_single_one(seed):
    generators = Generators(3)
    generators.seed(seed)
    assert [generators.seed_of(i) for i in range(3)] == [7, 8, 9]
    assert [generators[i].random() for i in range(3)] == [seeding.np_random(s)[0].random() for s in (7, 8, 9)]


def test_a_generator_without_a_new_seed_goes_on():
    generators = Generators(2)
    generators.seed([1, 2])
    kept = generators[1]
    kept.random()
    generators.seed([5, None])
    assert generators[1] is kept
    assert generators.seed_of(0) == 5
    generators.seed(None)
    assert generators[1] is kept


def test_a_generator_that_never_was_seeded_is_seeded_by_chance():
    generators = Generators(2)
    assert generators[0].random() != generators[1].random()
    assert generators.seed_of(0) != generators.seed_of(1)


def test_there_must_be_a_seed_for_each():
    with pytest.raises(ShapeError, match="2 seeds are given for 3 environments"):
        Generators(3).seed([1, 2])


def test_a_bad_seed_is_refused_as_gymnasium_does():
    with pytest.raises(gymnasium.error.Error, match="Seed must be"):
        Generators(1).seed([-1])
