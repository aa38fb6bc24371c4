"""A vector environment is n single ones, to the last bit."""

import copy
import math

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import pliant.envs
from pliant.actuators import install
from pliant.controllers.trajectories import MinimumJerk
from pliant.envs import PliantEnv, Reach, SimulatedRobot, Throw, Track
from pliant.envs.models.rig1 import rig1
from pliant.envs.randomisation import Choice, LogUniform, Normal, Randomisation, Uniform
from pliant.envs.tasks import reward
from pliant.envs.tasks.starts import AtAngles
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.robot import Array, Robot

TRACK = Track(trajectory=MinimumJerk(0.0, 0.3, 0.12))
REACH = Reach(tolerance=0.5, hold=0.04, duration=0.12)
"""Episodes of some six periods; those of the latter differ in length."""

EVERYTHING = Randomisation(
    mass=Uniform(0.8, 1.2),
    damping=LogUniform(0.5, 2.0),
    friction=Uniform(0.5, 1.5),
    law={"k1": Normal(1.0, 0.1, 0.7, 1.3), "a2": Uniform(0.9, 1.05)},
    drive={"inertia": Uniform(0.8, 1.2), "torque_limit": Uniform(0.5, 1.0), "kp": Uniform(0.8, 1.2)},
    command_delay=Choice([0.0, 0.003, 0.02, 0.03]),
    sensor_delay=Uniform(0.0, 0.04),
    position_noise=Uniform(0.0, 0.01),
    torque_noise=Choice([0.0, 0.1]),
)
LATE_AND_NOISY = {
    "position_noise": 0.01,
    "velocity_noise": 0.1,
    "torque_noise": 0.05,
    "command_delay": 0.013,
    "sensor_delay": 0.04,
}
CASES = {
    "arm, reach": ("CompliantArm2", {"task": REACH}),
    "arm, track": ("CompliantArm2", {"task": TRACK, "mode": 3}),
    "arm, throw": ("CompliantArm2", {"task": Throw(duration=0.12)}),
    "arm, late and noisy": ("CompliantArm2", {"task": REACH, "robot": LATE_AND_NOISY}),
    "arm, randomised": ("CompliantArm2", {"task": REACH, "robot": {"randomisation": EVERYTHING}}),
    "joint, torques": ("CompliantJoint", {"task": TRACK, "mode": 4}),
    "joint, rigid": ("CompliantJoint", {"task": REACH, "law": "rigid", "mode": 1}),
    "joint, one motor": ("CompliantJoint", {"task": REACH, "law": "sea", "mode": 5}),
}
RESETTING = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


def actions(env: PliantVectorEnv, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.3, 1.3, (steps, *env.action_space.shape))


@pytest.fixture
def many():
    pliant.envs.register()
    made = []

    def make(n: int = 3, task=REACH, name: str = "CompliantArm2", **options) -> PliantVectorEnv:
        env = gymnasium.make_vec(f"pliant/{name}-v0", n, "vector_entry_point", task=task, **options)
        assert isinstance(env, PliantVectorEnv)
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()


# The same as single environments ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", RESETTING)
@pytest.mark.parametrize("case", CASES)
def test_everything_is_what_single_environments_give_in_gymnasiums_own_loop(together, identical, case, mode):
    name, options = CASES[case]
    ours, theirs = together(name, 3, mode, **options)
    identical(ours.reset(seed=3), theirs.reset(seed=3))
    ends = 0
    for k, action in enumerate(actions(ours, 26)):
        result = ours.step(action)
        identical(result, theirs.step(action), f"step {k}")
        ends += int((result[2] | result[3]).sum())
    assert ends > 6
    identical(ours.reset(), theirs.reset())


