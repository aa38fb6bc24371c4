import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_commands_of_documents import check

from pliant.errors import ConfigurationError, OutputError, UnknownNameError
from pliant.templates.writing import KINDS, next_commands, write_template

NAME = "own_thing"
OFFSCREEN = ("viewer=offscreen", "film=film.webp", "width=64", "height=48", "duration=0.5")
SMALL = {
    "view": OFFSCREEN,
    "play": ("episodes=1",),
    "train": (
        *("steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16", "task.duration=0.4"),
        *("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1"),
    ),
    "deploy": ("duration=0.5", "run.settle=0.1"),
    "ilc": ("trajectory.duration=2", "robustness.robots=0", "report.pictures=false"),
}
"""What makes each verb quick."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_called_by_the_name_and_nothing_is_left_of_the_template(kind, tmp_path):
    written = write_template(kind, NAME, tmp_path)
    assert sorted(written) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert tmp_path / f"test_{NAME}.py" in written
    for path in written:
        assert path.stem.removeprefix("test_") == NAME
        assert not re.search(rf"my_{kind}|My{kind.capitalize()}", path.read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_overwritten_and_nothing_is_written_beside_what_is_there(kind, tmp_path):
    (tmp_path / f"test_{NAME}.py").write_text("mine")
    with pytest.raises(OutputError, match=f"there is .*test_{NAME}.py already; nothing was written"):
        write_template(kind, NAME, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"test_{NAME}.py"]
    assert (tmp_path / f"test_{NAME}.py").read_text() == "mine"


def test_where_the_disk_is_full_nothing_is_left(tmp_path, monkeypatch):
    begun, path_open = [], Path.open

    def full(path, mode="r", **options):
        file = path_open(path, mode, **options)
        if mode == "x":
            begun.append(path)
            if len(begun) == 2:
                file.close()
                file = path_open(Path("/dev/full"), "w")
        return file

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OutputError, match=r"No space left on device\. Nothing was written"):
        write_template("law", NAME, tmp_path)
    assert len(begun) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("law", "Cubic", "cannot name a law"),
        ("law", "two words", "cannot name a law"),
        ("law", "../cubic", "cannot name a law"),
        ("controller", "class", "cannot name a controller"),
        ("controller", "numpy", "a module that is installed here"),
        ("task", "reach", "a task that comes with Pliant"),
        ("robot", "arm2", "a robot that comes with Pliant"),
        ("law", "sea", "a law that comes with Pliant"),
    ],
)
def test_a_name_that_would_not_work_is_refused(kind, name, reason, tmp_path):
    with pytest.raises(ConfigurationError, match=reason):
        write_template(kind, name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_unknown_kind_is_refused(tmp_path, verb):
    with pytest.raises(
        UnknownNameError, match=r"unknown template 'motor'.*Valid: robot, task, controller, driver, law"
    ):
        write_template("motor", NAME, tmp_path)
    status, _, err = verb("new", "law")
    assert status == 2
    assert "takes a kind (robot, task, controller, driver, law) and a name" in err


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_commands_are_ones_that_the_verbs_take(kind, verb, tmp_path, monkeypatch):
    status, out, err = verb("new", kind, NAME)
    assert status == 0, err
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLIANT_TARGETS", NAME)
    commands = [line.strip() for line in out.partition("next:\n")[2].splitlines()]
    assert commands == next_commands(kind, NAME)
    assert len(commands) == 3
    for command in commands[1:]:
        _, _, words = command.partition("pliant ")
        name, *arguments = shlex.split(words)
        check(name, [word for word in arguments if not word.startswith("--config-dir") and word != f"task={NAME}"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_passes_its_test_and_the_next_commands_run(kind, pliant, tmp_path):
    for extra in ("stable_baselines3", "dynamixel_sdk", "mcap", "matplotlib"):
        pytest.importorskip(extra)
    write_template(kind, NAME, tmp_path)
    test, *commands = next_commands(kind, NAME)
    arguments = ["-q", "-p", "no:cacheprovider", *shlex.split(test)[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    for command in commands:
        before, _, words = command.partition("pliant ")
        trusted = dict(word.split("=") for word in before.split())
        name, *arguments = shlex.split(words)
        environment = {
            **trusted,
            "MUJOCO_GL": "egl",
            "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2] / 'src'}",
        }
        done = pliant(name, *arguments, *SMALL[name], **environment)
        real = "hardware=real" in arguments  # nobody is at its address
        assert done.returncode == (2 if real else 0), f"{command}\n{done.stdout}\n{done.stderr}"
        assert ("while connecting" in done.stderr) == real


@pytest.mark.slow
def test_two_tasks_of_the_same_terms_run_in_turn(tmp_path):
    """The machine code of one is not taken for the other, whose module is not there any more."""
    code = (
        "import {name} as mine, gymnasium, pliant.envs; from pliant.envs import Reach\n"
        "reach = Reach(duration=1.0)\n"
        "task = reach.but(rewards={{**reach.rewards, 'slowness': mine.slowness()}})\n"
        "gymnasium.make('pliant/CompliantArm2-v0', task=task).reset(seed=0)"
    )
    for name in ("first_task", "second_task"):
        folder = tmp_path / name
        write_template("task", name, folder)
        done = subprocess.run(
            [sys.executable, "-c", code.format(name=name)],
            cwd=folder,
            env={**os.environ, "PLIANT_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
