"""The emulated bus as a process, with the vendor's own SDK on its port."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path

import pytest

from pliant.envs.emulators.control import request
from pliant.envs.emulators.dynamixel.bus import BusSettings
from pliant.envs.emulators.dynamixel.packets import (
    Instruction,
    InstructionPacket,
    PacketParser,
    encode_instruction,
)
from pliant.envs.emulators.dynamixel.process import EmulatedBus, bare_shafts, main
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.errors import OutputError, RobotError, UnknownNameError

sdk = pytest.importorskip("dynamixel_sdk", reason="the vendor's SDK is the other end of the wire")

pytestmark = pytest.mark.real_time

serial = pytest.importorskip("serial")

OK, TIMEOUT, CORRUPT = sdk.COMM_SUCCESS, sdk.COMM_RX_TIMEOUT, sdk.COMM_RX_CORRUPT
GOAL, PRESENT, TORQUE, LED = 116, 132, 64, 65
NO_DELAY = {"return_delay_time": 0}


def servos(*numbers: int, model: str = "XM430-W350") -> tuple[ServoSettings, ...]:
    return tuple(ServoSettings(number, model, registers=NO_DELAY) for number in numbers)


def opened(bus: EmulatedBus, baud: int = 1_000_000):
    port = sdk.PortHandler(str(bus.port))
    port.setBaudRate(baud)
    return port


def eventually(condition, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """The SDK waits 34 ms for an answer, too little where many processes share few cores; here it waits 122 ms."""
    monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", 60)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A bus of three XM430 and two AX-12A for the tests that leave it as it was."""
    settings = BusSettings((*servos(1, 2, 3), *servos(11, 12, model="AX-12A")))
    with EmulatedBus(tmp_path_factory.mktemp("mixed") / "bus", settings) as bus:
        yield bus


@pytest.fixture
def port(mixed):
    port = opened(mixed)
    yield port
    port.closePort()


@pytest.fixture
def lone(tmp_path):
    """A fresh bus of two XM430."""
    with EmulatedBus(tmp_path / "bus", BusSettings(servos(1, 2))) as bus:
        yield bus


two, one = sdk.PacketHandler(2.0), sdk.PacketHandler(1.0)


def test_sdk_pings_reads_and_writes_in_both_protocols(port):
    assert two.ping(port, 1) == (1020, OK, 0)
    assert one.ping(port, 11) == (12, OK, 0)
    assert two.ping(port, 4)[1] == TIMEOUT
    assert two.write1ByteTxRx(port, 2, LED, 1) == (OK, 0)
    assert two.read1ByteTxRx(port, 2, LED) == (1, OK, 0)
    assert one.write2ByteTxRx(port, 11, 32, 300) == (OK, 0)
    assert one.read2ByteTxRx(port, 11, 32) == (300, OK, 0)
    assert two.write1ByteTxRx(port, 2, LED, 9) == (OK, 4)
    assert one.write2ByteTxRx(port, 11, 30, 1024) == (OK, 8)
    assert two.read4ByteTxRx(port, 1, PRESENT) == (2048, OK, 0)


def test_sdk_broadcast_ping_finds_all_of_protocol_2(port):
    found, result = two.broadcastPing(port)
    assert result == OK
    assert found == {number: [1020, 47] for number in (1, 2, 3)}


def test_sdk_group_instructions_of_protocol_2(port):
    write = sdk.GroupSyncWrite(port, two, 112, 4)
    for number in (1, 2, 3):
        write.addParam(number, (10 * number).to_bytes(4, "little"))
    assert write.txPacket() == OK
    for read in ("txRxPacket", "fastSyncRead"):
        group = sdk.GroupSyncRead(port, two, 112, 4)
        for number in (1, 2, 3):
            group.addParam(number)
        assert getattr(group, read)() == OK
        assert [group.getData(number, 112, 4) for number in (1, 2, 3)] == [10, 20, 30]
    bulk_write = sdk.GroupBulkWrite(port, two)
    bulk_write.addParam(1, LED, 1, [1])
    bulk_write.addParam(2, 112, 4, [77, 0, 0, 0])
    assert bulk_write.txPacket() == OK
    for read in ("txRxPacket", "fastBulkRead"):
        bulk = sdk.GroupBulkRead(port, two)
        bulk.addParam(1, LED, 1)
        bulk.addParam(2, 112, 4)
        assert getattr(bulk, read)() == OK
        assert (bulk.getData(1, LED, 1), bulk.getData(2, 112, 4)) == (1, 77)


