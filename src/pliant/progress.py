"""How far long work is, and how much longer it takes: one line on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 30.0
"""Time between two lines where the output is no terminal, s."""


class Steps:
    """Work of so many steps, of which some are done."""

    def __init__(self, console: "Console", what: str, total: float, shown: Any, lines: bool) -> None:
        """Begin; see `progress`."""
        self._console, self._what, self.total, self._lines = console, what, total, lines
        self._shown, self._begin = shown, time.monotonic()
        self._task = None if shown is None else shown.add_task(what, total=total, note="")
        self._due = self._begin + EVERY
        self.done = 0.0

    def advance(self, steps: float = 1.0, note: str = "") -> None:
        """Note that further steps are done."""
        self.reach(self.done + steps, note)

    def reach(self, done: float, note: str = "") -> None:
        """Note how many steps are done, and say something of it."""
        self.done = done
        if self._shown is not None:
            self._shown.update(self._task, completed=done, note=note)
            return
        now = time.monotonic()
        if self._lines and now >= self._due and done < self.total:
            self._due = now + EVERY
            told = f"{self._what}: {done / self.total:.0%}, about {remaining_text(self.remaining(now))} left"
            self._console.print(told, highlight=False, markup=False, soft_wrap=True)

    def remaining(self, now: float) -> float:
        """Return how much longer it takes if it goes on as it went, s; infinite before the first step."""
        return (now - self._begin) * (self.total - self.done) / self.done if self.done > 0.0 else float("inf")


def remaining_text(seconds: float) -> str:
    """Say a time in words that are short and no more exact than a guess is."""
    if seconds == float("inf"):
        return "an unknown time"
    if seconds < 90.0:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60.0)} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


@contextmanager
def progress(
    console: "Console", what: str, total: float, *, unit: str = "", lines: bool = True
) -> Iterator[Steps]:
    """Show how far work is while it goes on; the line on a terminal is gone afterwards.

    Args:
        console: where.
        what: is done.
        total: number of steps.
        unit: of them, in the plural; empty: a share is shown.
        lines: whether to say something now and then where the console is no terminal.
    """
    if not console.is_terminal:
        yield Steps(console, what, total, None, lines)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    count = (MofNCompleteColumn(), TextColumn(unit)) if unit else (TaskProgressColumn(),)
    columns = (TextColumn("{task.description}"), BarColumn(None), *count, TextColumn("{task.fields[note]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as shown:
        yield Steps(console, what, total, shown, lines)