@pytest.mark.parametrize("name", ["CompliantArm2", "CompliantJoint"])
def test_n_episodes_are_those_of_n_single_environments_seed_by_seed(many, identical, name):
    n, task = 4, Reach(duration=0.5, tolerance=0.4)
    env = many(n, task, name, autoreset_mode="Disabled")
    observations, _ = env.reset(seed=[11, 5, 2**31, 0])
    given = actions(env, 25)
    taken = [[[observations[i]], []] for i in range(n)]
    running = np.ones(n, dtype=bool)
    for action in given:
        if not running.all():
            break
        observations, rewards, terminated, truncated, _ = env.step(action)
        for i in range(n):
            taken[i][0].append(observations[i])
            taken[i][1].append((rewards[i], terminated[i], truncated[i]))
        running = ~(terminated | truncated)
    for i, seed in enumerate([11, 5, 2**31, 0]):
        alone = gymnasium.make(f"pliant/{name}-v0", task=task)
        seen, judged = [alone.reset(seed=seed)[0]], []
        for action in given[: len(taken[i][1])]:
            observation, *verdict, _ = alone.step(action[i])
            seen.append(observation)
            judged.append(tuple(verdict))
        identical(taken[i], [seen, judged])


def test_without_autoreset_the_mask_says_who_begins_anew(together, identical):
    ours, theirs = together("CompliantArm2", 4, AutoresetMode.DISABLED, task=REACH)
    identical(ours.reset(seed=1), theirs.reset(seed=1))
    for action in actions(ours, 26):
        result = ours.step(action)
        identical(result, theirs.step(action))
        done = result[2] | result[3]
        if done.any():
            both = (env.reset(options={"reset_mask": done.copy()}) for env in (ours, theirs))
            identical(*both)
    for seed, mask in ((7, [True, False, False, True]), (None, [False, True, True, False])):
        both = (env.reset(seed=seed, options={"reset_mask": np.array(mask)}) for env in (ours, theirs))
        identical(*both)


def test_the_number_of_threads_changes_nothing(many, identical):
    results = []
    for threads in (1, 2, 3):
        env = many(5, threads=threads, robot=LATE_AND_NOISY)
        results.append([env.reset(seed=0), *(env.step(action) for action in actions(env, 12))])
    identical(results[0], results[1])
    identical(results[0], results[2])


def test_an_environment_with_its_seed_is_the_same_among_more_of_them(many, identical):
    few, more = many(2, autoreset_mode="SameStep"), many(7, autoreset_mode="SameStep")
    few.reset(seed=4), more.reset(seed=4)
    for action in actions(more, 14):
        identical(few.step(action[:2])[:4], tuple(part[:2] for part in more.step(action)[:4]))


# Failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", RESETTING)
def test_a_simulation_that_diverges_ends_its_own_episode_with_the_reason(together, identical, mode):
    ours, theirs = together("CompliantArm2", 3, mode, task=Reach(duration=0.2), robot={"sensor_delay": 0.02})
    identical(ours.reset(seed=0), theirs.reset(seed=0))
    reasons = []
    for k, action in enumerate(actions(ours, 8)):
        if k == 3:
            ours.envs[1].apply_torque("elbow", 1e12)
            theirs.envs[1].robot.apply_torque("elbow", 1e12)
        result = ours.step(action)
        identical(result, theirs.step(action), f"step {k}")
        infos = result[4].get("final_info", result[4])
        reasons += [(k, i, infos["failure"][i], result[1][i]) for i in np.flatnonzero(infos.get("_failure", []))]
    ((k, i, reason, reward),) = reasons
    assert (k, i, reward) == (3, 1, -100.0)
    assert reason.startswith("simulated robot 'arm2' diverged at 0.08 s: the ")


def test_an_error_that_mujoco_raises_ends_that_episode_alone(many, monkeypatch):
    """MuJoCo's own errors (memory, say) cannot be provoked in a healthy model: the batch is made to report one."""
    env = many(3, autoreset_mode="Disabled")
    env.reset(seed=0)
    batch = env.robots._batch
    real = batch.step

    def failing(ids, **options):
        from mujoco.batch import SimulationError

        real(ids, **options)
        raise SimulationError(np.array([2]), "stack overflow")

    monkeypatch.setattr(batch, "step", failing)
    monkeypatch.setattr(batch, "error", lambda i: "stack overflow")
    _, rewards, terminated, _, infos = env.step(np.zeros((3, 4)))
    assert terminated.tolist() == [False, False, True]
    assert rewards[2] == -100.0
    assert infos["failure"].tolist() == [None, None, "simulated robot 'arm2' failed: stack overflow"]


@reward(position="*/position")
def undefined(position: Array) -> float:
    return math.log(0.05 + position[0])


