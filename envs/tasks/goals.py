"""What an episode is about: numbers drawn when it begins, or that move along a trajectory.

Each of the goal's numbers has a name and is compared with a signal. Terms that take `goal` and `measured` so fit
every goal: a posture, a point, a pose, a velocity, a force.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import finite_array
from pliant.controllers.desired_motion import check_range, desired_motion
from pliant.controllers.paths import Circle, Path
from pliant.controllers.trajectories import MinimumJerk, Trajectory, check_samples
from pliant.envs.selection import select
from pliant.envs.tasks.ends import periods
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.markers import Force, GoalPlace, GoalPosture, Heading, Marker
from pliant.envs.tasks.values import Values, check_within, freeze, named, per_channel
from pliant.errors import ConfigurationError, ShapeError, check_bounds
from pliant.hardware.robot import Array, Channel, RobotInfo

Generator = np.random.Generator

_USUAL_WAY = 0.8
"""How far from its start a joint's goals lie where nothing is said, rad or m."""
_TRIES = 1000
"""Postures that are drawn for a goal until one is found in which nothing touches."""


class GoalOnRobot(NamedTuple):
    """A goal on a robot."""

    channels: tuple[Channel, ...] = ()
    """Names, units and bounds of its numbers."""
    compared: tuple[str, ...] = ()
    """The signal that each is compared with."""
    draw: Callable[[Generator], ArrayLike] | None = None
    """Returns the numbers of one episode, (numbers,)."""
    table: Array | None = None
    """Instead: the numbers at every period, (periods + 1, numbers)."""


class Side(NamedTuple):
    """What a robot offers to a goal or a start."""

    info: RobotInfo
    signals: Sequence[Channel]
    """Its own and those that measures compute."""
    kinematics: Kinematics | None

    def find(self, patterns: Sequence[str]) -> list[Channel]:
        """Return signals by name or glob; raises as `select`."""
        found = select(patterns, self.signals, "signal", f"robot {self.info.name!r}")
        return [self.signals[i] for i in found]

    def need_kinematics(self, what: str) -> Kinematics:
        """Return the kinematics; raise `ConfigurationError` where the robot offers none."""
        if self.kinematics is None:
            raise ConfigurationError(f"{what}: robot {self.info.name!r} offers no kinematics to find it by.")
        return self.kinematics


class Goal(ABC):
    """A configured goal. One of your own writes `on`."""

    @abstractmethod
    def on(self, side: Side) -> GoalOnRobot:
        """Return it for a robot; raises where the two do not go together."""

    @property
    def markers(self) -> Mapping[str, Marker]:
        """What pictures show of it, by name; nothing by default."""
        return {}


