"""The report of `pliant evaluate`: rewards, success rates, and the episodes worth looking at."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Report, figure
from pliant.training.evaluation import Episode, hardest

Conditions = Mapping[str, Sequence[Episode]]
"""Episodes by the condition they were run under."""


def write_report(
    folder: Path, policy: str, conditions: Conditions, found: Mapping[str, dict[str, Any]]
) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing."""
    report = Report(f"Evaluation of {policy}", "; ".join(f"{name}: {rate(found[name])}" for name in conditions))
    try:
        report.heading("Rewards")
        _rewards(report, conditions)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    quantities = list(next(iter(found.values())))
    report.table(("quantity", *conditions), [(q, *(found[name][q] for name in conditions)) for q in quantities])
    report.heading("The hardest episodes")
    rows = [(name, *episode) for name, episodes in conditions.items() for episode in hardest(episodes)]
    report.table(("robot", *Episode._fields), rows)
    report.text("To see one on the robot as it is: pliant play POLICY episodes=1 seed=SEED")
    return report.save(folder / "report.html")


def rate(found: Mapping[str, Any]) -> str:
    """Say a success rate with its confidence interval."""
    low, high = found["success_rate_low"], found["success_rate_high"]
    return f"{found['success_rate']:.1%} success (95 % confidence: {low:.1%} to {high:.1%})"


def _rewards(report: Report, conditions: Conditions) -> None:
    with figure(height=3.2) as (drawing, axes):
        (ax,) = axes.flat
        everything = np.array([episode.reward for episodes in conditions.values() for episode in episodes])
        edges = np.histogram_bin_edges(everything, bins=30)
        for k, (name, episodes) in enumerate(conditions.items()):
            rewards = [episode.reward for episode in episodes]
            ax.hist(rewards, bins=edges.tolist(), color=COLOURS[k], alpha=0.6, label=name)
        ax.set(xlabel="reward of an episode", ylabel="episodes")
        ax.legend()
        report.figure(drawing, "Rewards of the episodes.")
