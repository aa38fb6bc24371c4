import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.controllers import MinimumJerk, Recorded, for_joints, sample
from pliant.errors import (
    FileFormatError,
    MismatchError,
    MissingFileError,
    UnknownNameError,
)

LIFT = MinimumJerk([0.0, -0.2], [0.8, 0.5], 2.0)
finite = st.floats(-10, 10)


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
    motion = sample(LIFT, 0.01)
    np.savez(tmp_path / "motion.npz", joints=["shoulder", "elbow"], **motion._asdict())
    np.testing.assert_array_equal(sample(Recorded.load(tmp_path / "motion.npz"), 0.01).position, motion.position)


def test_columns_without_names_are_named_by_whoever_knows_them(tmp_path):
    motion = sample(LIFT, 0.01)
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
