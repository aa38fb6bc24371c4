"""No run ever gets the folder of another one, so that no result is lost."""

import datetime
import json
import subprocess
import sys

import pytest

from pliant import command_line
from pliant.errors import ConfigurationError

VERBS = ("train", "evaluate", "ilc", "deploy", "identify", "reproduce")
NEEDED = {"evaluate": ["policy=zero"], "identify": ["recordings=x"]}
QUICK = (
    "trajectory.duration=1",
    "learning.max_iterations=1",
    "learning.tolerance=10",  # rad: learned at once
    "robustness.robots=0",
    "report.pictures=false",
)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Runs a job that only notes its folder, as a verb would be run; returns the folders."""
    monkeypatch.chdir(tmp_path)

    def run(verb, *arguments, resumed=None):
        found = []

        def job(config):
            found.append(command_line.run_folder(resumed))
            (found[-1] / "metrics.json").write_text('{"done": 1}')

        monkeypatch.setattr(sys, "argv", [verb, *arguments, *NEEDED.get(verb, ())])
        command_line.run(job, verb)
        return found

    return run


def taken(tmp_path, prefix):
    """Make folders of the names that the next minutes have, in which somebody else writes."""
    now = datetime.datetime.now()
    for seconds in range(-1, 120):
        stamp = (now + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%d_%H-%M-%S")
        (tmp_path / f"{prefix}{stamp}").mkdir(parents=True)


@pytest.mark.parametrize("verb", VERBS)
def test_a_second_run_within_a_second_gets_a_folder_of_its_own(start, tmp_path, verb):
    taken(tmp_path, f"runs/{verb}/")
    (first,) = start(verb)
    assert first.parent == tmp_path / "runs" / verb
    assert first.name.endswith("_2")
    assert (first / ".hydra" / "overrides.yaml").is_file()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.slow
def test_a_second_sweep_within_a_second_does_too(start, tmp_path, verb):
    taken(tmp_path, f"runs/{verb}/sweep_")
    swept = {"reproduce": "+experiments.seed=1,2"}.get(verb, "+seed=1,2" if verb in ("ilc",) else "seed=1,2")
    first, second = start(verb, "--multirun", swept)
    assert first.parent == second.parent
    assert first.parent.name.endswith("_2")
    assert (first.name, second.name) == ("0", "1")
    assert sorted(path.name for path in first.parent.iterdir() if path.is_dir()) == ["0", "1"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.slow
def test_a_used_folder_is_refused_and_nothing_in_it_is_touched(start, tmp_path, capsys, snapshot, verb):
    start(verb, "hydra.run.dir=mine")
    before = snapshot(tmp_path / "mine")
    for again in (["hydra.run.dir=mine"], ["--multirun", "hydra.sweep.dir=mine"]):
        with pytest.raises(SystemExit):
            start(verb, *again)
        assert "the folder mine is used already" in capsys.readouterr().err
    assert snapshot(tmp_path / "mine") == before


def test_an_empty_folder_is_no_used_one_and_a_mistake_leaves_none(start, tmp_path):
    (tmp_path / "mine").mkdir()
    assert start("ilc", "hydra.run.dir=mine") == [tmp_path / "mine"]
    with pytest.raises(SystemExit):
        start("ilc", "ilc.gian=1")
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_refused_leaves_its_folder_to_the_next(tmp_path, verb):
    for wrong in ("controller=setpoints trajectory.duration=-1", "feedforward=nothing.npz"):
        status, _, err = verb("deploy", "hydra.run.dir=runs/mine", *wrong.split())
        assert status == 2, err
        assert not (tmp_path / "runs/mine").exists()
    status, _, err = verb("deploy", "hydra.run.dir=runs/mine", "controller=hold", "duration=0.1", "run.settle=0.1")
    assert status == 0, err


@pytest.mark.parametrize("folder", ["mine", "."])
def test_of_a_folder_that_was_there_only_the_record_of_a_refused_run_goes(tmp_path, verb, folder):
    if folder == "mine":
        (tmp_path / "mine").mkdir()
    status, _, err = verb("deploy", f"hydra.run.dir={folder}", "feedforward=nothing.npz")
    assert status == 2
    assert "nothing.npz" in err
    assert (tmp_path / folder).is_dir()
    assert not list((tmp_path / folder).iterdir())


def test_what_was_written_before_a_run_was_refused_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ilc", "hydra.run.dir=mine"])

    def job(config):
        (command_line.run_folder() / "recording.mcap").touch()
        raise ConfigurationError("refused in the middle")

    with pytest.raises(SystemExit) as end:
        command_line.run(job, "ilc")
    assert end.value.code == 2
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {".hydra", "recording.mcap"}


def test_a_run_goes_on_in_its_own_folder_only_if_asked(start, tmp_path):
    start("train", "hydra.run.dir=mine")
    for resumed in ("mine", "mine/checkpoints/000000000100.zip"):
        assert start("train", f"resume={resumed}", "hydra.run.dir=mine", resumed=resumed) == [tmp_path / "mine"]
    with pytest.raises(SystemExit):
        start("train", "resume=other", "hydra.run.dir=mine", resumed="other")


def test_jobs_of_a_sweep_that_name_one_folder_do_not_write_over_each_other(start, tmp_path, capsys):
    with pytest.raises(SystemExit):
        start("ilc", "--multirun", "ilc.gain=0.3,0.5", "hydra.sweep.dir=sweep", "hydra.sweep.subdir=same")
    assert "same is used already" in capsys.readouterr().err


@pytest.mark.slow
def test_processes_released_at_once_lose_nothing(tmp_path):
    """Three runs and two sweeps of two jobs each, in processes of their own: seven results."""
    script = (
        "import sys; from pliant.scripts import ilc\nprint('ready', flush=True); sys.stdin.readline(); ilc.main()"
    )
    lines = [QUICK] * 3 + [("--multirun", *QUICK, "ilc.gain=0.3,0.5")] * 2
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *line],
            cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for line in lines
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert len(list((tmp_path / "runs" / "ilc").glob("[0-9]*/feedforward.npz"))) == 3
    sweeps = list((tmp_path / "runs" / "ilc").glob("sweep_*"))
    assert len(sweeps) == 2
    for sweep in sweeps:
        assert [job["name"] for job in json.loads((sweep / "summary.json").read_text())] == ["0", "1"]
