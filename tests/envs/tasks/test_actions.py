"""Action terms: a command, a correction of a controller's, the parameters of a controller."""

import math

import numpy as np
import pytest

from pliant.controllers import Controller, MinimumJerk, Setpoints
from pliant.envs import PliantEnv, SimulatedRobot
from pliant.envs.models.rig1 import rig1
from pliant.envs.tasks import Reach
from pliant.envs.tasks.actions import AboutRest, Limited, Parameters, Rate, Residual, Spread
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, ShapeError, UnknownNameError


class Swing(Controller):
    """A gait: a sine of every column about its own middle, from the state at its reset."""

    def __init__(self, columns: int = 3, amplitude: float = 0.1, frequency: float = 2.0) -> None:
        self.columns, self.amplitude, self.frequency = columns, amplitude, frequency
        self.begun_at = np.nan

    def reset(self, state):
        self.begun_at = float(state.position[0])

    def update(self, state, t):
        assert state.signals.ndim == 1
        return self.begun_at + self.amplitude * np.sin(self.frequency * t) * np.ones(self.columns)


REACH = Reach(duration=0.4)


def test_the_action_corrects_a_controllers_command(info, begin, lead):
    task, episodes = begin(REACH.but(action=Residual(Swing(), scale=0.1, commanded="equilibrium")))
    assert [(c.name, c.low, c.high) for c in task.actions] == [
        ("hip/equilibrium_residual", -0.1, 0.1),
        ("knee/equilibrium_residual", -0.2, 0.2),
    ]
    for k in range(3):
        episodes.action[:] = [1.0, -0.5]
        assert task.act(episodes)
        swing = 0.1 * np.sin(2.0 * 0.02 * k)
        expected = np.clip([swing + 0.1, swing, swing - 0.1], info.low, info.high)
        np.testing.assert_allclose(episodes.command[0], expected)
        assert task.judge(episodes)


def test_the_command_is_moved_about_the_resting_one_with_a_delay(info, begin):
    action = AboutRest({"hip/equilibrium": 0.1, "*/preset": 0.4}, smoothing=0.05)
    task, episodes = begin(REACH.but(action=action))
    assert [(c.name, c.low, c.high, c.rest) for c in task.actions] == [
        ("hip/equilibrium_offset", -0.1, 0.1, 0.0),
        ("hip/preset_offset", -0.4, 0.4, 0.0),
    ]
    for k in range(40):
        episodes.action[:] = [-1.0, 1.0]
        assert task.act(episodes)
        share = 1.0 - math.exp(-(k + 1) * info.period / 0.05)
        offset = share * np.array([-0.1, 0.4, 0.0])
        expected = np.clip(info.rest + offset, info.low, info.high)
        np.testing.assert_allclose(episodes.command[0], expected, atol=1e-12)
        assert task.judge(episodes)
    task.begin(episodes, 0, np.random.default_rng(0))
    episodes.action[:] = 0.0
    assert task.act(episodes)
    np.testing.assert_array_equal(episodes.command[0], info.rest)


def test_an_offset_without_smoothing_is_there_at_once_and_stays_within_the_columns_bounds(info, begin):
    task, episodes = begin(REACH.but(action=AboutRest(reach=3.0)))
    episodes.action[:] = [-1.0, 1.0, 1.0]
    assert task.act(episodes)
    np.testing.assert_array_equal(episodes.command[0], [info.low[0], info.high[1], info.high[2]])


def test_the_action_moves_a_controllers_parameters(begin):
    action = Parameters(Swing(), {"amplitude": (0.0, 0.4), "frequency": (1.0, 3.0)})
    task, episodes = begin(REACH.but(action=action))
    assert [(c.name, c.low, c.high, c.rest) for c in task.actions] == [
        ("controller/amplitude", 0.0, 0.4, 0.1),
        ("controller/frequency", 1.0, 3.0, 2.0),
    ]
    episodes.action[:] = [1.0, -1.0]
    assert task.act(episodes)
    controller = episodes.controlled._controllers[0]
    assert (controller.amplitude, controller.frequency) == (0.4, 1.0)
    assert action.controller.amplitude == 0.1


