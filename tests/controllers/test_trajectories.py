import tempfile
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.polynomial import Polynomial
from omegaconf import OmegaConf

from pliant.controllers import Chirp, MinimumJerk, Recorded, Sine, Step, desired_motion, for_joints, sample
from pliant.controllers.trajectories import joint_ranges
from pliant.errors import (
    FileFormatError,
    MismatchError,
    MissingFileError,
    OutOfBoundsError,
    ShapeError,
    UnknownNameError,
)
from pliant.hardware.robot import Channel, RobotInfo

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


@given(arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 4)), elements=finite), st.floats(-5, 5))
def test_a_recording_comes_back_from_both_kinds_of_file(samples, first):
    time = first + np.arange(len(samples)) * 0.25
    names = [f"joint {i}" for i in range(samples.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        table, archive = Path(folder, "a.csv"), Path(folder, "a.npz")
        rows = [",".join(["time", *names]), *(",".join(map(repr, row)) for row in np.c_[time, samples].tolist())]
        table.write_text("\n".join(rows))
        np.savez(archive, time=time, position=samples, joints=names)
        for loaded in (Recorded.load(table), Recorded.load(archive)):
            assert loaded.names == tuple(names)
            assert loaded.duration == time[-1] - time[0]
            np.testing.assert_array_equal(loaded.samples, samples)
            np.testing.assert_allclose(loaded.position(time - first), samples, atol=1e-12)


def test_a_sampled_motion_can_be_stored_and_replayed(tmp_path):
    motion = sample(KINDS[0], 0.01)
    np.savez(tmp_path / "motion.npz", joints=["shoulder", "elbow"], **motion._asdict())
    np.testing.assert_array_equal(sample(Recorded.load(tmp_path / "motion.npz"), 0.01).position, motion.position)


def test_columns_without_names_are_named_by_whoever_knows_them(tmp_path):
    motion = sample(KINDS[0], 0.01)
    np.savez(tmp_path / "motion.npz", **motion._asdict())
    with pytest.raises(FileFormatError, match=r"2 columns without names.*joints="):
        Recorded.load(tmp_path / "motion.npz")
    recorded = Recorded.load(tmp_path / "motion.npz", ["elbow", "shoulder"])
    swapped = for_joints(recorded, ["shoulder", "elbow"])
    np.testing.assert_array_equal(swapped.samples, motion.position[:, ::-1])


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_recorded_motion_finds_its_joints_by_name(tmp_path, suffix):
    file = store(tmp_path / f"motion{suffix}", {"elbow": [0.1, 0.2], "shoulder": [0.3, 0.4]})
    matched = for_joints(Recorded.load(file), ["shoulder", "elbow"])
    np.testing.assert_array_equal(matched.position(1.0), [0.4, 0.2])


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("hip", "knee"), "'hip' is unknown.*'knee' is unknown.*'shoulder' is missing.*'elbow' is missing"),
        (("elbow",), "'shoulder' is missing"),
        (("hip",), "'hip' is unknown"),
        (("shoulder", "elbow", "wrist"), "'wrist' is unknown"),
    ],
)
def test_columns_that_the_robot_does_not_have_and_missing_ones_are_named(tmp_path, suffix, columns, message):
    recorded = Recorded.load(store(tmp_path / f"motion{suffix}", {name: [0.0, 0.1] for name in columns}))
    with pytest.raises(MismatchError, match=f"(?s)whose joints are shoulder, elbow.*{message}"):
        for_joints(recorded, ["shoulder", "elbow"], one_for_all=True)


def test_one_column_moves_all_joints_only_if_that_is_asked_for(tmp_path):
    file = store(tmp_path / "motion.csv", {"hip": [0.0, 0.4]})
    both = for_joints(Recorded.load(file, spread=True), ["shoulder", "elbow"])
    np.testing.assert_array_equal(both.position(0.5), [0.2, 0.2])
    with pytest.raises(FileFormatError, match="one column can be spread over all joints, not 2"):
        Recorded.load(store(tmp_path / "two.csv", {"a": [0.0, 1.0], "b": [0.0, 1.0]}), spread=True)


def test_a_trajectory_of_numbers_moves_as_many_joints_as_it_has():
    single, pair = MinimumJerk(0.0, 0.8, 1.0), MinimumJerk([0.0, 0.1], [0.8, 0.9], 1.0)
    assert for_joints(pair, ["a", "b"]) is pair
    assert for_joints(single, ["a", "b"], one_for_all=True) is single
    for wrong in (single, MinimumJerk([0.0] * 3, [1.0] * 3, 1.0), Recorded([0, 1], [[0.0], [1.0]])):
        with pytest.raises(ShapeError, match=r"the robot has 2: a, b"):
            for_joints(wrong, ["a", "b"])


