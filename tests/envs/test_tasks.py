import dataclasses
import math

import numpy as np
import pytest

from pliant.controllers.trajectories import MinimumJerk, Recorded, Sine, Step
from pliant.envs.tasks import TASKS, Episodes, Reach, Task, TaskOnRobot, Track, kernels
from pliant.envs.tasks.kernels import REWARD, STEP, SUCCESS, TALLY, TERMINATED, TRUNCATED
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
    task.judge(episodes)
    assert task.observe(episodes)
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
    before = {f.name: getattr(episodes, f.name).copy() for f in dataclasses.fields(Episodes)}
    episodes.action[1, 3] = bad
    assert not task.act(episodes)
    for name in ("command", "previous", "memory"):
        np.testing.assert_array_equal(getattr(episodes, name), before[name])


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
    desired, speed = (f(PERIOD) for f in (task.task.trajectory.position, task.task.trajectory.velocity))
    expected = {
        "shoulder/position": 1.0,
        "elbow/position": 2.0,
        "shoulder/velocity": 3.0,
        "elbow/velocity": 4.0,
        "shoulder/torque": 5.0,
        "elbow/torque": 6.0,
        "shoulder/equilibrium": 0.1,
        "elbow/equilibrium": 0.3,
        "shoulder/desired_position": desired[0],
        "elbow/desired_position": desired[1],
        "shoulder/desired_velocity": speed[0],
        "elbow/desired_velocity": speed[1],
    }
    assert seen == pytest.approx(expected, rel=1e-6)
    assert list(seen) == list(expected)


def test_observations_stay_within_their_bounds():
    task = Reach(position_limit=2.0, velocity_limit=3.0, torque_limit=4.0).on(INFO)
    episodes = begun(task, 2)
    episodes.signals[:] = [[9.0], [-9.0]]
    assert task.observe(episodes)
    np.testing.assert_array_equal(episodes.observation[:, :6], np.outer([1, -1], [2, 2, 3, 3, 4, 4]))
    assert (task.bounds[0] <= episodes.observation).all()
    assert (episodes.observation <= task.bounds[1]).all()


def test_a_reading_that_a_robot_lacks_stays_nan_and_is_told():
    task = Reach().on(INFO)
    episodes = begun(task, 2)
    episodes.signals[1, 4] = np.nan
    assert not task.observe(episodes)
    assert np.isnan(episodes.observation[1, 4])
    assert np.isfinite(np.delete(episodes.observation.reshape(-1), 12 + 4)).all()


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
        assert episodes.memory[0, STEP] == k


def test_tracking_succeeds_only_while_every_error_so_far_was_small():
    task = Track(trajectory=STILL, tolerance=0.08).on(INFO)
    episodes = begun(task)
    errors = (0.05, 0.079, 0.01, 0.081, 0.0)
    success = [act(task, episodes, 0.0, [0.3, 0.3 - e])[0, SUCCESS] for e in errors]
    assert success == [1, 1, 1, 0, 0]
    assert episodes.memory[0, TALLY] == pytest.approx(0.081)


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
    goal = episodes.added[0].copy()
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
        goal = episodes.added[0].copy()
        for k in range(1, 6):
            outcome = act(task, episodes, 0.0, goal if k >= when else goal + 1.0)
        assert tuple(outcome[0, [TERMINATED, TRUNCATED]]) == expected


def test_goals_are_drawn_from_their_box_and_differ():
    task = Reach(low=[-0.5, 0.1], high=[0.5, 0.2], start=[0.3, -0.3], spread=0.1).on(INFO)
    episodes = task.episodes(300)
    starts = np.array([task.begin(episodes, i, np.random.default_rng(i)) for i in range(300)])
    assert (episodes.added >= [-0.5, 0.1]).all()
    assert (episodes.added <= [0.5, 0.2]).all()
    assert (np.ptp(episodes.added, axis=0) > [0.9, 0.09]).all()
    assert (np.abs(starts - [0.3, -0.3]) <= 0.1).all()
    assert len(np.unique(episodes.added, axis=0)) == 300


# One and many -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [Track(commanded="equilibrium"), Reach(hold=0.04, tolerance=1.0)])
def test_a_batch_gives_to_the_last_bit_what_each_episode_gives_alone(config):
    task, n = config.on(INFO), 37
    batch, alone = begun(task, n), [begun(task, seed=i) for i in range(n)]
    random = np.random.default_rng(0)
    for _ in range(8):
        action, reading = random.normal(size=batch.action.shape), random.normal(size=batch.signals.shape)
        for episodes, part in [(batch, slice(None)), *((alone[i], slice(i, i + 1)) for i in range(n))]:
            episodes.action[:], episodes.signals[:] = action[part], reading[part]
            assert task.act(episodes)
            task.judge(episodes)
            assert task.observe(episodes)
    for field in dataclasses.fields(Episodes):
        together = getattr(batch, field.name)
        np.testing.assert_array_equal(together, np.vstack([getattr(e, field.name) for e in alone]), field.name)
    assert len(np.unique(batch.outcome, axis=0)) > 1