@dataclass(frozen=True)
class Posture(Goal):
    """Angles of all joints, `JOINT/goal`, drawn evenly from [low, high] for each joint and episode.

    Their bounds are those of the joints. A goal outside a joint's range is refused. A posture in which parts of
    the robot touch each other, or what is fixed beside it, is drawn again.
    """

    low: Values | None = None
    """Lowest, per joint, rad; None: 0.8 rad (m) below where the joint starts, as far as its range goes."""
    high: Values | None = None
    """Highest, per joint, rad; None: likewise above."""

    def __post_init__(self) -> None:
        freeze(self, "low", "high")

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`.

        Raises:
            ShapeError: a value per joint for another number of joints.
            OutOfBoundsError: one is not finite, or outside the joint's range.
            ConfigurationError: `low` above `high`.
        """
        joints = side.info.joints
        compared = side.find([f"{joint}/position" for joint in joints])
        usual = {
            "low": [max(c.low, c.rest - _USUAL_WAY) for c in compared],
            "high": [min(c.high, c.rest + _USUAL_WAY) for c in compared],
        }
        low, high = (
            per_channel(
                f"goal posture: {name} (of joints {', '.join(joints)})",
                values if getattr(self, name) is None else getattr(self, name),
                len(joints),
            )
            for name, values in usual.items()
        )
        if not (low <= high).all():
            raise ConfigurationError(f"goal posture: low {low.tolist()} must not exceed high {high.tolist()}.")
        check_within("goal posture", np.stack([low, high]), compared)
        for name, angles in (("low", low), ("high", high)):
            if getattr(self, name) is not None:
                check_range(f"goal posture: {name}", angles, side.info)
        channels = (named(f"{j}/goal", like) for j, like in zip(joints, compared, strict=True))
        return GoalOnRobot(tuple(channels), _names(compared), partial(_free_posture, side.kinematics, low, high))

    @property
    def markers(self) -> Mapping[str, Marker]:
        """The robot in that posture."""
        return {"goal": GoalPosture()}


@dataclass(frozen=True)
class JointTrajectory(Goal):
    """A motion of all joints: `JOINT/desired_position` and `JOINT/desired_velocity`."""

    trajectory: Trajectory = field(default_factory=lambda: MinimumJerk(0.0, 0.8, 4.0))
    """Of a single joint, which all follow, or of as many as the robot has."""

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`.

        Raises:
            ShapeError, MismatchError: the trajectory is of another number of joints, or names other ones.
            OutOfBoundsError: it is shorter than a period, or leaves a joint's range.
        """
        joints = side.info.joints
        motion = desired_motion(self.trajectory, side.info, one_for_all=True)
        compared = side.find([f"{joint}/{q}" for q in ("position", "velocity") for joint in joints])
        position, velocity = (np.broadcast_to(a, (len(a), len(joints))) for a in motion[1:])
        check_within("goal trajectory", position, compared[: len(joints)])
        channels = [
            named(f"{joint}/desired_{q}", like)
            for (q, joint), like in zip(
                ((q, joint) for q in ("position", "velocity") for joint in joints), compared, strict=True
            )
        ]
        return GoalOnRobot(tuple(channels), _names(compared), table=np.hstack([position, velocity]))

    @property
    def markers(self) -> Mapping[str, Marker]:
        """The robot where it should be."""
        return {"goal": GoalPosture("desired_position")}


@dataclass(frozen=True)
class Pose(Goal):
    """A pose of an end effector, `goal/position_x|y|z` and, if asked for, `goal/orientation_w|x|y|z`.

    Drawn evenly from a box [low, high], with an orientation that is drawn evenly from all; or, where neither is
    given, from what the robot reaches: joint angles are drawn evenly from their ranges (±π where they have none),
    those in which parts touch left out, and the robot's kinematics say where that puts the end effector.
    """

    site: str = "tip"
    """The end effector."""
    axes: str = "xyz"
    """Which coordinates matter."""
    low: Sequence[float] | None = None
    """Lowest corner of the box, a number for each of `axes`, m."""
    high: Sequence[float] | None = None
    """Highest."""
    oriented: bool = False
    """Whether the orientation matters."""

    def __post_init__(self) -> None:
        freeze(self, "low", "high")
        _check_axes("goal pose", self.axes)
        if (self.low is None) != (self.high is None):
            raise ConfigurationError("goal pose: low and high make a box together; give both or neither.")
        if self.low is not None and self.high is not None:
            low, high = (
                finite_array(f"goal pose: {n}", getattr(self, n), (len(self.axes),)) for n in ("low", "high")
            )
            if not (low <= high).all():
                raise ConfigurationError(f"goal pose: low {self.low} must not exceed high {self.high}.")

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`.

        Raises:
            UnknownNameError: the robot has no such site.
            OutOfBoundsError: the box reaches beyond what the site can.
            ConfigurationError: no box, and no kinematics to know the reachable poses by.
        """
        compared = side.find(site_signals(self.site, self.axes, self.oriented))
        places = len(self.axes)
        if self.low is None or self.high is None:
            return self._reachable(side, compared)
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        check_within("goal pose", np.stack([low, high]), compared[:places])

        def draw(random: Generator) -> ArrayLike:
            point = random.uniform(low, high)
            return np.concatenate([point, _any_orientation(random)]) if self.oriented else point

        return GoalOnRobot(_goal_channels(compared), _names(compared), draw)

    def _reachable(self, side: Side, compared: Sequence[Channel]) -> GoalOnRobot:
        kinematics = side.need_kinematics("goal pose without a box")
        site = kinematics.check(self.site)
        angles = side.find([f"{joint}/position" for joint in side.info.joints])
        low = np.array([c.low if math.isfinite(c.low) else -math.pi for c in angles])
        high = np.array([c.high if math.isfinite(c.high) else math.pi for c in angles])
        places = ["xyz".index(axis) for axis in self.axes]
        picked = [*places, *(range(3, 7) if self.oriented else ())]
        return GoalOnRobot(
            _goal_channels(compared),
            _names(compared),
            lambda random: kinematics.pose(site, _free_posture(kinematics, low, high, random))[picked],
        )

    @property
    def markers(self) -> Mapping[str, Marker]:
        """The place, and the axes of an orientation."""
        return {"goal": GoalPlace(self.site, self.axes, oriented=self.oriented)}


