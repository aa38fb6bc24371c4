"""Searches for gaits: what is searched, what is found and kept, and going on."""

import json

import numpy as np
import pytest

from pliant.controllers.gaits import MatsuokaGait
from pliant.envs import SimulatedRobot
from pliant.envs.gait_measures import GaitLimits
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.hexapod import REFERENCE_SERVO, hexapod
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MismatchError,
    MissingFileError,
    OutOfBoundsError,
    UnknownNameError,
)
from pliant.training.gait_search import GaitSearch, SearchSettings, Tried, front
from pliant.training.gait_search_report import failure, search_metrics
from pliant.training.gait_space import Range

SPACE = {"factor": Range(1.0, 4.0)}


@pytest.fixture(scope="module")
def robot():
    with SimulatedRobot(hexapod(servo=REFERENCE_SERVO, settle=0.3), 0.019) as robot:
        yield robot


@pytest.fixture
def search(robot):
    pytest.importorskip("optuna")

    def make(space=SPACE, usual=None, **settings):
        def gait(parameters):
            return MatsuokaGait.published(robot.info, parameters["factor"])

        chosen = SearchSettings(**{"duration": 3.5, "trials": 4, "batch": 2, **settings})
        return GaitSearch(robot, gait, space, usual or {"factor": 1.0}, chosen)

    return make


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"objective": "sped"}, UnknownNameError),
        ({"sampler": "tp"}, UnknownNameError),
        ({"trials": 0}, OutOfBoundsError),
        ({"batch": 0}, OutOfBoundsError),
        ({"seed": -1}, OutOfBoundsError),
    ],
)
def test_settings_are_checked(settings, error):
    with pytest.raises(error, match="search"):
        SearchSettings(**settings)


@pytest.mark.slow
def test_a_search_finds_the_fastest_that_it_tried(search):
    done = []
    found = search(trials=6)
    found.run(lambda: done.append(len(found.tried)))
    assert done == [2, 4, 6]
    assert found.tried[0].parameters == {"factor": 1.0}, "the gait as it is comes first"
    speeds = [tried.measures["speed"] for tried in found.tried]
    assert found.best.measures["speed"] == max(speeds)
    factors = [tried.parameters["factor"] for tried in found.tried]
    assert np.array_equal(np.argsort(factors), np.argsort(speeds)), "the longer the stride, the faster"
    assert search_metrics(found)["best"]["parameters"] == dict(found.best.parameters)


def test_with_the_same_seed_a_search_finds_the_same_and_goes_on_where_it_was(search, tmp_path):
    whole, begun, rest = search(), search(trials=2), search()
    whole.run()
    begun.run()
    begun.save(tmp_path / "trials.json")
    rest.resume(tmp_path / "trials.json")
    assert rest.tried == begun.tried == whole.tried[:2]
    rest.run()
    assert len(rest.tried) == 4


def test_a_gait_that_cannot_be_made_is_one_that_keeps_no_limit(search):
    found = search(space={"factor": Range(1.0, 200.0)}, sampler="random", seed=1)
    found.run()
    reasons = [tried.violations[0] for tried in found.tried if not tried.measures]
    assert reasons
    assert all(reason.startswith("gait: ") for reason in reasons)
    assert search_metrics(found)["reasons"]["the gait cannot be made or tried"] == len(reasons)
    assert found.best.parameters["factor"] < 10.0


def test_one_that_cannot_be_tried_leaves_the_others_theirs(search, robot):
    found = search(space={"ramp": Range(0.5, 100.0)}, usual={"ramp": 1.0}, sampler="random", batch=4)
    found._make = lambda parameters: MatsuokaGait(robot.info, ramp=parameters["ramp"])
    found.run()
    assert [bool(tried.measures) for tried in found.tried] == [t.parameters["ramp"] < 2.2 for t in found.tried]
    assert any("walks in full after" in tried.violations[0] for tried in found.tried[1:])


def test_where_none_keeps_the_limits_the_reasons_are_counted(search):
    found = search(limits=GaitLimits(torque=0.1))
    found.run()
    assert found.best is None
    assert failure(found) == "none of the 4 gaits keeps the limits: 4 × torque beyond the limit."
    assert search_metrics(found)["detail"] == failure(found)


def test_gaits_that_keep_the_limits_count_more_than_any_that_does_not(search):
    found = search()
    slow = Tried({}, {"speed": -0.5}, (), (-0.1, 0.0, 0.0, 0.0))
    near = Tried({}, {"speed": 5.0}, ("…",), (0.1, 0.0, 0.0, 0.0))
    far = Tried({}, {"speed": 9.0}, ("…",), (0.2, 1.0, 0.0, 0.0))
    judged = [found._judged(tried) for tried in (slow, near, far, Tried.failed({}, "…"))]
    assert judged == sorted(judged, reverse=True)
    dear = search(objective="cost_of_transport")
    costs = [dear._judged(tried) for tried in (Tried({}, {"cost_of_transport": None}, (), (0.0,)), near, far)]
    assert costs == sorted(costs)


def test_the_front_is_what_nothing_beats_in_both():
    def tried(speed, torque, *, pairs=0.0):
        return Tried({}, {"speed": speed, "largest_torque": torque}, (), (torque - 1.0, pairs, 0.0, 0.0))

    slow, middle, fast = tried(0.1, 0.5), tried(0.2, 0.8), tried(0.3, 1.4)
    others = [tried(0.15, 0.9), tried(0.2, 0.81), tried(0.4, 0.4, pairs=1.0), Tried.failed({}, "…")]
    assert front([others[0], fast, others[1], slow, others[2], middle, others[3]]) == [slow, middle, fast]


def test_another_search_is_not_gone_on_with(search, tmp_path):
    file = tmp_path / "trials.json"
    search().save(file)
    for other in (search(space={"factor": Range(1.0, 5.0)}), search(limits=GaitLimits(torque=1.0))):
        with pytest.raises(MismatchError, match=r"search\.(space\.factor\.high|limits\.torque): .* in the file"):
            other.resume(file)


def test_what_is_no_file_of_trials_is_refused(search, tmp_path):
    with pytest.raises(MissingFileError):
        search().resume(tmp_path / "trials.json")
    file = tmp_path / "trials.json"
    search().save(file)
    whole = json.loads(file.read_text())
    for text in ("", "[]", "{}", json.dumps({**whole, "trials": [{}]}), json.dumps({**whole, "duration": 3.0})):
        file.write_text(text)
        with pytest.raises(FileFormatError, match=r"trials\.json"):
            search().resume(file)


def test_an_arm_is_refused_before_anything_is_tried():
    pytest.importorskip("optuna")
    with SimulatedRobot(arm2(), 0.01) as arm, pytest.raises(ConfigurationError, match="no robot whose gait"):
        GaitSearch(arm, lambda parameters: None, SPACE, {"factor": 1.0})
