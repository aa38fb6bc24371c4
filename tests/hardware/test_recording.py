import json
import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from pliant.errors import FileFormatError, MissingFileError, OutputError
from pliant.hardware.recording import DamagedRecordingError, Recorder, Timing, read_recording
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals

mcap_reader = pytest.importorskip("mcap.reader")

INFO = RobotInfo(
    "arm",
    ("a", "b"),
    ("a/1", "b/1"),
    (Channel("a/torque", "N·m", -1, 1),),
    0.01,
    signals=(*joint_signals(("a", "b"), ("a/1", "b/1")), Channel("bus/voltage", "V", 0.0, 24.0)),
)


def state(time, position=(0.1, math.nan)):
    zero = np.zeros(2)
    return State(time, np.array(position), zero, zero, zero, zero, zero, zero, zero, np.zeros(1), np.array([11.1]))


def record(path, periods=5):
    with Recorder(path, INFO, {"policy": "test"}) as recorder:
        for k in range(periods):
            recorder.record(
                state(0.01 * k),
                np.array([2.0]),
                np.array([1.0]),
                np.array([0.3, 0.4]),
                Timing(overruns=k, missed_reads=1, retries=2),
            )
        recorder.event("error", "overload of servo 3", 0.04)


def test_a_program_that_is_killed_before_it_moves_leaves_a_recording_that_can_be_read(tmp_path, arm):
    recorder = Recorder(tmp_path / "run.mcap", arm.info)
    found = read_recording(tmp_path / "run.mcap.partial")
    assert found.joints == ["a", "b"]
    assert not found.complete
    recorder.close()


@pytest.mark.parametrize("before", [True, False])
def test_a_signal_while_it_is_finished_leaves_it_whole_and_by_its_name(tmp_path, monkeypatch, before):
    recorder = Recorder(tmp_path / "run.mcap", INFO)
    recorder.event("info", "begun", 0.0)
    finish, struck = recorder._writer.finish, []

    def interrupted():
        if not struck:
            struck.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        finish()

    monkeypatch.setattr(recorder._writer, "finish", interrupted)
    if before:  # the signal comes before the recorder can keep it waiting
        close = recorder.close
        monkeypatch.setattr(recorder, "close", lambda: (struck or interrupted(), close()))
    with pytest.raises(KeyboardInterrupt), recorder:
        pass
    assert struck
    assert not (tmp_path / "run.mcap.partial").exists()
    assert read_recording(tmp_path / "run.mcap").complete


def test_a_standard_reader_opens_it_and_finds_every_channel_with_its_schema(tmp_path):
    record(tmp_path / "run.mcap")
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = mcap_reader.make_reader(stream)
        summary = reader.get_summary()
        messages = [(schema, channel.topic, json.loads(m.data)) for schema, channel, m in reader.iter_messages()]
    assert summary.statistics.message_count == 6 * 5 + 1
    assert {c.topic for c in summary.channels.values()} == {
        "/joint_states",
        "/motor_states",
        "/sensors",
        "/command",
        "/tracking",
        "/timing",
        "/events",
    }
    for schema, _, data in messages:
        assert schema.encoding == "jsonschema"
        assert set(data) <= set(json.loads(schema.data)["properties"])
    first = next(data for _, topic, data in messages if topic == "/joint_states")
    assert first == {
        "time": 0.0,
        "name": ["a", "b"],
        "position": [0.1, None],
        "velocity": [0.0, 0.0],
        "torque": [0.0, 0.0],
    }


