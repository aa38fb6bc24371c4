"""Environments of any registered id: what the training sees of them, and the verbs on one of a user's own."""

import json
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary
from hydra import compose, initialize_config_module

from pliant.controllers.policies import OnnxPolicy, ZeroPolicy
from pliant.controllers.policies.onnx import read_onnx_label
from pliant.errors import ConfigurationError, MismatchError, UnknownNameError
from pliant.training.environments import make_environment, policy_info, vector_environments
from pliant.training.episode_recorder import EpisodeRecorder
from pliant.training.evaluation import run_episode
from pliant.training.registered import RegisteredEnv, explained, known_id

OWN = '''
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete


class Line(gymnasium.Env):
    """A point on a line, which a gust moves at every step; to be kept near 0."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    observation_space = Dict({"place": Box(-5.0, 5.0, (1,), np.float64), "side": Discrete(2)})
    action_space = Discrete(3, start=-1)

    def __init__(self, render_mode=None, gust=0.1):
        self.render_mode, self.gust = render_mode, gust

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.age = self.np_random.uniform(-1.0, 1.0), 0
        return self.seen(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.place = float(np.clip(self.place + 0.2 * action + self.gust * self.np_random.normal(), -5.0, 5.0))
        self.age += 1
        return self.seen(), -abs(self.place), self.age == 17, False, {"is_success": abs(self.place) < 0.3}

    def seen(self):
        return {"place": np.array([self.place]), "side": int(self.place > 0.0)}

    def render(self):
        return np.full((48, 64, 3), 100, np.uint8)


gymnasium.register("own/Line-v0", entry_point=Line)
'''
ID = "ownlines:own/Line-v0"
QUICK = (
    f"env={ID}",
    "n_envs=2",
    "algo.n_steps=32",
    "algo.batch_size=32",
    "algo.n_epochs=2",
    "algo.policy_kwargs.net_arch=[8]",
    "evaluation.episodes=3",
    "evaluation.every=64",
    "logging.to=[csv]",
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's own module with an environment, found from the folder that they work in."""
    (tmp_path / "ownlines.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLIANT_TARGETS", "ownlines")
    yield
    sys.modules.pop("ownlines", None)
    gymnasium.registry.pop("own/Line-v0", None)


def configured(*overrides):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("train", overrides=["~robot", "~task", "~randomisation", *overrides])


class Told(gymnasium.Env):
    """An environment of given spaces, which remembers what it was told to do and never ends."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space, self.taken = observation_space, action_space, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(3)
        return self.observation_space.sample(), {}

    def step(self, action):
        self.taken.append(action)
        return self.observation_space.sample(), 1, False, False, {}


def told(observation_space=None, action_space=None):
    number = Box(-1.0, 1.0, (1,), np.float32)
    env = Told(*(number if space is None else space for space in (observation_space, action_space)))
    return env, RegisteredEnv("own/Told-v0", env)


def test_a_bounded_action_is_spread_over_its_bounds():
    env, seen = told(action_space=Box(np.array([-2.0, 10.0]), np.array([4.0, 30.0]), dtype=np.float64))
    seen.reset(seed=0)
    for action in ([-1.0, 1.0], [0.0, 0.5], [-3.0, 3.0]):
        seen.step(np.array(action, np.float32))
    np.testing.assert_allclose(env.taken, [[-2.0, 30.0], [1.0, 25.0], [-2.0, 30.0]])
    assert [(c.low, c.high) for c in policy_info(seen).actions] == [(-2.0, 4.0), (10.0, 30.0)]


def test_a_choice_is_a_number_to_an_algorithm_and_preferences_to_a_policy():
    env, seen = told(action_space=Discrete(3, start=5))
    seen.reset(seed=0)
    assert seen.action_space == Discrete(3)
    seen.step(np.int64(1))
    seen.step(np.array([-1.0, -0.5, 0.2]))
    assert env.taken == [6, 7]
    assert [c.name for c in policy_info(seen).actions] == ["action/0", "action/1", "action/2"]


def test_observations_of_many_parts_become_one_vector():
    parts = Dict({"a": Box(-3.0, 3.0, (2, 2), np.float64), "b": Discrete(3), "c": MultiBinary(2)})
    env, seen = told(parts)
    observation, _ = seen.reset(seed=0)
    env.observation_space.seed(3)
    drawn = env.observation_space.sample()
    one_hot = [float(drawn["b"] == k) for k in range(3)]
    np.testing.assert_allclose(observation, [*drawn["a"].ravel(), *one_hot, *drawn["c"]], rtol=1e-6)
    assert observation.dtype == seen.observation_space.dtype == np.float32
    assert seen.observation_space.high.tolist() == [3.0] * 4 + [1.0] * 5


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(0, 255, (8, 8, 3), np.uint8), "observes pictures"),
        (Graph(Box(-1.0, 1.0, (2,)), None), "flattens to a vector"),
    ],
)
def test_observations_that_no_vector_holds_are_refused(space, message):
    with pytest.raises(ConfigurationError, match=message):
        told(space)


def test_an_episode_without_an_end_is_not_waited_for():
    _, seen = told()
    with pytest.raises(ConfigurationError, match=r"has not ended after 10,000 steps.*max_episode_steps=N"):
        run_episode(ZeroPolicy(policy_info(seen)), seen, 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pendulun-v1", r"Did you mean 'Pendulum-v1'.*module:my/Env-v0"),
        ("Pendulum", "Did you mean 'Pendulum-v1'"),
        ("Pendulum-v0", "Did you mean 'Pendulum-v1'"),
        ("CartPole-v7", "Did you mean 'CartPole-v"),
        ("nothing_like_it", "Valid: any id registered with Gymnasium, pliant/CompliantArm2-v0"),
    ],
)
def test_an_unknown_id_is_refused_with_the_nearest_ones(name, message):
    make_environment(configured("env=Pendulum-v1")).close()  # which registers those of Pliant
    with pytest.raises(UnknownNameError, match=message):
        known_id(name)


def test_a_module_that_cannot_be_imported_says_why(tmp_path, monkeypatch):
    (tmp_path / "brokenlines.py").write_text("no_such_name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match="env=brokenlines:own/Line-v0: NameError: name 'no_such_name'"):
        known_id("brokenlines:own/Line-v0")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("steps", [0, 5, 41])
def test_episodes_that_draw_at_every_step_go_on_to_the_last_bit(steps):
    def recorder():
        return EpisodeRecorder(vector_environments(configured(f"env={ID}"), 3))

    def run(venv, seed, count):
        random = np.random.default_rng(seed)
        return [venv.step(random.integers(0, 3, 3)) for _ in range(count)]

    original, other = recorder(), recorder()
    original.seed(5)
    original.reset()
    run(original, 0, steps)
    other.restore(original.running())
    for ours, theirs in zip(run(original, 1, 40), run(other, 1, 40), strict=True):
        for one, two in zip(ours[:3], theirs[:3], strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.usefixtures("own")
def test_episodes_drawn_from_elsewhere_are_not_taken_for_repeated(monkeypatch):
    venv = EpisodeRecorder(vector_environments(configured(f"env={ID}"), 2))
    random = np.random.default_rng(0)
    drawn = lambda env: {"place": random.uniform(-1.0, 1.0, 1), "side": 0}  # noqa: E731
    monkeypatch.setattr(sys.modules["ownlines"].Line, "seen", drawn)
    venv.reset()
    venv.step(np.array([0, 2]))
    with pytest.raises(MismatchError, match="must draw from its np_random alone"):
        venv.restore(venv.running())


@pytest.mark.usefixtures("own")
@pytest.mark.slow
def test_an_environment_of_ones_own_is_learned_judged_played_and_exported(verb, tmp_path):
    status, out, err = verb("train", *QUICK, "steps=128", "+env_options.gust=0.05", "hydra.run.dir=run")
    assert status == 0, err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["environment"], metrics["robot"], "task" in metrics) == (ID, "own/Line-v0", False)
    assert [e["steps"] for e in metrics["evaluations"]] == [0, 64, 128]
    assert "Training own/Line-v0 by PPO" in (tmp_path / "run" / "report.html").read_text()

    label = read_onnx_label(tmp_path / "run" / "policy.onnx")
    assert label["info"]["origin"]["environment"] == {"env": ID, "env_options": {"gust": 0.05}}
    assert "largest action is chosen" in label["scaling"]
    policy = OnnxPolicy.load(tmp_path / "run" / "policy.onnx")
    probabilities = (policy.batch(np.array([[0.3, 0.0, 1.0], [-2.0, 1.0, 0.0]])) + 1.0) / 2.0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    status, out, err = verb("export", "run")
    assert status == 0, err
    assert "environment: own/Line-v0; period 0.05 s" in out

    status, out, err = verb("evaluate", "run", "episodes=4", "hydra.run.dir=judged")
    assert status == 0, err
    judged = json.loads((tmp_path / "judged" / "metrics.json").read_text())
    assert list(judged["each"]) == ["as built"]
    assert judged["environment"] == ID
    rewards = [episode["reward"] for episode in judged["each"]["as built"]]
    assert judged["reward_mean_low"] < np.mean(rewards) < judged["reward_mean_high"]

    status, out, err = verb("play", "run", "episodes=2", "film=film.webp")
    assert status == 0, err
    assert (tmp_path / "film.webp").stat().st_size > 0
    assert f"{rewards[0]:.2f}" in out
    sys.modules["ownlines"].Line.metadata["render_modes"].clear()
    status, _, err = verb("play", "run", "film=none.webp")
    assert status == 2
    assert "draws no pictures" in err

    status, _, err = verb("deploy", "policy=run", "hardware=simulated")
    assert status == 2
    assert f"was learned in env={ID}, which is no robot of Pliant" in err


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("verb_name", "words", "message"),
    [
        ("train", ["robot=arm2"], "robot=arm2: env=ownlines:own/Line-v0 brings robot, task and period"),
        ("train", ["task.hold=0.5"], "task.hold=0.5: env="),
        ("train", ["randomisation=usual"], "randomisation=usual: env="),
        ("train", ["period=0.01"], "period=0.01: env="),
        ("train", ["+env_options.gusts=1"], "environment 'own/Line-v0'"),
        ("train", ["algo=sac"], "algo stable_baselines3.SAC"),
        ("evaluate", ["policy=zero", "robots=5"], "robots=5: env="),
        ("play", ["policy=zero", "robot.mode=5"], "robot.mode=5: env="),
    ],
)
def test_what_is_for_robots_only_is_refused(verb, verb_name, words, message):
    folder = [] if verb_name == "play" else ["hydra.run.dir=run"]
    status, out, err = verb(verb_name, f"env={ID}", *words, *folder)
    assert status == 2, out
    assert message in err


def test_a_fault_of_ours_is_not_told_as_one_of_the_environment():
    with pytest.raises(ConfigurationError, match="environment 'CartPole-v1': broken"), explained("CartPole-v1"):
        raise TypeError("broken")
    with pytest.raises(TypeError, match="broken"), explained(None):
        raise TypeError("broken")


@pytest.mark.parametrize("name", ["arm3", "pliant/Arm-v0"])
def test_an_id_that_nothing_is_registered_by_is_explained(verb, name):
    status, _, err = verb("train", f"env={name}", "hydra.run.dir=run")
    assert status == 2
    assert f"unknown environment '{name}' in env" in err


@pytest.mark.usefixtures("own")
def test_an_objective_that_nothing_tells_is_refused(verb):
    words = [word for word in QUICK if not word.startswith("env=")]
    status, _, err = verb(
        "train", "env=Pendulum-v1", *words, "steps=64", "objective=success_rate", "hydra.run.dir=r"
    )
    assert status == 2
    assert "does not tell of success" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "algorithm", "options", "least"),
    [
        ("CartPole-v1", "ppo", ("steps=65536", "n_envs=8", "algo.n_steps=64", "algo.batch_size=256"), 475.0),
        ("Pendulum-v1", "sac", ("steps=10000", "n_envs=1", "algo.train_freq=1", "algo.gradient_steps=1"), -250.0),
    ],
)
def test_known_environments_are_learned(verb, tmp_path, env, algorithm, options, least):
    """CartPole-v1 counts as solved from 475 on (Gymnasium); a pendulum that swings up and stays loses some 150."""
    common = ("evaluation.every=4096", "evaluation.episodes=10", "report.write=false", "logging.to=[csv]")
    status, _, err = verb("train", f"env={env}", f"algo={algorithm}", *options, *common, "hydra.run.dir=run")
    assert status == 0, err
    status, _, err = verb("evaluate", "run", "episodes=30", "report.write=false", "hydra.run.dir=judged")
    assert status == 0, err
    assert json.loads((tmp_path / "judged" / "metrics.json").read_text())["reward_mean"] > least
