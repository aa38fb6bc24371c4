"""The report of a sweep: what was varied, what came of it, and which job did best."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pliant.errors import MissingExtraError, MissingFileError, unknown_name
from pliant.report import COLOURS, Ran, Report, figure, label
from pliant.training.sweeps import Job, text, varied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BETTER = {
    "reward_mean": 1.0,
    "success_rate": 1.0,
    "max_error_rad": -1.0,
    "rms_error_rad": -1.0,
    "iterations": -1.0,
}
"""The numbers that the verbs are judged by, the first one present counting, and whether more of it is better."""

_SHOWN = 6
"""Numbers beside the one that counts."""

_WIDE = 30.0
"""A parameter whose largest value is so many times its smallest is drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Sweep:
    """The jobs of a sweep and how they are judged."""

    folder: Path
    jobs: Sequence[Job]
    metric: str
    """The number that counts."""
    sign: float
    """1 if more of it is better, −1 if less."""

    @classmethod
    def of(cls, folder: Path, jobs: Sequence[Job], metric: str | None, sign: float | None) -> Self:
        """Return a sweep judged by a metric, by default by the verb's own.

        Raises:
            MissingFileError: the folder holds no jobs, or none that finished.
            UnknownNameError: no job has that number.
        """
        if not jobs:
            raise MissingFileError(f"{folder} is not the folder of a sweep: it holds no jobs.")
        numbers = list(dict.fromkeys(name for job in jobs for name in _numbers(job)))
        if not numbers:
            why = next((f" Job {job.name} failed: {job.failure}" for job in jobs if job.failure), "")
            raise MissingFileError(
                f"none of the {len(jobs)} jobs in {folder} has a metrics.json with a number yet.{why}"
            )
        chosen = metric or next((name for name in _BETTER if name in numbers), numbers[0])
        if chosen not in numbers:
            raise unknown_name("metric", chosen, numbers, str(folder))
        return cls(folder, jobs, chosen, _BETTER.get(chosen, 1.0) if sign is None else sign)

    @property
    def judged(self) -> list[Job]:
        """The jobs that have the number that counts, the best first."""
        found = [job for job in self.jobs if self.metric in _numbers(job)]
        return sorted(found, key=lambda job: -self.sign * float(job.metrics[self.metric]))

    @property
    def leaders(self) -> list[Job]:
        """The jobs with the best number, several where they are equal."""
        return [job for job in self.judged if job.metrics[self.metric] == self.judged[0].metrics[self.metric]]

    @property
    def best(self) -> Job | None:
        """The one job that is better than all others, if there is one."""
        leaders = self.leaders
        return leaders[0] if len(leaders) == 1 else None

    @property
    def verdict(self) -> str:
        """Which job is the best, or how many are equally good; nothing if none is finished."""
        leaders = self.leaders
        if not leaders:
            return ""
        value = f"best {self.metric}: {text(leaders[0].metrics[self.metric])}"
        if len(leaders) == 1:
            return f"{value}, job {leaders[0].name} ({self.settings(leaders[0])})"
        return f"{value}, equally in {len(leaders)} jobs: {', '.join(job.name for job in leaders)}"

    @property
    def robots(self) -> list[str]:
        """Names of the robots of the jobs."""
        return sorted({str(job.metrics["robot"]) for job in self.jobs if "robot" in job.metrics})

    @property
    def varied(self) -> list[str]:
        """What differs from job to job."""
        return varied(self.jobs)

    @property
    def numbers(self) -> list[str]:
        """The numbers to show: the one that counts, then others that differ from job to job."""
        names = dict.fromkeys(name for job in self.jobs for name in _numbers(job))
        finished = [job for job in self.jobs if job.metrics]
        told = {self.metric, *self.varied}  # a seed is both varied and in the metrics
        others = [n for n in names if n not in told and len({str(j.metrics.get(n)) for j in finished}) > 1]
        return [self.metric, *others[:_SHOWN]]

    def settings(self, job: Job) -> str:
        """What was varied, of one job, as on the command line."""
        return " ".join(f"{name}={job.overrides[name]}" for name in self.varied if name in job.overrides)


def write_report(sweep: Sweep, ran: Ran | None = None) -> Path | None:
    """Write `report.html` into the sweep's folder; returns its path, or None without the extra `report`."""
    lead = f"{len(sweep.judged)} of {len(sweep.jobs)} jobs have a result."
    if sweep.verdict:
        lead += f" {sweep.verdict[0].upper()}{sweep.verdict[1:]}."
    report = Report(f"Sweep {sweep.folder.name}", lead, ran)
    try:
        if len(sweep.judged) > 1 and sweep.varied:
            report.heading("What led where")
            _parallel_coordinates(report, sweep)
        curves = [(job, *curve) for job in sweep.judged if (curve := _curve(job, sweep.metric)) is not None]
        if curves:
            report.heading("Learning curves")
            _learning_curves(report, sweep, curves)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Jobs, the best first")
    unfinished = [job for job in sweep.jobs if job not in sweep.judged]
    rows = [_row(sweep, job) for job in (*sweep.judged, *unfinished)]
    settings = [label(name, sweep.varied) for name in sweep.varied]
    report.table(("job", *settings, *map(label, sweep.numbers)), rows)
    for job in sweep.jobs:
        if job.remark:
            report.text(f"Job {job.name}: {job.remark}")
    return report.save(sweep.folder / "report.html")


