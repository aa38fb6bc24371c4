import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, MultiDiscrete
from hydra import compose, initialize_config_module
from stable_baselines3 import PPO

from pliant.conf.build import LEARNED, build
from pliant.envs.tasks import TASKS
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.training.environments import make_environment, policy_info, vector_environments


def configured(*overrides):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("train", overrides=["robot=rig1", *overrides])


@pytest.fixture
def registered():
    """Registers an environment for one test; returns its id."""
    names = []

    def register(entry_point):
        names.append(f"pliant-tests/Strange{len(names)}-v0")
        gymnasium.register(names[-1], entry_point=entry_point)
        return names[-1]

    yield register
    for name in names:
        del gymnasium.registry[name]


@pytest.mark.parametrize(("robot", "joints"), [("rig1", ("joint",)), ("arm2", ("shoulder", "elbow"))])
@pytest.mark.parametrize("task", ["reach", "track"])
def test_every_choice_makes_an_environment_that_names_what_it_offers(robot, joints, task):
    made = make_environment(configured(f"robot={robot}", f"task={task}"))
    info = policy_info(made)
    assert info.joints == joints
    assert info.period == 0.02
    assert len(info.observations) == made.observation_space.shape[0]
    assert [channel.name for channel in info.actions[:2]] == [f"{joints[0]}/equilibrium", f"{joints[0]}/preset"]


def test_the_options_reach_the_robot():
    made = make_environment(configured("period=0.01", "robot.law=rigid", "robot.mode=0", "robot.preset=null"))
    info = policy_info(made)
    assert info.period == 0.01
    assert info.actions[0].unit == "N·m"
    with pytest.raises(UnknownNameError, match="position_nois"):
        make_environment(configured("+robot.simulation.position_nois=1"))
    with pytest.raises(ConfigurationError, match=r"environment 'Pendulum-v1'.*colour"):
        make_environment(configured("env=Pendulum-v1", "+env_options.colour=red"))


def test_randomised_robots_differ_from_episode_to_episode_and_repeat_with_the_seed():
    config = configured("randomisation=usual", "task.spread=0", "task.low=0.5", "task.high=0.5")
    venv = vector_environments(config, 3)

    def ends():
        venv.seed(0)
        venv.reset()
        for _ in range(30):
            seen, *_ = venv.step(np.full((3, 2), 0.5, np.float32))
        return seen

    first = ends()
    assert len({row.tobytes() for row in first}) == 3
    np.testing.assert_array_equal(first, ends())


def test_an_unknown_environment_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="Did you mean 'pliant/CompliantJoint-v0'"):
        make_environment(configured("env=pliant/CompliantJoints-v0"))
    with pytest.raises(ConfigurationError, match="env=no_such_module:my/Env-v0: No module named"):
        make_environment(configured("env=no_such_module:my/Env-v0"))


class Own(gymnasium.Env):
    """An environment of a user's own: brings a point to 0."""

    metadata = {"render_modes": [], "render_fps": 25}  # noqa: RUF012
    observation_space = Box(-5.0, 5.0, (1,), np.float32)

    def __init__(self, render_mode=None, action_space=None):
        self.action_space = Box(-2.0, 2.0, (1,), np.float32) if action_space is None else action_space
        self.taken = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.point = float(self.np_random.uniform(-1.0, 1.0))
        return np.array([self.point], np.float32), {}

    def step(self, action):
        self.taken.append(float(action[0]))
        self.point += 0.1 * float(action[0])
        return np.array([self.point], np.float32), -abs(self.point), False, False, {}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(-np.inf, np.inf, (2,), np.float32), "unbounded action space"),
        (Box(np.array([-1.0, -np.inf]), np.array([1.0, 1.0]), dtype=np.float32), "unbounded action space"),
        (Box(-1.0, 1.0, (2, 2), np.float32), "a Box of one axis or a Discrete is needed"),
        (MultiDiscrete([2, 3]), "a Box of one axis or a Discrete is needed"),
    ],
)
def test_an_action_space_that_nothing_can_learn_in_is_refused(registered, space, message):
    with pytest.raises(ConfigurationError, match=message):
        make_environment(configured(f"env={registered(lambda **o: Own(action_space=space))}"))


def test_an_environment_of_ones_own_learns_with_actions_within_one(registered):
    config = configured(f"env={registered(Own)}")
    env = make_environment(config)
    env.reset(seed=0)
    env.step(np.array([1.0], np.float32))
    assert env.unwrapped.taken == [2.0]
    info = policy_info(env)
    assert [(c.name, c.low, c.high) for c in info.observations] == [("observation/0", -5.0, 5.0)]
    assert [(c.name, c.low, c.high) for c in info.actions] == [("action/0", -2.0, 2.0)]
    assert info.period == pytest.approx(1 / 25)
    assert vector_environments(config, 3).num_envs == 3
    with pytest.raises(ConfigurationError, match="randomisation cannot vary"):
        make_environment(config, randomisation=configured("randomisation=usual").randomisation)


ONE_STEP = ("task.duration=0.02", "task.hold=0.02")


