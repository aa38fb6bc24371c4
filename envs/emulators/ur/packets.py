"""Frames of RTDE: big-endian, the whole size in two bytes, the kind in one, then the payload.

Source of layouts: Universal Robots, "Real-Time Data Exchange (RTDE) Guide", protocol version 2.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

_HEADER = struct.Struct(">HB")
_VERSION = struct.Struct(">4I")
_LARGEST = 65535
IN_USE = "IN_USE"
"""Type that is answered for an input that somebody else writes already."""
NOT_FOUND = "NOT_FOUND"
"""Type that is answered for a variable that does not exist."""


class Kind(IntEnum):
    """What a frame is."""

    PROTOCOL_VERSION = ord("V")
    CONTROLLER_VERSION = ord("v")
    TEXT = ord("M")
    DATA = ord("U")
    OUTPUTS = ord("O")
    INPUTS = ord("I")
    START = ord("S")
    PAUSE = ord("P")


class Frame(NamedTuple):
    """One frame from the computer."""

    kind: int
    payload: bytes


class DamagedError(Exception):
    """Bytes that cannot be a frame: the connection is of no use any more."""


class FrameParser:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are complete now; raises `DamagedError` for a size that cannot be."""
        buffer, at, frames = self._rest + data, 0, []
        while len(buffer) - at >= _HEADER.size:
            size, kind = _HEADER.unpack_from(buffer, at)
            if size < _HEADER.size:
                raise DamagedError(f"a frame of {size} bytes")
            if len(buffer) - at < size:
                break
            frames.append(Frame(kind, buffer[at + _HEADER.size : at + size]))
            at += size
        self._rest = buffer[at:]
        return frames


def frame(kind: int, payload: bytes) -> bytes:
    """Return the bytes of a frame."""
    return _HEADER.pack(_HEADER.size + len(payload), kind) + payload


def accepted(kind: int, accepts: bool) -> bytes:
    """Return the answer to a request that is accepted or not."""
    return frame(kind, bytes([accepts]))


def controller_version(major: int, minor: int, bugfix: int, build: int) -> bytes:
    """Return the answer to the question for the controller's version."""
    return frame(Kind.CONTROLLER_VERSION, _VERSION.pack(major, minor, bugfix, build))


def recipe_answer(kind: int, number: int, types: list[str]) -> bytes:
    """Return the answer to a recipe: its number and the type of each variable."""
    return frame(kind, bytes([number]) + ",".join(types).encode())


def outputs_request(payload: bytes) -> tuple[float, list[str]]:
    """Return frequency (Hz) and variables of a request for outputs."""
    if len(payload) < 8:
        raise DamagedError("a request for outputs without a frequency")
    (frequency,) = struct.unpack_from(">d", payload)
    return frequency, names(payload[8:])


def names(payload: bytes) -> list[str]:
    """Return the variables of a request; a comma at the end is none more."""
    return [name for name in payload.decode("ascii", "replace").split(",") if name]


def data_header(size: int, number: int) -> bytes:
    """Return what comes before the values of a data frame whose values have `size` bytes."""
    return _HEADER.pack(_HEADER.size + 1 + size, Kind.DATA) + bytes([number])
