"""The report of a feed-forward's deployment: what was desired, what simulation predicted, what the machine did."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pliant.controllers import FeedForward
from pliant.deployment.figures import commands_and_timing, plain_numbers
from pliant.deployment.trials import Run
from pliant.errors import MissingExtraError
from pliant.hardware.robot import RobotInfo
from pliant.report import COLOURS, Report, figure


def _motion_figure(report: Report, feedforward: FeedForward, runs: Sequence[Run]) -> None:
    """After Mengacci et al., Fig. 15: each joint's desired, simulated and measured angle."""
    joints = feedforward.joints
    assert feedforward.desired is not None
    with figure(rows=len(joints), height=2.6 * len(joints) + 0.4, sharex=True) as (drawing, axes):
        for j, ax in enumerate(axes.flat):
            ax.plot(feedforward.time, feedforward.desired[:, j], color="black", linestyle="--", label="desired")
            if feedforward.expected is not None:
                ax.plot(
                    feedforward.time, feedforward.expected[:, j], color=COLOURS[0], label="predicted by simulation"
                )
            for number, run in enumerate(runs, start=1):
                shade = 1.0 - 0.6 * (number - 1) / len(runs)
                label = "measured" if number == 1 else f"measured, run {number}"
                ax.plot(feedforward.time, run.position[:, j], color=COLOURS[1], alpha=shade, label=label)
            ax.set(ylabel=f"{joints[j]} (rad)")
        axes.flat[0].legend(ncols=2, loc="upper left")
        axes.flat[-1].set(xlabel="time (s)")
        report.figure(drawing, "Link angles: desired, predicted by the simulation that learned, and measured.")


def _error_figure(report: Report, feedforward: FeedForward, runs: Sequence[Run]) -> None:
    joints = feedforward.joints
    assert feedforward.desired is not None
    with figure(rows=len(joints), height=2.0 * len(joints) + 0.4, sharex=True) as (drawing, axes):
        for j, ax in enumerate(axes.flat):
            if feedforward.expected is not None:
                error = feedforward.desired[:, j] - feedforward.expected[:, j]
                ax.plot(feedforward.time, error, color=COLOURS[0], label="predicted by simulation")
            for number, run in enumerate(runs, start=1):
                error = feedforward.desired[:, j] - run.position[:, j]
                colour = COLOURS[1 + (number - 1) % (len(COLOURS) - 1)]
                ax.plot(feedforward.time, error, color=colour, label=f"run {number}")
            ax.set(ylabel=f"error of {joints[j]} (rad)")
        axes.flat[0].legend(ncols=3)
        axes.flat[-1].set(xlabel="time (s)")
        report.figure(drawing, "Desired minus actual angle.")


def write_report(
    folder: Path, feedforward: FeedForward, runs: Sequence[Run], info: RobotInfo, numbers: Mapping[str, object]
) -> Path | None:
    """Write `report.html` of at least one run; returns its path, or None without the extra `report`.

    Args:
        folder: where to.
        feedforward: arranged for the robot.
        runs: of it, in order.
        info: the robot.
        numbers: the metrics.
    """
    reason = str(numbers["reason"])
    report = Report(f"{feedforward.robot} deployed on {info.name}", f"{reason.capitalize()}; runs: {len(runs)}.")
    try:
        report.heading("Motion")
        _motion_figure(report, feedforward, runs)
        report.heading("Error")
        _error_figure(report, feedforward, runs)
        report.heading("Commands and timing")
        last = runs[-1]
        commands_and_timing(report, info, last.time, last.asked, last.sent)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    plain_numbers(report, numbers)
    largest = numbers["max_error_per_run_rad"]
    assert isinstance(largest, list)
    report.table(("run", "largest error (rad)"), list(enumerate(largest, start=1)))
    return report.save(folder / "report.html")
