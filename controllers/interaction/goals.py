"""What an `InteractionController` can be asked for, and how a configuration says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, all_finite, finite_array, number_array
from pliant.controllers.interaction.frames import Frame, as_frame
from pliant.controllers.interaction.gains import AdmittanceGains, DirectForceGains, Gains
from pliant.controllers.interaction.motion import CartesianPath
from pliant.controllers.interaction.teaching import Demonstration
from pliant.controllers.poses import compose, pose
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name
from pliant.files import PathLike

_RAMP: Final = 0.5
"""In which an approach speeds up, s."""


@dataclass(frozen=True)
class CartesianTrajectory:
    """The tool goes through poses at given times, under the law."""

    waypoints: Sequence[ArrayLike]
    """In `frame`: positions (3,), m, where the tool keeps its orientation; or with a rotation vector (6,), rad; or
    with a unit quaternion, w first, (7,)."""
    times: Sequence[float]
    """When it is there, s since the beginning, increasing from above 0."""
    frame: Frame | Mapping[str, Any] | str = "start"
    wrench: Sequence[ArrayLike] | None = None
    """Desired wrench at each waypoint, (6,) or (3,), N and N·m, in the law's axes; in between on straight lines
    from the one before the motion, and back to zero after it. None: what was desired before."""
    through: bool = False
    ramp: float | None = None
    """See `CartesianPath`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", as_frame(self.frame, "frame of a trajectory"))
        times = finite_array("times of a trajectory", self.times, (None,))
        if not (np.diff(times, prepend=0.0) > 0.0).all():
            raise OutOfBoundsError(
                f"times of a trajectory are {times.tolist()} s; they must increase from above 0."
            )
        if len(self.waypoints) != len(times):
            raise ShapeError(f"a trajectory has {len(self.waypoints)} waypoint(s) and {len(times)} time(s).")
        points = tuple(_as_pose(f"waypoint {i}", point) for i, point in enumerate(self.waypoints))
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "waypoints", points)
        if self.wrench is not None:
            if len(self.wrench) != len(times):
                raise ShapeError(f"a trajectory has {len(times)} waypoint(s) and {len(self.wrench)} wrench(es).")
            object.__setattr__(self, "wrench", np.array([as_wrench(w) for w in self.wrench]))

    def path(self, frame: Array, begin: Array) -> CartesianPath:
        """Return the path in the world.

        Args:
            frame: pose of `frame` in the world, (7,).
            begin: pose from which it starts, (7,).
        """
        poses = [begin]
        for point in map(np.asarray, self.waypoints):
            there = compose(frame, point if point.size == 7 else pose(point))
            if point.size == 3:
                there[3:] = begin[3:]
            poses.append(there)
        return CartesianPath(np.array([0.0, *self.times]), np.array(poses), self.through, self.ramp)


@dataclass(frozen=True)
class Replay:
    """The tool does what was demonstrated, under the law: a `CartesianTrajectory` through its poses."""

    demonstration: Demonstration | PathLike
    """Or a file of one. The time that the tool stands at its beginning and end is left out."""
    lead: float = 3.0
    """Time from where the tool is to where the demonstration begins, s."""
    period: float = 0.1
    """From one waypoint to the next, s; the longer, the smoother."""
    speed: float = 1.0
    """Times that of the demonstration."""

    def trajectory(self) -> CartesianTrajectory:
        """Return the trajectory. Errors of `Demonstration.load`; ShapeError, OutOfBoundsError for numbers."""
        given = self.demonstration
        found = given if isinstance(given, Demonstration) else Demonstration.load(given)
        times, poses = found.moving().waypoints(self.period, self.speed)
        lead = check_bounds("lead of a replay", self.lead, 1e-3, 1e4, "s")
        return CartesianTrajectory(list(poses), (times + lead).tolist(), "world", through=True)


@dataclass(frozen=True)
class JointSetpoint:
    """The joints go to positions on their own, with least jerk; no law is at work meanwhile."""

    position: Sequence[float]
    """(joints,), rad or m, in the order of the arm's joints."""
    duration: float | None = None
    """s; None: as fast as the controller may."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", finite_array("joint set-point", self.position, (None,)))
        if self.duration is not None:
            check_bounds("duration of a joint set-point", self.duration, 1e-3, 1e5, "s")


@dataclass(frozen=True)
class DesiredWrench:
    """The wrench that the tool is to exert from now on, until another one is asked for or no law is at work."""

    wrench: ArrayLike
    """(6,) or (3,), N and N·m, in the law's axes, pressing positive."""
    over: float = 0.0
    """How long it takes to get from the present one there, on a straight line, s."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wrench", as_wrench(self.wrench))
        check_bounds("time of a desired wrench", self.over, 0.0, 1e5, "s")


@dataclass(frozen=True)
class Approach:
    """The tool moves straight until it touches something, then the law is at work with a desired wrench."""

    direction: Sequence[float]
    """(3,), in the law's axes."""
    speed: float
    """m/s."""
    distance: float
    """Farthest that it may go, m. If nothing is there it ends with a fault."""
    force: float = 1.0
    """Along the direction that counts as contact, N."""
    wrench: ArrayLike = (0.0,) * 6
    """Desired from then on, (6,) or (3,), N and N·m."""
    transient: float = 2.0
    """Largest peak of the force beyond the desired one, N: the speed must be one that promises it, by
    `Contact.fastest_approach`."""

    def __post_init__(self) -> None:
        direction = finite_array("direction of an approach", self.direction, (3,))
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            raise OutOfBoundsError("an approach needs a direction; it is [0, 0, 0].")
        object.__setattr__(self, "direction", direction / length)
        object.__setattr__(self, "wrench", as_wrench(self.wrench))
        check_bounds("speed of an approach", self.speed, 1e-6, 1.0, "m/s")
        check_bounds("distance of an approach", self.distance, 1e-4, 2.0, "m")
        check_bounds("force of an approach", self.force, 1e-3, 1e3, "N")
        check_bounds("transient of an approach", self.transient, 1e-3, 1e4, "N")

    def path(self, axes: Array, begin: Array) -> CartesianPath:
        """Return the path in the world to the farthest point.

        Args:
            axes: of the law in the world, (3, 3).
            begin: pose from which it starts, (7,).
        """
        end = begin.copy()
        end[:3] += self.distance * (axes @ np.asarray(self.direction))
        time = self.distance / self.speed
        ramp = min(_RAMP, time)
        return CartesianPath(np.array([0.0, time + ramp]), np.array([begin, end]), ramp=ramp)


