import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pliant.controllers.paths import Circle, Line
from pliant.controllers.two_link import TwoLinkArm
from pliant.envs import SimulatedRobot
from pliant.envs.fronts import two_link_arm_env
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import soft_joints, two_link
from pliant.envs.tasks import ReachPose, TrackPath
from pliant.envs.tasks.reach_pose import planar_reach
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

ID = "pliant/TwoLinkArm-v0"
ARM = TwoLinkArm()
QUICK = TrackPath(path=Line((1.0, 0.2), (1.1, 0.1), 0.2))
"""Ten periods of 20 ms."""


def feedback(observation, goal, gravity=True):
    """PD torques towards the angles `goal`, as an action."""
    q, dq = observation[:2].astype(np.float64), observation[2:4].astype(np.float64)
    torque = 120.0 * (goal - q) - np.array([24.0, 8.0]) * dq
    return np.clip((torque + (ARM.gravity_torque(q) if gravity else 0.0)) / 60.0, -1.0, 1.0)


@pytest.mark.parametrize("task", ["reach", "track"])
def test_it_is_a_gymnasium_environment(task):
    env = gymnasium.make(ID, task=task)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*observation space m.*infinity")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_torques_go_in_and_angles_speeds_and_the_end_effector_come_out():
    env = two_link_arm_env("reach")
    assert [channel.name for channel in env.actions] == ["shoulder/torque", "elbow/torque"]
    assert [(channel.low, channel.high, channel.unit) for channel in env.actions] == [(-60.0, 60.0, "N·m")] * 2
    names = [channel.name for channel in env.observations]
    assert names[:4] == ["shoulder/position", "elbow/position", "shoulder/velocity", "elbow/velocity"]
    assert names[6:8] == ["shoulder/torque_command", "elbow/torque_command"]
    assert names[8:] == ["tip/position_x", "tip/position_z", "goal/position_x", "goal/position_z"]
    observation, _ = env.reset(seed=3)
    random = np.random.default_rng(0)
    for _ in range(20):
        tip = ARM.forward_kinematics(observation[:2].astype(np.float64))
        np.testing.assert_allclose(observation[8:10], tip, atol=1e-6)
        observation, *_ = env.step(random.uniform(-0.5, 0.5, 2))
    env.close()


def test_the_arm_obeys_the_equations_of_motion():
    env = two_link_arm_env("reach", period=0.001)
    observation, _ = env.reset(seed=0)
    q, dq = observation[:2].astype(np.float64), observation[2:4].astype(np.float64)
    after, *_ = env.step([0.3, -0.1])
    expected = ARM.forward_dynamics(q, dq, [18.0, -6.0])
    np.testing.assert_allclose((after[2:4] - dq) / 0.001, expected, rtol=2e-3)
    env.close()


def test_pd_with_gravity_compensation_reaches_every_goal():
    env = two_link_arm_env("reach", period=0.01)
    for seed in range(8):
        observation, _ = env.reset(seed=seed)
        goal = ARM.inverse_kinematics(observation[10:12], near=observation[:2])
        terminated = truncated = False
        while not (terminated or truncated):
            observation, reward, terminated, truncated, info = env.step(feedback(observation, goal))
        assert terminated
        assert info["is_success"]
        assert info["reward_success"] == 10.0
        assert reward == pytest.approx(sum(value for name, value in info.items() if name.startswith("reward_")))
        assert np.linalg.norm(observation[8:10] - observation[10:12]) < 0.02
    env.close()


def test_the_documented_example_succeeds(capsys):
    page = (Path(__file__).parents[2] / "docs" / "experiments" / "two_link.md").read_text()
    exec(page.split("```python")[1].split("```")[0], {})
    assert capsys.readouterr().out == "True\n"


def test_without_compensation_the_upright_arm_misses_and_the_lying_one_does_not():
    for vertical in (True, False):
        env = two_link_arm_env(
            planar_reach(duration=3.0, nearest=1.2, tolerance=0.005), vertical=vertical, period=0.01
        )
        observation, _ = env.reset(seed=1)
        goal = ARM.inverse_kinematics(observation[10:12], near=observation[:2])
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(feedback(observation, goal, gravity=False))
        assert terminated is not vertical
        env.close()


def test_goals_are_spread_evenly_over_the_ring():
    env = two_link_arm_env(planar_reach(nearest=0.5, farthest=1.5))
    env.reset(seed=0)
    goals = np.array([env.reset()[0][10:12] for _ in range(600)])
    distance = np.linalg.norm(goals, axis=1)
    assert distance.min() > 0.5 - 1e-6
    assert distance.max() < 1.5 + 1e-6
    assert np.mean(distance < 1.0) == pytest.approx((1.0 - 0.25) / (2.25 - 0.25), abs=0.06)
    assert np.abs(goals.mean(axis=0)).max() < 0.12
    env.close()


def test_a_path_is_tracked_and_ends_the_episode():
    path = Circle((1.0, 0.2), 0.2, 2.0, start=np.pi)
    env = two_link_arm_env(TrackPath(path=path, spread=0.0), period=0.01)
    observation, _ = env.reset(seed=0)
    np.testing.assert_allclose(observation[10:12], path.position(0.01), atol=1e-6)
    np.testing.assert_allclose(observation[12:14], path.velocity(0.01), atol=1e-6)
    np.testing.assert_allclose(observation[8:10], path.position(0.0), atol=1e-6)
    steps, truncated = 0, False
    while not truncated:
        goal = ARM.inverse_kinematics(observation[10:12].astype(np.float64), near=observation[:2])
        observation, _, terminated, truncated, info = env.step(feedback(observation, goal))
        steps += 1
        assert not terminated
        error = np.linalg.norm(path.position(0.01 * steps) - observation[8:10])
        assert info["reward_tracking"] == pytest.approx(1.0 / (1.0 + (error / 0.05) ** 2), rel=1e-4)
    assert steps == 200
    env.close()


