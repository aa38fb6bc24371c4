"""Tasks on a made-up robot: what they draw, reward, observe and end on, one episode at a time and many."""

import copy
import dataclasses
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from pliant.controllers.paths import Circle
from pliant.controllers.recorded import Recorded
from pliant.controllers.trajectories import MinimumJerk, Sine, Step
from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.tasks import TASKS, Episodes, PlanarKinematics, Reach, TaskOnRobot, Throw, Track, TrackPath
from pliant.envs.tasks.observations import Signals
from pliant.envs.tasks.reach_pose import planar_reach
from pliant.envs.tasks.row import REWARD, STEP, SUCCESS, TERMINATED, TRUNCATED, VERDICT
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo

PERIOD = 0.02

INFO = RobotInfo(
    name="arm",
    joints=("shoulder", "elbow"),
    motors=(),
    command=(
        Channel("shoulder/equilibrium", "rad", -1.0, 2.0),
        Channel("shoulder/preset", "rad", 0.0, 0.6, 0.2),
        Channel("elbow/equilibrium", "rad", -1.5, 1.5),
        Channel("elbow/preset", "rad", 0.0, 0.6, 0.2),
    ),
    period=PERIOD,
)

STILL = Step(0.3, 0.3, 0.0, 0.2)
"""Stay at 0.3 rad for ten periods."""


def begun(task: TaskOnRobot, n: int = 1, seed: int = 0) -> Episodes:
    episodes = task.episodes(n)
    for i in range(n):
        task.begin(episodes, i, np.random.default_rng(seed + i))
    return episodes


def act(task: TaskOnRobot, episodes: Episodes, action, position) -> np.ndarray:
    """One period of every episode that leads to `position`; returns what came of it."""
    episodes.action[:] = action
    assert task.act(episodes)
    episodes.signals[:, :2] = position
    assert task.judge(episodes)
    return episodes.outcome


# Actions ------------------------------------------------------------------------------------------------------


def test_an_action_is_spread_over_the_bounds_of_the_commands():
    task = Track(trajectory=STILL).on(INFO)
    episodes = begun(task, 4)
    episodes.action[:] = np.array([[-1.0], [0.0], [1.0], [7.0]]) * np.ones(4)
    assert task.act(episodes)
    np.testing.assert_allclose(episodes.command[0], INFO.low)
    np.testing.assert_allclose(episodes.command[1], (INFO.low + INFO.high) / 2)
    np.testing.assert_allclose(episodes.command[2], INFO.high)
    np.testing.assert_allclose(episodes.command[3], INFO.high)
    np.testing.assert_array_equal(episodes.action[3], 1.0)


@pytest.mark.parametrize(
    ("commanded", "columns"),
    [
        ("equilibrium", [0, 2]),
        (("elbow/preset", "elbow/equilibrium"), [2, 3]),
        (["preset", "elbow/preset"], [1, 3]),
    ],
)
def test_columns_that_the_task_does_not_command_rest(commanded, columns):
    task = Reach(commanded=commanded).on(INFO)
    assert [channel.name for channel in task.actions] == [INFO.command_names[i] for i in columns]
    episodes = begun(task)
    episodes.action[:] = 1.0
    task.act(episodes)
    expected = INFO.rest
    expected[columns] = INFO.high[columns]
    np.testing.assert_allclose(episodes.command[0], expected)


def test_the_first_change_of_the_action_is_from_rest():
    task = Track(trajectory=STILL, smoothness=1.0).on(INFO)
    episodes = begun(task)
    assert act(task, episodes, [-1 / 3, -1 / 3, 0.0, -1 / 3], 0.3)[0, 1] == pytest.approx(0.0, abs=1e-30)
    assert act(task, episodes, [-1 / 3, -1 / 3, 1.0, -1 / 3], 0.3)[0, 1] == pytest.approx(-0.25)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_changes_nothing(bad):
    task = Track(trajectory=STILL).on(INFO)
    episodes = begun(task, 2)
    episodes.action[1, 3] = bad
    before = episodes.block.copy()
    assert not task.act(episodes)
    np.testing.assert_array_equal(episodes.block, before)


# Observations -------------------------------------------------------------------------------------------------


