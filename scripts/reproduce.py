"""Run experiments of the literature, beside what was published."""

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pliant import command_line
from pliant.conf.build import build
from pliant.conf.verb_help import asks_help
from pliant.errors import ConfigurationError, require_extra, unknown_name
from pliant.experiments.documentation import write_docs
from pliant.experiments.experiment import Experiment
from pliant.experiments.reproduction import HEADER, Result, experiment_names, headline, row, run_experiments
from pliant.experiments.reproduction_report import write_metrics, write_report
from pliant.files import ensure_folder

_KEY = "experiment="
_STYLES = {"agrees": "green", "differs": "red", "no verdict": "dim"}


def selected(text: str) -> list[str]:
    """The experiments that a selection names: `NAME`, `NAME,NAME`, `[NAME,NAME]` or `all`.

    Raises:
        UnknownNameError: there is no such experiment.
        ConfigurationError: none is named.
    """
    choices = experiment_names()
    names = [name.strip() for name in text.strip("[]'\" ").split(",") if name.strip()]
    if not names:
        raise ConfigurationError(f"experiment= names no experiment. Valid: all, {', '.join(choices)}.")
    for name in names:
        if name not in ("all", *choices):
            raise unknown_name("experiment", name, ("all", *choices))
    return list(choices) if "all" in names else list(dict.fromkeys(names))


def overrides(arguments: Sequence[str]) -> list[str]:
    """Turn the selection among a command line's arguments into Hydra's: one config file per experiment."""
    chosen = [argument.removeprefix(_KEY) for argument in arguments if argument.startswith(_KEY)]
    others = [argument for argument in arguments if not argument.startswith(_KEY)]
    names = selected(",".join(chosen) if chosen else "all")
    return [*(f"+experiment@experiments.{name}={name}" for name in names), *others]


def show(results: Sequence[Result], console: Console) -> None:
    """Print every claim beside what was published or predicted, and how many agree."""
    for result in results:
        table = Table(title=result.name, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in HEADER:
            table.add_column(name, overflow="fold")
        for claim in result.outcome.claims:
            *cells, word = row(claim)
            table.add_row(*map(escape, cells), f"[{_STYLES[word]}]{word}[/]")
        console.print(table)
    found = headline(results)
    console.print(f"{found[0].upper()}{found[1:]}.", highlight=False, soft_wrap=True)


def job(config: DictConfig) -> None:
    """Run the experiments chosen; write data, figures, `metrics.json`, `report.html` and, if asked, the docs."""
    console = Console()
    folder = command_line.run_folder()
    settings: Any = OmegaConf.to_container(config.experiments, resolve=True)
    experiments = {name: build(node, f"experiments.{name}") for name, node in config.experiments.items()}
    for name, experiment in experiments.items():
        if not isinstance(experiment, Experiment):
            raise ConfigurationError(f"experiments.{name} is a {type(experiment).__name__}, not an Experiment.")
    if config.docs is not None:  # told now, not after everything has run
        require_extra("matplotlib", "report", "the documentation's figures")
        ensure_folder(config.docs)
    results, failures = run_experiments(experiments, settings, folder, console)
    write_metrics(folder, results, failures)
    if failures and not results:
        raise next(iter(failures.values()))
    with console.status("drawing"):
        report = write_report(folder, results, failures, command_line.ran(""))
        if config.docs is not None:
            write_docs(Path(config.docs), results)
    show(results, console)
    console.print(f"results in {folder}; report: {report}", soft_wrap=True)
    missing = [name for name in experiments if name not in failures and name not in {r.name for r in results}]
    if missing:
        raise KeyboardInterrupt(f"not run: {', '.join(missing)}; {folder} has the others.")
    if config.report.open:
        webbrowser.open(report.resolve().as_uri())
    if failures:
        raise next(iter(failures.values()))


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "reproduce", lambda words: words if asks_help(words) else overrides(words))


if __name__ == "__main__":
    main()
