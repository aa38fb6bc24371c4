"""Several servos on one wire: who answers, in what order, when, and to the byte."""

import math

import pytest

from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.packets import (
    InstructionPacket,
    PacketParser,
    decode_fast_status,
    encode_instruction,
)
from pliant.envs.emulators.dynamixel.plants import MOTORS, Shaft, shaft_plant
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

COUNT = 2 * math.pi / 4096
POSITION = bytes([132, 0, 4, 0])


def at(*counts: int) -> dict[int, Shaft]:
    """XM430 shafts 1, 2, … at these counts."""
    return {i + 1: Shaft(MOTORS["XM430-W350"], start=count * COUNT) for i, count in enumerate(counts)}


def xms(*numbers: int) -> dict[int, str]:
    return dict.fromkeys(numbers, "XM430-W350")


def test_read_and_sync_read_are_the_bytes_of_the_manual(make_line):
    line = make_line(xms(1, 2), at(166, 2079))
    one = "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0"
    two = "FF FF FD 00 02 08 00 55 00 1F 08 00 00 BA BE"
    assert line.hex("FF FF FD 00 01 07 00 02 84 00 04 00 1D 15") == one
    assert line.hex("FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA") == f"{one} {two}"


def test_bulk_read_is_the_bytes_of_the_manual(make_line):
    line = make_line(xms(1, 2))
    line.plant.set_supply(11.9)
    line.plant.set_temperature(2, 36)
    line.advance(0.01)
    request = "FF FF FD 00 FE 0D 00 92 01 90 00 02 00 02 92 00 01 00 1A 05"
    one, two = "FF FF FD 00 01 06 00 55 00 77 00 C3 69", "FF FF FD 00 02 05 00 55 00 24 8B A9"
    assert line.hex(request) == f"{one} {two}"


def test_fast_sync_read_is_the_bytes_of_the_manual(make_line):
    shafts = {3: 166, 7: 2079, 4: 1023}
    line = make_line(
        xms(3, 7, 4), {i: Shaft(MOTORS["XM430-W350"], start=count * COUNT) for i, count in shafts.items()}
    )
    answer = "FF FF FD 00 FE 19 00 55 00 03 A6 00 00 00 84 08 00 07 1F 08 00 00 16 CA 00 04 FF 03 00 00 D1 9E"
    assert line.hex("FF FF FD 00 FE 0A 00 8A 84 00 04 00 03 07 04 20 F2") == answer


def test_fast_bulk_read_is_the_bytes_of_the_manual(make_line):
    """The instruction's CRC is calculated: the manual repeats the one of the fast sync read there."""
    line = make_line(xms(3, 7, 4), {3: Shaft(MOTORS["XM430-W350"], start=166 * COUNT)})
    line.write(7, "operating_mode", 16)
    line.write(7, "torque_enable", 1)
    line.write(7, "goal_pwm", 421)
    line.plant.set_temperature(4, 31)
    line.advance(0.01)
    request = "FF FF FD 00 FE 12 00 9A 03 84 00 04 00 07 7C 00 02 00 04 92 00 01 00 DA 2D"
    answer = "FF FF FD 00 FE 14 00 55 00 03 A6 00 00 00 67 A4 00 07 A5 01 24 74 00 04 1F D9 C1"
    assert line.hex(request) == answer


def test_ping_tells_model_and_firmware(make_line):
    line = make_line(xms(1, 2), registers={"firmware_version": 38})
    (status,) = line.send(1, 0x01)
    assert status.parameters == (1020).to_bytes(2, "little") + b"\x26"
    assert [status.id for status in line.send(254, 0x01)] == [1, 2]


def test_broadcast_ping_is_answered_in_order_of_numbers(make_line):
    assert [status.id for status in make_line(xms(9, 2, 5)).send(254, 0x01)] == [2, 5, 9]


def test_broadcast_write_is_obeyed_in_silence(make_line):
    line = make_line(xms(1, 2))
    assert line.send(254, 0x03, line.payload(1, "led", 1)) == []
    assert [line.read(i, "led") for i in (1, 2)] == [1, 1]
    assert line.send(254, 0x02, line.span(1, "led")) == []
    assert line.send(254, 0x04, line.payload(1, "led", 0)) == []
    assert line.send(254, 0x05) == []
    assert [line.read(i, "led") for i in (1, 2)] == [0, 0]