@dataclass(frozen=True)
class NewGains:
    """Other gains, or another law, from now on."""

    gains: Gains | Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", as_gains(self.gains))


@dataclass(frozen=True)
class Wait:
    """Nothing new for a time, in a list of goals; the law is at work."""

    duration: float
    """s."""

    def __post_init__(self) -> None:
        check_bounds("duration of a wait", self.duration, 0.0, 1e5, "s")


@dataclass(frozen=True)
class Tare:
    """The sensor's bias is taken from a tool that touches nothing; the law rests meanwhile."""


Goal = CartesianTrajectory | JointSetpoint | DesiredWrench | Approach | NewGains | Wait | Tare

KINDS: dict[str, type] = {
    "trajectory": CartesianTrajectory,
    "replay": Replay,
    "joints": JointSetpoint,
    "wrench": DesiredWrench,
    "approach": Approach,
    "gains": NewGains,
    "wait": Wait,
    "tare": Tare,
}


def as_goals(goals: Sequence[Any]) -> tuple[Goal, ...]:
    """Return goals from a list of a configuration, each `{KIND: entries}` (`wait: 2.0`), or a goal as it is.

    Raises:
        UnknownNameError: no such kind or entry.
        ConfigurationError, ShapeError, OutOfBoundsError: entries that cannot be. The message says of which goal.
    """
    if isinstance(goals, str | Mapping) or not isinstance(goals, Sequence):
        raise ConfigurationError(f"goals are {goals!r}; a list of {{KIND: …}} with {', '.join(KINDS)} is needed.")
    return tuple(_as_goal(f"goal {number}", goal) for number, goal in enumerate(goals, start=1))


def as_gains(gains: Any) -> Gains:
    """Return gains from entries of `AdmittanceGains` or `DirectForceGains`, or as they are."""
    if isinstance(gains, AdmittanceGains | DirectForceGains):
        return gains
    if not isinstance(gains, Mapping):
        raise ConfigurationError(f"gains are {gains!r}; {{mass, damping, stiffness}} or {{kp, ki}} are needed.")
    kind = AdmittanceGains if "mass" in gains else DirectForceGains
    found: Gains = _make(kind, gains, "gains")
    return found


def as_wrench(wrench: ArrayLike) -> Array:
    """Return a wrench, (6,), from one or from a force, (3,)."""
    array = all_finite("wrench", number_array("wrench", wrench))
    if array.shape not in ((3,), (6,)):
        raise ShapeError(f"a wrench has shape {array.shape}; a force (3,) or force and torque (6,) is needed.")
    return np.concatenate([array, np.zeros(6 - array.size)])


def _as_goal(what: str, goal: Any) -> Goal:
    if isinstance(goal, Goal):
        return goal
    if isinstance(goal, Replay):
        return goal.trajectory()
    if not isinstance(goal, Mapping) or len(goal) != 1:
        raise ConfigurationError(
            f"{what} is {goal!r}; {{KIND: entries}} with one of {', '.join(KINDS)} is needed."
        )
    ((kind, entries),) = goal.items()
    if kind not in KINDS:
        raise unknown_name("kind of goal", kind, KINDS, what)
    target = KINDS[kind]
    if kind == "gains":
        entries = {"gains": entries}
    elif entries is None:
        entries = {}
    elif not isinstance(entries, Mapping) and fields(target):
        entries = {fields(target)[0].name: entries}
    if not isinstance(entries, Mapping):
        raise ConfigurationError(f"{what} ({kind}) is {entries!r}; it takes no entries.")
    found = _make(target, entries, f"{what} ({kind})")
    made: Goal = found.trajectory() if isinstance(found, Replay) else found
    return made


def _make(kind: type, entries: Mapping[str, Any], what: str) -> Any:
    known = [f.name for f in fields(kind)]
    for key in entries:
        if key not in known:
            raise unknown_name("entry", key, known, what)
    try:
        return kind(**entries)
    except TypeError as error:
        raise ConfigurationError(f"{what}: {error}.") from error
    except (ShapeError, OutOfBoundsError, ConfigurationError) as error:
        raise type(error)(f"{what}: {error}") from error


def _as_pose(what: str, value: ArrayLike) -> Array:
    """A waypoint as it is given, (3,), or as a pose, (7,)."""
    array = all_finite(what, number_array(what, value))
    if array.shape == (3,):
        return array
    if array.shape == (6,):
        return pose(array[:3], array[3:])
    if array.shape == (7,):
        if abs(np.linalg.norm(array[3:]) - 1.0) > 1e-3:
            raise OutOfBoundsError(f"{what}: {array[3:].tolist()} is no unit quaternion.")
        return array
    raise ShapeError(f"{what} has shape {array.shape}; (3,), (6,) or (7,) is needed.")