@pytest.mark.parametrize(("tolerance", "bootstrapped"), [(3.0, False), (1e-9, True)])
@pytest.mark.slow
def test_time_is_bootstrapped_from_the_last_observation_and_an_end_is_not(tolerance, bootstrapped):
    """An episode of one period: with success it is at its limit and done at once, and done wins."""
    venv = vector_environments(configured(*ONE_STEP, f"task.tolerance={tolerance}"), 1)
    model = PPO("MlpPolicy", venv, n_steps=2, batch_size=2, gamma=0.9, seed=0, device="cpu")
    before, infos = [], []
    step = venv.step_wait

    def noting():
        seen, rewards, dones, found = step()
        before.append(rewards.copy())
        infos.append(found[0])
        return seen, rewards, dones, found

    venv.step_wait = noting
    _, callback = model._setup_learn(2)
    model.collect_rollouts(venv, callback, model.rollout_buffer, 2)
    for k in range(2):
        assert infos[k]["TimeLimit.truncated"] is bootstrapped
        last = model.policy.obs_to_tensor(infos[k]["terminal_observation"])[0]
        value = float(model.policy.predict_values(last)) if bootstrapped else 0.0
        np.testing.assert_allclose(model.rollout_buffer.rewards[k], before[k] + 0.9 * value, rtol=1e-5)
        assert (infos[k]["terminal_observation"] != model.rollout_buffer.observations[(k + 1) % 2, 0]).any()


@pytest.mark.parametrize("task", [name for name in TASKS if name != "track_path"])
def test_the_configuration_of_a_task_is_the_task_as_it_is(task):
    assert build(configured(f"task={task}").task, "task", LEARNED) == TASKS[task]()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "task"),
    [
        ("arm2", "throw"),
        ("arm2", "reach_pose"),
        ("arm5", "reach_pose"),
        ("two_link", "reach_pose"),
        ("two_link", "track_path"),
    ],
)
def test_a_task_that_fits_the_robot_makes_an_environment(robot, task):
    made = make_environment(configured(f"robot={robot}", f"task={task}"))
    assert policy_info(made).period == 0.02
    seen, _ = made.reset(seed=0)
    assert made.observation_space.contains(seen)


def test_a_robot_reads_no_more_than_its_task_uses():
    made = make_environment(configured("robot=arm2", "task=reach_pose"))
    assert [c.name for c in made.unwrapped.robot.info.sensors] == [f"tip/position_{axis}" for axis in "xyz"]
    assert not make_environment(configured("robot=arm2", "task=reach")).unwrapped.robot.info.sensors


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["task.rewards.smoothness.term=action_rat"], r"reward term 'action_rat'.*Did you mean 'action_rate'"),
        (["+task.rewards.distance.wieght=2"], r"setting 'wieght' in reward 'distance' of task 'reach'.*'weight'"),
        (["+task.tolerence=0.1"], r"setting 'tolerence' in task 'reach'.*Did you mean 'tolerance'"),
        (["task.observations.joints.names=['*/temperature']"], r"signal '\*/temperature' in robot 'rig1'"),
        (
            ["task=walk"],
            r"signal 'base/orientation_\*' in robot 'rig1', which measure 'local_velocity' of task 'walk'",
        ),
        (["task=press"], r"signal 'wrist/force_z'"),
        (["task.rewards.distance=null"], None),
    ],
)
def test_terms_are_changed_and_wrong_ones_named(overrides, message):
    if message is None:
        assert "reward_distance" not in make_environment(configured(*overrides)).unwrapped._terms
        return
    with pytest.raises(UnknownNameError, match=message):
        make_environment(configured(*overrides))


@pytest.mark.parametrize("term", ["os.getcwd", "pathlib:Path", "pliant.files.os.getcwd"])
def test_terms_of_modules_that_are_not_trusted_are_refused_before_they_are_imported(term):
    with pytest.raises(ConfigurationError, match="no trusted package"):
        make_environment(configured(f"task.rewards.distance.term={term}"))


@pytest.mark.parametrize(
    "target",
    [
        "pliant.files.write_json",
        "pliant.actuators.cache.store_source",
        "pliant.controllers.policies.OnnxPolicy.load",
        "pliant.controllers.recorded.Path.unlink",
        "stable_baselines3.common.save_util.load_from_pkl",
        "hydra.utils.get_class",
    ],
)
def test_the_environment_that_a_policy_names_can_run_nothing_else(target, tmp_path):
    """A policy's file comes from anywhere; only what an environment is made of is built from what it says."""
    with pytest.raises(ConfigurationError, match="is of no trusted package"):
        build({"hook": {"_target_": target, "path": str(tmp_path / "x")}}, "env.options", LEARNED)
    assert not list(tmp_path.iterdir())


def test_a_trusted_name_that_leads_elsewhere_is_refused_everywhere():
    with pytest.raises(ConfigurationError, match="is of no trusted package"):
        build({"_target_": "pliant.files.os.getcwd"}, "x")


@pytest.mark.slow
def test_a_hexapod_learns_to_walk_by_a_gait_on_robots_that_differ():
    config = configured("robot=hexapod", "recipe=hexapod_walk", "task.duration=0.1")
    env = make_environment(config, randomisation=config.randomisation)
    _, info = env.reset(seed=0)
    assert {"supply", "contact_friction", "trunk/mass"} <= set(info["parameters"])
    assert env.unwrapped.robot.info.period == 0.019
    names = [c.name for c in env.unwrapped.actions]
    assert names[:2] == ["gait/stride", "gait/speed"]
    assert len(names) == 20
    assert {"gait/sine", "gait/cosine"} < {c.name for c in env.unwrapped.observations}
    info = env.step(env.action_space.sample())[-1]
    assert {"reward_ahead", "reward_torque", "reward_collisions"} < set(info)
    assert not [c.name for c in env.unwrapped.observations if c.name.startswith(("base/", "imu"))]
