"""Whatever comes over the wire: the bus does not crash, does not hang, and obeys nothing that is damaged."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.faults import Faults, Wire
from pliant.envs.emulators.dynamixel.packets import (
    Instruction,
    InstructionPacket,
    PacketParser,
    StatusPacket,
    encode_instruction,
)
from pliant.envs.emulators.dynamixel.plants import shaft_plant
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.hardware.dynamixel.packets import ALERT

MODELS = {1: "XM430-W350", 2: "XL330-M288", 3: "AX-12A"}
HARMLESS = 50_000
"""Bytes that an instruction can bring back at most, generously."""

instructions = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 16, 0x82, 0x83, 0x8A, 0x92, 0x93, 0x9A]) | st.integers(0, 255)
numbers = st.sampled_from([1, 2, 3, 254]) | st.integers(0, 252)
small = st.sampled_from([0, 1, 2, 3, 4, 64, 98, 116, 132, 0xFD, 0xFF])
parameters = st.lists(small | st.integers(0, 255), max_size=40).map(bytes)
packets = st.builds(
    lambda protocol, number, instruction, data: encode_instruction(
        protocol, InstructionPacket(number, instruction, data)
    ),
    st.sampled_from([1, 2]),
    numbers,
    instructions,
    parameters,
)


def make_bus() -> Bus:
    servos = tuple(ServoSettings(i, model, registers={"return_delay_time": 0}) for i, model in MODELS.items())
    bus = Bus(BusSettings(servos, lock_step=True), shaft_plant(MODELS, 6.5))
    bus.advance(0.01)  # 6.5 V is too little for the XM430, which notes it in a register
    return bus


def snapshots(bus: Bus) -> list[bytes]:
    return [servo.memory.snapshot() for servo in bus.servos]


def check_streams(streams: list[bytes]) -> None:
    """Every answer is a whole, valid status, and the bus still answers a ping after a pause."""
    bus = make_bus()
    parsers = [PacketParser(protocol, status=True) for protocol in (1, 2)]
    for stream in streams:
        answer = b"".join(delivery.data for delivery in bus.receive(stream, 1e6))
        assert len(answer) < HARMLESS
        for delivery_parser in parsers:
            delivery_parser.reset()
            delivery_parser.feed(answer)
    bus.silence()
    assert bus.now < 10.0 * (1 + len(streams))
    for servo in bus.servos:
        bus.receive(encode_instruction(servo.protocol, InstructionPacket(servo.id, 1)), servo.baud)
        assert servo.now <= bus.now + 1e-6


def check_valid_packets(stream: list[bytes]) -> None:
    """Packets with a right checksum and any content: each answer is one whole status of one servo."""
    bus = make_bus()
    for packet in stream:
        for delivery in bus.receive(packet, 1e6):
            protocol = 2 if delivery.data[:3] == b"\xff\xff\xfd" else 1
            if protocol == 2 and delivery.data[4] == 254:
                # A fast status that breaks off at a servo that is not there: shorter than it says, but no other.
                assert len(delivery.data) <= 7 + int.from_bytes(delivery.data[5:7], "little")
                continue
            parser = PacketParser(protocol, status=True)
            (status,) = parser.feed(delivery.data)
            assert isinstance(status, StatusPacket)
            assert len(parser) == 0
        if len({servo.id for servo in bus.servos}) < len(bus.servos):
            bus = make_bus()  # a broadcast has given them one number: from now on they talk at once
        bus.silence()


def check_damaged_writes(register: int, data: bytes, position: int, mask: int) -> None:
    """A write with one wrong byte behind its length changes nothing."""
    bus = make_bus()
    before = snapshots(bus)
    servo = bus.servos[register % 2]
    entry = servo.model.table[register % len(servo.model.table)]
    payload = entry.address.to_bytes(2, "little") + data[: entry.size]
    packet = bytearray(encode_instruction(2, InstructionPacket(servo.id, 3, payload)))
    packet[7 + position % (len(packet) - 7)] ^= mask
    bus.receive(bytes(packet), 1e6)
    bus.silence()
    assert snapshots(bus) == before


mutated = st.builds(
    lambda packet, cut, insert, at: (
        packet[: at % (len(packet) + 1)] + insert + packet[at % (len(packet) + 1) + cut :]
    ),
    packets,
    st.integers(0, 3),
    st.binary(max_size=3),
    st.integers(0, 60),
)
streams = st.lists(mutated | packets | st.binary(max_size=40), max_size=8)
damage = (st.integers(0, 200), st.binary(min_size=4, max_size=4), st.integers(0, 40), st.integers(1, 255))


@settings(max_examples=150, deadline=None)
@given(streams)
def test_garbage_neither_crashes_nor_hangs_the_bus(stream):
    check_streams(stream)


@settings(max_examples=150, deadline=None)
@given(st.lists(packets, max_size=8))
def test_every_answer_to_valid_packets_is_a_whole_status(stream):
    check_valid_packets(stream)


@settings(max_examples=150, deadline=None)
@given(*damage)
def test_damaged_writes_change_nothing(register, data, position, mask):
    check_damaged_writes(register, data, position, mask)


def random_packet(rng: random.Random) -> bytes:
    """A packet with a right checksum: any instruction, mostly to a servo that is there."""
    instruction = rng.choice([*Instruction, rng.randrange(256)])
    number = rng.choice([1, 2, 3, 254, rng.randrange(253)])
    data = bytes(
        rng.choice([0, 1, 4, 64, 116, 132, 0xFD, 0xFF, rng.randrange(256)]) for _ in range(rng.randrange(20))
    )
    return encode_instruction(rng.choice([1, 2]), InstructionPacket(number, instruction, data))


def mutate(packet: bytes, rng: random.Random) -> bytes:
    """The packet with some bytes lost, flipped, inserted or doubled."""
    data = bytearray(packet)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(4)
        if change == 0:
            del data[at : at + rng.randrange(1, 4)]
        elif change == 1 and at < len(data):
            data[at] ^= rng.randrange(1, 256)
        elif change == 2:
            data[at:at] = rng.randbytes(rng.randrange(1, 4))
        else:
            data[at:at] = data[at : at + 3]
    return bytes(data)


# Every hundred packets a new bus: number and baud rate of the servos do not outlast many of them.
COUNTS = [50, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("hundreds", COUNTS)
def test_random_and_mutated_packets_neither_crash_nor_hang_the_bus(hundreds):
    rng = random.Random(1)
    for _ in range(hundreds):
        packets = [random_packet(rng) for _ in range(100)]
        check_streams([mutate(packet, rng) if rng.random() < 0.7 else packet for packet in packets])


@pytest.mark.parametrize("hundreds", COUNTS)
def test_every_answer_to_random_packets_is_a_whole_status(hundreds):
    rng = random.Random(2)
    for _ in range(hundreds):
        check_valid_packets([random_packet(rng) for _ in range(100)])


@pytest.mark.parametrize("hundreds", COUNTS)
def test_mutated_packets_that_are_invalid_change_nothing(hundreds):
    """Where no parser finds a packet, every register stays as it was."""
    rng = random.Random(3)
    bus = make_bus()
    parsers = [PacketParser(protocol) for protocol in (1, 2)]
    invalid = 0
    for _ in range(100 * hundreds):
        data = mutate(random_packet(rng), rng)
        found = [packet for parser in parsers for packet in parser.feed(data)]
        for parser in parsers:
            parser.reset()
        if any(isinstance(packet, InstructionPacket) for packet in found):
            continue
        invalid += 1
        before = snapshots(bus)
        bus.receive(data, 1e6)
        bus.silence()
        assert snapshots(bus) == before
    assert invalid > 80 * hundreds


def test_faulty_wire_never_turns_one_position_into_another():
    """Three thousand reads over a wire that flips, loses and doubles bytes: what passes the checksum is right."""
    bus = make_bus()
    bus.to_computer = Wire(Faults(drop=0.01, corrupt=0.02, duplicate=0.01, seed=3))
    request = encode_instruction(2, InstructionPacket(1, 2, bytes([132, 0, 4, 0])))
    right = StatusPacket(1, ALERT, (2048).to_bytes(4, "little"))
    parser = PacketParser(2, status=True)
    found = []
    for _ in range(3000):
        for delivery in bus.receive(request, 1e6):
            found += [p for p in parser.feed(delivery.data) if isinstance(p, StatusPacket)]
    assert 1000 < len(found) < 2500
    assert set(found) == {right}