@pytest.mark.parametrize("mode", RESETTING)
def test_a_reward_that_is_no_number_ends_its_own_episode_with_the_reason(together, identical, mode):
    task = REACH.but(rewards={**REACH.rewards, "odd": undefined()}, start=AtAngles(0.0, 0.3))
    ours, theirs = together("CompliantArm2", 3, mode, task=task)
    identical(ours.reset(seed=0), theirs.reset(seed=0))
    reasons = []
    for k, action in enumerate(actions(ours, 8)):
        result = ours.step(action)
        identical(result, theirs.step(action), f"step {k}")
        infos = result[4].get("final_info", result[4])
        reasons += [infos["failure"][i] for i in np.flatnonzero(infos.get("_failure", []))]
    assert set(reasons) == {"robot 'arm2': no finite reward for odd."}


# What Gymnasium is told ---------------------------------------------------------------------------------------


def test_spaces_metadata_and_spec_are_those_of_a_vector_environment(many):
    env = many(3, period=0.04)
    alone = gymnasium.make("pliant/CompliantArm2-v0", task=REACH, period=0.04)
    assert env.single_observation_space == alone.observation_space
    assert env.single_action_space == alone.action_space
    assert env.observation_space.shape == (3, 12)
    assert env.action_space.shape == (3, 4)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert env.metadata["render_fps"] == 25
    assert env.spec.id == "pliant/CompliantArm2-v0"
    observations, _ = env.reset(seed=0)
    assert observations in env.observation_space
    assert env.step(env.action_space.sample())[0] in env.observation_space


def test_it_is_what_make_vec_makes_by_default():
    env = gymnasium.make_vec("pliant/CompliantJoint-v0", num_envs=2)
    assert isinstance(env, PliantVectorEnv)
    env.close()


def test_parameters_drawn_at_a_reset_are_reported_and_differ(many):
    drawn = Randomisation(mass=Uniform(0.9, 1.1), command_delay=Uniform(0.0, 0.01))
    env = many(4, robot={"randomisation": drawn})
    _, infos = env.reset(seed=0)
    parameters = infos["parameters"]
    assert infos["_parameters"].all()
    assert set(parameters) == {f"{m}{name}" for m in ("", "_") for name in env.robots.names}
    assert {"link1/mass", "link2/mass", "command_delay"} == set(env.robots.names)
    assert len(set(parameters["link1/mass"])) == 4
    steps = parameters["command_delay"] / 0.001
    np.testing.assert_allclose(steps, np.round(steps))
    for i in range(4):
        assert env.envs[i].parameters == {name: parameters[name][i] for name in env.robots.names}


def test_an_action_of_an_environment_that_begins_anew_is_ignored(many, identical):
    results = []
    for junk in (0.3, np.nan):
        env = many(2, Track(trajectory=MinimumJerk(0.0, 0.3, 0.12)))
        env.reset(seed=0)
        ended = np.zeros(2, dtype=bool)
        for action in actions(env, 12):
            given = np.where(ended[:, None], junk, action)
            result = env.step(given)
            ended = result[2] | result[3]
        results.append(result)
    identical(*results)


# Members ------------------------------------------------------------------------------------------------------


def test_a_member_speaks_for_its_own_environment(many):
    env = many(3)
    env.reset(seed=[4, 5, 6])
    member = env.envs[1]
    assert (member.index, member.np_random_seed, member.spec.id) == (1, 5, env.spec.id)
    assert member.np_random is env.np_random[1]
    assert member.observation_space == env.single_observation_space
    assert [channel.name for channel in member.actions] == [channel.name for channel in env.actions]
    assert env.call("np_random_seed") == (4, 5, 6)
    with pytest.raises(AttributeError):
        member.task = None


def test_a_member_answers_as_an_environment_without_wrappers(many):
    member = many(2).envs[1]
    assert member.has_wrapper_attr("task")
    assert not member.has_wrapper_attr("label")
    assert not member.set_wrapper_attr("label", 1, force=False)
    assert member.set_wrapper_attr("label", 1)
    assert member.set_wrapper_attr("label", 2, force=False)
    assert member.get_wrapper_attr("label") == 2
    with pytest.raises(ConfigurationError, match="'model' belongs to all environments together"):
        member.set_wrapper_attr("model", None)


