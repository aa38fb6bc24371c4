import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from pliant import command_line
from pliant.errors import MissingFileError, UnknownNameError
from pliant.scripts import train
from pliant.training.sweep_report import Sweep, write_report
from pliant.training.sweeps import Job, collect, label, show_jobs

RATE = "algo.learning_rate.start"
SEARCH = ("--multirun", "hydra/sweeper=search", f"{RATE}=tag(log,interval(1e-4,3e-3))", "hydra.sweep.dir=sweep")


def rows(folder):
    with (folder / "summary.csv").open() as file:
        return list(csv.DictReader(file))


def trials(folder):
    optuna = pytest.importorskip("optuna")
    study = optuna.load_study(study_name="search", storage=f"sqlite:///{folder / 'search.db'}")
    return [(t.state.name, t.value, t.params.get(RATE)) for t in study.trials]


@pytest.mark.slow
def test_a_sweep_is_summed_up_with_its_best_run(verb, tiny, tmp_path):
    varied = (f"{RATE}=1e-4,1e-2", "seed=0,1")
    status, out, err = verb("train", "--multirun", *tiny["ppo"], "steps=64", "hydra.sweep.dir=sweep", *varied)
    assert status == 0, err
    assert len(rows(tmp_path / "sweep")) == 4
    assert RATE in out
    status, out, err = verb("sweep", "sweep")
    assert status == 0, err
    jobs = {p.parent.name: json.loads(p.read_text()) for p in sorted((tmp_path / "sweep").glob("*/metrics.json"))}
    most = max(metrics["reward_mean"] for metrics in jobs.values())
    best = [name for name, metrics in jobs.items() if metrics["reward_mean"] == most]
    assert (f"job {best[0]} (" if len(best) == 1 else f"equally in {len(best)} jobs: {', '.join(best)}") in out
    page = (tmp_path / "sweep" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "Learning curves" in page
    assert "What led where" in page
    status, out, _ = verb("sweep", "sweep", "--metric", "seconds", "--minimise")
    fastest = min(jobs, key=lambda name: jobs[name]["seconds"])
    assert f"job {fastest} (" in out


@pytest.mark.slow
def test_a_job_that_fails_takes_neither_the_others_nor_the_summary_along(verb, tiny, tmp_path):
    varied = ("task.tolerance=0.4,-1,0.3", "hydra.sweep.dir=sweep")
    options = [option for option in tiny["ppo"] if not option.startswith("task.tolerance")]
    status, out, err = verb("train", "--multirun", *options, "steps=64", *varied)
    assert status == 1
    assert "pliant: job 1 failed" in err
    assert re.search(r"^1 of 3 jobs done, about \d+ (s|min) left\n(.*\n)*2 of 3 jobs done", out, re.MULTILINE)
    assert "Error executing job" not in err
    assert "Traceback" not in err
    assert re.search(r"│ 1 +│ -1 +│ failed", out)
    assert "job 1: end 'reached': tolerance is -1; a finite number > 0 is needed" in out
    summary = json.loads((tmp_path / "sweep" / "summary.json").read_text())
    assert [bool(job["metrics"]) for job in summary] == [True, False, True]
    assert [row["failure"][:14] for row in rows(tmp_path / "sweep")] == ["", "end 'reached':", ""]
    status, out, err = verb("sweep", "sweep")
    assert status == 0, err
    assert "job 1: end 'reached'" in out
    assert "Job 1: end &#x27;reached&#x27;" in (tmp_path / "sweep" / "report.html").read_text()


@pytest.mark.slow
def test_where_every_job_fails_the_reason_is_said(verb, tiny, tmp_path):
    options = [option for option in tiny["ppo"] if not option.startswith("task.tolerance")]
    status, _, err = verb("train", "--multirun", *options, "task.tolerance=-1,-2", "hydra.sweep.dir=sweep")
    assert status == 1
    assert "pliant: job 1 failed" in err
    assert "Job 0 failed: end 'reached': tolerance is -1" in verb("sweep", "sweep")[2]


@pytest.mark.slow
def test_a_search_goes_on_where_it_was_killed(verb, tiny, tmp_path):
    """By SIGKILL, in its second trial."""
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    common = [*SEARCH, *tiny["ppo"], "steps=64", "hydra.sweeper.n_trials=4"]
    slow = "import sys, time; from pliant.scripts import train; from pliant.training import loop\n"
    slow += "loop.Training.save = lambda self: time.sleep(60 * (self.folder.name == '1'))\n"
    slow += "sys.argv[0] = 'pliant train'; train.main()"
    process = subprocess.Popen([sys.executable, "-c", slow, *common], cwd=tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 90
    while not (tmp_path / "sweep" / "1" / "policy.onnx").is_file():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done, cut_off = trials(tmp_path / "sweep")
    assert (done[0], cut_off[0]) == ("COMPLETE", "RUNNING")
    first = (tmp_path / "sweep" / "0" / "metrics.json").read_bytes()
    status, _, err = verb("train", *common)
    assert status == 0, err
    found = trials(tmp_path / "sweep")
    assert [state for state, _, _ in found] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]
    assert len({rate for state, _, rate in found}) == 5
    assert found[0] == done
    assert (tmp_path / "sweep" / "0" / "metrics.json").read_bytes() == first
    assert {job.name for job in collect(tmp_path / "sweep")} == {"0", "1", "start2_0", "start2_1", "start2_2"}
    values = sorted(value for state, value, _ in found if state == "COMPLETE")
    metrics = [json.loads(p.read_text()) for p in (tmp_path / "sweep").glob("*/metrics.json")]
    assert values == sorted(m["reward_mean"] for m in metrics)
    assert verb("train", *common)[0] == 0
    assert len(trials(tmp_path / "sweep")) == 5
    assert f"best reward_mean: {values[-1]:.4g}" in verb("sweep", "sweep")[1]


@pytest.mark.slow
def test_a_trial_that_fails_does_not_end_a_search(verb, tiny, tmp_path):
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    options = [o for o in SEARCH if not o.startswith(RATE)]
    options += ["algo.n_steps=choice(0,16)", "hydra.sweeper.n_trials=4", "hydra.sweeper.sampler.seed=1"]
    tiny_options = [o for o in tiny["ppo"] if not o.startswith("algo.n_steps")]
    status, _, err = verb("train", *options, *tiny_options, "steps=32")
    assert status == 0, err
    states = [state for state, _, _ in trials(tmp_path / "sweep")]
    assert set(states) == {"COMPLETE", "FAIL"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "plugin", "options"),
    [
        ("joblib", "hydra_joblib_launcher", ["hydra.launcher.n_jobs=2"]),
        ("submitit_local", "hydra_submitit_launcher", []),
        ("ray", "hydra_ray_launcher", []),
    ],
)
def test_every_launcher_gives_what_one_process_gives(pliant, tiny, tmp_path, launcher, plugin, options):
    pytest.importorskip(f"hydra_plugins.{plugin}")
    common = ["--multirun", *tiny["ppo"], "steps=64", "seed=0,1"]
    done = pliant("train", *common, "hydra.sweep.dir=basic", timeout=300)
    assert done.returncode == 0, done.stderr
    done = pliant("train", *common, f"hydra/launcher={launcher}", *options, "hydra.sweep.dir=sweep", timeout=300)
    assert done.returncode == 0, done.stderr
    here, there = rows(tmp_path / "basic"), rows(tmp_path / "sweep")
    assert [row["reward_mean"] for row in here] == [row["reward_mean"] for row in there]
    assert [row["seed"] for row in there] == ["0", "1"]