def test_each_episode_has_a_controller_of_its_own_that_begins_with_it():
    task = Reach(duration=0.1, hold=0.1).but(action=Residual(Swing(2), scale=0.2))
    single = [PliantEnv(SimulatedRobot(rig1(), 0.02), task) for _ in range(3)]
    many = PliantVectorEnv(SimulatedRobot(rig1(), 0.02), task, 3)
    random = np.random.default_rng(0)
    observations = [env.reset(seed=i)[0] for i, env in enumerate(single)]
    np.testing.assert_array_equal(many.reset(seed=0)[0], observations)
    for _ in range(5):
        actions = random.uniform(-1, 1, (3, 2))
        results = [env.step(action) for env, action in zip(single, actions, strict=True)]
        seen, rewards, *_ = many.step(actions)
        np.testing.assert_array_equal(seen, [result[0] for result in results])
        np.testing.assert_array_equal(rewards, [result[1] for result in results])
    begun = [c.begun_at for c in many._episodes.controlled._controllers]
    assert len(set(begun)) == 3


def test_a_robot_that_failed_is_not_shown_to_its_controller():
    task = Reach(duration=0.2).but(action=Residual(Swing(2), scale=0.2))
    many = PliantVectorEnv(SimulatedRobot(rig1(), 0.02), task, 2)
    many.reset(seed=0)
    many.envs[1].apply_torque("joint", 1e12)
    _, _, terminated, _, infos = many.step(np.zeros((2, 2)))
    assert terminated.tolist() == [False, True]
    assert "diverged" in infos["failure"][1]
    for _ in range(3):
        assert not many.step(np.zeros((2, 2)))[2].any()


