"""Deployment of a learned feed-forward: checked, played as it is, and learned on if that is asked for."""

from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from pliant.controllers import FeedForward, IterativeLearning, Rows, run
from pliant.controllers.learning import StopReason
from pliant.controllers.robot_parameters import tell
from pliant.controllers.trajectories import Motion
from pliant.controllers.trial import joint_columns
from pliant.deployment.deployment import Deployment, check_measured, error_text, live, machine_numbers, stand
from pliant.deployment.rehearsal import rehearsal
from pliant.deployment.reports import write_feedforward_report
from pliant.deployment.trials import MachineTrials, Run
from pliant.envs.description import described
from pliant.envs.linearisation import built_law
from pliant.errors import ConfigurationError, MismatchError
from pliant.files import write_json
from pliant.hardware.limits import Bounds
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array, RobotInfo
from pliant.hardware.safety import SafeRobot

_TOLERANCE = 1e-9


def checked(feedforward: FeedForward, info: RobotInfo, limits: Bounds, *, parameters: bool = True) -> FeedForward:
    """Return a feed-forward in the order of a robot's columns and joints.

    Args:
        feedforward: what was learned.
        info: the robot behind its safety layer.
        limits: those of the safety layer.
        parameters: whether the robot's parameters must be those that it was learned with; else differences are
            logged.

    Raises:
        MismatchError: it does not fit; names, units, period, range, speed, acceleration and the robot's parameters
            are all compared, and every difference is listed.
        ConfigurationError: it holds no desired motion.
    """
    problem = ""
    try:
        feedforward.check(info, parameters=parameters)
    except MismatchError as error:
        problem = str(error)
    found = _too_fast(feedforward, info, limits)
    if found and not problem:
        problem = f"the feed-forward learned on {feedforward.robot!r} moves faster than the safety limits allow:"
    if problem:
        raise MismatchError("\n  - ".join([problem, *found]))
    if feedforward.desired is None:
        raise ConfigurationError("the feed-forward holds no desired motion, so no error can be told.")
    tell(f"the feed-forward learned on {feedforward.robot!r}", feedforward.parameters, info.parameters)
    return feedforward.arranged(info, parameters=False)


def _too_fast(feedforward: FeedForward, info: RobotInfo, limits: Bounds) -> list[str]:
    """The columns that change faster than the limits of speed and acceleration, with both numbers."""
    speed = np.diff(feedforward.command, axis=0) / feedforward.period
    found = []
    for what, rates, bounds, unit in (
        ("speed", speed, limits.speed, "/s"),
        ("acceleration", np.diff(speed, axis=0) / feedforward.period, limits.acceleration, "/s²"),
    ):
        for name, values in zip(feedforward.columns, np.abs(rates).T, strict=True):
            if name not in info.command_names or not values.size:
                continue
            column = info.command_names.index(name)
            if values.max() > bounds[column] * (1 + _TOLERANCE):
                unit_here = info.command[column].unit + unit
                found.append(
                    f"column {name!r}: {what} up to {values.max():.3g} {unit_here} in the file, limit "
                    f"{bounds[column]:g} {unit_here} here"
                )
    return found