def test_sync_write_and_bulk_write_reach_each_servo_with_its_own_data(make_line):
    line = make_line(xms(1, 2))
    # ROBOTIS e-manual, examples of sync write (goal positions 150, 170) and bulk write.
    sync = "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87"
    assert line.hex(sync) == ""
    assert [line.read(i, "goal_position") for i in (1, 2)] == [150, 170]
    bulk = "FF FF FD 00 FE 10 00 93 01 20 00 02 00 A0 00 02 1F 00 01 00 50 B7 68"
    assert line.hex(bulk) == ""
    assert line.read(1, "max_voltage_limit") == 160
    assert line.read(2, "temperature_limit") == 80


def test_group_writes_that_are_refused_are_refused_in_silence(make_line):
    line = make_line(xms(1, 2))
    assert line.send(254, 0x83, bytes([65, 0, 1, 0, 1, 9, 2, 1])) == []
    assert [line.read(i, "led") for i in (1, 2)] == [0, 1]


def test_sync_write_of_protocol_1_is_the_bytes_of_the_manual(make_line):
    line = make_line({0: "AX-12A", 1: "AX-12A"})
    line.hex("FF FF FE 0E 83 1E 04 00 10 00 50 01 01 20 02 60 03 67")
    assert [line.read(i, "goal_position") for i in (0, 1)] == [0x010, 0x220]
    assert [line.read(i, "moving_speed") for i in (0, 1)] == [0x150, 0x360]


def test_bulk_read_of_protocol_1_answers_in_order(make_line):
    line = make_line({1: "AX-12A", 2: "AX-12A"})
    line.write(1, "goal_position", 300)
    statuses = line.send(254, 0x92, bytes.fromhex("00 02 01 1E 02 02 24"))
    assert [(s.id, s.error, int.from_bytes(s.parameters, "little")) for s in statuses] == [
        (1, 0, 300),
        (2, 0, line.read(2, "present_position")),
    ]


@pytest.mark.parametrize(
    ("instruction", "parameters"),
    [
        (0x82, b""),
        (0x82, bytes([132, 0, 4, 0])),
        (0x83, bytes([116, 0, 4, 0, 1, 0, 0, 0])),
        (0x83, bytes([116, 0, 0, 0, 1])),
        (0x92, bytes([1, 132, 0, 4])),
        (0x93, bytes([1, 64, 0, 2, 0, 1])),
        (0x93, bytes([1, 64, 0, 0, 0])),
        (0x8A, bytes([132, 0])),
    ],
)
def test_malformed_group_instructions_do_nothing(make_line, instruction, parameters):
    line = make_line(xms(1, 2))
    before = [servo.memory.snapshot() for servo in line.bus.servos]
    assert line.send(254, instruction, parameters) == []
    assert [servo.memory.snapshot() for servo in line.bus.servos] == before


def test_malformed_instructions_to_one_servo_are_length_errors(xm):
    assert xm.send(1, 0x02, b"\x84\x00\x04")[0].error == 5
    assert xm.send(1, 0x03, b"\x84\x00")[0].error == 5


def test_a_servo_named_twice_answers_once(make_line):
    statuses = make_line(xms(1, 2)).send(254, 0x82, POSITION + bytes([2, 1, 2]))
    assert [status.id for status in statuses] == [2, 1]


def test_silent_servo_loses_its_turn_in_a_sync_read(make_line):
    line = make_line(xms(1, 2, 3))
    line.bus.servos[1].alive = False
    assert [status.id for status in line.send(254, 0x82, POSITION + bytes([1, 2, 3]))] == [1, 3]


def test_silent_servo_silences_those_behind_it_in_fast_and_protocol_1_reads(make_line):
    line = make_line(xms(1, 2, 3))
    line.bus.servos[1].alive = False
    wire = line.raw(encode_instruction(2, InstructionPacket(254, 0x8A, POSITION + bytes([1, 2, 3]))))
    assert len(wire) == 8 + 8
    assert wire[5] == 1 + 3 * 8
    assert PacketParser(2, status=True).feed(wire) == []
    old = make_line(dict.fromkeys((1, 2, 3), "AX-12A"))
    old.bus.servos[1].alive = False
    request = bytes([0, 2, 1, 36, 2, 2, 36, 2, 3, 36])
    assert [status.id for status in old.send(254, 0x92, request)] == [1]


