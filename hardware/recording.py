"""Recordings of a robot's run as MCAP files, which robotics tools open.

Channels, each a JSON object with its schema in the file; `time` is the robot's, s; what is not known is null:

| topic | fields |
|---|---|
| `/joint_states` | `name`, `position` (rad), `velocity` (rad/s), `torque` (N·m) |
| `/motor_states` | the same of the motors |
| `/sensors` | `name`, `value`: what else the robot measures, in the units of its signals |
| `/command` | `name`, `asked`, `sent`, in the units of the robot's command |
| `/tracking` | `name`, `reference` (rad), `error` = reference − position (rad) |
| `/walk/joint_states`, `/walk/motor_states`, `/walk/command` | the same on walks and while standing at a start |
| `/timing` | `overruns`, `missed_reads`, `retries`: totals so far |
| `/tool` | `desired`, `commanded`, `measured`: poses, m and quaternion; `wrench`, `desired_wrench`, N and N·m |
| `/events` | `level`, `message` |

Every chunk has its checksum, so have the facts about the run before it, and messages of a topic are numbered from
1. So a damaged file is told from one that a crash cut short, and read up to the damage.
"""

import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from pliant.errors import FileFormatError, MissingFileError, OutputError, require_extra
from pliant.files import json_digest
from pliant.hardware.robot import Array, RobotInfo, State
from pliant.hardware.stopping import Interrupts

CHUNK = 32 * 1024
"""Bytes that a crash may lose: what is older is on disk."""

_MAGIC = b"\x89MCAP0\r\n"
_NUMBERS = {"type": "array", "items": {"type": ["number", "null"]}}
_NAMES = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer"}
_MOTION = {"name": _NAMES, "position": _NUMBERS, "velocity": _NUMBERS, "torque": _NUMBERS}
_TOPICS: Mapping[str, Mapping[str, object]] = {
    "/joint_states": _MOTION,
    "/motor_states": _MOTION,
    "/sensors": {"name": _NAMES, "value": _NUMBERS},
    "/command": {"name": _NAMES, "asked": _NUMBERS, "sent": _NUMBERS},
    "/walk/joint_states": _MOTION,
    "/walk/motor_states": _MOTION,
    "/walk/command": {"name": _NAMES, "asked": _NUMBERS, "sent": _NUMBERS},
    "/tracking": {"name": _NAMES, "reference": _NUMBERS, "error": _NUMBERS},
    "/tool": dict.fromkeys(("desired", "commanded", "measured", "wrench", "desired_wrench"), _NUMBERS),
    "/timing": {"overruns": _COUNT, "missed_reads": _COUNT, "retries": _COUNT},
    "/events": {"level": {"type": "string"}, "message": {"type": "string"}},
}


_CHECKSUM = "sha256"
"""Of the facts about the run, among them."""
_OCCASIONAL = [topic for topic in _TOPICS if topic.startswith("/walk") or topic == "/tool"]
"""Topics that are there only if something was written to them."""


class Timing(NamedTuple):
    """What went wrong so far."""

    overruns: int
    missed_reads: int
    retries: int


