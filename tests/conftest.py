import gc
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import hypothesis
import pytest

# Before they are imported: there are as many processes as CPUs already.
for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

os.environ.setdefault("MUJOCO_GL", "egl")  # pictures without a display

# A shell in the background, or nohup, ignores these, and so would the programs under test.
for _signal, _default in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _default)

hypothesis.settings.register_profile("ordinary", derandomize=True, deadline=None)
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ordinary"))
"""The same draws every time; HYPOTHESIS_PROFILE=random draws others and prints how to draw a failure again."""

_BUSY = 0.005
"""Delay that a test of real time may blame, s: an idle machine wakes a sleeper within a tenth of it."""
_BUSY_SHARE = 0.05
"""Part of its time that such a test may have waited for a CPU."""
_PRESSED_SHARE = 0.8
"""Part of its time in which another process may have: the programs that it talks to are such."""


_TRACED = ("actuators", "controllers", "task_space")
"""Parts of the paths of tests by which coverage is counted; tracing the others costs a quarter of their time."""


def pytest_collection_modifyitems(config, items):
    """Campaigns come first, as they take minutes. Trace no tests but those of packages that promise a coverage."""
    items.sort(key=lambda item: "campaign" not in item.path.name)
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if not any(name in str(item.path.relative_to(config.rootpath)) for name in _TRACED):
                item.add_marker("no_cover")


def pytest_collection_finish(session):
    """Leave what is imported by now to no later collection of garbage: a sixth of the time of all tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """As `pytest_runtest_call`: what a test needs may need time too."""
    return (yield from _given_time(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test of real time that failed while this machine had no time for it, with numbers that show it."""
    return (yield from _given_time(item))


def _given_time(item):
    if item.get_closest_marker("real_time") is None:
        return (yield)
    begin, before, pressed = time.perf_counter(), _waited(), _pressure()
    try:
        return (yield)
    except Exception as error:
        lasted = time.perf_counter() - begin
        share, others = (_waited() - before) / lasted, (_pressure() - pressed) / lasted
        late = _lateness()
        if late < _BUSY and share < _BUSY_SHARE and others < _PRESSED_SHARE:
            raise
        what = (str(error).splitlines() or [""])[0][:100]
        pytest.skip(
            f"this machine was too busy: the test waited for a CPU in {share:.0%} of its time, some process in "
            f"{others:.0%}, a sleep of 1 ms ended {1e3 * late:.0f} ms late ({type(error).__name__}: {what})"
        )


def _waited():
    """Time that this thread was ready to run and had no CPU, s; 0 where the kernel does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError):
        return 0.0


def _pressure():
    """Time in which some process was ready to run and had no CPU, s; 0 where the kernel does not tell."""
    try:
        return int(Path("/proc/pressure/cpu").read_text().split("\n")[0].rpartition("total=")[2]) * 1e-6
    except (OSError, ValueError):
        return 0.0


def _lateness(seconds=1.0):
    """How late the latest of many short sleeps ends, s."""
    worst, end = 0.0, time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        time.sleep(0.001)
        worst = max(worst, time.perf_counter() - begin - 0.001)
    return worst


@pytest.fixture
def pliant(tmp_path):
    """Runs the command in a folder of its own, as a user would; returns the finished process."""

    def run(*arguments, cwd=tmp_path, timeout=900, **environment):
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
def quickly(verb):
    """As `pliant`, but in this process, which has imported what the command needs."""

    def run(name, *arguments):
        status, out, err = verb(name, *arguments)
        return subprocess.CompletedProcess([name, *arguments], status, out, err)

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