def test_what_was_recorded_is_read_back(tmp_path):
    record(tmp_path / "run.mcap")
    recording = read_recording(tmp_path / "run.mcap")
    assert recording.complete
    assert recording.joints == ["a", "b"]
    assert recording.metadata["policy"] == "test"
    assert recording.series["/command"]["asked"] == pytest.approx(np.full((5, 1), 2.0))
    assert recording.series["/command"]["sent"] == pytest.approx(np.full((5, 1), 1.0))
    error = recording.series["/tracking"]["error"]
    assert error[:, 0] == pytest.approx(0.2)
    assert np.isnan(error[:, 1]).all()
    assert recording.series["/timing"]["overruns"] == pytest.approx(range(5))
    assert recording.series["/events"]["message"] == ["overload of servo 3"]
    assert recording.series["/joint_states"]["time"] == pytest.approx(0.01 * np.arange(5))


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_recording import INFO, Recorder, np, state
recorder = Recorder(sys.argv[1], INFO)
for k in range(2000):
    recorder.record(state(0.01 * k), np.array([2.0]), np.array([1.0]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_all_but_the_last_chunk(tmp_path):
    path = tmp_path / "run.mcap"
    here = os.path.dirname(__file__)  # noqa: PTH120
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), here])
    assert done.returncode == -signal.SIGKILL
    assert not path.exists(), "only a complete recording has its name"
    recording = read_recording(tmp_path / "run.mcap.partial")
    assert not recording.complete
    assert 1930 < len(recording.series["/joint_states"]["time"]) <= 2000


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_cut_anywhere_is_read_up_to_there(tmp_path, share):
    record(tmp_path / "run.mcap", periods=1000)
    data = (tmp_path / "run.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(data[: int(len(data) * share)])
    recording = read_recording(tmp_path / "cut.mcap")
    assert not recording.complete
    assert len(recording.series["/command"]["time"]) == pytest.approx(1000 * share, abs=150)


def test_an_old_recording_is_replaced_only_by_a_complete_one(tmp_path):
    path = tmp_path / "run.mcap"
    record(path)
    old = path.read_bytes()
    recorder = Recorder(path, INFO)
    recorder.record(state(0.0), np.zeros(1), np.zeros(1))
    assert path.read_bytes() == old
    recorder.close()
    recorder.close()
    assert path.read_bytes() != old
    assert not (tmp_path / "run.mcap.partial").exists()


def test_a_folder_is_made_and_one_that_cannot_be_is_an_error_of_ours(tmp_path):
    record(tmp_path / "new" / "folder" / "run.mcap")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write the recording"):
        Recorder(tmp_path / "file" / "run.mcap", INFO)


def test_files_that_are_missing_or_something_else_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match="no recording"):
        read_recording(tmp_path / "none.mcap")
    (tmp_path / "other.mcap").write_bytes(b"hello")
    with pytest.raises(FileFormatError, match="no MCAP file"):
        read_recording(tmp_path / "other.mcap")


def test_damage_is_told_from_a_cut_and_what_comes_before_it_is_kept(tmp_path):
    """One bit anywhere: the very same numbers, or an error with the periods before it."""
    path = tmp_path / "run.mcap"
    record(path, periods=400)
    whole, content = read_recording(path), path.read_bytes()
    assert len(content) > 40_000
    seen = set()
    for place in np.random.default_rng(0).integers(8, len(content), 60):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        try:
            found = read_recording(path)
        except DamagedRecordingError as error:
            found = error.recording
            seen.add(found.complete)
        for topic, fields in found.series.items():
            for name, values in fields.items():
                if name != "name":
                    expected = whole.series[topic][name]
                    np.testing.assert_array_equal(values, expected if found.complete else expected[: len(values)])
    assert seen == {False}


def test_chunks_that_were_lost_or_changed_places_are_noticed(tmp_path):
    """Also in what a crash left, which has no checksum of the whole."""
    path = tmp_path / "run.mcap"
    record(path, periods=400)
    content = path.read_bytes()
    starts, at = [], 8
    while at < len(content) - 8:  # opcode, length, content
        if content[at] == 6:
            starts.append((at, at + 9 + int.from_bytes(content[at + 1 : at + 9], "little")))
        at += 9 + int.from_bytes(content[at + 1 : at + 9], "little")
    (a, b), (c, d), (_, end) = starts[1:4]
    for changed in (
        content[:a] + content[b:end],
        content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:end],
        content[:b] + content[a:b] + content[b:end],
    ):
        path.write_bytes(changed)
        with pytest.raises(DamagedRecordingError, match=r"of /.* is missing"):
            read_recording(path)


def test_facts_of_the_run_that_were_changed_are_not_believed(tmp_path):
    path = tmp_path / "run.mcap"
    record(path, periods=400)
    content = path.read_bytes()[:30_000]  # what is left has no checksum of the whole
    path.write_bytes(content.replace(b'["a", "b"]', b'["a", "c"]', 1))
    with pytest.raises(DamagedRecordingError, match="what it says of the run is not what was written") as caught:
        read_recording(path)
    assert caught.value.recording.metadata == {}