@pytest.mark.parametrize("config", [Track(), Reach()])
def test_the_functions_mean_in_python_what_they_mean_compiled(config, monkeypatch):
    compiled = config.on(INFO)
    for module in ("task", "track", "reach"):
        monkeypatch.setattr(f"pliant.envs.tasks.{module}.compiled", lambda function: function)
    plain = config.on(INFO)
    results = []
    for task in (compiled, plain):
        episodes, random = begun(task, 5), np.random.default_rng(1)
        for _ in range(5):
            act(task, episodes, random.normal(size=episodes.action.shape), random.normal(size=(5, 2)))
        results.append(episodes)
    for field in dataclasses.fields(Episodes):
        np.testing.assert_array_equal(*(getattr(e, field.name) for e in results))


class StandStill(Task):
    """A task of one's own: stay slow."""

    def on(self, info: RobotInfo) -> TaskOnRobot:
        return StandStillOnRobot(self, info, [Channel("time", "s", 0.0, 1.0)])


class StandStillOnRobot(TaskOnRobot):
    terms = ("slowness",)

    def start(self, added, random):
        added[:] = 0.0
        return np.zeros(2)

    def judge(self, episodes):
        episodes.memory[:, STEP] += 1
        episodes.added[:, 0] = episodes.memory[:, STEP] * PERIOD
        slowness = -np.square(episodes.signals[:, 2:4]).sum(axis=1)
        episodes.outcome[:, 0] = episodes.outcome[:, REWARD] = slowness
        episodes.outcome[:, TRUNCATED] = episodes.memory[:, STEP] >= 3


def test_a_task_of_ones_own_is_written_with_numpy():
    task = StandStill().on(INFO)
    episodes = begun(task, 2)
    episodes.signals[:, 2:4] = [[1.0, 2.0], [0.0, 0.0]]
    outcome = act(task, episodes, 0.0, 0.0)
    assert outcome[:, REWARD].tolist() == [-5.0, 0.0]
    assert episodes.observation[:, -1] == pytest.approx(PERIOD)


# Configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TASKS.values())
def test_tasks_are_frozen_and_comparable(kind):
    assert kind() == kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind().failure_penalty = 1.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Track(width=0.0), OutOfBoundsError, "Track width"),
        (lambda: Track(tolerance=math.nan), OutOfBoundsError, "Track tolerance"),
        (lambda: Track(smoothness=-1.0), OutOfBoundsError, "Track smoothness"),
        (lambda: Track(spread=4.0), OutOfBoundsError, "Track spread"),
        (lambda: Track(velocity_limit=0.0), OutOfBoundsError, "Track velocity_limit"),
        (lambda: Reach(failure_penalty=-1.0), OutOfBoundsError, "Reach failure_penalty"),
        (lambda: Reach(hold=0.0), OutOfBoundsError, "Reach hold"),
        (lambda: Reach(hold=4.0), ConfigurationError, "longer than its duration"),
        (lambda: Reach(bonus=math.inf), OutOfBoundsError, "Reach bonus"),
        (lambda: Reach(low=1.0).on(INFO), ConfigurationError, "low 1.0 must not exceed high 0.8"),
        (lambda: Reach(low=[0.0, 0.0, 0.0]).on(INFO), ShapeError, "Reach low"),
        (lambda: Reach(low=5.0, high=5.0).on(INFO), OutOfBoundsError, "Reach low: joint 'elbow'.* 5 rad"),
        (lambda: Reach(low=-45.0).on(INFO), OutOfBoundsError, "-45° would be -0.7854 rad"),
        (lambda: Reach(start=5.0).on(INFO), OutOfBoundsError, "Reach start.* 5 rad"),
        (lambda: Track(trajectory=MinimumJerk(0, 90, 1.0)).on(INFO), OutOfBoundsError, "90 rad at 1 s"),
        (
            lambda: Track(trajectory=Recorded([0, 1], [[0], [1]], ["hip"])).on(INFO),
            MismatchError,
            "'hip' is unknown",
        ),
        (lambda: Reach(start=math.nan).on(INFO), OutOfBoundsError, "Reach start"),
        (
            lambda: Track(trajectory=MinimumJerk([0] * 3, [1] * 3, 1.0)).on(INFO),
            ShapeError,
            "3 joints.*elbow",
        ),
        (lambda: Track(trajectory=MinimumJerk(0, 1, 0.01)).on(INFO), OutOfBoundsError, "longer than the traj"),
        (lambda: Reach(commanded="presets").on(INFO), UnknownNameError, "'presets'.*Did you mean 'preset'"),
        (lambda: Reach(commanded=()).on(INFO), ConfigurationError, "commands no column"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_column_without_a_range_cannot_be_commanded():
    fixed = dataclasses.replace(INFO, command=(*INFO.command[:3], Channel("elbow/preset", "rad", 0.2, 0.2, 0.2)))
    with pytest.raises(ConfigurationError, match=r"'elbow/preset'.*no range"):
        Reach().on(fixed)
    assert len(Reach(commanded="equilibrium").on(fixed).actions) == 2


def test_the_columns_of_the_outcome_do_not_overlap_the_terms():
    assert {REWARD, SUCCESS, TERMINATED, TRUNCATED} == {-1, -2, -3, -4}
    assert kernels.VERDICT == 4
