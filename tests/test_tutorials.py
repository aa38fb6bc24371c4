"""Every tutorial from its first block to its last, in one folder; commands that learn have small budgets."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from tests.test_documents import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("tutorial-*.md"))
IN_REAL_TIME = "docs/tutorial-interaction.md"
"""An arm of Universal Robots has no other time."""
SMALL = {
    "train": (
        *("task.duration=0.1", "task.hold=0.04", "steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16"),
        *("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1"),
    ),
    "evaluate": ("episodes=2", "robots=2", "report.write=false"),
    "play": ("width=64", "height=48"),
    "view": ("width=64", "height=48", "duration=0.3"),
    "ilc": ("robustness.robots=0", "report.pictures=false"),
    "identify": ("starts=1",),
    "gait": ("report.write=false", "search.trials=8"),
    "deploy": ("run.settle=0.1",),
}
"""What makes each verb quick."""
EXTRAS = {
    "tutorial-bus.md": ("dynamixel_sdk", "mcap"),
    "tutorial-train.md": ("stable_baselines3", "onnxruntime", "dynamixel_sdk", "mcap"),
    "tutorial-interaction.md": ("rtde_control", "mcap"),
    "tutorial-gaits.md": ("optuna", "dynamixel_sdk", "mcap"),
}


def steps(page):
    """Language and text of every block of a page that is written or run, in order."""
    return re.findall(r"^```(python|xml|yaml|sh)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run(command, folder, fine=(0,)):
    """Run it as a user would; the status must be a fine one."""
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode in fine, f"{command}\n{done.stdout}\n{done.stderr}"


def started(command, folder):
    """Start it in the background, and wait until the port that it names is there."""
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    (port,) = [word.removeprefix("port=") for word in command if word.startswith("port=")]
    while not (folder / port).exists():
        assert child.poll() is None, command
        time.sleep(0.1)
    return child


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.real_time] if page == IN_REAL_TIME else []) for page in PAGES],
)
def test_a_tutorial_runs_from_start_to_end(page, tmp_path):
    for module in EXTRAS.get(page.removeprefix("docs/"), ()):
        pytest.importorskip(module)
    children = []
    try:
        for language, text in steps(page):
            named = re.match(r"(?:#|<!--) (\w+\.\w+)", text)
            if language == "sh":
                for line in text.splitlines():
                    words = shlex.split(line, comments=True)[1:]
                    command = [sys.executable, "-m", "pliant.scripts.main", *words]
                    if words[-1] == "&":
                        children.append(started(command[:-1], tmp_path))
                    else:
                        fine = (0, 1) if words[0] == "gait" else (0,)  # 1: a limit is not kept
                        run([*command, *SMALL.get(words[0], ())], tmp_path, fine)
            else:
                assert named is not None, text
                (tmp_path / named[1]).write_text(text)
                if language == "python":
                    run([sys.executable, named[1]], tmp_path)
    finally:
        for child in children:
            child.send_signal(signal.SIGTERM)
            child.wait()


def test_the_films_and_files_of_a_tutorial_are_named_once():
    assert len(PAGES) == 6
    for page in PAGES:
        folders = [
            word for kind, text in steps(page) if kind == "sh" for word in re.findall(r"run\.dir=\S+", text)
        ]
        assert len(folders) == len(set(folders)), page
