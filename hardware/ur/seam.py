"""What this program and the process that speaks to the controller share: memory, and sockets that wake the other.

One file in memory that has no name, so nothing is left behind whoever dies: three blocks of numbers, each written
by one side only, whole or not at all, and when the other side last asked. A byte on a socket says that a block is
new; the socket's end says that the other side is gone. Calls that take their time go as text on a second socket.
"""

import mmap
import os
import socket
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from pliant.hardware.robot import Array

Layout = Mapping[str, int]

COMMAND: Final[Layout] = MappingProxyType({"number": 1, "issued": 1, "steps": 1, "start": 6, "target": 6})
"""A command and how many numbers each part has: its number, when it was issued (s, this machine's clock), in how
many cycles the controller is led from `start` to `target`."""
STATE: Final[Layout] = MappingProxyType(
    {
        **{"timestamp": 1, "arrival": 1},
        **{"actual_q": 6, "actual_qd": 6, "target_q": 6, "actual_current": 6, "target_moment": 6},
        **{"actual_TCP_pose": 6, "actual_TCP_speed": 6, "actual_TCP_force": 6, "target_TCP_pose": 6},
        **{"speed_scaling": 1, "target_speed_fraction": 1},
        **{"robot_mode": 1, "safety_mode": 1, "safety_status_bits": 1, "runtime_state": 1},
        **{"actual_digital_input_bits": 1, "actual_digital_output_bits": 1},
        **{"standard_analog_input0": 1, "standard_analog_input1": 1},
        **{"standard_analog_output0": 1, "standard_analog_output1": 1},
        "joint_temperatures": 6,
    }
)
"""The controller's newest package, by its own names, and when it arrived (s, this machine's clock)."""
ANSWER: Final[Layout] = MappingProxyType({"number": 1, "verdict": 1, "done": 1, "returned": 1})
"""The last command that was taken: its number, what became of it (`VERDICTS`), when its first call returned; and
how many calls have returned in all."""

TAKEN, NOT_FINITE, BEYOND, OLD, FAILED = range(5)
VERDICTS: Final = (
    "taken",
    "it has a number that is not finite",
    "it goes beyond the limits",
    "it came too late",
    "the client's call failed",
)

_COPIES = 4
_HEAD = 64
"""Bytes before a block's numbers: its counter, and no other block's in the same cache line."""


def places(layout: Layout) -> Mapping[str, slice]:
    """Return where each part of a block stands among its numbers."""
    ends = np.cumsum(list(layout.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(layout.items(), ends, strict=True)}


class Block:
    """Numbers in shared memory that one side writes and the other reads, never a mixture of old and new.

    The writer fills the next of a few copies and then counts it; a reader takes the one counted last. So neither
    waits for the other, and a writer that dies in the middle leaves the one before.
    """

    def __init__(self, memory: memoryview, layout: Layout) -> None:
        self.parts = places(layout)
        size = sum(layout.values())
        self._counter = np.frombuffer(memory[:8], dtype=np.uint64)
        numbers = np.frombuffer(memory[_HEAD : _HEAD + 8 * _COPIES * size], dtype=np.float64)
        self._copies = numbers.reshape(_COPIES, size)

    def write(self, numbers: Array) -> None:
        """Write all numbers."""
        count = int(self._counter[0]) + 1
        self._copies[count % _COPIES] = numbers
        self._counter[0] = count

    @property
    def count(self) -> int:
        """How often it was written."""
        return int(self._counter[0])

    def read(self) -> Array:
        """Return a copy of all numbers."""
        while True:
            count = int(self._counter[0])
            numbers: Array = self._copies[count % _COPIES].copy()
            if int(self._counter[0]) - count < _COPIES - 1:  # else its copy may be in use again
                return numbers


class Seam:
    """The shared memory, mapped.

    Args:
        descriptor: of the file in memory; None makes one, which `close` closes.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        sizes = [_HEAD + 8 * _COPIES * sum(layout.values()) for layout in (COMMAND, STATE, ANSWER)] + [_HEAD]
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + -(-size // 64) * 64)
        if descriptor is None:
            descriptor = os.memfd_create("pliant-ur", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, starts[-1])
        self.descriptor = descriptor
        self._map = mmap.mmap(descriptor, starts[-1])
        memory = memoryview(self._map)
        self.command = Block(memory[starts[0] :], COMMAND)
        self.state = Block(memory[starts[1] :], STATE)
        self.answer = Block(memory[starts[2] :], ANSWER)
        self._asked = np.frombuffer(memory[starts[3] : starts[3] + 8], dtype=np.float64)

    def ask(self) -> None:
        """Note that somebody wants the newest state: for a while it comes without delay."""
        self._asked[0] = time.monotonic()

    @property
    def asked(self) -> float:
        """When somebody last wanted it, s."""
        return float(self._asked[0])

    def close(self) -> None:
        """Close the file; the memory goes with the last view of it."""
        os.close(self.descriptor)


class Ends(NamedTuple):
    """One side's ends of both sockets."""

    wake: socket.socket
    """A byte: a block is new. Does not block."""
    calls: socket.socket
    """Calls and their answers, a text each."""


def ends() -> tuple[Ends, Ends]:
    """Return the ends of this side and of the other."""
    wakes = socket.socketpair()
    calls = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for one in wakes:
        one.setblocking(False)
    return Ends(wakes[0], calls[0]), Ends(wakes[1], calls[1])


def wake(end: socket.socket) -> None:
    """Wake the other side; raises `BrokenPipeError` or `ConnectionError` if it is gone."""
    try:
        end.send(b"\0")
    except BlockingIOError:  # it has many to read still
        return


def woken(end: socket.socket) -> bool:
    """Take what has come to wake this side; return whether the other side is there still."""
    try:
        return bool(end.recv(4096))
    except BlockingIOError:
        return True
    except OSError:
        return False
