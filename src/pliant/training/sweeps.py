"""Sweeps and searches: what was varied and what came of it, and the callbacks that Hydra calls around them."""

import csv
import io
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from pliant.command_line import FAILURE
from pliant.errors import FileFormatError, require_extra
from pliant.files import write_bytes, write_json
from pliant.progress import remaining_text
from pliant.report import label

if TYPE_CHECKING:
    from rich.console import Console


class Job(NamedTuple):
    """One job of a sweep."""

    name: str
    overrides: dict[str, str]
    """What was asked of it."""
    metrics: dict[str, Any]
    """What came of it; empty if it failed."""
    failure: str = ""
    """Why it failed."""

    @property
    def state(self) -> str:
        """Word for a number that it does not have."""
        return "–" if self.metrics else "failed" if self.failure else "unfinished"

    @property
    def remark(self) -> str:
        """Why it failed, or did not reach what it was to learn; else nothing."""
        if self.failure:
            return self.failure
        return str(self.metrics.get("detail", "")) if self.metrics.get("converged") is False else ""


def collect(folder: Path) -> list[Job]:
    """The jobs of a sweep, in order. Raises `FileFormatError` where one of their files is damaged."""
    found = []
    jobs = [path for path in folder.iterdir() if (path / ".hydra" / "overrides.yaml").is_file()]
    for job in sorted(jobs, key=lambda path: (len(path.name), path.name)):
        try:
            overrides: Any = OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))
            numbers, failure = _read(job / "metrics.json"), str(_read(job / FAILURE).get("error", ""))
        except Exception as error:  # YAML and OmegaConf fail in ways of their own
            raise FileFormatError(f"the job {job} cannot be read: {' '.join(str(error).split())}.") from error
        pairs = {key: value for key, _, value in (str(override).partition("=") for override in overrides)}
        found.append(Job(job.name, pairs, numbers, failure))
    return found


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def varied(jobs: Sequence[Job]) -> list[str]:
    """Return the settings that differ from job to job; all of them if none does."""
    names = list(dict.fromkeys(name for job in jobs for name in job.overrides))
    return [name for name in names if len({job.overrides.get(name) for job in jobs}) > 1] or names


