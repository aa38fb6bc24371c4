"""The report of `pliant ilc`: error against iteration, the motions learned, robustness, and pictures."""

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.controllers import Learned, Motion, Rows, periods
from pliant.controllers.trial import JointTrials
from pliant.envs.recorded_episode import AFTER
from pliant.envs.rendering import OffscreenRenderer, RenderingError, add_ghost
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import TrialStart
from pliant.envs.tasks.markers import GHOST
from pliant.errors import MissingExtraError
from pliant.files import write_bytes
from pliant.hardware.robot import Array
from pliant.report import COLOURS, Ran, Report, animation, figure, label
from pliant.viewing.episode_film import labelled

_RATE = 6.0
"""Pictures of a film per second …"""
_MOST = 36
"""… and in all: a long motion is shown faster than it is."""


def _error_figure(report: Report, learned: Learned, metrics: dict[str, Any], joints: tuple[str, ...]) -> None:
    iterations = [trial.iteration for trial in learned.history]
    with figure(height=3.2 if len(joints) < 10 else 4.5) as (drawing, axes):
        (ax,) = axes.flat
        per_joint = np.array([np.abs(trial.error).max(axis=0) for trial in learned.history])
        for j, values in enumerate(per_joint.T):
            style = ("-", "--", ":")[j // len(COLOURS) % 3]
            ax.plot(iterations, values, marker="o", linestyle=style, markersize=4, label=joints[j])
        ax.axhline(metrics["tolerance_rad"], color=COLOURS[5], linestyle="--", linewidth=1, label="tolerance")
        ax.set(xlabel="iteration", ylabel="largest error (rad)", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(ncols=math.ceil((len(joints) + 1) / 10))
        report.figure(drawing, "Largest error of each joint against the iteration.")


def _motion_figure(report: Report, learned: Learned, motion: Motion, joints: tuple[str, ...]) -> None:
    assert learned.best is not None
    with figure(rows=len(joints), height=2.6 * len(joints) + 0.4, sharex=True) as (drawing, axes):
        for j, ax in enumerate(axes.flat):
            ax.plot(motion.time, motion.position[:, j], color="black", linestyle="--", label="desired")
            for trial in learned.history:
                shade = 0.15 + 0.6 * trial.iteration / len(learned.history)
                label = "trials, first to last" if trial is learned.history[0] else None
                ax.plot(
                    motion.time, trial.position[:, j], color=COLOURS[0], alpha=shade, linewidth=0.9, label=label
                )
            ax.plot(
                motion.time,
                learned.best.position[:, j],
                color=COLOURS[1],
                label=f"best (trial {learned.best.iteration})",
            )
            ax.plot(
                motion.time, learned.best.command[:, j], color=COLOURS[3], linewidth=1, label="learned command"
            )
            ax.set(ylabel=f"{joints[j]} (rad)")
        axes.flat[0].legend(ncols=2, loc="upper left")
        axes.flat[-1].set(xlabel="time (s)")
        report.figure(drawing, "Link angles in the trials, the desired motion, and the command that was learned.")


def _robustness_figure(report: Report, metrics: dict[str, Any]) -> None:
    values = metrics["robustness"]
    errors = np.array(values["max_error_rad"])
    with figure(height=2.4) as (drawing, axes):
        (ax,) = axes.flat
        ax.hist(errors[np.isfinite(errors)], bins=min(10, len(errors)), color=COLOURS[0], edgecolor="white")
        ax.axvline(metrics["max_error_rad"], color=COLOURS[1], label="the robot it was learned on")
        ax.axvline(metrics["tolerance_rad"], color=COLOURS[5], linestyle="--", linewidth=1, label="tolerance")
        ax.set(xlabel="largest error (rad)", ylabel="robots")
        ax.legend()
        report.figure(
            drawing,
            f"The learned command replayed on robots with masses ±{values['mass']:.0%}, friction "
            f"±{values['friction']:.0%}, springs ±{values['spring']:.0%}, motors ±{values['motor']:.0%} and "
            f"commands {1e3 * values['command_delay']:g} ms late: {robustness_text(metrics)}.",
        )


def robustness_text(metrics: dict[str, Any]) -> str:
    """Say how many perturbed robots stay within the tolerance, and how far the others are off."""
    values = metrics["robustness"]
    text = f"{values['within_tolerance']} of {values['robots']} within {metrics['tolerance_rad']:g} rad"
    if values["diverged"]:
        return f"{text}, {values['diverged']} diverged"
    return f"{text}, {values['mean_rad']:.3f} rad on average, {values['worst_rad']:.3f} rad at worst"


def _film(
    robot: SimulatedRobot,
    start: TrialStart,
    command: Array,
    desired: Array,
    label: str,
    renderer: OffscreenRenderer,
) -> list[NDArray[np.uint8]]:
    """Pictures of a trial and of what comes after it, with the desired posture translucent."""
    period, ghost = robot.info.period, mujoco.MjData(robot.model)
    after = np.repeat(command[-1:], round(AFTER / period), axis=0)
    commands = np.concatenate([command, after])
    step = _stride(len(command), period)
    frames: list[NDArray[np.uint8]] = []
    with robot:
        robot.reset(position=start.position, command=start.command, settled=start.settled)
        for k, _ in enumerate(periods(robot, Rows(commands), len(commands) * period)):
            if k % step == 0:
                last = min(k, len(desired) - 1)
                ghost.qpos[:] = robot.data.qpos
                ghost.qpos[robot.compiled.positions] = desired[last]
                image = renderer.render(robot.data, lambda scene: add_ghost(scene, robot.model, ghost, GHOST))
                frames.append(labelled(image, label, f"{last * period:.2f} s"))
    return frames


def _stride(periods: int, period: float) -> int:
    """How many periods pass between two pictures of a motion of so many."""
    return max(math.ceil((periods + AFTER / period) / _MOST), round(1.0 / (_RATE * period)), 1)


def write_report(
    folder: Path,
    robot: SimulatedRobot,
    learned: Learned,
    motion: Motion,
    metrics: dict[str, Any],
    start: TrialStart,
    pictures: bool,
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html`; returns its path, or None (and says so) where the extra `report` is missing."""
    assert learned.best is not None
    report = Report(
        f"Learning a motion on {robot.info.name}",
        f"{str(learned.reason).capitalize()}: {learned.detail}. "
        f"{metrics['simulated_seconds']:.0f} s simulated in {metrics['physics_seconds']:.2f} s.",
        ran,
    )
    if metrics["forecast"]:
        report.text(metrics["forecast"])
    try:
        if pictures:
            _add_pictures(report, robot, learned, motion, start, folder)
        report.heading("Error")
        _error_figure(report, learned, metrics, robot.info.joints)
        report.heading("Motion")
        _motion_figure(report, learned, motion, robot.info.joints)
        if metrics["robustness"]:
            report.heading("Robustness")
            _robustness_figure(report, metrics)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    report.heading("Numbers")
    shown = ("converged", "iterations", "max_error_rad", "rms_error_rad")
    times = {"learning (s)": metrics["wall_seconds"], "of it physics (s)": metrics["physics_seconds"]}
    numbers = [*((label(name), metrics[name]) for name in shown), *times.items()]
    report.table(("quantity", "value"), numbers)
    report.heading("Joints")
    units = {j.name: {p.name: p.unit for p in j.description.law.law.parameters} for j in robot.compiled.joints}
    rows = [
        (
            joint,
            values["law"].rpartition(":")[2],
            values["mode"],
            ", ".join(f"{k} = {v:g} {units[joint][k]}" for k, v in values["parameters"].items()),
        )
        for joint, values in metrics["joints"].items()
        if values["law"]
    ]
    report.table(("joint", "law", "mode", "parameters"), rows)
    return report.save(folder / "report.html")


def _add_pictures(
    report: Report, robot: SimulatedRobot, learned: Learned, motion: Motion, start: TrialStart, folder: Path
) -> None:
    """First and best trial side by side, as an animation (also `motion.webp`) and as a strip."""
    assert learned.best is not None
    trials = JointTrials(robot)
    shown = {"first trial": learned.history[0], f"best trial, {learned.best.iteration}": learned.best}
    try:
        with OffscreenRenderer(robot.model, width=300, height=340, shadows=False) as renderer:
            films = [
                _film(robot, start, trials.robot_command(trial.command), motion.position, name, renderer)
                for name, trial in shown.items()
            ]
    except RenderingError as error:
        report.text(f"No pictures: {error}")
        return
    period = robot.info.period
    rate = max(_RATE, 1.0 / (_stride(len(learned.best.command), period) * period))
    speed = rate * _stride(len(learned.best.command), period) * period
    pace = f"{speed:.2g} times as fast" if speed > 1.05 else "in real time"
    film = animation([np.concatenate(pair, axis=1) for pair in zip(*films, strict=True)], rate)
    write_bytes(folder / "motion.webp", film)
    report.image(
        film,
        "webp",
        f"The first trial (left) and the best one (trial {learned.best.iteration}, right), and {AFTER:g} s after "
        f"the end, {pace}. Translucent: the desired motion.",
    )
    strip = films[1][:: max(len(films[1]) // 6, 1)][:6]
    report.picture(np.concatenate(strip, axis=1), "The learned motion, from left to right.")
