"""The emulated bus as a command that any program connects to."""

import signal
import socket
import subprocess
import sys

import pytest

sdk = pytest.importorskip("dynamixel_sdk")

pytestmark = pytest.mark.real_time


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
    ],
)
def test_a_wrong_argument_is_explained(pliant, arguments, message):
    done = pliant(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_examples_and_settings(pliant):
    done = pliant("emulate", "--help")
    assert done.returncode == 0
    for expected in ("Examples:", "goal_delay: 0.02", "pliant emulate dynamixel robot=arm2 port=./bus"):
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