def test_leaving_the_path_once_is_no_success():
    env = two_link_arm_env(QUICK)
    env.reset(seed=0)
    truncated = False
    while not truncated:
        *_, truncated, info = env.step([1.0, 1.0])
    assert not info["is_success"]
    env.close()


def test_links_may_have_other_lengths_and_masses():
    arm = TwoLinkArm(l1=0.6, l2=0.4, m1=2.0, m2=0.5)
    env = two_link_arm_env(planar_reach(nearest=0.4, farthest=0.9), arm=arm)
    observation, _ = env.reset(seed=0)
    np.testing.assert_allclose(observation[8:10], arm.forward_kinematics(observation[:2].astype(float)), atol=1e-6)
    assert env.observation_space.high[8] == 1.0
    np.testing.assert_allclose(env.robot.model.body_mass[-2:], [2.0, 0.5])
    env.close()


@pytest.mark.parametrize("task", ["reach", "track", ReachPose(axes="xz")], ids=["reach", "track", "from home"])
def test_many_arms_do_to_the_last_bit_what_each_does_alone(task):
    many = gymnasium.make_vec(ID, 3, vectorization_mode="vector_entry_point", task=task)
    alone = [two_link_arm_env(task) for _ in range(3)]
    observations, _ = many.reset(seed=7)
    np.testing.assert_array_equal(observations, [env.reset(seed=7 + i)[0] for i, env in enumerate(alone)])
    random = np.random.default_rng(0)
    for _ in range(30):
        actions = random.uniform(-1.0, 1.0, (3, 2)).astype(np.float32)
        observations, rewards, *_ = many.step(actions)
        results = [env.step(action) for env, action in zip(alone, actions, strict=True)]
        np.testing.assert_array_equal(observations, [result[0] for result in results])
        np.testing.assert_array_equal(rewards, [result[1] for result in results])
    many.close()
    for env in alone:
        env.close()


def test_any_arm_of_two_links_may_take_its_place():
    soft = SimulatedRobot(two_link(soft_joints(200.0), damping=10.0), 0.02)
    env = two_link_arm_env("reach", robot=soft)
    assert [channel.name for channel in env.actions] == ["shoulder/equilibrium", "elbow/equilibrium"]
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    env.close()
    late = two_link_arm_env("reach", robot={"command_delay": 0.02})
    late.reset(seed=0)
    late.close()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: two_link_arm_env("reech"), UnknownNameError, r"unknown task 'reech'.*Did you mean 'reach'"),
        (lambda: two_link_arm_env(arm={"l1": 0.6}), ConfigurationError, "a TwoLinkArm is needed"),
        (lambda: two_link_arm_env(["reach"]), UnknownNameError, "reach"),
        (lambda: two_link_arm_env(torque_limit=-1.0), OutOfBoundsError, "torque_limit"),
        (lambda: two_link_arm_env(robot={"noise": 1.0}), UnknownNameError, "option of a simulated robot"),
        (lambda: two_link_arm_env(robot=SimulatedRobot(rig1(), 0.02)), ConfigurationError, "an arm of two links"),
        (
            lambda: two_link_arm_env(robot=SimulatedRobot(two_link(), 0.02), vertical=False),
            ConfigurationError,
            "vertical cannot be given",
        ),
        (
            lambda: two_link_arm_env(planar_reach(farthest=2.5)),
            OutOfBoundsError,
            r"farthest: 2\.5 m .*\[-2, 2\] m",
        ),
        (lambda: planar_reach(nearest=1.0, farthest=0.8), OutOfBoundsError, "farthest"),
        (lambda: planar_reach(hold=9.0), ConfigurationError, "no episode could succeed"),
        (lambda: two_link_arm_env(planar_reach(start=(0.0, 0.0, 0.0))), ShapeError, "start: angles"),
        (lambda: planar_reach(tolerance=np.nan), OutOfBoundsError, "tolerance"),
        (lambda: two_link_arm_env(elbow="nearest"), UnknownNameError, "unknown elbow"),
        (lambda: TrackPath(width=0.0), OutOfBoundsError, "width"),
        (lambda: two_link_arm_env(ReachPose(site="hand")), UnknownNameError, "hand/position_x"),
        (
            lambda: two_link_arm_env(TrackPath(path=Circle((1.9, 0.0), 0.3, 1.0))),
            OutOfBoundsError,
            r"whose range is \[-2, 2\] m",
        ),
        (
            lambda: two_link_arm_env(TrackPath(path=Line((1.0, 0.0, 0.0), (1.0, 0.1, 0.0), 1.0))),
            ShapeError,
            "3 coordinates",
        ),
    ],
)
def test_wrong_arguments_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_path_inside_the_box_but_beyond_the_reach_is_refused_too():
    with pytest.raises(OutOfBoundsError, match="the path leaves the robot's reach"):
        two_link_arm_env(TrackPath(path=Circle((1.5, 1.5), 0.1, 1.0)))


def test_goals_are_drawn_from_what_the_arm_reaches_where_no_box_is_given():
    env = two_link_arm_env(ReachPose(axes="xz", start=0.0))
    env.reset(seed=0)
    goals = np.array([env.reset()[0][10:12] for _ in range(200)])
    assert 1.0 < np.linalg.norm(goals, axis=1).max() < 2.0
    env.close()


def test_torques_up_to_the_arms_limit_are_observed():
    env = two_link_arm_env(torque_limit=100.0)
    env.reset(seed=0)
    observation = env.step([1.0, -1.0])[0]
    assert observation[4:8].tolist() == [100.0, -100.0, 100.0, -100.0]
    env.close()
