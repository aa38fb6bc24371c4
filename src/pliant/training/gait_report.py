"""A gait's trial as numbers, as a table on the terminal and as a page."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.envs.gait_measures import GaitMeasures, GaitTrace
from pliant.envs.gait_trial import GaitTrial
from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Ran, Report, figure

if TYPE_CHECKING:
    from rich.console import Console

METRICS = ("speed", "cost_of_transport", "largest_torque", "mechanical_power", "electrical_power")
"""Numbers that a sweep may be after."""
_SHOWN = 2
"""Cycles that figures over the time show."""


def gait_metrics(measures: GaitMeasures) -> dict[str, Any]:
    """Return the measures as plain data."""
    return {
        **asdict(measures),
        "kept": measures.kept,
        "violations": list(measures.violations),
        "largest_torque": measures.largest_torque,
        "hardest_joint": measures.hardest_joint,
        "margin": measures.margin,
        "converged": measures.kept,
        "detail": "; ".join(measures.violations),
    }


def rows(measures: GaitMeasures) -> list[tuple[str, str, str]]:
    """Return what a table says of a trial: what, its value, and what it is."""
    estimate = max(measures.peak_estimated_torque.values())
    slip = sum(measures.slip.values()) / len(measures.slip)
    forces = max(measures.peak_force, key=lambda leg: measures.peak_force[leg])
    span = f"{measures.begin:.3g} to {measures.end:.3g} s"
    return [
        ("speed ahead", f"{measures.speed:.4f} m/s", f"over {measures.cycles} whole cycles, {span}"),
        ("drift to the left", f"{measures.drift:+.4f} m/s", ""),
        ("turn", f"{measures.turn_rate:+.4f} rad/s", "counter-clockwise"),
        ("mechanical power", f"{measures.mechanical_power:.2f} W", "work of the joints, none got back"),
        ("electrical power", f"{measures.electrical_power:.2f} W", "of the motors, without electronics"),
        ("cost of transport", f"{measures.cost_of_transport:.2f}", "electrical power / (weight · speed)"),
        ("largest torque", f"{measures.largest_torque:.3f} N·m", f"electromagnetic, {measures.hardest_joint}"),
        ("margin to the limit", f"{measures.margin:+.3f} N·m", f"of {measures.limits.torque:.4g} N·m"),
        (
            "largest estimate",
            f"{estimate:.3f} N·m",
            f"by position errors; {measures.estimate_error:.3f} N·m rms off",
        ),
        ("largest foot force", f"{measures.peak_force[forces]:.1f} N", forces),
        ("slip of the feet", f"{slip:.1%}", "of the way, in the mean"),
        ("limits", "kept" if measures.kept else "not kept", "; ".join(measures.violations)),
    ]


def show_trial(console: "Console", measures: GaitMeasures) -> None:
    """Print a trial as a table."""
    from rich.table import Table

    table = Table(show_header=False)
    for column in ("what", "value", "remark"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for row in rows(measures):
        table.add_row(*row)
    console.print(table)


def write_gait_report(folder: Path, trial: GaitTrial, ran: Ran | None = None) -> Path | None:
    """Write `report.html` of a trial that has its trace; returns its path, or None without the extra `report`."""
    assert trial.trace is not None
    measures, trace = trial.measures, trial.trace
    lead = "All limits are kept." if measures.kept else f"Not kept: {'; '.join(measures.violations)}."
    report = Report(f"Gait at {measures.speed:.3g} m/s", lead, ran)
    report.table(("quantity", "value", "remark"), rows(measures))
    try:
        _torques(report, measures)
        shown = _shown(trace, measures)
        _footfall(report, trace, shown)
        _hardest(report, trace, measures, shown)
        _forces(report, trace, shown)
        _path(report, trace)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Collisions")
    if measures.collisions:
        touched = [
            (" and ".join(pair.split("_meets_")), time, f"{measures.colliding[pair]:.1%}")
            for pair, time in measures.collisions.items()
        ]
        report.table(("between", "first (s)", "share of the time"), touched)
    else:
        report.text("No leg touched another one or the trunk.")
    report.heading("Joints")
    report.table(
        ("joint", "peak (N·m)", "rms (N·m)", "peak of the estimate (N·m)"),
        [
            (joint, peak, measures.rms_torque[joint], measures.peak_estimated_torque[joint])
            for joint, peak in measures.peak_torque.items()
        ],
    )
    return report.save(folder / "report.html")


def _shown(trace: GaitTrace, measures: GaitMeasures) -> slice:
    """The last cycles, or what is there."""
    span = _SHOWN * (measures.end - measures.begin) / measures.cycles if measures.cycles else 3.0
    last = measures.end if measures.cycles else float(trace.time[-1])
    return slice(*np.searchsorted(trace.time, [last - span, last]).tolist())


def _torques(report: Report, measures: GaitMeasures) -> None:
    joints = list(measures.peak_torque)
    at = np.arange(len(joints))
    with figure(height=3.8) as (drawing, axes):
        (ax,) = axes.flat
        ax.bar(at - 0.2, [measures.peak_torque[j] for j in joints], 0.4, color=COLOURS[0], label="peak")
        ax.bar(at + 0.2, [measures.rms_torque[j] for j in joints], 0.4, color=COLOURS[3], label="rms")
        ax.plot(at, [measures.peak_estimated_torque[j] for j in joints], "x", color=COLOURS[5], label="estimate")
        ax.axhline(measures.limits.torque, color=COLOURS[1], linestyle="--", linewidth=1, label="limit")
        ax.set_xticks(at, [joint.replace("_", " ") for joint in joints], rotation=60, ha="right", fontsize=8)
        ax.set(ylabel="torque (N·m)", ylim=(0, None))
        drawing.legend(loc="outside upper center", ncols=4)
        report.figure(
            drawing,
            "Electromagnetic torque of every servo's motor: largest in the trial, and rms over whole cycles. "
            "Crosses: the largest that its position error tells.",
        )


def _footfall(report: Report, trace: GaitTrace, shown: slice) -> None:
    with figure(height=2.6) as (drawing, axes):
        (ax,) = axes.flat
        time, names = trace.time[shown], [foot.replace("_", " ") for foot in trace.feet]
        for k in range(len(names)):
            pressed = trace.foot_force[shown, k] > 0.0
            ax.fill_between(time, k - 0.35, k + 0.35, where=pressed.tolist(), color=COLOURS[0], linewidth=0)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set(xlabel="time (s)", xlim=(time[0], time[-1]))
        ax.grid(visible=False, axis="y")
        report.figure(drawing, "When each foot is on the ground.")


def _hardest(report: Report, trace: GaitTrace, measures: GaitMeasures, shown: slice) -> None:
    j = trace.joints.index(measures.hardest_joint)
    with figure(rows=2, height=4.4, sharex=True) as (drawing, axes):
        above, below = axes.flat
        time = trace.time[shown]
        above.plot(time, trace.motor_torque[shown, j], color=COLOURS[0], label="of the motor")
        above.plot(time, trace.estimated_torque[shown, j], color=COLOURS[3], linewidth=1, label="estimate")
        for sign in (-1.0, 1.0):
            above.axhline(sign * measures.limits.torque, color=COLOURS[1], linestyle="--", linewidth=1)
        above.set(ylabel="torque (N·m)")
        below.plot(time, trace.target[shown, j], color="black", linestyle="--", linewidth=1, label="goal")
        below.plot(time, trace.position[shown, j], color=COLOURS[0], label="angle")
        below.set(xlabel="time (s)", ylabel="angle (rad)", xlim=(time[0], time[-1]))
        for ax in (above, below):
            ax.legend(ncols=2)
        report.figure(
            drawing, f"The joint that takes the largest torque: {measures.hardest_joint.replace('_', ' ')}."
        )


def _forces(report: Report, trace: GaitTrace, shown: slice) -> None:
    with figure(height=3.0) as (drawing, axes):
        (ax,) = axes.flat
        for k, foot in enumerate(trace.feet):
            ax.plot(
                trace.time[shown],
                trace.foot_force[shown, k],
                color=COLOURS[k],
                linewidth=1,
                label=foot.replace("_", " "),
            )
        ax.set(xlabel="time (s)", ylabel="force (N)", ylim=(0, None))
        drawing.legend(loc="outside upper center", ncols=3)
        report.figure(drawing, "By how much each foot is pressed.")


def _path(report: Report, trace: GaitTrace) -> None:
    with figure(height=2.8) as (drawing, axes):
        (ax,) = axes.flat
        ax.plot(trace.base[:, 0], trace.base[:, 1], color=COLOURS[0], label="trunk")
        for k, foot in enumerate(trace.feet):
            pressed = trace.foot_force[:, k] > 0.0
            ax.plot(
                trace.foot_position[pressed, k, 0][::20], trace.foot_position[pressed, k, 1][::20], ".",
                color=COLOURS[k], markersize=2, label=foot.replace("_", " "),
            )  # fmt: skip
        ax.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
        drawing.legend(loc="outside upper center", ncols=4, fontsize=8)
        report.figure(drawing, "The way of the trunk, and where the feet were on the ground: lines are slip.")
