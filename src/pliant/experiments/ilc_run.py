"""A run of `pliant ilc`: a motion learned by iterative learning control on a simulated robot."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig
from rich.console import Console
from rich.markup import escape

from pliant.conf.build import build
from pliant.controllers import FeedForward, IterativeLearning, Learned, Motion, StopReason, desired_motion
from pliant.controllers.convergence import forecast
from pliant.controllers.trial import JointTrials
from pliant.envs.description import RobotDescription, described
from pliant.envs.linearisation import built_law, impulse_responses
from pliant.envs.robustness import Perturbation, replay
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import TrialStart, link_ranges, slow_commands, trial_start
from pliant.errors import PliantError, RobotError, unknown_name
from pliant.hardware.robot import Array

_STATE = "learner.npz"
_BEGIN = ("resting", "held")
_POSES, _LONGEST = 3, 8.0
"""Of a forecast: poses of the motion, and how long it waits for a joint's answer to a command, s."""


class LearnedMotion(NamedTuple):
    """What came of a run."""

    robot: SimulatedRobot
    motion: Motion
    """What was to be learned."""
    learned: Learned
    begin: TrialStart
    """Where each trial began."""
    metrics: dict[str, Any]


def learn_motion(config: DictConfig, folder: Path, console: Console) -> LearnedMotion:
    """Learn a motion, write it as `feedforward.npz`, and replay it on perturbed robots.

    Args:
        config: of `pliant ilc`.
        folder: of the run; the learner's state is kept there after every trial.
        console: shows every trial.

    Raises:
        PliantError: the trajectory is not one of this robot, or begins where nothing holds it; see
            `desired_motion` and `trial_start`.
        RobotError: nothing was learned.
    """
    started = time.perf_counter()
    description = described(config.robot)
    robot = description.simulated()
    stops = link_ranges(robot.compiled)
    motion = desired_motion(build(config.trajectory, "trajectory"), robot.info, ranges=stops)
    options = config.learning
    perturbation: Perturbation = build(config.robustness, "robustness")
    SimulatedRobot(description.model, description.period, command_delay=perturbation.command_delay)  # may refuse
    with robot:
        trials = _TimedTrials(robot, options.columns)
        held = _held(options.begin)
        begin = trial_start(robot.compiled, motion.position[0], trials.columns, held=held)
        robot.reset(position=begin.position, command=begin.command, settled=begin.settled)
        law = built_law(config.ilc, description, motion, trials.columns)
        if held:
            first = slow_commands(robot.compiled, motion, trials.columns)
        else:
            first = law.initial(motion.position) + begin.lift
        learning = IterativeLearning(
            law,
            motion,
            trials,
            options.tolerance,
            options.max_iterations,
            trials.low,
            trials.high,
            first,
        )
        if options.resume is not None:
            learning.load(Path(options.resume) / _STATE)
        learned, expected = _learn(
            learning,
            folder / _STATE,
            console,
            partial(_forecast, learning, description, trials.columns),
        )
    if learned.best is None:
        raise RobotError(f"nothing was learned: {learned.detail}.")
    command = trials.robot_command(learned.best.command)
    FeedForward.of_robot(robot.info, command, desired=motion.position, expected=learned.best.position).save(
        folder / "feedforward.npz"
    )
    metrics: dict[str, Any] = {
        "converged": learned.reason == "converged",
        "reason": str(learned.reason),
        "detail": learned.detail,
        "iterations": len(learned.history),
        "best_iteration": learned.best.iteration,
        "max_error_rad": learned.best.max_error,
        "rms_error_rad": learned.best.rms,
        "start_error_rad": float(np.abs(learned.best.error[0]).max()),
        "max_error_per_iteration": [trial.max_error for trial in learned.history],
        "robot": robot.info.name,
        "joints": robot.info.parameters["joints"],
        "tolerance_rad": float(options.tolerance),
        "forecast": expected,
        "wall_seconds": time.perf_counter() - started,
        "physics_seconds": trials.seconds,
        "simulated_seconds": float(motion.time[-1] * len(learned.history)),
    }
    start = time.perf_counter()
    if learned.reason is StopReason.INTERRUPTED:
        perturbation = replace(perturbation, robots=0)
    metrics["robustness"] = _robustness(
        perturbation, description, command, motion.position, begin, float(options.tolerance)
    )
    metrics["robustness_seconds"] = time.perf_counter() - start
    return LearnedMotion(robot, motion, learned, begin, metrics)


