import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.errors import MismatchError
from pliant.training.environments import vector_environments
from pliant.training.episode_recorder import EpisodeRecorder

OVERRIDES = ["robot=rig1", "task.duration=0.3", "task.hold=0.04", "task.tolerance=0.4"]
N = 3


def recorder(*overrides, randomisation="usual"):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("train", overrides=[*OVERRIDES, f"randomisation={randomisation}", *overrides])
    return EpisodeRecorder(vector_environments(config, N))


def run(venv, random, steps):
    """Random actions; returns all that came of them."""
    return [venv.step(random.uniform(-1.0, 1.0, (N, 2)).astype(np.float32)) for _ in range(steps)]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 7, 40, 333])
def test_episodes_go_on_to_the_last_bit_in_other_environments(steps):
    original, other = recorder(), recorder()
    original.seed(5)
    original.reset()
    before = run(original, np.random.default_rng(0), steps)
    other.restore(original.running())
    for (seen, rewards, dones, _), repeated in zip(
        run(original, np.random.default_rng(1), 50), run(other, np.random.default_rng(1), 50), strict=True
    ):
        np.testing.assert_array_equal(seen, repeated[0])
        np.testing.assert_array_equal(rewards, repeated[1])
        np.testing.assert_array_equal(dones, repeated[2])
    if steps == 333:
        assert sum(step[2].sum() for step in before) > 3 * N
        assert len(original._actions) < 200  # what is no longer needed is forgotten


def test_a_restored_recorder_can_be_restored_from_again():
    first, second, third = recorder(), recorder(), recorder()
    first.seed(5)
    first.reset()
    run(first, np.random.default_rng(0), 20)
    second.restore(first.running())
    run(first, np.random.default_rng(1), 9)
    run(second, np.random.default_rng(1), 9)
    third.restore(second.running())
    np.testing.assert_array_equal(third.running().observation, first.running().observation)
    np.testing.assert_array_equal(third.running().ages, first.running().ages)


def test_an_environment_that_has_changed_is_noticed():
    original = recorder(randomisation="none")
    slower = recorder("robot.simulation.command_delay=0.005", randomisation="none")
    original.seed(5)
    original.reset()
    run(original, np.random.default_rng(0), 5)
    with pytest.raises(MismatchError, match="does not repeat its episodes"):
        slower.restore(original.running())
