"""The action term of gaits: parameters that move, targets that are corrected, the phase among the signals."""

import copy
import math
import pickle

import numpy as np
import pytest

from pliant.controllers.gaits import FootGait, MatsuokaGait, hexapod_legs
from pliant.envs import PliantEnv, SimulatedRobot
from pliant.envs.models.hexapod import WALKING, hexapod
from pliant.envs.tasks import Task, compose
from pliant.envs.tasks.gait import GaitAction
from pliant.envs.tasks.observations import Signals
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals

GAIT = {"name": "foot", "speed": 0.1, "stride": 0.1, "ramp": 0.2}


@pytest.fixture(scope="module")
def info() -> RobotInfo:
    joints = hexapod_legs().joints
    columns = tuple(Channel(f"{joint}/position", "rad", -2.6, 2.6) for joint in reversed(joints))
    return RobotInfo("hexapod", joints, (), columns, 0.019, signals=joint_signals(joints, ()))


def episodes(action: GaitAction, info: RobotInfo):
    task = Task("walk", observations={"phase": Signals(names="gait/*")}, rewards={}, ends={}, action=action).on(
        info
    )
    begun = task.episodes(1)
    task.begin(begun, 0, np.random.default_rng(0))
    assert task.observe(begun)
    return task, begun


@pytest.mark.slow
def test_at_rest_the_gait_walks_as_by_itself_and_tells_its_phase(info):
    task, one = episodes(GaitAction(GAIT, {"speed": (0.0, 0.3)}, residual=0.1), info)
    alone = FootGait(info, **{name: value for name, value in GAIT.items() if name != "name"})
    first = np.zeros(18)
    for k in range(100):
        one.action[:] = task._action.rest
        assert task.act(one)
        if k == 0:
            alone.reset(state(info, first))
        np.testing.assert_array_equal(one.command[0], alone.update(None, k * info.period))
        assert task.judge(one)
        angle = 2.0 * math.pi * alone.phase[0]
        np.testing.assert_allclose(one.observation[0], [math.sin(angle), math.cos(angle)], atol=1e-6)


def state(info: RobotInfo, command):
    zeros, none = np.zeros(18), np.empty(0)
    return State(0.0, zeros, zeros, zeros, zeros, *[none] * 4, command)


def test_an_action_sets_the_parameters_and_corrects_the_targets_with_a_delay(info):
    action = GaitAction(GAIT, {"speed": (0.05, 0.25), "stride": (0.08, 0.14)}, residual={"*_coxa/*": 0.2})
    task, one = episodes(action, info)
    names = [(c.name, c.unit, c.low, c.high, c.rest) for c in task.actions]
    assert names[:2] == [("gait/stride", "m", 0.08, 0.14, 0.1), ("gait/speed", "m/s", 0.05, 0.25, 0.1)]
    assert [name for name, *_ in names[2:]] == [f"{c.name}_residual" for c in info.command if "coxa" in c.name]
    alone = FootGait(info, **{name: value for name, value in GAIT.items() if name != "name"})
    corrected = np.array(["coxa" in c.name for c in info.command])
    for k in range(5):
        one.action[:] = [0.5, 1.0, *[-1.0] * 6]
        assert task.act(one)
        if k == 0:
            alone.reset(state(info, np.zeros(18)))
        alone.stride, alone.speed = 0.125, 0.25
        plain = alone.update(None, k * info.period)
        share = 1.0 - math.exp(-(k + 1) * info.period / action.smoothing)
        np.testing.assert_allclose(one.command[0], plain - 0.2 * share * corrected, atol=1e-12)
        assert task.judge(one)


