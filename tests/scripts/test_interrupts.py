"""Ctrl-C: every verb stops, keeps what is whole, says what is missing and ends with status 130.

Where Ctrl-C is the usual end (`emulate`, `view`), the tests of these verbs send it and expect status 0; those of
`deploy` are with its other ends, that of `ilc` with its other tests.
"""

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pliant.controllers import FeedForward
from pliant.envs.description import describe

WATCHED = """
import functools, pkgutil, sys, time
verb, place, wait, *arguments = sys.argv[1:]
module, _, name = place.rpartition(".")
from pliant.scripts import main
def watched(module, name):
    owner = pkgutil.resolve_name(module)
    original = getattr(owner, name)
    @functools.wraps(original)
    def call(*args, **options):
        if wait != "after":
            print("BEGUN", flush=True)
            end = time.monotonic() + (60 if wait == "before" else 2)
            while time.monotonic() < end:
                time.sleep(0.1)
        result = original(*args, **options)
        print("BEGUN", flush=True)
        return result
    setattr(owner, name, call)
watched(module, name)
sys.exit(main.main([verb, *arguments]))
"""
"""A verb that prints BEGUN after a function was called, or before it is and waits there, or waits and goes on."""


@pytest.fixture
def interrupted(tmp_path):
    """Runs `pliant`, sends SIGINT when a text has been printed so often, and returns status, output and errors."""

    def run(words, text, times=1):
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                times -= text in line
                if not times:
                    break
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=900)
        finally:
            process.kill()
        assert "Traceback" not in err
        assert "Exception ignored" not in err
        return process.returncode, "".join(lines) + out, err

    return run


def command(*arguments):
    return ["-m", "pliant.scripts.main", *arguments]


def watched(name, place, *arguments, wait="after"):
    return ["-c", WATCHED, name, place, wait, *arguments]


LEARNING = ("trajectory.duration=2.0", "learning.tolerance=1e-9", "learning.max_iterations=1000", "ilc.decay=1e6")


def test_while_it_imports_nothing_is_said(interrupted):
    status, _, err = interrupted(watched("ilc", "importlib.import_module", wait="before"), "BEGUN")
    assert (status, err) == (130, "")


@pytest.mark.slow
def test_a_sweep_ends_as_a_whole(interrupted, tmp_path):
    status, _, err = interrupted(
        command("ilc", "--multirun", *LEARNING, "ilc.gain=0.1,0.2,0.3", "hydra.sweep.dir=out"), "    2  "
    )
    assert status == 130
    assert "the sweep ends here; what is whole: pliant sweep out" in err
    assert (tmp_path / "out" / "0" / "metrics.json").is_file()
    assert not (tmp_path / "out" / "1").exists()


@pytest.mark.slow
def test_reproducing_an_experiment_that_is_cut_short_in_a_trial_has_no_result(interrupted, tmp_path):
    arguments = ("experiment=two_link,ilc", "hydra.run.dir=out")
    status, out, err = interrupted(watched("reproduce", "pliant.experiments.ilc.JointTrials", *arguments), "BEGUN")
    assert status == 130
    assert "not run: ilc; " in err
    assert "10 of 10 predictions" in " ".join(out.split())
    assert "ilc " not in out
    assert not (tmp_path / "out" / "ilc").exists()
    assert (tmp_path / "out" / "two_link" / "data.npz").is_file()
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.slow
def test_evaluation_keeps_the_episodes_that_are_whole(interrupted, tmp_path):
    place = "pliant.training.evaluation.run_episode"
    arguments = ("policy=zero", "robot=rig1", "episodes=1000000", "robots=1000000", "hydra.run.dir=out")
    status, _, err = interrupted(watched("evaluate", place, *arguments), "BEGUN", 3)
    assert status == 130
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["completed"] is False
    assert metrics["episodes"] >= 1
    assert f"only {metrics['episodes']} of 1000000 as built, 0 of 1000000 randomised" in err


@pytest.mark.slow
def test_playing_tells_how_far_it_came(interrupted):
    place = "pliant.scripts.play.run_episode"
    status, _, err = interrupted(watched("play", place, "zero", "robot=rig1", "episodes=1000000"), "BEGUN", 3)
    assert status == 130
    assert "of 1000000 episodes" in err


@pytest.mark.slow
def test_training_saves_and_says_how_to_go_on(interrupted, tmp_path):
    pytest.importorskip("stable_baselines3")
    small = ("robot=rig1", "task.duration=0.3", "n_envs=2", "algo.n_steps=32", "evaluation.episodes=3")
    status, out, err = interrupted(
        command("train", *small, "steps=1e9", "logging.to=[csv]", "report.write=false", "hydra.run.dir=out"),
        " 0  ",
    )
    assert status == 130, err
    assert "go on with: pliant train resume=" in out
    assert any((tmp_path / "out" / "checkpoints").glob("*.zip"))
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["reason"] == "interrupted"


@pytest.mark.slow
def test_a_deployment_writes_its_report_to_the_end(interrupted, tmp_path):
    """Ctrl-C that comes when the robot has been released waits until the results are written."""
    pytest.importorskip("dynamixel_sdk")
    pytest.importorskip("mcap")
    info = describe("arm2").simulated().info
    rows, still = [[column.rest for column in info.command]] * 20, [[0.0, 0.0]] * 20
    FeedForward.of_robot(info, rows, desired=still, expected=still).save(tmp_path / "still.npz")
    place = "pliant.deployment.feedforward.FeedForwardDeployment.finish"
    arguments = ("feedforward=still.npz", "hardware=emulated", "run.settle=0.0", "hydra.run.dir=out")
    status, _, err = interrupted(watched("deploy", place, *arguments, wait="during"), "BEGUN")
    assert (status, err) == (130, "pliant: interrupted\n")
    for name in ("metrics.json", "report.html", "recording.mcap"):
        assert (tmp_path / "out" / name).is_file()


def test_identification_keeps_the_servo_without_its_validation(verb, monkeypatch, tmp_path):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    found = SimpleNamespace(estimates=(), mae=0.01, residuals=(), summary=lambda: {"model": "m6"})
    recordings = [SimpleNamespace(servo="XL330", name=f"kp{k}", p_gain=float(k)) for k in (1, 2)]
    monkeypatch.setattr("pliant.scripts.identify.load_recordings", lambda folder: recordings)
    monkeypatch.setattr("pliant.scripts.identify.identify", lambda *arguments, **options: found)
    monkeypatch.setattr("pliant.scripts.identify.leave_one_gain_out", interrupt)
    status, _, err = verb("identify", "recordings=.", "hydra.run.dir=out")
    assert status == 130
    assert "without the prediction of unseen gains and the report" in err
    assert json.loads((tmp_path / "out" / "servo.json").read_text())["models"][0]["model"] == "m6"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "arguments"),
    [
        ("sweep", "pliant.scripts.sweep.collect", ["."]),
        ("identify", "pliant.scripts.identify.load_recordings", ["recordings=."]),
        ("list", "pliant.actuators.law_names", ["laws"]),
        ("export", "pliant.scripts.export.policy_file", ["x.zip"]),
        ("bus", "pliant.scripts.bus.Bus", ["scan", "port=x"]),
        ("robot", "pliant.scripts.robot.describe", ["arm2"]),
    ],
)
def test_verbs_that_have_nothing_to_keep_end_at_once(interrupted, name, place, arguments):
    status, out, err = interrupted(watched(name, place, *arguments, wait="before"), "BEGUN")
    assert (status, err) == (130, "pliant: interrupted\n"), out