def test_sdk_group_instructions_of_protocol_1(port):
    """The bulk read without the SDK's group class, which calls its protocol 1.0 with one argument too many."""
    write = sdk.GroupSyncWrite(port, one, 32, 2)
    write.addParam(11, [100, 0])
    write.addParam(12, [200, 0])
    assert write.txPacket() == OK
    assert one.bulkReadTx(port, [2, 11, 32, 2, 12, 32], 6) == OK
    assert one.readRx(port, 11, 2) == ([100, 0], OK, 0)
    assert one.readRx(port, 12, 2) == ([200, 0], OK, 0)


@pytest.mark.parametrize(("handler", "number", "address", "size"), [(two, 3, 112, 4), (one, 12, 32, 2)])
def test_sdk_registers_a_write_and_acts(port, handler, number, address, size):
    assert handler.regWriteTxRx(port, number, address, size, [55, 0, 0, 0]) == (OK, 0)
    read = handler.read4ByteTxRx if size == 4 else handler.read2ByteTxRx
    assert read(port, number, address)[0] != 55
    assert handler.action(port, number) == OK
    time.sleep(0.01)
    assert read(port, number, address) == (55, OK, 0)


def test_sdk_clears_resets_and_reboots(lone):
    port = opened(lone)
    assert two.clearMultiTurn(port, 1) == (OK, 0)
    assert two.write1ByteTxRx(port, 1, LED, 1) == (OK, 0)
    assert two.reboot(port, 1) == (OK, 0)
    assert two.ping(port, 1)[1] == TIMEOUT
    assert eventually(lambda: two.ping(port, 1)[1] == OK)
    assert two.read1ByteTxRx(port, 1, LED) == (0, OK, 0)
    assert two.write1ByteTxRx(port, 2, 7, 9) == (OK, 0)
    assert two.factoryReset(port, 9, 0xFF) == (OK, 0)
    port.setBaudRate(57600)
    assert eventually(lambda: two.ping(port, 1)[1] == OK)
    port.closePort()


def test_servos_hear_only_the_baud_rate_that_the_client_sets_on_the_port(mixed):
    port = opened(mixed, 115200)
    assert two.ping(port, 1)[1] == TIMEOUT
    port.setBaudRate(1_000_000)
    assert two.ping(port, 1)[1] == OK
    port.closePort()


def test_answers_take_their_time_on_the_wire(tmp_path):
    """57600 bit/s: 14 bytes out, 15 back, return delay 500 µs make 5.5 ms, and no client gets it sooner."""
    settings = BusSettings((ServoSettings(1, "XM430-W350", baud=57600),))
    with EmulatedBus(tmp_path / "bus", settings) as bus:
        port = opened(bus, 57600)
        times = []
        for _ in range(20):
            start = time.perf_counter()
            assert two.read4ByteTxRx(port, 1, PRESENT)[1] == OK
            times.append(time.perf_counter() - start)
        port.closePort()
    wire = 29 * 10 / 57600 + 500e-6
    assert min(times) >= wire - 1e-4
    assert min(times) < wire + 5e-3


def test_18_servos_at_1_mbps_answer_close_to_the_limit_of_the_wire(tmp_path):
    """Sync read of 4 bytes: 32 bytes out, 18 × 15 back, 3.02 ms."""
    numbers = range(1, 19)
    with EmulatedBus(tmp_path / "bus", BusSettings(servos(*numbers))) as bus:
        port = opened(bus)
        group = sdk.GroupSyncRead(port, two, PRESENT, 4)
        for number in numbers:
            group.addParam(number)
        times = []
        for _ in range(500):
            start = time.perf_counter()
            if group.txRxPacket() == OK:  # on a busy machine an answer may be late
                times.append(time.perf_counter() - start)
            if len(times) == 50:
                break
        port.closePort()
    assert len(times) == 50
    assert min(times) >= 3.02e-3 - 1e-4
    assert min(times) < 3 * 3.02e-3