def test_an_observation_is_what_its_channels_say():
    task = Track(trajectory=MinimumJerk([0.0, 0.1], [0.8, 0.9], 0.4), commanded="equilibrium").on(INFO)
    episodes = begun(task)
    episodes.command[0] = [0.1, 0.2, 0.3, 0.4]
    episodes.signals[0, :6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert task.observe(episodes)
    seen = dict(
        zip([channel.name for channel in task.observations], episodes.observation[0].tolist(), strict=True)
    )
    motion = task.task.goal.trajectory
    desired, speed = motion.position(PERIOD), motion.velocity(PERIOD)
    expected = {
        "shoulder/position": 1.0,
        "elbow/position": 2.0,
        "shoulder/velocity": 3.0,
        "elbow/velocity": 4.0,
        "shoulder/torque": 5.0,
        "elbow/torque": 6.0,
        "shoulder/equilibrium_command": 0.1,
        "elbow/equilibrium_command": 0.3,
        "shoulder/desired_position": desired[0],
        "elbow/desired_position": desired[1],
        "shoulder/desired_velocity": speed[0],
        "elbow/desired_velocity": speed[1],
    }
    assert seen == pytest.approx(expected, rel=1e-6)
    assert list(seen) == list(expected)


def ranged(**bounds: float) -> RobotInfo:
    """The robot with bounds on some quantities of its joints."""
    signals = [
        dataclasses.replace(c, low=-bounds[q], high=bounds[q]) if (q := c.name.split("/")[1]) in bounds else c
        for c in INFO.signals
    ]
    return dataclasses.replace(INFO, signals=tuple(signals))


def test_observations_have_the_bounds_of_the_robots_signals_and_stay_within_them():
    task = Reach().on(ranged(position=2.0, velocity=3.0, torque=4.0))
    episodes = begun(task, 2)
    episodes.signals[:] = [[9.0], [-9.0]]
    assert task.observe(episodes)
    np.testing.assert_array_equal(episodes.observation[:, :6], np.outer([1, -1], [2, 2, 3, 3, 4, 4]))
    assert (task.bounds[0] <= episodes.observation).all()
    assert (episodes.observation <= task.bounds[1]).all()
    goals = task.observations[-2:]
    assert [(c.name, c.low, c.high) for c in goals] == [("shoulder/goal", -2.0, 2.0), ("elbow/goal", -2.0, 2.0)]


def test_what_has_no_bounds_is_observed_as_it_is():
    task = Reach().on(INFO)
    episodes = begun(task)
    episodes.signals[0, :4] = [12.0, -7.0, 300.0, -40.0]
    assert task.observe(episodes)
    assert episodes.observation[0, :4].tolist() == [12.0, -7.0, 300.0, -40.0]
    assert np.isinf(task.bounds[:, 0]).all()


def test_an_observation_may_be_scaled_and_bounded():
    seen = {"speed": Signals(names="*/velocity", scale=0.1, bound=20.0), "joints": Signals(names="*/position")}
    task = Reach().but(observations=seen).on(INFO)
    episodes = begun(task)
    episodes.signals[0, 2:4] = [5.0, -90.0]
    assert task.observe(episodes)
    assert episodes.observation[0, :2].tolist() == [0.5, -2.0]
    assert (task.observations[0].unit, task.observations[0].low, task.observations[0].high) == (
        "10 rad/s",
        -2.0,
        2.0,
    )


def test_a_reading_that_a_robot_lacks_is_told_and_the_last_observation_stays():
    task = Reach().on(INFO)
    episodes = begun(task, 2)
    assert task.observe(episodes)
    before = episodes.observation.copy()
    episodes.signals[:, 0] = 0.5
    episodes.signals[1, 4] = np.nan
    assert not task.observe(episodes)
    assert task.trouble(episodes, 0) == ""
    assert task.trouble(episodes, 1) == "robot 'arm' gives no reading of shoulder/torque"
    assert episodes.observation[0, 0] == 0.5
    np.testing.assert_array_equal(episodes.observation[1], before[1])


# Track --------------------------------------------------------------------------------------------------------


def test_tracking_earns_one_when_perfect_and_half_at_the_width():
    task = Track(trajectory=STILL, width=0.1, smoothness=0.0).on(INFO)
    outcomes = [act(task, begun(task), 0.0, [0.3 + e, 0.3 + e])[0, REWARD] for e in (0.0, 0.1, -0.1, 1e6)]
    assert outcomes == pytest.approx([1.0, 0.5, 0.5, 0.0], abs=1e-9)


def test_tracking_compares_with_where_the_trajectory_is_by_then():
    motion = Sine(0.5, 3.0, 0.1, 0.2)
    task = Track(trajectory=motion, smoothness=0.0).on(INFO)
    episodes = begun(task)
    for k in range(1, 11):
        assert act(task, episodes, 0.0, motion.position(k * PERIOD))[0, 0] == pytest.approx(1.0)
        assert episodes.block[0, STEP] == k


def test_tracking_succeeds_only_while_every_error_so_far_was_small():
    task = Track(trajectory=STILL, tolerance=0.08).on(INFO)
    episodes = begun(task)
    errors = (0.05, 0.079, 0.01, 0.081, 0.0)
    success = [act(task, episodes, 0.0, [0.3, 0.3 - e])[0, SUCCESS] for e in errors]
    assert success == [1, 1, 1, 0, 0]


def test_tracking_is_truncated_with_the_trajectory_and_never_terminated():
    task = Track(trajectory=STILL).on(INFO)
    episodes = begun(task)
    ends = [act(task, episodes, 0.0, 5.0)[0, [TERMINATED, TRUNCATED]].tolist() for _ in range(10)]
    assert ends == [[0, 0]] * 9 + [[0, 1]]


def test_tracking_starts_near_the_trajectorys_beginning():
    task = Track(trajectory=STILL, spread=0.05).on(INFO)
    episodes = task.episodes(1)
    random = np.random.default_rng(0)
    starts = np.array([task.begin(episodes, 0, random) for _ in range(200)])
    assert np.abs(starts - 0.3).max() < 0.05
    assert np.ptp(starts) > 0.09


# Reach --------------------------------------------------------------------------------------------------------


def test_a_goal_is_reached_when_it_is_kept_long_enough():
    task = Reach(hold=3 * PERIOD, tolerance=0.05, bonus=10.0, smoothness=0.0).on(INFO)
    episodes = begun(task)
    goal = episodes.goal[0].copy()
    away = [0.0, 0.06, 0.0, 0.04, -0.04]
    outcomes = [act(task, episodes, 0.0, np.add(goal, [0.0, e]))[0].copy() for e in away]
    assert [o[SUCCESS] for o in outcomes] == [0, 0, 0, 0, 1]
    assert [o[TERMINATED] for o in outcomes] == [0, 0, 0, 0, 1]
    expected = [-abs(e) / math.sqrt(2) for e in away]
    expected[-1] += 10.0
    assert [o[REWARD] for o in outcomes] == pytest.approx(expected)


def test_success_in_the_last_period_terminates_and_does_not_truncate():
    task = Reach(hold=2 * PERIOD, duration=5 * PERIOD).on(INFO)
    for when, expected in ((4, (1, 0)), (5, (0, 1))):  # when the goal is first reached
        episodes = begun(task)
        goal = episodes.goal[0].copy()
        for k in range(1, 6):
            outcome = act(task, episodes, 0.0, goal if k >= when else goal + 1.0)
        assert tuple(outcome[0, [TERMINATED, TRUNCATED]]) == expected


def test_goals_are_drawn_from_their_box_and_differ():
    task = Reach(low=[-0.5, 0.1], high=[0.5, 0.2], start=[0.3, -0.3], spread=0.1).on(INFO)
    episodes = task.episodes(300)
    starts = np.array([task.begin(episodes, i, np.random.default_rng(i)) for i in range(300)])
    assert (episodes.goal >= [-0.5, 0.1]).all()
    assert (episodes.goal <= [0.5, 0.2]).all()
    assert (np.ptp(episodes.goal, axis=0) > [0.9, 0.09]).all()
    assert (np.abs(starts - [0.3, -0.3]) <= 0.1).all()
    assert len(np.unique(episodes.goal, axis=0)) == 300


# One and many -------------------------------------------------------------------------------------------------


CONFIGURATIONS = [
    Track(commanded="equilibrium"),
    Reach(hold=0.04, tolerance=1.0),
    Throw(),
    planar_reach(tolerance=1.5),
    TrackPath(tolerance=1.5),
]
PLANAR = PlanarKinematics()


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda task: task.name)
def test_a_batch_gives_to_the_last_bit_what_each_episode_gives_alone(config):
    task, n = config.on(INFO, PLANAR), 37
    batch, alone = begun(task, n), [begun(task, seed=i) for i in range(n)]
    random = np.random.default_rng(0)
    for _ in range(8):
        action, reading = random.normal(size=batch.action.shape), random.normal(size=batch.signals.shape)
        for episodes, part in [(batch, slice(None)), *((alone[i], slice(i, i + 1)) for i in range(n))]:
            episodes.action[:], episodes.signals[:] = action[part], reading[part]
            assert task.act(episodes)
            assert task.judge(episodes)
    np.testing.assert_array_equal(batch.block, np.vstack([e.block for e in alone]))
    np.testing.assert_array_equal(batch.observation, np.vstack([e.observation for e in alone]))
    assert len(np.unique(batch.outcome, axis=0)) > 1


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda task: task.name)
def test_the_functions_mean_in_python_what_they_mean_compiled(config):
    results = []
    for python in (False, True):
        task = config.on(INFO, PLANAR)
        if python:
            task._advance = task.advance.python
        episodes, random = begun(task, 5), np.random.default_rng(1)
        for _ in range(5):
            act(task, episodes, random.normal(size=episodes.action.shape), random.normal(size=(5, 2)))
        results.append(episodes)
    np.testing.assert_allclose(results[0].block, results[1].block, rtol=1e-14)  # hypot differs in its last bit
    np.testing.assert_allclose(results[0].observation, results[1].observation, rtol=1e-6)