def test_a_job_can_be_sent_to_another_process():
    cloudpickle = pytest.importorskip("cloudpickle")  # what joblib and submitit send it by
    sent = cloudpickle.loads(cloudpickle.dumps(command_line._explained(train.job)))
    assert sent.__wrapped__ is train.job


@pytest.mark.parametrize(
    ("choice", "plugin", "extra"),
    [
        ("hydra/launcher=joblib", "hydra_joblib_launcher", "sweep"),
        ("hydra/launcher=submitit_slurm", "hydra_submitit_launcher", "sweep"),
        ("hydra/launcher=ray", "hydra_ray_launcher", "ray"),
        ("hydra/sweeper=search", "hydra_optuna_sweeper", "sweep"),
    ],
)
def test_without_a_plugin_the_extra_is_named(verb, monkeypatch, choice, plugin, extra):
    monkeypatch.setitem(sys.modules, f"hydra_plugins.{plugin}", None)
    status, _, err = verb("train", "--multirun", choice, "seed=0,1")
    assert status == 2
    assert f'pip install "pliant[{extra}]"' in err


def jobs():
    metrics = ({"reward_mean": 1.5, "steps": 10}, {"reward_mean": 2.5, "steps": 12}, {})
    overrides = ({"rate": "1e-4", "kind": "a"}, {"rate": "1e-2", "kind": "b"}, {"rate": "1e-3", "kind": "a"})
    return [Job(str(k), {**o, "fixed": "7"}, m) for k, (o, m) in enumerate(zip(overrides, metrics, strict=True))]


def test_what_is_judged_and_shown(tmp_path):
    sweep = Sweep.of(tmp_path, jobs(), None, None)
    assert (sweep.metric, sweep.sign) == ("reward_mean", 1.0)
    assert sweep.varied == ["rate", "kind"]
    assert sweep.numbers == ["reward_mean", "steps"]
    assert sweep.settings(sweep.best) == "rate=1e-2 kind=b"
    assert [job.name for job in sweep.judged] == ["1", "0"]
    assert Sweep.of(tmp_path, jobs(), "steps", -1.0).best.name == "0"
    page = write_report(sweep).read_text()
    assert "2 of 3 jobs have a result" in page
    assert "unfinished" in page


