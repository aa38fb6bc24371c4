"""The page on tasks runs as it stands, and its tables name the terms there are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pliant.envs.tasks import KINDS, TASKS, ReachPose, TrackPath

PAGE = (Path(__file__).parents[2] / "docs/tasks.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FULL = {"reach_pose": ReachPose(oriented=True), "track_path": TrackPath(orientation=(1, 0, 0, 0))}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run(number, tmp_path):
    if "stable_baselines3" in EXAMPLES[number]:
        pytest.importorskip("stable_baselines3")
    command = [sys.executable, "-c", EXAMPLES[number]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def rows(heading: str) -> list[str]:
    table = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index(heading) :], re.MULTILINE)
    assert table is not None
    return re.findall(r"^\| `(\w+)` \|", table[0], re.MULTILINE)


@pytest.mark.parametrize("name", TASKS)
def test_the_tables_name_every_term_of_a_task(name):
    task = FULL.get(name) or TASKS[name]()
    assert rows(f"## `{name}`:") == list(task.rewards)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_name_every_term_there_is(kind):
    assert rows(f"| {kind} |") == list(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TASKS)
def test_every_term_of_our_tasks_is_in_the_tables(name, kind):
    task = FULL.get(name) or TASKS[name]()
    parts = {"measure": task.measures, "reward": task.rewards, "end": task.ends}.get(kind, {})
    assert {term.function.name for term in parts.values()} <= set(KINDS[kind])


def test_the_first_table_names_every_task():
    assert rows("| task | asks for") == ["reach", "track", "reach_pose", "track_path", "throw", "walk", "press"]
    assert set(rows("| task | asks for")) == set(TASKS)
