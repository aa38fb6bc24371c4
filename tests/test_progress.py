import io

import pytest
from rich.console import Console

from pliant import progress as module
from pliant.progress import EVERY, Steps, progress, remaining_text


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now)
    return Clock


def console(*, terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


def test_elsewhere_than_on_a_terminal_a_line_comes_now_and_then(clock):
    out = console(terminal=False)
    with progress(out, "searching", 100.0) as steps:
        for _ in range(100):
            clock.now += 1.0
            steps.advance()
    lines = out.file.getvalue().splitlines()
    assert len(lines) == 100 // EVERY
    assert lines[0] == "searching: 30%, about 70 s left"


def test_short_work_says_nothing(clock):
    out = console(terminal=False)
    with progress(out, "searching", 10.0) as steps:
        steps.advance(10.0)
    with progress(out, "searching", 100.0, lines=False) as steps:
        clock.now += 10.0 * EVERY
        steps.advance()
    assert out.file.getvalue() == ""


def test_what_is_left_goes_by_what_was_done(clock):
    steps = Steps(console(terminal=False), "work", 8.0, None, True)
    assert steps.remaining(clock.now) == float("inf")
    clock.now += 6.0
    steps.reach(2.0)
    assert steps.remaining(clock.now) == pytest.approx(18.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89.0, "89 s"), (95.0, "2 min"), (3000.0, "50 min"), (9000.0, "2.5 h")],
)
def test_times_are_said_shortly(seconds, text):
    assert remaining_text(seconds) == text


def test_a_terminal_shows_a_bar_that_is_gone_afterwards():
    out = console(terminal=True)
    with progress(out, "searching", 4, unit="gaits") as steps:
        steps.advance(note="best 0.3 m/s")
    written = out.file.getvalue()
    assert "searching" in written
    assert "1/4" in written
    assert "best 0.3 m/s" in written
    assert written.rstrip().endswith("\x1b[2K")
