"""Run experiments of the literature, beside what was published."""

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table

from pliant import command_line
from pliant.conf.build import build
from pliant.errors import ConfigurationError, require_extra, unknown_name
from pliant.experiments.documentation import write_docs
from pliant.experiments.experiment import Experiment
from pliant.experiments.reproduction import Result, experiment_names, run_experiments, verdict
from pliant.experiments.reproduction_report import write_metrics, write_report
from pliant.files import ensure_folder

_KEY = "experiment="
_STYLES = {"agrees": "green", "differs": "red", "–": "dim"}


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
    """Print every claim beside the paper's."""
    table = Table("experiment", "claim", "paper", "ours", "verdict", title="Reproduced")
    for result in results:
        name = result.name
        for claim in result.outcome.claims:
            word = verdict(claim.holds)
            table.add_row(name, claim.what, claim.paper, claim.ours, f"[{_STYLES[word]}]{word}[/]")
            name = ""
        table.add_section()
    console.print(table)


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
    command_line.run(job, "reproduce", overrides)


if __name__ == "__main__":
    main()
