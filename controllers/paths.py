"""Paths of a point in space over time, and their conversion to joint motion.

A path gives the coordinates of a point, in m, as a trajectory gives the angles of joints: at rest before 0 and
after its duration, with the timing of least jerk in between. `joint_trajectory` turns it, by any inverse
kinematics, into the trajectory that a joint controller follows. A set-point needs no path: solve its inverse
kinematics once and give the angles to `Step` or `MinimumJerk`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, all_finite, finite_array, number_array, positive
from pliant.controllers.trajectories import MinimumJerk, check_samples
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

InverseKinematics = Callable[[Array, Array], ArrayLike]
"""(coordinates (d,), m; a configuration near the one wanted (joints,), rad) -> angles (joints,), rad."""

_PLANES = tuple(a + b for a in "xyz" for b in "xyz" if a != b)
_REST = 1e-6
"""A path slower than this at its ends (m/s) rests there."""


class Path(Protocol):
    """A desired motion of a point: coordinates and their rate as functions of time."""

    @property
    def duration(self) -> float:
        """Time from start to rest, s."""

    def position(self, t: ArrayLike) -> Array:
        """Coordinates at the times `t` (any shape), (*t.shape, d), m."""

    def velocity(self, t: ArrayLike) -> Array:
        """Time derivative of `position`, (*t.shape, d), m/s."""


@dataclass(frozen=True)
class Line:
    """Straight from `start` to `goal`, in any number of coordinates, with the timing of `MinimumJerk`."""

    start: Sequence[float]
    """Coordinates at 0, (d,), m."""
    goal: Sequence[float]
    """Coordinates at `duration`, (d,), m."""
    duration: float
    """s."""

    def __post_init__(self) -> None:
        start = finite_array("Line start", self.start, (None,))
        goal = finite_array("Line goal", self.goal, start.shape)
        object.__setattr__(self, "start", tuple(start.tolist()))
        object.__setattr__(self, "goal", tuple(goal.tolist()))
        object.__setattr__(self, "duration", positive("Line duration", self.duration, "s"))

    def position(self, t: ArrayLike) -> Array:
        """Coordinates, (*t.shape, d), m."""
        return MinimumJerk(self.start, self.goal, self.duration).position(t)

    def velocity(self, t: ArrayLike) -> Array:
        """Their rate, (*t.shape, d), m/s."""
        return MinimumJerk(self.start, self.goal, self.duration).velocity(t)


@dataclass(frozen=True)
class Circle:
    """Along a circle: centre + radius·(cos φ, sin φ) in a plane, turned by `sweep` with least jerk."""

    centre: Sequence[float]
    """(2,), or in space (3,), m."""
    radius: float
    """m, > 0."""
    duration: float
    """s."""
    start: float = 0.0
    """φ at 0, from the first axis towards the second, rad."""
    sweep: float = 2.0 * np.pi
    """Angle travelled, rad; negative the other way round; a full turn by default."""
    plane: str = "xy"
    """In space, the axes of cos φ and sin φ: xy, yz, zx, …"""

    def __post_init__(self) -> None:
        centre = finite_array("Circle centre", self.centre, (None,))
        if len(centre) not in (2, 3):
            raise ShapeError(f"Circle centre has shape {centre.shape}; (2,) or (3,) is needed.")
        if self.plane not in _PLANES:
            raise unknown_name("plane", self.plane, _PLANES, "a Circle")
        object.__setattr__(self, "centre", tuple(centre.tolist()))
        object.__setattr__(self, "radius", positive("Circle radius", self.radius, "m"))
        object.__setattr__(self, "duration", positive("Circle duration", self.duration, "s"))
        for name in ("start", "sweep"):
            angle = check_bounds(f"Circle {name}", getattr(self, name), -np.inf, np.inf, "rad")
            object.__setattr__(self, name, angle)

    def position(self, t: ArrayLike) -> Array:
        """Coordinates, (*t.shape, d), m."""
        phi = self._angle.position(t)
        return np.asarray(self.centre) + self.radius * self._along(np.cos(phi), np.sin(phi))

    def velocity(self, t: ArrayLike) -> Array:
        """Their rate, (*t.shape, d), m/s."""
        phi, rate = self._angle.position(t), self._angle.velocity(t)
        return self.radius * rate * self._along(-np.sin(phi), np.cos(phi))

    def _along(self, first: Array, second: Array) -> Array:
        """Numbers along the two axes of the plane, (*t.shape, 1) each, as coordinates."""
        found = np.zeros((*first.shape[:-1], len(self.centre)))
        for axis, values in zip(self.plane, (first, second), strict=True):
            found[..., "xyz".index(axis)] = values[..., 0]
        return found

    @property
    def _angle(self) -> MinimumJerk:
        return MinimumJerk(self.start, self.start + self.sweep, self.duration)


@dataclass(frozen=True, eq=False)
class ViaPoints:
    """Through given points at given times with the least mean squared jerk, at rest at both ends.

    That is the quintic spline through them, continuous up to the fourth derivative, with zero velocity and
    acceleration at the ends. It does not stop at the points between, and leaves the straight lines that join them,
    the more the less the times match the distances. Two points make a `Line`.

    Source: Flash & Hogan 1985, The coordination of arm movements, movements through a via point.
    """

    time: Array
    """When it is at each point, (n,), s, n ≥ 2, increasing from 0."""
    points: Array
    """(n, d), m."""
    _spline: "BSpline[np.float64]" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = type(self).__name__
        time = finite_array(f"{kind} time", self.time, (None,))
        points = finite_array(f"{kind} points", self.points, (len(time), None))
        if len(time) < 2:
            raise ShapeError(f"{kind}: one point is no path; at least 2 are needed.")
        if time[0] != 0.0 or not (np.diff(time) > 0.0).all():
            raise OutOfBoundsError(f"{kind} time must begin at 0 s and increase; got {_brief(time)} s.")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "_spline", _least_jerk(time, points))

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.time[-1])

    def position(self, t: ArrayLike) -> Array:
        """Coordinates, (*t.shape, d), m."""
        return self._spline(self._inside(t))

    def velocity(self, t: ArrayLike) -> Array:
        """Their rate, (*t.shape, d), m/s."""
        return self._spline(self._inside(t), nu=1)

    def _inside(self, t: ArrayLike) -> Array:
        return np.clip(all_finite("time", number_array("time", t)), 0.0, self.duration)


@dataclass(frozen=True, eq=False)
class JointViaPoints(ViaPoints):
    """`ViaPoints` in joint space: a smooth `Trajectory` through angles (rad) instead of coordinates."""

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.points.T)


def joint_trajectory(
    path: Path,
    inverse_kinematics: InverseKinematics,
    near: ArrayLike,
    period: float = 0.01,
    largest_step: float = 0.2,
) -> JointViaPoints:
    """Return the joint motion that moves the tip along `path`, without a change of branch.

    The inverse kinematics is solved at 0, period, …, duration, each time near the solution before, and the
    quintic spline through the angles taken; between the samples the tip is off the path by the order of period⁶
    where the motion is smooth. A path that starts or ends at the edge of the reach is not smooth in joint space.

    Args:
        path: at rest at both ends.
        inverse_kinematics: such as `TwoLinkArm.inverse_kinematics`; it must return the solution near its second
            argument where it has several.
        near: configuration that selects the branch at the start, (joints,), rad; it need not be on the path.
        period: s; evened out so that it divides the duration.
        largest_step: largest change of a joint from one sample to the next, rad, that counts as motion.

    Raises:
        OutOfBoundsError: what the inverse kinematics raises for a point it cannot reach, with the time; NaN; more
            samples than anybody needs.
        ShapeError: angles of another shape than `near`.
        ConfigurationError: a joint jumps, or the path is not at rest at its ends.
    """
    check_samples("joint_trajectory: a path", path.duration, positive("joint_trajectory period", period, "s"))
    steps = int(np.ceil(path.duration / period - 1e-9))
    positive("joint_trajectory largest_step", largest_step, "rad")
    _check_rest(path)
    time = np.linspace(0.0, path.duration, max(steps, 1) + 1)
    q = finite_array("joint_trajectory near", near, (None,))
    angles = np.empty((len(time), len(q)))
    for i, (t, point) in enumerate(zip(time, path.position(time), strict=True)):
        angles[i] = q = _solve(inverse_kinematics, t, point, q)
    _check_steps(path, time, angles, largest_step)
    return JointViaPoints(time, angles)


def _solve(inverse_kinematics: InverseKinematics, t: float, point: Array, near: Array) -> Array:
    try:
        found = inverse_kinematics(point, near)
    except OutOfBoundsError as error:
        raise OutOfBoundsError(f"the path at t = {t:.6g} s: {error}") from error
    return finite_array(f"inverse kinematics at t = {t:.6g} s", found, near.shape)


def _check_rest(path: Path) -> None:
    for t, speed in zip((0.0, path.duration), path.velocity([0.0, path.duration]), strict=True):
        if not np.abs(speed).max() <= _REST:
            raise ConfigurationError(
                f"the path moves at {_brief(speed)} m/s at t = {t:g} s; it must be at rest at both ends, as every "
                "joint trajectory is before and after its time."
            )


def _check_steps(path: Path, time: Array, angles: Array, largest: float) -> None:
    steps = np.abs(np.diff(angles, axis=0))
    if steps.max() > largest:
        i, joint = np.unravel_index(steps.argmax(), steps.shape)
        raise ConfigurationError(
            f"joint {joint} jumps by {steps[i, joint]:.3g} rad between {time[i]:.6g} s and {time[i + 1]:.6g} s, "
            f"near {_brief(path.position(time[i]))} m: the path comes by a singular configuration, or the inverse "
            f"kinematics changes its branch. If it is true motion, use a shorter period than {time[1]:.3g} s or a "
            f"larger largest_step than {largest:g} rad."
        )


def _least_jerk(time: Array, points: Array) -> "BSpline[np.float64]":
    from scipy.interpolate import make_interp_spline  # 0.3 s to import

    rest = [(1, np.zeros(points.shape[1])), (2, np.zeros(points.shape[1]))]
    return make_interp_spline(time, points, k=5, bc_type=(rest, rest))  # type: ignore[arg-type]  # stubs


def _brief(values: Array) -> str:
    """Return up to six numbers in full, more by their ends."""
    shown = [f"{value:.4g}" for value in values]
    return f"({', '.join(shown if len(shown) <= 6 else [*shown[:3], '…', shown[-1]])})"