def test_unplugging_breaks_the_port_and_replugging_mends_it(lone):
    port = opened(lone)
    assert two.write1ByteTxRx(port, 1, LED, 1) == (OK, 0)
    lone.unplug()
    assert not lone.port.is_symlink()
    with pytest.raises((serial.SerialException, termios.error)):
        two.read1ByteTxRx(port, 1, LED)
    with pytest.raises(serial.SerialException):
        opened(lone)
    lone.replug()
    again = opened(lone)
    assert two.read1ByteTxRx(again, 1, LED) == (1, OK, 0)
    again.closePort()


def test_dead_servo_is_silent_and_comes_back_without_torque(lone):
    port = opened(lone)
    two.write1ByteTxRx(port, 1, TORQUE, 1)
    lone.kill(1)
    assert two.ping(port, 1)[1] == TIMEOUT
    assert two.ping(port, 2)[1] == OK
    group = sdk.GroupSyncRead(port, two, PRESENT, 4)
    group.addParam(1)
    group.addParam(2)
    assert group.txRxPacket() == TIMEOUT or not group.isAvailable(2, PRESENT, 4)
    lone.revive(1)
    assert two.read1ByteTxRx(port, 1, TORQUE) == (0, OK, 0)
    port.closePort()


def test_faults_of_the_wire_are_seen_by_the_sdk(lone):
    port = opened(lone)
    lone.faults(drop=1.0)
    assert two.ping(port, 1)[1] == TIMEOUT
    lone.faults(corrupt=1.0)
    assert two.ping(port, 1)[1] in (TIMEOUT, CORRUPT)
    lone.faults(cut_every=3)
    results = [two.ping(port, 1)[1] for _ in range(9)]
    assert [result == OK for result in results] == [True, True, False] * 3
    lone.faults("to_servos", drop=1.0)
    lone.faults()
    assert two.ping(port, 1)[1] == TIMEOUT
    lone.faults("to_servos")
    assert two.ping(port, 1)[1] == OK
    port.closePort()


def test_a_late_packet_holds_up_those_behind_it(lone):
    """As in an adapter's buffer: what is sent later never arrives earlier."""
    port = opened(lone)
    pings = [encode_instruction(2, InstructionPacket(number, Instruction.PING)) for number in (1, 2)]
    lone.faults(late=1.0, lateness=0.6)
    port.writePort(list(pings[0]))
    time.sleep(0.3)
    lone.faults()
    begin = time.monotonic()
    port.writePort(list(pings[1]))
    parser, statuses = PacketParser(2, status=True), []

    def arrived():
        statuses.extend(parser.feed(bytes(port.readPort(100))))
        return len(statuses) == 2

    assert eventually(arrived)
    assert [status.id for status in statuses] == [1, 2]
    assert time.monotonic() - begin > 0.15
    port.closePort()


def test_late_answer_comes_after_the_client_has_given_up(lone):
    port = opened(lone)
    lone.faults(late=1.0, lateness=0.4)
    assert two.read1ByteTxRx(port, 1, LED)[1] == TIMEOUT
    lone.faults()
    assert eventually(lambda: port.getBytesAvailable() == 12)
    port.closePort()


def test_overload_and_voltage_raise_the_alert_bit(lone):
    port = opened(lone)
    two.write1ByteTxRx(port, 1, TORQUE, 1)
    lone.overload(1)
    assert two.ping(port, 1)[2] == 0x80
    assert two.read1ByteTxRx(port, 1, 70) == (0x20, OK, 0x80)
    assert two.read1ByteTxRx(port, 1, TORQUE)[0] == 0
    lone.supply(8.0)
    lone.temperature(2, 85.0)
    assert eventually(lambda: two.read1ByteTxRx(port, 2, 70)[0] == 0x05)
    assert two.read2ByteTxRx(port, 2, 144)[0] == 80
    port.closePort()