class FeedForwardDeployment(Deployment):
    """A feed-forward on a machine, run once as it is, then corrected from run to run if that is asked for."""

    def __init__(self, config: DictConfig, robot: SafeRobot) -> None:
        """Load it, see whether it fits, and rehearse it; nothing is connected.

        Raises as `FeedForward.load`, `checked`, `built_law` and `rehearsal`.
        """
        check_measured(robot)
        learned = FeedForward.load(config.feedforward)
        super().__init__(robot, {"feedforward": str(config.feedforward), "learned_on": learned.robot})
        self.feedforward = checked(learned, robot.info, robot.limits, parameters=bool(config.same_robot))
        self.runs: list[Run] = []
        self._config = config
        desired, period = self.feedforward.desired, self.feedforward.period
        assert desired is not None
        self._motion = Motion(self.feedforward.time, desired, np.gradient(desired, period, axis=0))
        columns = joint_columns(robot.info, config.learning.columns)
        self._law = built_law(config.ilc, described(config.robot), self._motion, columns)
        self._progress: IterativeLearning | None = None
        with rehearsal(robot, described(config.robot).simulated(robot.info.period)) as safe:
            rows = learned.arranged(safe.info, parameters=False).command
            stand(safe, rows[0], safe.info.period)
            run(safe, Rows(rows), (len(rows) - 1) * safe.info.period)

    @property
    def complete(self) -> bool:
        """Whether every run that was to be was played to its end."""
        ended = self._progress is not None and self._progress.result.reason is not StopReason.INTERRUPTED
        return ended and all(run.complete for run in self.runs)

    @property
    def errors(self) -> list[Array]:
        """Desired minus measured position of every complete run, (n, joints), rad."""
        assert self.feedforward.desired is not None
        return [self.feedforward.desired - run.position for run in self.runs if run.complete]

    def play(self, recorder: Recorder, console: Console) -> None:
        """Play all runs."""
        columns, settle = self._config.learning.columns, float(self._config.run.settle)
        with live(console, self.feedforward.duration) as show:
            trials = MachineTrials(
                self.robot, self.feedforward, recorder, lambda t, e: show(t, error_text(e)), settle, columns
            )
            self.runs = trials.runs
            self._progress = self._learning(trials)
            try:
                for trial in self._progress:
                    console.print(
                        f"run {trial.iteration}: largest error {trial.max_error:.4f} rad", highlight=False
                    )
            except KeyboardInterrupt:
                return

    def _learning(self, trials: MachineTrials) -> IterativeLearning:
        """The learning whose first trial is the feed-forward as it is."""
        learning = self._config.learning
        return IterativeLearning(
            self._law,
            self._motion,
            trials,
            learning.tolerance,
            1 + int(learning.trials),
            trials.low,
            trials.high,
            self.feedforward.command[:, trials.columns],
        )

    def finish(self, folder: Path, console: Console) -> tuple[dict[str, Any], Path | None]:
        """Write what was learned, metrics and report."""
        numbers = metrics(self)
        complete = [run for run in self.runs if run.complete]
        if len(complete) > 1:
            best = complete[int(np.argmin(numbers["max_error_per_run_rad"]))]
            FeedForward.of_robot(
                self.robot.info, best.asked, desired=self.feedforward.desired, expected=best.position
            ).save(folder / "feedforward.npz")
        write_json(folder / "metrics.json", numbers)
        if numbers["max_error_rad"] is not None:
            predicted = numbers["predicted_max_error_rad"]
            beside = "" if predicted is None else f" (simulation: {predicted:.4f} rad)"
            console.print(f"largest error {numbers['max_error_rad']:.4f} rad{beside}; results in {folder}")
        report = (
            write_feedforward_report(folder, self.feedforward, self.runs, self.robot.info, numbers, self.ran)
            if self.runs
            else None
        )
        return numbers, report


def metrics(deployment: FeedForwardDeployment) -> dict[str, Any]:
    """Return the numbers of a deployment: `max_error_rad` is that of the first run, unchanged as learned."""
    feedforward, errors, robot = deployment.feedforward, deployment.errors, deployment.robot
    assert feedforward.desired is not None
    predicted = None if feedforward.expected is None else feedforward.desired - feedforward.expected
    largest = [float(np.abs(error).max()) for error in errors]
    joints = robot.info.joints
    return {
        "completed": deployment.reason == "completed",
        "reason": deployment.reason,
        "robot": robot.info.name,
        "learned_on": feedforward.robot,
        "max_error_rad": largest[0] if largest else None,
        "predicted_max_error_rad": None if predicted is None else float(np.abs(predicted).max()),
        "max_error_per_joint_rad": _per_joint(joints, errors[0]) if errors else None,
        "predicted_max_error_per_joint_rad": None if predicted is None else _per_joint(joints, predicted),
        "rms_error_rad": float(np.sqrt(np.mean(errors[0] ** 2))) if errors else None,
        "max_error_per_run_rad": largest,
        "best_max_error_rad": min(largest, default=None),
        "runs": len(deployment.runs),
        **machine_numbers(robot, [run.time for run in deployment.runs]),
    }


def _per_joint(joints: tuple[str, ...], error: Array) -> dict[str, float]:
    return dict(zip(joints, np.abs(error).max(axis=0).tolist(), strict=True))
