"""A machine with a driver of one's own: named in a configuration, tried, deployed on by one word."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from tests.test_documents import blocks, run_python

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from pliant.deployment.machines import machine
from pliant.envs import describe
from pliant.errors import ConfigurationError
from pliant.hardware.checking import check_robot
from pliant.hardware.recording import read_recording

PAGE = "docs/own-driver.md"
DRIVER, STANDIN, TRY = blocks(PAGE, "python")
JOINTS = [f"joint{k}" for k in range(1, 7)]
HOLD = ["controller=hold", "duration=2", "hardware=real", "robot=smartsix", "robot.period=0.02"]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with the page's driver, trusted."""
    (tmp_path / "mydriver.py").write_text(DRIVER)
    (tmp_path / "standin.py").write_text(STANDIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLIANT_TARGETS", "mydriver")
    yield tmp_path
    sys.modules.pop("mydriver", None)


@pytest.fixture
def standin(own):
    """What stands in for the machine, and its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("127.0.0.1", 0))
        port = wire.getsockname()[1]
    process = subprocess.Popen([sys.executable, "standin.py", str(port), *JOINTS])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.connect(("127.0.0.1", port))
        wire.settimeout(0.1)
        answered = b""
        while not answered:
            try:
                wire.send(b"1 joints")
                answered = wire.recv(100)
            except OSError:
                time.sleep(0.05)
    yield process, port
    process.kill()
    process.wait()


def asked(port, words):
    """What the machine answers, as numbers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.connect(("127.0.0.1", port))
        wire.settimeout(10.0)
        wire.send(f"1 {words}".encode())
        return list(map(float, wire.recv(1500).split()[1:]))


def made(*words, kind="real"):
    with initialize_config_module("pliant.conf", version_base=None):
        return machine(compose("deploy", ["robot=smartsix", f"hardware={kind}", *words]))


# @pytest.mark.real_time
@pytest.mark.slow
def test_the_page_runs_from_the_class_to_the_machine(own, standin, verb):
    _, port = standin
    assert "ms a period" in run_python(TRY.replace("4100", str(port)), own)
    trust, start, *lines = blocks(PAGE, "sh")[0].splitlines()
    assert trust == "export PYTHONPATH=. PLIANT_TARGETS=mydriver"
    assert shlex.split(start) == ["python", "standin.py", "4100", *JOINTS, "&"]
    for line in lines:
        name, *arguments = shlex.split(line.replace("4100", str(port)))[1:]
        status, _, err = verb(name, *arguments, "run.settle=0.1")
        assert status == 0, f"{line}\n{err}"
    numbers = json.loads((own / "runs/arm/metrics.json").read_text())
    assert numbers["completed"]
    assert numbers["max_difference_rad"] < 0.05
    held = np.array(read_recording(own / "runs/arm/recording.mcap").series["/command"]["sent"])
    assert len(held) == 100
    assert np.ptp(held, axis=0).max() == 0.0


# @pytest.mark.real_time
@pytest.mark.slow
def test_a_machine_that_is_gone_ends_the_motion_with_status_2(own, standin, pliant):
    process, port = standin
    with subprocess.Popen(
        [
            *[sys.executable, "-m", "pliant.scripts.main", "deploy", *HOLD, f"port={port}", "duration=10"],
            "++robot.machine={driver: 'mydriver:LineArm', host: 127.0.0.1}",
            "hydra.run.dir=out",
        ],
        env={**os.environ, "PYTHONPATH": f"{own}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as running:
        while not abs(asked(port, "state")[3]) > 0.1:  # joint3 is on its way
            assert running.poll() is None, running.stderr.read()
        process.send_signal(signal.SIGKILL)
        _, err = running.communicate()
    assert running.returncode == 2, err
    assert "Connection refused" in err or "gives no answer" in err
    assert "Traceback" not in err
    reason = json.loads((own / "out/metrics.json").read_text())["reason"]
    assert re.match(
        r"smartsix was stopped: (4 reads in a row failed|while sending: ).* may still have its", reason
    )


def test_nobody_at_the_address_is_told_before_anything_moves(own, verb):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("127.0.0.1", 0))
        port = wire.getsockname()[1]
    words = ["++robot.machine={driver: 'mydriver:LineArm', host: 127.0.0.1}", f"port={port}", "duration=0.1"]
    status, _, err = verb("deploy", *HOLD, *words)
    assert status == 2
    assert "smartsix: while connecting: [Errno 111] Connection refused." in err


def test_entries_and_the_command_line_are_the_constructors(own):
    driver = made("++robot.machine={driver: 'mydriver:LineArm', host: 1.2.3.4, timeout: 0.5}", "port=17")
    assert (driver.address, driver.timeout) == (("1.2.3.4", 17), 0.5)
    assert driver.info.joints == tuple(JOINTS)
    elsewhere = made("++robot.machine={driver: 'mydriver:LineArm', host: 1.2.3.4, port: 1}", "host=5.6.7.8")
    assert elsewhere.address == ("5.6.7.8", 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{driver: 'mydriver:LineArm'}", "machine of robot 'smartsix': mydriver:LineArm: .*missing.*'host'"),
        ("{driver: 'mydriver:LineArm', host: a, port: 1, baud: 9600}", "unexpected keyword argument 'baud'"),
        ("{driver: 'mydriver:Arm'}", "mydriver:Arm cannot be imported"),
        (
            "{driver: 'mydriver:Measurement'}",
            r"Measurement is derived from no pliant\.hardware\.robot\.Robot",
        ),
        ("{driver: 'subprocess:Popen'}", r"subprocess:Popen is derived from no pliant\.hardware\.robot\.Robot"),
        (
            "{driver: 'antigravity:Arm'}",
            r"'antigravity:Arm', whose module is of no trusted package.*PLIANT_TARGETS",
        ),
        ("{driver: LineArm}", "names 'LineArm'; module:Class is needed"),
        ("{motor: 3}", "'smartsix' describes no machine, so only hardware=simulated"),
    ],
)
def test_what_is_no_driver_is_refused(own, given, message):
    with pytest.raises(ConfigurationError, match=message):
        made(f"++robot.machine={given}")
    assert "antigravity" not in sys.modules


def test_a_constructor_that_leaves_the_base_out_is_told_so(own):
    (own / "mydriver.py").write_text(DRIVER.replace("super().__init__(info)", "pass"))
    with pytest.raises(ConfigurationError, match=r"LineArm: its constructor has to call super\(\)\.__init__"):
        made("++robot.machine={driver: 'mydriver:LineArm', host: a, port: 1}")


def test_a_module_that_ends_the_program_or_is_no_python_ends_nothing(own):
    for text in ("raise SystemExit(0)", "def ("):
        (own / "mydriver.py").write_text(text)
        with pytest.raises(ConfigurationError, match=r"mydriver:LineArm cannot be imported \(.*PYTHONPATH=FOLDER"):
            made("++robot.machine={driver: 'mydriver:LineArm'}")


def test_no_emulator_is_known_of_it(own):
    with pytest.raises(
        ConfigurationError, match=r"mydriver:LineArm, which no emulator is known for: hardware=sim"
    ):
        made("++robot.machine={driver: 'mydriver:LineArm'}", kind="emulated")


# What every machine promises


@pytest.mark.parametrize("robot", ["arm2", "two_link", "hexapod", "ur10e"])
def test_every_simulated_robot_keeps_what_the_interface_promises(robot):
    simulated = describe(robot).simulated()
    found = check_robot(simulated, periods=20)
    assert found.longest_period == pytest.approx(simulated.info.period)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["robot=arm2"], ["robot=hexapod"], ["robot=ur10e"], ["robot=ur10e", "robot.model.mode=torque"]]
)
def test_every_driver_keeps_what_the_interface_promises(words):
    if "robot=ur10e" in words:
        pytest.importorskip("rtde_control")
    driver = made(*words, kind="emulated")
    found = check_robot(driver, periods=20)
    assert found.longest_period > 0.9 * driver.info.period
