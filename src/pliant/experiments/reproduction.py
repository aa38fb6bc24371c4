"""Running experiments of the literature, and what came of them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pliant.errors import PliantError
from pliant.experiments.experiment import Claim, Experiment, Outcome, Source
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


Failures = Mapping[str, PliantError]
"""Why an experiment could not be run, by name."""

HEADER = ("claim", "published", "predicted", "ours", "tolerance", "verdict")
"""Columns of a table of claims."""


def row(claim: Claim) -> tuple[str, ...]:
    """A claim in the columns of `HEADER`; a statement in words is marked as one."""
    said = f"{claim.published} (in words)" if claim.source is Source.VERBAL else claim.published
    return claim.what, said, claim.predicted, claim.ours, claim.tolerance, claim.verdict


class Tally(NamedTuple):
    """How many claims of one source have a verdict, and how many of them agree."""

    agreeing: int
    judged: int


def tally(results: Sequence[Result]) -> dict[Source, Tally]:
    """Count the verdicts by what the claims are compared with."""
    claims = [claim for result in results for claim in result.outcome.claims if claim.holds is not None]
    return {
        source: Tally(
            sum(bool(claim.holds) for claim in claims if claim.source is source),
            sum(claim.source is source for claim in claims),
        )
        for source in Source
    }


def headline(results: Sequence[Result]) -> str:
    """Say how many claims agree: published numbers, and apart from them predictions and statements in words."""
    counts = tally(results)
    numbers, predictions, words = (counts[source] for source in Source)
    first = (
        f"{numbers.agreeing} of {numbers.judged} published numbers within their tolerance"
        if numbers.judged
        else "no published number to compare with"
    )
    others = [(predictions, "predictions"), (words, "verbal claims")]
    return "; ".join([first, *(f"{n.agreeing} of {n.judged} {what}" for n, what in others if n.judged)])


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
                console.print(f"{name:16} {result.seconds:6.1f} s  {headline([result])}", highlight=False)
            progress.advance(task)
    return results, failures
