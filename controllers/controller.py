"""The seam between a robot and what decides its next command, and the one loop that joins the two.

A `Controller` turns a state into a command. `run` reads the robot, asks the controller, sends, and tells
observers, once a period: for experiments, for learning on a machine, for deployment and for films.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, name_differences, order_differences
from pliant.errors import MismatchError, OutOfBoundsError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import Robot, RobotInfo, State, check_command, stacked

Observer = Callable[[State, Array], str | bool | None]
"""Called when a period has passed, with the state that was acted on and the command that was really sent for it.

Returns None (or nothing) to go on. To end the run it returns the reason in words, or True.
"""


class Ended(NamedTuple):
    """Why a controller has nothing more to do."""

    reason: str
    fault: bool = False
    """Whether it gave up: the machine's operator is to see to something."""


class Event(NamedTuple):
    """Something that happened in a controller."""

    time: float
    """Since the state of `reset`, s."""
    text: str


def new_events(events: Sequence[Event], newest: Event | None) -> list[Event]:
    """Return the events that have come after the newest one that was seen; None: none was."""
    found = list(itertools.takewhile(lambda event: event is not newest, reversed(events)))
    return found[::-1]


class Adjustable(NamedTuple):
    """A number of a controller that may be changed while it runs."""

    low: float
    high: float
    value: float | bool
    """As it is now; True or False: it is switched on and off."""


class Controller(ABC):
    """From a robot's state to its next command.

    Does no I/O and knows no clock: the robot's time comes in as `t`. An update should take well under a
    millisecond, so that any robot's period has room for it.
    """

    initial_command: ArrayLike | None = None
    """The command, (columns,), under which a machine waits before the first update; None: its resting one."""

    at_once: bool = False
    """Whether it begins at once: under one command, as before other controllers, the robot would fall."""

    stopping: float = 0.0
    """How long it takes to come to a stand after `come_to_stand`, s; 0: it may be left at any moment."""

    retraces: bool = False
    """Whether a machine goes back to rest by the way it came, as its tool may be among things."""

    @property
    def clearance(self) -> ArrayLike | None:
        """After an update, of one that retraces: what to add to its command, (columns,), on the way back.

        With it the tool is clear of what it touches; None: nothing is added.
        """
        return None

    events: Sequence[Event] = ()
    """What has happened since `reset` that whoever runs it should know, oldest first; old ones may be dropped."""

    @property
    def ended(self) -> Ended | None:
        """After an update: why it has nothing more to do; None: it goes on. `deploy` ends then, `run` does not."""
        return None

    @property
    def adjustables(self) -> Mapping[str, Adjustable]:
        """What of it may be changed while it runs, by name: viewers show a slider or a switch of each."""
        return {}

    def adjust(self, name: str, value: float | bool) -> None:
        """Change one of `adjustables`, between two updates; it lasts over `reset`.

        Raises:
            UnknownNameError: there is no such number.
            OutOfBoundsError: a value out of its bounds.
        """
        known = self.adjustables
        if name not in known:
            raise unknown_name("adjustable number", name, known, type(self).__name__)
        if isinstance(known[name].value, bool):
            self._adjust(name, bool(value))
        else:
            what = f"{type(self).__name__}: {name}"
            self._adjust(name, check_bounds(what, value, known[name].low, known[name].high))

    def _adjust(self, name: str, value: float | bool) -> None:  # noqa: B027  most controllers have none
        """Change one of `adjustables` to a value that may be."""

    def come_to_stand(self) -> None:  # noqa: B027  most controllers may be left at any moment
        """Begin to come to a stand, in which a machine can be left: its time is over."""

    def check(self, info: RobotInfo) -> None:  # noqa: B027  most controllers fit any robot of the right size
        """Raise `MismatchError`, naming every difference, if this is for another robot.

        `run` calls it before anything moves. By default every robot is accepted; see `check_names`.
        """

    def reset(self, state: State) -> None:  # noqa: B027  most controllers remember nothing
        """Begin at a state: forget what was before."""

    @abstractmethod
    def update(self, state: State, t: float) -> ArrayLike:
        """Return the command, (columns,), in the units of the robot's command.

        Args:
            state: what was read.
            t: when it was read, in the robot's own time since the state of `reset`, s. It grows by a period from
                one update to the next, by more where the robot was late, and not at all while it repeats a state.
        """