def test_a_command_of_the_wrong_size_is_named(begin):
    task, episodes = begin(REACH.but(action=Residual(Swing(2))))
    with pytest.raises(ShapeError, match=r"the command of Swing has shape \(2,\)"):
        task.act(episodes)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Residual("pd"), ConfigurationError, r"controller is 'pd'.*update\(state, t\)"),
        (lambda: Residual(Swing(), scale=0.0), OutOfBoundsError, "scale"),
        (lambda: Residual(Swing(), scale=3.0), OutOfBoundsError, "scale"),
        (lambda: AboutRest(reach=-0.1), OutOfBoundsError, "reach"),
        (lambda: AboutRest(reach={"a": math.nan}), OutOfBoundsError, "reach of a is nan"),
        (lambda: AboutRest(smoothing=-1.0), OutOfBoundsError, "smoothing"),
        (lambda: Parameters(Swing()), ConfigurationError, "names no parameter"),
        (lambda: Parameters(Swing(), {"amplitud": (0, 1)}), UnknownNameError, "Did you mean 'amplitude'"),
        (lambda: Parameters(Swing(), {"amplitude": (1, 0)}), ConfigurationError, "amplitude: low 1 must be below"),
        (lambda: Parameters(Swing(), {"amplitude": (0.2, 1)}), OutOfBoundsError, "amplitude = 0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_controller_of_another_robot_is_refused_before_anything_is_begun(info):
    other = Setpoints(MinimumJerk(0.0, 0.3, 1.0), SimulatedRobot(rig1()).info)
    with pytest.raises(MismatchError, match="the setpoints does not fit the robot 'everything'"):
        REACH.but(action=Residual(other)).on(info)


def test_offsets_of_columns_that_are_not_there_or_of_none_are_refused(info):
    with pytest.raises(UnknownNameError, match="command column 'hip/presett'"):
        AboutRest({"hip/presett": 0.1}).on(info)
    with pytest.raises(ConfigurationError, match="nothing moves"):
        AboutRest(0.0).on(info)
    with pytest.raises(OutOfBoundsError, match="reach of hip/equilibrium = 20 rad"):
        AboutRest({"hip/equilibrium": 20.0}).on(info)


def test_what_is_said_of_a_column_last_holds(info):
    assert [c.name for c in AboutRest({"*/*": 0.2, "hip/preset": 0.0}).on(info).channels] == [
        "hip/equilibrium_offset",
        "knee/equilibrium_offset",
    ]


def test_columns_are_chosen_by_glob_too(info):
    assert [c.name for c in Spread("hip/*").on(info).channels] == ["hip/equilibrium", "hip/preset"]
    assert Spread(["preset"]) == Spread("preset")


def test_a_limited_command_keeps_speed_and_acceleration_on_its_way(info, begin):
    limits = Limited(speed=1.0, acceleration=10.0, commanded="equilibrium")
    task, episodes = begin(REACH.but(action=limits))
    spread, _ = begin(REACH.but(action=Spread("equilibrium")))
    assert task.actions == spread.actions
    start = episodes.command[0].copy()
    commands = [start]
    for _ in range(200):
        episodes.action[:] = [1.0, -1.0]
        assert task.act(episodes)
        commands.append(episodes.command[0].copy())
        task.judge(episodes)
    columns = [info.command_names.index(f"{joint}/equilibrium") for joint in ("hip", "knee")]
    speeds = np.diff(np.array(commands)[:, columns], axis=0) / info.period
    assert np.abs(speeds).max() == pytest.approx(1.0)
    assert np.abs(np.diff(speeds, axis=0)).max() <= 10.0 * info.period + 1e-9
    assert np.abs(speeds[0]).max() <= 10.0 * info.period + 1e-9
    ends = np.array([info.high[columns[0]], info.low[columns[1]]])
    np.testing.assert_allclose(commands[-1][columns], ends, atol=1e-9)
    others = np.setdiff1d(np.arange(len(start)), columns)
    np.testing.assert_array_equal(commands[-1][others], info.rest[others])


def test_a_command_that_keeps_the_limits_is_not_changed(info, begin):
    task, episodes = begin(REACH.but(action=Limited(speed=100.0, acceleration=1e5, commanded="equilibrium")))
    spread, free = begin(REACH.but(action=Spread("equilibrium")))
    random = np.random.default_rng(0)
    for _ in range(20):
        action = 0.01 * random.uniform(-1.0, 1.0, 2)
        episodes.action[:] = free.action[:] = action
        assert task.act(episodes)
        assert spread.act(free)
        task.judge(episodes)
        np.testing.assert_allclose(episodes.command, free.command, atol=1e-12)


def test_a_rate_moves_the_command_from_where_it_is(info, begin):
    task, episodes = begin(REACH.but(action=Rate(speed=0.5, acceleration=5.0, commanded="equilibrium")))
    assert [(c.unit, c.low, c.high) for c in task.actions] == [("rad/s", -0.5, 0.5)] * 2
    columns = [info.command_names.index(f"{joint}/equilibrium") for joint in ("hip", "knee")]
    begun, commands = episodes.command[0, columns].copy(), []
    for action in [[1.0, -0.5]] * 15 + [[0.0, 0.0]] * 15:
        episodes.action[:] = action
        assert task.act(episodes)
        commands.append(episodes.command[0, columns].copy())
        task.judge(episodes)
    speeds = np.diff([begun, *commands], axis=0) / info.period
    rise = 5.0 * info.period
    for speed, share in zip(speeds.T, (1.0, -0.5), strict=True):
        up = np.minimum(rise * np.arange(1, 16), 0.5 * abs(share))
        down = np.maximum(up[-1] - rise * np.arange(1, 16), 0.0)
        np.testing.assert_allclose(speed, np.sign(share) * np.concatenate([up, down]), atol=1e-9)


def test_a_rate_stops_before_the_end_of_the_range(info, begin):
    task, episodes = begin(REACH.but(action=Rate(speed=2.0, acceleration=5.0, commanded="equilibrium")))
    columns = [info.command_names.index(f"{joint}/equilibrium") for joint in ("hip", "knee")]
    commands = []
    for _ in range(400):
        episodes.action[:] = 1.0
        assert task.act(episodes)
        commands.append(episodes.command[0, columns].copy())
        task.judge(episodes)
    np.testing.assert_allclose(commands[-1], info.high[columns], atol=1e-9)
    speeds = np.diff(commands, axis=0) / info.period
    assert np.abs(np.diff(speeds, axis=0)).max() <= 5.0 * info.period + 1e-9


@pytest.mark.parametrize("options", [{"speed": 0.0}, {"acceleration": np.nan}, {"speed": -1.0}])
def test_limits_that_are_none_are_refused(options):
    with pytest.raises(OutOfBoundsError, match="limit"):
        Limited(**options)
    with pytest.raises(OutOfBoundsError, match="limit"):
        Rate(**options)
