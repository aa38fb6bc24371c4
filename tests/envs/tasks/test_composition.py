"""Tasks from plain data, and terms of one's own."""

import copy
import math
import pickle
import re

import pytest

from pliant.envs.selection import matches, select
from pliant.envs.tasks import KINDS, Reach, Term, compose, end, find_term, measure, observation, reward
from pliant.envs.tasks.ends import time_up
from pliant.envs.tasks.observations import Signals
from pliant.envs.tasks.rewards import action_rate, effort
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError
from pliant.hardware.robot import Array, Channel, joint_signals


@measure(Channel("joints/sum", "rad", -math.inf, math.inf), position="*/position")
def total(position: Array) -> float:
    found = 0.0
    for value in position:
        found += value
    return found


@reward(both="joints/sum", memory=2)
def novelty(both: Array, memory: Array, scales: Array, offset: float = 0.0) -> float:
    memory[1] += 1.0
    last = memory[0]
    memory[0] = both[0]
    return scales[0] * abs(both[0] - last) + scales[1] * memory[1] + offset


@observation(Channel("action/first", "1", -1, 1), Channel("action/last", "1", -1, 1))
def first_and_last(action: Array, out: Array) -> None:
    out[0], out[1] = action[0], action[-1]


@end("failure")
def impatient(step: float, period: float, patience: float) -> bool:
    return step * period > patience


@reward()
def beyond_the_array(action: Array) -> float:
    return float(action[7])


@reward()
def not_compilable(action: Array) -> float:
    return float("1.0" + str(action))


@reward(position="*/position")
def infinite(position: Array) -> float:
    return float(1.0 / position[0])


def own(**rewards):
    return {
        "name": "own",
        "measures": {"total": total()},
        "observations": {"ends": first_and_last(), "sum": {"term": "signals", "names": "joints/sum"}},
        "rewards": rewards,
        "ends": {"impatient": impatient(patience=0.05)},
    }


def test_terms_of_ones_own_of_all_kinds(begin, lead):
    settings = own(novelty=novelty(scales=[2.0, 10.0], offset=0.5, weight=-1.0))
    task, episodes = begin(compose(**settings))
    outcome, seen = lead(task, episodes, [0.1, 0.2, 0.3], hip__position=0.5, knee__position=0.25)
    assert outcome["novelty"] == pytest.approx(-(2 * 0.75 + 10 + 0.5))
    assert seen == pytest.approx({"action/first": 0.1, "action/last": 0.3, "joints/sum": 0.75})
    outcome, _ = lead(task, episodes, 0.0, hip__position=0.5)
    assert outcome["novelty"] == pytest.approx(-(2 * 0.25 + 20 + 0.5))
    assert outcome["terminated"] == 0
    assert lead(task, episodes)[0]["terminated"] == 1


def test_memory_is_each_terms_own(begin, lead):
    terms = {name: novelty(scales=[0.0, scale]) for name, scale in (("a", 1.0), ("b", 2.0))}
    task, episodes = begin(compose(**own(**terms)))
    lead(task, episodes)
    outcome, _ = lead(task, episodes)
    assert (outcome["a"], outcome["b"]) == (2.0, 4.0)


def test_settings_on_the_top_level_are_those_of_all_terms_that_take_them():
    task = compose(
        "shared",
        observations={"left": {"term": "time_left"}, "joints": {"term": "signals"}},
        rewards={"slow": {"term": "effort", "weight": -0.1}, "gone": None},
        ends={"time": {"term": "time_up"}, "later": {"term": "time_up", "duration": 9.0}},
        duration=2.0,
    )
    assert task.ends == {"time": time_up(duration=2.0), "later": time_up(duration=9.0)}
    assert task.observations["left"].values == {"duration": 2.0}
    assert task.rewards == {"slow": effort(weight=-0.1)}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rewards": {"it": {"term": "efort"}}}, UnknownNameError, "reward term 'efort'.*Did you mean 'effort'"),
        ({"rewards": {"it": {"weight": 1}}}, ConfigurationError, "reward 'it' names no term"),
        ({"rewards": {"it": {"term": "time_up"}}}, UnknownNameError, "reward term 'time_up'"),
        ({"rewards": {"it": time_up(duration=1)}}, ConfigurationError, "rewards 'it' is a end"),
        ({"rewards": {"it": 3}}, ConfigurationError, "rewards 'it' is 3"),
        ({"rewards": ["effort"]}, ConfigurationError, "given by name"),
        ({"rewards": {"it": {"term": "nowhere.effort"}}}, ConfigurationError, "cannot be imported.*import path"),
        ({"rewards": {"it": {"term": "math.pi"}}}, ConfigurationError, "'math.pi' is a float, no term"),
        (
            {"rewards": {"it": {"term": "effort", "wait": 1}}},
            UnknownNameError,
            "'wait' in reward 'it' of task 'own'",
        ),
        ({"action": {"term": "posture"}}, UnknownNameError, "action term 'posture'"),
        ({"start": effort()}, ConfigurationError, "start is .* not a term of that kind"),
        ({"durration": 3.0}, UnknownNameError, "setting 'durration' in task 'own'"),
    ],
)
def test_what_is_configured_wrongly_is_named(changes, error, message):
    settings = {
        "name": "own",
        "observations": {},
        "rewards": {},
        "ends": {"time": {"term": "time_up", "duration": 1}},
    }
    with pytest.raises(error, match=message):
        compose(**{**settings, **changes})


