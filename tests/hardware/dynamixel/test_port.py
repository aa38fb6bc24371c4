import errno
import fcntl
import os
import stat
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pliant.errors import ConfigurationError, RobotError
from pliant.hardware.dynamixel import port as module
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.port import SerialPort, latency_seconds, latency_timer
from pliant.hardware.dynamixel.tables import XM430_W350

pytest.importorskip("dynamixel_sdk")

HOLDER = """
import sys
from pliant.hardware.dynamixel.port import SerialPort
port = SerialPort(sys.argv[1], 1000000)
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def far(servo_bus):
    return servo_bus(XM430_W350, 1)


def test_a_missing_port_is_named_with_what_to_do():
    with pytest.raises(RobotError, match=r"no serial port /dev/ttyNONE.*ports here: .*plugged in.*by-id"):
        Bus("/dev/ttyNONE").open()


def test_a_forbidden_port_names_the_group_to_join(monkeypatch, tmp_path):
    device = tmp_path / "ttyUSB0"
    device.touch()

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(RobotError, match=r"no permission to open .*usermod -aG \w+ \$USER.*udev rule"):
        SerialPort(str(device), 1_000_000)


def test_a_file_that_is_no_serial_port_is_refused(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(RobotError, match="is not a serial port"):
        Bus(str(file)).open()


def test_a_port_that_is_open_here_already_says_so(far):
    with Bus(far.port), pytest.raises(RobotError, match=r"in use.*This process itself"):
        Bus(far.port).open()


def test_a_second_process_is_refused_and_told_who_holds_the_port(far):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, far.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(RobotError, match=rf"in use\. It is held by .*python.*process {holder.pid}\)"):
            Bus(far.port).open()
    finally:
        holder.communicate("")
    with Bus(far.port) as bus:
        assert bus.ping(1, tries=20)


BARE = """
import sys
import dynamixel_sdk
port = dynamixel_sdk.PortHandler(sys.argv[1])
port.openPort()
print("open", flush=True)
sys.stdin.read()
"""


def test_a_program_on_the_bare_sdk_which_takes_no_lock_is_found_and_named(far):
    holder = subprocess.Popen(
        [sys.executable, "-c", BARE, far.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(RobotError, match=rf"in use\. It is held by .*python.*process {holder.pid}\)"):
            Bus(far.port).open()
    finally:
        holder.communicate("")
    with Bus(far.port) as bus:
        assert bus.ping(1, tries=20)


def test_a_killed_process_leaves_the_port_free(far):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, far.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "open\n"
    holder.kill()
    holder.communicate()
    with Bus(far.port) as bus:
        assert bus.ping(1, tries=20)


def test_a_refused_opening_disturbs_nobody(far):
    with Bus(far.port) as bus:
        rate = termios.tcgetattr(far.master)[4]
        with pytest.raises(RobotError):
            Bus(far.port, baud_rate=57600).open()
        assert termios.tcgetattr(far.master)[4] == rate
        assert bus.ping(1, tries=20)


def test_programs_that_take_no_lock_are_kept_out_of_a_real_serial_port(far, monkeypatch):
    monkeypatch.setattr(module, "_is_pseudo_terminal", lambda path: False)
    is_exclusive = 0x80045440  # TIOCGEXCL

    def exclusive() -> int:
        buffer = bytearray(4)
        fcntl.ioctl(far._slave, is_exclusive, buffer)
        return int.from_bytes(buffer, "little")

    port = SerialPort(far.port, 1_000_000)
    assert exclusive() == 1
    port.close()
    assert exclusive() == 0


def test_a_rate_unknown_to_the_sdk_is_refused(far):
    with pytest.raises(ConfigurationError, match="no 12345 bit/s"):
        Bus(far.port, baud_rate=12345).open()
    with Bus(far.port) as bus, pytest.raises(ConfigurationError, match="no 12345 bit/s"):
        bus.baud_rate = 12345


def test_the_rate_can_change_while_the_port_stays_open_and_locked(far):
    far[1].rate = 57600
    with Bus(far.port, slack=0.02) as bus:
        assert not bus.ping(1)
        bus.baud_rate = 57600
        assert bus.ping(1, tries=20)
        with pytest.raises(RobotError, match="in use"):
            Bus(far.port).open()


def test_closing_twice_or_before_opening_is_harmless(far):
    bus = Bus(far.port)
    bus.close()
    bus.open()
    bus.close()
    bus.close()
    bus.open()
    assert bus.ping(1, tries=20)
    bus.close()


def test_opening_leaks_no_descriptors(far):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with Bus(far.port) as bus:
            bus.ping(1)
        with pytest.raises(RobotError):
            Bus("/dev/null").open()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_device_that_cannot_be_opened_is_an_error_of_ours(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(RobotError, match="is not a serial port"):
        Bus(str(pipe)).open()


def test_the_latency_timer_of_a_usb_adapter_is_found_through_links(tmp_path):
    folder = tmp_path / "sys" / "ttyUSB3" / "device"
    folder.mkdir(parents=True)
    (folder / "latency_timer").write_text("16\n")
    device = tmp_path / "dev" / "ttyUSB3"
    device.parent.mkdir()
    device.touch()
    link = tmp_path / "dev" / "arm"
    link.symlink_to(device)
    assert latency_timer(str(link), tmp_path / "sys") == folder / "latency_timer"
    assert latency_seconds(str(link), tmp_path / "sys") == 0.016
    (folder / "latency_timer").write_text("?")
    assert latency_seconds(str(link), tmp_path / "sys") == 0.0
    assert latency_seconds("/dev/null", tmp_path / "sys") == 0.0


def test_a_slow_latency_timer_is_warned_of_with_the_remedy(far, monkeypatch, caplog):
    monkeypatch.setattr("pliant.hardware.dynamixel.wire.latency_seconds", lambda path: 0.016)
    with Bus(far.port):
        pass
    assert "holds answers back for 16 ms" in caplog.text
    assert "echo 1 | sudo tee" in caplog.text