def test_episodes_that_are_not_judged_stay_as_they_are():
    task = Reach().on(INFO)
    episodes = begun(task, 4)
    episodes.action[:] = 0.5
    assert task.act(episodes)
    before = episodes.block.copy()
    assert task.judge(episodes, np.array([1, 3]))
    np.testing.assert_array_equal(episodes.block[[0, 2]], before[[0, 2]])
    assert episodes.block[[1, 3], STEP].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copied_task_and_its_episodes_go_on_alike(again):
    task = Reach().on(INFO)
    episodes = begun(task)
    other, others = again(task), again(episodes)
    for one, its in ((task, episodes), (other, others)):
        act(one, its, 0.3, [0.1, -0.2])
    np.testing.assert_array_equal(episodes.block, others.block)
    others.signals[:] = 9.0
    assert others.block.max() == 9.0
    assert other.task == task.task


# What they were before they were made of terms -----------------------------------------------------------------

RECORDED = json.loads((Path(__file__).parent / "tasks_recorded.json").read_text())
"""Goals drawn and rewards given by version 0.1.0, whose tasks were a compiled function each; numbers in hex."""

SAME = {
    "reach": Reach(tolerance=0.4, hold=0.04),
    "track": Track(trajectory=Sine(0.3, 2.0, 0.1, 0.2)),
    "throw": Throw(smoothness=0.03),
    "reach_point": planar_reach(tolerance=0.7, hold=0.04),
    "track_path": TrackPath(path=Circle((1.0, 0.2), 0.4, 0.2, start=3.0), tolerance=1.0),
}


