"""Markers: what a picture of an episode shows besides the robot, such as its goal, a path or a force.

A marker looks at the whole recorded episode and says, for each instant, what is to be drawn. Goals bring their own
(`Goal.markers`), tasks add others (`Task.markers`).
A film is drawn afterwards, from all of the episode; a window or a page that shows it as it happens, from what has
happened so far. Nothing here changes an episode.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.envs.rendering import Shape, add_ghost, add_shapes
from pliant.errors import check_bounds
from pliant.hardware.robot import Array

if TYPE_CHECKING:
    from pliant.envs.recorded_episode import RecordedEpisode

Colour = tuple[float, float, float, float]
"""Red, green, blue, opacity."""

WANTED: Final[Colour] = (0.10, 0.62, 0.24, 0.9)
"""What is to be reached or followed."""
GHOST: Final[Colour] = (0.10, 0.62, 0.24, 0.35)
"""Likewise, of the robot itself in that posture."""
MEASURED: Final[Colour] = (0.04, 0.38, 0.72, 0.9)
"""What the robot does."""
THROWN: Final[Colour] = (0.95, 0.45, 0.05, 1.0)
"""What leaves the robot."""

_MOST = 160
"""Pieces of a line."""


class Ghost(NamedTuple):
    """The robot itself, translucent, in another posture."""

    qpos: Array
    """Positions of its model, (nq,)."""
    colour: Colour = GHOST


Mark = Shape | Ghost


def draw_marks(scene: mujoco.MjvScene, marks: Iterable[Mark], model: mujoco.MjModel, ghost: mujoco.MjData) -> None:
    """Add marks to a scene, as many as it has room for.

    Args:
        scene: of the robot's model.
        marks: what is to be drawn.
        model: of the robot.
        ghost: put into the postures of ghosts.
    """
    for mark in marks:
        if isinstance(mark, Ghost):
            ghost.qpos[:] = mark.qpos
            add_ghost(scene, model, ghost, mark.colour)
        else:
            add_shapes(scene, [mark])


class Marker(ABC):
    """Something that pictures of a task show. One of your own writes `draw`."""

    @abstractmethod
    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """Return what is to be drawn at an instant; nothing where the episode lacks what it needs.

        Args:
            episode: what is recorded of it: all, or for a live picture all up to now.
            k: which of its instants.
        """


def ball(position: ArrayLike, radius: float, colour: Colour = WANTED) -> Shape:
    """Return a ball at a position, (3,), m."""
    return Shape(int(mujoco.mjtGeom.mjGEOM_SPHERE), np.full(3, radius), np.asarray(position), np.eye(3), colour)


def arrow(start: ArrayLike, vector: ArrayLike, width: float, colour: Colour = WANTED) -> list[Shape]:
    """Return an arrow from a position along a vector, both (3,), m; nothing for one shorter than its width."""
    begin, along = np.asarray(start, np.float64), np.asarray(vector, np.float64)
    length = float(np.linalg.norm(along))
    if not length > width:
        return []
    size = np.array([width, width, length])
    return [Shape(int(mujoco.mjtGeom.mjGEOM_ARROW), size, begin, _turned_to(along / length), colour)]


def line(points: ArrayLike, colour: Colour = WANTED, pixels: float = 3.0) -> list[Shape]:
    """Return a line through points, (n, 3), m; NaN is a gap. Long ones are drawn in fewer, longer pieces."""
    rows = np.asarray(points, np.float64).reshape(-1, 3)
    kept = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST + 1)).round().astype(int))
    pieces = []
    for begin, end in pairwise(rows[kept]):
        length = float(np.linalg.norm(end - begin))
        if length > 1e-9:  # also not NaN
            size, frame = np.array([pixels, pixels, length]), _turned_to((end - begin) / length)
            pieces.append(Shape(int(mujoco.mjtGeom.mjGEOM_LINE), size, begin, frame, colour))
    return pieces


def _turned_to(z: Array) -> Array:
    """Axes in columns, (3, 3), the last one along a unit vector."""
    across = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(across, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


@dataclass(frozen=True)
class GoalPosture(Marker):
    """The robot in the posture that is its goal, translucent."""

    quantity: str = "goal"
    """Of the goal's numbers `JOINT/QUANTITY`."""

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        names = [f"{joint}/{self.quantity}" for joint in episode.joints]
        return [Ghost(episode.posture(k, episode.values(*names)[k]))]


@dataclass(frozen=True)
class GoalPlace(Marker):
    """Where an end effector is to be: a ball, the axes of an orientation, and the path of a goal that moves."""

    site: str = "tip"
    axes: str = "xyz"
    """Which coordinates the goal has; the others are where the site begins."""
    goal: str = "goal"
    """First part of the names of its numbers, `GOAL/position_x` and so on."""
    oriented: bool = False
    """Whether it has an orientation."""

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        if self.site not in episode.sites:
            return []
        way, size = episode.places(self.site), episode.size
        points = np.tile(way[0], (len(way), 1))
        columns = ["xyz".index(axis) for axis in self.axes]
        measured = episode.values(*(f"{self.site}/position_{axis}" for axis in self.axes))
        shift = way[0, columns] - measured[0]  # signals of the site may be of another origin than the world's
        points[:, columns] = shift + episode.values(*(f"{self.goal}/position_{axis}" for axis in self.axes))
        marks: list[Mark] = [ball(points[k], size)]
        if self.oriented:
            turn = np.empty(9)
            mujoco.mju_quat2Mat(turn, episode.values(*(f"{self.goal}/orientation_{part}" for part in "wxyz"))[k])
            for axis, colour in zip(turn.reshape(3, 3).T, _AXES, strict=True):
                marks += arrow(points[k], 6.0 * size * axis, 0.3 * size, colour)
        if (points != points[0]).any():
            marks += line(points, WANTED)
            marks += line(way[: k + 1], MEASURED)
        return marks


