"""The reports of `pliant train` and `pliant evaluate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Report, figure
from pliant.training.statistics import Episode, hardest, success_text

Conditions = Mapping[str, Sequence[Episode]]
"""Episodes by the condition they were run under."""


def write_training_report(folder: Path, metrics: dict[str, Any], settings: dict[str, Any]) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing."""
    best = metrics["best"]
    report = Report(
        f"Training {metrics['robot']}: {metrics['task']} by {metrics['algorithm']}",
        f"{metrics['reason'].capitalize()} after {metrics['steps']:,} steps in {metrics['seconds']:.0f} s. Best: "
        f"{best['success_rate']:.0%} success at step {best['steps']:,}.",
    )
    try:
        report.heading("Learning curve")
        _learning_curve(report, metrics["evaluations"])
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.text(
        f"Each point is {best['episodes']} episodes, the same ones every time, with the policy's mean action. "
        "What was selected by them must be judged on others: pliant evaluate does."
    )
    report.heading("Numbers of the best policy")
    report.table(("quantity", "value"), [(name, best[name]) for name in best])
    report.heading("Settings")
    report.table(("setting", "value"), [(name, _written(value)) for name, value in flat(settings)])
    return report.save(folder / "report.html")


def flat(settings: Any, prefix: str = "") -> Sequence[tuple[str, object]]:
    """Return nested settings as pairs of dotted name and value."""
    if not isinstance(settings, dict):
        return [(prefix, settings)]
    return [
        pair
        for name, value in settings.items()
        for pair in flat(value, f"{prefix}.{name}" if prefix else str(name))
    ]


def _written(value: object) -> object:
    """A setting as its file has it: yes and no are no verdicts here."""
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else value
    )


def _learning_curve(report: Report, evaluations: Sequence[dict[str, Any]]) -> None:
    steps = np.array([e["steps"] for e in evaluations])
    with figure(rows=2, height=5.0, sharex=True) as (drawing, axes):
        above, below = axes.flat
        rate, low, high = (
            np.array([e[name] for e in evaluations])
            for name in ("success_rate", "success_rate_low", "success_rate_high")
        )
        above.fill_between(steps, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
        above.plot(steps, rate, "o-", markersize=3, color=COLOURS[0])
        above.set(ylabel="success rate", ylim=(-0.02, 1.02))
        mean = np.array([e["reward_mean"] for e in evaluations])
        deviation = np.array([e["reward_deviation"] for e in evaluations])
        below.fill_between(steps, mean - deviation, mean + deviation, color=COLOURS[1], alpha=0.2, linewidth=0)
        below.plot(steps, mean, "o-", markersize=3, color=COLOURS[1])
        below.set(xlabel="environment steps", ylabel="reward of an episode")
        report.figure(
            drawing,
            "Above: success rate with its 95 % confidence interval. Below: mean reward of an episode, ± one "
            "standard deviation.",
        )


def write_evaluation_report(
    folder: Path, policy: str, conditions: Conditions, found: Mapping[str, dict[str, Any]]
) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing."""
    report = Report(
        f"Evaluation of {policy}", "; ".join(f"{name}: {success_text(found[name])}" for name in conditions)
    )
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
