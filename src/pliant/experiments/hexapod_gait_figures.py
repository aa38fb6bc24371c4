"""Figures of the hexapod's strides."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from pliant.actuators import compile_model
from pliant.controllers.checks import Array
from pliant.envs.models.hexapod_body import LINKS
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.rendering import RenderingError
from pliant.experiments.experiment import Outcome
from pliant.experiments.hexapod_gait_checks import LIMIT, PROTOTYPE, TOUCHING
from pliant.experiments.tool_experiment import strip
from pliant.report import COLOURS, Report, figure

if TYPE_CHECKING:
    from pliant.experiments.hexapod_gait import HexapodGait

_LEGS: Final = ("front left", "rear left", "middle left")
_SHOWN: Final = 2.0
"""How much of a walk is drawn, s."""


def draw_strides(e: "HexapodGait", a: Mapping[str, Array], report: Report) -> None:
    """Add coxae and torques of the three longest strides."""
    longest = sorted(e.factors)[-3:]
    with figure(2, len(longest), width=12.0, height=5.8, sharex="col", sharey="row") as (drawing, axes):
        for column, factor in enumerate(longest):
            name = f"stride_{factor:g}"
            time = a[f"{name}_time"] - a[f"{name}_time"][-1] + _SHOWN
            late = time >= 0.0
            coxae, torques = axes[:, column]
            for k, leg in enumerate(_LEGS):
                coxae.plot(time[late], np.rad2deg(a[f"{name}_coxae"][late, k]), color=COLOURS[k], label=leg)
                coxae.plot(
                    time[late], np.rad2deg(a[f"{name}_goals"][late, k]), "--", color=COLOURS[k], linewidth=0.8
                )
            for k, link in enumerate(LINKS):
                torques.plot(time[late], a[f"{name}_torque"][late, k], color=COLOURS[k], linewidth=1.0, label=link)
            torques.axhline(LIMIT, color="black", linestyle="--", linewidth=1.0)
            for axis in (coxae, torques):
                axis.fill_between(
                    time[late], 0, 1, where=a[f"{name}_contacts"][late] > 0.0, color=COLOURS[1], alpha=0.3,
                    linewidth=0, transform=axis.get_xaxis_transform(),
                )  # fmt: skip
            coxae.set(title=f"{factor:g} times the stride")
            torques.set(xlabel="time (s)", ylim=(0.0, 1.5))
        axes[0, 0].set(ylabel="coxa (°)")
        axes[1, 0].set(ylabel="largest torque (N·m)")
        for axis in axes[:, 0]:
            axis.legend(fontsize=8, ncols=3, loc="upper left")
        step, friction = e.shown
        report.figure(
            drawing,
            "Coxae of the left legs (dashed: goals), and the largest torque of any motor of coxae, femurs and "
            f"tibiae, with the limit (dashed); {1e3 * step:g} ms a step, friction {friction:g}. Shaded: legs "
            "touch.",
        )


def draw_limits(e: "HexapodGait", outcome: Outcome, report: Report) -> None:
    """Add speed and torque over the stride, and the distance of the legs over the stroke."""
    m, a = outcome.metrics, outcome.arrays
    with figure(1, 3, width=12.0, height=3.8) as (drawing, axes):
        speed, torque, apart = axes[0]
        for k, condition in enumerate(e.conditions):
            names = [
                f"step_{1e3 * condition.step:g}_friction_{condition.friction:g}_stride_{factor:g}"
                for factor in e.factors
            ]
            line = {"color": COLOURS[k], "label": str(condition)}
            for axis, key in ((speed, "speed"), (torque, "peak")):
                values = np.array([m[f"{name}_{key}"] for name in names])
                hit = np.array([m[f"{name}_collisions"] > 0.0 for name in names])
                axis.plot(e.factors, values, **line)
                axis.plot(np.array(e.factors)[~hit], values[~hit], "o", color=COLOURS[k], markersize=4)
                axis.plot(np.array(e.factors)[hit], values[hit], "x", color=COLOURS[k])
            for factor, theirs in PROTOTYPE.get((condition.step, condition.friction), {}).items():
                mark = {"color": COLOURS[k], "fillstyle": "none", "markersize": 9}
                speed.plot(factor, theirs.speed, "s", **mark)
                if theirs.peak is not None:
                    torque.plot(factor, theirs.peak, "s", **mark)
        torque.axhline(LIMIT, color="black", linestyle="--", linewidth=1.0)
        speed.set(xlabel="stride by the default", ylabel="speed (m/s)", title="speed")
        torque.set(xlabel="stride by the default", ylabel="N·m", title="largest torque", ylim=(0.0, None))
        speed.legend(fontsize=8)
        apart.plot(np.rad2deg(a["strokes"]), 1e3 * a["apart"], color=COLOURS[0])
        for thickness, stroke in TOUCHING.items():
            apart.axhline(1e3 * thickness, color="black", linestyle=":", linewidth=1.0)
            apart.plot(stroke, 1e3 * thickness, "s", color=COLOURS[5], fillstyle="none", markersize=9)
        apart.set(
            xlabel="stroke of the coxae (°)", ylabel="mm", title="front and middle leg, axes apart", xlim=(40, 80)
        )
        report.figure(
            drawing,
            "Speed and largest torque over the stride (crosses: legs collide; squares: the prototype; dashed: the "
            "limit), and how far apart the axes of front and middle leg are when they swing towards each other: "
            "legs touch where that is their thickness (dotted).",
        )


def draw_collision(model: RobotModel, e: "HexapodGait", a: Mapping[str, Array], report: Report) -> None:
    """Add pictures of the longest stride."""
    rows = a[f"stride_{max(e.factors):g}_qpos"]
    rows = rows[-max(len(rows) // 4, 1) :].copy()
    rows[:, :2] = 0.0
    try:
        pictures = strip(compile_model(model.spec), rows)
    except RenderingError as error:
        report.text(f"No pictures: {error}")
    else:
        report.picture(
            pictures,
            f"One second of {max(e.factors):g} times the stride, from above.",
        )
