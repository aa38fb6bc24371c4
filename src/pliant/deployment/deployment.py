"""What all deployments share: the machine's way from connection to release, what is shown, and numbers."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from pliant.controllers import Observer, Rows, run
from pliant.errors import ConfigurationError, MissingExtraError, PliantError
from pliant.hardware.driver import Driver
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.recording import NoRecorder, Recorder, Timing
from pliant.hardware.robot import Array, State
from pliant.hardware.safety import SafeRobot
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.wrapper import unwrapped
from pliant.report import Ran

_REFRESH = 0.2
"""Time between two looks at a run, s."""


class Deployment(ABC):
    """Something learned that fits a machine, and what comes of playing it there."""

    def __init__(self, robot: SafeRobot, facts: Mapping[str, str]) -> None:
        """Note what is deployed; nothing is connected.

        Args:
            robot: the machine behind its safety layer.
            facts: what is deployed, for the recording.
        """
        known = {"estimated": ", ".join(sorted(robot.estimated))} if robot.estimated else {}
        self.robot, self.facts = robot, {**facts, **known}
        self.info = robot.info
        """What is recorded."""
        self.reason = "completed"
        """`completed`, or what ended it early."""
        self.ran: Ran | None = None
        """What the report's head says."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether everything was played to its end."""

    @abstractmethod
    def play(self, recorder: Recorder, console: Console) -> None:
        """Play it on the connected machine; Ctrl-C ends this early without an error."""

    @abstractmethod
    def finish(self, folder: Path, console: Console) -> tuple[dict[str, Any], Path | None]:
        """Write metrics and report, however far it came; returns the numbers and the report's file."""

    def run(self, recorder: Recorder, console: Console) -> None:
        """Connect, play, walk back to rest and release, noting in `reason` how far it came."""
        # What is played is recorded as it is played; this is what lies between.
        self.robot.observer = recorder.walk
        self.robot.listener = lambda notice: recorder.event("warning", notice)
        try:
            with self.robot:
                self.play(recorder, console)
        except BaseException as error:
            self.reason = str(error) if isinstance(error, PliantError) else f"ended by {type(error).__name__}"
            raise
        finally:
            if self.reason == "completed" and not self.complete:
                self.reason = "interrupted"
            recorder.event("info" if self.reason == "completed" else "warning", self.reason)


def recorder_of(deployment: Deployment, path: Path, kind: str, console: Console) -> Recorder:
    """Return what records a deployment on a kind of hardware; a simulated one runs without the package for it."""
    try:
        return Recorder(path, deployment.info, deployment.facts)
    except MissingExtraError as error:
        if kind != "simulated":
            raise
        console.print(f"not recorded: {error}", soft_wrap=True, markup=False)
        return NoRecorder()


def check_measured(robot: SafeRobot, state: State | None = None) -> None:
    """Raise `ConfigurationError` if the position of a joint is not measured.

    Args:
        robot: the machine; need not be connected.
        state: what it reads; None: what it says of itself.
    """
    if state is None:
        unknown = [name for name in robot.info.joints if f"{name}/position" in robot.unmeasured]
    else:
        unknown = [name for name, q in zip(robot.info.joints, state.position, strict=True) if not np.isfinite(q)]
    if unknown:
        raise ConfigurationError(
            f"nothing measures the position of joint {', '.join(unknown)}; give its link an encoder "
            f"(robot.machine.encoders: {{{unknown[0]}: ID}})."
        )


def stand(robot: SafeRobot, command: Array | None, seconds: float, recorder: Recorder | None = None) -> None:
    """Walk to a command (None: the resting one) and stand there for a while, recorded as walking.

    A robot that does not walk (`SafeRobot.walks`) gets the command for one period: it has begun to be driven then.

    Raises:
        ConfigurationError: the position of a joint is not measured. Others: as `SafeRobot.walk_to`.
    """
    wanted = robot.info.rest if command is None else command
    check_measured(robot, robot.read())
    robot.reset(command=wanted)
    watched: list[Observer] = []
    if recorder is not None:
        watched = [lambda state, sent: recorder.walk(state, wanted, sent)]
    run(robot, Rows(wanted[None]), seconds if robot.walks else robot.info.period, watched)


def timing(robot: SafeRobot) -> Timing:
    """Return what went wrong on a machine since it was connected."""
    driver = unwrapped(robot.robot)
    if isinstance(driver, DynamixelRobot):
        return Timing(driver.overruns, robot.report.missed_reads, driver.counters.retries)
    if isinstance(driver, URRobot | Driver):
        return Timing(driver.overruns, robot.report.missed_reads, 0)
    return Timing(robot.report.overruns, robot.report.missed_reads, 0)


def machine_numbers(robot: SafeRobot, times: Iterable[ArrayLike]) -> dict[str, Any]:
    """Return what is told of every machine: its beat, what went wrong, and what the safety layer did.

    Args:
        robot: the machine.
        times: of the rows of every run, each (n,), s; NaN where a run was cut short.
    """
    measured = np.concatenate([np.zeros(0), *(np.diff(np.asarray(rows, dtype=np.float64)) for rows in times)])
    measured = measured[np.isfinite(measured)]
    return {
        "period_seconds": float(measured.mean()) if measured.size else None,
        "longest_period_seconds": float(measured.max()) if measured.size else None,
        "nominal_period_seconds": robot.info.period,
        **timing(robot)._asdict(),
        "limited": robot.report.limited,
        "trips": list(robot.report.trips),
    }


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