def test_state_shows_the_registers_without_the_bus(lone):
    port = opened(lone)
    two.write1ByteTxRx(port, 2, TORQUE, 1)
    two.write4ByteTxRx(port, 2, GOAL, 2300)
    state = lone.state()
    assert set(state["servos"]) == {"1", "2"}
    assert state["servos"]["2"]["torque"] is True
    assert lone.register(2, "goal_position") == 2300
    assert eventually(lambda: abs(lone.register(2, "present_position") - 2300) <= 2)
    assert state["packets"] == 2
    port.closePort()


def run_in_lock_step(folder: Path) -> list[int]:
    settings = BusSettings(servos(1, 2), lock_step=True, cycle=0.01)
    with EmulatedBus(folder / "bus", settings) as bus:
        port = opened(bus)
        for number in (1, 2):
            two.write1ByteTxRx(port, number, TORQUE, 1)
        write, read = sdk.GroupSyncWrite(port, two, GOAL, 4), sdk.GroupSyncRead(port, two, PRESENT, 4)
        positions = []
        for number in (1, 2):
            read.addParam(number)
        for k in range(100):
            write.clearParam()
            for number in (1, 2):
                write.addParam(number, (2048 + 5 * k * number).to_bytes(4, "little"))
            write.txPacket()
            assert read.txRxPacket() == OK
            positions += [read.getData(number, PRESENT, 4) for number in (1, 2)]
        assert bus.state()["time"] == pytest.approx(1.0, abs=0.01)
        before = bus.state()["time"]
        assert bus.advance(2.5) == pytest.approx(before + 2.5)
        port.closePort()
    return positions


def test_lock_step_repeats_itself_to_the_count_and_faster_than_the_clock(tmp_path):
    first, again = (run_in_lock_step(tmp_path) for _ in range(2))
    assert first == again
    assert first[-1] == pytest.approx(2048 + 5 * 99 * 2, abs=60)


def test_time_cannot_be_advanced_in_real_time(lone):
    with pytest.raises(RobotError, match="lock step only"):
        lone.advance(1.0)


def test_control_channel_speaks_json_lines(lone):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{lone.port}.control")
        client.sendall(b'{"command": "kill", "servo": 2}\nnonsense\n{"command": 1}\n{"command": "state"}\n')
        lines = client.makefile("rb")
        answers = [json.loads(lines.readline()) for _ in range(4)]
    assert answers[0] == {"result": None}
    assert "not JSON" in answers[1]["error"]
    assert "command" in answers[2]["error"]
    assert answers[3]["result"]["servos"]["2"]["alive"] is False


@pytest.mark.parametrize(
    ("command", "arguments", "text"),
    [
        ("explode", {}, "unplug"),
        ("kill", {"servo": 9}, "Valid: 1, 2"),
        ("kill", {"number": 1}, "number"),
        ("faults", {"drop": 2.0}, "drop"),
        ("faults", {"drop": "all"}, "all"),
        ("faults", {"cut_every": [3]}, "int"),
        ("supply", {"voltage": float("nan")}, "supply"),
        ("faults", {"dorp": 0.1}, "Did you mean 'drop'"),
        ("faults", {"direction": "up"}, "to_servos"),
        ("supply", {"voltage": -1}, "supply"),
    ],
)
def test_impossible_commands_are_refused_and_leave_the_emulator_running(mixed, command, arguments, text):
    with pytest.raises(RobotError, match=text if command != "kill" or "servo" not in arguments else "servo"):
        request(mixed.port, command, **arguments)
    assert mixed.state()["plugged"]


def test_stop_takes_port_and_control_away(tmp_path):
    bus = EmulatedBus(tmp_path / "bus", BusSettings(servos(1)))
    bus.start()
    assert {entry.name for entry in tmp_path.iterdir()} == {"bus", "bus.control"}
    with pytest.raises(RobotError, match="runs already"):
        bus.start()
    bus.stop()
    bus.stop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RobotError, match="does not run"):
        bus.state()