def _row(sweep: Sweep, job: Job) -> tuple[object, ...]:
    settings = (job.overrides.get(name, "") for name in sweep.varied)
    numbers = (job.metrics.get(name, job.state) for name in sweep.numbers)
    return (job.name, *settings, *numbers)


def _numbers(job: Job) -> Iterator[str]:
    for name, value in job.metrics.items():
        if isinstance(value, int | float) and math.isfinite(value):
            yield name


def _parallel_coordinates(report: Report, sweep: Sweep) -> None:
    jobs = list(reversed(sweep.judged))  # the best drawn last, on top
    values = np.array([float(job.metrics[sweep.metric]) for job in jobs])
    names = [*sweep.varied, sweep.metric]
    heights = np.column_stack([_heights([job.overrides.get(n, "") for job in jobs])[0] for n in sweep.varied])
    heights = np.column_stack([heights, _spread(values)])
    worth = _spread(sweep.sign * values)
    with figure(height=3.8) as (drawing, axes):
        (ax,) = axes.flat
        from matplotlib import colormaps

        colours = colormaps["viridis"](0.9 - 0.9 * worth)
        for k, line in enumerate(heights):
            top = jobs[k] is sweep.best
            ax.plot(
                range(len(names)), line, color=COLOURS[1] if top else colours[k], linewidth=3.0 if top else 1.2
            )
        for column, name in enumerate(sweep.varied):
            _, labels = _heights([job.overrides.get(name, "") for job in jobs])
            _label_axis(ax, column, labels)
        _label_axis(ax, len(names) - 1, [(0.0, text(float(values.min()))), (1.0, text(float(values.max())))])
        ax.set_xticks(range(len(names)), [label(name, sweep.varied) for name in names])
        ax.set(yticks=[], ylim=(-0.08, 1.08), xlim=(-0.2, len(names) - 0.6))
        ax.grid(visible=False)
        ax.spines["left"].set_visible(False)
        report.figure(
            drawing,
            f"Every line is a job, from what was set to the {label(sweep.metric)} it gave; the darker the better"
            f"{', the thick one is the best' if sweep.best else ''}.",
        )


def _label_axis(ax: "Axes", at: int, labels: Sequence[tuple[float, str]]) -> None:
    ax.axvline(at, color="black", linewidth=0.8)
    box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.0}
    for height, words in labels:
        ax.annotate(words, (at, height), (4, 0), textcoords="offset points", fontsize=8, va="center", bbox=box)


def _heights(settings: Sequence[str]) -> tuple[NDArray[np.float64], list[tuple[float, str]]]:
    """Where settings stand on an axis from 0 to 1, and its labels."""
    try:
        numbers = np.array([float(setting) for setting in settings])
    except ValueError:
        kinds = sorted(set(settings))
        places = _spread(np.arange(len(kinds), dtype=np.float64))
        at = dict(zip(kinds, places.tolist(), strict=True))
        return np.array([at[setting] for setting in settings]), [(at[kind], kind) for kind in kinds]
    wide = numbers.min() > 0.0 and numbers.max() > _WIDE * numbers.min()
    heights = _spread(np.log(numbers) if wide else numbers)
    distinct = dict(zip(numbers.tolist(), heights.tolist(), strict=True))
    chosen = sorted(distinct) if len(distinct) <= 6 else [numbers.min(), numbers.max()]
    return heights, [(distinct[number], f"{number:.3g}") for number in chosen]


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values moved and scaled to [0, 1]; ½ if they are all the same."""
    width = values.max() - values.min()
    return np.asarray((values - values.min()) / width if width > 0.0 else np.full_like(values, 0.5))


def _curve(job: Job, metric: str) -> tuple[str, str, Sequence[float], Sequence[float]] | None:
    """A job's learning curve: what is across, what is up, and the points. None if it has none."""
    evaluations = job.metrics.get("evaluations")
    if evaluations:
        shown = metric if metric in evaluations[0] else "reward_mean"
        return "environment steps", shown, [e["steps"] for e in evaluations], [e[shown] for e in evaluations]
    for name, values in job.metrics.items():
        if name.endswith("_per_iteration") and isinstance(values, list):
            points = [math.nan if value is None else float(value) for value in values]
            shown = name.removesuffix("_per_iteration")
            shown = metric if metric.startswith(f"{shown}_") else shown  # with its unit
            return "iteration", shown, range(1, len(points) + 1), points
    return None


def _learning_curves(report: Report, sweep: Sweep, curves: Sequence[tuple[Job, str, str, Any, Any]]) -> None:
    named = len(curves) <= len(COLOURS)
    with figure(height=3.6) as (drawing, axes):
        (ax,) = axes.flat
        for k, (job, across, up, x, y) in enumerate(curves):
            top = job is sweep.best
            colour = COLOURS[k] if named else COLOURS[1] if top else COLOURS[0]
            style = {"linewidth": 2.4 if top else 1.2, "alpha": 1.0 if top or named else 0.35, "zorder": 3 - top}
            ax.plot(x, y, color=colour, label=f"job {job.name}: {sweep.settings(job)}", **style)
            ax.set(xlabel=across, ylabel=label(up))
        if named:
            drawing.legend(loc="outside lower center", fontsize=8)
        caption = "The learning curve of every job"
        report.figure(drawing, f"{caption}; the thick one is the best." if sweep.best else f"{caption}.")
