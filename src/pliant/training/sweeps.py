"""The summary of a sweep: one table of what was varied and what came of it."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from pliant.files import write_bytes, write_json


class Job(NamedTuple):
    """One job of a sweep."""

    name: str
    overrides: dict[str, str]
    """What was asked of it."""
    metrics: dict[str, Any]
    """What came of it; empty if it failed."""


def collect(folder: Path) -> list[Job]:
    """The jobs of a sweep, in order."""
    found = []
    jobs = [path for path in folder.iterdir() if (path / ".hydra" / "overrides.yaml").is_file()]
    for job in sorted(jobs, key=lambda path: (len(path.name), path.name)):
        overrides: Any = OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))
        pairs = {key: value for key, _, value in (str(override).partition("=") for override in overrides)}
        metrics = job / "metrics.json"
        found.append(Job(job.name, pairs, json.loads(metrics.read_text()) if metrics.is_file() else {}))
    return found


def varied(jobs: Sequence[Job]) -> list[str]:
    """Return the settings that differ from job to job; all of them if none does."""
    names = list(dict.fromkeys(name for job in jobs for name in job.overrides))
    return [name for name in names if len({job.overrides.get(name) for job in jobs}) > 1] or names


class SweepSummary(Callback):
    """Hydra callback that sums a multirun up: printed, and as `summary.csv` and `summary.json` in its folder."""

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
        table = Table(*names, title=f"Sweep {folder}")
        for row in rows:
            table.add_row(*(_text(row.get(name, "failed")) for name in names))
        Console().print(table)
        write_json(folder / "summary.json", [job._asdict() for job in jobs])
        write_bytes(folder / "summary.csv", _csv(names, rows))


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _csv(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
