"""Controllers on a machine: ours by name, one of the user's own, from the class to the emulated bus."""

import io
import json
import shlex

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console
from tests.test_documents import blocks, run_python

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from pliant.conf.build import build
from pliant.controllers import MinimumJerk, Step, run
from pliant.controllers.setpoints import SetpointPID, Setpoints
from pliant.deployment.controller import _in_short, prepare_controller
from pliant.deployment.machines import machine
from pliant.envs.models.arm2 import arm2
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError, RobotError
from pliant.hardware.recording import Recorder, read_recording
from pliant.hardware.safety import SafeRobot

PAGE = "docs/own-controller.md"
SHORT = ("run.settle=0.1", "hydra.run.dir=out", "duration=0.6")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with the page's controller, trusted."""
    (tmp_path / "mycontroller.py").write_text(blocks(PAGE, "python")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLIANT_TARGETS", "mycontroller,bad")
    return tmp_path


@pytest.mark.slow
def test_the_page_runs_from_the_class_to_the_bench(own, verb, pliant):
    assert len(blocks(PAGE, "python")[0].splitlines()) < 30
    assert "completed" in run_python(blocks(PAGE, "python")[1], own)
    trust, *lines = blocks(PAGE, "sh")[0].splitlines()
    assert trust == "export PYTHONPATH=. PLIANT_TARGETS=mycontroller"
    for line in lines:
        name, *arguments = shlex.split(line)[1:]
        if name == "view":
            done = pliant(name, *arguments, "width=64", "height=48", MUJOCO_GL="egl")
            status, err = done.returncode, done.stderr
        else:
            status, _, err = verb(name, *arguments, "run.settle=0.1")
        if "hardware=real" in arguments:
            assert (status, "there is no serial port /dev/arm" in err) == (2, True), err
        else:
            assert status == 0, f"{line}\n{err}"
    numbers = json.loads((own / "runs/sway/metrics.json").read_text())
    assert (numbers["controller"], numbers["completed"]) == ("Sway", True)
    assert 0.0 < numbers["max_difference_rad"] < 0.1
    recording = read_recording(own / "runs/sway/recording.mcap")
    asked = recording.series["/command"]["asked"]
    assert len(asked) == 200
    assert 0.05 < np.ptp(asked[:, 0]) < 0.2, "an amplitude of 0.1 rad, less under load"
    assert np.ptp(asked[:, 1]) == 0.0, "presets do not sway"
    dry = json.loads((own / "runs/dry/metrics.json").read_text())
    assert dry["max_difference_rad"] == 0.0, "a dry run is what was predicted"
    assert (own / "sway.webp").stat().st_size > 0


@pytest.mark.slow
def test_the_law_by_the_model_follows_to_what_its_acceleration_is_off(own):
    (own / "mytorque.py").write_text(blocks(PAGE, "python")[2])
    code = (
        "import numpy as np\n"
        "from mytorque import InverseDynamics\n"
        "from pliant.controllers import MinimumJerk, run\n"
        "from pliant.envs import describe\n"
        "wanted = MinimumJerk(np.zeros(2), np.array([1.0, -0.5]), 1.0)\n"
        "with describe('two_link').simulated() as robot:\n"
        "    done = run(robot, InverseDynamics(robot.info, 'two_link', wanted), 1.2)\n"
        "print(np.abs(done.motion.position - wanted.position(done.motion.time)).max())\n"
    )
    # torques are held for 10 ms, in which the acceleration, of 5.8 rad/s² at most, is that of their beginning
    assert float(run_python(code, own)) < 0.01


@pytest.mark.slow
def test_the_law_by_the_model_runs_as_the_page_says(own, verb, monkeypatch):
    (own / "mytorque.py").write_text(blocks(PAGE, "python")[2])
    trust, *lines = blocks(PAGE, "sh")[1].splitlines()
    assert trust == "export PYTHONPATH=. PLIANT_TARGETS=mytorque"
    monkeypatch.setenv("PLIANT_TARGETS", "mytorque")
    for line in lines:
        words = [
            word for word in shlex.split(line)[1:] if word != "hardware=emulated"
        ]  # in real time, tried by hand
        status, _, err = verb(*words)
        assert status == 0, f"{line}\n{err}"
    told = json.loads((own / "runs/arm/metrics.json").read_text())
    assert told["max_error_rad"] == pytest.approx(0.010, abs=0.001)


def test_a_run_is_summed_up_in_a_line():
    told = {"max_difference_rad": 0.2, "max_difference_per_joint_rad": {"a": 0.1, "b": 0.2}, "limited": 41}
    assert _in_short(told) == (
        "largest difference from the simulation 0.2000 rad (b), less sent than asked in 41 periods"
    )


@pytest.mark.slow
def test_a_trajectory_is_played_and_its_error_told(own, verb):
    motion = ("trajectory.goal=0.3", "trajectory.duration=1")
    status, out, err = verb("deploy", "controller=setpoint_pid", *motion, "run.settle=0.1", "hydra.run.dir=out")
    assert status == 0, err
    numbers = json.loads((own / "out/metrics.json").read_text())
    error = f"largest error {numbers['max_error_rad']:.4f} rad"
    assert f"{error}, largest difference from the simulation 0.0000 rad" in out
    assert numbers["controller"] == "SetpointPID"
    assert numbers["max_error_rad"] == numbers["predicted_max_error_rad"] > 0.0
    tracking = read_recording(own / "out/recording.mcap").series["/tracking"]["reference"]
    assert len(tracking) == 100
    assert 0.25 < tracking[-1][0] <= 0.3
    page = (own / "out/report.html").read_text()
    assert "predicted by simulation" in page


def test_the_stop_key_ends_it_and_what_was_done_is_kept(tmp_path):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", ["controller=setpoints", "duration=1", "run.settle=0.1", "safety.hold_time=0"])
    safety = build(config.safety, "safety")
    safe = SafeRobot(machine(config), safety, lambda: len(deployment.trace.sent) == 30)
    deployment = prepare_controller(config, safe, Console(file=io.StringIO()))
    with Recorder(tmp_path / "r.mcap", deployment.info) as recorder:
        with pytest.raises(RobotError, match="the stop key"):
            deployment.run(recorder, Console(file=io.StringIO()))
        numbers, report = deployment.finish(tmp_path, Console(file=io.StringIO()))
    assert (numbers["completed"], numbers["trips"]) == (False, ["the stop key"])
    assert len(deployment.trace.sent) == 30
    assert numbers["max_error_rad"] is not None
    assert report.exists()
    assert len(read_recording(tmp_path / "r.mcap").series["/command"]["asked"]) == 30


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("def update(self, state, t): return [float('nan')] * 4", "command has no finite value for shoulder"),
        (
            "def update(self, state, t): return 1 / 0",
            r"C failed at t = 0 s: ZeroDivisionError.*\(bad.py, line 4\)",
        ),
        ("def update(self, state, t): return [0.0]", r"takes a command of shape \(4,\)"),
        ("def __init__(self): raise KeyError('x')\n  update = None", r"controller C cannot be made: KeyError"),
        ("def __init__(self, info, more): ...\n  update = None", r"C cannot be made: TypeError.*'more'"),
    ],
)
def test_what_is_wrong_with_a_controller_is_told_before_anything_connects(own, verb, code, part):
    import re
    import sys

    (own / "bad.py").write_text(f"from pliant.controllers import Controller\n\nclass C(Controller):\n  {code}\n")
    sys.modules.pop("bad", None)
    status, _, err = verb("deploy", "controller=bad:C", "hardware=emulated", *SHORT)
    assert status == 2, err
    assert re.search(part, err.replace("\n", " ")), err
    assert "Traceback" not in err


