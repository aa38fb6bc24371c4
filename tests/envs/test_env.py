import copy
import math
import warnings

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pliant.controllers.trajectories import MinimumJerk
from pliant.envs import PliantEnv, Reach, SimulatedRobot, Track
from pliant.envs.fronts import compliant_arm2_env, compliant_joint_env
from pliant.envs.models.rig1 import rig1
from pliant.errors import (
    ConfigurationError,
    OutOfBoundsError,
    PliantError,
    RobotError,
    ShapeError,
    UnknownNameError,
)
from pliant.hardware.robot import Channel, Robot, RobotInfo, State, check_command
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.hardware.timing import StepClock
from pliant.hardware.wrapper import RobotWrapper

IDS = ("pliant/CompliantJoint-v0", "pliant/CompliantArm2-v0")
FRONTS = dict(zip(IDS, (compliant_joint_env, compliant_arm2_env), strict=True))
TASKS = ("track", "reach")

QUICK = Track(trajectory=MinimumJerk(0.0, 0.3, 0.2))
"""Ten periods of 20 ms."""


class MockRobot(Robot):
    """One joint that is wherever the command says, and a record of what was done to it."""

    def __init__(self, *, measures_torque: bool = True, fails_at: int | None = None, blind_at: int | None = None):
        column = Channel("joint/position", "rad", -1.0, 1.0, 0.5)
        self._info = RobotInfo("mock", ("joint",), (), (column,), 0.02)
        self.torque = 0.0 if measures_torque else math.nan
        self.fails_at, self.blind_at = fails_at, blind_at
        self.calls: list[str] = []
        self.sent: list[np.ndarray] = []
        self.connected = False

    @property
    def info(self):
        return self._info

    def connect(self):
        self.calls.append("connect")
        self.connected = True

    def read(self):
        if not self.connected:
            raise RobotError("mock is not connected")
        command = self.sent[-1] if self.sent else self._info.rest
        position = np.array([math.nan]) if len(self.sent) == self.blind_at else command
        none = np.empty(0)
        torque = np.array([self.torque])
        return State(0.0, position, np.zeros(1), torque, torque, none, none, none, none, command)

    def send(self, command):
        sent = np.clip(check_command(command, self._info), self._info.low, self._info.high)
        self.sent.append(sent)
        if len(self.sent) == self.fails_at:
            self.connected = False
            raise RobotError("the cable of mock is out")
        return sent

    def stop(self):
        self.calls.append("stop")

    def close(self):
        self.calls.append("close")
        self.connected = False


class Veiled(Robot):
    """A simulated robot without the shortcut of writing its state into arrays."""

    def __init__(self, robot: SimulatedRobot) -> None:
        self._robot = robot
        self.reset, self.set_state = robot.reset, robot.set_state

    @property
    def info(self):
        return self._robot.info

    def connect(self):
        self._robot.connect()

    def read(self):
        return self._robot.read()

    def send(self, command):
        return self._robot.send(command)

    def stop(self):
        self._robot.stop()

    def close(self):
        self._robot.close()


def episode(env, seed: int | None, steps: int = 60) -> list[tuple]:
    """What an episode of random but reproducible actions gives, period by period."""
    random = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    result = [(observation, 0.0, False, False, info)]
    while len(result) <= steps and not (result[-1][2] or result[-1][3]):
        result.append(env.step(random.uniform(-0.3, 0.3, env.action_space.shape).astype(np.float32)))
    return result


def assert_same(one: list[tuple], other: list[tuple]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1:] == b[1:]


# Gymnasium's contract -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", IDS)
def test_the_checker_of_gymnasium_finds_nothing(name, task):
    env = gymnasium.make(name, task=task)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*observation space m.*infinity")  # a signal without bounds
        check_env(env.unwrapped, skip_render_check=True)  # the viewer needs a display
        env.reset(seed=1)
        env.step(env.action_space.sample())
    env.close()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", IDS)
