"""The emulated bus as a command that any program connects to."""

import signal
import socket
import subprocess
import sys
import time

import pytest

from pliant.envs.emulators.control import request
from pliant.hardware.force_torque.net_ft import NetFT

sdk = pytest.importorskip("dynamixel_sdk")


@pytest.fixture
def emulator(tmp_path):
    command = [sys.executable, "-m", "pliant.scripts.main", "emulate", "dynamixel", "robot=arm2", "port=./bus"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert any("at bus" in line for line in process.stdout), process.communicate()
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_the_vendors_own_tool_connects_and_ctrl_c_cleans_up(emulator, tmp_path):
    port, packets = sdk.PortHandler(str(tmp_path / "bus")), sdk.PacketHandler(2.0)
    assert port.openPort()
    assert port.setBaudRate(1_000_000)
    for servo in range(1, 7):
        tries = (packets.ping(port, servo) for _ in range(5))
        assert any(answer == (1020, sdk.COMM_SUCCESS, 0) for answer in tries), "an XM430-W350"
    port.closePort()
    emulator.send_signal(signal.SIGINT)
    _, errors = emulator.communicate(timeout=900)
    assert emulator.returncode == 0, errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["emulate"], "pliant emulate dynamixel"),
        (["emulate", "dinamixel"], "Did you mean 'dynamixel'"),
        (["emulate", "dynamixel", "hardware.goal_delay=-1"], "goal_delay"),
        (["emulate", "dynamixel", "robot=rig1"], "rig1"),
        (["emulate", "dynamixel", "port=nowhere/bus"], "nowhere"),
        (["emulate"], "pliant emulate ur"),
        (["emulate", "ur", "polyscope=5.27"], "Valid: 3.15"),
        (["emulate", "ur", "robot=arm2"], "none that a controller of Universal Robots drives"),
        (["emulate", "ur", "host=8.8.8.8"], "loopback address"),
        (["emulate", "ur", "gap.frction=1"], "Did you mean 'friction'"),
        (["emulate", "net_ft", "host=8.8.8.8"], "loopback address"),
        (["emulate", "net_ft", "rate=0"], "rate of the box"),
    ],
)
def test_a_wrong_argument_is_explained(quickly, arguments, message):
    done = quickly(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_examples_and_settings(quickly):
    done = quickly("emulate", "--help")
    assert done.returncode == 0
    for expected in (
        "Examples:",
        "goal_delay",
        "pliant emulate ur --help",
        "pliant emulate dynamixel robot=arm2 port=./bus",
    ):
        assert expected in done.stdout


def test_a_controller_is_served_until_ctrl_c(tmp_path):
    host = "127.9.8.7"
    command = [
        sys.executable,
        "-m",
        "pliant.scripts.main",
        "emulate",
        "ur",
        "robot=ur5e",
        f"host={host}",
        "folder=here",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert any(f"ur5e with PolyScope 5.22 at {host}" in line for line in process.stdout)
        with socket.create_connection((host, 30004), 30.0) as client:
            client.sendall(bytes.fromhex("000376"))
            assert client.recv(100)[:3] == bytes.fromhex("001376")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors
    finally:
        process.kill()
        process.communicate()
    assert {entry.name for entry in (tmp_path / "here").iterdir()} == {"cycles", "commands"}


def test_a_force_torque_sensor_is_served_until_ctrl_c(tmp_path):
    ports = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET, kind) as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    command = [
        *(sys.executable, "-m", "pliant.scripts.main", "emulate", "net_ft", f"port={ports[0]}"),
        *(f"page_port={ports[1]}", "wrench=[0,0,12,0,0,0]", "noise=[0,0]", "folder=here"),
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert any(f"Net F/T at 127.0.0.1:{ports[0]}" in line for line in process.stdout)
        sensor = NetFT("127.0.0.1", port=ports[0], page_port=ports[1], stale=30.0)
        with sensor:
            assert sensor.newest().wrench[2] == pytest.approx(12.0)
            assert request(tmp_path / "here" / "box", "push", wrench=[0, 0, 5, 0, 0, 0]) is None
            end = time.monotonic() + 30.0
            while abs(sensor.newest().wrench[2] - 5.0) > 1e-6:
                assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors
    finally:
        process.kill()
        process.communicate()
    assert list((tmp_path / "here").iterdir()) == []
