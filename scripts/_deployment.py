"""Runs of a learned feed-forward on a machine, behind its safety layer: checked, recorded, learned from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pliant.controllers import FeedForward
from pliant.controllers.ilc import LearningLaw
from pliant.controllers.trial import joint_columns
from pliant.errors import ConfigurationError, MismatchError
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.limits import Bounds
from pliant.hardware.recording import Recorder, Timing
from pliant.hardware.robot import Array, RobotInfo
from pliant.hardware.safety import SafeRobot

_TOLERANCE = 1e-9


@dataclass
class Run:
    """One run of the feed-forward, as far as it went; rows are periods."""

    time: Array
    """Robot time since the first row, (n,), s; NaN from where the run was cut short."""
    position: Array
    """Measured, (n, joints), rad; NaN likewise."""
    asked: Array
    """Commands of the feed-forward, (n, columns)."""
    sent: Array
    """Commands as really sent, (n, columns); NaN in the last row, which is only measured."""
    complete: bool = False


@dataclass(frozen=True)
class Continued(LearningLaw):
    """A learning law that begins with a command that is known already."""

    law: LearningLaw
    command: Array
    """Of the first trial, (n, joints), rad."""

    def initial(self, desired: Array) -> Array:
        """Return the known command."""
        return np.array(self.command)

    def update(self, iteration: int, command: Array, error: Array, error_rate: Array) -> Array:
        """Return what the law itself makes of the trial before."""
        return self.law.update(iteration, command, error, error_rate)


def checked(feedforward: FeedForward, info: RobotInfo, limits: Bounds) -> FeedForward:
    """Return a feed-forward in the order of a robot's columns and joints.

    Args:
        feedforward: what was learned.
        info: the robot behind its safety layer.
        limits: those of the safety layer.

    Raises:
        MismatchError: it does not fit; names, units, period, range, speed and acceleration are all compared, and
            every difference is listed.
        ConfigurationError: it holds no desired motion.
    """
    problem = ""
    try:
        feedforward.check(info)
    except MismatchError as error:
        problem = str(error)
    found = _too_fast(feedforward, info, limits)
    if found and not problem:
        problem = f"the feed-forward learned on {feedforward.robot!r} moves faster than the safety limits allow:"
    if problem:
        raise MismatchError("\n  - ".join([problem, *found]))
    if feedforward.desired is None:
        raise ConfigurationError("the feed-forward holds no desired motion, so no error can be told.")
    return feedforward.arranged(info)


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


class MachineTrials:
    """Runs trials on a machine: learned columns as given, all others as in the feed-forward.

    Every trial walks to the first command, stands there for a while, then plays one row a period.

    Args:
        robot: the machine behind its safety layer, connected.
        feedforward: arranged for it, with its desired motion.
        recorder: gets every period of every run.
        show: told the time (s) and the error of each joint (rad), every period.
        settle: standing still at the start, s.
        columns: learned columns; see `joint_columns`.
    """

    def __init__(
        self,
        robot: SafeRobot,
        feedforward: FeedForward,
        recorder: Recorder,
        show: Callable[[float, Array], None],
        settle: float,
        columns: list[str] | None = None,
    ) -> None:
        self.columns = list(joint_columns(robot.info, columns))
        self.runs: list[Run] = []
        """All runs, in order; the last one may be incomplete."""
        self._robot, self._feedforward, self._recorder = robot, feedforward, recorder
        self._show = show
        self._settle = round(settle / robot.info.period)

    @property
    def low(self) -> Array:
        """Lower bounds of the learned columns, (joints,)."""
        return self._robot.info.low[self.columns]

    @property
    def high(self) -> Array:
        """Upper bounds of the learned columns, (joints,)."""
        return self._robot.info.high[self.columns]

    def robot_command(self, command: Array) -> Array:
        """Return the robot's commands, (n, columns), for the learned ones, (n, joints)."""
        full = np.array(self._feedforward.command)
        full[:, self.columns] = command
        return full

    def __call__(self, command: Array) -> Array:
        """Run a trial and return the measured positions at the times of the rows, (n, joints), rad."""
        rows = self.robot_command(command)
        self._walk_to_start(rows[0])
        run = Run(
            np.full(len(rows), np.nan),
            np.full((len(rows), command.shape[1]), np.nan),
            rows,
            np.full_like(rows, np.nan),
        )
        self.runs.append(run)
        self._play(run)
        run.complete = True
        return run.position

    def _walk_to_start(self, first: Array) -> None:
        state = self._robot.read()
        unknown = [n for n, q in zip(self._robot.info.joints, state.position, strict=True) if not np.isfinite(q)]
        if unknown:
            raise ConfigurationError(
                f"nothing measures the position of joint {', '.join(unknown)}; give it an encoder."
            )
        self._recorder.event("info", f"run {len(self.runs) + 1}: walking to the start", state.time)
        self._robot.walk_to(first)
        for _ in range(self._settle):
            self._robot.send(first)

    def _play(self, run: Run) -> None:
        desired, last = self._feedforward.desired, len(run.asked) - 1
        assert desired is not None
        state = self._robot.read()
        begin = state.time
        self._recorder.event("info", f"run {len(self.runs)}: begins", begin)
        for k, row in enumerate(run.asked):
            run.time[k], run.position[k] = state.time - begin, state.position
            self._show(run.time[k], desired[k] - state.position)
            if k == last:
                self._recorder.event("info", f"run {len(self.runs)}: complete", state.time)
                break
            run.sent[k] = self._robot.send(row)
            self._recorder.record(state, row, run.sent[k], desired[k], timing(self._robot))
            state = self._robot.read()


