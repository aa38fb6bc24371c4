"""The page on a robot of one's own: its files, its commands in order, with small budgets, and its code."""

import re
import shlex

import pytest
import yaml
from tests.test_documents import ROOT, blocks, run_python

PAGE = "docs/own-robot.md"
SMALL = {
    "train": (
        *("task.duration=0.1", "task.hold=0.04", "steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16"),
        *("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1"),
    ),
    "evaluate": ("episodes=2", "robots=2", "report.write=false"),
    "play": ("episodes=1",),
    "ilc": ("robustness.robots=0", "report.pictures=false"),
    "view": ("width=64", "height=48"),
    "deploy": ("run.settle=0.1",),
}
"""What makes each verb quick."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the page's files."""
    for text in (*blocks(PAGE, "xml"), *blocks(PAGE, "yaml")):
        name = re.match(r"(?:<!--|#) (\w+\.\w+)", text)
        assert name is not None, text
        (tmp_path / name[1]).write_text(text)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["arm.xml", "arm.yaml", "pair.yaml", "table.xml"]
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_page_runs_from_the_file_to_the_bench(folder, verb, pliant):
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("dynamixel_sdk")
    pytest.importorskip("mcap")
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
    assert len(lines) == 15
    for line in lines:
        name, *arguments = shlex.split(line, comments=True)[1:]
        if name == "view":  # draws, for which a process of its own is told how
            done = pliant(name, *arguments, *SMALL[name], MUJOCO_GL="egl")
            status, out, err = done.returncode, done.stdout, done.stderr
        else:
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


@pytest.mark.slow
@pytest.mark.parametrize(("page", "module"), [("docs/own-law.md", "mylaws"), ("docs/own-drive.md", "mydrives")])
def test_what_is_ones_own_may_drive_a_joint_of_the_file(folder, page, module):
    """The line that the page shows, of a joint of this page's arm."""
    (folder / f"{module}.py").write_text(blocks(page, "python")[0])
    (line,) = re.findall(r"`(joints: \{.*\})`", (ROOT / page).read_text())
    (entry,) = yaml.safe_load(line)["joints"].values()
    (folder / "own.yaml").write_text(yaml.safe_dump({"model": "arm.xml", "joints": {"elbow": entry}}))
    code = "from pliant.envs import describe; print(*describe('own.yaml').simulated().info.command_names)"
    column = "elbow/equilibrium" if module == "mylaws" else "elbow/velocity"
    with pytest.raises(AssertionError, match=f"'{module}.* is of no trusted package"):
        run_python(code, folder)
    assert run_python(code, folder, PLIANT_TARGETS=module).strip() == column