def test_the_checker_of_stable_baselines3_finds_nothing(name, task):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gymnasium.make(name, task=task).unwrapped)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("robot", [None, {"position_noise": 0.01, "command_delay": 0.01, "sensor_delay": 0.02}])
def test_the_same_seed_gives_the_same_episodes(task, robot):
    runs = []
    for _ in range(2):
        env = gymnasium.make("pliant/CompliantArm2-v0", task=task, robot=robot)
        runs.append([episode(env, 3), episode(env, None), episode(env, 4)])
        env.close()
    for one, other in zip(*runs, strict=True):
        assert_same(one, other)
    starts = [run[0][0] for run in runs[0]]
    assert not any(np.array_equal(starts[i], starts[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert_same(runs[0][0], episode(env, 3))


def test_environments_without_a_seed_start_differently():
    starts = {gymnasium.make("pliant/CompliantJoint-v0", task="reach").reset()[0].tobytes() for _ in range(4)}
    assert len(starts) == 4


def test_parallel_environments_start_differently_and_reproducibly():
    runs = []
    for _ in range(2):
        envs = gymnasium.make_vec("pliant/CompliantJoint-v0", num_envs=4, vectorization_mode="sync", task="reach")
        runs.append(envs.reset(seed=7)[0])
        envs.close()
    np.testing.assert_array_equal(*runs)
    assert len(np.unique(runs[0], axis=0)) == 4


def test_the_reward_is_the_sum_of_its_terms():
    for task, terms in (
        ("track", ("reward_tracking", "reward_smoothness")),
        ("reach", ("reward_distance", "reward_smoothness", "reward_success")),
    ):
        env = gymnasium.make("pliant/CompliantArm2-v0", task=task)
        for _, reward, _, _, info in episode(env, 0, 10)[1:]:
            assert tuple(info) == (*terms, "is_success")
            assert reward == pytest.approx(sum(info[term] for term in terms))
            assert type(reward) is float


def test_a_task_without_a_success_end_says_nothing_of_success():
    """Alone and together; one that fails neither."""
    task = Reach().but(ends={"time": Reach(duration=0.3).ends["time"]})
    env = gymnasium.make("pliant/Robot-v0", robot="rig1", task=task)
    infos = [info for *_, info in episode(env, 0, 10)[1:]]
    envs = gymnasium.make_vec("pliant/Robot-v0", 2, robot="rig1", task=task)
    envs.reset(seed=0)
    infos.append(envs.step(envs.action_space.sample())[4])
    envs.close()
    assert len(infos) > 3
    for info in infos:
        assert "reward_distance" in info
        assert "is_success" not in info


# Ends of episodes ---------------------------------------------------------------------------------------------


def test_an_episode_is_truncated_when_its_own_time_is_up():
    end = episode(gymnasium.make("pliant/CompliantJoint-v0", task=QUICK), 0)
    assert [step[2:4] for step in end[1:]] == [(False, False)] * 9 + [(False, True)]


def test_a_shorter_time_limit_of_gymnasium_truncates_too():
    env = gymnasium.make("pliant/CompliantJoint-v0", task=QUICK, max_episode_steps=4)
    assert [step[2:4] for step in episode(env, 0)[1:]] == [(False, False)] * 3 + [(False, True)]


def reached_at_once(duration: float) -> Reach:
    return Reach(low=-0.01, high=0.01, tolerance=3.0, hold=0.1, duration=duration)


def test_success_terminates_an_episode_even_as_its_time_is_up():
    for duration in (3.0, 0.1):
        end = episode(gymnasium.make("pliant/CompliantJoint-v0", task=reached_at_once(duration)), 0)
        assert len(end) - 1 == 5
        assert end[-1][2:4] == (True, False)
        assert end[-1][4]["is_success"] is True
        assert end[-1][4]["reward_success"] == 10.0


def test_a_diverged_episode_ends_with_a_reason_and_the_next_one_is_sound():
    env = gymnasium.make("pliant/CompliantArm2-v0").unwrapped
    env.reset(seed=0)
    good, *_ = env.step(np.zeros(4))
    env.robot.apply_torque("elbow", 1e12)
    observation, reward, terminated, truncated, info = env.step(np.zeros(4))
    assert (terminated, truncated, reward) == (True, False, -100.0)
    assert "diverged" in info["failure"]
    assert info["reward_failure"] == -100.0
    assert info["is_success"] is False
    np.testing.assert_array_equal(observation, good)
    assert observation is not good
    with pytest.raises(RobotError, match="reset"):
        env.step(np.zeros(4))
    assert_same(episode(env, 5), episode(gymnasium.make("pliant/CompliantArm2-v0").unwrapped, 5))


def test_no_step_is_taken_outside_an_episode():
    env = PliantEnv(MockRobot(), QUICK)
    with pytest.raises(RobotError, match="call reset"):
        env.step([0.0])
    env.reset()
    for _ in range(10):
        env.step([0.0])
    with pytest.raises(RobotError, match="call reset"):
        env.step([0.0])
    env.reset()
    env.close()
    with pytest.raises(RobotError, match="call reset"):
        env.step([0.0])


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "error"),
    [([math.nan], OutOfBoundsError), ([math.inf], OutOfBoundsError), ([0.0, 0.0], ShapeError), (0.0, ShapeError)],
)
def test_a_bad_action_is_refused_and_nothing_is_sent(action, error):
    robot = MockRobot()
    env = PliantEnv(robot, QUICK)
    env.reset()
    sent = len(robot.sent)
    with pytest.raises(error, match="action"):
        env.step(action)
    with pytest.raises(error, match="action"):
        env.step(np.array(action, dtype=np.float32))
    assert len(robot.sent) == sent
    assert env.step([0.5])[2:4] == (False, False)


def test_an_action_beyond_its_bounds_is_limited():
    robot = MockRobot()
    env = PliantEnv(robot, QUICK)
    env.reset()
    env.step([5.0])
    np.testing.assert_array_equal(robot.sent[-1], [1.0])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task": "trakc"}, UnknownNameError, r"task 'trakc'.*Did you mean 'track'"),
        ({"law": "qbmoves"}, UnknownNameError, "law 'qbmoves'"),
        ({"mode": 9}, UnknownNameError, "operation mode 9"),
        ({"parameters": {"k9": 1.0}}, UnknownNameError, "'k9'"),
        ({"parameters": {"k1": math.nan}}, OutOfBoundsError, "k1"),
        ({"parameters": "identified_joint9"}, UnknownNameError, "parameter set 'identified_joint9'"),
        ({"period": 0.0123}, ConfigurationError, "whole multiple"),
        ({"robot": {"noise": 0.1}}, UnknownNameError, r"option of a simulated robot 'noise'.*position_noise"),
        ({"robot": MockRobot(), "law": "sea"}, ConfigurationError, "'mock' brings its own joints.*law"),
        ({"robot": MockRobot(), "render_mode": "human"}, ConfigurationError, "'mock' is not simulated"),
        ({"width": 0, "render_mode": "rgb_array"}, OutOfBoundsError, "no pixels"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        gymnasium.make("pliant/CompliantJoint-v0", **options)


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(UnknownNameError, match="render mode 'ascii'"):
        PliantEnv(SimulatedRobot(rig1()), QUICK, "ascii")


def test_reset_takes_no_options():
    env = PliantEnv(MockRobot(), QUICK)
    env.reset(options={})
    with pytest.raises(ConfigurationError, match="'goal'"):
        env.reset(options={"goal": 1.0})


def test_what_is_returned_is_the_callers_own():
    """Also where a step fails: its observation is the last good one, whatever was done with it."""
    env = PliantEnv(MockRobot(fails_at=8), QUICK, settle=0.1)
    observation, _ = env.reset()
    observation[:] = 0.5
    second, *_ = env.step([0.1])
    assert (second != 0.5).all()
    second[:] = 7.0
    env.step([0.2])[0][:] = 9.0
    failed, _, terminated, _, info = env.step([0.1])
    assert terminated
    assert "cable" in info["failure"]
    assert (failed < 2.5).all()
    failed[:] = 3.0
    assert (env.reset()[0] != 3.0).all()


# Any robot ----------------------------------------------------------------------------------------------------


def test_another_robot_is_connected_and_rests_before_an_episode():
    robot = MockRobot()
    env = PliantEnv(robot, QUICK, settle=0.1)
    assert robot.calls == []
    env.reset(seed=0)
    assert robot.calls == ["connect"]
    np.testing.assert_array_equal(robot.sent, np.full((5, 1), 0.5))
    env.step([-0.5])
    env.reset()
    assert robot.calls == ["connect"]
    np.testing.assert_array_equal(np.ravel(robot.sent[5:]), [-0.5, *[0.5] * 5])
    env.close()
    assert robot.calls == ["connect", "close"]


def test_mujocos_model_and_data_are_those_of_the_simulation():
    env = gymnasium.make(IDS[0]).unwrapped
    env.reset(seed=0)
    assert (env.model, env.data) == (env.robot.model, env.robot.data)
    position = env.robot.read().position
    assert env.data.joint(env.robot.info.joints[0]).qpos == position[0]
    bystander, twin = copy.copy(env.data), copy.deepcopy(env)
    mujoco.mj_forward(env.model, bystander)
    action = env.action_space.sample()
    assert env.step(action)[0].tobytes() == twin.step(action)[0].tobytes()
    assert env.data.time > bystander.time


@pytest.mark.parametrize("name", ["model", "data"])
def test_a_machine_has_neither_model_nor_data_of_mujoco(name):
    env = PliantEnv(MockRobot(), Reach())
    assert not hasattr(env, name)
    with pytest.raises(PliantError, match="robot 'mock' is not simulated by MuJoCo, so its environment has no"):
        getattr(env, name)


def test_a_robot_that_is_connected_already_is_not_connected_again():
    with MockRobot() as robot:
        PliantEnv(robot, QUICK).reset()
        assert robot.calls == ["connect"]


def test_a_command_that_was_sent_stays_as_it_was():
    robot = MockRobot()
    env = PliantEnv(robot, QUICK, settle=0.02)
    env.reset()
    for action in (0.1, 0.2, 0.3):
        env.step([action])
    np.testing.assert_allclose(np.ravel(robot.sent), [0.5, 0.1, 0.2, 0.3])


def test_a_robot_without_a_needed_reading_is_refused_by_name():
    with pytest.raises(RobotError, match=r"no reading of joint/torque.*learn without: task\.observations"):
        PliantEnv(MockRobot(measures_torque=False), QUICK).reset()


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [({"fails_at": 8}, "the cable of mock is out"), ({"blind_at": 8}, "no reading of joint/position")],
)
def test_a_robot_that_fails_ends_the_episode_and_is_stopped(trouble, reason):
    robot = MockRobot(**trouble)
    env = PliantEnv(robot, QUICK, settle=0.1)
    env.reset()
    good = [env.step([0.1])[0] for _ in range(2)]
    observation, reward, terminated, truncated, info = env.step([0.1])
    assert reason in info["failure"]
    assert (reward, terminated, truncated) == (-100.0, True, False)
    assert robot.calls[-1] == "stop"
    np.testing.assert_array_equal(observation, good[-1])
    env.reset()
    assert robot.connected


@pytest.mark.parametrize("task", [Track(), Reach()])
def test_the_shortcut_of_a_simulated_robot_changes_nothing(task):
    options = {"position_noise": 1e-3, "sensor_delay": 0.02}
    direct = PliantEnv(SimulatedRobot(rig1(), 0.02, **options), task)
    veiled = PliantEnv(Veiled(SimulatedRobot(rig1(), 0.02, **options)), task)
    assert_same(episode(direct, 2), episode(veiled, 2))


def test_any_robot_takes_the_place_of_the_registered_one():
    robot = SimulatedRobot(rig1(), 0.05)
    env = gymnasium.make("pliant/CompliantArm2-v0", robot=robot, disable_env_checker=True)
    assert env.unwrapped.robot is robot
    assert env.action_space.shape == (2,)
    env.reset(seed=0)
    env.step(np.zeros(2))
    assert robot.read().time == pytest.approx(0.05)


# Registration -------------------------------------------------------------------------------------------------


def test_registering_again_changes_nothing():
    from pliant.envs import register

    before = {name: gymnasium.spec(name) for name in IDS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register()
    assert {name: gymnasium.spec(name) for name in IDS} == before


def test_importing_the_environments_imports_no_simulation():
    import subprocess
    import sys

    heavy = "mujoco numba torch scipy matplotlib OpenGL glfw"
    code = (
        "import sys, pliant.envs, gymnasium\n"
        "gymnasium.spec('pliant/CompliantArm2-v0')\n"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    )


def test_what_does_not_exist_in_the_package_is_an_attribute_error():
    import pliant.envs

    assert {"PliantEnv", "SimulatedRobot", "register"} <= set(pliant.envs.__all__)
    with pytest.raises(AttributeError, match="PliantEnvs"):
        _ = pliant.envs.PliantEnvs


def table(text: str, title: str) -> list[list[str]]:
    """Rows of the first table after a title in a docstring."""
    lines = text.split(title, 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.strip().startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows[2:]


def number(text: str) -> float:
    return math.pi if text == "π" else -math.pi if text == "−π" else float(text.replace("−", "-"))


@pytest.mark.parametrize("name", IDS)
def test_the_table_of_actions_is_true(name):
    env = gymnasium.make(name).unwrapped
    rows = table(FRONTS[name].__doc__, "## Action space")
    described = [(f"`{c.name}`", c.low, c.high, c.unit) for c in env.actions]
    assert [(row[1], number(row[2]), number(row[3]), row[4]) for row in rows] == described
    assert [int(row[0]) for row in rows] == list(range(len(described)))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", IDS)
def test_the_table_of_observations_is_true(name, task):
    env = gymnasium.make(name, task=task).unwrapped
    checked = set()
    for index, what, low, high, unit in table(FRONTS[name].__doc__, "## Observation space"):
        if "(task" in what and f"(task `{task}`)" not in what:
            continue
        first, _, last = index.replace(", ", "–").partition("–")
        for i in range(int(first), int(last or first) + 1):
            channel = env.observations[i]
            checked.add(i)
            assert channel.unit == unit
            joint, _, quantity = channel.name.partition("/")
            if low == "as there":
                action = env.actions[
                    [action.name for action in env.actions].index(channel.name[: -len("_command")])
                ]
                assert (channel.low, channel.high) == (action.low, action.high)
                continue
            assert quantity == what.split("`")[1].rpartition("/")[2]
            if low == "signal":
                like = {"goal": "position"}.get(quantity, quantity.removeprefix("desired_"))
                signal = env.robot.info.signals[env.robot.info.signal(f"{joint}/{like}")]
                assert (channel.low, channel.high) == (signal.low, signal.high)
                continue
            assert (channel.low, channel.high) == (number(low), number(high))
    assert checked == set(range(len(env.observations)))


# A machine behind its safety layer ----------------------------------------------------------------------------


class Machine(MockRobot):
    """Its time goes on."""

    def read(self):
        return super().read()._replace(time=self._info.period * len(self.sent))


def guarded(pressed=(), **config):
    machine = Machine()
    safe = SafeRobot(machine, SafetyConfig(hold_time=0.0, **config), lambda: bool(pressed), StepClock())
    return machine, safe, PliantEnv(safe, QUICK, settle=0.1)


def test_a_reset_does_not_arm_a_robot_that_its_operator_stopped_by_key():
    pressed: list[bool] = []
    machine, safe, env = guarded(pressed)
    env.reset(seed=0)
    pressed.append(True)
    info = env.step([0.1])[4]
    assert "the stop key" in info["failure"]
    pressed.clear()
    sent = len(machine.sent)
    for _ in range(3):
        with pytest.raises(RobotError, match=r"may not move: the stop key.*rearm\(\)"):
            env.reset()
    assert len(machine.sent) == sent
    assert "stop key" in safe.tripped
    safe.rearm()
    env.reset()
    assert not safe.tripped
    env.close()


@pytest.mark.parametrize(
    "wrap", [lambda robot: robot, RobotWrapper, lambda robot: RobotWrapper(RobotWrapper(robot))]
)
def test_a_reset_does_not_arm_a_robot_that_was_stopped_or_tripped(wrap):
    machine, safe, _ = guarded()
    env = PliantEnv(wrap(safe), QUICK, settle=0.1)
    env.reset(seed=0)
    safe.stop()
    with pytest.raises(RobotError, match=r"may not move: stopped.*rearm\(\)"):
        env.reset()
    safe.rearm()
    env.reset()
    machine.fails_at = len(machine.sent) + 1
    assert "the cable of mock is out" in env.step([0.1])[4]["failure"]
    with pytest.raises(RobotError, match=r"rearm\(\)"):
        env.reset()


def test_closing_the_environment_walks_home_before_it_releases():
    machine, safe, env = guarded()
    env.reset(seed=0)
    for _ in range(8):
        env.step([-0.5])
    away = machine.sent[-1][0]
    assert abs(away - safe.info.rest[0]) > 0.02
    env.close()
    assert machine.sent[-1] == pytest.approx(safe.info.rest)
    assert machine.calls == ["connect", "close"]
    assert np.abs(np.diff(np.ravel(machine.sent))).max() <= 1.5 * machine.info.period + 1e-9
