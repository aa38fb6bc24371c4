"""The reports of `pliant deploy`: what was wanted, what simulation predicted, and what the machine did."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.controllers import FeedForward
from pliant.deployment.episodes import Trace
from pliant.deployment.tool_trace import ToolTrace, add_tool
from pliant.deployment.trials import Run
from pliant.errors import MissingExtraError
from pliant.hardware.robot import Array, RobotInfo
from pliant.report import COLOURS, Ran, Report, figure, label, sentence

_LEAST = 0.1
"""Half the height of the axis of lateness at least, ms: what is less is none."""
_SHOWN = 6
"""Episodes in a figure, of which more would not be told apart."""
_TOLD_APART = 8
"""Joints of which each has a colour of its own."""
_GAP = 5
"""Periods between two of them."""


def write_feedforward_report(
    folder: Path,
    feedforward: FeedForward,
    runs: Sequence[Run],
    info: RobotInfo,
    numbers: Mapping[str, object],
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html` of at least one run; returns its path, or None without the extra `report`.

    Args:
        folder: where to.
        feedforward: arranged for the robot.
        runs: of it, in order.
        info: the robot.
        numbers: the metrics.
        ran: what is told in the head.
    """
    reason = str(numbers["reason"])
    report = Report(f"{feedforward.robot} deployed on {info.name}", sentence(f"{reason}; runs: {len(runs)}"), ran)
    try:
        report.heading("Motion")
        _motion_figure(report, feedforward, runs)
        report.heading("Error")
        _error_figure(report, feedforward, runs)
        report.heading("Commands and timing")
        last = runs[-1]
        _commands_and_timing(report, info, last.time, last.asked, last.sent)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    _plain_numbers(report, numbers)
    largest = numbers["max_error_per_run_rad"]
    assert isinstance(largest, list)
    report.table(("run", "largest error (rad)"), list(enumerate(largest, start=1)))
    return report.save(folder / "report.html")


def write_controller_report(
    folder: Path,
    measured: tuple[Trace, ToolTrace],
    predicted: tuple[Trace, ToolTrace],
    info: RobotInfo,
    numbers: Mapping[str, Any],
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html` of a controller's run; returns its path, or None without the extra `report`.

    Args:
        folder: where to.
        measured: of joints and tool; at least one command was sent.
        predicted: likewise, by simulation.
        info: the machine.
        numbers: the metrics.
        ran: what is told in the head.
    """
    report = Report(f"{numbers['controller']} on {info.name}", sentence(str(numbers["reason"])), ran)
    try:
        add_tool(report, measured[1], predicted[1])
        report.heading("Motion")
        _episodes_figure(report, [measured[0]], [predicted[0]], info)
        report.heading("Commands and timing")
        _last_commands(report, measured[0], info)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    _plain_numbers(report, numbers)
    return report.save(folder / "report.html")


def write_policy_report(
    folder: Path,
    traces: Sequence[Trace],
    predicted: Sequence[Trace],
    info: RobotInfo,
    numbers: Mapping[str, Any],
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html` of at least one episode that began; returns its path, or None without matplotlib.

    Args:
        folder: where to.
        traces: measured.
        predicted: by simulation, of the same seeds and more.
        info: the machine.
        numbers: the metrics.
        ran: what is told in the head.
    """
    lead = sentence(f"{numbers['reason']}; episodes: {len(traces)} of {len(predicted)}")
    report = Report(f"{numbers['policy']} deployed on {info.name}", lead, ran)
    try:
        report.heading("Motion")
        _episodes_figure(report, traces, predicted, info)
        report.heading("Commands and timing")
        _last_commands(report, next(trace for trace in reversed(traces) if trace.sent), info)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Episodes")
    each = numbers["each"]
    if each:
        report.table([name.replace("_", " ") for name in each[0]], [tuple(row.values()) for row in each])
    report.heading("Numbers")
    joints = "max_difference_per_joint_rad", "mean_difference_per_joint_rad"
    report.table(
        ("joint", *map(label, joints)), [(j, *(numbers[name][j] for name in joints)) for j in info.joints]
    )
    _plain_numbers(report, numbers)
    return report.save(folder / "report.html")


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


def _episodes_figure(report: Report, traces: Sequence[Trace], predicted: Sequence[Trace], info: RobotInfo) -> None:
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
            if rows <= _TOLD_APART:
                difference.plot(time, measured[:, j] - simulated[:, j], color=COLOURS[2 + j % 4], label=name)
        if rows > _TOLD_APART:
            difference.plot(time, np.abs(measured - simulated), color=COLOURS[2], linewidth=0.6)
        for ax in axes.flat:
            for end in np.cumsum([n + _GAP for n in lengths[:-1]]):
                ax.axvline(info.period * (end - (_GAP + 1) / 2), color="#999999", linewidth=0.8)
        angles[0].legend(ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        told = "measured −\npredicted (rad)"
        if rows <= _TOLD_APART:
            difference.legend(ncols=rows)
        else:
            told = "|measured − predicted|,\nevery joint (rad)"
        difference.set(ylabel=told, xlabel="time (s), one episode after another")
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


def _last_commands(report: Report, trace: Trace, info: RobotInfo) -> None:
    """Add what was asked and sent; nothing was after the last instant that was read."""
    gap = np.full((len(trace.time) - len(trace.sent), len(info.command)), np.nan)
    _commands_and_timing(
        report, info, np.array(trace.time), np.vstack([*trace.asked, gap]), np.vstack([*trace.sent, gap])
    )


def _commands_and_timing(report: Report, info: RobotInfo, time: Array, asked: Array, sent: Array) -> None:
    """Add what was asked and sent in the last run, and how regular its periods were.

    Args:
        report: the page.
        info: the robot.
        time: of the rows, (n,), s; NaN in all three from where the run was cut short.
        asked: commands, (n, columns).
        sent: likewise.
    """
    nominal = info.period * np.arange(len(time))
    with figure(rows=2, height=5.0, sharex=True) as (drawing, axes):
        commands, beats = axes.flat
        for column, (channel, wanted, given) in enumerate(zip(info.command, asked.T, sent.T, strict=True)):
            colour = COLOURS[column % len(COLOURS)]
            commands.plot(nominal, given, color=colour, label=f"{channel.name} ({channel.unit})")
            commands.plot(nominal, wanted, color=colour, linestyle=":", linewidth=1)
        commands.set(ylabel="command")
        commands.legend(ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        late = 1e3 * (np.diff(time) - info.period)
        beats.plot(nominal[1:], late, linewidth=0.8)
        top = max(_LEAST, 1.1 * float(np.nanmax(np.abs(late), initial=0.0)))
        beats.set(ylabel="period − nominal (ms)", xlabel="time (s)", ylim=(-top, top))
        report.figure(drawing, "Commands of the last run, sent (solid) and asked (dotted), and the loop's timing.")


def _plain_numbers(report: Report, numbers: Mapping[str, object]) -> None:
    """Add the metrics that are one number or text each as a table."""
    flat = [(label(name), value) for name, value in numbers.items() if not isinstance(value, dict | list)]
    report.table(("quantity", "value"), flat)
