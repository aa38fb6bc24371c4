"""Learn a motion by iterative learning control in simulation, and report it."""

import math
import time
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from pliant.conf.build import build
from pliant.controllers import FeedForward, IterativeLearning, Learned, desired_motion
from pliant.controllers.trial import JointTrials
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.resting import TrialStart, link_ranges, trial_start
from pliant.envs.robustness import Perturbation, replay
from pliant.envs.simulated_robot import SimulatedRobot
from pliant.errors import RobotError
from pliant.files import write_json
from pliant.hardware.robot import Array
from pliant.scripts import _app
from pliant.scripts._ilc_report import write_report

_STATE = "learner.npz"


class TimedTrials(JointTrials):
    """Trials that add up the time spent in physics."""

    seconds = 0.0

    def __call__(self, command: Array) -> Array:
        """Run a trial; see `JointTrials`."""
        start = time.perf_counter()
        position = super().__call__(command)
        self.seconds += time.perf_counter() - start
        return position


def learn(learning: IterativeLearning, state: Path, console: Console) -> Learned:
    """Run the learning with live progress, keeping its state after every trial; Ctrl-C ends it early."""
    console.print(f"{'trial':>5}  {'largest error':>13}  {'rms':>8}")
    try:
        for trial in learning:
            learning.save(state)
            bar = "█" * min(round(40 * trial.max_error / learning.history[0].max_error), 60)
            good = "[green]" if trial.max_error < learning.tolerance else "[default]"
            console.print(
                f"{trial.iteration:5}  {good}{trial.max_error:9.4f}[/] rad  {trial.rms:8.4f}  [blue]{bar}[/]",
                highlight=False,
            )
    except KeyboardInterrupt:
        console.print("interrupted: keeping the best so far")
    return learning.result


def robustness(
    perturbation: Perturbation,
    model: RobotModel,
    period: float,
    command: Array,
    desired: Array,
    start: TrialStart,
) -> dict[str, Any]:
    """Replay on perturbed robots; returns the statistics of their largest errors and the errors themselves."""
    if perturbation.robots == 0:
        return {}
    errors = np.abs(replay(model, period, command[:-1], perturbation, start) - desired).max(axis=(1, 2))
    return {
        **asdict(perturbation),
        "max_error_rad": [float(e) for e in errors],
        "mean_rad": float(errors.mean()),
        "worst_rad": float(errors.max()),
    }


def job(config: DictConfig) -> dict[str, Any]:
    """Learn, write `feedforward.npz`, `metrics.json` and `report.html` into the run's folder."""
    started = time.perf_counter()
    console = Console()
    folder = _app.run_folder()
    model = build(config.robot.model, "robot.model")
    robot = SimulatedRobot(model, float(config.robot.period))
    joints = robot.plan.joints
    stops = link_ranges(robot.model, joints)
    motion = desired_motion(build(config.trajectory, "trajectory"), robot.info, ranges=stops)
    options = config.learning
    with robot:
        trials = TimedTrials(robot, options.columns)
        begin = trial_start(robot.info, robot.model, joints, motion.position[0], trials.columns)
        robot.reset(position=begin.position, command=begin.command, settled=begin.settled)
        law = build(config.ilc, "ilc")
        learning = IterativeLearning(
            law,
            motion,
            trials,
            options.tolerance,
            options.max_iterations,
            trials.low,
            trials.high,
            law.initial(motion.position) + begin.lift,
        )
        if options.resume is not None:
            learning.load(Path(options.resume) / _STATE)
        learned = learn(learning, folder / _STATE, console)
    if learned.best is None:
        raise RobotError(f"nothing was learned: {learned.detail}.")
    command = trials.robot_command(learned.best.command)
    FeedForward.of_robot(robot.info, command, desired=motion.position, expected=learned.best.position).save(
        folder / "feedforward.npz"
    )
    wall = time.perf_counter() - started
    metrics: dict[str, Any] = {
        "converged": learned.reason == "converged",
        "reason": str(learned.reason),
        "iterations": len(learned.history),
        "best_iteration": learned.best.iteration,
        "max_error_rad": learned.best.max_error,
        "rms_error_rad": learned.best.rms,
        "start_error_rad": float(np.abs(learned.best.error[0]).max()),
        "max_error_per_iteration": [trial.max_error for trial in learned.history],
        "robot": robot.info.name,
        "joints": robot.info.parameters,
        "tolerance_rad": float(options.tolerance),
        "wall_seconds": wall,
        "physics_seconds": trials.seconds,
        "simulated_seconds": float(motion.time[-1] * len(learned.history)),
    }
    start = time.perf_counter()
    metrics["robustness"] = robustness(
        build(config.robustness, "robustness"), model, robot.info.period, command, motion.position, begin
    )
    metrics["robustness_seconds"] = time.perf_counter() - start
    report = write_report(folder, robot, learned, motion, metrics, begin, bool(config.report.pictures))
    metrics["report_seconds"] = time.perf_counter() - start - metrics["robustness_seconds"]
    write_json(folder / "metrics.json", metrics)
    console.print(f"{learned.reason}: {learned.detail}")
    if math.isfinite(metrics["robustness"].get("worst_rad", math.nan)):
        r = metrics["robustness"]
        console.print(
            f"on {r['robots']} perturbed robots: {r['mean_rad']:.3f} rad on average, {r['worst_rad']:.3f} at worst"
        )
    console.print(f"learned in {wall:.2f} s, of which physics {trials.seconds:.2f} s; results in {folder}")
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)
        if config.report.open:
            webbrowser.open(report.resolve().as_uri())
    return metrics


def main() -> None:
    """Run the verb on the command line's arguments."""
    _app.run(job, "ilc")


if __name__ == "__main__":
    main()