ENDING = """
from pliant.controllers import Controller, Ended

class Ending(Controller):
    duration = 0.2
    retraces = True
    steps = 0

    def __init__(self, fault=False):
        self.fault = fault

    @property
    def ended(self):
        return Ended("the nut is tight", self.fault) if self.steps == 60 else None

    def reset(self, state):
        self.begin, self.steps = state.command, 0

    def update(self, state, t):
        self.steps += 1
        return self.begin + 0.001 * self.steps
"""


@pytest.mark.parametrize(("fault", "status"), [(False, 0), (True, 2)])
def test_a_controller_ends_its_run_with_a_reason(own, verb, fault, status, monkeypatch):
    (own / "ending.py").write_text(ENDING)
    monkeypatch.setenv("PLIANT_TARGETS", "ending")
    words = ("controller=ending:Ending", f"+controller.fault={fault}", "run.settle=0.1", "hydra.run.dir=out")
    found, out, err = verb("deploy", *words)
    assert found == status, err
    if fault:
        # In simulation already: the machine is not asked.
        assert "nothing was connected: Ending gave up: the nut is tight." in err
        return
    assert "Ending: the nut is tight" in out
    numbers = json.loads((own / "out/metrics.json").read_text())
    assert (numbers["ended"], numbers["reason"]) == ("the nut is tight", "completed")
    recording = read_recording(own / "out/recording.mcap")
    assert len(recording.series["/command"]["sent"]) == 60, "its own duration is only what is expected"
    assert "the nut is tight" in recording.series["/events"]["message"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("controller=json:dumps",), "'json.dumps' is of no trusted package"),
        (("controller=mycontroller:Nothing",), "mycontroller.Nothing"),
        (("controller=holdd",), "holdd"),
        (("controller=joint_pid",), "the controller of 2 joint(s) does not fit the robot 'arm2'"),
        (("controller=hold", "feedforward=a.npz"), "feedforward and controller given; one of"),
        (("controller=hold", "duration=-1"), "duration"),
    ],
)
def test_a_controller_that_cannot_be_is_refused_by_name(own, verb, words, part):
    status, _, err = verb("deploy", *words, "hydra.run.dir=out")
    assert (status, part in err) == (2, True), err


