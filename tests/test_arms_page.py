"""The page on arms and what stands around them: its commands in order, with small budgets, and its code."""

import shlex
import shutil

import pytest
from tests.test_documents import ROOT, blocks, run_python

from pliant.envs import describe
from pliant.envs.models.own_robot import own_robot

PAGE = "docs/arms.md"
SMALL = {
    "play": ("episodes=1", "task.duration=0.1", "task.hold=0.04"),
    "view": ("width=64", "height=48", "viewer=offscreen", "duration=0.3"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_commands_of_the_page_run(folder, verb, pliant):
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
    assert len(lines) == 13
    for line in lines:
        name, *arguments = shlex.split(line, comments=True)[1:]
        if name == "view":  # draws, for which a process of its own is told how
            done = pliant(name, *arguments, *SMALL[name], f"film={folder / 'film.webp'}", MUJOCO_GL="egl")
            status, out, err = done.returncode, done.stdout, done.stderr
            (folder / "film.webp").unlink(missing_ok=True)
        else:
            status, out, err = verb(name, *arguments, *SMALL.get(name, ()))
        assert status == 0, f"{line}\n{out}\n{err}"


@pytest.mark.slow
def test_the_code_of_the_page_runs(folder):
    (code,) = blocks(PAGE, "python")
    assert "{'tip': 'tcp'}" in run_python(code, folder)


def test_the_cell_of_the_page_is_a_description(folder):
    (cell,) = blocks(PAGE, "yaml")
    (folder / "cell.yaml").write_text(cell)
    (folder / "arm.xml").write_text(
        '<mujoco><worldbody><body><joint name="a"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>'
    )
    spec = describe("cell.yaml").model.spec
    assert spec.joint("plate").stiffness[0] == 2e4
    assert own_robot("arm.xml").spec.body("plate") is None
