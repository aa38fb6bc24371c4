"""The page on a robot of one's own: its files, its commands in order, with small budgets, and its code."""

import shlex

import pytest
from tests.test_documents import blocks

PAGE = "docs/own-robot.md"
SMALL = {
    "train": (
        *("task.duration=0.1", "task.hold=0.04", "steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16"),
        *("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1"),
    ),
    "evaluate": ("episodes=2", "robots=2", "report.write=false"),
    "play": ("episodes=1",),
    "ilc": ("learning.max_iterations=2", "robustness.robots=0", "report.pictures=false"),
    "view": ("width=64", "height=48"),
    "deploy": ("run.settle=0.1",),
}
"""What makes each verb quick."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the page's files."""
    (model,), (description,) = blocks(PAGE, "xml"), blocks(PAGE, "yaml")
    assert model.startswith("<!-- arm.xml -->")
    assert description.startswith("# arm.yaml")
    (tmp_path / "arm.xml").write_text(model)
    (tmp_path / "arm.yaml").write_text(description)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_runs_from_the_file_to_the_bench(folder, verb):
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("dynamixel_sdk")
    pytest.importorskip("mcap")
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
    assert len(lines) == 13
    for line in lines:
        name, *arguments = shlex.split(line, comments=True)[1:]
        status, out, err = verb(name, *arguments, *SMALL.get(name, ()))
        if "hardware=real" in arguments:
            assert (status, "there is no serial port /dev/arm" in err) == (2, True), err
        else:
            assert status == 0, f"{line}\n{out}\n{err}"
    assert (folder / "arm.webp").stat().st_size > 0
    status, out, err = verb("robot", "first.yaml")
    assert status == 0, err
    assert "sea, mode 3" in out


def test_the_code_of_the_page_runs(folder, capsys):
    (code,) = blocks(PAGE, "python")
    scope = {}
    exec(code, scope)
    assert "('shoulder/equilibrium', 'shoulder/preset', 'elbow/position')" in capsys.readouterr().out
    assert scope["many"].reset(seed=0)[0].shape == (16, 10)
