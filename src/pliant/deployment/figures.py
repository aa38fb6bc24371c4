"""Parts of a page that the reports of all deployments have."""

from collections.abc import Mapping

import numpy as np

from pliant.hardware.robot import Array, RobotInfo
from pliant.report import COLOURS, Report, figure

_LEAST = 0.1
"""Half the height of the axis of lateness at least, ms: what is less is none."""


def commands_and_timing(report: Report, info: RobotInfo, time: Array, asked: Array, sent: Array) -> None:
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
        columns = zip(info.command_names, asked.T, sent.T, strict=True)
        for column, (name, wanted, given) in enumerate(columns):
            colour = COLOURS[column % len(COLOURS)]
            commands.plot(nominal, given, color=colour, label=name)
            commands.plot(nominal, wanted, color=colour, linestyle=":", linewidth=1)
        commands.set(ylabel="command")
        commands.legend(ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        late = 1e3 * (np.diff(time) - info.period)
        beats.plot(nominal[1:], late, linewidth=0.8)
        top = max(_LEAST, 1.1 * float(np.nanmax(np.abs(late), initial=0.0)))
        beats.set(ylabel="period − nominal (ms)", xlabel="time (s)", ylim=(-top, top))
        report.figure(drawing, "Commands of the last run, sent (solid) and asked (dotted), and the loop's timing.")


def plain_numbers(report: Report, numbers: Mapping[str, object]) -> None:
    """Add the metrics that are one number or text each as a table."""
    flat = [(name, value) for name, value in numbers.items() if not isinstance(value, dict | list)]
    report.table(("quantity", "value"), flat)