@pytest.mark.parametrize("make", [lambda: Signals(scale=0.0), lambda: first_and_last(scale=0.0)])
def test_what_would_be_seen_as_nothing_is_refused(make):
    with pytest.raises(OutOfBoundsError, match="scale is 0"):
        make()


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: reward(velocity="*/velocity")(lambda speed: 0.0), "none of its arguments"),
        (lambda: reward()(lambda weight: 0.0), "'weight' is taken"),
        (lambda: reward()(lambda memory: 0.0), "go together"),
        (lambda: end("time")(lambda success: True), "only a reward knows"),
        (lambda: observation()(lambda step: 0.0), "does not say what it computes"),
        (lambda: reward()(lambda gain: 0.0), "annotate the argument 'gain'"),
    ],
)
def test_functions_that_are_no_terms_are_refused_where_they_are_declared(declare, message):
    with pytest.raises(ConfigurationError, match=message):
        declare()


def test_a_term_that_reaches_beyond_its_array_is_an_error_and_no_number(begin, lead):
    task, episodes = begin(Reach().but(rewards={"bad": beyond_the_array()}))
    with pytest.raises(IndexError):
        lead(task, episodes)


def test_a_term_that_cannot_be_compiled_is_refused_when_an_environment_is_made(info):
    task = Reach().but(rewards={"bad": not_compilable()}).on(info)
    with pytest.raises(ConfigurationError, match=r"a term among .*bad.* cannot be compiled: .*Use only floats"):
        task.episodes(1)


def test_a_reward_that_is_no_number_is_told(begin):
    task, episodes = begin(Reach().but(rewards={"fine": action_rate(), "odd": infinite()}))
    assert not task.judge(episodes)
    assert task.trouble(episodes, 0) == "robot 'everything': no finite reward for odd"


def test_observing_the_same_number_twice_is_refused(info):
    seen = {"one": {"term": "signals"}, "two": {"term": "signals", "names": "hip/position"}}
    with pytest.raises(ConfigurationError, match="observes hip/position twice"):
        compose("twice", observations=seen, rewards={}, ends={}).on(info)


def test_a_measure_of_what_the_robot_reads_already_is_refused(info):
    task = Reach().but(measures={"a": total(), "b": total()})
    with pytest.raises(
        ConfigurationError, match="measure 'b' computes joints/sum, which robot 'everything' or another"
    ):
        task.on(info)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_tasks_travel_to_other_processes(again):
    task = Reach(tolerance=0.1)
    assert again(task) == task
    assert again(effort(weight=2.0)) == effort(weight=2.0)


def test_terms_are_equal_by_meaning():
    assert effort() == effort(weight=1.0, torque="*/torque")
    assert effort() == effort(torque=["*/torque"])
    assert effort() != effort(weight=2.0)
    assert isinstance(effort(), Term)
    assert find_term("reward", "pliant.envs.tasks.rewards:effort") is KINDS["reward"]["effort"]


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("hip/position", "*/position", True),
        ("hip/motor_position1", "*/position", False),
        ("hip/motor_position1", "*/motor_position*", True),
        ("left/hip/position", "*/position", True),
        ("left/hip/position", "left/*/position", True),
        ("left/hip/position", "right/*/position", False),
        ("left/hip/position", "hip/position", False),
        ("left/hip/position", "left/*", False),
        ("tip/position_x", "tip/position_[xz]", True),
        ("tip/position_y", "tip/position_[xz]", False),
        ("hip/position", "HIP/position", False),
    ],
)
def test_globs_fit_owner_and_quantity_each_by_itself(name, pattern, fits):
    assert matches(name, pattern) is fits


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("*/*/position", "*/motor_position*"),
        ("hip/1/torque", "hip/motor_torque1"),
        ("left/hip/2/spring_torque", "left/hip/spring_torque2"),
    ],
)
def test_the_earlier_name_of_a_motors_signal_is_refused_with_the_new_one(old, new):
    with pytest.raises(UnknownNameError, match=re.escape(f"are called like {new})")):
        select(old, joint_signals(("hip",), ("hip/1",)), "signal", "the robot")
