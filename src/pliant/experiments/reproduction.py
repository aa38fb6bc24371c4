"""Running experiments of the literature, and what came of them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pliant.errors import PliantError
from pliant.experiments.experiment import Experiment, Outcome
from pliant.files import write_npz


@dataclass(frozen=True)
class Picture:
    """A figure or picture of an experiment."""

    file: str
    """`NAME_1.svg`, …"""
    content: bytes
    caption: str


@dataclass(frozen=True)
class Result:
    """An experiment that was run."""

    name: str
    experiment: Experiment
    outcome: Outcome
    settings: Mapping[str, Any]
    seconds: float
    pictures: list[Picture] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Number of claims that can be compared."""
        return sum(claim.holds is not None for claim in self.outcome.claims)

    @property
    def agreeing(self) -> int:
        """Number of claims that hold."""
        return sum(bool(claim.holds) for claim in self.outcome.claims)


Failures = Mapping[str, PliantError]
"""Why an experiment could not be run, by name."""


def verdict(holds: bool | None) -> str:
    """A claim's verdict in a word."""
    return "–" if holds is None else "agrees" if holds else "differs"


def experiment_names() -> tuple[str, ...]:
    """The experiments there are: the files of `conf/experiment`."""
    group = files("pliant.conf") / "experiment"
    return tuple(sorted(f.name.removesuffix(".yaml") for f in group.iterdir() if f.name.endswith(".yaml")))


def run_experiments(
    experiments: dict[str, Experiment], settings: dict[str, Any], folder: Path, console: Console
) -> tuple[list[Result], dict[str, PliantError]]:
    """Run the experiments and write each one's `data.npz`; one that cannot be run does not stop the others.

    Ctrl-C ends it early and keeps what was run.
    """
    results: list[Result] = []
    failures: dict[str, PliantError] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(experiments))
        for name, experiment in experiments.items():
            progress.update(task, description=name)
            start = time.perf_counter()
            try:
                outcome = experiment.run()
            except KeyboardInterrupt:
                if not results:
                    raise
                break
            except PliantError as error:
                failures[name] = error
                console.print(f"{name:12} [red]could not be run[/]: {error}", highlight=False)
            else:
                result = Result(name, experiment, outcome, settings[name], time.perf_counter() - start)
                results.append(result)
                write_npz(folder / name / "data.npz", outcome.arrays)
                console.print(
                    f"{name:12} {result.agreeing} of {result.compared} agree  {result.seconds:6.1f} s",
                    highlight=False,
                )
            progress.advance(task)
    return results, failures