@dataclass(frozen=True)
class Ring(Goal):
    """A point `goal/position_x|z`, spread evenly over the ring between two circles around the world's origin."""

    site: str = "tip"
    """The end effector."""
    nearest: float = 0.5
    """Least distance from the origin, m."""
    farthest: float = 1.8
    """Largest, m."""

    def __post_init__(self) -> None:
        check_bounds("goal ring: nearest", self.nearest, 0.0, 1e6, "m")
        check_bounds("goal ring: farthest", self.farthest, self.nearest, 1e6, "m")

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`; raises where the ring reaches beyond what the site can."""
        compared = side.find(site_signals(self.site, "xz", oriented=False))
        check_within("goal ring: farthest", [[self.farthest, self.farthest]], compared)

        def draw(random: Generator) -> ArrayLike:
            length = math.sqrt(random.uniform(self.nearest**2, self.farthest**2))  # even over the area
            bearing = random.uniform(-math.pi, math.pi)
            return length * math.cos(bearing), length * math.sin(bearing)

        return GoalOnRobot(_goal_channels(compared), _names(compared), draw)

    @property
    def markers(self) -> Mapping[str, Marker]:
        """The place."""
        return {"goal": GoalPlace(self.site, "xz")}


@dataclass(frozen=True)
class SitePath(Goal):
    """A motion of an end effector: `desired/position_x|y|z` and `desired/velocity_x|y|z`.

    With `orientation`, it keeps that one all the time: `desired/orientation_w|x|y|z`.
    """

    path: Path = field(default_factory=lambda: Circle((1.0, 0.2), 0.4, 5.0, start=math.pi))
    """Of as many coordinates as `axes`."""
    site: str = "tip"
    """The end effector."""
    axes: str = "xz"
    """The path's coordinates."""
    orientation: Sequence[float] | None = None
    """Unit quaternion w, x, y, z in the world's frame, or None: any."""

    def __post_init__(self) -> None:
        freeze(self, "orientation")
        _check_axes("goal path", self.axes)
        if self.orientation is not None:
            turn = finite_array("goal path: orientation", self.orientation, (4,))
            check_bounds("goal path: length of the quaternion", float(np.linalg.norm(turn)), 1 - 1e-6, 1 + 1e-6)

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`.

        Raises:
            OutOfBoundsError: the path is shorter than a period, far longer than an episode, or leaves the reach.
            ShapeError: it has another number of coordinates.
            UnknownNameError: the robot has no such site.
        """
        period, axes = side.info.period, self.axes
        check_samples("goal path: a path", self.path.duration, period)
        time = period * np.arange(periods(self.path.duration, period) + 1)
        points, rates = self.path.position(time), self.path.velocity(time)
        if points.shape[1:] != (len(axes),):
            raise ShapeError(
                f"goal path: a path of {points.shape[-1]} coordinates; {len(axes)} are needed ({', '.join(axes)})."
            )
        place = side.find(site_signals(self.site, axes, self.orientation is not None))
        check_within("goal path", points, place[: len(axes)])
        channels = [named(c.name.replace(f"{self.site}/", "desired/", 1), c) for c in place]
        table = [points]
        if self.orientation is not None:
            table.append(np.tile(np.asarray(self.orientation, dtype=np.float64), (len(points), 1)))
        speeds = [Channel(f"desired/velocity_{axis}", "m/s", -math.inf, math.inf) for axis in axes]
        compared = [*_names(place), *_names(place[: len(axes)])]  # no term compares the velocities
        return GoalOnRobot((*channels, *speeds), tuple(compared), table=np.hstack([*table, rates]))

    @property
    def markers(self) -> Mapping[str, Marker]:
        """The path, where the site should be on it, and the way it took."""
        return {"goal": GoalPlace(self.site, self.axes, "desired", self.orientation is not None)}


@dataclass(frozen=True)
class Drawn(Goal):
    """Numbers for any signals, each drawn evenly from its [low, high]: a velocity, a force, a height.

    `walk` draws a velocity of the base with it, `press` a force.
    """

    signals: Sequence[str] = ()
    """What they are compared with, by name."""
    low: Values = 0.0
    """Lowest, one for all or one per signal, in their units."""
    high: Values = 0.0
    """Highest."""

    def __post_init__(self) -> None:
        freeze(self, "signals", "low", "high")

    def on(self, side: Side) -> GoalOnRobot:
        """See `Goal.on`; the names are `PART/goal_QUANTITY` of the signals' `PART/QUANTITY`.

        Raises:
            UnknownNameError: no such signal.
            ShapeError, OutOfBoundsError, ConfigurationError: numbers that do not fit the signals.
        """
        compared = side.find(self.signals)
        low, high = (per_channel(f"goal {n}", getattr(self, n), len(compared)) for n in ("low", "high"))
        if not (low <= high).all():
            raise ConfigurationError(f"goal: low {self.low} must not exceed high {self.high}.")
        check_within("goal", np.stack([low, high]), compared)
        channels = [
            named(f"{c.owner}/goal_{c.quantity}", c, float(a), float(b))
            for c, a, b in zip(compared, low, high, strict=True)
        ]
        return GoalOnRobot(tuple(channels), _names(compared), lambda random: random.uniform(low, high))

    @property
    def markers(self) -> Mapping[str, Marker]:
        """Arrows of a force, or of a floating base's velocity; nothing of other numbers."""
        sensors = {name.partition("/")[0] for name in self.signals if "/force_" in name}
        marked: dict[str, Marker] = {f"{sensor}_force": Force(sensor) for sensor in sorted(sensors)}
        if any(name.startswith("base/local_velocity_") for name in self.signals):
            marked["heading"] = Heading()
        return marked


