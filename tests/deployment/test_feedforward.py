"""From what was learned to the machine: the same object on a simulated, an emulated and a (bus of a) real one."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from pliant.conf.build import build
from pliant.controllers import FeedForward, IterativeLearning, MinimumJerk, PTypeILC, sample
from pliant.controllers.controller import run
from pliant.controllers.feedforward import Playback, Rows
from pliant.controllers.trial import JointTrials
from pliant.deployment import trials
from pliant.deployment.deployment import stand
from pliant.deployment.feedforward import FeedForwardDeployment, checked
from pliant.deployment.machines import dynamixel_config
from pliant.deployment.machines import machine as machine_of
from pliant.envs.description import RobotDescription, described
from pliant.envs.linearisation import built_law
from pliant.envs.models.arm2 import arm2
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import slow_commands, trial_start
from pliant.errors import ConfigurationError, MismatchError, RobotError
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.recording import Recorder, read_recording
from pliant.hardware.safety import SafeRobot

COUNT = 2 * np.pi / 4096
NO_GAP = (
    "hardware.gap=null",
    "hardware.goal_delay=0",
)


def learn(goal, duration, trials):
    """Learn a lift on the nominal arm."""
    with SimulatedRobot(arm2(), 0.01) as robot:
        motion = sample(MinimumJerk([0.0, 0.0], goal, duration), robot.info.period)
        runner = JointTrials(robot)
        learning = IterativeLearning(PTypeILC(), motion, runner, 1e-3, trials)
        for _ in learning:
            pass
        best = learning.result.best
        command = runner.robot_command(best.command)
        return FeedForward.of_robot(robot.info, command, desired=motion.position, expected=best.position)


@pytest.fixture(scope="module")
def learned():
    return learn([0.3, 0.2], 3.0, 4)


@pytest.fixture
def file(learned, tmp_path):
    learned.save(tmp_path / "learned.npz")
    return tmp_path / "learned.npz"


def machine(hardware, *overrides):
    """The robot of `hardware=…`, as `pliant deploy` builds it."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", [f"hardware={hardware}", *overrides])
    return machine_of(config), build(config.safety, "safety")


def play(feedforward, hardware, *overrides):
    """Play it behind the safety layer; return the measured positions, one row a command."""
    robot, safety = machine(hardware, *overrides)
    player = Playback(feedforward, robot.info)
    with SafeRobot(robot, safety) as safe:
        safe.walk_to(player.command[0])
        run(safe, Rows(player.command[:1]), 1.0)
        positions = run(safe, player, feedforward.duration).motion.position[:-1]
    if hasattr(robot, "power_off"):
        robot.power_off()
    return positions


@pytest.mark.slow
def test_the_same_policy_moves_the_simulated_and_the_emulated_arm_alike(learned):
    simulated = play(learned, "simulated")
    alike = play(learned, "emulated", *NO_GAP)
    other = play(learned, "emulated")
    # What remains without a gap: counts of the goals, at most a period between reading and acting.
    assert np.abs(alike - simulated).max() < 0.02
    assert np.abs(other - simulated).max() > 2 * np.abs(alike - simulated).max()
    # The learning began at q = 0, from where the arm sags a little; a deployment begins where it hangs.
    assert np.abs(simulated - learned.expected)[-100:].max() < 0.01
    counts = alike / COUNT
    assert np.abs(counts - np.round(counts)).max() < 1e-6, "whole counts are measured"


@pytest.mark.slow
@pytest.mark.parametrize("law", ["p_type", "norm_optimal"])
def test_what_is_held_after_the_motion_is_what_was_reached(law):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        node = compose("ilc", [f"ilc={law}"]).ilc
    with SimulatedRobot(arm2(), 0.01) as robot:
        motion = sample(MinimumJerk([0.0, 0.0], [0.5, 0.4], 3.0), robot.info.period)
        runner = JointTrials(robot)
        start = trial_start(robot.compiled, motion.position[0], runner.columns, held=True)
        robot.reset(position=start.position, command=start.command, settled=True)
        first = slow_commands(robot.compiled, motion, runner.columns)
        law = built_law(node, RobotDescription(arm2()), motion, runner.columns)
        learning = IterativeLearning(law, motion, runner, 1e-9, 4, runner.low, runner.high, first)
        *_, last = learning
        rows = runner.robot_command(last.command)
    lasting = np.vstack([rows, np.repeat(rows[-1:], 200, axis=0)])
    positions = play(FeedForward.of_robot(robot.info, lasting), "emulated")
    goal = motion.position[-1]
    assert np.abs(positions[len(rows) - 10 : len(rows)] - goal).max() < 0.05, "the last rows"
    assert np.abs(positions[len(rows) :] - goal).max() < 0.05, "and two seconds beyond them"
    assert np.abs(positions[-1] - positions[len(rows)]).max() < 0.03, "which it stays at"


