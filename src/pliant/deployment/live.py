"""What a person sees while a machine runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from pliant.hardware.robot import Array

_REFRESH = 0.2


class Live:
    """Shows how a run goes without holding it up."""

    def __init__(self, progress: Progress, duration: float | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=duration, text="")
        self._next = 0.0

    def __call__(self, t: float, text: str) -> None:
        """Show a text at `t` s of the run; most calls do nothing."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REFRESH
            self._progress.update(self._task, completed=t, text=text, refresh=True)


@contextmanager
def live(console: Console, duration: float | None = None) -> Iterator[Live]:
    """A line that is refreshed a few times a second, by the loop itself; without a bar if the end is open."""
    columns: list[ProgressColumn] = [] if duration is None else [BarColumn()]
    columns += [TextColumn("{task.completed:5.1f} s  {task.fields[text]}"), TimeElapsedColumn()]
    shown = console.is_terminal
    with Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not shown) as progress:
        yield Live(progress, duration)


def error_text(error: Array) -> str:
    """Say the error of every joint, (joints,), rad."""
    return f"error {'  '.join(f'{e:+.3f}' for e in error)} rad"
