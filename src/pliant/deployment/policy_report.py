"""The report of a deployed policy: what the task asked for, what simulation predicted, what the machine did."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.deployment.episodes import Trace
from pliant.deployment.figures import commands_and_timing, plain_numbers
from pliant.errors import MissingExtraError
from pliant.hardware.robot import Array, RobotInfo
from pliant.report import COLOURS, Report, figure

_SHOWN = 6
"""Episodes in a figure, of which more would not be told apart."""
_GAP = 5
"""Periods between two of them."""


def write_report(
    folder: Path,
    traces: Sequence[Trace],
    predicted: Sequence[Trace],
    info: RobotInfo,
    numbers: Mapping[str, Any],
) -> Path | None:
    """Write `report.html` of at least one episode that began; returns its path, or None without matplotlib.

    Args:
        folder: where to.
        traces: measured.
        predicted: by simulation, of the same seeds and more.
        info: the machine.
        numbers: the metrics.
    """
    lead = f"{str(numbers['reason']).capitalize()}; episodes: {len(traces)} of {len(predicted)}."
    report = Report(f"{numbers['policy']} deployed on {info.name}", lead)
    try:
        report.heading("Motion")
        _motion_figure(report, traces, predicted, info)
        report.heading("Commands and timing")
        last = next(trace for trace in reversed(traces) if trace.sent)
        gap = np.full((1, len(info.command)), np.nan)
        commands_and_timing(
            report, info, np.array(last.time), np.vstack([*last.asked, gap]), np.vstack([*last.sent, gap])
        )
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Episodes")
    each = numbers["each"]
    if each:
        report.table([name.replace("_", " ") for name in each[0]], [tuple(row.values()) for row in each])
    report.heading("Numbers")
    joints = "max_difference_per_joint_rad", "mean_difference_per_joint_rad"
    report.table(("joint", *joints), [(j, *(numbers[name][j] for name in joints)) for j in info.joints])
    plain_numbers(report, numbers)
    return report.save(folder / "report.html")


def _motion_figure(report: Report, traces: Sequence[Trace], predicted: Sequence[Trace], info: RobotInfo) -> None:
    """Each joint's goal, simulated and measured angle above, and the difference of the latter two below."""
    shown = list(zip(traces, predicted, strict=False))[:_SHOWN]
    lengths = [max(len(ours.position), len(theirs.position)) for ours, theirs in shown]
    goals = _joined([max(ours.reference, theirs.reference, key=len) for ours, theirs in shown], lengths)
    simulated = _joined([theirs.position for _, theirs in shown], lengths)
    measured = _joined([ours.position for ours, _ in shown], lengths)
    time = info.period * np.arange(len(measured))
    rows = len(info.joints)
    with figure(rows=rows + 1, height=2.4 * rows + 2.4, sharex=True) as (drawing, axes):
        *angles, difference = axes.flat
        for j, (ax, name) in enumerate(zip(angles, info.joints, strict=True)):
            if goals.size:
                ax.plot(time, goals[:, j], color="black", linestyle="--", label="goal")
            ax.plot(time, simulated[:, j], color=COLOURS[0], label="predicted by simulation")
            ax.plot(time, measured[:, j], color=COLOURS[1], label="measured")
            ax.set(ylabel=f"{name} (rad)")
            difference.plot(time, measured[:, j] - simulated[:, j], color=COLOURS[2 + j % 4], label=name)
        for ax in axes.flat:
            for end in np.cumsum([n + _GAP for n in lengths[:-1]]):
                ax.axvline(info.period * (end - (_GAP + 1) / 2), color="#999999", linewidth=0.8)
        angles[0].legend(ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        difference.legend(ncols=rows)
        difference.set(ylabel="measured −\npredicted (rad)", xlabel="time (s), one episode after another")
        which = "" if len(traces) <= _SHOWN else f" The first {_SHOWN} of {len(traces)} episodes."
        report.figure(drawing, f"Link angles: the task's goal, predicted and measured.{which}")


def _joined(parts: Sequence[Sequence[Array]], lengths: Sequence[int]) -> Array:
    """Rows of several episodes one below another, each filled up with NaN to its length and a gap.

    Args:
        parts: rows of each episode, each (joints,); may all be empty.
        lengths: of each.

    Returns:
        (sum of lengths and gaps, joints); (0, 0) if there are no rows.
    """
    width = max((len(row) for rows in parts for row in rows[:1]), default=0)
    blocks = []
    for rows, length in zip(parts, lengths, strict=True):
        block = np.full((length + _GAP, width), np.nan)
        if rows:
            block[: len(rows)] = rows
        blocks.append(block)
    return np.concatenate(blocks) if width else np.zeros((0, 0))
