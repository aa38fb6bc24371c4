"""stable-baselines3 sees in the adapter what it sees in its own `DummyVecEnv` of single environments."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import pliant.envs
from pliant.envs import Randomisation, Reach
from pliant.envs.randomisation import Uniform
from pliant.envs.sb3 import sb3_vec_env
from pliant.errors import ConfigurationError

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

ARM = "pliant/CompliantArm2-v0"
TASK = Reach(tolerance=0.5, hold=0.04, duration=0.12)
"""Episodes of up to six periods, some of which succeed."""


def adapted(n: int, task=TASK, **options) -> VecEnv:
    pliant.envs.register()
    mode = {"autoreset_mode": "SameStep", **options}
    return sb3_vec_env(gymnasium.make_vec(ARM, n, vectorization_mode="vector_entry_point", task=task, **mode))


def dummy(n: int, task=TASK, **options) -> VecEnv:
    return DummyVecEnv([lambda: Monitor(gymnasium.make(ARM, task=task, **options))] * n)


def same_infos(ours: dict, theirs: dict) -> None:
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        if name == "episode":
            assert ours[name]["r"] == pytest.approx(value["r"], abs=1e-6)  # Monitor rounds
            assert ours[name]["l"] == value["l"]
            assert set(ours[name]) == set(value)
        elif isinstance(value, np.ndarray):
            assert ours[name].tobytes() == value.tobytes()
        else:
            assert ours[name] == value
            assert type(ours[name]) is type(value)


@pytest.mark.parametrize("options", [{}, {"robot": {"randomisation": Randomisation(mass=Uniform(0.9, 1.1))}}])
def test_steps_are_those_of_single_environments(options):
    ours, theirs = adapted(4, **options), dummy(4, **options)
    assert ours.seed(3) == theirs.seed(3)
    assert ours.reset().tobytes() == theirs.reset().tobytes()
    assert ours.reset_infos == theirs.reset_infos
    random = np.random.default_rng(0)
    ends = []
    for _ in range(30):
        actions = random.uniform(-1.0, 1.0, (4, 4)).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine[:3], other[:3], strict=True):
            assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
        for a, b in zip(mine[3], other[3], strict=True):
            same_infos(a, b)
        assert ours.reset_infos == theirs.reset_infos
        ends += [info["TimeLimit.truncated"] for info in mine[3] if "episode" in info]
    assert {True, False} == set(ends)


def test_a_seed_serves_one_reset_only():
    env = adapted(2)
    env.seed(5)
    first = env.reset()
    assert env.reset().tobytes() != first.tobytes()
    env.seed(5)
    assert env.reset().tobytes() == first.tobytes()


def test_the_members_answer_for_their_environments():
    env = adapted(3, render_mode="rgb_array")
    env.seed(7)
    env.reset()
    assert env.get_attr("np_random_seed") == [7, 8, 9]
    assert env.get_attr("index", indices=[2, 0]) == [2, 0]
    assert env.env_method("apply_torque", "elbow", 0.1, indices=1) == [None]
    ((observation, _),) = env.env_method("reset", seed=7, indices=[1])
    assert observation.tobytes() == env.env_method("reset", seed=7, indices=[0])[0][0].tobytes()
    env.set_attr("label", "mine", indices=[1])
    assert env.get_attr("label", indices=1) == ["mine"]
    assert not env.has_attr("label")
    assert env.render_mode == "rgb_array"
    with pytest.raises(ConfigurationError, match="'task' belongs to all environments together"):
        env.set_attr("task", TASK)
    with pytest.raises(AttributeError):
        env.get_attr("speed")


def test_an_episode_that_a_member_begins_by_itself_is_counted_from_there():
    env = adapted(2, Reach(duration=0.2))
    env.reset()
    rewards = []
    for k in range(12):
        if k == 2:
            env.env_method("reset", indices=[1])
        _, reward, _, infos = env.step(np.zeros((2, 4)))
        rewards.append(reward)
        ended = [info["episode"] for info in infos if "episode" in info]
        assert len(ended) == (k in (9, 11))
        if ended:
            one, since = (0, 0) if k == 9 else (1, 2)
            assert ended[0]["l"] == 10
            assert ended[0]["r"] == pytest.approx(float(np.sum(rewards[since : since + 10], axis=0)[one]))


def test_a_limit_of_steps_is_one_of_time():
    env = adapted(2, Reach(duration=1.0), max_episode_steps=3)
    env.reset()
    infos = [env.step(np.zeros((2, 4)))[3] for _ in range(3)][-1]
    assert [info["TimeLimit.truncated"] for info in infos] == [True, True]
    assert [info["episode"]["l"] for info in infos] == [3, 3]
    assert env.env_method("get_wrapper_attr", "index") == [0, 1]
    assert env.env_method("set_wrapper_attr", "label", 5) == [True, True]
    assert env.get_attr("label") == [5, 5]


def test_it_counts_as_monitored_and_as_nothing_else():
    env = adapted(2)
    assert env.env_is_wrapped(Monitor) == [True, True]
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False, False]
    with pytest.warns(UserWarning, match="already wrapped"):
        VecMonitor(env)


def test_options_and_other_autoreset_modes_are_refused():
    env = adapted(2)
    env.set_options({"speed": 1})
    with pytest.raises(ConfigurationError, match="no options at a reset"):
        env.reset()
    with pytest.raises(ConfigurationError, match="autoreset_mode='SameStep', not 'NextStep'"):
        adapted(2, autoreset_mode="NextStep")


def test_ppo_learns_with_it_and_logs_returns_and_successes():
    env = VecNormalize(adapted(8, Reach(duration=0.4)))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=2, seed=0, device="cpu")
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(512)
    assert model.num_timesteps == 512
    assert any((value != before[name]).any() for name, value in model.policy.state_dict().items())
    assert len(model.ep_info_buffer) == len(model.ep_success_buffer) == 8 * (512 // 8 // 20)
    mean, deviation = evaluate_policy(model, env, n_eval_episodes=4)
    assert np.isfinite([mean, deviation]).all()
    env.close()


def test_nothing_of_stable_baselines3_is_imported_before_it_is_asked_for():
    script = "import sys, pliant.envs.sb3; assert not {'stable_baselines3', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
