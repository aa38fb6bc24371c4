"""The report of `pliant deploy`: what was desired, what simulation predicted, and what the machine did."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pliant.errors import MissingExtraError
from pliant.hardware.robot import RobotInfo
from pliant.report import COLOURS, Report, figure
from pliant.scripts._deployment import Outcome


def _motion_figure(report: Report, outcome: Outcome, info: RobotInfo) -> None:
    """After Mengacci et al., Fig. 15: each joint's desired, simulated and measured angle."""
    feedforward, joints = outcome.feedforward, info.joints
    assert feedforward.desired is not None
    with figure(rows=len(joints), height=2.6 * len(joints) + 0.4, sharex=True) as (drawing, axes):
        for j, ax in enumerate(axes.flat):
            ax.plot(feedforward.time, feedforward.desired[:, j], color="black", linestyle="--", label="desired")
            if feedforward.expected is not None:
                ax.plot(
                    feedforward.time, feedforward.expected[:, j], color=COLOURS[0], label="predicted by simulation"
                )
            for number, run in enumerate(outcome.runs, start=1):
                shade = 1.0 - 0.6 * (number - 1) / len(outcome.runs)
                label = "measured" if number == 1 else f"measured, run {number}"
                ax.plot(feedforward.time, run.position[:, j], color=COLOURS[1], alpha=shade, label=label)
            ax.set(ylabel=f"{joints[j]} (rad)")
        axes.flat[0].legend(ncols=2, loc="upper left")
        axes.flat[-1].set(xlabel="time (s)")
        report.figure(drawing, "Link angles: desired, predicted by the simulation that learned, and measured.")


def _error_figure(report: Report, outcome: Outcome, info: RobotInfo) -> None:
    feedforward, joints = outcome.feedforward, info.joints
    assert feedforward.desired is not None
    with figure(rows=len(joints), height=2.0 * len(joints) + 0.4, sharex=True) as (drawing, axes):
        for j, ax in enumerate(axes.flat):
            if feedforward.expected is not None:
                error = feedforward.desired[:, j] - feedforward.expected[:, j]
                ax.plot(feedforward.time, error, color=COLOURS[0], label="predicted by simulation")
            for number, run in enumerate(outcome.runs, start=1):
                error = feedforward.desired[:, j] - run.position[:, j]
                colour = COLOURS[1 + (number - 1) % (len(COLOURS) - 1)]
                ax.plot(feedforward.time, error, color=colour, label=f"run {number}")
            ax.set(ylabel=f"error of {joints[j]} (rad)")
        axes.flat[0].legend(ncols=3)
        axes.flat[-1].set(xlabel="time (s)")
        report.figure(drawing, "Desired minus actual angle.")


def _command_figure(report: Report, outcome: Outcome, info: RobotInfo) -> None:
    run = outcome.runs[-1]
    late = np.diff(run.time) - info.period
    with figure(rows=2, height=5.0, sharex=True) as (drawing, axes):
        commands, beats = axes.flat
        for column, (name, asked, sent) in enumerate(
            zip(info.command_names, run.asked.T, run.sent.T, strict=True)
        ):
            colour = COLOURS[column % len(COLOURS)]
            commands.plot(outcome.feedforward.time, sent, color=colour, label=name)
            commands.plot(outcome.feedforward.time, asked, color=colour, linestyle=":", linewidth=1)
        commands.set(ylabel="command")
        commands.legend(ncols=2)
        beats.plot(outcome.feedforward.time[1:], 1e3 * late, linewidth=0.8)
        beats.set(ylabel="period − nominal (ms)", xlabel="time (s)")
        report.figure(drawing, "Commands of the last run, sent (solid) and asked (dotted), and the loop's timing.")


def write_report(folder: Path, outcome: Outcome, info: RobotInfo, numbers: Mapping[str, object]) -> Path | None:
    """Write `report.html` of at least one run; returns its path, or None without the extra `report`."""
    report = Report(
        f"{outcome.feedforward.robot} deployed on {info.name}",
        f"{outcome.reason.capitalize()}; runs: {len(outcome.runs)}.",
    )
    try:
        report.heading("Motion")
        _motion_figure(report, outcome, info)
        report.heading("Error")
        _error_figure(report, outcome, info)
        report.heading("Commands and timing")
        _command_figure(report, outcome, info)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    flat = [(name, value) for name, value in numbers.items() if not isinstance(value, dict | list)]
    report.table(("quantity", "value"), flat)
    largest = numbers["max_error_per_run_rad"]
    assert isinstance(largest, list)
    report.table(("run", "largest error (rad)"), list(enumerate(largest, start=1)))
    return report.save(folder / "report.html")