@pytest.mark.slow
def test_a_deployment_leaves_recording_metrics_and_report(quickly, file, learned, tmp_path):
    done = quickly("deploy", f"feedforward={file}", "hardware=emulated", "learning.trials=1", "hydra.run.dir=out")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["completed"] is True
    assert metrics["overruns"] == metrics["retries"] == metrics["missed_reads"] == 0
    assert metrics["trips"] == []
    assert metrics["period_seconds"] == pytest.approx(0.01)
    predicted = np.abs(learned.desired - learned.expected).max()
    assert metrics["predicted_max_error_rad"] == pytest.approx(predicted)
    first, second = metrics["max_error_per_run_rad"]
    assert metrics["max_error_rad"] == first == max(metrics["max_error_per_joint_rad"].values())
    assert second < first, "it learns on the machine"
    recording = read_recording(tmp_path / "out" / "recording.mcap")
    assert recording.complete
    rows = len(learned.time) - 1
    error = recording.series["/tracking"]["error"]
    assert error.shape == (2 * rows, 2)
    assert np.abs(error[:rows]).max() == pytest.approx(first, abs=2 * COUNT)
    np.testing.assert_allclose(recording.series["/command"]["asked"][:rows], learned.command[:-1])
    sent = recording.series["/command"]["sent"] - recording.series["/command"]["asked"]
    assert np.abs(sent).max() < 0.01
    assert "run 2: complete" in recording.series["/events"]["message"]
    walked = recording.series["/walk/command"]
    assert walked["time"][0] < recording.series["/command"]["time"][0], "the walk out, and standing at the start"
    assert walked["time"][-1] > recording.series["/command"]["time"][-1], "and the walk home"
    np.testing.assert_allclose(walked["sent"][-1], [0, 0.2, 0, 0.2], atol=COUNT)
    assert (np.diff(np.union1d(walked["time"], recording.series["/command"]["time"])) < 0.025).all(), "no gap"
    improved = FeedForward.load(tmp_path / "out" / "feedforward.npz")
    assert np.abs(improved.desired - improved.expected).max() == pytest.approx(second)
    page = (tmp_path / "out" / "report.html").read_text()
    for expected in ("predicted by simulation", "measured", "desired", "<svg"):
        assert expected in page


def test_what_does_not_fit_is_refused_with_every_difference(learned):
    robot, safety = machine("real", "robot.period=0.02", "port=x")
    safe = SafeRobot(robot, safety)
    with pytest.raises(MismatchError) as refused:
        checked(learned, safe.info, safe.limits)
    assert "period: 0.01 s in the file, 0.02 s here" in str(refused.value)
    slow = ["safety.motion.rad.speed=0.05", "safety.motion.rad.walk_speed=0.01"]
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", ["hardware=real", "port=x", *slow])
    servos = dynamixel_config(described(config.robot), "x")
    other = (replace(servos.joints[0], high=0.1), replace(servos.joints[1], name="wrist"))
    safe = SafeRobot(DynamixelRobot(replace(servos, joints=other)), build(config.safety, "safety"))
    with pytest.raises(MismatchError) as refused:
        checked(learned, safe.info, safe.limits)
    for part in (
        "elbow",
        "wrist",
        "shoulder/equilibrium': ",
        "outside [-1.57, 0.1] rad",
        "speed up to",
        "limit 0.05",
    ):
        assert part in str(refused.value)


