"""What came on the wire and what the arm did, in two rings of a file that others read while it is written.

A ring is an array of records in a memory-mapped file after a header that counts all records ever written, so it
outlives whatever happens to the process.
"""

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.errors import OutputError
from pliant.files import existing_file

CYCLES = np.dtype(
    [
        ("cycle", "<i8"),
        ("time", "<f8"),
        ("wall", "<f8"),
        ("target_q", "<f8", 6),
        ("target_qd", "<f8", 6),
        ("actual_q", "<f8", 6),
        ("actual_qd", "<f8", 6),
        ("torque", "<f8", 6),
        ("wrench", "<f8", 6),
        ("scaling", "<f8"),
        ("command", "<i4"),
        ("runtime_state", "<i4"),
        ("robot_mode", "<i4"),
        ("safety_mode", "<i4"),
        ("watchdog", "<i4"),
        ("program", "<i4"),
    ]
)
"""A record a cycle. `time`: of the controller, s; `wall`: `time.monotonic`, s. `actual_*`: of the arm itself, not
as measured. `torque`: of the motors, N·m. `wrench`: as reported, N and N·m. `command`: what stands in the command
register. `watchdog`: 0 not armed, 1 armed, 2 has fired. `program`: how often a program has been started, 0 while
none runs."""

COMMANDS = np.dtype(
    [
        ("cycle", "<i8"),
        ("wall", "<f8"),
        ("command", "<i4"),
        ("count", "<i4"),
        ("integers", "<i4", 8),
        ("values", "<f8", 18),
    ]
)
"""A record a frame that wrote the command register. `cycle`: the one that finds it. `command`: its number.
`values` and `integers`: what came along, in the order of the registers, `count` of the former."""

_CYCLE = struct.Struct("<q2d36dd6i")
_COMMAND = struct.Struct("<qd2i8i18d")
_COUNT = struct.Struct("q")
_HEADER = 4096
assert _CYCLE.size == CYCLES.itemsize
assert _COMMAND.size == COMMANDS.itemsize

Records = npt.NDArray[Any]


class Ring:
    """The writing end of one ring.

    Args:
        path: of its file, which is made anew.
        record: packs one record.
        length: records that it holds.
    """

    def __init__(self, path: Path, record: struct.Struct, length: int) -> None:
        self._record, self._length = record, length
        self._written = 0
        try:
            with path.open("w+b") as file:
                file.truncate(_HEADER + length * record.size)
                self._memory = mmap.mmap(file.fileno(), 0)
            # Who reads meanwhile, or after a kill, finds the old number or the new; `pack_into` writes 0 first.
            self._count = memoryview(self._memory)[: _COUNT.size].cast("q")
        except OSError as error:
            raise OutputError(f"the log {path} cannot be written: {error.strerror}.") from error

    def write(self, *values: float) -> None:
        """Add a record, in place of the oldest when the ring is full."""
        at = _HEADER + self._written % self._length * self._record.size
        self._record.pack_into(self._memory, at, *values)
        self._written += 1
        self._count[0] = self._written

    def close(self) -> None:
        """Let go of the file."""
        self._count.release()
        self._memory.close()


def read_ring(path: Path, dtype: np.dtype[Any]) -> Records:
    """Return the records of a ring, the oldest first. Raises `MissingFileError`."""
    with existing_file(path, "log").open("rb") as file:
        data = file.read()
    (written,) = _COUNT.unpack_from(data)
    records = np.frombuffer(data, dtype, offset=_HEADER)
    if written <= len(records):
        return records[:written].copy()
    return np.roll(records, -(written % len(records)))


class Log:
    """Both rings of a controller.

    Args:
        folder: where their files are made.
        seconds: how far back they reach, s.
        cycle: of the controller, s.
    """

    def __init__(self, folder: Path, seconds: float, cycle: float) -> None:
        length = max(int(seconds / cycle), 1)
        self._cycles = Ring(folder / "cycles", _CYCLE, length)
        self._commands = Ring(folder / "commands", _COMMAND, 2 * length)
        self.cycle = self._cycles.write
        self.command = self._commands.write

    def close(self) -> None:
        """Let go of the files; they stay."""
        self._cycles.close()
        self._commands.close()


def padded(values: Sequence[float], count: int) -> list[float]:
    """Return `count` values, zeros after those given."""
    return [*values[:count], *[0.0] * (count - len(values))]