def text(value: Any) -> str:
    """Return a number with four digits, anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_jobs(
    console: "Console", title: str, jobs: Sequence[Job], names: Sequence[str], best: Job | None = None
) -> None:
    """Print jobs as a table, and below it why those that failed did.

    Args:
        console: where; numbers that it is too narrow for are left out, and named.
        title: of the table.
        jobs: its rows.
        names: of numbers, beside what was varied, the most important first.
        best: stands out.
    """
    from rich.table import Table
    from rich.text import Text

    settings = varied(jobs)
    columns = [["job", *(job.name for job in jobs)]]
    columns += [[label(name, settings), *(job.overrides.get(name, "") for job in jobs)] for name in settings]
    room, left_out = console.width - 1 - sum(map(_width, columns)), []
    for name in names:
        column = [label(name), *(text(job.metrics.get(name, job.state)) for job in jobs)]
        room -= _width(column)
        if room >= 0:
            columns.append(column)
        else:
            left_out.append(name)
    table = Table(title=title)
    tight = 1 + sum(3 + max(map(len, column)) for column in columns) > console.width
    for column in columns:
        needed = min(_width(column) - 3, console.width // 2)
        table.add_column(column[0], overflow="fold", min_width=needed, max_width=needed if tight else None)
    for job, *cells in zip(jobs, *(column[1:] for column in columns), strict=True):
        table.add_row(*cells, style="bold green" if job is best else None)
    console.print(table)
    if left_out:
        console.print(Text(f"too wide for this terminal: {', '.join(left_out)}"), soft_wrap=True)
    for job in jobs:
        if job.remark:
            console.print(Text(f"job {job.name}: {job.remark}"), soft_wrap=True)


def _width(column: Sequence[str]) -> int:
    """Characters of a table that a column needs, its heading broken between words."""
    heading, *cells = column
    return 3 + max(len(word) for word in (*heading.split(), *cells))


class SweepSummary(Callback):
    """Hydra callback that sums a multirun up: printed, and as `summary.csv` and `summary.json` in its folder.

    Ends with status 1 if a job failed.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        """Choose the metrics to show beside what was varied."""
        self._columns = list(columns)

    def on_job_end(self, config: DictConfig, job_return: Any, **kwargs: Any) -> None:
        """Say how many jobs of a sweep are done, and how much longer the others take if they are alike."""
        if not str(config.hydra.mode).endswith("MULTIRUN"):
            return
        folder = Path(config.hydra.sweep.dir)
        total = _asked(config, folder)
        done = sum((job / name).is_file() for job in folder.iterdir() for name in ("metrics.json", FAILURE))
        if total is None or not 0 < done < total:
            return
        begun = min((job / ".hydra").stat().st_mtime for job in folder.iterdir() if (job / ".hydra").is_dir())
        left = (time.time() - begun) * (total - done) / done
        print(f"{done} of {total} jobs done, about {remaining_text(left)} left", flush=True)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Write and print the table."""
        from rich.console import Console

        folder = Path(config.hydra.sweep.dir)
        jobs = collect(folder)
        show_jobs(Console(), f"Sweep {folder}", jobs, self._columns)
        rows = [{"job": job.name, **job.metrics, **job.overrides, "failure": job.failure} for job in jobs]
        write_json(folder / "summary.json", [job._asdict() for job in jobs])
        write_bytes(folder / "summary.csv", _csv(["job", *varied(jobs), *self._columns, "failure"], rows))
        searched = "optuna" in str(config.hydra.sweeper._target_)  # whose trials may fail
        if not searched and any(job.failure or not job.metrics for job in jobs):
            raise SystemExit(1)


class ResumableSearch(Callback):
    """Hydra callback that lets an Optuna search with a storage go on where it was killed.

    Optuna's file remembers the trials, the sweeper does not: it would try `n_trials` more, number its jobs from 0
    into the folders of the earlier ones, and begin its random sequence again.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Give up the trials that were running when the search died, and plan the rest."""
        sweeper = config.hydra.sweeper
        if sweeper.get("storage") is None or sweeper.get("study_name") is None:
            return
        folder = Path(config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)  # the file's place, before the first job makes it
        done, starts = _finished_trials(sweeper.storage, sweeper.study_name), _starts(folder)
        if starts == 0:
            return
        with read_write(config.hydra), open_dict(config.hydra):
            sweeper.n_trials = max(int(sweeper.n_trials) - done, 0)
            if sweeper.sampler.get("seed") is not None:
                sweeper.sampler.seed = int(sweeper.sampler.seed) + done
            subdir = f"start{starts + 1}_${{hydra.job.num}}"
            config.hydra.overrides.hydra.append(f"hydra.sweep.subdir={subdir}")


def _asked(config: DictConfig, folder: Path) -> int | None:
    """How many jobs a sweep has in all; None where nothing says so."""
    if (trials := config.hydra.sweeper.get("n_trials")) is not None:
        return int(trials)
    file = folder / "multirun.yaml"
    if not file.is_file():
        return None
    words = [str(word) for word in OmegaConf.load(file).hydra.overrides.task]
    parsed = OverridesParser.create().parse_overrides(words)
    swept = [override for override in parsed if override.is_sweep_override()]
    return math.prod(sum(1 for _ in override.sweep_string_iterator()) for override in swept)


def _csv(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _finished_trials(storage: str, name: str) -> int:
    """Number of trials that gave a value. Those that were cut off are marked as failed."""
    optuna = require_extra("optuna", "sweep", "a search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        return 0
    for trial in study.get_trials(deepcopy=False):
        if not trial.state.is_finished():
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.get_trials(deepcopy=False))


def _starts(folder: Path) -> int:
    """How many times the search was started that got as far as a job."""
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    later = {name.partition("_")[0] for name in names if name.startswith("start")}
    return len(later) + any(name.isdigit() for name in names)
