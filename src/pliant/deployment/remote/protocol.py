"""The messages between a robot and a controller in another process; docs/remote-control.md describes them.

Here are their frame and those of every period; `json_messages` has the others. What comes in is from anywhere:
everything is checked, and what is wrong with it is a `MessageError`.
"""

import itertools
import json
import math
import struct
import zlib
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from pliant.controllers.controller import Ended, Event
from pliant.errors import RemoteError
from pliant.hardware.robot import Array, RobotInfo, State

VERSION = 2
MAGIC = b"PLNT"
HEADER = struct.Struct("<4sBBHIQI")
"""Magic, version, kind, flags, bytes after the header, number of the request, CRC-32 of all else."""
_HEAD = struct.Struct("<4sBBHIQ")
_CHECK = struct.Struct("<I")
LONGEST = 131072
"""Bytes after the header at most."""
ENDED, FAULT, CLEARANCE, EVENTS = 1, 2, 4, 8
"""Flags of a command: the controller has nothing more to do; it gave up; what its command is moved by on the way
back follows it; it tells of events."""
LONGEST_TEXT = 2000
MOST_EVENTS = 16
"""Of one command."""
_LONGEST_EVENT = 500
_NUMBERS_BEFORE = 3
"""Of a state: t, the robot's time, and the round trip before."""


class MessageError(RemoteError):
    """A message that is none, or not the one that may come."""


class Kind(IntEnum):
    """What a message is. The robot's side asks (HELLO, RESET, STATE), the controller's answers each once."""

    HELLO = 1
    ACCEPT = 2
    REFUSE = 3
    RESET = 4
    READY = 5
    STATE = 6
    COMMAND = 7
    FAIL = 8


class Message(NamedTuple):
    """One message, as it came in."""

    kind: int
    number: int
    """Of the request; an answer has that of what it answers."""
    flags: int
    payload: memoryview
    """What follows the header; valid until the next message is received."""


def check_whole(whole: memoryview, check: int) -> None:
    """Raise `MessageError` unless a message, header included, has this CRC-32."""
    if zlib.crc32(whole[HEADER.size :], zlib.crc32(whole[: _HEAD.size])) != check:
        raise MessageError("a message came damaged: its checksum is not that of its bytes.")


class StateMessage:
    """A RESET or STATE, in a buffer of its own that is filled anew every time.

    Args:
        layout: of the robot's states.
    """

    def __init__(self, layout: "Layout") -> None:
        self.bytes = bytearray(HEADER.size + 8 * layout.numbers)
        """The message as it was written last."""
        view = memoryview(self.bytes)
        self._head, self._body = view[: _HEAD.size], view[HEADER.size :]
        self._numbers = np.frombuffer(self._body, "<f8")
        self._layout = layout

    def write(self, kind: Kind, number: int, state: State, t: float, round_trip: float) -> None:
        """Write a state; see `Layout.write`."""
        self._layout.write(self._numbers, state, t, round_trip)
        _HEAD.pack_into(self.bytes, 0, MAGIC, VERSION, kind, 0, len(self._body), number)
        _CHECK.pack_into(self.bytes, _HEAD.size, zlib.crc32(self._body, zlib.crc32(self._head)))


class Layout:
    """Where the numbers of a robot's states stand in a message.

    They are t, the time of the robot, the round trip of the message before (NaN: none), the command in force, and
    the signals in the robot's order.

    Args:
        info: the robot.

    Raises:
        MessageError: they are too many for a message.
    """

    def __init__(self, info: RobotInfo) -> None:
        joints, motors, sensors = len(info.joints), len(info.motors), len(info.sensors)
        sizes = [len(info.command), *4 * [joints], *4 * [motors], sensors]
        ends = np.cumsum([_NUMBERS_BEFORE, *sizes]).tolist()
        self._command, *self._fields, self._sensors = (slice(a, b) for a, b in itertools.pairwise(ends))
        self._signals = slice(ends[1], ends[-1])
        self.columns = len(info.command)
        self.numbers = int(ends[-1])
        """How many there are."""
        if 8 * self.numbers > LONGEST:
            raise MessageError(
                f"a state of {self.numbers} numbers is too long; at most {LONGEST // 8} can be sent."
            )

    def write(self, numbers: Array, state: State, t: float, round_trip: float) -> None:
        """Write a state, as of `t` s of the run, into (numbers,) numbers."""
        numbers[0], numbers[1], numbers[2] = t, state.time, round_trip
        numbers[self._command] = state.command
        np.concatenate((*state[1:9], state.sensors), out=numbers[self._signals])

    def state(self, numbers: Array) -> State:
        """Return the state in (numbers,) numbers; its arrays are views of them."""
        parts = (*self._fields, self._command, self._sensors)
        return State._make([float(numbers[1]), *(numbers[part] for part in parts)])


def ready(number: int) -> bytes:
    """Return the message that a controller has begun at a state."""
    return framed(Kind.READY, number, b"")


class Answer(NamedTuple):
    """What a COMMAND says."""

    command: Array
    """(columns,)"""
    clearance: Array | None
    """See `Controller`, (columns,)."""
    told: bytes
    """JSON of its end and its events, empty without; see `json_messages.read_told`."""


def command(
    number: int,
    values: Array,
    ended: Ended | None,
    clearance: Array | None = None,
    events: Sequence[Event] = (),
) -> bytes:
    """Return the message of a command, (columns,), with at most `MOST_EVENTS` events."""
    body, flags = values.tobytes(), 0
    told: dict[str, object] = {}
    if clearance is not None:
        body, flags = body + clearance.tobytes(), CLEARANCE
    if ended is not None:
        flags |= ENDED | (FAULT if ended.fault else 0)
        told["reason"] = shortened(ended.reason)
    if events:
        flags |= EVENTS
        told["events"] = [[time, shortened(text, _LONGEST_EVENT)] for time, text in events]
    if told:
        body += json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    return framed(Kind.COMMAND, number, body, flags)


def read_command(message: Message, columns: int) -> Answer:
    """Return what a COMMAND to a robot of that many columns says; raise `MessageError` by size.

    It also does so where a number is not finite.
    """
    size, given, cleared = 8 * columns, len(message.payload), bool(message.flags & CLEARANCE)
    least = size * (1 + cleared)
    if given < least or (given > least and not message.flags & (ENDED | EVENTS)):
        twice = ", twice" if cleared else ""
        raise MessageError(f"a command of {given} bytes came; {least}, of {columns} columns{twice}, are needed.")
    numbers = np.frombuffer(message.payload, "<f8", columns * (1 + cleared)).copy()
    if not math.isfinite(sum(numbers.tolist())) and not np.isfinite(numbers).all():
        raise MessageError(f"its command is {numbers.tolist()}; finite numbers are needed.")
    told = bytes(message.payload[least:]) if given > least else b""
    return Answer(numbers[:columns], numbers[columns:] if cleared else None, told)


def framed(kind: Kind, number: int, body: bytes, flags: int = 0) -> bytes:
    """Return a message: its header and what follows it."""
    head = _HEAD.pack(MAGIC, VERSION, kind, flags, len(body), number)
    return head + _CHECK.pack(zlib.crc32(body, zlib.crc32(head))) + body


def printable(text: str) -> str:
    """Return a text that came in without what would command the terminal that it is printed on."""
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text)


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return the beginning of a text, as much of it as is sent."""
    text = text.strip() or "no reason was given"
    return text if len(text) <= most else f"{text[: most - 1]}…"
