import math

import numpy as np
import pytest

from pliant.controllers.policies import ZeroPolicy
from pliant.training.environments import make_environment, policy_info, vector_environments
from pliant.training.evaluation import run_episode, run_together


@pytest.fixture
def config():
    from hydra import compose, initialize_config_module

    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose(
            "train", overrides=["robot=rig1", "task.duration=0.3", "task.hold=0.04", "task.tolerance=0.4"]
        )


def test_the_same_seed_gives_the_same_episode_alone_and_together(config):
    env, environments = make_environment(config), vector_environments(config, 4)
    policy = ZeroPolicy(policy_info(env))
    alone = [run_episode(policy, env, 100 + k) for k in range(4)]
    for _ in range(2):
        together = run_together(lambda seen: np.zeros((4, 2), np.float32), environments, 100)
        assert [e._replace(reward=0.0) for e in together] == [e._replace(reward=0.0) for e in alone]
        np.testing.assert_allclose([e.reward for e in together], [e.reward for e in alone], rtol=1e-5)
    assert len({episode.reward for episode in alone}) == 4
    assert {episode.success for episode in alone} == {True, False}
    assert not math.isclose(run_episode(policy, env, 104).reward, alone[0].reward)