def _free_posture(kinematics: Kinematics | None, low: Array, high: Array, random: Generator) -> Array:
    """Draw joint positions, (joints,), in which nothing touches, as far as the kinematics know.

    Raises:
        ConfigurationError: something touches in all that are drawn.
    """
    for _ in range(_TRIES):
        posture = random.uniform(low, high)
        touching = "" if kinematics is None else kinematics.touching(posture)
        if not touching:
            return posture
    raise ConfigurationError(
        f"{_TRIES} postures were drawn for a goal between {low.round(3).tolist()} and {high.round(3).tolist()}; "
        f"in each something touches, in the last one {touching}: draw from others (task.low, task.high), or leave "
        "such contacts out of the model (<exclude>)."
    )


def site_signals(site: str, axes: str, oriented: bool) -> list[str]:
    """Names of the signals of an end effector's place, and of its orientation if asked for."""
    names = [f"{site}/position_{axis}" for axis in axes]
    return names + [f"{site}/orientation_{part}" for part in "wxyz"] if oriented else names


def _goal_channels(compared: Sequence[Channel]) -> tuple[Channel, ...]:
    return tuple(named(f"goal/{c.quantity}", c) for c in compared)


def _names(channels: Sequence[Channel]) -> tuple[str, ...]:
    return tuple(channel.name for channel in channels)


def _check_axes(what: str, axes: str) -> None:
    if not isinstance(axes, str) or not axes or len(set(axes)) < len(axes) or set(axes) - set("xyz"):
        raise ConfigurationError(f"{what}: axes are {axes!r}; some of the letters x, y, z are needed, each once.")


def _any_orientation(random: Generator) -> Array:
    """A unit quaternion, evenly from all orientations: four normal numbers, normalised (Marsaglia 1972)."""
    while True:
        four = random.standard_normal(4)
        length = float(np.linalg.norm(four))
        if length > 1e-6:
            return np.asarray(four / length)


GOALS: Final[dict[str, Callable[..., Goal]]] = {
    "posture": Posture,
    "trajectory": JointTrajectory,
    "pose": Pose,
    "ring": Ring,
    "path": SitePath,
    "drawn": Drawn,
}
"""By name."""
