"""Trials of a feed-forward on a machine behind its safety layer, recorded and learned from."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.controllers import FeedForward, Rows, controller, run, run_before
from pliant.controllers.trial import joint_columns
from pliant.deployment.deployment import stand, timing
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array, State
from pliant.hardware.safety import SafeRobot


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


class MachineTrials:
    """Runs trials on a machine: learned columns as given, all others as in the feed-forward.

    Every trial walks to the first command, stands there for a while, then plays one row a period. It comes from
    rest, as the first one did, if the machine may go there: a joint with dry friction stops on the side from which
    it came.

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
        self._settle = settle

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
        self._recorder.event("info", f"run {len(self.runs) + 1}: walking to the start", self._robot.read().time)
        if self.runs and self._robot.walks and self._robot.config.return_to_rest:
            stand(self._robot, None, self._settle, self._recorder)
        stand(self._robot, rows[0], self._settle, self._recorder)
        played = Run(
            np.full(len(rows), np.nan),
            np.full((len(rows), command.shape[1]), np.nan),
            rows,
            np.full_like(rows, np.nan),
        )
        self.runs.append(played)
        try:
            _keep(played, self._play(rows))
        except BaseException as error:
            if (before := run_before(error)) is not None:
                _keep(played, before)
            raise
        played.complete = True
        return played.position

    def _play(self, rows: Array) -> controller.Run:
        desired, number = self._feedforward.desired, len(self.runs)
        assert desired is not None
        begin = self._robot.read().time
        self._recorder.event("info", f"run {number}: begins", begin)
        row = itertools.count()

        def note(state: State, sent: Array) -> None:
            k = next(row)
            self._recorder.record(state, rows[k], sent, desired[k], timing(self._robot))
            self._show(state.time - begin, desired[k] - state.position)

        done = run(self._robot, Rows(rows), (len(rows) - 1) * self._robot.info.period, [note])
        self._recorder.event("info", f"run {number}: complete", float(done.motion.time[-1]))
        return done


def _keep(played: Run, done: controller.Run) -> None:
    """Note what happened in a run, as far as it went."""
    played.time[: len(done.motion.time)] = done.motion.time - done.motion.time[0]
    played.position[: len(done.motion.position)] = done.motion.position
    played.sent[: len(done.sent)] = done.sent
