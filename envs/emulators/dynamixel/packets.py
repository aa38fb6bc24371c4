"""Packets of the Dynamixel protocols 1.0 and 2.0, both directions: bytes to packets and back.

Protocol 1.0, with the checksum ~(id + length + … + last parameter) mod 256:

    FF FF | id | length | instruction or error | parameters … | checksum

Protocol 2.0, with the length counting everything after it and a CRC-16 over everything before it:

    FF FF FD 00 | id | length (2) | instruction | [error] | parameters … | CRC (2)

In protocol 2.0 the header FF FF FD must not occur between instruction and CRC: there it is sent as FF FF FD
FD ("stuffing"; length and CRC count the added byte). The status of a *fast* read is the exception, it is not
stuffed (`fast_status`).

Source: ROBOTIS e-manual, "DYNAMIXEL Protocol 1.0" and "DYNAMIXEL Protocol 2.0".
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from typing import Literal, NamedTuple

from pliant.errors import OutOfBoundsError
from pliant.hardware.dynamixel.packets import BROADCAST, crc16, stuff, unstuff

ProtocolVersion = Literal[1, 2]

LARGEST_ID: dict[int, int] = {1: 0xFD, 2: 0xFC}
MAX_PACKET = 1024
"""Bytes of the longest packet of protocol 2.0 that is accepted (the vendor's SDK sends no longer one)."""

_HEADER_1 = b"\xff\xff"
_HEADER_2 = b"\xff\xff\xfd"


class Instruction(IntEnum):
    """What an instruction packet asks for."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    FACTORY_RESET = 0x06
    REBOOT = 0x08
    CLEAR = 0x10
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A
    BULK_READ = 0x92
    BULK_WRITE = 0x93
    FAST_BULK_READ = 0x9A


class Error1(IntFlag):
    """Error bits of a status of protocol 1.0."""

    VOLTAGE = 0x01
    ANGLE = 0x02
    OVERHEAT = 0x04
    RANGE = 0x08
    CHECKSUM = 0x10
    OVERLOAD = 0x20
    INSTRUCTION = 0x40


class Error2(IntEnum):
    """Error numbers of a status of protocol 2.0 (its bit 7 is `ALERT`)."""

    NONE = 0
    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


class InstructionPacket(NamedTuple):
    """What a computer sends: the servo (or `BROADCAST`), the instruction and its parameters, unstuffed."""

    id: int
    instruction: int
    parameters: bytes = b""


class StatusPacket(NamedTuple):
    """What a servo answers: its number, the error and the parameters, unstuffed."""

    id: int
    error: int
    parameters: bytes = b""


class Damaged(NamedTuple):
    """A packet that arrived whole but fails its checksum; `id` is whom it claims to address."""

    id: int


class Slot(NamedTuple):
    """One servo's part of the status of a fast read."""

    id: int
    error: int
    data: bytes


Packet = InstructionPacket | StatusPacket


def checksum(body: Iterable[int]) -> int:
    """Return the checksum of protocol 1.0 over everything between header and checksum."""
    return ~sum(body) & 0xFF


def encode_instruction(protocol: ProtocolVersion, packet: InstructionPacket) -> bytes:
    """Return the bytes of an instruction. Raises `OutOfBoundsError` if it cannot be sent."""
    _check_id(protocol, packet.id, broadcast=True)
    if protocol == 1:
        return _frame_1(packet.id, packet.instruction, packet.parameters)
    return _frame_2(packet.id, stuff(bytes([packet.instruction]) + packet.parameters))


def encode_status(protocol: ProtocolVersion, packet: StatusPacket) -> bytes:
    """Return the bytes of a status. Raises `OutOfBoundsError` if it cannot be sent."""
    _check_id(protocol, packet.id, broadcast=False)
    if protocol == 1:
        return _frame_1(packet.id, packet.error, packet.parameters)
    return _frame_2(packet.id, stuff(bytes([Instruction.STATUS, packet.error]) + packet.parameters))


def fast_status(sizes: Sequence[int], slots: Sequence[Slot]) -> list[bytes]:
    """Return what each servo sends in answer to a fast sync or bulk read (8A, 9A), in order.

    Together the servos send one status of protocol 2.0 from the broadcast number, without stuffing. Each
    sends error | id | data | CRC, the first one after header, length and instruction; each CRC covers
    everything before it on the wire, the earlier CRCs included.

    Args:
        sizes: bytes of data of every servo that was asked; they give the length in the header.
        slots: the servos that answer. A servo sends when the one before it has, so where one is silent
            the rest is silent too and the status stays short.
    """
    length = 1 + sum(4 + size for size in sizes)
    wire = _HEADER_2 + bytes([0, BROADCAST]) + length.to_bytes(2, "little") + bytes([Instruction.STATUS])
    parts = []
    sent = 0
    for slot in slots:
        wire += bytes([slot.error, slot.id]) + slot.data
        wire += crc16(wire).to_bytes(2, "little")
        parts.append(wire[sent:])
        sent = len(wire)
    return parts


def decode_fast_status(packet: StatusPacket, sizes: Sequence[int]) -> list[Slot]:
    """Return the slots of a whole fast status, given the bytes of data that each servo was asked for.

    Raises `OutOfBoundsError` if the status does not hold that many bytes.
    """
    expected = sum(4 + size for size in sizes) - 3
    if len(packet.parameters) != expected:
        raise OutOfBoundsError(
            f"fast status holds {len(packet.parameters)} bytes; data of {list(sizes)} bytes need {expected}."
        )
    block = bytes([packet.error]) + packet.parameters
    slots = []
    for size in sizes:
        slots.append(Slot(block[1], block[0], block[2 : 2 + size]))
        block = block[4 + size :]
    return slots


class PacketParser:
    """Finds packets in a stream of bytes, however it is cut, and finds its way back after garbage.

    Args:
        protocol: 1 or 2.
        status: True for what servos send, False for what a computer sends.

    In protocol 2.0 an unstuffed header inside a packet starts a new packet, as on a servo: the packet that it
    interrupts is lost. At most `MAX_PACKET` bytes are kept.
    """

    def __init__(self, protocol: ProtocolVersion, status: bool = False) -> None:
        self._take = self._take_1 if protocol == 1 else self._take_2
        self._status = status
        self._buffer = bytearray()

    def __len__(self) -> int:
        """Return how many bytes of an unfinished packet are kept."""
        return len(self._buffer)

    def reset(self) -> None:
        """Forget an unfinished packet."""
        self._buffer.clear()

    def feed(self, data: bytes) -> list[Packet | Damaged]:
        """Take the next bytes of the stream; return the packets that they complete, in order."""
        self._buffer += data
        found: list[Packet | Damaged] = []
        while True:
            before = len(self._buffer)
            packet = self._take()
            if packet is not None:
                found.append(packet)
            if len(self._buffer) == before:
                return found

    def _drop_to(self, header: bytes) -> bool:
        """Drop everything before the next header; False if there is none (yet)."""
        buffer = self._buffer
        start = buffer.find(header)
        if start >= 0:
            del buffer[:start]
            return True
        for kept in range(min(len(header) - 1, len(buffer)), 0, -1):
            if buffer.endswith(header[:kept]):
                del buffer[:-kept]
                return False
        buffer.clear()
        return False

    def _take_1(self) -> Packet | Damaged | None:
        buffer = self._buffer
        if not self._drop_to(_HEADER_1) or len(buffer) < 4:
            return None
        if buffer[2] == 0xFF:
            del buffer[:1]
            return None
        id_, length = buffer[2], buffer[3]
        if length < 2 or (self._status and id_ > LARGEST_ID[1]):
            del buffer[:2]
            return None
        if len(buffer) < 4 + length:
            return None
        body = bytes(buffer[2 : 3 + length])
        good = checksum(body) == buffer[3 + length]
        del buffer[: 4 + length]
        return self._packet(id_, body[2], body[3:]) if good else Damaged(id_)

    def _take_2(self) -> Packet | Damaged | None:
        buffer = self._buffer
        if not self._drop_to(_HEADER_2) or len(buffer) < 7:
            return None
        id_, length = buffer[4], buffer[5] | buffer[6] << 8
        known = id_ <= LARGEST_ID[2] or id_ == BROADCAST
        if buffer[3] != 0 or not known or not 3 + self._status <= length <= MAX_PACKET - 7:
            del buffer[:3]
            return None
        end = 5 + length
        fast = self._status and id_ == BROADCAST
        inner = -1 if fast else _inner_header(bytes(buffer[7:end]), len(buffer) >= end)
        if inner >= 0:
            del buffer[: 7 + inner]
            return None
        if len(buffer) < end + 2:
            return None
        good = crc16(buffer[:end]) == buffer[end] | buffer[end + 1] << 8
        raw = bytes(buffer[7:end])
        # After a damaged packet its length is not to be trusted: search on right behind its header.
        del buffer[: end + 2 if good else 3]
        if not good:
            return Damaged(id_)
        payload = raw if fast else unstuff(raw)
        if not self._status:
            return self._packet(id_, payload[0], payload[1:])
        return self._packet(id_, payload[1], payload[2:]) if payload[0] == Instruction.STATUS else None

    def _packet(self, id_: int, code: int, parameters: bytes) -> Packet:
        return (StatusPacket if self._status else InstructionPacket)(id_, code, parameters)


def _inner_header(body: bytes, whole: bool) -> int:
    """Return where an unstuffed header begins in what has come of a packet's body; −1 if there is none."""
    at = body.find(_HEADER_2)
    while at >= 0:
        after = body[at + 3 : at + 4]
        if after != b"\xfd" and (after or whole):
            return at
        at = body.find(_HEADER_2, at + 3)
    return -1


def _check_id(protocol: ProtocolVersion, id_: int, broadcast: bool) -> None:
    if not (0 <= id_ <= LARGEST_ID[protocol] or (broadcast and id_ == BROADCAST)):
        extra = f" or {BROADCAST} (all)" if broadcast else ""
        raise OutOfBoundsError(
            f"servo number {id_} is outside 0 … {LARGEST_ID[protocol]}{extra} of protocol {protocol}.0."
        )


def _frame_1(id_: int, code: int, parameters: bytes) -> bytes:
    if len(parameters) > 0xFF - 2:
        raise OutOfBoundsError(f"a packet of protocol 1.0 holds at most 253 parameters, not {len(parameters)}.")
    body = bytes([id_, len(parameters) + 2, code]) + parameters
    return _HEADER_1 + body + bytes([checksum(body)])


def _frame_2(id_: int, payload: bytes) -> bytes:
    if len(payload) + 9 > MAX_PACKET:
        raise OutOfBoundsError(f"a packet of protocol 2.0 has at most {MAX_PACKET} bytes, not {len(payload) + 9}.")
    head = _HEADER_2 + bytes([0, id_]) + (len(payload) + 2).to_bytes(2, "little") + payload
    return head + crc16(head).to_bytes(2, "little")
