import json
import tempfile
from dataclasses import FrozenInstanceError, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.controllers import FeedForward, Playback
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MismatchError,
    MissingFileError,
    OutOfBoundsError,
    OutputError,
    ShapeError,
)
from pliant.files import read_npz
from pliant.hardware.robot import Channel, RobotInfo

PARAMETERS = {"shoulder": {"law": "qbmove", "k1": 0.01038, "a": (6.257, 3.9)}, "mode": 6}
INFO = RobotInfo(
    name="arm",
    joints=("shoulder", "elbow"),
    motors=(),
    command=(
        Channel("shoulder/equilibrium", "rad", -1.5, 1.5),
        Channel("shoulder/preset", "rad", 0.0, 0.6),
        Channel("elbow/equilibrium", "rad", -1.0, 1.0),
    ),
    period=0.01,
    parameters=PARAMETERS,
)
COMMAND = np.linspace(0.0, 0.5, 30).reshape(10, 3)
DESIRED = np.linspace(0.0, 0.9, 20).reshape(10, 2)
FF = FeedForward.of_robot(INFO, COMMAND, desired=DESIRED, expected=DESIRED + 0.01)


def permuted(order, joints=(1, 0)):
    """Return the same robot with its columns and joints in another order."""
    return replace(
        INFO,
        joints=tuple(INFO.joints[i] for i in joints),
        command=tuple(INFO.command[i] for i in order),
        signals=(),
    )


def mismatch(feedforward, info, **options):
    with pytest.raises(MismatchError) as caught:
        feedforward.check(info, **options)
    return str(caught.value)


def test_it_says_what_it_was_learned_on():
    assert FF.columns == INFO.command_names
    assert FF.units == ("rad", "rad", "rad")
    assert FF.joints == INFO.joints
    assert (FF.robot, FF.period) == ("arm", 0.01)
    assert FF.duration == pytest.approx(0.1)
    np.testing.assert_allclose(FF.time, np.arange(10) * 0.01)
    assert set(FF.versions) == {"python", "pliant", "numpy", "mujoco"}
    FF.check(INFO, parameters=True)


@settings(max_examples=30)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1e6, 1e6)),
    st.floats(1e-4, 1.0),
    st.booleans(),
)
def test_it_comes_back_from_its_file_bit_for_bit(command, period, with_motion):
    motion = command[:, :2] if with_motion else None
    written = FeedForward.of_robot(replace(INFO, period=period), command, desired=motion, expected=motion)
    with tempfile.TemporaryDirectory() as folder:
        written.save(Path(folder) / "feedforward.npz")
        back = FeedForward.load(Path(folder) / "feedforward.npz")
    for name in ("time", "command", "desired", "expected"):
        np.testing.assert_array_equal(getattr(back, name), getattr(written, name))
    for name in ("columns", "units", "joints", "robot", "period", "parameters", "versions"):
        assert getattr(back, name) == getattr(written, name)
    back.check(replace(INFO, period=period, command=wide(INFO.command)), parameters=True)


def wide(command):
    return tuple(replace(channel, low=-1e6, high=1e6) for channel in command)


def test_the_file_can_be_read_without_this_package(tmp_path):
    FF.save(tmp_path / "ff.npz")
    with np.load(tmp_path / "ff.npz") as archive:
        assert set(archive.files) == {"time", "command", "metadata", "desired", "expected"}
        metadata = json.loads(str(archive["metadata"]))
    assert metadata["columns"] == list(INFO.command_names)
    assert metadata["parameters"]["shoulder"] == {"law": "qbmove", "k1": 0.01038, "a": [6.257, 3.9]}


def test_a_folder_that_cannot_be_written_is_an_output_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a file stands where a folder is needed"):
        FF.save(tmp_path / "file" / "ff.npz")


def test_it_and_its_arrays_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        FF.period = 0.02
    with pytest.raises(ValueError, match="read-only"):
        FF.command[0, 0] = 9.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"command": COMMAND[:, :2]}, ShapeError, r"command has shape \(10, 2\); \(any, 3\)"),
        ({"command": COMMAND[:4]}, ShapeError, "time has shape"),
        ({"command": np.where(COMMAND >= 0.5, np.nan, COMMAND)}, OutOfBoundsError, r"\[9, 2\] is nan"),
        ({"time": np.arange(10) * 0.02}, ShapeError, r"time must be 0, 0\.01 s, 0\.02 s"),
        ({"time": FF.time[::-1]}, ShapeError, "time must be"),
        ({"period": 0.0}, OutOfBoundsError, "period is 0"),
        ({"units": ("rad",)}, ShapeError, "3 columns but 1 units"),
        ({"desired": DESIRED[:, :1]}, ShapeError, "desired has shape"),
        ({"expected": np.full_like(DESIRED, np.inf)}, OutOfBoundsError, "expected"),
    ],
)
def test_contents_that_do_not_go_together_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        replace(FF, **change)


