"""Each reward term is the formula it states."""

import math

import pytest

from pliant.envs.tasks import Task
from pliant.envs.tasks import rewards as terms
from pliant.envs.tasks.ends import beyond, time_up
from pliant.envs.tasks.goals import Drawn, Pose, Posture
from pliant.envs.tasks.observations import Signals
from pliant.errors import ConfigurationError, UnknownNameError


def rewarded(term, goal=None) -> Task:
    ends = {"fast": beyond(signals="*/velocity", limit=5.0), "time": time_up(duration=9.0)}
    return Task("one", observations={"joints": Signals()}, rewards={"it": term}, ends=ends, goal=goal)


TURN = math.sqrt(0.5)

CASES = {
    "error": (terms.error(), Posture(0.5, 0.5), {"hip__position": 0.2, "knee__position": 0.9}, math.sqrt(0.125)),
    "tracking": (
        terms.tracking(width=0.5),
        Posture(0.5, 0.5),
        {"hip__position": 0.2, "knee__position": 0.9},
        1 / (1 + 0.125 / 0.25),
    ),
    "distance": (
        terms.distance(),
        Pose(low=[1.0, 2.0, 2.0], high=[1.0, 2.0, 2.0]),
        {},
        3.0,
    ),
    "nearness": (
        terms.nearness(width=3.0),
        Pose(low=[1.0, 2.0, 2.0], high=[1.0, 2.0, 2.0]),
        {},
        0.5,
    ),
    "along one axis": (terms.distance(), Drawn(["base/position_z"], 1.0, 1.0), {"base__position_z": 0.4}, 0.6),
    "effort": (terms.effort(), None, {"hip__torque": 3.0, "knee__torque": -1.0}, 5.0),
    "effort of one": (terms.effort(torque="knee/torque", weight=-2.0), None, {"knee__torque": -1.0}, -2.0),
    "effort of motors": (terms.effort(torque="*/motor_torque*"), None, {"hip/motor_torque1": 2.0}, 2.0),
    "power": (
        terms.power(),
        None,
        {"hip__torque": 3.0, "knee__torque": -1.0, "hip__velocity": 2.0, "knee__velocity": 4.0},
        10.0,
    ),
    "speed": (terms.speed(), None, {"hip__velocity": 1.0, "knee__velocity": 2.0}, 2.5),
    "excess": (terms.excess(limit=2.0), None, {"hip__torque": 3.0, "knee__torque": -2.5}, 1.5),
    "no excess": (terms.excess(limit=2.0), None, {"hip__torque": -2.0}, 0.0),
    "ahead": (terms.ahead(), None, {"base__velocity_x": -0.3}, -0.3),
    "ahead, fast enough": (terms.ahead(most=0.2), None, {"base__velocity_x": 0.3}, 0.2),
    "contact_force": (
        terms.contact_force(threshold=2.0),
        None,
        {"wrist__force_x": 3.0, "wrist__force_z": -4.0},
        3.0,
    ),
    "no contact": (terms.contact_force(threshold=2.0), None, {"wrist__force_x": 1.0}, 0.0),
    "upright": (terms.upright(), None, {}, 1.0),
    "lying": (terms.upright(), None, {"base__orientation_w": TURN, "base__orientation_x": TURN}, 0.0),
    "turned, upright": (terms.upright(), None, {"base__orientation_w": TURN, "base__orientation_z": TURN}, 1.0),
    "height": (terms.height(target=0.5, width=0.1), None, {"base__position_z": 0.4}, 0.5),
    "value": (terms.value(signals=["base/position_z", "hip/position"]), None, {"hip__position": 0.3}, 0.7),
    "alive": (terms.alive(), None, {}, 1.0),
    "dead": (terms.alive(), None, {"hip__velocity": 6.0}, 0.0),
    "failure": (terms.failure(weight=-10.0), None, {"hip__velocity": -6.0}, -10.0),
    "success": (terms.success(), None, {}, 0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_term_is_what_it_says(case, begin, lead):
    term, goal, signals, expected = CASES[case]
    outcome, _ = lead(*begin(rewarded(term, goal)), **signals)
    assert outcome["it"] == pytest.approx(expected, abs=1e-12)


def test_the_angle_between_two_orientations(begin, lead):
    goal = Drawn([f"tip/orientation_{part}" for part in "wxyz"], (1, 0, 0, 0), (1, 0, 0, 0))
    for angle in (0.0, 0.5, 2.0, -1.0, 3.5):
        turn = {"tip__orientation_w": math.cos(angle / 2), "tip__orientation_y": math.sin(angle / 2)}
        outcome, _ = lead(*begin(rewarded(terms.angle(), goal)), **turn)
        assert outcome["it"] == pytest.approx(min(abs(angle), 2 * math.pi - abs(angle)), abs=1e-7)


def test_leaving_adds_up_to_how_far_it_has_gone(info, begin, lead):
    episode = begin(rewarded(terms.leaving(weight=-2.0)))
    way = [(0.1, 0.0), (0.05, -0.2), (-0.4, 0.1), (0.2, 0.0)]  # m off the line, sin of half the heading
    costs = [lead(*episode, base__position_y=y, base__orientation_z=turned)[0]["it"] for y, turned in way]
    assert costs[0] == 0.0  # nothing was known before
    assert costs[1] == pytest.approx(-2.0 * (0.25 - 0.1) / info.period)
    assert sum(costs) * info.period == pytest.approx(-2.0 * (0.2 - 0.1))


def test_actions_cost_what_they_change_and_what_they_are(begin, lead):
    rate, size = begin(rewarded(terms.action_rate())), begin(rewarded(terms.action_size()))
    rest = [0.5, -1 / 3, 0.0]
    assert lead(*rate, rest)[0]["it"] == pytest.approx(0.0, abs=1e-30)
    assert lead(*rate, [0.5, -1 / 3, 0.6])[0]["it"] == pytest.approx(0.12)
    assert lead(*size, [1.0, -1.0, 0.5])[0]["it"] == pytest.approx(0.75)


def test_joints_near_the_end_of_their_range_cost(info, begin, lead):
    from dataclasses import replace

    signals = [replace(c, low=-1.0, high=2.0) if c.name == "hip/position" else c for c in info.signals]
    task = rewarded(terms.joint_limits(margin=0.1)).on(replace(info, signals=tuple(signals)))
    episodes = task.episodes(1)
    for angle, cost in ((0.0, 0.0), (1.95, 0.05), (-1.2, 0.3)):
        episodes.signals[0, 0] = angle
        assert task.judge(episodes)
        assert episodes.outcome[0, 0] == pytest.approx(cost)


def test_terms_that_do_not_fit_are_refused_by_name(begin):
    with pytest.raises(UnknownNameError, match=r"signal 'arm/torque' in robot 'everything', which reward 'it' of"):
        begin(rewarded(terms.effort(torque="arm/torque")))
    with pytest.raises(ConfigurationError, match="reward 'it' is about a goal, and the task has none"):
        begin(rewarded(terms.error()))
    with pytest.raises(UnknownNameError, match=r"number of the goal '\*/speed'.*Valid: hip/goal, knee/goal"):
        begin(rewarded(terms.error(goals="*/speed"), Posture()))
    with pytest.raises(UnknownNameError, match=r"parameter 'widht' in reward 'tracking'.*Did you mean 'width'"):
        terms.tracking(widht=1.0)
    with pytest.raises(ConfigurationError, match="reward 'tracking' needs a value for 'width'"):
        terms.tracking()
