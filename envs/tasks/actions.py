"""Action terms: what an action in [−1, 1] does.

`Spread` is the command itself; `Limited` leads there no faster than a machine may; `Rate` is the command's speed.
`AboutRest` adds to the resting command, `Residual` to that of a controller, of which `Parameters` moves the
parameters. All but `Spread` keep something for each episode and work in Python, once a period.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import finite_array, positive
from pliant.controllers.controller import Controller
from pliant.envs.selection import Names, as_names, matches, select
from pliant.envs.tasks.kinematics import Kinematics
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.limits import Motion, MotionLimits, limit_motion
from pliant.hardware.limits import bounds as motion_bounds
from pliant.hardware.robot import PER_JOINT, PER_MOTOR, Array, Channel, RobotInfo, State

Act = Callable[[Controller, Array, State, float, Array], None]
"""(an episode's controller, its action, its state, t in s, the command (columns,) to be written)."""


class ActionOnRobot(NamedTuple):
    """What an action does to a robot."""

    channels: tuple[Channel, ...]
    """What each entry moves: name, unit and bounds."""
    middle: Array
    """Of each column's bounds, (columns,); the resting value of a column that is not commanded."""
    half: Array
    """Half the range of each column, (columns,); 0 likewise."""
    source: NDArray[np.intp]
    """Which action commands each column, (columns,)."""
    rest: Array
    """The action that rests, (actions,)."""
    controller: Controller | None = None
    """To be copied for each episode, if there is one …"""
    act: Act | None = None
    """… and what uses it."""
    told: tuple[Channel, ...] = ()
    """Signals that terms find beside the robot's: what the controller says of itself …"""
    tell: Callable[[Controller, Array], None] | None = None
    """… and writes down once it has acted: (controller, (told,))."""


class Action(ABC):
    """A configured action term. One of your own writes `on`."""

    @abstractmethod
    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """Return it for a robot, whose arm the kinematics know; raises where they do not go together."""


@dataclass(frozen=True)
class Spread(Action):
    """The action is the command, spread over the bounds of its columns: middle + half·a. Other columns rest."""

    commanded: Names | None = None
    """Columns by full name (`elbow/preset`), glob or quantity (`preset`); None for all."""

    def __post_init__(self) -> None:
        _freeze_names(self)

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`.

        Raises:
            UnknownNameError: a column that the robot does not have.
            ConfigurationError: no column, or one without a range.
        """
        columns = find_columns(self.commanded, info)
        channels = tuple(info.command[i] for i in columns)
        middle, half = info.rest, np.zeros(len(info.command))
        middle[columns] = ((info.low + info.high) / 2)[columns]
        half[columns] = ((info.high - info.low) / 2)[columns]
        source = np.zeros(len(info.command), dtype=np.intp)  # a held column takes any action, times 0
        source[columns] = np.arange(len(columns))
        rest = (info.rest[columns] - middle[columns]) / half[columns]
        return ActionOnRobot(channels, middle, half, source, rest)


class _Follower(Controller):
    """Where the command of an episode is, and how fast it changes."""

    motion: Motion

    def reset(self, state: State) -> None:
        self.motion = Motion(state.command, np.zeros(len(state.command)))

    def update(self, state: State, t: float) -> Array:
        return self.motion.value


def _following(
    info: RobotInfo, columns: list[int], limits: MotionLimits, target: Callable[[Array, Motion], Motion]
) -> Act:
    """Lead an episode's `_Follower` to a target, which follows from action and last motion, within limits."""
    within = motion_bounds(
        [limits] * len(columns), tuple(info.command[i] for i in columns), info.period, walk=False
    )

    def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
        assert isinstance(controller, _Follower)
        last = Motion(controller.motion.value[columns], controller.motion.speed[columns])
        moved = limit_motion(target(action, last), last, within, info.period)
        value, speed = info.rest.copy(), np.zeros(len(info.command))
        value[columns], speed[columns] = moved.value, moved.speed
        controller.motion = Motion(value, speed)
        command[:] = value

    return act


@dataclass(frozen=True)
class _Moving(Action):
    """A command that moves within limits of its speed and acceleration."""

    speed: float = 1.5
    """Largest rate of change of the columns, their unit/s."""
    acceleration: float = 15.0
    """Largest change of that rate, unit/s²."""
    commanded: Names | None = None
    """Columns, as of `Spread`; the others rest."""

    def __post_init__(self) -> None:
        _freeze_names(self)
        MotionLimits(self.speed, self.acceleration)


@dataclass(frozen=True)
class Limited(_Moving):
    """The command goes where `Spread` would put it, within limits of its speed and acceleration.

    By the law of the safety layer (`hardware.limits`): behind one whose limits are no narrower a policy acts on a
    machine as it has learned to. Each episode begins at the command in force.
    """

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`; errors of `Spread.on`."""
        columns = find_columns(self.commanded, info)
        spread = Spread(self.commanded).on(info)
        middle, half = spread.middle[columns], spread.half[columns]

        def target(action: Array, last: Motion) -> Motion:
            return Motion(middle + half * action, np.zeros(len(columns)))

        follow = _following(info, columns, MotionLimits(self.speed, self.acceleration), target)
        return with_controller(info, spread.channels, spread.rest, _Follower(), follow)


@dataclass(frozen=True)
class Rate(_Moving):
    """The command moves at `speed`·a, within limits of its acceleration and of its columns' bounds.

    Gentler than `Limited` and finer near the goal: a = 0 holds the command where it is. The law is that of the
    safety layer too. Each episode begins at the command in force.
    """

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`; errors of `Spread.on`."""
        columns = find_columns(self.commanded, info)
        spread = Spread(self.commanded).on(info)
        channels = tuple(
            Channel(c.name, f"{c.unit}/s", -self.speed, self.speed) for c in (info.command[i] for i in columns)
        )

        def target(action: Array, last: Motion) -> Motion:
            speed = self.speed * action
            return Motion(last.value + speed * info.period, speed)

        follow = _following(info, columns, MotionLimits(self.speed, self.acceleration), target)
        return with_controller(info, channels, np.zeros_like(spread.rest), _Follower(), follow)


@dataclass(frozen=True)
class AboutRest(Action):
    """The command is the resting one plus an offset that follows the action through a low-pass.

        command = rest + c,   ċ = (reach·a − c)/smoothing

    What walking machines are mostly trained by: targets of the joints about the pose in which they stand.
    """

    reach: float | Mapping[str, float] = 0.3
    """Largest offset, in the columns' unit: of all columns, or by name or glob of columns. 0: the column rests."""
    smoothing: float = 0.0
    """Time constant of the offsets, s; 0: none. Every step of a servo's goal is a peak of its torque."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", check_reach("action about_rest: reach", self.reach))
        check_bounds("action about_rest: smoothing", self.smoothing, 0.0, 10.0, "s")

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`. Its entries are called `COLUMN_offset`; what is beyond a column's bounds is cut off.

        Raises:
            UnknownNameError: a column that the robot does not have.
            ConfigurationError: no column moves.
        """
        offsets = Offsets(info, self.reach, self.smoothing)
        if not offsets.columns.size:
            raise ConfigurationError("action about_rest: the reach of all columns is 0: nothing moves.")
        rest, low, high = info.rest, info.low, info.high

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            assert isinstance(controller, _AboutRest)
            offsets.follow(controller.offset, action)
            np.clip(rest + controller.offset, low, high, out=command)

        channels = offsets.channels("offset")
        return with_controller(info, channels, np.zeros(len(channels)), _AboutRest(rest), act)


class _AboutRest(Controller):
    """The resting command, and how far an episode is from it."""

    def __init__(self, rest: Array) -> None:
        self.rest, self.offset = rest, np.zeros(len(rest))

    def reset(self, state: State) -> None:
        self.offset = np.zeros(len(self.rest))

    def update(self, state: State, t: float) -> Array:
        return self.rest + self.offset


class Offsets:
    """Offsets of command columns that follow actions through a low-pass, exactly over a period.

    Args:
        info: the robot.
        reach: largest offset by name or glob of columns, in their unit; the last that fits a column holds.
        smoothing: time constant, s.

    Raises:
        UnknownNameError: a column that the robot does not have.
        OutOfBoundsError: an angle beyond π: degrees?
    """

    columns: NDArray[np.intp]
    """Those that move."""

    def __init__(self, info: RobotInfo, reach: float | Mapping[str, float], smoothing: float) -> None:
        assert isinstance(reach, Mapping), "checked by check_reach"
        self._info, self._largest = info, np.zeros(len(info.command))
        for name, value in reach.items():
            for i in select(name, info.command, "command column", f"robot {info.name!r}"):
                column = info.command[i]
                most = math.pi if column.unit == "rad" else math.inf
                self._largest[i] = check_bounds(f"reach of {column.name}", value, 0.0, most, column.unit)
        self.columns = np.flatnonzero(self._largest)
        self._kept = math.exp(-info.period / smoothing) if smoothing else 0.0

    def channels(self, what: str) -> tuple[Channel, ...]:
        """Return what the actions move, `COLUMN_what`."""
        return tuple(
            replace(self._info.command[i], name=f"{self._info.command[i].name}_{what}", low=-r, high=r, rest=0.0)
            for i, r in zip(self.columns.tolist(), self._largest[self.columns].tolist(), strict=True)
        )

    def follow(self, offset: Array, action: Array) -> None:
        """Lead the offsets of an episode, (columns of the robot,), on by a period."""
        offset *= self._kept
        offset[self.columns] += (1.0 - self._kept) * self._largest[self.columns] * action


def check_reach(what: str, reach: float | Mapping[str, float]) -> dict[str, float]:
    """Return how far columns may be moved by name or glob.

    Raises:
        OutOfBoundsError: not a number from 0 on, or a mapping to such.
    """
    given = reach if isinstance(reach, Mapping) else {"*/*": reach}
    return {name: check_bounds(f"{what} of {name}", value, 0.0, math.inf) for name, value in given.items()}


@dataclass(frozen=True)
class Residual(Action):
    """The command is a controller's (or gait's) plus `scale`·a, limited to the columns' bounds; at rest a = 0."""

    controller: Controller
    """Of all columns; each episode gets a copy."""
    scale: float = 0.1
    """Largest correction, as a share of half the range of a column, in (0, 2]."""
    commanded: Names | None = None
    """Columns that the action corrects, as of `Spread`; the controller commands all."""

    def __post_init__(self) -> None:
        _freeze_names(self)
        _check_controller("residual", self.controller)
        check_bounds("action residual: scale", positive("action residual: scale", self.scale), 0.0, 2.0)

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`; errors of `Spread.on`. The action's entries are called `COLUMN_residual`.

        Raises:
            MismatchError: the controller is for another robot.
        """
        columns = find_columns(self.commanded, info)
        reach = self.scale * ((info.high - info.low) / 2)[columns]
        channels = tuple(
            replace(info.command[i], name=f"{info.command[i].name}_residual", low=-r, high=r, rest=0.0)
            for i, r in zip(columns, reach.tolist(), strict=True)
        )
        low, high, size = info.low, info.high, len(info.command)

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            command[:] = finite_array(
                f"the command of {type(controller).__name__}", controller.update(state, t), (size,)
            )
            command[columns] += reach * action
            np.clip(command, low, high, out=command)

        return with_controller(info, channels, np.zeros(len(columns)), self.controller, act)


@dataclass(frozen=True)
class Parameters(Action):
    """The action moves parameters of a controller (or gait), which commands the robot."""

    controller: Controller
    """Of all columns; each episode gets a copy."""
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By name of the controller's attribute, a number: lowest and highest value. At rest it is what it was."""

    def __post_init__(self) -> None:
        _check_controller("parameters", self.controller)
        if not self.ranges:
            raise ConfigurationError("action parameters: ranges names no parameter of the controller.")
        for name, bounds in self.ranges.items():
            what = f"action parameters: {name}"
            low, high = finite_array(what, bounds, (2,))
            if not low < high:
                raise ConfigurationError(f"{what}: low {low:g} must be below high {high:g}.")
            present = getattr(self.controller, name, None)
            if isinstance(present, bool) or not isinstance(present, int | float | np.number):
                numbers = [
                    n for n in dir(self.controller)
                    if not n.startswith("_") and isinstance(getattr(self.controller, n), int | float)
                ]  # fmt: skip
                raise unknown_name("parameter", name, numbers, type(self.controller).__name__)
            check_bounds(what, float(present), low, high)

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`. The action's entries are called `controller/NAME`.

        Raises:
            MismatchError: the controller is for another robot.
        """
        present = {name: float(getattr(self.controller, name)) for name in self.ranges}
        channels = tuple(
            Channel(f"controller/{name}", "1", float(low), float(high), present[name])
            for name, (low, high) in self.ranges.items()
        )
        middle = np.array([(c.low + c.high) / 2 for c in channels])
        half = np.array([(c.high - c.low) / 2 for c in channels])
        names, low, high, size = tuple(self.ranges), info.low, info.high, len(info.command)

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            for name, value in zip(names, (middle + half * action).tolist(), strict=True):
                setattr(controller, name, value)
            command[:] = finite_array(
                f"the command of {type(controller).__name__}", controller.update(state, t), (size,)
            )
            np.clip(command, low, high, out=command)

        rest = (np.array(list(present.values())) - middle) / half
        return with_controller(info, channels, rest, self.controller, act)


class Controlled:
    """The controllers of n episodes, each a copy, and what they are told."""

    def __init__(self, action: ActionOnRobot, info: RobotInfo, n: int) -> None:
        self._info = info
        self._controllers = [copy.deepcopy(action.controller) for _ in range(n)]
        ends = np.cumsum([len(info.joints)] * len(PER_JOINT) + [len(info.motors)] * len(PER_MOTOR)).tolist()
        self._parts = [slice(a, b) for a, b in zip([0, *ends], [*ends, len(info.signals)], strict=True)]

    def act(
        self, on: ActionOnRobot, i: int, step: int, action: Array, signals: Array, command: Array, told: Array
    ) -> None:
        """Replace the command in force of episode i, (columns,), by the next one.

        Args:
            on: what uses the controllers; not kept, so that episodes can be pickled.
            i: which.
            step: periods since it began; the controller is reset at 0.
            action: (actions,).
            signals: as last read, (signals,).
            command: (columns,).
            told: what the controller says of itself, (told,), written.
        """
        controller, t = self._controllers[i], step * self._info.period
        assert controller is not None
        assert on.act is not None
        parts = [signals[part].copy() for part in self._parts]
        state = State._make((t, *parts[:-1], command.copy(), parts[-1]))
        if step == 0:
            controller.reset(state)
        on.act(controller, action, state, t, command)
        if on.tell is not None:
            on.tell(controller, told)


def find_columns(commanded: Names | None, info: RobotInfo) -> list[int]:
    """Return the command columns that are meant, ascending: full names, globs or quantities; None for all.

    Raises:
        UnknownNameError: a column that the robot does not have.
        ConfigurationError: no column, or one without a range.
    """
    columns = info.command
    found = list(range(len(columns))) if commanded is None else []
    for name in as_names(commanded or (), "commanded"):
        fitting = [i for i, column in enumerate(columns) if matches(column.name, name) or name == column.quantity]
        if not fitting:
            quantities = dict.fromkeys(column.quantity for column in columns)
            raise unknown_name("command column", name, (*quantities, *info.command_names), f"robot {info.name!r}")
        found += [i for i in fitting if i not in found]
    if not found:
        raise ConfigurationError(f"the task commands no column of robot {info.name!r}.")
    for i in found:
        if not info.command[i].low < info.command[i].high:
            raise ConfigurationError(
                f"column {info.command[i].name!r} of robot {info.name!r} has no range to command; leave it out of "
                "the task's `commanded`."
            )
    return sorted(found)


def spread_actions(block: Array, places: NDArray[np.intp], ranges: Array) -> bool:
    """Limit actions to [−1, 1] and spread them over the commands, middle + half·action.

    Args:
        block: the rows of n episodes.
        places: where action, taken, previous and command begin, how many actions and columns there are, and which
            action commands each column, (6 + columns,).
        ranges: middle and half the range of each column, (2, columns); a negative half leaves it alone.

    Returns:
        Whether all actions are finite; if not, nothing has been changed.
    """
    given, taken, previous, command, actions, columns = (
        places[0], places[1], places[2], places[3], places[4], places[5],
    )  # fmt: skip
    for i in range(block.shape[0]):
        for k in range(actions):
            if not math.isfinite(block[i, given + k]):
                return False
    for i in range(block.shape[0]):
        for k in range(actions):
            block[i, given + k] = min(max(block[i, given + k], -1.0), 1.0)
            block[i, previous + k] = block[i, taken + k]
            block[i, taken + k] = block[i, given + k]
        for k in range(columns):
            if ranges[1, k] >= 0.0:
                block[i, command + k] = ranges[0, k] + ranges[1, k] * block[i, taken + places[6 + k]]
    return True


def with_controller(
    info: RobotInfo, channels: tuple[Channel, ...], rest: Array, controller: Controller, act: Act
) -> ActionOnRobot:
    """Return what an action does through a controller, of which each episode gets a copy.

    Raises:
        MismatchError: the controller is for another robot.
    """
    controller.check(info)
    none = np.full(len(info.command), -1.0)
    return ActionOnRobot(channels, info.rest, none, np.zeros(len(none), dtype=np.intp), rest, controller, act)


def _freeze_names(action: Any) -> None:
    """Keep names as a tuple, so that configurations compare."""
    names = action.commanded
    if names is not None:
        object.__setattr__(action, "commanded", (names,) if isinstance(names, str) else tuple(names))


def _check_controller(what: str, controller: Any) -> None:
    if not isinstance(controller, Controller):
        raise ConfigurationError(
            f"action {what}: controller is {controller!r}; a pliant.controllers.Controller, with reset(state) and "
            "update(state, t), is needed."
        )
