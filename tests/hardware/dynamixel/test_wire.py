"""Each defect of dynamixel-sdk 4.1.0 and each report of its users, over the real SDK and real bytes.

The bare SDK's behaviour is shown where it is what the driver must not do.
"""

import os
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.tables import AX_12A, MX_64, XM430_W350

sdk = pytest.importorskip("dynamixel_sdk")

pytestmark = pytest.mark.real_time

TRICKY = [-513, -131073, 0x00FDFFFF, -2, 0x7FFFFFFF, -(2**31)]
"""Counts whose bytes, alone or with their neighbours, hold FF FF FD."""


@pytest.fixture
def far(servo_bus):
    return servo_bus(XM430_W350, 1, 2, 3)


@pytest.fixture
def bus(far):
    # Patience for a computer that many processes share; no test waits for it that has answers.
    with Bus(far.port, slack=0.2) as bus:
        yield bus


def bare_sdk(far):
    port = sdk.PortHandler(far.port)
    port.openPort()
    return port, sdk.PacketHandler(2.0)


# 1, 2 and rustypot#121: byte stuffing


@pytest.mark.parametrize("count", [0x00FDFFFF, -513, -131073])
def test_a_payload_with_a_header_in_it_goes_out_stuffed_and_comes_back_whole(far, bus, count):
    bus.write(1, "goal_position", count)
    assert far[1]["goal_position"] == count
    assert bus.read(1, "goal_position") == count


def test_a_header_in_the_goals_of_a_sync_write_is_stuffed(far, bus):
    bus.sync_write(116, {1: b"\x00\xff\xff\xfd", 2: b"\x01\x00\x00\x00"})
    assert bus.read(1, "goal_position") == -33554688
    assert bus.read(2, "goal_position") == 1
    assert b"\xff\xff\xfd\xfd" in far.received[0]


def test_the_bare_sdk_sends_it_raw(far):
    port, handler = bare_sdk(far)
    handler.write4ByteTxOnly(port, 1, 116, 0x00FDFFFF)
    port.closePort()
    time.sleep(0.05)
    assert far.received
    assert b"\xff\xff\xfd\xfd" not in far.received[0]


@pytest.mark.parametrize("fast", [False, True])
def test_stuffed_feedback_is_read_right_by_sync_read(far, bus, fast):
    for servo, count in zip(far.servos, TRICKY, strict=False):
        servo["present_current"], servo["present_velocity"], servo["present_position"] = -1, -3, count
    for _ in range(20):
        answers = bus.sync_read([1, 2, 3], 126, 10, fast)
        found = [int.from_bytes(answers[s].data[6:], "little", signed=True) for s in (1, 2, 3)]
        assert found == TRICKY[:3]
    assert bus.counters.retries == 0


# 3, lerobot#1252, #1426, open_manipulator#275, DynamixelSDK#518: one motor missing from a sync read


@pytest.mark.parametrize("dead", [1, 2, 3])
@pytest.mark.parametrize("fast", [False, True])
def test_one_missing_servo_does_not_make_the_others_stale(far, dead, fast):
    far[dead].dead = True
    with Bus(far.port, slack=0.03) as bus:
        for step in range(4):
            for servo in far.servos:
                servo["present_position"] = 100 * step + servo["id"]
            answers = bus.sync_read([1, 2, 3], 132, 4, fast)
            expected = {s: 100 * step + s for s in (1, 2, 3) if s != dead}
            assert {s: int.from_bytes(a.data, "little") for s, a in answers.items()} == expected


def test_the_bare_sdk_gives_up_all_of_them(far):
    far[2].dead = True
    port, handler = bare_sdk(far)
    group = sdk.GroupSyncRead(port, handler, 132, 4)
    for servo in (1, 2, 3):
        group.addParam(servo)
    assert group.txRxPacket() == sdk.COMM_RX_TIMEOUT
    assert not any(group.isAvailable(servo, 132, 4) for servo in (1, 2, 3))
    port.closePort()


def test_a_dead_servo_costs_a_sync_read_no_more_than_one_short_wait(far):
    far[2].dead = True
    with Bus(far.port, slack=0.005) as bus:
        bus.sync_read([1, 2, 3], 132, 4)
        start = time.perf_counter()
        bus.sync_read([1, 2, 3], 132, 4)
        assert time.perf_counter() - start < 0.034


def test_a_servo_that_comes_back_is_read_again(far):
    far[2].dead = True
    with Bus(far.port, slack=0.03) as bus:
        assert set(bus.sync_read([1, 2, 3], 132, 4)) == {1, 3}
        far[2].dead = False
        assert set(bus.sync_read([1, 2, 3], 132, 4)) == {1, 2, 3}


