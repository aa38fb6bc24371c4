"""Tasks: what a point, a frame, the centre of mass, the joints or the whole robot's momentum is to do.

With x what a task measures and e the way from there to its target (of an orientation the rotation vector, the
logarithm of R_target·Rᵀ), a task wants the acceleration

    ẍ* = ẍ_ref + K_D·(ẋ_ref + v − ẋ),    v = K_P/K_D·e, shortened to its largest speed

which is the PD law ẍ_ref + K_D·(ẋ_ref − ẋ) + K_P·e as long as v is not too fast. Targets and references are arrays
that may be written between one instant and the next.

Source: Khatib 1987, "A unified approach for motion and force control of robot manipulators: the operational space
formulation"; the shortened speed is its section on straight-line motion.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import Array, finite_array, number_array
from pliant.controllers.task_space.mechanics import Frame, Mechanics
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

AXES: Final = ("x", "y", "z", "rx", "ry", "rz")
WORLD: Final = "world"
FRAME: Final = 0
CENTRE_OF_MASS: Final = 1
MOMENTUM: Final = 2
POSTURE: Final = 3
OWN: Final = 4
_MOST: Final = 1e6

Gain = float | Sequence[float]


class Task(ABC):
    """One task. What it is about is fixed; its arrays are live.

    Args:
        kind: which of the above.
        rows: of how many numbers its acceleration is made.
        size: of how many its target is.
        axes: of how many its error, gains and references are.
        stiffness: K_P, 1/s², for all or each of the numbers that could be chosen from.
        damping: K_D, 1/s, likewise; None: critical, 2·√K_P.
        level: tasks of a lower number go first, and are not disturbed by others.
        weight: of its squared error within its level, above 0.
        speed: largest of the way to the target, m/s (or rad/s of joints), and that of orientations, rad/s.
    """

    def __init__(
        self,
        kind: int,
        rows: int,
        size: int,
        axes: int,
        stiffness: Gain,
        damping: Gain | None,
        level: int,
        weight: float,
        speed: tuple[float, float] = (math.inf, math.inf),
    ) -> None:
        name = type(self).__name__
        self.kind, self.rows = kind, rows
        self.level = _whole(f"{name}: level", level)
        self.weight = check_bounds(f"{name}: weight", weight, 1e-9, 1e9)
        self.stiffness = gains(f"{name}: stiffness", stiffness, axes)
        own = 2.0 * np.sqrt(self.stiffness) if damping is None else damping
        self.damping = gains(f"{name}: damping", own, axes)
        self.largest = np.array([_speed(f"{name}: speed", s) for s in speed])
        self.target = np.zeros(size)
        self.velocity, self.acceleration = np.zeros(axes), np.zeros(axes)
        """References, m/s, rad/s and m/s², rad/s²."""
        self.error, self.rate = np.zeros(axes), np.zeros(axes)
        """e and ẋ at the last instant, all of those that could be chosen from."""

    @abstractmethod
    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """Return what compiled code must know of it on a robot: some fields of a row of `Packed.table`.

        A kind of your own has none: `{}`.

        Raises:
            UnknownNameError: a frame or joint that the model does not have.
        """

    def hold(self, mechanics: Mechanics) -> None:
        """Take where it is at the last instant as the target, at rest."""
        self.velocity[:] = self.acceleration[:] = 0.0
        self.target[:] = self.measure(mechanics)

    @abstractmethod
    def measure(self, mechanics: Mechanics) -> Array:
        """Return where it is at the last instant, like its target."""

    def write(self, mechanics: Mechanics, jacobian: Array, wanted: Array, scale: Array) -> None:
        """Write G, (rows, nv), b = ẍ* − Ġ·u and the scales, (rows,): for kinds of your own, `OWN`."""
        raise NotImplementedError


class FrameTask(Task):
    """A frame goes to a pose relative to another one: all six axes, or some.

    Axes are those of the other frame. The target is the pose, (7,): position, m, and unit quaternion, w first.

    Args:
        frame: name of a site or body.
        relative_to: likewise, moving or not.
        axes: some of x, y, z, rx, ry, rz.
        stiffness: see `Task`; for all axes, or of each of the six.
        damping: likewise.
        level: see `Task`.
        weight: see `Task`.
        speed: largest on the way, m/s.
        turning: likewise, rad/s.
    """

    def __init__(
        self,
        frame: str,
        *,
        relative_to: str = WORLD,
        axes: Sequence[str] = AXES,
        stiffness: Gain = 100.0,
        damping: Gain | None = None,
        level: int = 1,
        weight: float = 1.0,
        speed: float = math.inf,
        turning: float = math.inf,
    ) -> None:
        chosen = selected_axes(axes)
        super().__init__(FRAME, len(chosen), 7, 6, stiffness, damping, level, weight, (speed, turning))
        self.frame, self.relative_to, self.axes = frame, relative_to, chosen
        self.target[3] = 1.0
        self.sensed = np.full(7, np.nan)
        """Pose of the frame in the world as a sensor tells it, (7,), in place of what the joints say; NaN: not
        sensed. Position or orientation alone may be."""
        self.local = False
        """Whether the axes are the frame's own in place of the other one's; for constraints."""

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        own, other = mechanics.frame(self.frame), mechanics.frame(self.relative_to)
        self._own, self._other = own, other
        return {
            "body": own.body,
            "other": other.body,
            "place": _pose(own),
            "other_place": _pose(other),
            "chosen": np.array(self.axes, dtype=np.int64),
            "sensed": self.sensed,
            "local": int(self.local),
        }

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        from pliant.controllers.poses import compose, inverse

        own, other = mechanics.frame(self.frame), mechanics.frame(self.relative_to)
        return compose(inverse(mechanics.pose(other)), mechanics.pose(own))


class PointTask(FrameTask):
    """A point goes to a position: a `FrameTask` on x, y and z, or some of them."""

    def __init__(self, frame: str, *, axes: Sequence[str] = AXES[:3], **settings: Any) -> None:
        super().__init__(frame, axes=axes, **settings)


class OrientationTask(FrameTask):
    """A frame turns to an orientation: a `FrameTask` on rx, ry and rz, or some of them."""

    def __init__(self, frame: str, *, axes: Sequence[str] = AXES[3:], **settings: Any) -> None:
        super().__init__(frame, axes=axes, **settings)


class CentreOfMassTask(Task):
    """The centre of mass goes to a position in the world, (3,), m.

    Args:
        axes: some of x, y, z.
        stiffness: see `Task`; for all axes, or of each of the three.
        damping: likewise.
        level: see `Task`.
        weight: see `Task`.
        speed: largest on the way, m/s.
    """

    def __init__(
        self,
        *,
        axes: Sequence[str] = AXES[:3],
        stiffness: Gain = 100.0,
        damping: Gain | None = None,
        level: int = 1,
        weight: float = 1.0,
        speed: float = math.inf,
    ) -> None:
        self.axes = selected_axes(axes, AXES[:3])
        super().__init__(
            CENTRE_OF_MASS, len(self.axes), 3, 3, stiffness, damping, level, weight, (speed, math.inf)
        )

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        return {"body": mechanics.root, "chosen": np.array(self.axes, dtype=np.int64)}

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        return np.array(mechanics.data.subtree_com[mechanics.root])


class MomentumTask(Task):
    """The momentum of the whole robot, and its angular momentum about the centre of mass, follow their references.

        ḣ* = ḣ_ref + K_D·(h_ref − h)

    h_ref is `velocity`, (6,), kg·m/s and kg·m²/s, ḣ_ref is `acceleration`. There is no target.

    Args:
        axes: some of x, y, z, rx, ry, rz.
        damping: see `Task`; for all axes, or of each of the six.
        level: see `Task`.
        weight: see `Task`.
    """

    def __init__(
        self, *, axes: Sequence[str] = AXES, damping: Gain = 5.0, level: int = 1, weight: float = 1.0
    ) -> None:
        self.axes = selected_axes(axes)
        super().__init__(MOMENTUM, len(self.axes), 0, 6, 0.0, damping, level, weight)

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        return {"body": mechanics.root, "chosen": np.array(self.axes, dtype=np.int64)}

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        return np.empty(0)


class PostureTask(Task):
    """Joints go to positions, (joints,), rad or m.

    The rest of a hierarchy: with every joint in it, alone in its level, it does what the others leave free, in the
    measure of kinetic energy.

    Args:
        joints: names; None: all that the robot reads.
        stiffness: see `Task`; for all joints or of each.
        damping: likewise.
        level: see `Task`.
        weight: see `Task`.
        speed: largest on the way, rad/s or m/s.
    """

    def __init__(
        self,
        joints: Sequence[str] | None = None,
        *,
        mechanics: Mechanics,
        stiffness: Gain = 25.0,
        damping: Gain | None = None,
        level: int = 2,
        weight: float = 1.0,
        speed: float = math.inf,
    ) -> None:
        self.joints = mechanics.joints if joints is None else tuple(joints)
        for name in self.joints:
            if name not in mechanics.joints:
                raise unknown_name("joint", name, mechanics.joints, "the controller's model")
        count = len(self.joints)
        if not count:
            raise ConfigurationError("PostureTask: no joints.")
        super().__init__(POSTURE, count, count, count, stiffness, damping, level, weight, (speed, math.inf))
        which = [mechanics.joints.index(name) for name in self.joints]
        self._places, self._dofs = mechanics.places[which], mechanics.dofs[which]

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Degrees of freedom of its joints, (joints,)."""
        return self._dofs

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        return {"place": self._places, "chosen": self._dofs}

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        return np.array(mechanics.data.qpos[self._places])


