"""From a task's terms to what runs: their signals found on a robot, a row laid out, the pass written."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.envs.selection import select
from pliant.envs.tasks.actions import ActionOnRobot
from pliant.envs.tasks.compilation import PERIOD, WIDTH, Call, Pass, generate
from pliant.envs.tasks.goals import GoalOnRobot, Side
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.observations import Copied, ObservationTerm
from pliant.envs.tasks.row import VERDICT, Row
from pliant.envs.tasks.term import Term
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel, RobotInfo

if TYPE_CHECKING:
    from pliant.envs.tasks.task import Task


class Assembly:
    """Puts a task's terms together on a robot: finds their signals, lays out the row, writes down the pass."""

    def __init__(self, task: "Task", info: RobotInfo, kinematics: Kinematics | None) -> None:
        self.task, self.row = task, Row(info)
        self._columns: list[int] = []
        self._spans: list[tuple[int, int, int, int]] = []
        self._numbers: list[float] = []
        self._arrays: list[tuple[int, Array]] = []
        row, robot = self.row, f"robot {info.name!r}"
        self._robot = robot
        self.action: ActionOnRobot = task.action.on(info, kinematics)
        places = self.places = {
            **{name: row.take(len(self.action.channels)) for name in ("action", "taken", "previous")},
            "command": row.take(len(info.command)),
            "signals": row.name(info.signals),
        }
        row.signals += info.signals
        places["told"] = row.name(self.action.told)
        row.signals += self.action.told
        self._measured = [(t, self._measure(name, t)) for name, t in self._measures(kinematics).items()]
        places["measures"] = slice(places["told"].stop, row.size)
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