def timing(robot: SafeRobot) -> Timing:
    """Return what went wrong on a machine since it was connected."""
    driver = robot.robot
    if isinstance(driver, DynamixelRobot):
        return Timing(driver.overruns, robot.report.missed_reads, driver.counters.retries)
    return Timing(robot.report.overruns, robot.report.missed_reads, 0)


@dataclass
class Outcome:
    """What came of a deployment, for metrics and report."""

    feedforward: FeedForward
    """As deployed, in the order of the robot."""
    runs: list[Run] = field(default_factory=list)
    reason: str = "completed"
    """`completed`, or what ended it early."""

    @property
    def errors(self) -> list[Array]:
        """Desired minus measured position of every complete run, (n, joints), rad."""
        assert self.feedforward.desired is not None
        return [self.feedforward.desired - run.position for run in self.runs if run.complete]


def metrics(outcome: Outcome, robot: SafeRobot) -> Mapping[str, object]:
    """Return the numbers of a deployment: `max_error_rad` is that of the first run, unchanged as learned."""
    feedforward, errors = outcome.feedforward, outcome.errors
    assert feedforward.desired is not None
    predicted = None if feedforward.expected is None else feedforward.desired - feedforward.expected
    largest = [float(np.abs(error).max()) for error in errors]
    measured = np.concatenate([np.diff(run.time) for run in outcome.runs] or [np.zeros(0)])
    measured = measured[np.isfinite(measured)]
    joints = robot.info.joints
    return {
        "completed": outcome.reason == "completed",
        "reason": outcome.reason,
        "robot": robot.info.name,
        "learned_on": feedforward.robot,
        "max_error_rad": largest[0] if largest else None,
        "predicted_max_error_rad": None if predicted is None else float(np.abs(predicted).max()),
        "max_error_per_joint_rad": _per_joint(joints, errors[0]) if errors else None,
        "predicted_max_error_per_joint_rad": None if predicted is None else _per_joint(joints, predicted),
        "rms_error_rad": float(np.sqrt(np.mean(errors[0] ** 2))) if errors else None,
        "max_error_per_run_rad": largest,
        "best_max_error_rad": min(largest, default=None),
        "runs": len(outcome.runs),
        "period_seconds": float(measured.mean()) if measured.size else None,
        "longest_period_seconds": float(measured.max()) if measured.size else None,
        "nominal_period_seconds": robot.info.period,
        **timing(robot)._asdict(),
        "limited": robot.report.limited,
        "trips": list(robot.report.trips),
    }


def _per_joint(joints: tuple[str, ...], error: Array) -> dict[str, float]:
    return dict(zip(joints, np.abs(error).max(axis=0).tolist(), strict=True))