def test_fast_read_carries_each_servos_alert_and_error(make_line):
    line = make_line(xms(1, 2))
    line.bus.servos[0].overload()
    (packet,) = line.send(254, 0x8A, POSITION + bytes([1, 2]))
    assert [slot.error for slot in decode_fast_status(packet, [4, 4])] == [0x80, 0]
    (packet,) = line.send(254, 0x8A, bytes([0, 9, 4, 0, 2]))
    assert decode_fast_status(packet, [4])[0].error == 7


@pytest.mark.parametrize(("model", "registers"), [("MX-64(2.0)", {}), ("XM430-W350", {"firmware_version": 44})])
def test_older_servos_do_not_know_the_fast_read(make_line, model, registers):
    assert make_line({1: model}, registers=registers).send(254, 0x8A, POSITION + b"\x01") == []


def test_group_read_of_an_address_that_does_not_exist_is_an_access_error(make_line):
    (status,) = make_line(xms(1)).send(254, 0x82, bytes([0, 9, 4, 0, 1]))
    assert (status.error, status.parameters) == (7, b"")


def test_two_servos_with_one_number_talk_at_once(make_line):
    """Alike answers survive the collision, unlike ones do not."""
    line = make_line(xms(1, 2), at(2048, 1111))
    line.send(254, 0x03, line.payload(1, "id", 5))
    assert [status.id for status in line.send(5, 0x01)] == [5]
    wire = line.raw(encode_instruction(2, InstructionPacket(5, 0x02, POSITION)))
    assert wire
    assert not [s for s in PacketParser(2, status=True).feed(wire) if hasattr(s, "parameters")]


def test_servo_at_another_baud_rate_is_deaf(make_line):
    line = make_line(xms(1))
    line.baud = 57600
    assert line.send(1, 0x01) == []
    line.baud = 1_000_000
    assert line.write(1, "baud_rate", 1) == 0
    assert line.send(1, 0x01) == []
    line.baud = 57600
    assert len(line.send(1, 0x01)) == 1


def test_both_protocols_share_a_bus(make_line):
    line = make_line({1: "XM430-W350", 2: "AX-12A"})
    assert line.hex("FF FF 02 02 01 FA") == "FF FF 02 02 00 FB"
    assert len(line.send(1, 0x01)) == 1
    assert line.hex("FF FF 01 02 01 FB") == ""
    line.protocol = 1
    assert line.write(2, "led", 1) == 0


def test_damaged_packet_is_answered_with_a_crc_error(xm):
    (status,) = PacketParser(2, status=True).feed(xm.raw(bytes.fromhex("FF FF FD 00 01 03 00 01 19 4F")))
    assert (status.id, status.error) == (1, 3)
    assert xm.bus.damaged == 1


def test_status_packets_on_the_wire_are_ignored(xm):
    assert xm.hex("FF FF FD 00 01 04 00 55 00 A1 0C") == ""


def test_times_on_the_wire_are_those_of_the_baud_rate(make_line):
    """At 1 Mbit/s a byte takes 10 µs; the return delay of a new servo is 500 µs."""
    bus = make_line(xms(1, 2), lock_step=False).bus
    request = encode_instruction(2, InstructionPacket(1, 0x02, POSITION))
    (delivery,) = bus.receive(request, 1e6)
    assert delivery.at == pytest.approx(14 * 10e-6 + 500e-6 + 15 * 10e-6)
    start = bus.now
    one, two = bus.receive(encode_instruction(2, InstructionPacket(254, 0x82, POSITION + b"\1\2")), 1e6)
    assert one.at - start == pytest.approx(160e-6 + 500e-6 + 150e-6)
    assert two.at - one.at == pytest.approx(500e-6 + 150e-6)


def test_read_of_an_ax_12a_takes_160_microseconds_and_its_return_delay(ax):
    request = encode_instruction(1, InstructionPacket(1, 0x02, bytes([36, 2])))
    (delivery,) = ax.bus.receive(request, 1e6)
    assert delivery.at == pytest.approx(160e-6 + 500e-6)
    ax.write(1, "return_delay_time", 0)
    start = ax.bus.now
    (delivery,) = ax.bus.receive(request, 1e6)
    assert delivery.at - start == pytest.approx(160e-6)


