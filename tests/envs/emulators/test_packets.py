"""The codec against the bytes printed in the vendor's protocol descriptions, and against itself."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.envs.emulators.dynamixel.packets import (
    MAX_PACKET,
    Damaged,
    Instruction,
    InstructionPacket,
    PacketParser,
    Slot,
    StatusPacket,
    checksum,
    decode_fast_status,
    encode_instruction,
    encode_status,
    fast_status,
)
from pliant.errors import OutOfBoundsError

# Protocol, packet, bytes: ROBOTIS e-manual, "DYNAMIXEL Protocol 1.0" and "2.0", the examples.
INSTRUCTIONS = [
    (2, InstructionPacket(1, 0x01), "FF FF FD 00 01 03 00 01 19 4E"),
    (2, InstructionPacket(0xFE, 0x01), "FF FF FD 00 FE 03 00 01 31 42"),
    (2, InstructionPacket(1, 0x02, bytes([132, 0, 4, 0])), "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15"),
    (
        2,
        InstructionPacket(1, 0x03, bytes([116, 0, 0, 2, 0, 0])),
        "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89",
    ),
    (
        2,
        InstructionPacket(1, 0x04, bytes([104, 0, 200, 0, 0, 0])),
        "FF FF FD 00 01 09 00 04 68 00 C8 00 00 00 AE 8E",
    ),
    (2, InstructionPacket(1, 0x05), "FF FF FD 00 01 03 00 05 02 CE"),
    (2, InstructionPacket(1, 0x06, b"\x01"), "FF FF FD 00 01 04 00 06 01 A1 E6"),
    (2, InstructionPacket(1, 0x08), "FF FF FD 00 01 03 00 08 2F 4E"),
    (2, InstructionPacket(1, 0x10, b"\x01DXL\x22"), "FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC"),
    (
        2,
        InstructionPacket(0xFE, 0x82, bytes([132, 0, 4, 0, 1, 2])),
        "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA",
    ),
    (
        2,
        InstructionPacket(0xFE, 0x8A, bytes([132, 0, 4, 0, 3, 7, 4])),
        "FF FF FD 00 FE 0A 00 8A 84 00 04 00 03 07 04 20 F2",
    ),
    (
        2,
        InstructionPacket(0xFE, 0x93, bytes.fromhex("01 20 00 02 00 A0 00 02 1F 00 01 00 50")),
        "FF FF FD 00 FE 10 00 93 01 20 00 02 00 A0 00 02 1F 00 01 00 50 B7 68",
    ),
    (1, InstructionPacket(1, 0x03, bytes([12, 100, 170])), "FF FF 01 05 03 0C 64 AA DC"),
    (1, InstructionPacket(1, 0x02, bytes([43, 1])), "FF FF 01 04 02 2B 01 CC"),
    (1, InstructionPacket(0xFE, 0x05), "FF FF FE 02 05 FA"),
    (
        1,
        InstructionPacket(0xFE, 0x83, bytes.fromhex("1E 04 00 10 00 50 01 01 20 02 60 03")),
        "FF FF FE 0E 83 1E 04 00 10 00 50 01 01 20 02 60 03 67",
    ),
    (
        1,
        InstructionPacket(0xFE, 0x92, bytes.fromhex("00 02 01 1E 02 02 24")),
        "FF FF FE 09 92 00 02 01 1E 02 02 24 1D",
    ),
]
STATUSES = [
    (2, StatusPacket(1, 0, bytes([0x06, 0x04, 0x26])), "FF FF FD 00 01 07 00 55 00 06 04 26 65 5D"),
    (2, StatusPacket(2, 0, bytes([0x06, 0x04, 0x26])), "FF FF FD 00 02 07 00 55 00 06 04 26 6F 6D"),
    (2, StatusPacket(1, 0, bytes([0xA6, 0, 0, 0])), "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0"),
    (2, StatusPacket(1, 0), "FF FF FD 00 01 04 00 55 00 A1 0C"),
    (1, StatusPacket(1, 0), "FF FF 01 02 00 FC"),
    (1, StatusPacket(1, 0x24), "FF FF 01 02 24 D8"),
    (1, StatusPacket(1, 0, b"\x20"), "FF FF 01 03 00 20 DB"),
]
# Three servos, 4 bytes each; and 4, 2 and 1 bytes.
FAST_SYNC = (
    [4, 4, 4],
    [Slot(3, 0, b"\xa6\0\0\0"), Slot(7, 0, b"\x1f\x08\0\0"), Slot(4, 0, b"\xff\x03\0\0")],
    [
        "FF FF FD 00 FE 19 00 55 00 03 A6 00 00 00 84 08",
        "00 07 1F 08 00 00 16 CA",
        "00 04 FF 03 00 00 D1 9E",
    ],
)
FAST_BULK = (
    [4, 2, 1],
    [Slot(3, 0, b"\xa6\0\0\0"), Slot(7, 0, b"\xa5\x01"), Slot(4, 0, b"\x1f")],
    ["FF FF FD 00 FE 14 00 55 00 03 A6 00 00 00 67 A4", "00 07 A5 01 24 74", "00 04 1F D9 C1"],
)

protocols = st.sampled_from([1, 2])
# Bytes of which headers and stuffing are made turn up far more often than by chance.
nasty = st.lists(st.sampled_from([0xFF, 0xFF, 0xFD, 0x00, 0x01, 0x55]) | st.integers(0, 255), max_size=60)
payloads = nasty.map(bytes)
ids = st.integers(0, 252)


@pytest.mark.parametrize(("protocol", "packet", "wire"), INSTRUCTIONS)
def test_instructions_are_the_bytes_of_the_manual(protocol, packet, wire):
    data = bytes.fromhex(wire)
    assert encode_instruction(protocol, packet) == data
    assert PacketParser(protocol).feed(data) == [packet]


@pytest.mark.parametrize(("protocol", "packet", "wire"), STATUSES)
def test_statuses_are_the_bytes_of_the_manual(protocol, packet, wire):
    data = bytes.fromhex(wire)
    assert encode_status(protocol, packet) == data
    assert PacketParser(protocol, status=True).feed(data) == [packet]


@pytest.mark.parametrize(("sizes", "slots", "wire"), [FAST_SYNC, FAST_BULK])
def test_fast_status_is_the_bytes_of_the_manual(sizes, slots, wire):
    parts = fast_status(sizes, slots)
    assert [part.hex(" ").upper() for part in parts] == wire
    (packet,) = PacketParser(2, status=True).feed(b"".join(parts))
    assert decode_fast_status(packet, sizes) == slots


def test_fast_status_is_not_stuffed_and_still_found():
    slots = [Slot(1, 0, b"\xff\xff\xfd\x00"), Slot(2, 0x80, b"\xff\xff\xfd\xfd")]
    wire = b"".join(fast_status([4, 4], slots))
    assert b"\xff\xff\xfd\xfd\xfd" not in wire
    (packet,) = PacketParser(2, status=True).feed(wire)
    assert decode_fast_status(packet, [4, 4]) == slots


def test_fast_status_ends_before_a_silent_servo():
    sizes, slots, wire = FAST_SYNC
    assert fast_status(sizes, slots[:1]) == [bytes.fromhex(wire[0])]
    with pytest.raises(OutOfBoundsError, match="fast status"):
        decode_fast_status(StatusPacket(254, 0, b"\x03"), sizes)


def test_header_in_the_payload_is_stuffed_by_one_byte():
    packet = InstructionPacket(1, 0x03, b"\x74\0\xff\xff\xfd\0")
    wire = encode_instruction(2, packet)
    assert wire[5] == 3 + 6 + 1
    assert wire[7:-2] == b"\x03\x74\0\xff\xff\xfd\xfd\0"
    assert PacketParser(2).feed(wire) == [packet]


def test_unstuffed_header_in_a_payload_loses_the_packet_but_not_the_next():
    """What dynamixel-sdk 4.1.0 sends: its stuffed packet never reaches the wire."""
    good = encode_instruction(2, InstructionPacket(1, Instruction.PING))
    stuffed = encode_instruction(2, InstructionPacket(1, 0x03, b"\x74\0\xff\xff\xfd\0"))
    raw = bytearray(stuffed.replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"))
    raw[5] -= 1
    assert PacketParser(2).feed(bytes(raw) + good) == [InstructionPacket(1, Instruction.PING)]


def test_damaged_packet_is_reported_with_its_number():
    for protocol in (1, 2):
        wire = bytearray(encode_instruction(protocol, InstructionPacket(9, 0x02, b"\x10\x02\x00\x00")))
        wire[-1] ^= 0x01
        assert PacketParser(protocol).feed(bytes(wire)) == [Damaged(9)]


@pytest.mark.parametrize(
    ("protocol", "packet"),
    [
        (1, InstructionPacket(255, 1)),
        (2, InstructionPacket(253, 1)),
        (2, InstructionPacket(-1, 1)),
        (1, InstructionPacket(1, 3, bytes(254))),
        (2, InstructionPacket(1, 3, bytes(MAX_PACKET))),
    ],
)
def test_what_cannot_be_sent_is_refused(protocol, packet):
    with pytest.raises(OutOfBoundsError):
        encode_instruction(protocol, packet)


def test_a_servo_cannot_answer_as_everyone():
    with pytest.raises(OutOfBoundsError, match="254"):
        encode_status(2, StatusPacket(254, 0))


@settings(max_examples=250, deadline=None)
@given(protocols, st.booleans(), ids, st.integers(0, 127), payloads, st.lists(st.integers(1, 9)))
def test_packets_survive_any_cutting_of_the_stream(protocol, status, id_, code, payload, cuts):
    if status:
        packet = StatusPacket(id_, code, payload)
        wire = encode_status(protocol, packet)
    else:
        packet = InstructionPacket(id_, code, payload)
        wire = encode_instruction(protocol, packet)
    parser = PacketParser(protocol, status)
    found, rest = [], wire + wire
    for cut in cuts:
        found += parser.feed(rest[:cut])
        rest = rest[cut:]
    assert found + parser.feed(rest) == [packet, packet]
    assert len(parser) == 0


@settings(max_examples=250, deadline=None)
@given(protocols, st.booleans(), payloads, st.lists(st.integers(1, 9)))
def test_a_packet_after_garbage_and_a_pause_is_found(protocol, status, garbage, cuts):
    parser = PacketParser(protocol, status)
    for cut in cuts:
        parser.feed(garbage[:cut])
        garbage = garbage[cut:]
    parser.feed(garbage)
    assert len(parser) <= MAX_PACKET
    parser.reset()
    packet = StatusPacket(5, 0, b"ab") if status else InstructionPacket(5, Instruction.ACTION, b"ab")
    wire = (encode_status if status else encode_instruction)(protocol, packet)
    assert parser.feed(wire) == [packet]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_protocol_2_finds_the_packet_behind_garbage_without_a_pause(garbage):
    """Unless the garbage is itself the beginning of a longer packet, which two packets then end."""
    packet = InstructionPacket(5, Instruction.PING)
    wire = encode_instruction(2, packet)
    parser = PacketParser(2)
    found = parser.feed(garbage.replace(b"\xff\xff\xfd", b"") + wire)
    assert found == [packet]


@pytest.mark.parametrize("protocol", [1, 2])
def test_endless_garbage_does_not_fill_the_memory(protocol):
    parser = PacketParser(protocol)
    for pattern in (b"\xff", b"\xff\xff\xfd\x00\x01\xf0\x03", b"\xff\xff\x01\xff", bytes(range(256))):
        for _ in range(50):
            parser.feed(pattern * 100)
            assert len(parser) < MAX_PACKET


def flipped(wire: bytes, position: int, mask: int) -> bytes:
    """One byte behind the length is wrong; in another frame a CRC may be right by chance."""
    data = bytearray(wire)
    data[7 + position % (len(wire) - 7)] ^= mask
    return bytes(data)


@settings(max_examples=300, deadline=None)
@given(ids, st.integers(0, 127), payloads, st.integers(0, 300), st.integers(1, 255))
def test_damage_of_one_byte_is_never_taken_for_data(id_, error, payload, position, mask):
    wire = flipped(encode_status(2, StatusPacket(id_, error, payload)), position, mask)
    found = PacketParser(2, status=True).feed(wire)
    assert all(isinstance(packet, Damaged) for packet in found)


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damage_of_two_neighbours_is_never_taken_for_data(count):
    """Both before the CRC: its bytes come in reverse order, which spoils the guarantee across its beginning."""
    rng = random.Random(5)
    for _ in range(count):
        wire = encode_status(2, StatusPacket(rng.randrange(253), 0, rng.randbytes(rng.randrange(12))))
        at = rng.randrange(8, len(wire) - 2)
        damaged = wire[: at - 1] + bytes(b ^ rng.randrange(1, 256) for b in wire[at - 1 : at + 1]) + wire[at + 1 :]
        found = PacketParser(2, status=True).feed(damaged)
        assert all(isinstance(packet, Damaged) for packet in found)


def test_checksum_is_the_complement_of_the_sum():
    assert checksum(bytes([0x01, 0x05, 0x03, 0x0C, 0x64, 0xAA])) == 0xDC
