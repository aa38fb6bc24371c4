import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pliant.controllers import FeedForward


@pytest.mark.slow
def test_the_published_experiment_converges_as_published(quickly, tmp_path):
    done = quickly("ilc", "hydra.run.dir=out")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["converged"] is True
    assert metrics["iterations"] <= 11
    assert metrics["forecast"] == ""
    assert metrics["max_error_rad"] < 0.08
    assert len(metrics["max_error_per_iteration"]) == metrics["iterations"]
    assert metrics["simulated_seconds"] == pytest.approx(20.0 * metrics["iterations"])
    assert len(metrics["robustness"]["max_error_rad"]) == 20
    robustness = metrics["robustness"]
    assert robustness["worst_rad"] < 0.15
    within = sum(error < 0.08 for error in robustness["max_error_rad"])
    assert robustness["within_tolerance"] == within
    assert f"{within} of 20 within 0.08 rad" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<svg" in page
    assert f"springs ±10%, motors ±10% and commands 10 ms late: {within} of 20 within 0.08 rad" in page
    assert page.count("data:image/") == 2


@pytest.mark.slow
def test_a_run_folder_holds_what_was_learned_and_how(quickly, quick, tmp_path):
    done = quickly("ilc", *quick, "learning.tolerance=0.2")
    assert done.returncode == 0, done.stderr
    learned = FeedForward.load(tmp_path / "out" / "feedforward.npz")
    assert learned.columns == ("shoulder/equilibrium", "shoulder/preset", "elbow/equilibrium", "elbow/preset")
    assert learned.units == ("rad",) * 4
    assert learned.command.shape == (201, 4)
    np.testing.assert_array_equal(learned.command[:, 1], 0.2)
    assert learned.parameters["joints"]["shoulder"]["parameters"]["k1"] == 0.01038
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert np.abs(learned.desired - learned.expected).max() == pytest.approx(metrics["max_error_rad"])
    assert (tmp_path / "out" / "report.html").is_file()
    assert "trial" in done.stdout


def test_norm_optimal_learning_needs_three_trials_at_most_and_ends_without_a_jump(quickly, quick, tmp_path):
    done = quickly("ilc", *quick[1:], "ilc=norm_optimal")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    errors = metrics["max_error_per_iteration"]
    assert metrics["converged"] is True
    assert len(errors) <= 3
    assert errors[-1] < 0.01
    assert (np.diff(errors) < 0.0).all()
    learned = FeedForward.load(tmp_path / "out" / "feedforward.npz")
    steps = np.abs(np.diff(learned.command, axis=0)).max(axis=1)
    assert steps[-5:].max() < steps[:-5].max()


def test_a_motion_that_begins_lifted_begins_there(quickly, quick, tmp_path):
    done = quickly("ilc", *quick, "trajectory.start=[0.5,0.5]", "trajectory.duration=6", "learning.tolerance=0.02")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["converged"] is True
    assert metrics["start_error_rad"] < 1e-6
    assert metrics["robustness"]["worst_rad"] < 0.1


LINKS = (  # of six joints, with the lengths and masses of an industrial arm for 5 kg
    ("pan", "0 0 0.163", "0 0 1", 3.76, "0 0 0", "0.0103 0.0103 0.0067"),
    ("lift", "0 0.138 0", "0 1 0", 8.06, "0 0 0.2125", "0.134 0.134 0.0151"),
    ("elbow", "0 -0.131 0.425", "0 1 0", 2.85, "0 0 0.196", "0.0312 0.0312 0.0041"),
    ("wrist1", "0 0 0.392", "0 1 0", 1.37, "0 0.127 0", "0.0026 0.0026 0.0022"),
    ("wrist2", "0 0.127 0", "0 0 1", 1.3, "0 0 0.1", "0.0026 0.0026 0.0022"),
    ("wrist3", "0 0 0.1", "0 1 0", 0.365, "0 0.08 0", "0.0003 0.0003 0.0002"),
)


@pytest.fixture
def six_axis(tmp_path):
    """Settings that learn a quick motion on such an arm, driven through springs."""
    bodies = "".join(
        f'<body name="{name}_link" pos="{place}"><joint name="{name}" axis="{axis}" range="-6 6" damping="2"/>'
        f'<inertial mass="{mass}" pos="{centre}" diaginertia="{inertia}"/>'
        for name, place, axis, mass, centre, inertia in LINKS
    )
    (tmp_path / "six.xml").write_text(
        '<mujoco model="six"><compiler angle="radian" autolimits="true"/>'
        '<option timestep="0.0005" integrator="implicitfast"/>'
        f"<worldbody>{bodies}{'</body>' * len(LINKS)}</worldbody></mujoco>"
    )
    (tmp_path / "six.yaml").write_text('model: six.xml\njoints: {"*": {law: sea, k: 300.0, mode: 3}}\n')
    return (
        *("robot=./six.yaml", "trajectory.start=[0,-1.2,1.2,-0.5,0.5,0]", "learning.tolerance=0.02"),
        *("trajectory.goal=[0.8,-0.5,0.6,0.2,-0.5,0.5]", "trajectory.duration=1.5", "robustness.robots=0"),
        *("report.pictures=false", "hydra.run.dir=out"),
    )


