"""Sweeps and searches: what was varied and what came of it, and the callbacks that Hydra calls around them."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from pliant.errors import FileFormatError, require_extra
from pliant.files import write_bytes, write_json


class Job(NamedTuple):
    """One job of a sweep."""

    name: str
    overrides: dict[str, str]
    """What was asked of it."""
    metrics: dict[str, Any]
    """What came of it; empty if it failed."""


def collect(folder: Path) -> list[Job]:
    """The jobs of a sweep, in order. Raises `FileFormatError` where one of their files is damaged."""
    found = []
    jobs = [path for path in folder.iterdir() if (path / ".hydra" / "overrides.yaml").is_file()]
    for job in sorted(jobs, key=lambda path: (len(path.name), path.name)):
        metrics = job / "metrics.json"
        try:
            overrides: Any = OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))
            numbers = dict(json.loads(metrics.read_text("utf-8"))) if metrics.is_file() else {}
        except Exception as error:  # YAML and OmegaConf fail in ways of their own
            raise FileFormatError(f"the job {job} cannot be read: {' '.join(str(error).split())}.") from error
        pairs = {key: value for key, _, value in (str(override).partition("=") for override in overrides)}
        found.append(Job(job.name, pairs, numbers))
    return found


def varied(jobs: Sequence[Job]) -> list[str]:
    """Return the settings that differ from job to job; all of them if none does."""
    names = list(dict.fromkeys(name for job in jobs for name in job.overrides))
    return [name for name in names if len({job.overrides.get(name) for job in jobs}) > 1] or names


class SweepSummary(Callback):
    """Hydra callback that sums a multirun up: printed, and as `summary.csv` and `summary.json` in its folder.

    Ends with status 1 if a job failed.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        """Choose the metrics to show beside what was varied."""
        self._columns = list(columns)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Write and print the table."""
        from rich.console import Console
        from rich.table import Table

        folder = Path(config.hydra.sweep.dir)
        jobs = collect(folder)
        names = ["job", *varied(jobs), *self._columns]
        rows = [{"job": job.name, **job.metrics, **job.overrides} for job in jobs]
        table = Table(title=f"Sweep {folder}")
        for name in names:
            table.add_column(name, overflow="fold")  # whole names, however narrow the terminal
        for row in rows:
            table.add_row(*(_text(row.get(name, "failed")) for name in names))
        Console().print(table)
        write_json(folder / "summary.json", [job._asdict() for job in jobs])
        write_bytes(folder / "summary.csv", _csv(names, rows))
        searched = "optuna" in str(config.hydra.sweeper._target_)  # whose trials may fail
        if not searched and not all(job.metrics for job in jobs):
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


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
