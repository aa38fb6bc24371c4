"""The page on task-space control: its robot, its commands and its code."""

import json
import re
import shlex

import pytest
from tests.test_documents import blocks, run_python

PAGE = "docs/task-space.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the page's robot."""
    for text in (*blocks(PAGE, "xml"), *blocks(PAGE, "yaml")):
        named = re.match(r"(?:<!--|#) (\w+\.\w+)", text)
        assert named is not None, text
        (tmp_path / named[1]).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_code_of_the_page_does_what_it_says(folder):
    motion, law = blocks(PAGE, "python")
    assert run_python(motion, folder) == "True\n"
    assert run_python(law, folder) == "True\n"


@pytest.mark.slow
def test_a_robot_of_ones_own_does_a_task_from_the_command_line(folder, verb):
    (command,) = [line for block in blocks(PAGE, "sh") for line in block.splitlines() if "planar.yaml" in line]
    status, _, err = verb("deploy", *shlex.split(command)[2:])
    assert status == 0, err
    numbers = json.loads((folder / "runs/planar/metrics.json").read_text())
    assert numbers["completed"]
    assert numbers["max_difference_rad"] == 0.0, "a dry run is what was predicted"