def test_ports_that_cannot_be_made_are_refused(tmp_path, lone):
    settings = BusSettings(servos(1))
    (tmp_path / "file").write_text("mine")
    for path, text in (
        (tmp_path / "file", "File exists"),
        (tmp_path / "nowhere" / "bus", "No such file"),
        (lone.port, "another emulator"),
        (tmp_path / ("x" * 120), "longer than"),
    ):
        with pytest.raises(OutputError, match=text):
            EmulatedBus(path, settings).start()
    assert (tmp_path / "file").read_text() == "mine"
    assert lone.state()["plugged"]


def test_plants_that_cannot_be_made_are_refused_at_start(tmp_path):
    settings = BusSettings(servos(1))
    bus = EmulatedBus(tmp_path / "bus", settings, bare_shafts(settings, supply=-5.0))
    with pytest.raises(ValueError, match="supply"):
        bus.start()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnknownNameError, match="XM430-W350"):
        EmulatedBus(tmp_path / "bus", BusSettings((ServoSettings(1, "XM430"),))).start()


def test_what_a_killed_emulator_left_is_replaced(tmp_path):
    settings = BusSettings(servos(1))
    killed = EmulatedBus(tmp_path / "bus", settings)
    killed.start()
    os.kill(killed._process.pid, signal.SIGKILL)
    killed._process.join()
    assert (tmp_path / "bus").is_symlink()
    with EmulatedBus(tmp_path / "bus", settings) as bus:
        port = opened(bus)
        assert two.ping(port, 1)[1] == OK
        port.closePort()


def test_interrupt_of_the_terminal_does_not_reach_the_bus(lone):
    os.kill(lone._process.pid, signal.SIGINT)
    time.sleep(0.05)
    assert lone.state()["plugged"]


def script(folder: Path, body: str) -> list[str]:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(body))
    return [sys.executable, str(path), str(folder / "bus")]