def numbers(texts: list[str]) -> list[float]:
    return [float.fromhex(text) for text in texts]


@pytest.mark.parametrize("name", SAME)
def test_the_numbers_are_those_of_0_1_0_to_the_last_bit(name):
    recorded, task = RECORDED[name], SAME[name].on(INFO, PlanarKinematics(TwoLinkArm()))
    episodes = task.episodes(1)
    start = task.begin(episodes, 0, np.random.default_rng(5))
    assert task.observe(episodes)
    assert start.tolist() == numbers(recorded["start"])
    if name in ("reach", "reach_point"):
        assert episodes.goal[0].tolist() == numbers(recorded["goal"])
    for row in recorded["rows"]:
        episodes.action[:] = numbers(row["action"])
        assert task.act(episodes)
        episodes.signals[0, :6] = numbers(row["signals"])
        assert task.judge(episodes)
        assert episodes.outcome[0].tolist() == numbers(row["outcome"])
    assert numbers(recorded["rows"][-1]["outcome"])[SUCCESS] == (name in ("reach", "reach_point", "track_path"))


# Configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TASKS.values())
def test_tasks_are_frozen_and_comparable(kind):
    assert kind() == kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind().failure_penalty = 1.0


def test_a_task_with_other_parts_is_another_task():
    rewards = {name: term for name, term in Reach().rewards.items() if name != "success"}
    other = Reach().but(rewards=rewards)
    assert other != Reach()
    assert other.but(rewards=Reach().rewards) == Reach()
    assert other.on(INFO).terms == ("distance", "smoothness")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Track(width=0.0), OutOfBoundsError, "reward 'tracking': width"),
        (lambda: Track(tolerance=math.nan), OutOfBoundsError, "end 'followed': tolerance"),
        (lambda: Track(smoothness=math.nan), OutOfBoundsError, "reward 'action_rate': weight"),
        (lambda: Track(spread=4.0), OutOfBoundsError, "start: spread"),
        (lambda: Reach(failure_penalty=-1.0), OutOfBoundsError, "task 'reach': failure_penalty"),
        (lambda: Reach(hold=0.0), OutOfBoundsError, "end 'reached': hold"),
        (lambda: Reach(hold=4.0), ConfigurationError, r"'reached' \(4 s\) is longer than its duration \(3 s\)"),
        (lambda: Reach(bonus=math.inf), OutOfBoundsError, "reward 'success': weight"),
        (
            lambda: Reach(low=1.0).on(INFO),
            ConfigurationError,
            r"low \[1.0, 1.0\] must not exceed high \[0.8, 0.8\]",
        ),
        (
            lambda: Reach(low=[0.0, 0.0, 0.0]).on(INFO),
            ShapeError,
            r"low \(of joints shoulder, elbow\) has shape \(3,\)",
        ),
        (lambda: Reach(start=math.nan).on(INFO), OutOfBoundsError, "start: angles"),
        (lambda: Track(trajectory=MinimumJerk([0] * 3, [1] * 3, 1.0)).on(INFO), ShapeError, "3 joints.*elbow"),
        (lambda: Reach(low=5.0, high=5.0).on(INFO), OutOfBoundsError, "low: joint 'elbow'.* 5 rad"),
        (lambda: Reach(low=-45.0).on(INFO), OutOfBoundsError, "-45° would be -0.7854 rad"),
        (lambda: Track(trajectory=MinimumJerk(0, 90, 1.0)).on(INFO), OutOfBoundsError, "90 rad at 1 s"),
        (
            lambda: Track(trajectory=Recorded([0, 1], [[0], [1]], ["hip"])).on(INFO),
            MismatchError,
            "'hip' is unknown",
        ),
        (lambda: Track(trajectory=MinimumJerk(0, 1, 0.01)).on(INFO), OutOfBoundsError, "longer than the traj"),
        (lambda: Reach(commanded="presets").on(INFO), UnknownNameError, "'presets'.*Did you mean 'preset'"),
        (lambda: Reach(commanded=()).on(INFO), ConfigurationError, "commands no column"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "task",
    [
        Reach(low=5.0, high=5.0),
        Reach(high=[0.8, 90.0]),
        Reach(start=3.0),
        Track(trajectory=MinimumJerk(0.0, 90.0, 4.0)),
    ],
)
def test_goals_and_starts_outside_a_joints_range_are_refused(task):
    with pytest.raises(OutOfBoundsError, match=r"(90|5|3) rad.* range (is|of) \[-(2|1.5), (2|1.5)\]"):
        task.on(ranged(position=2.0))


def test_a_column_without_a_range_cannot_be_commanded():
    fixed = dataclasses.replace(INFO, command=(*INFO.command[:3], Channel("elbow/preset", "rad", 0.2, 0.2, 0.2)))
    with pytest.raises(ConfigurationError, match=r"'elbow/preset'.*no range"):
        Reach().on(fixed)
    assert len(Reach(commanded="equilibrium").on(fixed).actions) == 2


def test_the_columns_of_the_outcome_do_not_overlap_the_terms():
    assert {REWARD, SUCCESS, TERMINATED, TRUNCATED} == {-1, -2, -3, -4}
    assert VERDICT == 4
