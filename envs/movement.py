"""What is moved and watched: a simulated robot, where it begins, and who commands it."""

from collections.abc import Iterator

from numpy.typing import ArrayLike

from pliant.controllers.checks import Array
from pliant.controllers.controller import Controller, periods
from pliant.controllers.feedforward import Rows
from pliant.envs.simulation import SimulatedRobot
from pliant.hardware.robot import State


class Movement:
    """A motion of a robot under a controller. However often it is run, it begins at the same place."""

    def __init__(
        self,
        robot: SimulatedRobot,
        controller: Controller,
        duration: float,
        *,
        position: ArrayLike | None = None,
        before: ArrayLike | None = None,
    ) -> None:
        """Keep what is given; nothing moves yet.

        Args:
            robot: what is moved.
            controller: returns the commands, (columns,).
            duration: s; infinite for one without an end.
            position: of the links at the beginning, (joints,), rad; None: the model's own.
            before: the command in force until the first one, (columns,); None: the resting one.
        """
        self.robot, self.controller, self.duration = robot, controller, duration
        self._position, self._before = position, before

    def begin(self) -> State:
        """Connect the robot, put it to the beginning and return what it reads there."""
        self.robot.connect()
        return self.robot.reset(position=self._position, command=self._before)

    def states(self) -> Iterator[State]:
        """Run it: what is read at the beginning and after every period, while the robot stands there."""
        yield self.begin()
        for _ in periods(self.robot, self.controller, self.duration):
            yield self.robot.read()


class OpenLoop(Movement):
    """A motion under commands that are known beforehand."""

    def __init__(
        self,
        robot: SimulatedRobot,
        rows: Array,
        *,
        position: ArrayLike | None = None,
        before: ArrayLike | None = None,
    ) -> None:
        """Keep what is given; nothing moves yet.

        Args:
            robot: what is moved.
            rows: commands, each in force for one period, (n, columns).
            position: as for `Movement`.
            before: as for `Movement`.
        """
        super().__init__(robot, Rows(rows), len(rows) * robot.info.period, position=position, before=before)
        self.rows = rows

    def run(self) -> State:
        """Return what `states` yields, to the last bit, as one state of n + 1 instants; all in C."""
        self.begin()
        return self.robot.rollout(self.rows)