class End(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    OBSERVER = "observer"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Period(NamedTuple):
    """One turn of the loop, when its period has passed."""

    state: State
    """What was read at its beginning."""
    asked: Array
    """What the controller made of it, (columns,)."""
    sent: Array
    """What was really sent, (columns,)."""


class Run(NamedTuple):
    """What happened in a run: states at n + 1 instants, and the n commands between them."""

    motion: State
    """What was read, with the instants as leading axis: position (n + 1, joints), …. After a failed reading one
    instant less."""
    asked: Array
    """Commands of the controller, (n, columns)."""
    sent: Array
    """Commands as really sent, (n, columns)."""
    reason: End
    """Why it ended."""
    detail: str
    """The same in words."""


def run(robot: Robot, controller: Controller, duration: float, observers: Sequence[Observer] = ()) -> Run:
    """Let a controller command a robot, from where the robot is, and return the motion.

    Time is the robot's: `send` returns when the next period begins, and `t` is what the robot's states say.

    Whatever exception ends the run (of the controller, of an observer, of the robot, Ctrl-C) passes through as it
    is, once the robot has been stopped (`Robot.abort`); `run_before` gives what happened until then.

    Args:
        robot: connected.
        controller: of that robot; it is reset at the first state.
        duration: s, rounded to whole periods; infinite for a run that only an observer or an exception ends. It
            counts periods, so that a robot that is late takes longer.
        observers: told every period, in this order. All are told of a period in which one asks for the end.

    Raises:
        MismatchError: the controller is for another robot. Nothing was sent.
        OutOfBoundsError: a duration that is negative or NaN; a command that is not finite, which is not sent.
        ShapeError: a command of another size than the robot's, which is not sent.
        RobotError: the robot fails.
    """
    count = _checked(robot, controller, duration)
    states: list[State] = []
    turns: list[Period] = []
    reason, detail = End.COMPLETED, "all periods have passed"
    try:
        for period in _loop(robot, controller, count, states.append):
            turns.append(period)
            if wishes := _told(observers, period):
                reason, detail = End.OBSERVER, "; ".join(wishes)
                states.append(robot.read())
                break
    except BaseException as error:
        robot.abort()
        failed = End.FAILED if isinstance(error, Exception) else End.INTERRUPTED
        if states:
            so_far = _summed_up(robot.info, states, turns, failed, f"{type(error).__name__}: {error}")
            error._pliant_run = so_far  # type: ignore[attr-defined]
        raise
    return _summed_up(robot.info, states, turns, reason, detail)


def run_before(error: BaseException) -> Run | None:
    """Return what had happened in the `run` that an exception ended; None if it ended none, or at once."""
    found: Run | None = getattr(error, "_pliant_run", None)
    return found


def periods(robot: Robot, controller: Controller, duration: float = math.inf) -> Iterator[Period]:
    """Run the loop of `run` at the caller's pace: one period passes for every item that is asked for.

    For screens, which decide when time passes. Arguments and errors as `run`; an exception of controller or robot
    leaves the robot stopped. Leaving the iteration early leaves the robot under its last command.
    """
    count = _checked(robot, controller, duration)
    try:
        yield from _loop(robot, controller, count, lambda state: None)
    except GeneratorExit:
        raise
    except BaseException:
        robot.abort()
        raise


def check_names(what: str, joints: Sequence[str], columns: Sequence[str], info: RobotInfo) -> None:
    """Raise `MismatchError`, naming every difference, unless a robot has these joints and columns in this order.

    Args:
        what: whose names they are, such as "the setpoints".
        joints: names of joints, in order.
        columns: names of command columns, in order.
        info: the robot.
    """
    found = name_differences("joint", joints, info.joints)
    found += name_differences("column", columns, info.command_names)
    if not found:
        found += order_differences("joints", joints, info.joints)
        found += order_differences("columns", columns, info.command_names)
    if found:
        raise MismatchError(f"{what} does not fit the robot {info.name!r}:\n  - " + "\n  - ".join(found))


def _checked(robot: Robot, controller: Controller, duration: float) -> int | None:
    """How many whole periods a run has, None for ever; raise before anything moves if there can be none."""
    if not duration >= 0.0:
        raise OutOfBoundsError(f"duration is {duration:g} s; a number ≥ 0 s is needed (inf: without an end).")
    controller.check(robot.info)
    return round(duration / robot.info.period) if math.isfinite(duration) else None


def _loop(
    robot: Robot, controller: Controller, count: int | None, seen: Callable[[State], None]
) -> Iterator[Period]:
    """The loop; `seen` gets every state as soon as it is read, the one after the last period included."""
    info = robot.info
    state = robot.read()
    seen(state)
    begin = float(state.time)
    controller.reset(state)
    for _ in itertools.repeat(None) if count is None else range(count):
        asked = _command(controller, state, float(state.time) - begin, info)
        yield Period(state, asked, robot.send(asked))
        state = robot.read()
        seen(state)


def _command(controller: Controller, state: State, t: float, info: RobotInfo) -> Array:
    """The command of a controller, refused with its name and the time if the robot cannot take it."""
    try:
        return check_command(controller.update(state, t), info)
    except (ShapeError, OutOfBoundsError) as error:
        name = getattr(controller, "name", type(controller).__name__)
        raise type(error)(f"{name} at t = {t:.6g} s: {error}") from error


def _told(observers: Sequence[Observer], period: Period) -> list[str]:
    """Tell all observers of a period; returns why some of them want the end."""
    wishes = [answer for observer in observers if (answer := observer(period.state, period.sent))]
    return [wish if isinstance(wish, str) else "an observer asked for it" for wish in wishes]


def _summed_up(info: RobotInfo, states: Sequence[State], turns: Sequence[Period], reason: End, detail: str) -> Run:
    asked, sent = (
        np.array(rows).reshape(-1, len(info.command))
        for rows in ([period.asked for period in turns], [period.sent for period in turns])
    )
    return Run(stacked(states), asked, sent, reason, detail)