def selected_axes(axes: Sequence[str], known: Sequence[str] = AXES) -> tuple[int, ...]:
    """Return which of the axes are named, ascending.

    Raises:
        UnknownNameError: one has another name.
        ConfigurationError: none, or one twice.
    """
    names = [axes] if isinstance(axes, str) else list(axes)
    for name in names:
        if name not in known:
            raise unknown_name("axis", name, known, "a task")
    if not names or len(set(names)) < len(names):
        raise ConfigurationError(f"axes of a task are {names}; some of {', '.join(known)} are needed, each once.")
    return tuple(sorted(known.index(name) for name in names))


def _pose(frame: Frame) -> Array:
    return np.array([*frame.position, *frame.orientation])


def gains(what: str, value: ArrayLike, count: int) -> Array:
    """Return numbers from 0 on, one for each of `count`; a gain that is given once holds for all."""
    array = number_array(what, value)
    each = np.full(count, float(array)) if array.ndim == 0 else finite_array(what, array, (count,)).copy()
    for number in each:
        check_bounds(what, number, 0.0, _MOST)
    return each


def _speed(what: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{what} is {value!r}; a number is needed.") from error
    if not number > 0.0:
        raise OutOfBoundsError(f"{what} is {number:g}; more than 0 is needed.")
    return number


def _whole(what: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:
        raise OutOfBoundsError(f"{what} is {value!r}; a whole number from 1 on is needed.")
    return value
