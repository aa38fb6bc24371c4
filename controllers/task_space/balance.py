"""What a robot on its feet stands on, and where its centre of mass may be over it."""

import math
from typing import Final, NamedTuple

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.poses import matrix
from pliant.controllers.task_space.contacts import Contact
from pliant.controllers.task_space.stack import TaskStack
from pliant.controllers.task_space.tasks import CentreOfMassTask
from pliant.errors import ConfigurationError, check_bounds, unknown_name

_TILTED: Final = 0.5
"""Of a sole that bears, rad: on it nothing stands any more."""
_CLIPPED: Final = 1e-3
"""Way by which a target is moved that is told, m."""


class Aim(NamedTuple):
    """Where the centre of mass is to go in a plane from above, (2,), m."""

    target: Array
    moved: float
    """How far that is from what was asked and leans, m; more than 0 where it had to stay over the support."""


class Balance:
    """Keeps the target of the centre of mass over the support, and lets the robot lean against its forces.

    The support is the convex hull of the contacts that bear, from above. What is asked for is a point p that
    carries the whole: with forces f and torques τ that the robot exerts at r,

        c = p + (M_y, −M_x)/(m·g),    M = Σ (r − p) × f + τ

    is where the centre of mass has to be for it: pushing with F at a height h it leans forward by F·h/(m·g). Both
    p and c are moved to the nearest point of the support, so that the robot stands whether the force meets
    resistance or not. The ground is taken to be level, at the height of the lowest contact.

    Args:
        stack: of the robot.
        task: name of the task of the centre of mass.
        margin: by which the targets stay inside the soles, m.
        lean: whether it leans.
        fallen: distance of the centre of mass from the support from which on the robot falls, m.

    Raises:
        UnknownNameError: no such task.
        ConfigurationError: the task is another one; no contacts.
        OutOfBoundsError: numbers that cannot be.
    """

    def __init__(
        self, stack: TaskStack, task: str = "com", *, margin: float = 0.02, lean: bool = True, fallen: float = 0.1
    ) -> None:
        if task not in stack.tasks:
            raise unknown_name("task", task, stack.tasks, "balance")
        found = stack.tasks[task]
        if not isinstance(found, CentreOfMassTask):
            raise ConfigurationError(
                f"balance: task {task!r} is a {type(found).__name__}, not of the centre of mass."
            )
        self.contacts = [c for c in stack.constraints.values() if isinstance(c, Contact)]
        if not self.contacts:
            raise ConfigurationError("balance: the robot has no contacts to stand on.")
        self.name, self.task, self.lean = task, found, lean
        self.margin = check_bounds("balance: margin", margin, 0.0, 1.0, "m")
        self.fallen = check_bounds("balance: fallen", fallen, 0.0, 10.0, "m")
        self._stack = stack
        mechanics = stack.mechanics
        self._frames = [mechanics.frame(contact.frame) for contact in self.contacts]
        self._weight = float(mechanics.model.body_subtreemass[mechanics.root] * -mechanics.model.opt.gravity[2])

    def support(self, margin: float = 0.0) -> Array:
        """Return the corners of the support at the mechanics' instant, (corners, 2), m, anticlockwise.

        Args:
            margin: by which every sole is made smaller on all sides, m.
        """
        return convex_hull(self._corners(margin)[:, :2])

    def aim(self, asked: Array) -> Aim:
        """Return where the centre of mass is to go for the point that is to carry all, (2,), m."""
        corners = self._corners(self.margin)
        if not len(corners):
            return Aim(asked, 0.0)
        hull = convex_hull(corners[:, :2])
        carrying = nearest_inside(hull, asked)
        leaning = carrying + self._lean(np.array([*carrying, corners[:, 2].min()]))
        target = nearest_inside(hull, leaning)
        away = math.dist(carrying, asked) + math.dist(target, leaning)
        return Aim(target, away if away > _CLIPPED else 0.0)

    def outside(self) -> float:
        """Return how far the centre of mass is outside the support, m; 0 over it or without contacts."""
        hull = self.support()
        mechanics = self._stack.mechanics
        if not len(hull):
            return 0.0
        com = mechanics.data.subtree_com[mechanics.root][:2]
        return math.dist(nearest_inside(hull, com), com)

    def fall(self) -> str:
        """Return why the robot is falling, or lies already; empty if it does not."""
        outside = self.outside()
        if outside > self.fallen:
            return f"it falls: its centre of mass is {outside:.3g} m outside its support"
        for contact, frame in zip(self.contacts, self._frames, strict=True):
            upwards = matrix(self._stack.mechanics.pose(frame)[3:])[2, 2]
            if contact.active and contact.size is not None and upwards < math.cos(_TILTED):
                return f"it falls: {contact.frame} is tilted by {math.acos(max(upwards, -1.0)):.2g} rad"
        return ""

    def _lean(self, point: Array) -> Array:
        if not self.lean or not self._stack.forces or self._weight <= 0.0:
            return np.zeros(2)
        moment = np.zeros(3)
        for force in self._stack.forces.values():
            place, wrench = force.in_world(self._stack.mechanics)
            moment += np.cross(place - point, wrench[:3]) + wrench[3:]
        return np.array([moment[1], -moment[0]]) / self._weight

    def _corners(self, margin: float) -> Array:
        """Corners of all soles that bear, (corners, 3), m."""
        found = []
        for contact, frame in zip(self.contacts, self._frames, strict=True):
            if not contact.active:
                continue
            pose = self._stack.mechanics.pose(frame)
            x, y = (max(half - margin, 0.0) for half in contact.size or (0.0, 0.0))
            inside = np.array([[x, y, 0.0], [-x, y, 0.0], [-x, -y, 0.0], [x, -y, 0.0]])
            found.append(pose[:3] + inside @ matrix(pose[3:]).T)
        return np.concatenate(found) if found else np.empty((0, 3))


def convex_hull(points: Array) -> Array:
    """Return the corners of the convex hull of points of a plane, (n, 2), anticlockwise.

    Source: Andrew 1979, "Another efficient algorithm for convex hulls in two dimensions".
    """
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered).reshape(-1, 2)

    def half(way: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for point in way:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0.0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def nearest_inside(hull: Array, point: Array) -> Array:
    """Return the point of a convex hull (see `convex_hull`), or on its edge, that is nearest to a point, (2,)."""
    count = len(hull)
    if count == 1:
        return hull[0].copy()
    ends = np.roll(hull, -1, axis=0)
    if count > 2 and all(_turn(a, b, point) >= 0.0 for a, b in zip(hull, ends, strict=True)):
        return np.array(point, dtype=np.float64)
    along = ends - hull
    share = np.clip(np.einsum("ij,ij->i", point - hull, along) / np.einsum("ij,ij->i", along, along), 0.0, 1.0)
    feet = hull + share[:, None] * along
    found: Array = feet[np.argmin(np.linalg.norm(feet - point, axis=1))]
    return found


def _turn(
    a: "tuple[float, float] | Array", b: "tuple[float, float] | Array", c: "tuple[float, float] | Array"
) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