def test_a_fast_chain_that_breaks_is_completed_by_a_plain_read(far, bus):
    far.break_fast_chain_at = 2
    assert set(bus.sync_read([1, 2, 3], 132, 4, fast=True)) == {1, 2, 3}
    assert bus.counters.retries == 1


def test_one_lost_answer_is_asked_for_again(far, bus, strike):
    strike(far[2], lambda packet: [])
    assert set(bus.sync_read([1, 2, 3], 132, 4)) == {1, 2, 3}
    assert bus.counters.retries == 1


def test_retries_are_bounded_and_counted(far):
    far[1].dead = True
    with Bus(far.port, retries=3, slack=0.002) as bus:
        with pytest.raises(RobotError, match=r"servo 1 .* no whole answer.*4 tries at 1000000 bit/s"):
            bus.read_block(1, 132, 4)
        assert bus.counters.retries == 3


# 4: the alert bit


@pytest.mark.parametrize("fast", [False, True])
def test_the_alert_bit_comes_with_the_data_of_the_servo_that_set_it(far, bus, fast):
    far[2]["hardware_error_status"] = 0x20
    answers = bus.sync_read([1, 2, 3], 132, 4, fast)
    assert {s: a.alert for s, a in answers.items()} == {1: False, 2: True, 3: False}
    assert bus.faults(2) == ("overload",)
    assert bus.faults(1) == ()


def test_an_alert_does_not_spoil_a_single_read_or_write(far, bus):
    far[2]["hardware_error_status"] = 0x05
    bus.write(2, "goal_position", 5)
    assert bus.read(2, "goal_position") == 5
    assert bus.faults(2) == ("input voltage", "overheating")


# 5, DynamixelSDK#665: short status packets


def test_a_short_answer_is_never_data(far, bus, strike):
    short = b"\xff\xff\xfd\x00\x01\x04\x00\x55\x00\xa1\x0c"  # a status without parameters, checksum right
    strike(far[1], lambda packet: [short])
    far[1]["present_position"] = 1234
    bus.model(1)
    strike(far[1], lambda packet: [short])
    assert bus.read(1, "present_position") == 1234
    assert bus.counters.malformed == 2
    far[1].fault = lambda servo, packet: [short]
    with pytest.raises(RobotError, match="no whole answer"):
        bus.read(1, "present_position")


def test_the_bare_sdk_calls_it_a_success(far, strike):
    short = b"\xff\xff\xfd\x00\x01\x04\x00\x55\x00\xa1\x0c"
    port, handler = bare_sdk(far)
    group = sdk.GroupSyncRead(port, handler, 132, 4)
    group.addParam(1)
    for _ in range(100):  # it gives up on what comes late, as on a busy machine
        strike(far[1], lambda packet: [short])
        if group.txRxPacket() == sdk.COMM_SUCCESS:
            break
    else:
        pytest.fail("never a success")
    with pytest.raises(IndexError):
        group.getData(1, 132, 4)
    port.closePort()


# stale answers: late, duplicated, of another request


def late(packet):
    """Let the answer, and all that follows it on the line, come late."""
    time.sleep(0.025)
    return [packet]


def test_a_late_answer_is_not_taken_for_that_of_another_register(far, strike):
    far[1]["present_position"], far[1]["goal_position"] = 111, 222
    with Bus(far.port, retries=0, slack=0.01) as bus:
        bus.model(1)
        strike(far[1], late)
        # Both registers have four bytes: nothing in the late packet tells which it is.
        with pytest.raises(RobotError):
            bus.read_block(1, 132, 4)
        bus.retries = 2
        assert bus.read(1, "goal_position") == 222
        assert bus.counters.malformed >= 1, "the late answer came in between and was put aside"


def test_duplicated_answers_are_taken_once(far, bus):
    for servo in far.servos:
        servo.fault = lambda servo, packet: [packet, packet]
    for _ in range(10):
        assert bus.read(1, "present_position") == 2048
        assert len(bus.sync_read([1, 2, 3], 132, 4)) == 3


def test_a_duplicate_that_comes_during_the_next_request_is_not_its_answer(far, bus):
    bus.model(1)
    far[1]["present_position"], far[1]["goal_position"] = 111, 222
    before = []

    def again(servo, packet):
        before.append(packet)
        return [*before[-2:-1], packet]

    far[1].fault = again
    for _ in range(5):
        assert bus.read(1, "present_position") == 111
        assert bus.read(1, "goal_position") == 222


def test_the_answer_of_another_servo_is_not_taken(far, bus, strike):
    other = b"\xff\xff\xfd\x00\x02\x08\x00\x55\x00\x1f\x08\x00\x00\xba\xbe"  # servo 2 says 2079
    bus.model(1)
    strike(far[1], lambda packet: [other])
    far[1]["present_position"] = 5
    assert bus.read(1, "present_position") == 5
    assert bus.counters.malformed == 1


