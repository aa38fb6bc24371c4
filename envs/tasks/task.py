"""The seam between a task and the environments that run it, one episode at a time or many at once.

A task is a frozen configuration made of terms. Put on a robot (`Task.on`) it works on `Episodes`: arrays with the
episode as leading axis, of length one in `PliantEnv`. A batch of episodes gives to the last bit what each gives
alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.envs.compiled import compiled
from pliant.envs.tasks.actions import Action, ActionOnRobot, Controlled, Spread, spread_actions
from pliant.envs.tasks.compilation import PERIOD, WIDTH, Call, Pass, generate, refused
from pliant.envs.tasks.goals import Goal, GoalOnRobot, Side
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.observations import Copied, ObservationTerm
from pliant.envs.tasks.row import STEP, UNREAD, VERDICT, Row
from pliant.envs.tasks.selection import select
from pliant.envs.tasks.starts import AtHome, Start
from pliant.envs.tasks.term import Kind, Term
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array, Channel, RobotInfo

Observation = NDArray[np.float32]
Index = NDArray[np.intp]
"""Which episodes, ascending, (k,)."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of a robot: terms by names of one's own, which results are reported under.

    Two tasks of equal parts are equal. `but` makes one with other parts.
    """

    name: str
    """What it is called."""
    observations: Mapping[str, ObservationTerm]
    """What a policy sees, in order."""
    rewards: Mapping[str, Term]
    """What a period is worth, the weighted sum of these."""
    ends: Mapping[str, Term]
    """When an episode ends, and as what. Where none holds for ever, episodes last until they are reset."""
    action: Action = field(default_factory=Spread)
    """What an action does."""
    start: Start = field(default_factory=AtHome)
    """How an episode begins."""
    goal: Goal | None = None
    """What an episode is about, if something is drawn for it or moves."""
    measures: Mapping[str, Term] = field(default_factory=dict)
    """What is computed first, as further signals."""
    failure_penalty: float = 100.0
    """What a robot that fails (diverges, is lost) costs, once, as the reward term `failure`."""

    def __post_init__(self) -> None:
        check_bounds(f"task {self.name!r}: failure_penalty", self.failure_penalty, 0.0, 1e12)
        kinds: dict[str, tuple[Mapping[str, Any], Kind]] = {
            "measures": (self.measures, "measure"),
            "observations": (self.observations, "observation"),
            "rewards": (self.rewards, "reward"),
            "ends": (self.ends, "end"),
        }
        for part, (terms, kind) in kinds.items():
            for name, term in terms.items():
                fits = isinstance(term, Term) and term.function.kind == kind
                if not fits and not (kind == "observation" and isinstance(term, Copied)):
                    what = f"a {term.function.kind}" if isinstance(term, Term) else repr(term)
                    raise ConfigurationError(
                        f"task {self.name!r}: {part} {name!r} is {what}, not a term of that kind."
                    )
        for part, kind_of_part, value in (
            ("action", Action, self.action), ("start", Start, self.start), ("goal", Goal | None, self.goal),
        ):  # fmt: skip
            if not isinstance(value, kind_of_part):
                raise ConfigurationError(f"task {self.name!r}: {part} is {value!r}; no such term.")
        self._check_time()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and all(
            getattr(self, f.name) == getattr(other, f.name) for f in fields(Task)
        )

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.rewards), tuple(self.ends)))

    def but(self, **parts: Any) -> "Task":
        """Return a task with other parts, such as `rewards={**task.rewards, "effort": effort(weight=-0.01)}`."""
        return Task(**{**{f.name: getattr(self, f.name) for f in fields(Task)}, **parts})

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> "TaskOnRobot":
        """Return the task for a robot.

        Args:
            info: the robot.
            kinematics: where its end effectors are, for goals and starts that need to know.

        Raises:
            UnknownNameError: a signal or command column that the robot does not have.
            ConfigurationError, ShapeError, OutOfBoundsError: a term does not go with the robot.
        """
        return TaskOnRobot(self, info, kinematics)

    def _check_time(self) -> None:
        """Refuse a task in which no episode can succeed."""
        times = [t.values["duration"] for t in self.ends.values() if t.role == "time" and "duration" in t.values]
        for name, term in self.ends.items():
            hold = term.values.get("hold", 0.0)
            if times and hold > min(times):
                raise ConfigurationError(
                    f"task {self.name!r}: the hold of {name!r} ({hold:g} s) is longer than its duration "
                    f"({min(times):g} s): no episode could succeed."
                )


class Episodes:
    """Where n episodes stand: views of `block`, a row of numbers an episode. All are changed in place."""

    action: Array
    """The actions to be taken, (n, actions), in [−1, 1] once they are spread."""
    command: Array
    """What the actions command; after the period, what was in force, (n, columns)."""
    signals: Array
    """What was read after the period, in the order of `RobotInfo.signals`, (n, signals)."""
    goal: Array
    """The goal's numbers, (n, numbers)."""
    outcome: Array
    """The reward's terms, then reward, success, terminated and truncated (0 or 1): columns `row.REWARD` and so on,
    (n, terms + 4). Truncated means that time is up; it is never set together with terminated."""

    def __init__(
        self, n: int, width: int, places: Mapping[str, slice], size: int, controlled: Controlled | None
    ) -> None:
        self.block: Array = np.zeros((n, width))
        self.observation: Observation = np.zeros((n, size), dtype=np.float32)
        """What a policy sees, (n, size)."""
        self.everyone: Index = np.arange(n)
        self.controlled = controlled
        self._places = dict(places)
        self._look()

    def _look(self) -> None:
        for name in ("action", "command", "signals", "goal", "outcome"):
            setattr(self, name, self.block[:, self._places[name]])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in Episodes.__annotations__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._look()


