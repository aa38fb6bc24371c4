from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from omegaconf import OmegaConf

from pliant.controllers import Chirp, MinimumJerk, Recorded, Sine, Step, sample
from pliant.errors import (
    OutOfBoundsError,
    ShapeError,
)

RAMP = Recorded([0.0, 0.5, 2.0], [[0.0, 1.0], [1.0, 1.0], [1.0, -2.0]], ("shoulder", "elbow"))
KINDS = [
    MinimumJerk([0.0, -0.2], [0.8, 0.5], 2.0),
    Step([0.0, 0.1], [0.8, -0.3], 0.7, 2.0),
    Sine([0.8, 0.4], [0.8, 3.0], [0.1, 0.0], 2.0),
    Chirp([0.15, 0.1], 0.5, 6.0, 2.0, offset=0.2),
    RAMP,
]
kinds = pytest.mark.parametrize("trajectory", KINDS, ids=lambda kind: type(kind).__name__)
finite = st.floats(-10, 10)


@kinds
def test_the_velocity_is_the_derivative_of_the_position(trajectory):
    t = np.linspace(0.013, 1.987, 300)
    t = t[(np.abs(t - 0.5) > 0.002) & (np.abs(t - 0.7) > 0.002)]  # where Recorded has a corner, Step a step
    h = 1e-5
    numeric = (trajectory.position(t + h) - trajectory.position(t - h)) / (2 * h)
    np.testing.assert_allclose(trajectory.velocity(t), numeric, atol=1e-5)


@kinds
def test_time_may_have_any_shape(trajectory):
    t = np.array([[0.1, 0.2, 0.3], [1.0, 1.5, 1.9]])
    for motion in (trajectory.position, trajectory.velocity):
        assert motion(0.3).shape == (2,)
        assert motion([]).shape == (0, 2)
        assert motion(t).shape == (2, 3, 2)
        np.testing.assert_array_equal(motion(t)[1, 2], motion(1.9))


@kinds
def test_it_rests_before_the_start_and_after_the_end(trajectory):
    np.testing.assert_array_equal(trajectory.position([-1.0, 9.0]), trajectory.position([0.0, 2.0]))
    assert (trajectory.velocity([-1.0, 9.0]) == 0.0).all()


@kinds
def test_a_time_that_is_not_finite_is_refused(trajectory):
    with pytest.raises(OutOfBoundsError, match=r"time\[1\] is nan"):
        trajectory.position([0.0, np.nan])


@kinds
def test_a_trajectory_cannot_be_changed(trajectory):
    with pytest.raises(FrozenInstanceError):
        trajectory.duration = 3.0


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=4), st.floats(0.1, 100))
def test_minimum_jerk_starts_and_ends_at_rest_without_acceleration(ends, duration):
    start, goal = zip(*ends, strict=True)
    trajectory = MinimumJerk(start, goal, duration)
    np.testing.assert_allclose(trajectory.position([0, duration]), [start, goal], atol=1e-12)
    np.testing.assert_array_equal(trajectory.velocity([0, duration]), 0.0)
    h = 1e-4 * duration  # velocity grows as the square of the time from either end: acceleration is zero there
    speed = np.abs(np.subtract(goal, start)) / duration
    assert (np.abs(trajectory.velocity([h, duration - h])) <= 30.1 * 1e-8 * speed + 1e-15).all()


@given(finite, finite, st.floats(0.1, 100))
def test_minimum_jerk_is_fastest_halfway(start, goal, duration):
    trajectory = MinimumJerk(start, goal, duration)
    speed = np.abs(trajectory.velocity(np.linspace(0, duration, 101)))
    peak = 1.875 * abs(goal - start) / duration
    assert speed.max() == pytest.approx(peak)
    assert abs(trajectory.velocity(duration / 2)[0]) == pytest.approx(peak)
    np.testing.assert_allclose(trajectory.position(duration / 2), (start + goal) / 2, atol=1e-12)


def test_minimum_jerk_has_less_jerk_than_its_neighbours():
    t = np.linspace(0, 1, 201)

    def cost(q):
        jerk = Polynomial.fit(t, q, 8).deriv(3)
        return (jerk**2).integ()(1.0) - (jerk**2).integ()(0.0)

    best = MinimumJerk(0.0, 1.0, 1.0).position(t)[:, 0]
    bump = (t * (1 - t)) ** 3  # keeps position, velocity and acceleration at both ends
    assert cost(best) == pytest.approx(720.0)
    for neighbour in (bump, bump * (t - 0.5), bump * t):
        assert cost(best + 0.1 * neighbour) > cost(best)
        assert cost(best - 0.1 * neighbour) > cost(best)


def test_a_step_happens_at_its_time_however_the_sampling_rounds():
    for period in (0.001, 0.1, 0.07):
        for k in range(1, 20):
            motion = sample(Step(0.0, 1.0, k * period, 20 * period), period)
            assert np.argmax(motion.position[:, 0] == 1.0) == k
            assert (motion.velocity == 0.0).all()


def test_a_sine_has_its_amplitude_offset_and_angular_frequency():
    sine = Sine(0.8, 0.8, 0.1, 20.0)
    np.testing.assert_allclose(sine.position(np.pi / 1.6), 0.9)
    np.testing.assert_allclose(sine.position(np.pi / 0.8), 0.1, atol=1e-15)
    np.testing.assert_allclose(sine.velocity(0.0), 0.64)