def test_a_controller_without_the_trajectory_it_follows_is_refused(own, verb):
    status, _, err = verb("view", "controller=setpoints", "viewer=offscreen")
    assert (status, "the controller's trajectory is that of the command line" in err) == (
        2,
        True,
    )


def test_a_pid_on_the_setpoints_takes_away_what_the_weight_pulls_down():
    errors = {}
    for name in ("open", "closed"):
        with SimulatedRobot(arm2(), 0.01) as robot:
            goal = MinimumJerk([0.0, 0.0], [0.3, 0.3], 1.0)
            gains = {} if name == "open" else {"ki": 2.0, "limit": 0.6}
            loop = (SetpointPID if gains else Setpoints)(goal, robot.info, **gains)
            end = run(robot, loop, 12.0).motion.position[-1]
            errors[name] = np.abs(end - 0.3).max()
    assert errors["open"] > 0.05
    assert errors["closed"] < 1e-3


def test_the_correction_of_a_setpoint_is_limited_and_begins_anew():
    step = Step([0.0, 0.0], [0.5, 0.5], 0.0, 10.0)
    with SimulatedRobot(arm2(), 0.01) as robot:
        loop = SetpointPID(step, robot.info, kp=1.0, ki=10.0, limit=0.1)
        columns = [robot.info.command_names.index(f"{joint}/equilibrium") for joint in robot.info.joints]
        state = robot.read()._replace(position=np.zeros(2))
        for k in range(100):
            command = loop.update(state, 0.01 * k)
        np.testing.assert_allclose(command[columns], 0.6)
        loop.reset(state)
        again = loop.update(state._replace(position=np.full(2, 0.5)), 0.0)
        np.testing.assert_allclose(again[columns], 0.5)
        np.testing.assert_allclose(loop.initial_command[columns], step.position(0.0))
        with pytest.raises(OutOfBoundsError, match="measured position"):
            loop.update(state._replace(position=np.array([np.nan, 0.0])), 0.02)
        with pytest.raises(OutOfBoundsError, match="SetpointPID kp"):
            SetpointPID(step, robot.info, kp=-1.0)
