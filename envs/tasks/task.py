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

from pliant.actuators.compiled import compiled
from pliant.envs.models.robot_model import as_pose
from pliant.envs.tasks.actions import Action, Controlled, Spread, spread_actions
from pliant.envs.tasks.assembly import Assembly
from pliant.envs.tasks.compilation import Pass, refused
from pliant.envs.tasks.ends import SUCCEEDING
from pliant.envs.tasks.goals import Goal, GoalOnRobot
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.markers import Marker
from pliant.envs.tasks.observations import Copied, ObservationTerm
from pliant.envs.tasks.row import SOUND, STATUS, STEP, UNREAD
from pliant.envs.tasks.starts import AtHome, Placement, Start
from pliant.envs.tasks.term import Kind, Term
from pliant.errors import ConfigurationError, check_bounds, unknown_name
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
    bodies: Mapping[str, Placement] = field(default_factory=dict)
    """Where free bodies lie when an episode begins, by the robot's names of them; others lie where they start."""
    goal: Goal | None = None
    """What an episode is about, if something is drawn for it or moves."""
    measures: Mapping[str, Term] = field(default_factory=dict)
    """What is computed first, as further signals."""
    failure_penalty: float = 100.0
    """What a robot that fails (diverges, is lost) costs, once, as the reward term `failure`."""
    markers: Mapping[str, Marker] = field(default_factory=dict)
    """What pictures show besides the robot and what the goal brings; nothing of an episode depends on it."""

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
        for name, marker in self.markers.items():
            if not isinstance(marker, Marker):
                raise ConfigurationError(f"task {self.name!r}: marker {name!r} is {marker!r}; no such term.")
        for name, placement in self.bodies.items():
            if not isinstance(placement, Placement):
                raise ConfigurationError(f"task {self.name!r}: body {name!r} is {placement!r}; no such term.")
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

    @property
    def tells_success(self) -> bool:
        """Whether an end says that an episode is a success."""
        return any(end.role in SUCCEEDING for end in self.ends.values())

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
        self.reads: tuple[str, ...] = ()
        """The robot's signals that its terms use, in the robot's order."""
        self.terms: tuple[str, ...] = tuple(task.rewards)
        """Names of the reward's terms."""
        assembly = Assembly(task, info, kinematics)
        self.actions: tuple[Channel, ...] = assembly.action.channels
        """What an action moves, in the action's order."""
        self.observations: tuple[Channel, ...] = tuple(channel for channel, _ in assembly.observed)
        """Names, units and bounds of an observation's entries."""
        bounds = [[c.low for c in self.observations], [c.high for c in self.observations]]
        self.bounds: Observation = np.array(bounds, dtype=np.float32)
        """Lower and upper bounds of an observation, (2, size)."""
        self.reads = tuple(name for name in info.signal_names if name in assembly.row.used)
        self.advance: Pass = assembly.generate()
        """What judges and observes a period."""
        self._row, self._places, self._action = assembly.row, assembly.places, assembly.action
        self.columns: Mapping[str, int] = assembly.row.places
        """Where in an episode's numbers each signal, measure and number of the goal is, by name."""
        self.markers: dict[str, Marker] = {**({} if task.goal is None else task.goal.markers), **task.markers}
        """What pictures show besides the robot."""
        self.goal: GoalOnRobot = assembly.goal
        """What an episode is about."""
        self._draw = task.start.on(assembly.side, assembly.goal)
        self._placements = {name: placement.on(assembly.side, name) for name, placement in task.bodies.items()}
        self._constants = assembly.constants()
        self._seen = [column for _, column in assembly.observed]
        names = ("action", "taken", "previous", "command")
        sizes = (len(self.actions), len(info.command))
        self._spread_places = np.array(
            [*(self._places[name].start for name in names), *sizes, *self._action.source]
        )
        self._ranges = np.array([self._action.middle, self._action.half])
        self._spread, self._advance = compiled(spread_actions), self.advance.compiled

    def column(self, name: str) -> int:
        """Return where in an episode's numbers a signal, measure or number of the goal is.

        Raises:
            UnknownNameError: the task knows none by that name.
        """
        if name not in self.columns:
            raise unknown_name("number", name, self.columns, f"task {self.task.name!r}")
        return self.columns[name]

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
        if self._action.tell is not None and self._action.controller is not None:
            self._action.tell(self._action.controller, row[self._places["told"]])
        for part in ("taken", "previous"):
            row[self._places[part]] = self._action.rest
        start = self._draw(random)
        if self.goal.draw is not None:
            episodes.goal[index] = self.goal.draw(random)
        return start

    def place(self, random: np.random.Generator) -> dict[str, Array]:
        """Return where free bodies lie in an episode that begins: position and unit quaternion, (7,), by name."""
        return {name: as_pose(f"body {name!r}", draw(random)) for name, draw in self._placements.items()}

    def act(self, episodes: Episodes, index: Index | None = None) -> bool:
        """Limit the actions and write what they command; False if one is not finite (nothing is written).

        Args:
            episodes: with `action` to be taken; `command` is written.
            index: which of them are going on, for controllers that act; None: all.
        """
        finite: bool = self._spread(episodes.block, self._spread_places, self._ranges)
        if finite and episodes.controlled is not None:
            for i in (episodes.everyone if index is None else index).tolist():
                row = episodes.block[i]
                taken, told = row[self._places["taken"]], row[self._places["told"]]
                episodes.controlled.act(
                    self._action, i, int(row[STEP]), taken, episodes.signals[i], episodes.command[i], told
                )
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
        if row[STATUS] == SOUND:
            return ""
        robot = f"robot {self.info.name!r}"
        if row[STATUS] == UNREAD:
            seen = zip(self.observations, row[self._seen].tolist(), strict=True)
            return f"{robot} gives no reading of {', '.join(c.name for c, value in seen if math.isnan(value))}"
        worth = zip(self.terms, episodes.outcome[index].tolist(), strict=False)
        return f"{robot}: no finite reward for {', '.join(n for n, value in worth if not math.isfinite(value))}"
