"""What is done on the page arrives in the simulation; see `page_checks.py`, which says it one by one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("page_checks.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def passes(check):
    pytest.importorskip("mujoco.studio")
    done = subprocess.run([sys.executable, str(CHECKS), check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_a_page_pulls_at_and_drags_arrives_at_the_robot():
    passes("pull")


@pytest.mark.slow
def test_a_second_page_is_refused_in_a_process_that_ends_as_it_should():
    passes("twice")


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no Chromium is installed")
@pytest.mark.parametrize("check", ["slider", "choice", "drag", "marks"])
def test_in_a_real_browser(check):
    """A slider stiffens a joint; a robot that is chosen is shown; the mouse drags a target; a goal is drawn."""
    passes(check)
