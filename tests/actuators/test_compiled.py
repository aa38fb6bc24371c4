"""Compiling that takes a while is told while it happens, once; what is quick or kept is not, and is done once."""

import subprocess
import sys
import threading
from typing import NamedTuple

import pytest

from pliant.actuators.compiled import CompilationNotice


class Event(NamedTuple):
    """As of Numba, of the same two properties."""

    is_start: bool

    @property
    def is_end(self):
        return not self.is_start


START, END = Event(True), Event(False)


@pytest.fixture
def notice():
    """One of no patience at all, and the event of its telling."""
    told = threading.Event()
    before = CompilationNotice._installed
    found = CompilationNotice(told.set, 1e-3)
    found.install()
    yield found, told
    CompilationNotice._installed = before


def test_it_is_told_while_functions_within_functions_are_being_compiled(notice):
    found, told = notice
    found.notify(START)
    found.notify(START)
    assert told.wait(60.0)
    found.notify(END)
    found.notify(END)


def test_it_is_told_once(notice):
    found, told = notice
    found.notify(START)
    assert told.wait(60.0)
    found.notify(END)
    told.clear()
    found.notify(START)
    assert found._timer is None
    found.notify(END)
    assert not told.is_set()


def test_what_is_over_in_time_is_not_told(notice):
    _, told = notice
    patient = CompilationNotice(told.set, 3600.0)
    patient.install()
    for _ in range(3):
        patient.notify(START)
        timer = patient._timer
        patient.notify(END)
        assert timer.finished.is_set()
    assert 3599.0 < patient._left < 3600.0
    assert not told.is_set()


def test_a_notice_that_another_has_replaced_is_silent(notice):
    found, _ = notice
    CompilationNotice(lambda: None).install()
    found.notify(START)
    assert found._timer is None


PROGRAM = """
from pliant.actuators.compiled import CompilationNotice, compiled
from pliant.controllers.task_space.standstill import calm
import numpy as np
CompilationNotice(lambda: print("compiling", flush=True), 1e-3).install()
calm_compiled = compiled(calm)
for _ in range(2):
    one = np.ones(1)
    two = np.zeros(2)
    calm_compiled(np.ones((1, 2)), np.zeros((1, 0)), one, one, one, two, two, 0.1)
print("done")
"""


@pytest.mark.slow
def test_numba_tells_the_first_time_and_not_where_the_cache_has_it(tmp_path, root, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    ran = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=root
        ).stdout
        for _ in range(2)
    ]
    assert ran == ["compiling\ndone\n", "done\n"]


SHARED = """
from numba.core.event import Listener, register

from pliant.actuators.compiled import compiled, share


class Listening(Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


def inner(x):
    return 2.0 * x


def outer(x):
    return inner(x) + 1.0


def other(x):
    return inner(x) - 1.0


register("numba:compile", Listening())
share(inner)
assert (compiled(inner)(2.0), compiled(outer)(2.0), compiled(other)(2.0)) == (4.0, 5.0, 3.0)
"""


@pytest.mark.slow
def test_what_is_shared_is_compiled_once_for_all_that_call_it(tmp_path, root, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    program = tmp_path / "shared.py"

    def ran(text):
        program.write_text(text)
        return subprocess.run(
            [sys.executable, program], capture_output=True, text=True, check=True, cwd=root
        ).stdout.split()

    assert ran(SHARED) == ["inner", "outer", "other"]
    assert ran(SHARED) == []
    assert ran(SHARED.replace("- 1.0", "- 2.0 + 1.0")) == ["inner", "outer", "other"]  # of a file that was changed