def test_bus_ends_with_the_process_that_started_it(tmp_path):
    command = script(
        tmp_path,
        """
        import os, signal, sys
        from pliant.envs.emulators.dynamixel.bus import BusSettings
        from pliant.envs.emulators.dynamixel.process import EmulatedBus
        from pliant.envs.emulators.dynamixel.servo import ServoSettings

        if __name__ == "__main__":
            EmulatedBus(sys.argv[1], BusSettings((ServoSettings(1, "AX-12A"),))).start()
            assert os.path.exists(sys.argv[1])
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    assert subprocess.run(command, timeout=900).returncode == -signal.SIGKILL
    assert eventually(lambda: not (tmp_path / "bus").is_symlink())


def test_a_plant_that_cannot_go_to_another_process_leaves_none(tmp_path):
    bus = EmulatedBus(tmp_path / "bus", BusSettings(servos(1)), lambda: None)
    for _ in range(2):
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
            bus.start()
        assert not bus.running


@pytest.mark.slow
def test_a_script_that_starts_one_at_its_top_level_is_told_where_to(tmp_path):
    """Its process imports the script and ends there, before it has read a plant larger than a pipe holds."""
    command = script(
        tmp_path,
        """
        import functools, sys
        from pliant.envs.emulators.dynamixel.bus import BusSettings
        from pliant.envs.emulators.dynamixel.process import EmulatedBus
        from pliant.envs.emulators.dynamixel.servo import ServoSettings

        plant = functools.partial(print, bytes(1_000_000))
        EmulatedBus(sys.argv[1], BusSettings((ServoSettings(1, "AX-12A"),)), plant).start()
        """,
    )
    ended = subprocess.run(command, timeout=900, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "its process has ended. A script that starts one does so below `if __name__" in ended.stderr


def test_watchdog_stops_the_servos_when_their_driver_is_killed(lone, tmp_path):
    """Kill -9 of the process on the port, with a watchdog of 100 ms armed."""
    command = script(
        tmp_path,
        """
        import sys, time
        import dynamixel_sdk as sdk

        port, two = sdk.PortHandler(sys.argv[1]), sdk.PacketHandler(2.0)
        port.setBaudRate(1_000_000)
        two.write1ByteTxRx(port, 1, 11, 1)
        two.write1ByteTxRx(port, 1, 64, 1)
        two.write4ByteTxRx(port, 1, 104, 100)
        two.write1ByteTxRx(port, 1, 98, 5)
        while True:
            two.ping(port, 1)
            time.sleep(0.01)
        """,
    )
    driver = subprocess.Popen(command)
    try:
        assert eventually(lambda: lone.register(1, "present_velocity") > 80)
        time.sleep(0.3)
        assert lone.register(1, "bus_watchdog") == 5
    finally:
        driver.kill()
        driver.wait()
    killed = time.monotonic()
    assert eventually(lambda: lone.register(1, "bus_watchdog") == -1)
    assert time.monotonic() - killed < 0.3
    assert eventually(lambda: lone.register(1, "present_velocity") == 0)


def test_command_line_serves_until_it_is_terminated(tmp_path):
    module = "pliant.envs.emulators.dynamixel.process"
    command = [sys.executable, "-m", module, str(tmp_path / "bus"), "--servo", "7:XL330-M288", "--baud", "115200"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert "1 servos at" in process.stdout.readline()
        port = sdk.PortHandler(str(tmp_path / "bus"))
        port.setBaudRate(115200)
        assert two.ping(port, 7) == (1200, OK, 0)
        port.closePort()
    finally:
        process.terminate()
        assert process.wait(5) == 0
        process.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_command_line_explains_what_is_wrong(tmp_path, capsys):
    assert main([str(tmp_path / "bus"), "--servo", "one"]) == 1
    assert "NUMBER:MODEL" in capsys.readouterr().err
    assert main([str(tmp_path / "bus"), "--servo", "1:XM431"]) == 1
    assert "XM430-W350" in capsys.readouterr().err


def test_the_journal_tells_every_write_that_was_taken_or_refused(lone):
    port = opened(lone)
    assert two.write4ByteTxRx(port, 1, GOAL, 2100) == (OK, 0)
    assert two.write1ByteTxRx(port, 2, LED, 9) == (OK, 4)
    group = sdk.GroupSyncWrite(port, two, GOAL, 4)
    group.addParam(1, [*(5000).to_bytes(4, "little")])
    group.txPacket()
    assert two.ping(port, 1)[1] == OK
    found = lone.writes()
    assert [(e.servo, e.register, e.value, e.refusal, e.by) for e in found] == [
        (1, "goal_position", 2100, "", "computer"),
        (2, "led", 9, "range", "computer"),
        (1, "goal_position", 5000, "limit", "computer"),
    ]
    assert [e.present for e in found] == [2048] * 3
    assert [e.time for e in found] == sorted(e.time for e in found)
    assert lone.writes() == []
    port.closePort()


def test_the_journal_tells_what_a_servo_did_by_itself(lone):
    port = opened(lone)
    assert two.write1ByteTxRx(port, 1, 98, 1) == (OK, 0)
    assert two.write1ByteTxRx(port, 1, TORQUE, 1) == (OK, 0)
    assert eventually(lambda: lone.register(1, "bus_watchdog") == -1)
    lone.overload(1)
    own = [(e.register, e.value) for e in lone.writes() if e.by == "servo"]
    assert own == [("bus_watchdog", -1), ("torque_enable", 0)]
    port.closePort()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_users_file_beside_the_port_stays(tmp_path, kind):
    beside = tmp_path / "bus.control"
    mine = tmp_path / "mine"
    mine.write_text("mine")
    if kind == "file":
        beside.write_text("mine")
    elif kind == "folder":
        beside.mkdir()
    else:
        beside.symlink_to(mine)
    bus = EmulatedBus(tmp_path / "bus", BusSettings(servos(1)))
    with pytest.raises(OutputError, match=r"bus\.control"):
        bus.start()
    bus.stop()
    assert mine.read_text() == "mine"
    assert beside.is_dir() if kind == "folder" else beside.read_text() == "mine"
    assert not (tmp_path / "bus").is_symlink()


def test_what_took_the_place_of_port_and_socket_meanwhile_stays(tmp_path):
    bus = EmulatedBus(tmp_path / "bus", BusSettings(servos(1)))
    bus.start()
    for name in ("bus", "bus.control"):
        (tmp_path / name).unlink()
        (tmp_path / name).write_text("mine")
    bus.stop()
    assert [(tmp_path / name).read_text() for name in ("bus", "bus.control")] == ["mine", "mine"]


def test_the_control_socket_is_the_users_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        with EmulatedBus(tmp_path / "bus", BusSettings(servos(1))):
            assert (tmp_path / "bus.control").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_keys_and_the_end_of_the_terminal_are_for_the_driver_alone(lone, number):
    os.kill(lone._process.pid, number)
    assert lone.state()["plugged"]
    assert lone.state()["plugged"]


def test_sdk_example_of_indirect_addresses(lone):
    """As in the SDK's own indirect_address example: goal, present position and moving in one block of each."""
    port = opened(lone)
    for number, source in enumerate([LED, *range(GOAL, GOAL + 4)]):
        assert two.write2ByteTxRx(port, 1, 168 + 2 * number, source) == (OK, 0)
    for number, source in enumerate([122, *range(PRESENT, PRESENT + 4)]):
        assert two.write2ByteTxRx(port, 1, 578 + 2 * number, source) == (OK, 0)
    assert two.write1ByteTxRx(port, 1, TORQUE, 1) == (OK, 0)
    assert two.write2ByteTxRx(port, 1, 168, LED)[1] == 7, "not under torque"
    write = sdk.GroupSyncWrite(port, two, 224, 5)
    write.addParam(1, [1, *(2300).to_bytes(4, "little")])
    assert write.txPacket() == OK
    assert eventually(lambda: lone.register(1, "present_position") == pytest.approx(2300, abs=2))
    assert two.read1ByteTxRx(port, 1, LED)[0] == 1
    read = sdk.GroupSyncRead(port, two, 634, 5)
    read.addParam(1)
    assert read.txRxPacket() == OK
    assert read.getData(1, 635, 4) == pytest.approx(2300, abs=2)
    assert lone.register(1, "goal_position") == 2300
    port.closePort()


@pytest.mark.parametrize(("model", "count", "after"), [("XL330-M288", 20, 228), ("XL430-W250", 56, 662)])
def test_indirect_addresses_begin_with_their_own_data_and_end_as_in_the_manual(make_line, model, count, after):
    line = make_line({1: model})
    areas = [(168, 208, 20)] if count == 20 else [(168, 224, 28), (578, 634, 28)]
    for addresses, data, number in areas:
        for n in (0, number - 1):
            span = (addresses + 2 * n).to_bytes(2, "little") + (2).to_bytes(2, "little")
            (status,) = line.send(1, Instruction.READ, span)
            assert int.from_bytes(status.parameters, "little") == data + n
    last = (after - 1).to_bytes(2, "little")
    assert line.send(1, Instruction.WRITE, last + b"\x55")[0].error == 0
    (status,) = line.send(1, Instruction.READ, last + b"\x01\x00")
    assert status.parameters == b"\x55"
    assert line.send(1, Instruction.READ, after.to_bytes(2, "little") + b"\x01\x00")[0].error == 7
    half = (116).to_bytes(2, "little")
    assert line.send(1, Instruction.WRITE, (168).to_bytes(2, "little") + half)[0].error == 0
    assert line.send(1, Instruction.WRITE, areas[0][1].to_bytes(2, "little") + b"\x01")[0].error == 7, "a half"


def test_an_ax_12a_switches_its_torque_on_with_a_goal(make_line):
    line = make_line({1: "AX-12A"})
    assert line.read(1, "torque_enable") == 0
    assert line.write(1, "goal_position", 512) == 0
    assert line.read(1, "torque_enable") == 1
