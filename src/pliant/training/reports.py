"""The reports of `pliant train` and `pliant evaluate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.envs.recorded_episode import Image
from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Ran, Report, figure
from pliant.training.statistics import Episode, hardest, joint_errors, reward_text, short_text, success_text

Conditions = Mapping[str, Sequence[Episode]]
"""Episodes by the condition they were run under."""


class Film(NamedTuple):
    """What a report shows of a policy in motion."""

    images: Sequence[Image]
    rate: float
    """Of the images, Hz."""
    caption: str


def write_training_report(
    folder: Path,
    metrics: dict[str, Any],
    settings: dict[str, Any],
    film: Film | str = "",
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing.

    Args:
        folder: where to.
        metrics: of the run.
        settings: likewise.
        film: of the best policy, or why there is none.
        ran: what is told in the head.
    """
    best = metrics["best"]
    task = f": {metrics['task']}" if "task" in metrics else ""
    report = Report(
        f"Training {metrics['robot']}{task} by {metrics['algorithm']}",
        f"{metrics['reason'].capitalize()} after {metrics['steps']:,} steps in {metrics['seconds']:.0f} s. Best: "
        f"{short_text(best)} at step {best['steps']:,}.",
        ran,
    )
    try:
        if film:
            report.heading("The best policy, beside the untrained one")
        if isinstance(film, Film):
            report.animation(film.images, film.caption, film.rate)
        elif film:
            report.text(film)
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
    report.table(("quantity", "value"), [("step", f"{best['steps']:,}"), *_numbers(best)])
    report.heading("Settings")
    report.text("In SI units and rad; pliant train --help and the files of conf/ say what each is.")
    rows = [(name, _written(value)) for name, value in flat(settings)]
    report.table(("setting", "value"), rows, folded="all settings")
    return report.save(folder / "report.html")


def _numbers(found: Mapping[str, Any]) -> list[tuple[str, object]]:
    """What a table says of some episodes."""
    rate, rows = found["success_rate"], []
    if rate is not None:
        low, high = found["success_rate_low"], found["success_rate_high"]
        rows = [("success rate", f"{rate:.1%}"), ("its 95 % confidence interval", f"{low:.1%} to {high:.1%}")]
    if found["reward_mean_low"] is not None:
        within = f"{found['reward_mean_low']:.4g} to {found['reward_mean_high']:.4g}"
        rows.append(("95 % confidence interval of the mean reward", within))
    return [
        ("episodes", found["episodes"]),
        *rows,
        ("reward of an episode, mean", found["reward_mean"]),
        ("standard deviation", found["reward_deviation"]),
        ("lowest", found["reward_lowest"]),
        ("highest", found["reward_highest"]),
        ("length of an episode, mean (periods)", found["length_mean"]),
        ("failures of the robot", found["failures"]),
        *(
            (f"{kind} {what} of {joint} (rad, m)", value)
            for what, rows in [joint_errors(found)]
            for joint, *values in rows
            for kind, value in zip(("largest", "root-mean-square"), values, strict=True)
        ),
    ]


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
    steps, told = np.array([e["steps"] for e in evaluations]), evaluations[0]["success_rate"] is not None
    with figure(rows=2 if told else 1, height=5.0 if told else 3.2, sharex=True) as (drawing, axes):
        below = axes.flat[-1]
        if told:
            above = axes.flat[0]
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
        rates = "Above: success rate with its 95 % confidence interval. Below: mean" if told else "Mean"
        report.figure(drawing, f"{rates} reward of an episode, ± one standard deviation.")


def write_evaluation_report(
    folder: Path,
    policy: str,
    conditions: Conditions,
    found: Mapping[str, dict[str, Any]],
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing."""
    report = Report(
        f"Evaluation of {policy}",
        "; ".join(f"{name}: {success_text(found[name])}, {reward_text(found[name])}" for name in conditions),
        ran,
    )
    try:
        report.heading("Rewards")
        _rewards(report, conditions)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    columns = [dict(_numbers(found[name])) for name in conditions]
    fullest = max(columns, key=len)  # one episode has no interval
    rows = [(quantity, *(column.get(quantity, "") for column in columns)) for quantity in fullest]
    report.table(("quantity", *conditions), rows)
    report.heading("The hardest episodes")
    hard = [(name, *episode[:5]) for name, episodes in conditions.items() for episode in hardest(episodes)]
    report.table(("robot", "seed", "reward", "length (periods)", "success", "failure"), hard)
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