def test_files_that_are_no_feedforward_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match=r"feed-forward .* does not exist"):
        FeedForward.load(tmp_path / "ff.npz")
    (tmp_path / "a.npz").write_text("time,command")
    with pytest.raises(FileFormatError, match="not a NumPy archive"):
        FeedForward.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", time=FF.time)
    with pytest.raises(FileFormatError, match="lacks the array 'command', 'metadata'"):
        FeedForward.load(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"command": np.full((10, 3), np.nan)}, r"command\[0, 0\] is nan"),
        ({"time": np.zeros(10)}, "time must be"),
        ({"time": np.array(["a"] * 10)}, "not an array of numbers"),
        ({"metadata": np.array("{")}, "metadata lacks or garbles"),
        ({"metadata": np.array("[]")}, "metadata lacks or garbles"),
        ({"metadata": np.array('{"format": 1}')}, "lacks or garbles 'columns'"),
        ("columns", "ff.npz"),
        ("period", "period"),
    ],
)
def test_a_tampered_file_is_refused_with_its_name(tmp_path, change, message):
    path = tmp_path / "ff.npz"
    FF.save(path)
    contents = read_npz(path, "feed-forward", [])
    if isinstance(change, str):
        metadata = json.loads(str(contents["metadata"])) | {change: None}
        change = {"metadata": np.array(json.dumps(metadata))}
    np.savez(path, **(contents | change))
    with pytest.raises(FileFormatError, match=message) as caught:
        FeedForward.load(path)
    assert str(path) in str(caught.value)


def test_a_file_of_a_later_format_is_refused(tmp_path):
    path = tmp_path / "ff.npz"
    FF.save(path)
    contents = read_npz(path, "feed-forward", [])
    metadata = json.loads(str(contents["metadata"])) | {"format": 2}
    np.savez(path, **(contents | {"metadata": np.array(json.dumps(metadata))}))
    with pytest.raises(FileFormatError, match="is of format 2; this Pliant reads format 1"):
        FeedForward.load(path)


@given(st.permutations(range(3)), st.permutations(range(2)))
def test_another_order_is_mapped_by_name(order, joints):
    info = permuted(order, joints)
    arranged = FF.arranged(info)
    assert arranged.columns == info.command_names
    np.testing.assert_array_equal(arranged.command, COMMAND[:, order])
    np.testing.assert_array_equal(arranged.desired, DESIRED[:, joints])
    np.testing.assert_array_equal(arranged.expected, DESIRED[:, joints] + 0.01)
    np.testing.assert_array_equal(arranged.arranged(INFO).command, COMMAND)


def test_the_units_travel_with_their_columns():
    mixed = replace(INFO, command=(INFO.command[0], replace(INFO.command[1], unit="m"), INFO.command[2]))
    arranged = FeedForward.of_robot(mixed, COMMAND).arranged(
        replace(mixed, command=(mixed.command[1], mixed.command[2], mixed.command[0]))
    )
    assert arranged.units == ("m", "rad", "rad")
    assert arranged.desired is None
    assert arranged.expected is None


def test_versions_are_told_without_importing_and_an_absent_package_says_so(monkeypatch):
    def version(package):
        if package == "mujoco":
            raise metadata.PackageNotFoundError(package)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", version)
    found = FeedForward.of_robot(INFO, COMMAND).versions
    assert (found["numpy"], found["mujoco"]) == ("1.2.3", "not installed")


def test_the_name_of_the_robot_is_no_mismatch():
    FF.check(replace(INFO, name="the machine itself"))


