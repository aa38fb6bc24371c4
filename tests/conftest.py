import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def pliant(tmp_path):
    """Runs the command in a folder of its own, as a user would; returns the finished process."""

    def run(*arguments, cwd=tmp_path, timeout=120, **environment):
        return subprocess.run(
            [sys.executable, "-m", "pliant.scripts.main", *arguments],
            cwd=cwd,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def root():
    return Path(__file__).parents[1]