def test_sync_write_to_18_servos_takes_620_microseconds(make_line):
    line = make_line(dict.fromkeys(range(1, 19), "AX-12A"))
    parameters = bytes([30, 2]) + b"".join(bytes([i, 0, 2]) for i in range(1, 19))
    assert line.bus.receive(encode_instruction(1, InstructionPacket(254, 0x83, parameters)), 1e6) == []
    assert line.bus.now == pytest.approx(0.62e-3)


def test_latency_delays_the_computer_not_the_wire(make_line):
    bus = make_line(xms(1, 2), lock_step=False, latency=0.016).bus
    one, two = bus.receive(encode_instruction(2, InstructionPacket(254, 0x82, POSITION + b"\1\2")), 1e6)
    assert two.at == pytest.approx(160e-6 + 2 * 650e-6 + 0.016)
    assert two.at - one.at == pytest.approx(650e-6)


def test_in_lock_step_a_write_to_goals_lets_one_cycle_pass(make_line):
    line = make_line(xms(1, 2), cycle=0.01)
    goals = bytes([116, 0, 4, 0]) + b"".join(bytes([i]) + (2100).to_bytes(4, "little") for i in (1, 2))
    for cycle in range(1, 6):
        line.send(254, 0x83, goals)
        assert line.bus.now == pytest.approx(cycle * 0.01)
        line.send(254, 0x82, POSITION + b"\1\2")
        assert cycle * 0.01 < line.bus.now < (cycle + 0.5) * 0.01
    line.send(254, 0x83, bytes([65, 0, 1, 0, 1, 1, 2, 1]))
    assert line.bus.now < 0.06


def test_goal_delay_holds_group_writes_back(make_line):
    line = make_line(xms(1), goal_delay=0.02)
    line.send(254, 0x83, bytes([116, 0, 4, 0, 1]) + (2100).to_bytes(4, "little"))
    assert line.read(1, "goal_position") == 2048
    line.advance(0.019)
    assert line.read(1, "goal_position") == 2100
    assert line.write(1, "led", 1) == 0


def run(make_line, chunk: int) -> tuple[bytes, bytes]:
    """A session in lock step, its bytes sent `chunk` at a time; what came back and where it ended."""
    line = make_line(xms(1, 2), at(1000, 3000), cycle=0.01)
    torque = bytes([64, 0, 1, 0, 1, 1, 2, 1])
    session = encode_instruction(2, InstructionPacket(254, 0x83, torque))
    for k in range(30):
        goals = b"".join(bytes([i]) + (2000 + 10 * k * i).to_bytes(4, "little") for i in (1, 2))
        session += encode_instruction(2, InstructionPacket(254, 0x83, bytes([116, 0, 4, 0]) + goals))
        session += encode_instruction(2, InstructionPacket(254, 0x82, bytes([126, 0, 10, 0, 1, 2])))
    answers = b"".join(line.raw(session[i : i + chunk]) for i in range(0, len(session), chunk))
    return answers, b"".join(servo.memory.snapshot() for servo in line.bus.servos)


def test_lock_step_is_deterministic(make_line):
    first, again = run(make_line, 7), run(make_line, 7)
    assert first == again
    assert len(first[0]) == 30 * 2 * 21


def test_pause_ends_an_unfinished_packet(xm):
    assert xm.hex("FF FF FD 00 01 03 00") == ""
    xm.bus.silence()
    assert xm.hex("FF FF FD 00 01 03 00 01 19 4E") != ""


def test_a_dead_servo_lets_its_shaft_go(make_line):
    load = Shaft(MOTORS["XM430-W350"], inertia=0.02, gravity=1.0)
    line = make_line(xms(1), {1: load})
    line.write(1, "torque_enable", 1)
    line.write(1, "goal_position", 3072)
    line.advance(1.0)
    line.bus.servos[0].alive = False
    line.advance(5.0)
    assert abs(line.plant.read(1).position - math.pi) < 0.2


def test_impossible_buses_are_refused():
    one = ServoSettings(1, "XM430-W350")
    with pytest.raises(ConfigurationError, match="at least one"):
        BusSettings(())
    with pytest.raises(ConfigurationError, match="twice"):
        BusSettings((one, one))
    with pytest.raises(ConfigurationError, match="lock step"):
        BusSettings((one,), cycle=0.01)
    with pytest.raises(OutOfBoundsError, match="latency"):
        BusSettings((one,), latency=float("nan"))
    with pytest.raises(UnknownNameError, match="servo 2"):
        Bus(BusSettings((one,)), shaft_plant({1: "XM430-W350"})).axis(2)
