import numpy as np
import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, UnknownNameError
from pliant.hardware.limits import MotionLimits, bounds
from pliant.hardware.resting import NEAR, RestingWay
from pliant.hardware.robot import Channel, RobotInfo
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig

INFO = RobotInfo(
    "legs",
    ("a_hip", "b_hip", "a_knee"),
    (),
    tuple(Channel(f"{joint}/position", "rad", -2.0, 2.0) for joint in ("a_hip", "b_hip", "a_knee")),
    0.01,
)
LIMITS = bounds([MotionLimits(1.0, 20.0, walk_speed=0.5)] * 3, INFO.command, INFO.period, walk=True)
POSES = ({"*_hip": 1.6, "a_knee": -1.0}, {"a_knee": -1.5}, {"*_hip": 0.5, "a_knee": -0.9})
LYING, TOUCHING, STANDING = np.array([[1.6, 1.6, -1.0], [1.6, 1.6, -1.5], [0.5, 0.5, -0.9]])


@pytest.fixture
def way():
    return RestingWay(POSES, INFO)


def path(motions):
    return np.array([motion.value for motion in motions])


def passes(rows, pose):
    return np.abs(rows - pose).max(axis=1).min() < 1e-9


def test_a_pose_changes_what_it_names_and_the_first_one_is_rest(way):
    np.testing.assert_allclose(way.rest, LYING)
    rows = path(way.up(LYING, STANDING, LIMITS, INFO.period))
    assert passes(rows, TOUCHING)
    np.testing.assert_allclose(rows[-1], STANDING)


def test_from_afar_it_lies_down_before_it_gets_up(way):
    rows = path(way.up(np.array([-1.5, 0.2, 1.0]), np.zeros(3), LIMITS, INFO.period))
    assert passes(rows, LYING)
    assert passes(rows, STANDING)
    np.testing.assert_allclose(rows[-1], 0.0)


def test_near_its_way_it_begins_there(way):
    here = 0.5 * (TOUCHING + STANDING) + np.array([0.1, -0.1, 0.1])
    rows = path(way.up(here, STANDING, LIMITS, INFO.period))
    assert not passes(rows, LYING)
    assert not passes(rows, TOUCHING)
    np.testing.assert_allclose(rows[-1], STANDING)
    beyond = path(way.up(STANDING - [NEAR + 0.01, 0.0, 0.0], STANDING, LIMITS, INFO.period))
    assert passes(beyond, LYING)


def test_it_goes_down_from_the_nearest_pose_without_getting_up_first(way):
    rows = path(way.down(0.5 * (LYING + TOUCHING), LIMITS, INFO.period))
    assert (rows[:, 0] == 1.6).all()
    np.testing.assert_allclose(rows[-1], LYING)
    assert path(way.down(LYING, LIMITS, INFO.period)).size == 0


def test_all_joints_are_in_step_and_none_is_too_fast(way):
    rows = path(way.up(TOUCHING, STANDING, LIMITS, INFO.period))
    share = (rows - TOUCHING) / (STANDING - TOUCHING)
    np.testing.assert_allclose(share, share[:, :1] * np.ones(3), rtol=0, atol=1e-12)
    assert np.abs(np.diff(rows, axis=0)).max() / INFO.period <= 0.5 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("poses", "error", "part"),
    [
        ([{"*_ankle": 0.1}], UnknownNameError, "pose 1 of the way to rest"),
        ([{"a_hip": 0.1}, {"a_hip": 3.0}], OutOfBoundsError, "pose 2 of the way to rest: a_hip"),
        ([{"a_hip": float("nan")}], OutOfBoundsError, "a_hip"),
        ([0.3], ConfigurationError, "positions by joint are needed"),
    ],
)
def test_what_is_no_way_is_refused(poses, error, part):
    with pytest.raises(error, match=part.replace("*", r"\*")):
        RestingWay(poses, INFO)


def test_a_way_of_words_is_refused():
    with pytest.raises(ConfigurationError, match="a list of poses is needed"):
        SafetyConfig(rest="home")


def test_joints_that_the_way_does_not_move_come_to_it_first():
    way = RestingWay([{"a_knee": -1.0, "*_hip": 0.3}, {"a_knee": 1.0}], INFO)
    rows = path(way.down(np.array([0.0, 0.5, 0.5]), LIMITS, INFO.period))
    there = np.flatnonzero(np.abs(rows[:, :2] - 0.3).max(axis=1) < 1e-9)[0]
    assert (rows[: there + 1, 2] == 0.5).all()
    np.testing.assert_allclose(rows[-1], way.rest)


# Behind the safety layer

MOTION = {"rad": MotionLimits(speed=2.0, acceleration=20.0, step=0.1, walk_speed=0.5)}
REST = ({"*": 0.9}, {"*": 0.5}, {"*": 0.0})


def guarded(arm, **config):
    return SafeRobot(arm, SafetyConfig(motion=MOTION, rest=REST, hold_time=0.1, **config), clock=arm.clock)


def test_it_gets_up_by_its_way_and_every_end_goes_down_by_it(arm):
    with guarded(arm) as robot:
        robot.walk_to([0.2, -0.2])
        out = len(arm.sent)
    sent = np.array(arm.sent)
    np.testing.assert_allclose(sent[out - 1], [0.2, -0.2])
    np.testing.assert_allclose(sent[-1], 0.9)
    assert np.abs(np.diff(sent, axis=0)).max() / 0.01 <= 0.5 * (1 + 1e-6)


def test_what_cannot_go_on_is_released_where_it_is(arm):
    """The arm of these tests does not know how to carry on."""
    robot = guarded(arm)
    robot.connect()
    robot.walk_to([0.2, 0.1])
    sent = len(arm.sent)
    robot.stop()
    robot.close()
    assert len(arm.sent) == sent
    with pytest.raises(RobotError):
        robot.send([0.0, 0.0])


def test_after_a_stop_it_goes_down_on_what_carries_on(arm, monkeypatch):
    monkeypatch.setattr(type(arm), "carry_on", lambda self: True, raising=False)
    robot = guarded(arm)
    robot.connect()
    robot.walk_to([0.2, 0.1])
    robot.stop()
    robot.close()
    np.testing.assert_allclose(arm.sent[-1], 0.9, atol=1e-9)


def test_who_is_left_where_it_is_does_not_go_down(arm):
    robot = guarded(arm, return_to_rest=False)
    robot.connect()
    robot.walk_to([0.2, 0.1])
    sent = len(arm.sent)
    robot.close()
    assert len(arm.sent) == sent
