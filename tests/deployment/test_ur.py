"""An arm of Universal Robots from the command line: real driver and client, emulated controller."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.conf.build import build
from pliant.deployment.machines import machine
from pliant.envs.emulated_ur import EmulatedUR
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.hardware.recording import read_recording
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.wrapper import unwrapped

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytest.importorskip("mcap", reason="deployments are recorded")

HOME = [0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]
GOAL = [0.3, -1.4, 1.4, -1.5708, -1.4, 0.2]
MOTION = [
    *("robot=ur10e", "controller=setpoints", "trajectory=minimum_jerk", "hardware=emulated"),
    *(f"trajectory.start={HOME}", f"trajectory.goal={GOAL}", "trajectory.duration=3"),
    # A machine with two busy cores keeps no period of 2 ms and no watchdog of 0.1 s.
    *("robot.period=0.02", "+robot.machine.stale=0.9", "robot.machine.watchdog=0.5", "+safety.overruns=1000"),
    *("+safety.patience=100", "run.settle=0.2", "hydra.run.dir=out"),
]


def configured(*overrides):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("deploy", overrides=list(overrides))


@pytest.mark.slow
def test_a_motion_is_played_and_recorded_on_the_emulated_controller(pliant, tmp_path):
    done = pliant("deploy", *MOTION)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert numbers["completed"]
    assert numbers["max_error_rad"] < 0.05
    recording = read_recording(tmp_path / "out" / "recording.mcap")
    sent = recording.series["/command"]["sent"]
    assert len(sent) == 150
    assert np.allclose(sent[-1], GOAL, atol=1e-3)
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_a_straight_line_of_the_tool_is_played_on_the_emulated_controller(pliant, tmp_path):
    line = ["trajectory=straight_line", "trajectory.move=[0.1,0.1,0.1]", "trajectory.duration=3"]
    done = pliant("deploy", *(setting for setting in MOTION if not setting.startswith("trajectory")), *line)
    assert done.returncode == 0, done.stderr
    seen = read_recording(tmp_path / "out" / "recording.mcap").series["/sensors"]
    names = seen["name"]
    tool = np.array(seen["value"])[:, [names.index(f"tcp/{axis}") for axis in "xyz"]]
    way = tool - tool[0]
    along = way @ np.ones(3) / np.sqrt(3.0)
    assert along[-1] == pytest.approx(0.1 * np.sqrt(3.0), abs=2e-3)
    assert np.linalg.norm(way - along[:, None] * np.ones(3) / np.sqrt(3.0), axis=1).max() < 5e-3


@pytest.mark.slow
def test_ctrl_c_walks_the_arm_home(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-m", "pliant.scripts.main", "deploy", *MOTION, "trajectory.duration=60"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    end = time.monotonic() + 120
    partial = tmp_path / "out" / "recording.mcap.partial"
    while not (partial.exists() and partial.stat().st_size > 60_000):
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=120)
    assert program.returncode == 130, out + err
    numbers = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert numbers["reason"] == "interrupted"
    assert numbers["trips"] == []
    read_recording(tmp_path / "out" / "recording.mcap")


def test_one_word_chooses_the_machine():
    assert isinstance(unwrapped(machine(configured("robot=ur10e", "hardware=emulated"))), EmulatedUR)
    real = unwrapped(machine(configured("robot=ur5e", "hardware=real", "host=192.168.1.10", "robot.period=0.01")))
    assert isinstance(real, URRobot)
    assert (real.config.host, real.config.model, real.config.steps) == ("192.168.1.10", "ur5e", 5)
    assert real.info.rest.tolist() == pytest.approx(HOME, abs=1e-4)
    cb3 = unwrapped(machine(configured("robot=ur10_ramp", "hardware=emulated"))).machine.settings
    assert cb3.polyscope == "3.15", "the version that the arm has"
    assert cb3.start == pytest.approx(configured("robot=ur10_ramp").robot.model.start), "where its model begins"
    torque = machine(configured("robot=ur10e", "robot.model.mode=torque", "hardware=real", "host=a"))
    assert torque.info.command_names[0] == "shoulder_pan/torque"
    able = machine(configured("robot=ur10e", "robot.model.mode=torque", "hardware=emulated"))
    assert unwrapped(able).machine.settings.polyscope == "5.26", "the first that takes torques"


@pytest.mark.parametrize(
    ("overrides", "error", "words"),
    [
        (["robot=ur10e", "hardware=real"], ConfigurationError, "host=192.168"),
        (["robot=ur10e", "hardware=real", "host=a", "robot.period=0.003"], ConfigurationError, "every 2 ms"),
        (["robot=ur10e", "hardware=emulated", "robot.machine.controller=kuka"], UnknownNameError, "Valid: ur"),
        (["robot=ur10e", "hardware=emulated", "robot.machine.mode=tool"], ConfigurationError, "of your own"),
        (["robot=ur10e", "hardware=emulated", "robot.machine.mode=torque"], ConfigurationError, "would be"),
        (["robot=ur10", "hardware=emulated", "robot.model.mode=torque"], ConfigurationError, "CB3.*robot=ur10e"),
        (["robot=ur10e", "hardware=emulated", "robot.machine.end_effector=3"], ConfigurationError, "such as tip"),
        (["robot=ur10e", "hardware=emulated", "+robot.machine.gian=3"], ConfigurationError, "gian"),
        (["robot=ur10e", "hardware=emulated", "hardware.controller.polyscope=4.0"], UnknownNameError, "5.22"),
        (["robot=ur10e", "hardware=emulated", "+hardware.controller.gap.mss=3"], ConfigurationError, "mss"),
    ],
)
def test_what_does_not_go_together_is_refused(overrides, error, words):
    with pytest.raises(error, match=words):
        machine(configured(*overrides))


@pytest.mark.parametrize(
    ("overrides", "acceleration"),
    [(["robot=arm2"], 15.0), (["robot=ur10e"], 4.0), (["robot=ur10e", "safety.motion.rad.acceleration=9"], 9.0)],
)
def test_limits_are_the_command_lines_else_the_robots_else_ours(overrides, acceleration):
    limits = build(configured(*overrides).safety, "safety").motion["rad"]
    assert limits.acceleration == acceleration
    assert limits.speed == 1.5
