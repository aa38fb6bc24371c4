"""The page on tasks runs as it stands, and its tables name the terms that the tasks report."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pliant.envs.tasks.reach import ReachOnRobot
from pliant.envs.tasks.reach_point import ReachPointOnRobot
from pliant.envs.tasks.throw import ThrowOnRobot
from pliant.envs.tasks.track import TrackOnRobot
from pliant.envs.tasks.track_path import TrackPathOnRobot

PAGE = (Path(__file__).parents[2] / "docs/tasks.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TABLES = {
    "## `reach`:": ReachOnRobot,
    "## `track`:": TrackOnRobot,
    "## `throw`:": ThrowOnRobot,
    "| term of `ReachPoint`": ReachPointOnRobot,
    "| term of `TrackPath`": TrackPathOnRobot,
}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run(number, tmp_path):
    if "stable_baselines3" in EXAMPLES[number]:
        pytest.importorskip("stable_baselines3")
    command = [sys.executable, "-c", EXAMPLES[number]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("heading", TABLES)
def test_the_tables_name_every_term(heading):
    table = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index(heading) :], re.MULTILINE)
    assert table is not None
    assert tuple(re.findall(r"^\| `(\w+)` \|", table[0], re.MULTILINE)) == TABLES[heading].terms