class TaskOnRobot:
    """A task on a robot."""

    def __init__(self, task: Task, info: RobotInfo, kinematics: Kinematics | None = None) -> None:
        self.task, self.info, self.kinematics = task, info, kinematics
        self.terms: tuple[str, ...] = tuple(task.rewards)
        """Names of the reward's terms."""
        assembly = _Assembly(task, info, kinematics)
        self.actions: tuple[Channel, ...] = assembly.action.channels
        """What an action moves, in the action's order."""
        self.observations: tuple[Channel, ...] = tuple(channel for channel, _ in assembly.observed)
        """Names, units and bounds of an observation's entries."""
        bounds = [[c.low for c in self.observations], [c.high for c in self.observations]]
        self.bounds: Observation = np.array(bounds, dtype=np.float32)
        """Lower and upper bounds of an observation, (2, size)."""
        self.advance: Pass = assembly.generate()
        """What judges and observes a period."""
        self._row, self._places, self._action = assembly.row, assembly.places, assembly.action
        self._goal, self._draw = assembly.goal, task.start.on(assembly.side, assembly.goal)
        self._constants = assembly.constants()
        self._seen = [column for _, column in assembly.observed]
        names = ("action", "taken", "previous", "command")
        sizes = (len(self.actions), len(info.command))
        self._spread_places = np.array(
            [*(self._places[name].start for name in names), *sizes, *self._action.source]
        )
        self._ranges = np.array([self._action.middle, self._action.half])
        self._spread, self._advance = compiled(spread_actions), self.advance.compiled

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskOnRobot, (self.task, self.info, self.kinematics)

    def episodes(self, n: int) -> Episodes:
        """Return n episodes, none of them begun.

        Raises:
            ConfigurationError: a term cannot be compiled; the message holds Numba's reason.
        """
        controlled = None if self._action.act is None else Controlled(self._action, self.info, n)
        episodes = Episodes(n, self._row.size, self._places, len(self.observations), controlled)
        try:
            self.observe(episodes, episodes.everyone[:0])
        except Exception as error:  # Numba lets through what fails in evaluating a term's constants
            names = [*self.task.measures, *self.task.ends, *self.task.rewards, *self.task.observations]
            raise refused(error, names) from error
        return episodes

    def begin(self, episodes: Episodes, index: int, random: np.random.Generator) -> Array | None:
        """Begin episode number `index`, its last action the one that rests.

        Returns:
            Where the joints start, (joints,), rad, on a robot that can be put there; None: where it begins by
            itself.
        """
        row = episodes.block[index]
        row[STEP] = 0.0
        for part in ("memory", "measures"):
            row[self._places[part]] = 0.0
        for part in ("taken", "previous"):
            row[self._places[part]] = self._action.rest
        start = self._draw(random)
        if self._goal.draw is not None:
            episodes.goal[index] = self._goal.draw(random)
        return start

    def act(self, episodes: Episodes) -> bool:
        """Limit the actions and write what they command; False if one is not finite (nothing is written)."""
        finite: bool = self._spread(episodes.block, self._spread_places, self._ranges)
        if finite and episodes.controlled is not None:
            for i, row in enumerate(episodes.block):
                taken = row[self._places["taken"]]
                episodes.controlled.act(i, int(row[STEP]), taken, episodes.signals[i], episodes.command[i])
        return finite

    def judge(self, episodes: Episodes, index: Index | None = None) -> bool:
        """Judge the period that the action led through, and observe where it led.

        Args:
            episodes: with `signals` and `command` read; `outcome` and `observation` are written.
            index: which of them; None: all.

        Returns:
            Whether all went well; if not, `trouble` says of each why.
        """
        which = episodes.everyone if index is None else index
        return self._advance(True, episodes.block, episodes.observation, which, *self._constants)

    def observe(self, episodes: Episodes, index: Index | None = None) -> bool:
        """Observe episodes that begin; returns as `judge` does."""
        which = episodes.everyone if index is None else index
        return self._advance(False, episodes.block, episodes.observation, which, *self._constants)

    def trouble(self, episodes: Episodes, index: int) -> str:
        """Return why an episode could not be observed or judged; empty if it could.

        An observation that is NaN is left as it was.
        """
        row = episodes.block[index]
        if row[1] == 0.0:
            return ""
        robot = f"robot {self.info.name!r}"
        if row[1] == UNREAD:
            seen = zip(self.observations, row[self._seen].tolist(), strict=True)
            return f"{robot} gives no reading of {', '.join(c.name for c, value in seen if math.isnan(value))}"
        worth = zip(self.terms, episodes.outcome[index].tolist(), strict=False)
        return f"{robot}: no finite reward for {', '.join(n for n, value in worth if not math.isfinite(value))}"