def test_a_chirps_frequency_goes_linearly_from_one_end_to_the_other():
    chirp = Chirp(0.15, 0.5, 6.0, 30.0)
    t = np.linspace(0, 30, 200_001)
    q = chirp.position(t)[:, 0]
    crossings = t[1:][(q[1:] > 0) & (q[:-1] <= 0)]
    middle, cycle = (crossings[1:] + crossings[:-1]) / 2, np.diff(crossings)
    np.testing.assert_allclose(1 / cycle, 0.5 + 5.5 * middle / 30, rtol=0.01)
    np.testing.assert_allclose(chirp.frequency([0, 15, 30]), [0.5, 3.25, 6.0])
    assert np.abs(q).max() == pytest.approx(0.15, rel=1e-6)


def test_recorded_samples_are_joined_by_straight_lines():
    np.testing.assert_allclose(RAMP.position([0.25, 1.25]), [[0.5, 1.0], [1.0, -0.5]])
    np.testing.assert_allclose(RAMP.velocity([0.0, 0.5, 2.0]), [[2.0, 0.0], [0.0, -2.0], [0.0, -2.0]])


def test_one_number_serves_every_joint_and_trajectories_compare():
    assert MinimumJerk(0, [0.8, 0.5], 2) == MinimumJerk((0.0, 0.0), np.array([0.8, 0.5]), 2.0)
    assert MinimumJerk(0, 1, 2).joints == 1
    assert Sine([1, 2, 3], 1, 0, 1).joints == 3
    assert hash(Step(0, 1, 0, 1)) == hash(Step([0.0], [1.0], 0, 1.0))


def test_sampling_includes_both_ends():
    motion = sample(MinimumJerk([0, 0], [0.8, 0.8], 20.0), 1e-3)
    assert motion.time.shape == (20_001,)
    assert motion.position.shape == motion.velocity.shape == (20_001, 2)
    assert motion.time[-1] == pytest.approx(20.0)
    assert motion.period == 1e-3
    np.testing.assert_allclose(motion.position[-1], 0.8)


@given(st.integers(1, 5000), st.floats(1e-4, 0.1))
def test_a_duration_of_m_periods_has_m_plus_one_samples(m, period):
    assert len(sample(MinimumJerk(0, 1, m * period), period).time) == m + 1


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, 2.1])
def test_a_period_that_samples_nothing_is_refused(period):
    with pytest.raises(OutOfBoundsError, match="period"):
        sample(MinimumJerk(0, 1, 2), period)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MinimumJerk([0, 0], [1, 1, 1], 1), ShapeError, "start has 2, goal has 3"),
        (lambda: MinimumJerk([], [], 1), ShapeError, r"start has shape \(0,\)"),
        (lambda: MinimumJerk([[0]], 1, 1), ShapeError, "one number or one per joint"),
        (lambda: MinimumJerk("a", 1, 1), ShapeError, "MinimumJerk start is not an array of numbers"),
        (lambda: MinimumJerk([0, np.nan], 1, 1), OutOfBoundsError, r"MinimumJerk start\[1\] is nan"),
        (lambda: MinimumJerk(0, 1, 0), OutOfBoundsError, "MinimumJerk duration is 0"),
        (lambda: Step(0, 1, 3, 2), OutOfBoundsError, r"Step at = 3 s is outside \[0, 2\] s"),
        (lambda: Sine(1, np.inf, 0, 1), OutOfBoundsError, "Sine frequency is inf"),
        (lambda: Chirp(1, -0.5, 6, 1), OutOfBoundsError, "Chirp f0 = -0.5"),
        (lambda: Chirp(1, 0.5, np.nan, 1), OutOfBoundsError, "Chirp f1"),
        (lambda: Recorded([0, 1, 1], [[0], [0], [0]]), OutOfBoundsError, "sample 2 is at 1 s"),
        (lambda: Recorded([0], [[0]]), ShapeError, "at least 2"),
        (lambda: Recorded([0, 1], [0, 1]), ShapeError, "samples has shape"),
        (lambda: Recorded([0, 1], [[0, 1], [0, 1]], ("a", "a")), ShapeError, "different names"),
        (lambda: Recorded([0, 1], [[0, 1], [0, 1]], ("a",)), ShapeError, "2 joints need"),
    ],
)
def test_wrong_values_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"_target_": "pliant.controllers.MinimumJerk", "start": 0, "goal": [0.8, 0.8], "duration": 20}, None),
        (
            {
                "_target_": "pliant.controllers.trajectories.Chirp",
                "amplitude": [0.15],
                "f0": 1,
                "f1": 6,
                "duration": 9,
            },
            None,
        ),
        ({"_target_": "pliant.controllers.Recorded.load", "path": "wave.csv", "joints": ["b", "a"]}, [4.0, 2.0]),
    ],
)
def test_a_configuration_builds_a_trajectory(config, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("wave.csv").write_text("time,a,b\n0,1,3\n1,2,4\n")
    trajectory = instantiate(OmegaConf.create(config))
    if expected is None:
        assert trajectory.position(0.5).shape == (trajectory.joints,)
    else:
        np.testing.assert_array_equal(trajectory.position(1.0), expected)
