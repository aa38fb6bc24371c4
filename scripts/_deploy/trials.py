"""Trials of a feed-forward on a machine behind its safety layer, recorded and learned from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.controllers import FeedForward
from pliant.controllers.ilc import LearningLaw
from pliant.controllers.trial import joint_columns
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array
from pliant.hardware.safety import SafeRobot
from pliant.scripts._deploy.deployment import check_measured, timing


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
        check_measured(self._robot, state)
        self._recorder.event("info", f"run {len(self.runs) + 1}: walking to the start", state.time)
        self._robot.walk_to(first)
        for _ in range(self._settle):
            state = self._robot.read()
            self._recorder.walk(state, first, self._robot.send(first))

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