def test_a_member_shows_copies_of_its_own_model_and_data(many, identical):
    randomisation = Randomisation(mass=Uniform(0.5, 1.5), damping=Uniform(0.5, 1.5))
    env = many(3, robot={"randomisation": randomisation})
    alone = gymnasium.make("pliant/CompliantArm2-v0", task=REACH, robot={"randomisation": randomisation}).unwrapped
    env.reset(seed=4), alone.reset(seed=5)
    first, second = actions(env, 2)
    env.step(first), alone.step(first[1])
    model, data = env.envs[1].model, env.envs[1].data
    for field in ("body_mass", "body_inertia", "dof_damping", "dof_invweight0", "actuator_user"):
        np.testing.assert_array_equal(getattr(model, field), getattr(alone.model, field))
    assert env.envs[0].model.body_mass.tolist() != model.body_mass.tolist()
    for field in ("qpos", "qvel", "act", "ctrl", "time"):
        np.testing.assert_array_equal(getattr(data, field), getattr(alone.data, field))
    mujoco.mj_forward(alone.model, now := copy.copy(alone.data))
    np.testing.assert_array_equal(data.site_xpos, now.site_xpos)
    model.body_mass[:], data.qpos[:] = 1.0, 1.0
    identical(env.step(second)[0][1], alone.step(second[1])[0])


@pytest.mark.slow
@pytest.mark.parametrize("mode", RESETTING)
def test_a_limit_of_steps_truncates_as_gymnasiums_own(mode, identical):
    options = {"task": REACH, "max_episode_steps": 4}
    ours = gymnasium.make_vec("pliant/CompliantArm2-v0", num_envs=3, autoreset_mode=mode, **options)
    assert isinstance(ours, PliantVectorEnv)
    single = [lambda: gymnasium.make("pliant/CompliantArm2-v0", **options)] * 3
    theirs = SyncVectorEnv(single, autoreset_mode=mode)
    identical(ours.reset(seed=1), theirs.reset(seed=1))
    truncated = 0
    for k, action in enumerate(actions(ours, 15)):
        result = ours.step(action)
        identical(result, theirs.step(action), f"step {k}")
        truncated += int(result[3].sum())
    assert truncated >= 6


def test_two_environments_of_five_steps_are_truncated_after_five():
    env = gymnasium.make_vec("pliant/CompliantArm2-v0", num_envs=2, max_episode_steps=5)
    env.reset(seed=0)
    assert [env.step(action)[3].tolist() for action in actions(env, 5)] == [[False] * 2] * 4 + [[True] * 2]
    with pytest.raises(OutOfBoundsError, match="max_episode_steps"):
        gymnasium.make_vec("pliant/CompliantArm2-v0", num_envs=2, max_episode_steps=0)


def test_a_member_begins_anew_alone(many, identical):
    env, undisturbed = many(3, autoreset_mode="Disabled"), many(3, autoreset_mode="Disabled")
    env.reset(seed=0), undisturbed.reset(seed=0)
    first, second = actions(env, 2)
    env.step(first), undisturbed.step(first)
    observation, info = env.envs[2].reset(seed=9)
    alone = gymnasium.make("pliant/CompliantArm2-v0", task=REACH)
    identical((observation, info), alone.reset(seed=9))
    ours, theirs = env.step(second)[0], undisturbed.step(second)[0]
    identical(ours[:2], theirs[:2])
    identical(ours[2], alone.step(second[2])[0])


def test_an_external_torque_moves_one_robot_until_it_begins_anew(many):
    env = many(2, autoreset_mode="Disabled")
    env.reset(seed=[1, 1])
    env.envs[1].apply_torque("elbow", 0.5)
    moved = env.step(np.zeros((2, 4)))[0]
    assert abs(moved[1, 1] - moved[0, 1]) > 0.01
    env.reset(seed=[1, 1])
    same = env.step(np.zeros((2, 4)))[0]
    assert same[0].tobytes() == same[1].tobytes()
    with pytest.raises(UnknownNameError, match="joint 'knee'"):
        env.envs[0].apply_torque("knee", 1.0)