def test_the_lab_s_gait_and_other_rhythms_can_be_asked_for(info):
    unit = {"fatigue": 6.0}
    made = GaitAction({"name": "matsuoka", "unit": unit, "speed": 0.05, "stride": 0.05}, residual=0.1).on_robot(
        info
    )
    assert isinstance(made, MatsuokaGait)
    assert made.speed == 0.05
    assert (
        type(GaitAction({"name": "foot", "rhythm": "hopf"}, residual=0.1).on_robot(info).rhythm).__name__ == "Hopf"
    )


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: GaitAction("foots", residual=0.1), UnknownNameError, "Did you mean 'foot'"),
        (lambda: GaitAction(3, residual=0.1), ConfigurationError, "a name, or a mapping"),
        (
            lambda: GaitAction({"name": "foot", "strid": 0.1}, residual=0.1),
            UnknownNameError,
            "Did you mean 'stride'",
        ),
        (lambda: GaitAction(GAIT), ConfigurationError, "nothing moves"),
        (lambda: GaitAction(GAIT, {"sped": (0, 1)}), UnknownNameError, "Did you mean 'speed'"),
        (lambda: GaitAction(GAIT, {"speed": (0.3, 0.1)}), ConfigurationError, "low 0.3 must be below"),
        (lambda: GaitAction(GAIT, residual=-0.1), OutOfBoundsError, "residual"),
        (lambda: GaitAction(GAIT, residual=0.1, smoothing=-1.0), OutOfBoundsError, "smoothing"),
    ],
)
def test_what_makes_no_sense_is_refused(action, error, message):
    with pytest.raises(error, match=message):
        action()


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (GaitAction(GAIT, {"speed": (0.2, 0.3)}), OutOfBoundsError, "speed of the gait"),
        (GaitAction(GAIT, {"stride": (0.05, 0.9)}), OutOfBoundsError, "stride"),
        (GaitAction(GAIT, {"stride": (0.01, 0.2), "speed": (0.0, 0.5)}), OutOfBoundsError, "speed"),
        (GaitAction(GAIT, {"stride_height": (0.5, 2.0)}), UnknownNameError, "stride_height"),
        (GaitAction(GAIT, residual={"*_knee/*": 0.1}), UnknownNameError, "_knee"),
        (GaitAction({"name": "foot", "rhythm": "waltz"}, residual=0.1), UnknownNameError, "waltz"),
        (GaitAction({"name": "foot", "stride": 0.9}, residual=0.1), OutOfBoundsError, "longest there is"),
    ],
)
def test_parameters_that_the_gait_cannot_have_are_refused_on_the_robot(info, action, error, message):
    with pytest.raises(error, match=message):
        action.on(info)


def test_many_robots_walk_as_each_does_alone():
    walk = compose(
        "walk",
        action={"term": "gait", "gait": GAIT, "parameters": {"speed": [0.05, 0.2]}, "residual": 0.1},
        observations={"phase": {"term": "signals", "names": ["gait/*", "*/position"]}},
        rewards={"ahead": {"term": "ahead"}},
        ends={"time": {"term": "time_up", "duration": 0.1}},
    )
    start = {name: angle for name, angle in WALKING.items() if name.endswith("coxa")}
    model = hexapod(start=start, settle=0.0)
    single = [PliantEnv(SimulatedRobot(model, 0.019), walk) for _ in range(2)]
    many = PliantVectorEnv(SimulatedRobot(model, 0.019), walk, 2, autoreset_mode="SameStep")
    random = np.random.default_rng(0)
    observations = [env.reset(seed=i)[0] for i, env in enumerate(single)]
    np.testing.assert_array_equal(many.reset(seed=0)[0], observations)
    for k in range(9):  # into the next episode
        if k == 3:
            single[0], single[1] = copy.deepcopy(single[0]), pickle.loads(pickle.dumps(single[1]))
        actions = random.uniform(-1, 1, (2, 19))
        results = [env.step(action) for env, action in zip(single, actions, strict=True)]
        seen, rewards, *_ = many.step(actions)
        np.testing.assert_array_equal(rewards, [result[1] for result in results])
        if results[0][3]:
            results = [env.reset() for env in single]
        np.testing.assert_array_equal(seen, [result[0] for result in results])
