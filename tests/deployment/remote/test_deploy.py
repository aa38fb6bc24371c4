"""`pliant control` and a robot in another process: as in one, and every end is that of a controller's fault."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from tests.test_documents import blocks, run_python

from pliant.controllers import run
from pliant.deployment.controller import build_controller
from pliant.deployment.remote.client import RemoteController
from pliant.envs.description import describe
from pliant.errors import MismatchError, RemoteError

MOTION = ("trajectory.goal=0.3", "trajectory.duration=1")
SHORT = ("run.settle=0.1", "hydra.run.dir=out", "controller=remote")

OWN = """
import os, time
from pliant.controllers import Controller

class Own(Controller):
    duration = 0.6
    made = 0

    def __init__(self, info, how):
        Own.made += 1
        # The first is made before a robot comes, the second for the machine, the third for its rehearsal.
        self.how = how if Own.made == 2 else ""

    def reset(self, state):
        self.begin = state.command

    def update(self, state, t):
        if self.how and t > 0.3:
            open("now", "w").close()
            if self.how == "kill":
                os.kill(os.getpid(), 9)
            if self.how == "slow":
                time.sleep(600)
            raise KeyError("tail")
        return self.begin + [0.2 * t, 0.0, 0.2 * t, 0.0]

class Wrong(Controller):
    def update(self, state, t):
        return [0.0]
