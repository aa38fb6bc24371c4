import importlib
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
def verb(tmp_path, monkeypatch, capfd):
    """Runs a verb in this process, in a folder of its own; returns exit status, output and error output."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [f"pliant {name}", *map(str, arguments)])
        module = importlib.import_module(f"pliant.scripts.{name}")
        capfd.readouterr()
        try:
            module.main()
            status = 0
        except SystemExit as exit_:
            status = exit_.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return run


@pytest.fixture
def root():
    return Path(__file__).parents[1]


@pytest.fixture
def snapshot():
    """Returns what is in a folder: every file's content and time, by name."""

    def take(folder):
        files = (p for p in Path(folder).rglob("*") if p.is_file())
        return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}

    return take
