"""Run what was learned on a machine: simulated, emulated or real."""

import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pliant.conf.build import build
from pliant.controllers import FeedForward, IterativeLearning
from pliant.controllers.trajectories import Motion
from pliant.errors import ConfigurationError, PliantError
from pliant.files import write_json
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array
from pliant.hardware.safety import SafeRobot
from pliant.hardware.stopping import StopKey
from pliant.scripts import _app
from pliant.scripts._deploy_report import write_report
from pliant.scripts._deployment import Continued, MachineTrials, Outcome, checked, metrics

_REFRESH = 0.2


class LiveError:
    """Shows the error of every joint while the machine runs, without holding it up."""

    def __init__(self, progress: Progress, duration: float) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=duration, error="")
        self._next = 0.0

    def __call__(self, t: float, error: Array) -> None:
        """Show the error, (joints,), rad, at `t` s; most calls do nothing."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REFRESH
            text = "  ".join(f"{e:+.3f}" for e in error)
            self._progress.update(self._task, completed=t, error=f"error {text} rad", refresh=True)


@contextmanager
def live_error(console: Console, duration: float) -> Iterator[LiveError]:
    """A line with time and error that is refreshed a few times a second, by the loop itself."""
    columns = (BarColumn(), TextColumn("{task.completed:5.1f} s  {task.fields[error]}"), TimeElapsedColumn())
    shown = console.is_terminal
    with Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not shown) as progress:
        yield LiveError(progress, duration)


def learning_of(config: DictConfig, trials: MachineTrials, feedforward: FeedForward) -> IterativeLearning:
    """The learning whose first trial is the feed-forward as it is."""
    desired, columns = feedforward.desired, trials.columns
    assert desired is not None
    motion = Motion(feedforward.time, desired, np.gradient(desired, feedforward.period, axis=0))
    return IterativeLearning(
        Continued(build(config.ilc, "ilc"), feedforward.command[:, columns]),
        motion,
        trials,
        config.learning.tolerance,
        1 + int(config.learning.trials),
        trials.low,
        trials.high,
    )


def run(config: DictConfig, safe: SafeRobot, outcome: Outcome, recorder: Recorder, console: Console) -> None:
    """Connect, run, walk back to rest and release, noting in `outcome` how far it came."""
    feedforward, settings = outcome.feedforward, config.run
    with live_error(console, feedforward.duration) as show:
        try:
            with safe:
                columns = config.learning.columns
                trials = MachineTrials(safe, feedforward, recorder, show, float(settings.settle), columns)
                outcome.runs = trials.runs
                for trial in learning_of(config, trials, feedforward):
                    console.print(
                        f"run {trial.iteration}: largest error {trial.max_error:.4f} rad", highlight=False
                    )
        except BaseException as error:
            outcome.reason = str(error) if isinstance(error, PliantError) else f"ended by {type(error).__name__}"
            raise
        finally:
            if outcome.reason == "completed" and not all(r.complete for r in outcome.runs):
                outcome.reason = "interrupted"


def finish(
    folder: Path, safe: SafeRobot, outcome: Outcome, console: Console
) -> tuple[dict[str, Any], Path | None]:
    """Write what was learned, metrics and report, whatever became of the runs."""
    numbers: dict[str, Any] = dict(metrics(outcome, safe))
    complete = [r for r in outcome.runs if r.complete]
    if len(complete) > 1:
        best = complete[int(np.argmin(numbers["max_error_per_run_rad"]))]
        FeedForward.of_robot(
            safe.info, best.asked, desired=outcome.feedforward.desired, expected=best.position
        ).save(folder / "feedforward.npz")
    write_json(folder / "metrics.json", numbers)
    report = write_report(folder, outcome, safe.info, numbers) if outcome.runs else None
    if numbers["max_error_rad"] is not None:
        predicted = numbers["predicted_max_error_rad"]
        beside = "" if predicted is None else f" (simulation: {predicted:.4f} rad)"
        console.print(f"largest error {numbers['max_error_rad']:.4f} rad{beside}; results in {folder}")
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)
    return numbers, report


def job(config: DictConfig) -> dict[str, Any]:
    """Deploy, and write `recording.mcap`, `metrics.json` and `report.html` into the run's folder."""
    if OmegaConf.is_missing(config, "feedforward"):
        raise ConfigurationError("feedforward=FILE is needed: the feedforward.npz of a run of pliant ilc.")
    console, folder = Console(), _app.run_folder()
    learned = FeedForward.load(config.feedforward)
    robot = build(config.hardware, "hardware")
    with StopKey(config.run.stop_keys) as stop_key:
        safe = SafeRobot(robot, build(config.safety, "safety"), stop_key)
        outcome = Outcome(checked(learned, safe.info, safe.limits))
        facts = {"feedforward": str(config.feedforward), "learned_on": learned.robot}
        with Recorder(folder / "recording.mcap", safe.info, facts) as recorder:
            try:
                run(config, safe, outcome, recorder, console)
            finally:
                recorder.event("info" if outcome.reason == "completed" else "warning", outcome.reason)
                numbers, report = finish(folder, safe, outcome, console)
    if report is not None and config.report.open:
        webbrowser.open(report.resolve().as_uri())
    if outcome.reason == "interrupted":
        raise SystemExit(130)
    return numbers


def main() -> None:
    """Run the verb on the command line's arguments."""
    _app.run(job, "deploy")


if __name__ == "__main__":
    main()