"""


@pytest.fixture
def control(tmp_path):
    """Starts `pliant control`; returns the process, whose `address` is where it serves."""
    running = []

    def start(*settings, **environment):
        address = f"unix:{tmp_path}/control{len(running)}"
        command = [sys.executable, "-m", "pliant.scripts.main", "control", f"address={address}", *settings]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        line = process.stdout.readline()
        assert "; Ctrl-C ends it" in line, process.communicate()
        process.address = line.partition(" at ")[2].partition(";")[0]
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def failing(tmp_path, control):
    """Serves a controller of the user's that fails in the middle of the machine's run."""
    (tmp_path / "own.py").write_text(OWN)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    return lambda how: control(
        "controller=own:Own", f"+controller.how={how}", PLIANT_TARGETS="own", PYTHONPATH=path
    )


@pytest.mark.parametrize("address", ["unix", pytest.param("tcp:0", marks=pytest.mark.slow)])
def test_a_robot_moves_as_with_the_controller_in_its_own_process(control, address):
    settings = ("controller=setpoint_pid", *MOTION)
    words = [] if address == "unix" else [f"address={address}"]
    served = control(*settings, *words)
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("control", list(settings))
    runs = []
    for place in (None, served.address):
        with describe("arm2").simulated() as robot:
            if place is None:
                controller = build_controller(config.controller, robot.info)
            else:
                controller = RemoteController(robot.info, place, deadline=30.0)
            robot.reset(command=controller.initial_command)
            runs.append(run(robot, controller, 1.0))
    here, there = runs
    assert np.ptp(here.asked[:, 0]) > 0.2
    np.testing.assert_array_equal(there.asked, here.asked)
    for a, b in zip(there.motion, here.motion, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_deployment_with_a_remote_controller(control, verb, tmp_path):
    pytest.importorskip("mcap")
    served = control("controller=setpoints", *MOTION)
    patient = f"controller.address={served.address}", "controller.deadline=30"
    status, _, err = verb("deploy", *SHORT, *patient)
    assert status == 0, err
    numbers = json.loads((tmp_path / "out/metrics.json").read_text())
    assert numbers["controller"] == f"Setpoints at {served.address}"
    assert (numbers["completed"], numbers["max_difference_rad"]) == (True, 0.0)
    for word, part in (("robot=rig1", "it is for robot 'arm2'"), ("robot.period=0.02", "the robot's 0.02 s")):
        status, _, err = verb("deploy", "controller=remote", *patient, word, f"hydra.run.dir='{word}'")
        assert (status, part in err) == (2, True), err
    (example,) = blocks("docs/remote-control.md", "python")
    told = run_python(example.replace('"unix", deadline=1.0', f"{served.address!r}, deadline=30.0"), tmp_path)
    assert told == f"Setpoints at {served.address} completed\n"
    served.send_signal(signal.SIGINT)
    out, errors = served.communicate(timeout=900)
    assert served.returncode == 0, errors
    assert out.count("robot 'arm2' connects: Setpoints") == 3, "machine, rehearsal, the page"
    assert out.count("robot 'arm2' leaves after 100 commands; computed in") == 3
    assert list(tmp_path.glob("control*")) == []


@pytest.mark.parametrize(
    ("how", "part"),
    [
        ("kill", "is gone: the connection was closed."),
        pytest.param("slow", "did not answer within 5 s.", marks=pytest.mark.slow),
        pytest.param("raise", "KeyError: 'tail' (own.py, line ", marks=pytest.mark.slow),
    ],
)
def test_a_controller_that_fails_in_the_middle_sends_the_machine_home(failing, verb, tmp_path, how, part):
    pytest.importorskip("dynamixel_sdk")
    pytest.importorskip("mcap")
    from pliant.hardware.recording import read_recording

    served = failing(how)
    words = "hardware=emulated", f"controller.address={served.address}", "controller.deadline=5"
    status, _, err = verb("deploy", *SHORT, *words)
    assert status == 2, err
    assert f"pliant: Own at {served.address}" in err
    assert part in err
    numbers = json.loads((tmp_path / "out/metrics.json").read_text())
    assert (numbers["completed"], numbers["trips"]) == (False, [])
    assert part in numbers["reason"]
    recording = read_recording(tmp_path / "out/recording.mcap")
    assert any(part in text for text in recording.series["/events"]["message"])
    played, walked = recording.series["/command"], recording.series["/walk/command"]
    assert 28 <= len(played["sent"]) <= 33, "until 0.3 s"
    assert played["sent"][-1][0] > 0.05
    assert walked["time"][-1] > played["time"][-1]
    np.testing.assert_allclose(walked["sent"][-1], [0.0, 0.2, 0.0, 0.2], atol=0.002)
    if how == "kill":
        assert served.wait(timeout=900) == -signal.SIGKILL


@pytest.mark.slow
def test_ctrl_c_at_the_robot_while_it_waits_walks_home_and_leaves(failing, tmp_path):
    pytest.importorskip("dynamixel_sdk")
    pytest.importorskip("mcap")
    from pliant.hardware.recording import read_recording

    served = failing("slow")
    words = "hardware=emulated", f"controller.address={served.address}", "controller.deadline=30"
    command = [sys.executable, "-m", "pliant.scripts.main", "deploy", *SHORT, *words]
    deploying = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "now").exists():
            assert deploying.poll() is None, deploying.communicate()
            time.sleep(0.05)
        deploying.send_signal(signal.SIGINT)
        _, errors = deploying.communicate(timeout=900)
    finally:
        deploying.kill()
        deploying.wait()
    assert deploying.returncode == 130, errors
    walked = read_recording(tmp_path / "out/recording.mcap").series["/walk/command"]
    np.testing.assert_allclose(walked["sent"][-1], [0.0, 0.2, 0.0, 0.2], atol=0.002)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_a_signal_to_the_controller_ends_it_in_order_and_the_robot_is_told(control, number, tmp_path):
    served = control("controller=hold")
    with describe("arm2").simulated() as robot:
        controller = RemoteController(robot.info, served.address, deadline=30.0)
        run(robot, controller, 0.1)
        served.send_signal(number)
        out, errors = served.communicate(timeout=900)
        assert (served.returncode, errors) == (0, "")
        assert "robot 'arm2' leaves after 10 commands" in out
        with pytest.raises(RemoteError, match=r"hold at .*: it was stopped"):
            run(robot, controller, 0.1)
    assert list(tmp_path.glob("control*")) == []


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "say which: controller=setpoints"),
        (("controller=holdd",), "holdd"),
        (("controller=joint_pid",), "the controller of 2 joint(s) does not fit the robot 'arm2'"),
        (("controller=hold", "address=udp:5"), "address is 'udp:5'; one of unix, unix:/PATH"),
        (("controller=hold", "address=unix:/nowhere/at/all"), "no controller can be served at unix:/nowhere"),
        (("controller=hold", "address=tcp:192.0.2.1:5"), "no controller can be served at tcp:192.0.2.1:5"),
        (("controller=json:dumps",), "'json.dumps' is of no trusted package"),
        (("controller=own:Wrong",), "takes a command of shape (4,)"),
        (("controller=remote", "controller.address=unix:/nowhere"), "no controller is served at unix:/nowhere"),
    ],
)
def test_what_cannot_be_served_is_explained(verb, words, part, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PLIANT_TARGETS", "own")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own.py").write_text(OWN)
    sys.modules.pop("own", None)
    status, _, err = verb("control", *words)
    assert (status, part in err) == (2, True), err


@pytest.mark.slow
def test_a_robot_of_other_parameters_is_refused_unless_that_is_asked_for(control):
    served = [control("controller=hold", "robot.model.damping=0.1", *more) for more in ((), ("same_robot=false",))]
    with describe("arm2").simulated() as robot:
        with pytest.raises(MismatchError, match=r"damping: 0\.1 at the controller, 0\.065 here"):
            RemoteController(robot.info, served[0].address)
        RemoteController(robot.info, served[1].address).close()
