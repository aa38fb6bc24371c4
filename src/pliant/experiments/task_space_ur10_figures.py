"""Figures of task-space control of a UR10."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from pliant.controllers.checks import Array
from pliant.experiments.task_runs import SOLVERS, STYLES
from pliant.report import COLOURS, Report, figure

PROTOTYPE: Final = {
    "prototype, joints alone": np.array([1e-4, 1e-3, 14e-3, 82e-3]),
    "prototype, end effector sensed": np.array([1e-5, 1.5e-4, 1.7e-3, 10e-3]),
}
"""Another program's RMS errors at 0.001, 0.01, 0.1 and 0.3, by a QP, m."""


def draw_laws(a: Mapping[str, Array], report: Report) -> None:
    """Add error and speeds of the laws on the way to both targets."""
    with figure(1, 3, width=12.0, height=3.6) as (drawing, axes):
        way, speed, beyond = axes[0]
        for k, name in enumerate(SOLVERS):
            time, line = a[f"reach_{name}_time"], {"color": COLOURS[k], "label": name, "linestyle": STYLES[name]}
            way.plot(time, 1e3 * a[f"reach_{name}_error"], **line)
            speed.plot(time, a[f"reach_{name}_speed"], **line)
            beyond.plot(a[f"beyond_{name}_time"], a[f"beyond_{name}_error"], **line)
        way.plot(
            a["reach_recursion_time"],
            1e3 * a["reach_expected"],
            "--",
            color="black",
            linewidth=1,
            label="closed form",
        )
        way.set(yscale="log", ylim=(1e-3, 1e3), xlim=(0, 1.2), ylabel="error (mm)", title="to the target")
        speed.axhline(1.0, color="black", linestyle="--", linewidth=1)
        speed.set(xlim=(0, 1.2), ylabel="largest speed by its limit", title="joints")
        beyond.plot(
            a["beyond_plain_time"], a["beyond_plain_error"], color=COLOURS[5], linewidth=0.8, label="plain inverse"
        )
        beyond.set(ylabel="error (m)", title="target out of reach", ylim=(0.0, None))
        for axis in axes.flat:
            axis.set(xlabel="time (s)")
            axis.legend(fontsize=8)
        report.figure(
            drawing,
            "The report's law (recursion) and two QPs that keep the limits: error on the way to the report's "
            "target, largest joint speed by its limit, and error before a target that is out of reach.",
        )


def draw_moving(a: Mapping[str, Array], report: Report) -> None:
    """Add the circles and the jumps."""
    with figure(1, 2, width=9.0, height=3.6) as (drawing, axes):
        circle, jumps = axes[0]
        for k, name in enumerate(("circle", "dragged")):
            circle.plot(*(1e3 * a[f"{name}_tool"][:, :2].T), color=COLOURS[k], label=name)
        circle.plot(*(1e3 * a["circle_wanted"][:, :2].T), "--", color="black", linewidth=1, label="target")
        circle.set(xlabel="x (mm)", ylabel="y (mm)", aspect="equal", title="a circle, from above")
        circle.legend(fontsize=8)
        jumps.plot(a["jumps_time"], 1e3 * a["jumps_error"], color=COLOURS[2])
        jumps.set(
            xlabel="time (s)", ylabel="error (mm)", yscale="log", ylim=(1e-4, 1e3), title="a target that jumps"
        )
        report.figure(
            drawing,
            "Moving targets, by the weighted QP. Left: a path with its speed (circle), or a position alone "
            "(dragged), behind which the tool lags; both start at full speed, the tool at rest. Right: a "
            "target that jumps, limits kept.",
        )