class Recorder:
    """Writes a recording, period by period.

    The file grows under the name `PATH.partial`, chunk by chunk, and gets its own name when it is closed; what a
    crash leaves is read by `read_recording` up to the last whole chunk.

    Args:
        path: File to write, usually `….mcap`; an existing one is replaced when this one is complete.
        info: The robot.
        metadata: Facts about the run, as text.

    Raises:
        OutputError: The file cannot be written.
        MissingExtraError: mcap is not installed.
    """

    def __init__(self, path: str | Path, info: RobotInfo, metadata: Mapping[str, str] | None = None) -> None:
        writer = require_extra("mcap.writer", "recording", "Recording a run")
        self.path, self._info = Path(path), info
        self._partial, self._named = self.path.with_name(self.path.name + ".partial"), False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._partial.open("wb")
        except OSError as error:
            raise OutputError(f"cannot write the recording {self._partial}: {error.strerror}") from error
        self._start, self._newest = time.time_ns(), 0.0
        self._writer: Any = writer.Writer(self._stream, chunk_size=CHUNK, enable_data_crcs=True)
        self._writer.start(profile="", library="pliant")
        facts = {
            "robot": info.name,
            "period": repr(info.period),
            "joints": json.dumps(info.joints),
            "signals": json.dumps([[c.name, c.unit] for c in info.signals]),
            "command": json.dumps([[c.name, c.unit] for c in info.command]),
        }
        facts |= dict(metadata or {})
        self._writer.add_metadata("run", facts | {_CHECKSUM: json_digest(facts)})
        self._written: dict[str, int] = {}
        self._sensors = [channel.name for channel in info.sensors]
        self._channels = {
            topic: self._register(topic, _TOPICS[topic]) for topic in _TOPICS if topic not in _OCCASIONAL
        }
        self._stream.flush()  # readable from now on, whatever kills the program

    def _register(self, topic: str, fields: Mapping[str, object]) -> int:
        schema = {"type": "object", "properties": {"time": {"type": "number"}, **fields}}
        identity = self._writer.register_schema(topic.strip("/"), "jsonschema", json.dumps(schema).encode())
        return int(self._writer.register_channel(topic, "json", identity))

    def record(
        self,
        state: State,
        asked: Array,
        sent: Array,
        reference: Array | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Write one period.

        Args:
            state: What was read.
            asked: Command before any limit, (columns,).
            sent: Command as really sent, (columns,).
            reference: Where the joints should be, (joints,), rad.
            timing: What went wrong so far.
        """
        self._period("", state, asked, sent)
        if reference is not None:
            error = _plain(reference - state.position)
            tracking = {"name": self._info.joints, "reference": _plain(reference), "error": error}
            self._write("/tracking", state.time, tracking)
        if timing is not None:
            self._write("/timing", state.time, timing._asdict())
        self._stream.flush()

    def walk(self, state: State, asked: Array, sent: Array) -> None:
        """Write one period of a walk, or of standing at a start; arguments as in `record`."""
        self._period("/walk", state, asked, sent)
        self._stream.flush()

    def tool(self, time_: float, quantities: Mapping[str, Array]) -> None:
        """Write what a controller says of its tool at robot time `time_`, s: the fields of `/tool`."""
        self._write("/tool", time_, {name: _plain(value) for name, value in quantities.items()})

    def _period(self, prefix: str, state: State, asked: Array, sent: Array) -> None:
        joints, motors = self._info.joints, self._info.motors
        motion = _motion(joints, state.position, state.velocity, state.torque)
        self._write(f"{prefix}/joint_states", state.time, motion)
        if motors:
            motion = _motion(motors, state.motor_position, state.motor_velocity, state.motor_torque)
            self._write(f"{prefix}/motor_states", state.time, motion)
        if self._sensors and not prefix:
            self._write("/sensors", state.time, {"name": self._sensors, "value": _plain(state.sensors)})
        command = {"name": self._info.command_names, "asked": _plain(asked), "sent": _plain(sent)}
        self._write(f"{prefix}/command", state.time, command)

    def event(self, level: str, message: str, time_: float | None = None) -> None:
        """Write that something happened at robot time `time_`, s; by default at that of the newest message."""
        self._write("/events", self._newest if time_ is None else time_, {"level": level, "message": message})

    def close(self) -> None:
        """Finish the file and give it its name, whatever signal comes meanwhile. Safe to call twice."""
        if self._named:
            return
        with Interrupts() as signals, signals.deferred():
            try:
                if not self._stream.closed:
                    self._writer.finish()
                    self._stream.close()
                self._partial.replace(self.path)
            except OSError as error:
                raise OutputError(f"cannot finish the recording {self.path}: {error.strerror}") from error
            self._named = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except (KeyboardInterrupt, SystemExit):  # before it could be deferred, or after
            self.close()
            raise

    def _write(self, topic: str, time_: float, fields: Mapping[str, object]) -> None:
        self._newest = time_
        stamp = self._start + round(time_ * 1e9)
        data = json.dumps({"time": time_, **fields}, allow_nan=False).encode()
        if topic not in self._channels:
            self._channels[topic] = self._register(topic, _TOPICS[topic])
        self._written[topic] = number = self._written.get(topic, 0) + 1
        try:
            self._writer.add_message(self._channels[topic], stamp, data, stamp, number)
        except OSError as error:
            raise OutputError(f"cannot write the recording {self._partial}: {error.strerror}") from error


class NoRecorder(Recorder):
    """A recorder that keeps nothing, for a dry run where mcap is not installed."""

    def __init__(self) -> None:
        """Open no file."""

    def record(
        self,
        state: State,
        asked: Array,
        sent: Array,
        reference: Array | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Keep nothing."""

    def walk(self, state: State, asked: Array, sent: Array) -> None:
        """Keep nothing."""

    def tool(self, time_: float, quantities: Mapping[str, Array]) -> None:
        """Keep nothing."""

    def event(self, level: str, message: str, time_: float | None = None) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""


def _plain(values: Array) -> list[float | None]:
    """Return the numbers as JSON has them, which knows no NaN."""
    return [value if np.isfinite(value) else None for value in np.asarray(values).tolist()]


def _motion(names: Sequence[str], position: Array, velocity: Array, torque: Array) -> dict[str, object]:
    return {
        "name": list(names),
        "position": _plain(position),
        "velocity": _plain(velocity),
        "torque": _plain(torque),
    }


@dataclass
class Recording:
    """A recording as arrays: `series[topic][field]` is (messages, …), NaN where nothing was known."""

    metadata: dict[str, str] = field(default_factory=dict)
    series: dict[str, dict[str, Any]] = field(default_factory=dict)
    complete: bool = False
    """Whether the file was closed; otherwise its end is not there."""

    @property
    def joints(self) -> list[str]:
        """Joint names."""
        return list(json.loads(self.metadata["joints"]))


class DamagedRecordingError(FileFormatError):
    """A recording was changed since it was written."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording
        """What comes before the damage, never `complete`."""


def read_recording(path: str | Path) -> Recording:
    """Return what a recording holds, also one that a crash has cut short.

    Raises:
        MissingFileError: There is no such file.
        FileFormatError: It is no MCAP file.
        DamagedRecordingError: It is damaged, or not one of ours; the error has what comes before the damage.
    """
    require_extra("mcap.stream_reader", "recording", "Reading a recording")
    file = Path(path)
    if not file.is_file():
        raise MissingFileError(f"there is no recording {file}.")
    content = file.read_bytes()
    if not content.startswith(_MAGIC):
        raise FileFormatError(f"{file} is no MCAP file.")
    reading = _Reading()
    stream = io.BytesIO(content)
    try:
        reading.take(stream, len(content))
        damage = ""
    except Exception as error:  # the reader of the library fails in many ways of its own
        cut = stream.tell() == len(content)
        damage = "" if cut else " ".join(str(error).split()) or type(error).__name__
    recording = reading.recording
    try:
        recording.series = {topic: _columns(messages) for topic, messages in reading.rows.items() if messages}
    except (ValueError, TypeError) as error:
        raise FileFormatError(f"{file} is no recording of a robot: {error}.") from error
    if not reading.has_its_facts:
        recording.metadata, damage = {}, damage or "what it says of the run is not what was written"
    if damage:
        recording.complete = False
        count = sum(map(len, reading.rows.values()))
        raise DamagedRecordingError(
            f"recording {file} is damaged ({damage}); {count} messages before that are whole: error.recording has "
            "them.",
            recording,
        )
    return recording


class _Reading:
    """What has been read of a file so far."""

    def __init__(self) -> None:
        self.recording = Recording()
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self._topics: dict[int, str] = {}
        self._numbered = False

    def take(self, stream: io.BytesIO, size: int) -> None:
        """Read a file to its end, or to what cannot be read."""
        from mcap import records, stream_reader

        ended = False
        for record in stream_reader.StreamReader(stream, validate_crcs=True, record_size_limit=size).records:
            if isinstance(record, records.Metadata):
                self.recording.metadata |= record.metadata
            elif isinstance(record, records.Channel):
                self._topics[record.id] = record.topic
            elif isinstance(record, records.Message):
                if record.channel_id not in self._topics:
                    raise ValueError("what describes its messages is missing")
                self._message(self._topics[record.channel_id], record.sequence, json.loads(record.data))
            elif isinstance(record, records.Footer):
                ended = True
        self.recording.complete = ended

    def _message(self, topic: str, number: int, message: dict[str, Any]) -> None:
        rows = self.rows.setdefault(topic, [])
        self._numbered |= number > 0
        if self._numbered and number != len(rows) + 1:
            raise ValueError(f"message {len(rows) + 1} of {topic} is missing")
        if rows and message.keys() != rows[0].keys():
            raise ValueError(f"message {number} of {topic} has other fields")
        rows.append(message)

    @property
    def has_its_facts(self) -> bool:
        """Whether the facts about the run are as written; Pliant 0.1 wrote neither numbers nor checksum."""
        facts = dict(self.recording.metadata)
        checksum = facts.pop(_CHECKSUM, None)
        return not self._numbered if checksum is None else checksum == json_digest(facts)


def _columns(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of messages as arrays; names and texts as they are."""
    columns: dict[str, Any] = {}
    for name in messages[0]:
        values = [message[name] for message in messages]
        if name == "name":
            columns[name] = values[0]
        elif isinstance(values[0], str):
            columns[name] = values
        else:
            columns[name] = np.array(values, dtype=np.float64)
    return columns