# Bad input ----------------------------------------------------------------------------------------------------


def test_bad_actions_are_refused_before_anything_is_sent(many):
    env = many(3)
    with pytest.raises(RobotError, match=r"call reset\(\) first"):
        env.step(np.zeros((3, 4)))
    env.reset(seed=0)
    before = env.robots._batch.state.copy()
    with pytest.raises(ShapeError, match=r"shape \(3, 4\) \(each shoulder/equilibrium, .*got \(3, 3\)"):
        env.step(np.zeros((3, 3)))
    bad = np.zeros((3, 4))
    bad[1, 2] = np.inf
    with pytest.raises(OutOfBoundsError, match="environment 1 is not finite; nothing was sent"):
        env.step(bad)
    assert env.robots._batch.state.tobytes() == before.tobytes()


def test_an_episode_that_has_ended_must_be_reset_when_autoreset_is_off(many):
    env = many(2, TRACK, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    for _ in range(6):
        env.step(np.zeros((2, 4)))
    with pytest.raises(RobotError, match=r"environments \[0, 1\] have ended .*'reset_mask'"):
        env.step(np.zeros((2, 4)))


def test_bad_resets_are_refused(many):
    env = many(2)
    with pytest.raises(ConfigurationError, match="one option, 'reset_mask'; got 'speed'"):
        env.reset(options={"speed": 1})
    for mask in (np.zeros(2, dtype=bool), np.ones(3, dtype=bool), np.ones(2)):
        with pytest.raises(ShapeError, match=r"reset_mask must be a boolean array \(2,\)"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(ShapeError, match="3 seeds are given for 2 environments"):
        env.reset(seed=[1, 2, 3])


class OnlyOne(Robot):
    """A machine."""

    info = SimulatedRobot(rig1()).info
    connect = read = stop = close = lambda self: None

    def send(self, command):
        return command


def test_bad_settings_are_refused(many):
    with pytest.raises(UnknownNameError, match=r"autoreset mode 'Sometimes'.*NextStep, SameStep, Disabled"):
        many(2, autoreset_mode="Sometimes")
    with pytest.raises(UnknownNameError, match=r"render mode 'human'.*Valid: rgb_array"):
        many(2, render_mode="human")
    with pytest.raises(OutOfBoundsError, match="number of robots"):
        many(0)
    with pytest.raises(OutOfBoundsError, match="threads"):
        many(2, threads=-1)
    with pytest.raises(UnknownNameError, match="option of a simulated robot 'noise'"):
        many(2, robot={"noise": 1.0})
    with pytest.raises(ConfigurationError, match=r"'rig1' is not simulated, .* use gymnasium.make"):
        many(2, robot=OnlyOne())


def test_the_python_back_end_is_refused_with_the_way_out(many):
    install("python")
    with pytest.raises(ConfigurationError, match='use backend="native"'):
        many(2)
    env = many(2, robot={"backend": "native"})
    assert env.reset(seed=0)[0].shape == (2, 12)


# Pictures -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_picture_of_a_robot_is_that_of_the_single_environment(many):
    env = many(2, render_mode="rgb_array", width=96, height=64)
    alone = gymnasium.make("pliant/CompliantArm2-v0", task=REACH, render_mode="rgb_array", width=96, height=64)
    env.reset(seed=0), alone.reset(seed=1)
    action = np.full((2, 4), 0.7)
    for _ in range(3):
        env.step(action), alone.step(action[1])
    try:
        image = alone.render()
    except Exception as error:
        pytest.skip(f"nothing draws here: {error}")
    first, second = env.render()
    assert second.shape == (64, 96, 3)
    np.testing.assert_array_equal(second, image)
    np.testing.assert_array_equal(env.envs[1].render(), image)
    assert (first != second).any()
    assert many(2).render() is None


def test_gymnasiums_loop_and_ours_share_no_state(together, identical):
    """The comparison above would be idle if both stepped the same robots."""
    ours, theirs = together("CompliantArm2", 2, task=REACH)
    assert isinstance(theirs, SyncVectorEnv)
    inner = theirs.envs[0]
    assert isinstance(inner, PliantEnv)
    assert inner.robot is not ours.robots._robot
