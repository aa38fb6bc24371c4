"""Packets of the Dynamixel protocols 1.0 and 2.0: what is handed to the SDK to send, and what came back.

The SDK's own receiving is not used: it takes a short answer for a whole one, an answer of an earlier request
for the present one, drops the alert bit and undoes the byte stuffing wrongly. `StatusReader` finds the status
packets in whatever comes in: nothing leaves it that was not on the wire with a right checksum.

Source: ROBOTIS e-manual, docs/en/dxl/protocol1 and protocol2.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

BROADCAST = 0xFE
ALERT = 0x80
"""Bit of the error byte (protocol 2.0): `hardware_error_status` is not zero."""

_HEADER = {1: b"\xff\xff", 2: b"\xff\xff\xfd\x00"}
LARGEST_ID = {1: 0xFD, 2: 0xFC}
"""Largest id that a servo can have, by protocol."""
_STATUS = 0x55


class Instruction(IntEnum):
    """What an instruction packet asks for."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REBOOT = 0x08
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A


class Status(NamedTuple):
    """The answer of one servo."""

    servo: int
    error: int
    data: bytes


def _crc_table() -> list[int]:
    table = []
    for high in range(256):
        value = high << 8
        for _ in range(8):
            value = value << 1 ^ (0x8005 if value & 0x8000 else 0)
        table.append(value & 0xFFFF)
    return table


_CRC = _crc_table()


def crc16(data: bytes | bytearray, crc: int = 0) -> int:
    """Return the checksum of protocol 2.0 (x¹⁶ + x¹⁵ + x² + 1, from 0) of `data`, going on from `crc`."""
    for byte in data:
        crc = (crc << 8 & 0xFF00) ^ _CRC[crc >> 8 ^ byte]
    return crc


def stuff(body: bytes) -> bytes:
    """Return `body` with FD inserted after each FF FF FD, so that it cannot be taken for a header."""
    return body.replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")


def unstuff(body: bytes) -> bytes:
    """Return what `stuff` was given."""
    return body.replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")


def instruction_packet(protocol: int, servo: int, instruction: int, parameters: bytes = b"") -> list[int]:
    """Return a packet as the SDK's `txPacket` takes it: unstuffed, header and checksum still blank."""
    if protocol == 1:
        return [0, 0, servo, len(parameters) + 2, instruction, *parameters, 0]
    length = len(parameters) + 3
    return [0, 0, 0, 0, servo, length & 0xFF, length >> 8, instruction, *parameters, 0, 0]


def stuff_packet(packet: list[int]) -> list[int]:
    """Stuff a packet of protocol 2.0 in place.

    Stands in for the SDK's `addStuffing`, which stuffs a copy that its caller then ignores.
    """
    body = stuff(bytes(packet[7:-2]))
    length = len(body) + 2
    packet[5:] = [length & 0xFF, length >> 8, *body, 0, 0]
    return packet


class StatusReader:
    """Finds the status packets in the bytes that come in.

    Args:
        protocol: 1 or 2.
        largest: Longest data that can be expected, bytes; a packet that claims more is not waited for.
        echo: The request just sent. A one-wire adapter may return it, and in protocol 1.0 nothing tells an
            instruction from a status: a packet equal to it is dropped.
    """

    def __init__(self, protocol: int, largest: int, echo: bytes = b"") -> None:
        self._protocol = protocol
        # Stuffing lengthens the body by at most a third.
        self._longest = largest + 2 if protocol == 1 else 4 + largest + (largest + 1) // 3
        self._echo = echo if protocol == 1 else b""
        self._buffer = bytearray()
        self.damaged = 0
        """Packets with a wrong checksum so far."""

    def feed(self, data: bytes) -> list[Status]:
        """Add bytes and return the status packets that they complete."""
        self._buffer += data
        found = []
        while (status := self._next()) is not None:
            found.append(status)
        return found

    def _next(self) -> Status | None:
        header = _HEADER[self._protocol]
        buffer = self._buffer
        while True:
            start = buffer.find(header)
            if start < 0:
                # A header may have arrived in part.
                del buffer[: max(0, len(buffer) - len(header) + 1)]
                return None
            del buffer[:start]
            size = self._size()
            if size is None or (size and len(buffer) < size):
                return None
            if size:
                packet = bytes(buffer[:size])
                if _checked(self._protocol, packet):
                    del buffer[:size]
                    if packet == self._echo:
                        continue
                    return _status(self._protocol, packet)
                self.damaged += 1
            # No packet begins here; one may begin at the next byte.
            del buffer[0]

    def _size(self) -> int | None:
        """Return the length of the packet at the front: 0 if it cannot be one, None if too little is here."""
        buffer = self._buffer
        if self._protocol == 1:
            if len(buffer) < 5:
                return None
            length, possible = buffer[3], buffer[2] <= LARGEST_ID[1] and buffer[4] < ALERT
            return length + 4 if possible and 2 <= length <= self._longest else 0
        if len(buffer) < 8:
            return None
        length = buffer[5] | buffer[6] << 8
        possible = buffer[4] <= LARGEST_ID[2] and buffer[7] == _STATUS
        return length + 7 if possible and 4 <= length <= self._longest else 0


def _checked(protocol: int, packet: bytes) -> bool:
    """Return whether the checksum of a whole packet is right."""
    if protocol == 1:
        return sum(packet[2:]) & 0xFF == 0xFF
    return crc16(packet[:-2]) == int.from_bytes(packet[-2:], "little")


def _status(protocol: int, packet: bytes) -> Status:
    if protocol == 1:
        return Status(packet[2], packet[4], packet[5:-1])
    body = unstuff(packet[8:-2])
    return Status(packet[4], body[0], body[1:])


def fast_status_size(servos: int, length: int) -> int:
    """Return the bytes of the one packet that answers a fast sync read of `length` bytes from each servo."""
    return 8 + servos * (length + 4)


def fast_statuses(received: bytes, servos: Sequence[int], length: int) -> list[Status]:
    """Return the answers in a fast sync read's packet, as far as its checksums hold.

    Every servo appends error, id, data and the checksum of the whole packet up to there, so a chain that
    breaks off in the middle still gives the servos before the break. The packet is not stuffed (e-manual,
    Fast Sync Read), which is why it has a parser of its own.

    Args:
        received: What came in after the request.
        servos: Ids asked, in order.
        length: Bytes asked of each.
    """
    size = fast_status_size(len(servos), length) - 7
    head = _HEADER[2] + bytes([BROADCAST, size & 0xFF, size >> 8, _STATUS])
    start = received.find(head)
    if start < 0:
        return []
    crc, at, found = crc16(head), start + len(head), []
    for servo in servos:
        slot = received[at : at + length + 4]
        crc = crc16(slot[:-2], crc)
        if len(slot) < length + 4 or slot[1] != servo or crc != int.from_bytes(slot[-2:], "little"):
            break
        found.append(Status(servo, slot[0], slot[2:-2]))
        crc = crc16(slot[-2:], crc)
        at += length + 4
    return found