class _Assembly:
    """Puts a task's terms together on a robot: finds their signals, lays out the row, writes down the pass."""

    def __init__(self, task: Task, info: RobotInfo, kinematics: Kinematics | None) -> None:
        self.task, self.row = task, Row(info)
        self._columns: list[int] = []
        self._spans: list[tuple[int, int, int, int]] = []
        self._numbers: list[float] = []
        self._arrays: list[tuple[int, Array]] = []
        row, robot = self.row, f"robot {info.name!r}"
        self._robot = robot
        self.action: ActionOnRobot = task.action.on(info)
        places = self.places = {
            **{name: row.take(len(self.action.channels)) for name in ("action", "taken", "previous")},
            "command": row.take(len(info.command)),
            "signals": row.name(info.signals),
        }
        row.signals += info.signals
        self._measured = [(t, self._measure(name, t)) for name, t in self._measures(kinematics).items()]
        places["measures"] = slice(places["signals"].stop, row.size)
        self.side = Side(info, row.signals, kinematics)
        self.goal: GoalOnRobot = GoalOnRobot() if task.goal is None else task.goal.on(self.side)
        row.goals += self.goal.channels
        row.compared += self.goal.compared
        places["goal"] = row.name(self.goal.channels)
        places["outcome"] = row.take(len(task.rewards) + VERDICT)
        computed = {
            name: row.take(len(self._channels(f"observation {name!r}", term)))
            for name, term in task.observations.items()
            if isinstance(term, Term)
        }
        self.observed: list[tuple[Channel, int]] = []
        self._scales: list[float] = []
        for name, term in task.observations.items():
            self._see(name, term, computed.get(name))
        self._check_twice()
        for part in ("outcome", "goal"):
            self._contiguous(places[part])
        self._gather([column for _, column in self.observed])
        self._numbers = [info.period, *(term.weight for term in task.rewards.values())]
        terms = [*(t for t, _ in self._measured), *task.ends.values(), *task.rewards.values()]
        terms += [t for t in task.observations.values() if isinstance(t, Term)]
        places["memory"] = row.take(sum(term.function.memory for term in terms))
        self._memory = places["memory"].start
        self._calls = (
            [
                self._call(f"measure {n!r}", t, out)
                for n, (t, out) in zip(self._measures(kinematics), self._measured, strict=True)
            ],
            [self._call(f"end {name!r}", t) for name, t in task.ends.items()],
            [self._call(f"reward {name!r}", t) for name, t in task.rewards.items()],
            [
                self._call(f"observation {n!r}", t, computed[n])
                for n, t in task.observations.items()
                if isinstance(t, Term)
            ],
        )

    def generate(self) -> Pass:
        """Return the pass."""
        return generate(*self._calls, moving=self.goal.table is not None)

    def constants(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """Return what the pass is told of every period: table, numbers, plan; see `compilation`."""
        table = np.zeros((1, 0)) if self.goal.table is None else np.ascontiguousarray(self.goal.table)
        numbers, spans = list(self._numbers), list(self._spans)
        for span, values in self._arrays:
            spans[span] = (len(numbers), len(numbers) + len(values), 0, 0)
            numbers += values.tolist()
        bounds = np.array(
            [[c.low for c, _ in self.observed], [c.high for c, _ in self.observed]], dtype=np.float32
        )
        begin = WIDTH * len(spans)
        gathered = [(begin + a, begin + b, c, d) if c < 0 else (a, b, c, d) for a, b, c, d in spans]
        plan = [number for span in gathered for number in span] + self._columns
        return table, np.array([*numbers, *self._scales, *bounds.ravel()]), np.array(plan, dtype=np.intp)

    def _measures(self, kinematics: Kinematics | None) -> dict[str, Term]:
        """The task's measures, after those that the kinematics bring for signals that the robot does not read."""
        brought = {} if kinematics is None else dict(kinematics.measures)
        names = self.row.info.signal_names
        missing = {
            name: term
            for name, term in brought.items()
            if not {channel.name for channel in self._channels(f"measure {name!r}", term)} & set(names)
        }
        return {**missing, **self.task.measures}

    def _measure(self, name: str, term: Term) -> slice:
        channels = self._channels(f"measure {name!r}", term)
        if known := {c.name for c in channels} & {c.name for c in self.row.signals}:
            raise ConfigurationError(
                f"task {self.task.name!r}: measure {name!r} computes {', '.join(sorted(known))}, which "
                f"{self._robot} or another measure gives already."
            )
        self.row.signals += channels
        return self.row.name(channels)

    def _channels(self, where: str, term: Term) -> list[Channel]:
        """What a term computes."""
        declared = term.function.channels
        if isinstance(declared, tuple):
            return list(declared)
        selected = {name: self._selected(where, term, name) for name in term.function.inputs}
        for name in ("goal", "measured", "table"):
            if name in term.function.arguments:
                selected[name] = self._of_goal(where, term, name)
        return list(declared(selected, term.values))

    def _see(self, name: str, term: ObservationTerm, computed: slice | None) -> None:
        """Add what a term observes."""
        if isinstance(term, Copied):
            found, bound = term.find(self.row, self.action.channels, self.places), term.bound
        else:
            assert computed is not None
            found = list(
                zip(
                    self._channels(f"observation {name!r}", term),
                    range(computed.start, computed.stop),
                    strict=True,
                )
            )
            bound = term.bound
        top = np.inf if bound is None else bound
        for channel, column in found:
            low, high = sorted(term.scale * np.clip([channel.low, channel.high], -top, top))
            unit = channel.unit if term.scale == 1.0 else f"{1.0 / term.scale:g} {channel.unit}"
            rest = min(max(channel.rest * term.scale, low), high)
            self.observed.append((Channel(channel.name, unit, float(low), float(high), float(rest)), column))
            self._scales.append(term.scale)

    def _check_twice(self) -> None:
        names = [channel.name for channel, _ in self.observed]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigurationError(f"task {self.task.name!r} observes {', '.join(twice)} twice.")

    def _selected(self, where: str, term: Term, argument: str) -> list[Channel]:
        """The signals of a selection."""
        place = f"{self._robot}, which {where} of task {self.task.name!r} asks for"
        return [self.row.signals[i] for i in select(term.selection(argument), self.row.signals, "signal", place)]

    def _of_goal(self, where: str, term: Term, argument: str) -> list[Channel]:
        """The goal's numbers that a term is about, or the signals that these are compared with."""
        if not self.row.goals:
            raise ConfigurationError(f"task {self.task.name!r}: {where} is about a goal, and the task has none.")
        if argument == "table":
            if self.goal.table is None:
                raise ConfigurationError(f"task {self.task.name!r}: {where} is for a goal that moves.")
            return self.row.goals
        chosen = select(term.goals, self.row.goals, "number of the goal", f"{where} of task {self.task.name!r}")
        if argument == "goal":
            return [self.row.goals[i] for i in chosen]
        known = {channel.name: channel for channel in self.row.signals}
        return [known[self.row.compared[i]] for i in chosen]

    def _call(self, where: str, term: Term, out: slice | None = None) -> Call:
        """Write down how a term is called."""
        function = term.function
        arguments = [self._argument(where, term, name, out) for name in function.arguments]
        single = (
            "" if out is None or "out" in function.arguments else f"row[plan[{WIDTH * self._contiguous(out) + 2}]]"
        )
        if single and out is not None and out.stop - out.start != 1:
            raise ConfigurationError(
                f"task {self.task.name!r}: {where} names {out.stop - out.start} numbers and returns one; more are "
                "written into an argument called 'out'."
            )
        return Call(term, tuple(arguments), single)

    def _argument(self, where: str, term: Term, name: str, out: slice | None) -> str:
        function = term.function
        if name in function.inputs:
            return self._taken(self.row.columns(self._selected(where, term, name)))
        if name in ("goal", "measured"):
            return self._taken(self.row.columns(self._of_goal(where, term, name)))
        if name == "table":
            self._of_goal(where, term, name)
            return "table"
        if name in ("action", "previous", "command"):
            return self._part(self.places["taken" if name == "action" else name])
        if name == "memory":
            part = slice(self._memory, self._memory + function.memory)
            self._memory = part.stop
            return self._part(part)
        if name == "out":
            assert out is not None
            return self._part(out)
        if name == "period":
            return f"numbers[{PERIOD}]"
        if name in ("step", "success", "failure"):
            return name
        if name in function.parameters:
            return self._parameter(term.values[name])
        selection, _, side = name.rpartition("_")
        return self._parameter(np.array([getattr(c, side) for c in self._selected(where, term, selection)]))

    def _parameter(self, value: float | Array) -> str:
        """Expression of a parameter. Arrays come after all single numbers: their lengths differ between robots."""
        if isinstance(value, np.ndarray):
            span = len(self._spans)
            self._arrays.append((span, value))
            self._spans.append((0, 0, 0, 0))
            return f"numbers[plan[{WIDTH * span}] : plan[{WIDTH * span + 1}]]"
        self._numbers.append(float(value))
        return f"numbers[{len(self._numbers) - 1}]"

    def _taken(self, columns: list[int]) -> str:
        """Expression of numbers of the row: a part of it where they stand side by side."""
        first = columns[0]
        if columns == list(range(first, first + len(columns))):
            return self._part(slice(first, first + len(columns)))
        return f"take(row, plan, {self._gather(columns)})"

    def _gather(self, columns: list[int]) -> int:
        """Number of a new span of scattered columns."""
        begin = len(self._columns)
        self._columns += columns
        self._spans.append((begin, len(self._columns), -1, self.row.take(len(columns)).start))
        return len(self._spans) - 1

    def _part(self, part: slice) -> str:
        return f"take(row, plan, {self._contiguous(part)})"

    def _contiguous(self, part: slice) -> int:
        """Number of a new span of columns side by side."""
        self._spans.append((0, part.stop - part.start, part.start, 0))
        return len(self._spans) - 1
