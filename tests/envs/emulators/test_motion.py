"""The laws of the firmware: profiles and controllers."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.envs.emulators.dynamixel import profile
from pliant.envs.emulators.dynamixel.motion import Gains, Loop, pid
from pliant.envs.emulators.dynamixel.profile import Limits, Reference, Shape

DT = 0.002


def follow(goal: float, limits: Limits, start: Reference = Reference(0.0), longest: int = 50_000):  # noqa: B008
    """All states of a profile until it is at its goal."""
    states = [start]
    while states[-1] != Reference(goal) and len(states) < longest:
        states.append(profile.advance(states[-1], goal, limits, DT))
    return states


def test_trapezoid_takes_the_time_of_its_formula():
    """t = distance/v + v/a."""
    states = follow(2.0, Limits(1.0, 4.0))
    assert len(states) * DT == pytest.approx(2.0 + 0.25, abs=0.01)
    assert max(s.velocity for s in states) == pytest.approx(1.0)


def test_triangle_takes_the_time_of_its_formula():
    """t = 2·√(distance/a)."""
    states = follow(0.1, Limits(10.0, 4.0))
    assert len(states) * DT == pytest.approx(2 * math.sqrt(0.1 / 4.0), abs=0.01)


def test_rectangle_moves_at_its_speed_at_once():
    states = follow(-0.5, Limits(2.0, math.inf))
    assert states[1].velocity == -2.0
    assert len(states) * DT == pytest.approx(0.25, abs=0.003)


angles, speeds, accelerations = st.floats(-3, 3), st.floats(0.5, 5), st.floats(0.5, 50)


@settings(max_examples=150, deadline=None)
@given(angles, angles, st.floats(-2, 2), speeds, accelerations)
def test_profile_arrives_within_its_speed_and_acceleration(start, goal, velocity, speed, acceleration):
    limits = Limits(speed, acceleration)
    states = follow(goal, limits, Reference(start, velocity))
    assert states[-1] == Reference(goal)
    for before, after in itertools.pairwise(states[:-1]):
        assert abs(after.velocity - before.velocity) <= acceleration * DT * (1 + 1e-9)
        assert abs(after.velocity) <= max(speed, abs(velocity)) * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 3), speeds, accelerations)
def test_profile_from_rest_never_passes_its_goal(goal, speed, acceleration):
    assert all(s.position <= goal * (1 + 1e-9) for s in follow(goal, Limits(speed, acceleration)))


@pytest.mark.parametrize(
    ("limits", "shape"),
    [
        (Limits(math.inf, math.inf), Shape.STEP),
        (Limits(math.inf, 4.0), Shape.STEP),
        (Limits(1.0, math.inf), Shape.RECTANGULAR),
        (Limits(1.0, 4.0), Shape.TRAPEZOIDAL),
        (Limits(10.0, 4.0), Shape.TRIANGULAR),
    ],
)
def test_shape_follows_from_limits_and_distance(limits, shape):
    assert profile.shape(Reference(0.0), 1.0, limits) == shape


def test_timed_profile_takes_its_time():
    limits = profile.timed(-1.5, 1.0, 0.2)
    assert len(follow(-1.5, limits)) * DT == pytest.approx(1.0, abs=0.01)
    assert profile.timed(1.0, 1.0, 0.9) == profile.timed(1.0, 1.0, 0.5)
    assert profile.timed(1.0, 0.0, 0.1) == Limits(math.inf, math.inf)


def test_pid_is_its_gains_times_counts_over_885():
    duty, loop = pid(50.0, Loop(), Gains(800 / 128, 0.0), 1.0)
    assert duty == pytest.approx(800 / 128 * 50 / 885)
    duty, _ = pid(60.0, loop, Gains(0.0, 0.0, 2.0), 1.0)
    assert duty == pytest.approx(2.0 * 10 / 885)
    duty, _ = pid(60.0, loop, Gains(0.0, 0.5), 1.0)
    assert duty == pytest.approx(0.5 * 110 / 885)


def test_pid_keeps_its_limit_and_does_not_wind_up():
    loop = Loop()
    for _ in range(1000):
        duty, loop = pid(1000.0, loop, Gains(1.0, 0.1), 0.5)
        assert duty == 0.5
    assert loop.total <= 0.5 * 885 / 0.1
    duty, _ = pid(-500.0, loop, Gains(1.0, 0.1), 0.5)
    assert duty < 0.0