@pytest.mark.parametrize("wrong", ["robustness.mass=-1", "robustness.command_delay=0.0015"])
def test_robots_that_cannot_be_are_refused_before_anything_is_learned(quickly, wrong):
    done = quickly("ilc", wrong, "hydra.run.dir=out")
    assert done.returncode == 2
    assert "trial" not in done.stdout
    assert wrong.partition("=")[0].partition(".")[2] in done.stderr


@pytest.mark.slow
def test_learning_that_cannot_converge_says_why_before_its_second_trial(quickly, six_axis, tmp_path):
    done = quickly("ilc", *six_axis)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    out = " ".join(done.stdout.split())
    second = out.index(" 2 0.0")
    for expected in ("not likely to get below 0.02 rad", "|1 − L·P| exceeds 1 from", "slower trajectory"):
        assert 0 <= out.find(expected) < second, expected
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["reason"] == "diverged"
    assert metrics["forecast"] in out
    assert "exceeds 1 from" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_what_the_advice_says_helps(quickly, six_axis, tmp_path):
    slower = [*six_axis[:4], "trajectory.duration=10", *six_axis[5:]]
    done = quickly("ilc", *slower)
    assert done.returncode == 0, done.stdout
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert (metrics["converged"], metrics["forecast"]) == (True, "")
    done = quickly("ilc", *six_axis[:-1], "hydra.run.dir=other", "ilc=norm_optimal")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_columns_of_a_recorded_motion_find_their_joints(quickly, quick, tmp_path):
    rows = [f"{t:g},{0.1 * t:g},{0.2 * t:g}" for t in (0.0, 1.0, 2.0)]
    for name, header in (("good", "time,elbow,shoulder"), ("bad", "time,hip,knee")):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *rows]))
    common = (*quick[1:], "trajectory=recorded", "learning.tolerance=0.5")
    done = quickly("ilc", *common, "trajectory.path=good.csv")
    assert done.returncode == 0, done.stderr
    learned = FeedForward.load(tmp_path / "out" / "feedforward.npz")
    assert learned.joints == ("shoulder", "elbow")
    np.testing.assert_allclose(learned.desired[-1], [0.4, 0.2])
    refused = quickly("ilc", *common[:-3], *common[-2:], "trajectory.path=bad.csv")
    assert refused.returncode == 2
    for expected in ("'hip' is unknown", "'shoulder' is missing", "shoulder, elbow"):
        assert expected in refused.stderr


@pytest.mark.slow
def test_the_same_command_learns_the_same_to_the_last_bit(quickly, quick, tmp_path):
    for out in ("one", "two"):
        assert quickly("ilc", *quick[:-1], f"hydra.run.dir={out}", "learning.max_iterations=2").returncode == 1
    one, two = (FeedForward.load(tmp_path / out / "feedforward.npz") for out in ("one", "two"))
    np.testing.assert_array_equal(one.command, two.command)


@pytest.mark.slow
@pytest.mark.slow
def test_goals_are_learned_by_which_servos_that_yield_follow_a_gait(quickly, tmp_path):
    """The command of docs/gaits.md, shorter; without a model of a robot whose base floats."""
    page = (Path(__file__).parents[2] / "docs/gaits.md").read_text()
    command = re.search(r"^pliant ilc (.*)$", page, re.MULTILINE)
    shorter = ("trajectory.duration=4", "learning.max_iterations=3", "learning.tolerance=0.01")
    more = (*shorter, "robustness.robots=0", "report.pictures=false", "hydra.run.dir=out")
    given = [word for word in shlex.split(command[1]) if not word.startswith("learning.")]
    done = quickly("ilc", *given, *more)
    assert done.returncode == 1, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    errors = metrics["max_error_per_iteration"]
    assert metrics["forecast"] == ""
    assert 0.06 < errors[0] < 0.1
    assert metrics["max_error_rad"] < 0.7 * errors[0]
    assert metrics["rms_error_rad"] < 0.01


