"""Packets against the manual's examples, and the parser against anything at all."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.hardware.dynamixel.packets import (
    Instruction,
    Status,
    StatusReader,
    crc16,
    fast_status_size,
    fast_statuses,
    instruction_packet,
    stuff,
    stuff_packet,
    unstuff,
)

TRICKY = st.lists(st.sampled_from([0xFF, 0xFD, 0x00, 0x55, 0x01]) | st.integers(0, 255), max_size=24).map(bytes)


def slow_crc(data: bytes) -> int:
    """Return the CRC bit by bit, independently of the table."""
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x8005) & 0xFFFF if value & 0x8000 else value << 1
    return value


def status_2(servo: int, error: int, data: bytes) -> bytes:
    body, stuffed = bytes([0x55, error]) + data, bytearray()
    for byte in body:
        stuffed.append(byte)
        if stuffed[-3:] == b"\xff\xff\xfd":
            stuffed.append(0xFD)
    head = b"\xff\xff\xfd\x00" + bytes([servo]) + (len(stuffed) + 2).to_bytes(2, "little")
    return head + bytes(stuffed) + slow_crc(head + stuffed).to_bytes(2, "little")


def status_1(servo: int, error: int, data: bytes) -> bytes:
    body = bytes([servo, len(data) + 2, error]) + data
    return b"\xff\xff" + body + bytes([~sum(body) & 0xFF])


def is_on_the_wire(stream: bytes, status: Status, protocol: int) -> bool:
    """Return whether `stream` holds this status as a well-formed packet."""
    whole = (status_2 if protocol == 2 else status_1)(*status)
    return whole in stream


def test_the_manuals_read_answer_is_understood():
    # e-manual, Protocol 2.0, Read: present position of servo 1 is 166
    wire = bytes.fromhex("FFFFFD00010800 55 00 A6000000 8CC0".replace(" ", ""))
    assert StatusReader(2, 4).feed(wire) == [Status(1, 0, b"\xa6\x00\x00\x00")]


def test_the_manuals_fast_sync_read_answer_is_understood():
    # e-manual, Protocol 2.0, Fast Sync Read: 166, 2079 and 1023
    wire = bytes.fromhex("FFFFFD00FE190055 0003A60000008408 00071F08000016CA 0004FF030000D19E".replace(" ", ""))
    assert len(wire) == fast_status_size(3, 4)
    found = fast_statuses(b"\x12" + wire, [3, 7, 4], 4)
    assert [(s.servo, int.from_bytes(s.data, "little")) for s in found] == [(3, 166), (7, 2079), (4, 1023)]


def test_a_fast_answer_that_breaks_off_gives_the_servos_before_the_break():
    wire = bytes.fromhex("FFFFFD00FE190055 0003A60000008408 00071F08000016CA 0004FF030000D19E".replace(" ", ""))
    assert [s.servo for s in fast_statuses(wire[:-1], [3, 7, 4], 4)] == [3, 7]
    assert [s.servo for s in fast_statuses(wire[:20], [3, 7, 4], 4)] == [3]
    assert fast_statuses(wire[:15], [3, 7, 4], 4) == []


def test_a_fast_answer_for_other_servos_is_refused():
    wire = bytes.fromhex("FFFFFD00FE190055 0003A60000008408 00071F08000016CA 0004FF030000D19E".replace(" ", ""))
    assert fast_statuses(wire, [3, 4, 7], 4)[1:] == []
    assert fast_statuses(wire, [3, 7], 4) == []


@given(st.binary(max_size=64))
def test_the_checksum_agrees_with_long_division(data):
    assert crc16(data) == slow_crc(data)
    assert crc16(data[10:], crc16(data[:10])) == crc16(data)


@given(TRICKY)
def test_unstuffing_undoes_stuffing_and_leaves_no_header(body):
    assert unstuff(stuff(body)) == body
    assert b"\xff\xff\xfd\x00" not in stuff(body)


@given(TRICKY)
def test_the_packet_handed_to_the_sdk_is_stuffed_in_place(parameters):
    packet = instruction_packet(2, 1, Instruction.WRITE, parameters)
    assert stuff_packet(packet) is packet
    assert packet[5] | packet[6] << 8 == len(packet) - 7
    assert bytes(packet[8:-2]) == stuff(bytes([3]) + parameters)[1:]


@given(st.integers(0, 252), st.integers(0, 255), TRICKY, st.binary(max_size=30), st.integers(1, 7))
def test_an_answer_is_found_whatever_precedes_it_and_however_it_is_cut(servo, error, data, noise, size):
    reader = StatusReader(2, 24)
    wire = noise + status_2(servo, error, data)
    found = [s for at in range(0, len(wire), size) for s in reader.feed(wire[at : at + size])]
    # Noise may hold the beginning of a longer packet; then the answer is waited for, never misread.
    assert found in ([Status(servo, error, data)], []) or is_on_the_wire(wire, found[0], 2)
    if b"\xff\xff\xfd" not in noise + wire[:2]:
        assert found == [Status(servo, error, data)]


@given(st.integers(0, 252), st.integers(0, 127), st.binary(max_size=8), st.integers(1, 7))
def test_a_protocol_1_answer_is_found_however_it_is_cut(servo, error, data, size):
    reader = StatusReader(1, 8)
    wire = status_1(servo, error, data)
    found = [s for at in range(0, len(wire), size) for s in reader.feed(wire[at : at + size])]
    assert found == [Status(servo, error, data)]


def test_the_echo_of_a_protocol_1_request_is_no_answer():
    request = bytes.fromhex("FFFF 01 04 02 24 02 D2".replace(" ", ""))
    assert StatusReader(1, 2).feed(request) == [Status(1, 2, b"\x24\x02")], "it looks like an answer"
    reader = StatusReader(1, 2, echo=request)
    assert reader.feed(request + status_1(1, 0, b"\x00\x02")) == [Status(1, 0, b"\x00\x02")]


def test_a_damaged_length_does_not_swallow_the_answers_behind_it():
    broken = bytearray(status_2(1, 0, b"\1\2\3\4"))
    broken[5] = 200
    reader = StatusReader(2, 4)
    assert reader.feed(bytes(broken) + status_2(2, 0, b"\5\6\7\x08")) == [Status(2, 0, b"\5\6\7\x08")]


def test_a_truncated_answer_followed_by_a_whole_one_loses_only_the_truncated_one():
    reader = StatusReader(2, 4)
    wire = status_2(1, 0, b"\1\2\3\4")[:-3] + status_2(2, 0, b"\5\6\7\x08")
    assert reader.feed(wire + status_2(3, 0, b"\1\1\1\1"))[-1] == Status(3, 0, b"\1\1\1\1")


MUTATION = st.tuples(
    st.sampled_from(["flip", "drop", "insert", "duplicate", "cut"]), st.integers(0, 1000), st.integers(0, 255)
)


def mutate(wire: bytes, mutations: list[tuple[str, int, int]]) -> bytes:
    data = bytearray(wire)
    for kind, place, value in mutations:
        if not data:
            break
        at = place % len(data)
        if kind == "flip":
            data[at] ^= value or 1
        elif kind == "drop":
            del data[at]
        elif kind == "insert":
            data.insert(at, value)
        elif kind == "duplicate":
            data[at:at] = data[at : at + 1 + value % 8]
        else:
            del data[at:]
    return bytes(data)


def check_nothing_false_comes_out(protocol, answers, mutations, noise):
    make = status_2 if protocol == 2 else status_1
    wire = noise + mutate(b"".join(make(*answer) for answer in answers), mutations)
    reader = StatusReader(protocol, 12)
    found = reader.feed(wire)
    assert all(is_on_the_wire(wire, status, protocol) for status in found)
    assert len(reader._buffer) <= 12 + 4 + 11, "the parser hoards bytes"
    assert all(len(status.data) <= 16 for status in found)


ANSWERS = st.lists(
    st.tuples(st.integers(0, 252), st.sampled_from([0, 0, 0x80, 7]), st.binary(max_size=12)), max_size=4
)
ANSWERS_1 = st.lists(st.tuples(st.integers(0, 252), st.integers(0, 127), st.binary(max_size=12)), max_size=4)


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANSWERS, st.lists(MUTATION, max_size=6), TRICKY)
@pytest.mark.slow
def test_nothing_comes_out_of_mutated_bytes_that_was_not_on_the_wire(answers, mutations, noise):
    check_nothing_false_comes_out(2, answers, mutations, noise)


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANSWERS_1, st.lists(MUTATION, max_size=6), TRICKY)
@pytest.mark.slow
def test_nothing_comes_out_of_mutated_protocol_1_bytes_that_was_not_on_the_wire(answers, mutations, noise):
    check_nothing_false_comes_out(1, answers, mutations, noise)


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 252), st.binary(min_size=4, max_size=12), st.integers(0, 500), st.integers(1, 0xFFFF))
@pytest.mark.slow
def test_no_burst_of_up_to_16_bits_passes_for_data(servo, data, place, pattern):
    wire = status_2(servo, 0, data)
    bits = int.from_bytes(wire, "big") ^ pattern << place % (8 * len(wire) - 16)
    found = StatusReader(2, 12).feed(bits.to_bytes(len(wire), "big"))
    assert found == []


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([1, 2]), ANSWERS, st.lists(MUTATION, max_size=6), TRICKY)
def test_20_000_mutated_packets_bring_nothing_false(protocol, answers, mutations, noise):
    answers = [(servo, error & 0x7F if protocol == 1 else error, data) for servo, error, data in answers]
    check_nothing_false_comes_out(protocol, answers, mutations, noise)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.integers(0, 252), min_size=1, max_size=4, unique=True),
    st.binary(min_size=40, max_size=40),
    st.lists(MUTATION, min_size=1, max_size=4),
)
def test_a_mutated_fast_answer_gives_only_slots_with_right_checksums(servos, values, mutations):
    size = 1 + len(servos) * 12
    wire = b"\xff\xff\xfd\x00\xfe" + size.to_bytes(2, "little") + b"\x55"
    for number, servo in enumerate(servos):
        wire += bytes([0, servo]) + values[number * 8 : number * 8 + 8]
        wire += slow_crc(wire).to_bytes(2, "little")
    assert [s.servo for s in fast_statuses(wire, servos, 8)] == servos
    damaged = mutate(wire, mutations)
    start = damaged.find(b"\xff\xff\xfd\x00\xfe" + size.to_bytes(2, "little") + b"\x55")
    for number, status in enumerate(fast_statuses(damaged, servos, 8)):
        end = start + 8 + 12 * number + 10
        assert damaged[end - 10 : end] == bytes([status.error, servos[number]]) + status.data
        assert slow_crc(damaged[start:end]) == int.from_bytes(damaged[end : end + 2], "little")