@pytest.mark.parametrize("noise", [b"\xff", b"\xff\xff\xfd\x00", b"\xff\xff\xfd\x00\x01\xff\x7f\x55", bytes(50)])
def test_noise_on_the_line_is_skipped(far, bus, strike, noise):
    bus.model(1)
    far[1]["present_position"] = 77
    strike(far[1], lambda packet: [noise, packet])
    assert bus.read(1, "present_position") == 77


def test_a_damaged_answer_is_counted_and_asked_for_again(far, bus, strike):
    bus.model(1)
    far[1]["present_position"] = 77
    strike(far[1], lambda packet: [packet[:9] + bytes([packet[9] ^ 1]) + packet[10:]])
    assert bus.read(1, "present_position") == 77
    assert (bus.counters.damaged, bus.counters.retries) == (1, 1)


def test_an_answer_in_crumbs_is_put_together(far, bus):
    far[1].fault = lambda servo, packet: [packet[i : i + 1] for i in range(len(packet))]
    assert bus.read(1, "present_position") == 2048


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 255)), max_size=5), st.booleans())
def test_a_read_over_a_mutilated_line_is_right_or_refused(far, mutations, again):
    far[1]["present_position"] = 0x12345678

    def change(servo, packet):
        servo.fault = change if again else None
        data = bytearray(packet)
        for at, value in mutations:
            data[at % len(data)] = value
        return [bytes(data)]

    with Bus(far.port, retries=1, slack=0.001) as bus:
        far[1].fault = change
        try:
            answer = bus.read_block(1, 132, 4)
        except RobotError:
            answer = None
    far[1].fault = None
    assert answer is None or answer.data == b"\x78\x56\x34\x12" or answer.refusal


# 6, DynamixelSDK#223, #247: unplugging, interruption


def test_unplugging_is_one_clear_error_and_replugging_works(far, bus):
    assert bus.read(1, "id") == 1
    far.unplug()
    with pytest.raises(RobotError, match="Was it unplugged"):
        bus.read(1, "id")
    with pytest.raises(RobotError, match=r"not open: lost the port .*Was it unplugged"):
        bus.read(1, "id")
    far.plug()
    bus.path = far.port
    bus.open()
    assert bus.read(1, "id") == 1


def test_unplugging_while_waiting_for_an_answer_is_noticed(far):
    with Bus(far.port, slack=5.0) as bus:
        bus.model(1)
        far[1].dead = True
        threading.Timer(0.1, far.unplug).start()
        start = time.monotonic()
        with pytest.raises(RobotError, match="unplugged"):
            bus.read(1, "id")
        assert time.monotonic() - start < 2.0


def test_the_port_is_not_in_use_after_ctrl_c(far, bus, monkeypatch):
    bus.model(1)

    def interrupted(self, timeout):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pliant.hardware.dynamixel.port.SerialPort.read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bus.read(1, "goal_position")
    far[1]["present_position"], far[1]["goal_position"] = 111, 222
    # The answer to the interrupted request still lies in the buffer, and must not serve for this one.
    assert bus.read(1, "present_position") == 111


def test_a_far_end_that_stops_reading_does_not_hang_us(servo_bus):
    far = servo_bus(XM430_W350)
    with Bus(far.port, slack=0.0) as bus:
        os.write(far._stop_write, b"x")
        far._thread.join()
        start = time.monotonic()
        with pytest.raises(RobotError, match="lost the port"):
            _write_for_ever(bus)
        assert time.monotonic() - start < 5.0


def _write_for_ever(bus):
    while True:
        bus.sync_write(116, {1: bytes(4), 2: bytes(4), 3: bytes(4)})


# 7, DynamixelSDK#281, #440, #442: signs and sizes


def test_negative_values_come_back_negative(far, bus):
    far[1]["present_current"], far[1]["present_position"] = -9, -100
    far[1]["present_velocity"] = 7
    assert bus.read(1, "present_current") == -9
    assert bus.read(1, "present_position") == -100


def test_a_two_byte_register_is_read_with_two_bytes(far, bus):
    far[1]["present_input_voltage"], far[1]["present_temperature"] = 120, 40
    assert bus.read(1, "present_input_voltage") == 120


# DynamixelSDK#302, #288: time-outs and delays


def test_a_missing_servo_is_given_up_sooner_than_by_the_sdk_and_without_load(far):
    with Bus(far.port, slack=0.005) as bus:
        bus.ping(1)
        start, load = time.perf_counter(), time.process_time()
        assert not bus.ping(77)
        waited, load = time.perf_counter() - start, time.process_time() - load
    assert waited < 0.03
    assert load < 0.6 * waited, "waiting must not burn the processor"