@pytest.mark.slow
def test_an_interrupted_learning_goes_on_where_it_was(quickly, quick, tmp_path):
    common = (*quick[:-1], "learning.tolerance=1e-6")
    assert quickly("ilc", *common, "learning.max_iterations=5", "hydra.run.dir=whole").returncode == 1
    assert quickly("ilc", *common, "learning.max_iterations=2", "hydra.run.dir=part").returncode == 1
    resumed = quickly("ilc", *common, "learning.max_iterations=5", "learning.resume=part", "hydra.run.dir=rest")
    assert resumed.returncode == 1, "not learned"
    whole, rest = (json.loads((tmp_path / f / "metrics.json").read_text()) for f in ("whole", "rest"))
    assert rest["max_error_per_iteration"] == whole["max_error_per_iteration"]


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_so_far(quick, tmp_path):
    arguments = [
        "ilc",
        *quick,
        "trajectory.duration=60",
        "learning.tolerance=1e-6",
        "learning.max_iterations=10000",
    ]
    command = [sys.executable, "-m", "pliant.scripts.main", *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not (tmp_path / "out" / "learner.npz").is_file():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    assert "of 10000 trials; go on with: pliant ilc learning.resume=" in error
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["reason"] == "interrupted"
    assert metrics["iterations"] >= 1
    assert (tmp_path / "out" / "feedforward.npz").is_file()


@pytest.mark.slow
def test_a_sweep_is_summed_up_in_one_table_without_pictures_where_there_is_no_opengl(pliant, quick, tmp_path):
    done = pliant(
        "ilc", "--multirun", *quick[:-1], "ilc.gain=0.3,0.5", "robot.preset=0.2,0.6", "learning.max_iterations=2",
        "hydra.sweep.dir=sweep", "report.pictures=true", MUJOCO_GL="glfw", DISPLAY=":99",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (tmp_path / "sweep" / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["ilc.gain"], row["robot.preset"]) for row in rows] == [
        ("0.3", "0.2"), ("0.3", "0.6"), ("0.5", "0.2"), ("0.5", "0.6"),
    ]  # fmt: skip
    for row in rows:
        metrics = json.loads((tmp_path / "sweep" / row["job"] / "metrics.json").read_text())
        assert float(row["max_error_rad"]) == metrics["max_error_rad"]
        assert (
            "No pictures: MuJoCo cannot draw here" in (tmp_path / "sweep" / row["job"] / "report.html").read_text()
        )
    assert "ilc.gain" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["robot.mode=9"], "unknown operation mode 9"),
        (["robot.preset=2.0"], "outside [0, 0.6]"),
        (
            ["robot=rig1", "trajectory.start=[0]", "trajectory.goal=[1]", "robot.law=qbmoof"],
            "Did you mean 'qbmove'",
        ),
        (["trajectory.goal=[0.8]"], "joint"),
        (["trajectory.goal=90"], "joint 'shoulder' of robot 'arm2' is asked for 90 rad at 2 s, outside its range"),
        (["trajectory.start=[0.5,0.5]", "robot.mode=5"], "no command holds joint 'shoulder' of robot 'arm2'"),
        (["trajectory.goal=[.nan,0.8]"], "goal"),
        (["ilc.gain=-1"], "gain"),
        (["ilc.gian=1"], "gian"),
        (["learning.columns=[hip/equilibrium,elbow/equilibrium]"], "unknown command column 'hip/equilibrium'"),
        (["robot.period=0.0125"], "whole multiple"),
        (["learning.resume=nowhere"], "nowhere"),
        (["robot=arm3"], "arm3"),
        (["learning.begin=hold"], "unknown beginning of a trial 'hold'"),
        (["ilc=norm_optimal", "robot.mode=5"], "no command holds"),
    ],
)
def test_a_wrong_setting_is_explained(quickly, quick, overrides, message):
    done = quickly("ilc", *quick, *overrides)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_trajectory_file_is_explained(quickly):
    done = quickly("ilc", "hydra.run.dir=out", "trajectory=recorded", "trajectory.path=nowhere.csv")
    assert done.returncode == 2
    assert "nowhere.csv does not exist" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_explained(quickly, quick, tmp_path):
    (tmp_path / "file").touch()
    done = quickly("ilc", *quick[:-1], "hydra.run.dir=file/out")
    assert done.returncode == 2
    assert "cannot write in the folder" in done.stderr
    assert "hydra.run.dir" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_examples_and_settings(quickly):
    done = quickly("ilc", "--help")
    assert done.returncode == 0
    for expected in ("Examples:", "ilc.gain", "largest error of any joint", "robot=… (arm2):"):
        assert expected in done.stdout
