import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import ConfigurationError, OutOfBoundsError
from pliant.hardware.limits import Bounds, Motion, MotionLimits, bounds, braking_speed, limit_motion
from pliant.hardware.robot import Channel

PERIOD = 0.01
LIMITS = Bounds(np.array([-1.0]), np.array([1.0]), np.array([2.0]), np.array([20.0]))
CHANGE = 20.0 * PERIOD


def follow(targets, limits=LIMITS, start=0.0):
    """Return what is sent for a list of targets."""
    last = Motion(np.array([start]), np.zeros(1))
    before, sent = start, [last]
    for target in targets:
        flow = (target - before) / PERIOD
        last = limit_motion(Motion(np.array([target]), np.array([flow])), last, limits, PERIOD)
        sent.append(last)
        before = target
    return np.array([m.value[0] for m in sent]), np.array([m.speed[0] for m in sent])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.floats(-1, 1))
def test_no_command_whatever_breaks_a_limit(targets, start):
    value, speed = follow(targets, start=start)
    assert (np.abs(value) <= 1 + 1e-12).all()
    assert (np.abs(np.diff(value)) <= 2.0 * PERIOD + 1e-12).all()
    assert (np.abs(np.diff(speed)) <= CHANGE + 1e-9).all()
    assert np.diff(value) == pytest.approx(speed[1:] * PERIOD, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 0.9), st.floats(0.1, 2.0))
def test_a_motion_within_the_limits_passes_unchanged(amplitude, frequency):
    frequency = min(frequency, 1.9 / amplitude / 2 / math.pi, math.sqrt(18 / amplitude) / 2 / math.pi)
    time = np.arange(1, 300) * PERIOD
    targets = amplitude * (1 - np.cos(2 * math.pi * frequency * time)) / 2
    value, _ = follow(targets)
    assert value[1:] == pytest.approx(targets, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_jump_becomes_a_walk_that_arrives_and_does_not_swing_past(start, goal):
    value, speed = follow([goal] * 250, start=start)
    assert value[-1] == goal
    assert speed[-1] == 0
    away = (value - start) * np.sign(goal - start)
    assert (np.diff(away) >= -1e-12).all()
    assert away.max() <= abs(goal - start) + 1e-12


def test_a_jump_takes_hardly_longer_than_the_limits_allow():
    value, _ = follow([1.0] * 120)
    arrival = int(np.argmax(value == 1.0)) * PERIOD
    assert arrival == pytest.approx(1.0 / 2.0 + 2.0 / 20.0, abs=3 * PERIOD)


def test_a_moving_target_is_caught_up_with_and_then_followed_exactly():
    targets = -0.9 + 0.5 * np.arange(1, 300) * PERIOD
    value, _ = follow(targets, start=0.0)
    assert value[-1] == pytest.approx(targets[-1], abs=1e-9)


def test_the_end_of_the_range_is_met_gently():
    value, speed = follow([1.5 * PERIOD * k for k in range(1, 120)])
    assert value[30] == pytest.approx(1.5 * PERIOD * 30), "far from the end it follows"
    assert value[-1] == 1.0
    assert (np.abs(np.diff(value, 2)) / PERIOD <= CHANGE + 1e-9).all()
    assert np.diff(value) == pytest.approx(speed[1:] * PERIOD, abs=1e-9)


def test_from_outside_the_range_the_way_is_back_at_limited_speed():
    value, _ = follow([1.0] * 60, start=1.3)
    assert value.max() == 1.3
    assert value[-1] == 1.0
    assert (np.abs(np.diff(value)) <= 2.0 * PERIOD + 1e-12).all()
    value, _ = follow([5.0] * 60, start=1.3)
    assert value.max() == 1.3


@given(st.floats(0, 10), st.floats(0.1, 100), st.floats(0.001, 0.1))
def test_one_stops_within_the_distance_from_the_braking_speed(distance, acceleration, period):
    speed = float(braking_speed(np.array([distance]), np.array([acceleration]), period)[0])
    travelled = 0.0
    while speed > 0:
        travelled += speed * period
        speed -= acceleration * period
    assert travelled <= distance * (1 + 1e-9) + acceleration * period**2 * 1e-6


def test_the_largest_step_holds_whatever_the_period():
    channels = (Channel("a/position", "rad", -1, 1),)
    limits = [MotionLimits(speed=10.0, acceleration=1e6, step=0.05)]
    for period in (0.001, 0.1):
        found = bounds(limits, channels, period, walk=False)
        assert found.speed[0] * period <= 0.05 + 1e-12


def test_a_walk_is_slower_and_the_robots_own_range_stays():
    channels = (Channel("a/position", "rad", -1, 1),)
    limits = [MotionLimits(speed=2.0, acceleration=20.0, low=-5.0, high=0.5)]
    assert bounds(limits, channels, 0.01, walk=True).speed[0] == 0.5
    assert bounds(limits, channels, 0.01, walk=False).low[0] == -1.0
    assert bounds(limits, channels, 0.01, walk=False).high[0] == 0.5


def test_limits_that_make_no_sense_are_refused():
    with pytest.raises(OutOfBoundsError, match="speed limit"):
        MotionLimits(speed=0.0, acceleration=1.0)
    with pytest.raises(OutOfBoundsError, match="acceleration limit is nan"):
        MotionLimits(speed=1.0, acceleration=math.nan)
    with pytest.raises(OutOfBoundsError, match="walk speed"):
        MotionLimits(speed=1.0, acceleration=1.0, walk_speed=2.0)
    with pytest.raises(ConfigurationError, match="step"):
        MotionLimits(speed=1.0, acceleration=1.0, step=math.nan)
    with pytest.raises(ConfigurationError, match="lies outside the robot's own"):
        bounds([MotionLimits(1.0, 1.0, low=2.0)], (Channel("a", "rad", -1, 1),), 0.01, walk=False)