def test_refusals_say_why(far, bus):
    far[1]["torque_enable"] = 1
    with pytest.raises(RobotError, match="EEPROM while the torque is on"):
        bus.write(1, "return_delay_time", 0)
    far[1]["bus_watchdog"] = -1
    with pytest.raises(RobotError, match="bus watchdog has tripped"):
        bus.write(1, "goal_position", 0)


def test_wrong_registers_and_values_are_refused_before_anything_is_sent(far, bus):
    bus.model(1)
    sent = len(far.received)
    with pytest.raises(UnknownNameError, match="goal_position"):
        bus.write(1, "goal_postion", 0)
    with pytest.raises(ConfigurationError, match="read-only"):
        bus.write(1, "present_position", 0)
    with pytest.raises(OutOfBoundsError, match="does not fit"):
        bus.write(1, "led", 256)
    assert len(far.received) == sent


def test_ids_addresses_and_lengths_that_do_not_exist_are_refused(far, bus, ax):
    for call in (lambda: bus.ping(253), lambda: bus.read(-1, "id"), lambda: bus.sync_read([1, 300], 132, 4)):
        with pytest.raises(OutOfBoundsError, match=r"does not exist in protocol 2; 0 … 252 do"):
            call()
    with Bus(ax.port, protocol=1) as one, pytest.raises(OutOfBoundsError, match=r"0 … 255"):
        one.read_block(1, 256, 1)
    with pytest.raises(ShapeError, match="as many bytes for each"):
        bus.sync_write(116, {1: bytes(4), 2: bytes(2)})
    with pytest.raises(ShapeError, match="at least one servo"):
        bus.sync_write(116, {})


def test_a_servo_of_another_protocol_is_named(servo_bus):
    far = servo_bus(XM430_W350, 1)
    far[1].memory[0:2] = (12).to_bytes(2, "little")
    with Bus(far.port) as bus, pytest.raises(ConfigurationError, match=r"AX-12A, .* protocol 1"):
        bus.model(1)


def test_a_reboot_waits_until_the_servo_is_back(far, bus):
    far[1]["torque_enable"] = 1
    far[1]["hardware_error_status"] = 0x20
    bus.reboot(1)
    assert bus.read(1, "torque_enable") == 0
    assert bus.faults(1) == ()


def test_a_servo_that_stays_away_after_a_reboot_is_named(far, bus):
    bus.model(1)
    far[1].fault = lambda servo, packet: setattr(servo, "dead", True) or [packet]
    with pytest.raises(RobotError, match=r"servo 1 .* not back"):
        bus.reboot(1, wait=0.1)


# Protocol 1.0; DynamixelSDK#345, #539


@pytest.fixture
def ax(servo_bus):
    return servo_bus(AX_12A, 1, 2)


def test_protocol_1_reads_writes_and_pings(ax):
    with Bus(ax.port, protocol=1, slack=0.02) as bus:
        assert bus.ping(1)
        assert not bus.ping(9)
        bus.write(1, "goal_position", 700)
        assert ax[1]["goal_position"] == 700
        ax[2]["present_position"], ax[2]["present_speed"] = 300, -50
        answers = bus.sync_read([1, 2, 9], 36, 4)
        assert set(answers) == {1, 2}
        assert answers[2].data == (300).to_bytes(2, "little") + (1024 + 50).to_bytes(2, "little")
        bus.sync_write(30, {1: b"\x01\x00", 2: b"\x02\x00"})
        assert (bus.read(1, "goal_position"), bus.read(2, "goal_position")) == (1, 2)


def test_an_ax_overload_is_an_alert_with_a_name_and_does_not_spoil_the_data(ax):
    ax[1].status_error = 0x20
    with Bus(ax.port, protocol=1, slack=0.02) as bus:
        assert bus.sync_read([1], 36, 4)[1].alert
        assert bus.faults(1) == ("overload",)
        ax[1].status_error = 0x02
        with pytest.raises(RobotError, match=r"refused .*angle limit"):
            bus.write(1, "goal_position", 0)


def test_an_adapter_that_echoes_what_is_sent_does_not_fool_protocol_1(ax):
    ax.echo = True
    ax[1]["present_position"] = 321
    with Bus(ax.port, protocol=1, slack=0.02) as bus:
        assert bus.read(1, "present_position") == 321
        ax[1].dead = True
        with pytest.raises(RobotError, match="no whole answer"):
            bus.read(1, "present_position")


def test_a_reboot_is_refused_in_protocol_1(ax):
    with Bus(ax.port, protocol=1) as bus, pytest.raises(ConfigurationError, match="knows no reboot"):
        bus.reboot(1)


def test_protocol_3_does_not_exist():
    with pytest.raises(ConfigurationError, match="1 and 2 do"):
        Bus("/dev/null", protocol=3)


def test_fast_reads_are_known_of_the_servos_that_have_them():
    assert XM430_W350.fast_read_firmware == 45
    assert MX_64.fast_read_firmware is None