_AXES: Final[Sequence[Colour]] = ((0.85, 0.2, 0.2, 0.9), (0.2, 0.7, 0.2, 0.9), (0.2, 0.3, 0.9, 0.9))


@dataclass(frozen=True)
class Force(Marker):
    """The force that a sensor measures, blue, and the goal's, green: arrows in the axes of the sensor.

    The largest goal is as long as a quarter of the robot's size; without a goal, the largest measured force.
    """

    sensor: str = "wrist"

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        names = [f"{self.sensor}/force_{axis}" for axis in "xyz"]
        if self.sensor not in episode.sites or not any(map(episode.has, names)):
            return []
        measured, wanted = (
            np.column_stack([episode.values(n)[:, 0] if episode.has(n) else np.zeros(len(episode)) for n in some])
            for some in (names, [f"{self.sensor}/goal_force_{axis}" for axis in "xyz"])
        )
        largest = np.abs(wanted).max() or np.abs(measured).max() or 1.0
        length = 0.25 * episode.extent / largest
        at, frame = episode.places(self.sensor)[k], episode.frames(self.sensor)[k]
        limited = np.clip(measured[k], -2.0 * largest, 2.0 * largest)
        beside = episode.size * frame[:, 0]
        return [
            *arrow(at - beside, length * frame @ wanted[k], 0.5 * episode.size, WANTED),
            *arrow(at + beside, length * frame @ limited, 0.5 * episode.size, MEASURED),
        ]


@dataclass(frozen=True)
class Heading(Marker):
    """A floating base's velocity on the ground, blue, the commanded one, green, and the way it went.

    Arrows are as long as it would come in `ahead`.
    """

    ahead: float = 1.0
    """s"""

    def __post_init__(self) -> None:
        check_bounds("marker heading: ahead", self.ahead, 1e-3, 1e3, "s")

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        if episode.base is None:
            return []
        way = episode.base.copy()
        size = episode.size
        marks: list[Mark] = list(line(_on_floor(way[: k + 1], 0.2 * size), MEASURED))
        span = max(round(0.4 / episode.period), 1)
        first, last = max(k - span, 0), min(k + span, len(way) - 1)
        speed = (way[last] - way[first]) / max((last - first) * episode.period, episode.period)
        top = way[k] + [0.0, 0.0, 0.25 * episode.extent]
        goals = [f"base/goal_local_velocity_{axis}" for axis in "xy"]
        if all(map(episode.has, goals)):
            forward, left = episode.values(*goals)[k]
            yaw = episode.yaw[k]
            c, d = math.cos(yaw), math.sin(yaw)
            velocity = np.array([forward * c - left * d, forward * d + left * c, 0.0])
            marks += arrow(np.add(top, [0.0, 0.0, 2.0 * size]), self.ahead * velocity, 0.7 * size, WANTED)
        marks += arrow(top, self.ahead * speed * [1, 1, 0], 0.7 * size, MEASURED)
        return marks


def _on_floor(points: Array, height: float) -> Array:
    return np.column_stack([points[:, :2], np.full(len(points), height)])


@dataclass(frozen=True)
class Contacts(Marker):
    """Where the robot touches its surroundings: the feet of a gait that carry."""

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        return [ball(point, 0.8 * episode.size, THROWN) for point in episode.contacts(k)]


@dataclass(frozen=True)
class Ball(Marker):
    """A thrown ball: in the hand, in its flight after the farthest throw, and where it lands.

    A green bar on the floor stands where it should land at least.
    """

    site: str = "tip"
    """The hand."""
    limit: float | None = None
    """Distance that counts as success, from the first joint, m; None: none."""
    gravity: float = 9.81
    """m/s²"""
    floor: float = 0.0
    """Height of the floor in the world, m."""

    def draw(self, episode: "RecordedEpisode", k: int) -> Sequence[Mark]:
        """See `Marker.draw`."""
        if self.site not in episode.sites or not episode.has("throw/gain"):
            return []
        size, hand, marks = episode.size, episode.places(self.site), list[Mark]()
        radius = 1.8 * size
        if self.limit is not None:
            ends = [[self.limit, side * 6.0 * size, self.floor] for side in (-1.0, 1.0)]
            marks += line(ends, WANTED, 5.0)
        gains = np.flatnonzero(episode.values("throw/gain")[: episode.over + 1, 0] > 0.0)
        let_go = int(gains[-1]) if gains.size else len(episode)
        if k <= let_go or not 0 < let_go < len(episode) - 1:
            return [*marks, ball(hand[k], radius, THROWN)]
        speed = (hand[let_go + 1] - hand[let_go - 1]) / (2.0 * episode.period)
        begin = hand[let_go]
        above = max(begin[2] - self.floor, 0.0)
        landing = (speed[2] + math.sqrt(speed[2] ** 2 + 2.0 * self.gravity * above)) / self.gravity
        flown = min((k - let_go) * episode.period, landing)
        times = np.linspace(0.0, flown, 30)[:, None]
        way = begin + speed * times - [0, 0, 0.5 * self.gravity] * times**2
        return [*marks, *line(way, THROWN), ball(way[-1], radius, THROWN)]


MARKERS: Final[Mapping[str, Callable[..., Marker]]] = {
    "goal_posture": GoalPosture,
    "goal_place": GoalPlace,
    "force": Force,
    "heading": Heading,
    "contacts": Contacts,
    "ball": Ball,
}
"""By name."""