def test_jobs_that_did_equally_well_are_not_called_the_best(tmp_path):
    equal = [Job(str(k), {"rate": str(k)}, {"success_rate": rate}) for k, rate in enumerate((0.5, 1.0, 1.0))]
    sweep = Sweep.of(tmp_path, equal, None, None)
    assert sweep.best is None
    assert sweep.verdict == "best success_rate: 1, equally in 2 jobs: 1, 2"
    page = write_report(sweep).read_text()
    assert "the thick one" not in page
    assert Sweep.of(tmp_path, equal[:2], None, None).verdict == "best success_rate: 1, job 1 (rate=1)"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_fits_its_terminal_and_names_what_does_not(width):
    numbers = ("max_error_rad", "converged", "iterations", "rms_error_rad", "physics_seconds", "wall_seconds")
    metrics = dict.fromkeys(numbers, 0.123456)
    made = [Job(str(k), {"ilc.gain": f"0.{k}", "robot.preset": "0.2"}, metrics) for k in (1, 2)]
    made.append(Job("3", {"ilc.gain": "0.3", "robot.preset": "0.6"}, {}, "it is too stiff for that"))
    text = io.StringIO()
    show_jobs(Console(file=text, width=width), "Sweep s", made, numbers)
    lines = text.getvalue().splitlines()
    left_out = [line for line in lines if line.startswith("too wide for this terminal: ")]
    assert max(len(line) for line in lines if line not in left_out) <= width
    assert "…" not in text.getvalue()
    for name in numbers:
        shown = all(word in text.getvalue() for word in label(name).split())
        assert shown or name in left_out[0]
    assert lines[-1] == "job 3: it is too stiff for that"
    assert bool(left_out) == (width < 200)


def test_settings_and_numbers_are_named_by_words_and_units():
    assert label("max_error_rad") == "max error (rad)"
    assert label("wall_seconds") == "wall (s)"
    assert label("ilc.gain", ["ilc.gain", "robot.preset"]) == "gain"
    assert label("a.k", ["a.k", "b.k"]) == "a.k"
    assert label("steps") == "steps"
    assert label("seconds") == "seconds"


def test_a_job_that_did_not_learn_says_what_was_missing():
    missed = Job("0", {}, {"converged": False, "detail": "after 30 trials the best error is 0.15 rad"})
    assert missed.remark == "after 30 trials the best error is 0.15 rad"
    assert Job("1", {}, {"converged": True, "detail": "trial 6"}).remark == ""


def test_a_metric_that_none_has_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'reward_mean'"):
        Sweep.of(tmp_path, jobs(), "reward_meen", None)


def test_a_folder_that_is_no_sweep_is_refused(verb, tmp_path, trained):
    with pytest.raises(MissingFileError, match=r"none of the 1 jobs .* has a metrics\.json"):
        Sweep.of(tmp_path, jobs()[2:], None, None)
    assert "sweep folder nowhere does not exist" in verb("sweep", "nowhere")[2]
    status, _, err = verb("sweep", trained / "checkpoints")
    assert status == 2
    assert "it holds no jobs" in err


@pytest.mark.slow
def test_a_sweep_of_iterative_learning_is_summed_up_too(verb, tmp_path):
    quick = (
        "trajectory.duration=2.0",
        "robustness.robots=0",
        "report.pictures=false",
        "learning.max_iterations=2",
    )
    status, _, err = verb(
        "ilc", "--multirun", *quick, "ilc.gain=0.3,0.6", "robot.preset=0.2,0.5", "hydra.sweep.dir=s"
    )
    assert status == 0, err
    status, out, err = verb("sweep", "s")
    assert status == 0, err
    assert "best max_error_rad" in out
    assert "job 0: after 2 trials the best error is" in out
    page = (tmp_path / "s" / "report.html").read_text()
    for words in ("iteration", "max error (rad)", "job 0: ilc.gain=0.3 robot.preset=0.2"):
        assert words in page
    assert page.count("<svg") == 2


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_table_fits_the_terminal(width):
    numbers = {
        "max_error_rad": 0.07913, "converged": True, "iterations": 13, "best_iteration": 13,
        "rms_error_rad": 0.04749, "wall_seconds": 12.25,
    }  # fmt: skip
    jobs = [Job(str(k), {"ilc.gain": f"0.{k}", "robot.preset": "0.2"}, numbers) for k in range(3)]
    out = Console(file=io.StringIO(), width=width)
    show_jobs(out, "Sweep", jobs, list(numbers))
    lines = [line for line in out.file.getvalue().splitlines() if line[:1] in "┏┃┡│└"]
    assert max(map(len, lines)) <= width
    assert all(line[-1] in "┓┃┩│┘" for line in lines)
    assert "max_" not in out.file.getvalue()