def test_a_feedforward_without_a_desired_motion_is_refused(learned):
    robot, safety = machine("simulated")
    safe = SafeRobot(robot, safety)
    bare = FeedForward.of_robot(robot.info, learned.command)
    with pytest.raises(ConfigurationError, match="no desired motion"):
        checked(bare, safe.info, safe.limits)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["feedforward=nowhere.npz"], "nowhere.npz"),
        ([], "nothing given; one of feedforward=PATH"),
        (["feedforward=learned.npz", "hardware=real"], "no serial port is given"),
        (["feedforward=learned.npz", "robot.period=0.02"], "period: 0.01 s in the file, 0.02 s here"),
        (["feedforward=learned.npz", "hardware=emulatd"], "emulated"),
    ],
)
def test_a_wrong_setting_is_explained(quickly, file, overrides, message):
    done = quickly("deploy", *overrides, "hydra.run.dir=out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


# On a bus in real time, as a real arm's


@pytest.fixture
def live(tmp_path):
    """The emulated arm in real time, on a port that a deployment connects to."""
    robot, _ = machine("emulated", "hardware.lock_step=false", f"port={tmp_path / 'bus'}")
    robot.machine.start()
    yield robot.machine
    robot.power_off()


@pytest.fixture
def deployed(live, file, tmp_path):
    """`pliant deploy` in the middle of its motion."""
    arguments = ["deploy", f"feedforward={file}", "hardware=real", f"port={live.port}", "hydra.run.dir=out"]
    # Patient, for a computer that is busy with other things.
    arguments += ["+robot.machine.slack=0.05", "+safety.overruns=1000", "+safety.patience=50", "run.settle=0.1"]
    command = [sys.executable, "-m", "pliant.scripts.main", *arguments]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while live.register(1, "goal_position") < 2048 + 180:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield child
    child.kill()
    child.communicate()


MOTORS = (1, 2, 3, 4)


@pytest.mark.slow
@pytest.mark.real_time
def test_kill_9_leaves_the_servos_stopped_by_their_watchdog_in_the_set_time(live, deployed):
    assert [live.register(i, "bus_watchdog") for i in MOTORS] == [10] * 4, "0.2 s"
    os.kill(deployed.pid, signal.SIGKILL)
    start = time.monotonic()
    while any(live.register(i, "bus_watchdog") != -1 for i in MOTORS):
        assert time.monotonic() - start < 2.0, "the watchdog does not trip"
    assert time.monotonic() - start < 0.2 + 0.2, "the set time, and what a loaded computer adds"
    time.sleep(0.3)
    before = [live.register(i, "present_position") for i in MOTORS]
    time.sleep(0.3)
    assert [live.register(i, "present_position") for i in MOTORS] == pytest.approx(before, abs=2)


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
        pytest.param(signal.SIGQUIT, 131, marks=pytest.mark.slow),
    ],
)
def test_a_signal_walks_home_releases_and_keeps_the_results(live, deployed, number, status, tmp_path):
    deployed.send_signal(number)
    _, errors = deployed.communicate(timeout=900)
    assert deployed.returncode == status, errors
    assert [live.register(i, "torque_enable") for i in MOTORS] == [0] * 4
    preset = round(0.2 / COUNT)
    assert [live.register(i, "goal_position") for i in MOTORS] == [2048 + preset] * 4
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["completed"] is False
    assert metrics["max_error_rad"] is None
    assert read_recording(tmp_path / "out" / "recording.mcap").complete


@pytest.mark.slow
def test_a_trip_on_the_way_home_is_the_reason_and_status_2(file, monkeypatch, tmp_path):
    robot, safety = machine("emulated")
    walk_home = SafeRobot._walk_home

    def overloaded(safe):
        robot.machine.overload(2)
        walk_home(safe)

    monkeypatch.setattr(SafeRobot, "_walk_home", overloaded)
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", [f"feedforward='{file}'"])
    deployment = FeedForwardDeployment(config, SafeRobot(robot, safety))
    quiet = Console(file=io.StringIO())
    with Recorder(tmp_path / "r.mcap", deployment.robot.info) as recorder:
        with pytest.raises(RobotError, match=r"servo 2 of joint 'shoulder': overload"):
            deployment.run(recorder, quiet)
        numbers, _ = deployment.finish(tmp_path, quiet)
    assert not numbers["completed"]
    assert "overload" in numbers["reason"]
    assert [robot.machine.register(i, "torque_enable") for i in MOTORS] == [0] * 4
    robot.power_off()
    assert "overload" in read_recording(tmp_path / "r.mcap").series["/events"]["message"][-1]


@pytest.mark.parametrize("walks", [1, 2])
def test_an_interrupted_walk_to_the_start_is_no_completed_deployment(file, monkeypatch, tmp_path, walks):
    """The first walk, or the one before a further run."""
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == walks:
            raise KeyboardInterrupt
        stand(*arguments)

    monkeypatch.setattr(trials, "stand", interrupted)
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", [f"feedforward='{file}'", "learning.trials=2"])
    safe = SafeRobot(machine_of(config), build(config.safety, "safety"))
    deployment = FeedForwardDeployment(config, safe)
    quiet = Console(file=io.StringIO())
    with Recorder(tmp_path / "r.mcap", safe.info) as recorder:
        deployment.run(recorder, quiet)
    numbers, _ = deployment.finish(tmp_path, quiet)
    assert not numbers["completed"]
    assert numbers["reason"] == "interrupted"
    assert numbers["runs"] == walks - 1
    assert [command is None for _, command, *_ in calls] == [False, True][:walks], "each run comes from rest"


@pytest.mark.slow
def test_the_published_lift_crosses_the_reality_gap_and_is_learned_on_in_three_trials(pliant, tmp_path):
    assert pliant("ilc", "robustness.robots=0", "report.pictures=false", "hydra.run.dir=ilc").returncode == 0
    arguments = ("feedforward=ilc/feedforward.npz", "hardware=emulated", "learning.trials=3", "hydra.run.dir=out")
    done = pliant("deploy", *arguments, timeout=600)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["predicted_max_error_rad"] < 0.08
    assert max(metrics["max_error_per_joint_rad"].values()) < 0.12
    assert len(metrics["max_error_per_run_rad"]) == 4
    assert metrics["max_error_per_run_rad"][-1] < 0.08
