"""Looking after an arm of Universal Robots, on an emulated controller."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pliant.envs.emulated_ur import free_host
from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.errors import PliantError
from pliant.scripts.ur import run

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")


@pytest.fixture
def machine():
    settings = ControllerSettings(gap=Gap.none(), unlock_delay=1.0)
    with EmulatedController(settings, free_host()) as controller:
        yield controller


@pytest.fixture
def tool(machine, capsys):
    def use(action, *arguments):
        run([action, f"host={machine.host}", *arguments])
        return capsys.readouterr().out

    return use


def test_info_tells_how_controller_and_arm_are(tool):
    out = tool("info")
    for words in ("5.22.0", "robot mode.*running", "safety mode.*normal", "program.*none", "joints rad.*-1.571"):
        assert re.search(words, out), words


def test_preflight_says_that_it_may_move_or_what_keeps_it(tool, machine, capsys):
    assert "it may move" in tool("preflight")
    machine.fault("local_control")
    with pytest.raises(SystemExit):
        tool("preflight")
    assert "choose Remote Control" in capsys.readouterr().out.replace("\n", " ")


def test_a_protective_stop_is_released_by_the_operator_and_not_at_once(tool, machine):
    with pytest.raises(PliantError, match="in no protective stop"):
        tool("unlock")
    machine.fault("protective_stop")
    with pytest.raises(PliantError, match="does not unlock: Cannot unlock protective stop"):
        tool("unlock")
    end = time.monotonic() + 20
    while True:
        try:
            assert "released" in tool("unlock")
            break
        except PliantError:
            assert time.monotonic() < end
            time.sleep(0.2)
    assert machine.state()["safety_mode"] == 1
    assert machine.state()["programs"] == 0, "nothing moves by it"


def test_the_force_sensor_is_zeroed(tool, machine):
    machine.fault("force_drift", fx=20.0)
    assert "zeroed" in tool("zero")
    end = time.monotonic() + 10
    while np.abs(machine.state()["wrench"]).max() > 1.0:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_the_arm_is_led_by_hand_until_ctrl_c_and_then_held(machine, tmp_path):
    command = [sys.executable, "-m", "pliant.scripts.main", "ur", "freedrive", f"host={machine.host}"]
    program = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    begin = machine.state()["q"]
    machine.push([0, 60.0, 0, 0, 0, 0])
    end = time.monotonic() + 60
    while np.abs(np.array(machine.state()["q"]) - begin).max() < 0.05:
        assert time.monotonic() < end, program.communicate(timeout=1)
        assert program.poll() is None, program.communicate()
        time.sleep(0.05)
    machine.push([0.0] * 6)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert program.returncode == 0, err
    assert "the arm is held" in out
    assert machine.state()["runtime_state"] == 1


@pytest.mark.slow
def test_a_program_that_dies_while_the_arm_is_led_by_hand_holds_it(machine, tmp_path):
    command = [sys.executable, "-m", "pliant.scripts.main", "ur", "freedrive", f"host={machine.host}"]
    program = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while machine.state()["watchdog"] is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(1.5)
    assert machine.state()["runtime_state"] == 2, "fed while somebody is there"
    program.kill()
    program.wait()
    while machine.state()["runtime_state"] == 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert "watchdog" in machine.state()["program_ended"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inof", "host=x"], "Did you mean 'info'"),
        (["info"], "needs host="),
        (["info", "127.0.0.1"], "not key=value"),
        (["info", "host=a", "host=b"], "twice"),
        (["info", "host=a", "mode=tool"], "unknown argument 'mode'"),
        (["preflight", "host=127.9.9.1", "mode=tol"], "Did you mean 'tool'"),
        (["preflight", "host=127.9.9.1", "model=ur11"], "ur10"),
        (["freedrive", "host=127.9.9.1", "axes=11"], "six of 0 and 1"),
        (["info", "host=127.9.9.1"], "no controller answers at 127.9.9.1"),
    ],
)
def test_a_wrong_argument_is_explained(arguments, words):
    with pytest.raises(PliantError, match=words):
        run(arguments)


def test_help(pliant):
    done = pliant("ur", "--help")
    assert done.returncode == 0
    assert "unlock     release a protective stop" in done.stdout
    assert pliant("ur", "info", "host=127.9.9.1").returncode == 2