def test_every_difference_is_listed_at_once():
    other = RobotInfo(
        name="other",
        joints=("elbow", "wrist"),
        motors=(),
        command=(
            Channel("elbow/equilibrium", "m", -0.1, 0.1),
            Channel("shoulder/equilibrium", "rad", -1.5, 1.5),
            Channel("wrist/equilibrium", "rad", -1.0, 1.0),
        ),
        period=0.002,
        parameters={"mode": 3},
    )
    message = mismatch(FF, other, parameters=True)
    for line in (
        "learned on 'arm' does not fit the robot 'other'",
        "joint 'shoulder' is unknown to the robot",
        "joint 'wrist' is missing in the file",
        "column 'shoulder/preset' is unknown to the robot",
        "column 'wrist/equilibrium' is missing in the file",
        "column 'elbow/equilibrium': unit 'rad' in the file, 'm' here",
        "column 'elbow/equilibrium': 8 of 10 values, which span [0.0344828, 0.5] rad, are outside [-0.1, 0.1] m",
        "period: 0.01 s in the file, 0.002 s here",
        "joints.mode: 6 in the file, 3 here",
    ):
        assert line in message


def test_a_permutation_is_mentioned_beside_other_differences():
    message = mismatch(FF, replace(permuted((2, 0, 1)), period=0.02))
    assert "joints in another order (by itself no obstacle): shoulder, elbow; here elbow, shoulder" in message
    assert "columns in another order" in message
    assert "order" not in mismatch(FF, replace(INFO, period=0.02))


def test_duplicate_names_are_refused_on_either_side():
    with pytest.raises(ConfigurationError, match="two command columns named 'shoulder/equilibrium'"):
        replace(INFO, command=(*INFO.command, INFO.command[0]))
    with pytest.raises(ConfigurationError, match="two signals named 'shoulder/position'"):
        replace(INFO, joints=("shoulder", "shoulder"), signals=())
    columns = ("shoulder/equilibrium", "shoulder/equilibrium", "elbow/equilibrium")
    assert "is 2 times in the file" in mismatch(replace(FF, columns=columns), INFO)


def test_parameters_count_unless_told_otherwise_and_survive_the_file(tmp_path):
    stiffer = replace(INFO, parameters={**PARAMETERS, "shoulder": {**PARAMETERS["shoulder"], "k1": 0.02}})
    FF.check(stiffer, parameters=False)
    message = mismatch(FF, stiffer)
    assert "joints.shoulder.k1: 0.01038 in the file, 0.02 here" in message
    assert "same_robot=false" in message
    FF.save(tmp_path / "ff.npz")
    FeedForward.load(tmp_path / "ff.npz").check(INFO)


def test_degrees_instead_of_radians_are_refused():
    degrees = replace(FF, command=np.degrees(COMMAND))
    assert "are outside [-1.5, 1.5] rad" in mismatch(degrees, INFO)


@given(st.integers(0, 40), st.floats(0.0, 0.99))
def test_a_command_holds_from_its_time_to_the_next_and_the_last_for_ever(k, fraction):
    np.testing.assert_array_equal(FF.at((k + fraction) * 0.01), COMMAND[min(k, 9)])


def test_commands_are_given_for_times_of_any_shape():
    assert FF.at([[0.0, 0.01], [0.02, 9.0]]).shape == (2, 2, 3)
    np.testing.assert_array_equal(FF.at(FF.time), COMMAND)
    np.testing.assert_array_equal(FF.at(-1.0), COMMAND[0])
    with pytest.raises(OutOfBoundsError, match="time is nan"):
        FF.at(np.nan)


def test_playback_gives_a_command_a_period_then_holds_the_last():
    player = Playback(FF, permuted((2, 0, 1)))
    for _ in range(2):
        player.reset()
        given_rows = []
        for _ in range(10):
            assert not player.finished
            given_rows.append(player.next())
        np.testing.assert_array_equal(given_rows, COMMAND[:, [2, 0, 1]])
        assert player.finished
        np.testing.assert_array_equal(player.next(), COMMAND[-1, [2, 0, 1]])


def test_a_receiver_cannot_spoil_what_is_played():
    player = Playback(FF, INFO)
    player.next()[:] = 7.0
    player.reset()
    np.testing.assert_array_equal(player.next(), COMMAND[0])


def test_playback_refuses_a_robot_that_does_not_match():
    with pytest.raises(MismatchError):
        Playback(FF, replace(INFO, period=0.02))
    stiffer = replace(INFO, parameters={"shoulder": {"k1": 0.02}})
    with pytest.raises(MismatchError):
        Playback(FF, stiffer)
    Playback(FF, stiffer, parameters=False)


def test_a_runs_folder_is_read_as_the_file_in_it(tmp_path):
    FF.save(tmp_path / "feedforward.npz")
    np.testing.assert_array_equal(FeedForward.load(tmp_path).command, FF.command)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(MissingFileError, match=r"nothing/feedforward.npz"):
        FeedForward.load(tmp_path / "nothing")
