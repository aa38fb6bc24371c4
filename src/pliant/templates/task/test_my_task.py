"""The terms by themselves, and the task that the configuration makes of them."""

from pathlib import Path

import gymnasium
import pytest
from omegaconf import OmegaConf

import pliant.envs
from pliant.conf.build import build

FILE = Path(__file__).parent / "conf" / "task" / "my_task.yaml"


@pytest.fixture
def env(monkeypatch):
    """The task on an arm of two soft joints."""
    monkeypatch.setenv("PLIANT_TARGETS", "my_task")  # what a configuration names runs only where it is trusted
    pliant.envs.register()
    return gymnasium.make("pliant/CompliantArm2-v0", task=build(OmegaConf.load(FILE), "task"))


def test_the_largest_speed_is_observed(env):
    env.reset(seed=0)
    observation, *_ = env.step(env.action_space.sample())
    names = [channel.name for channel in env.unwrapped.observations]
    speeds = [observation[k] for k, name in enumerate(names) if name.endswith("/velocity")]
    assert observation[names.index("speed/largest")] == pytest.approx(0.1 * max(map(abs, speeds)), rel=1e-5)


def test_who_moves_less_is_rewarded_more(env):
    def total(actions):
        env.reset(seed=0)
        return sum(env.step(action)[-1]["reward_slowness"] for action in actions)

    env.action_space.seed(0)
    shaken = [env.action_space.sample() for _ in range(30)]
    assert total([0.1 * action for action in shaken]) > total(shaken)


def test_an_episode_ends_in_time(env):
    env.reset(seed=0)
    periods = 0
    over = False
    while not over:
        *_, terminated, truncated, _ = env.step(0.0 * env.action_space.sample())
        over, periods = terminated or truncated, periods + 1
    assert periods * env.unwrapped.robot.info.period == pytest.approx(2.0)