def _held(begin: Any) -> bool:
    """Whether trials begin held at the robot's own start too, from the setting of that."""
    if begin not in _BEGIN:
        raise unknown_name("beginning of a trial", begin, _BEGIN, "learning.begin")
    return bool(begin == "held")


class _TimedTrials(JointTrials):
    """Trials that add up the time spent in physics."""

    seconds = 0.0

    def __call__(self, command: Array) -> Array:
        """Run a trial; see `JointTrials`."""
        start = time.perf_counter()
        position = super().__call__(command)
        self.seconds += time.perf_counter() - start
        return position


def _forecast(learning: IterativeLearning, description: RobotDescription, columns: Sequence[int]) -> str:
    """Say why the learning is not likely to converge, as far as a model tells; empty if it is."""
    if learning.law.transfer(2, np.zeros(1)) is None:
        return ""
    try:
        response = impulse_responses(
            description, learning.motion.position, columns, _POSES, _LONGEST, settled=False
        )
    except PliantError:  # a robot without such a model may well learn
        return ""
    told = forecast(learning, response, description.model.joints)
    if told is None or told.converges:
        return ""
    return (
        f"This is not likely to get below {learning.tolerance:g} rad: a model of the robot comes to "
        f"{told.best:.3g} rad in {told.trials} trials. {told.why}"
    )


def _learn(
    learning: IterativeLearning, state: Path, console: Console, forecast: Callable[[], str]
) -> tuple[Learned, str]:
    """Run the learning with live progress, keeping its state after every trial; Ctrl-C ends it early.

    Returns:
        What came of it, and what `forecast` said after the first trial.
    """
    said = ""
    console.print(f"{'trial':>5}  {'largest error':>13}  {'rms':>8}")
    try:
        for trial in learning:
            learning.save(state)
            if trial.iteration == 1 and trial.max_error >= learning.tolerance:
                said = forecast()
            bar = "█" * min(round(40 * trial.max_error / learning.history[0].max_error), 60)
            good = "[green]" if trial.max_error < learning.tolerance else "[default]"
            console.print(
                f"{trial.iteration:5}  {good}{trial.max_error:9.4f}[/] rad  {trial.rms:8.4f}  [blue]{bar}[/]",
                highlight=False,
            )
            if trial.iteration == 1 and said:
                console.print(f"[yellow]{escape(said)}[/]", highlight=False)
    except KeyboardInterrupt:
        if not learning.history:
            raise
        console.print("interrupted: keeping the best so far")
    return learning.result, said


def _robustness(
    perturbation: Perturbation,
    description: RobotDescription,
    command: Array,
    desired: Array,
    start: TrialStart,
    tolerance: float,
) -> dict[str, Any]:
    """Replay on perturbed robots; returns the statistics of their largest errors and the errors themselves."""
    if perturbation.robots == 0:
        return {}
    played = replay(description.model, description.period, command[:-1], perturbation, start)
    errors = np.abs(played - desired).max(axis=(1, 2))
    return {
        **asdict(perturbation),
        "max_error_rad": [float(e) for e in errors],
        "within_tolerance": int(np.count_nonzero(errors < tolerance)),
        "diverged": int(np.count_nonzero(~np.isfinite(errors))),
        "mean_rad": float(errors.mean()),
        "worst_rad": float(errors.max()),
    }