def store(path, columns):
    """Write a motion of two samples a second apart."""
    names, values = list(columns), np.array(list(columns.values()), dtype=float).T
    if path.suffix == ".npz":
        np.savez(path, time=[0.0, 1.0], position=values, joints=names)
    else:
        lines = [",".join(["time", *names]), *(",".join(map(str, [k, *row])) for k, row in enumerate(values))]
        path.write_text("\n".join(lines))
    return path


def test_joints_are_taken_by_name_not_by_place(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeffelbow, time ,shoulder\n1,0,2\n\n3,1,4\n", encoding="utf-8")
    np.testing.assert_array_equal(Recorded.load(path).position(1.0), [3, 4])
    np.testing.assert_array_equal(Recorded.load(path, ["shoulder", "elbow"]).position(1.0), [4, 3])
    assert Recorded.load(path, ["shoulder"]).joints == 1
    with pytest.raises(UnknownNameError, match=r"unknown joint 'elbo' .*Did you mean 'elbow'"):
        Recorded.load(path, ["shoulder", "elbo"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "first line must name the column 'time'.*it has nothing"),
        ("0,1\n1,2\n", "first line must name"),
        ("time\n0\n1\n", "one different column per joint"),
        ("time,a,a\n0,1,1\n", "one different column per joint"),
        ("time,a\n0,1\n1,x\n", "line 3: could not convert string to float: 'x'"),
        ("time,a\n0,1\n1\n", "line 3: 1 values for 2 columns"),
        ("time,a\n", "Recorded time has shape"),
        ("time,a\n0,1\n", "at least 2"),
        ("time,a\n0,1\n1,nan\n", r"samples\[1, 0\] is nan"),
        ("time,a\n0,1\n0,2\n", "time must increase; sample 1 is at 0 s"),
        ("time,a\n1,1\n0.5,2\n", "time must increase"),
    ],
)
def test_a_wrong_csv_is_refused_with_the_place(tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(FileFormatError, match=f"a.csv.*{message}"):
        Recorded.load(path)


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match=r"trajectory .*a\.csv does not exist"):
        Recorded.load(tmp_path / "a.csv")
    (tmp_path / "a.txt").touch()
    with pytest.raises(FileFormatError, match=r"no known kind; valid: \.csv, \.npz"):
        Recorded.load(tmp_path / "a.txt")
    (tmp_path / "b.csv").write_bytes(b"time,a\n0,\xff\xfe")
    with pytest.raises(FileFormatError, match="cannot be read as CSV"):
        Recorded.load(tmp_path / "b.csv")
    np.savez(tmp_path / "a.npz", time=np.arange(3))
    with pytest.raises(FileFormatError, match="lacks the array 'position'"):
        Recorded.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", time=np.arange(3), position=np.zeros((2, 2)))
    with pytest.raises(FileFormatError, match=r"b\.npz.*shape"):
        Recorded.load(tmp_path / "b.npz")


ARM = RobotInfo(
    "arm",
    ("shoulder", "elbow"),
    (),
    (
        Channel("shoulder/equilibrium", "rad", -1.5, 1.5),
        Channel("shoulder/preset", "rad", 0.0, 0.6, 0.2),
        Channel("elbow/torque", "N·m", -5.0, 5.0),
    ),
    0.01,
)


def test_a_range_is_what_a_joints_own_columns_reach_and_two_turns_where_none_is_known():
    np.testing.assert_allclose(joint_ranges(ARM), [[-1.5, -4 * np.pi], [1.5, 4 * np.pi]])


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (
            MinimumJerk([0.0, 0.0], [90.0, 0.5], 1.0),
            r"joint 'shoulder' of robot 'arm' is asked for 90 rad at 1 s, outside its range of "
            r"\[-1\.5, 1\.5\] rad \(angles are in rad\)",
        ),
        (MinimumJerk([0.0, 0.0], [45.0, 0.5], 1.0), "45° would be 0.7854 rad"),
        (Step([0.0, -30.0], [0.0, 0.0], 0.5, 1.0), "joint 'elbow'.* -30 rad at 0 s"),
        (Recorded([0.0, 1.0], [[0.0, 0.0], [0.0, 1.6]], ("elbow", "shoulder")), "joint 'shoulder'.* 1.6 rad"),
        (Sine(1.4, 3.0, 0.2, 4.0), "joint 'shoulder'.* 1.6 rad"),
    ],
)
def test_a_trajectory_beyond_the_range_of_a_joint_is_refused_with_what_where_and_the_range(trajectory, message):
    with pytest.raises(OutOfBoundsError, match=message):
        desired_motion(trajectory, ARM, one_for_all=True)


def test_a_trajectory_up_to_the_very_end_of_the_range_is_accepted():
    motion = desired_motion(MinimumJerk([-1.5, 0.0], [1.5, 12.0], 1.0), ARM)
    np.testing.assert_allclose(motion.position[-1], [1.5, 12.0])
