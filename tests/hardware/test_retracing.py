"""Going home by the way that was come: the same way, in step, within the limits."""

import contextlib

import numpy as np
import pytest

from pliant.hardware.limits import Bounds, MotionLimits
from pliant.hardware.retracing import Trail
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig

PERIOD = 0.01
LIMITS = Bounds(np.full(2, -1.0), np.ones(2), np.full(2, 0.5), np.full(2, 20.0))
MOTION = {"rad": MotionLimits(speed=2.0, acceleration=20.0, step=0.1, walk_speed=0.5)}


def around_a_corner(seconds=1.0):
    """From the origin to (0.4, 0) and from there to (0.4, 0.4), at rest at each, (n, 2)."""
    s = np.linspace(0.0, 1.0, round(seconds / PERIOD) + 1)
    smooth = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    there, nothing = np.full(len(s), 0.4), np.zeros(len(s))
    return np.concatenate([np.stack([0.4 * smooth, nothing], 1), np.stack([there, 0.4 * smooth], 1)])


def back(rows, limits=LIMITS):
    trail = Trail()
    for row in rows:
        trail.add(row)
    return np.array([motion.value for motion in trail.back(limits, PERIOD)])


def off_the_corner(places):
    """Distance from the two lines of `around_a_corner`, (n,)."""
    x, y = np.asarray(places).T
    return np.minimum(np.abs(y), np.abs(x - 0.4))


@pytest.mark.parametrize("seconds", [0.3, 1.0, 20.0])
def test_it_is_the_same_way_within_the_limits_however_it_was_come(seconds):
    way = back(around_a_corner(seconds))
    assert off_the_corner(way).max() < 5e-3 * 0.4
    np.testing.assert_allclose(way[0], [0.4, 0.4], atol=1e-3)
    np.testing.assert_array_equal(way[-1], [0.0, 0.0])
    speed = np.diff(way, axis=0) / PERIOD
    assert np.abs(speed).max() <= 0.5 + 1e-9
    assert np.abs(np.diff(speed, axis=0)).max() / PERIOD <= 20.0


def test_a_slow_way_is_gone_back_at_walking_speed():
    assert len(back(around_a_corner(100.0))) * PERIOD < 12.0


def test_standing_takes_no_time():
    moving = around_a_corner()
    standing = np.repeat(moving[-1:], 100_000, axis=0)
    assert len(back([*moving, *standing])) == len(back(moving))


def test_where_it_has_been_already_is_not_gone_twice():
    """Out around a corner and back to where it was at first: there is nothing left to go."""
    out = around_a_corner()
    assert len(back([*out, *out[::-1]])) < 20
    half = back([*out, *out[:100:-1]])
    assert off_the_corner(half).max() < 2e-3
    assert half[:, 1].max() < 1e-3


def test_nothing_sent_is_nothing_to_go():
    assert back([]).size == 0


def test_a_robot_leaves_by_the_way_it_came(arm):
    robot = SafeRobot(arm, SafetyConfig(motion=MOTION, hold_time=0.1), None, arm.clock)
    robot.trail = Trail()
    with robot:
        for row in around_a_corner():
            robot.send(row)
        first = len(arm.sent)
    home = np.array(arm.sent[first:])
    assert off_the_corner(home).max() < 2e-3
    np.testing.assert_array_equal(home[-1], [0.0, 0.0])
    assert robot.report.trips == []


def test_an_exception_in_motion_leads_back_the_same_way(arm):
    robot = SafeRobot(arm, SafetyConfig(motion=MOTION, hold_time=0.1), None, arm.clock)
    robot.trail = Trail()
    with contextlib.suppress(ZeroDivisionError), robot:
        for row in around_a_corner()[:150]:
            robot.send(row)
        first = len(arm.sent)
        raise ZeroDivisionError
    home = np.array(arm.sent[first:])
    braking = np.linalg.norm(home - home[0], axis=1).argmin()
    assert off_the_corner(home[braking:]).max() < 5e-3
    np.testing.assert_array_equal(home[-1], [0.0, 0.0])


def shifted(rows, by):
    trail = Trail()
    for row in rows:
        trail.add(row)
        trail.shift(by)
    return np.array([motion.value for motion in trail.back(LIMITS, PERIOD)])


def test_it_gets_clear_straight_before_it_goes_back_beside_its_way():
    rows = np.column_stack([np.linspace(0.0, 0.4, 101), np.zeros(101)])
    way = shifted(rows, [0.0, 0.1])
    off = way[:, 1]
    clearing = np.flatnonzero(off >= 0.1 - 1e-12)[0]
    np.testing.assert_allclose(way[: clearing + 1, 0], 0.4, atol=1e-12)
    assert (np.diff(off[: clearing + 1]) > 0.0).all()
    np.testing.assert_allclose(off[clearing:], 0.1, atol=1e-12)
    np.testing.assert_allclose(way[-1], [0.0, 0.1], atol=1e-12)
    speed = np.diff([rows[-1], *way], axis=0) / PERIOD
    assert np.abs(speed).max() <= 0.5 + 1e-9
    assert np.abs(np.diff([np.zeros(2), *speed[:clearing]], axis=0)).max() / PERIOD <= 20.0


def test_what_is_beside_the_way_stays_within_the_range():
    rows = np.column_stack([np.linspace(0.0, 0.4, 101), np.full(101, 0.95)])
    assert shifted(rows, [0.0, 0.2])[:, 1].max() == 1.0


def test_no_shift_is_the_way_itself():
    rows = around_a_corner()
    np.testing.assert_array_equal(shifted(rows, [0.0, 0.0]), back(rows))
