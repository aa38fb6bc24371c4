"""Desired motions of tool and joints that can be paused, slowed down and ended smoothly at any time."""

import itertools
import math
from dataclasses import dataclass, field

import mujoco
import numpy as np

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.interaction.frames import own_offset_pose
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds

_LARGEST_TURN = 3.0
"""From one waypoint to the next, rad: at π the shortest way is ambiguous."""
STILL = np.zeros(6)
"""No way at all."""
_INSTANT = 1e-9
"""Two times closer than this, s, are the same: absorbs the rounding of a sum of periods."""


@dataclass(frozen=True, eq=False)
class CartesianPath:
    """Poses at given times, from rest to rest.

    Straight lines with even turning, each at rest at its ends: with least jerk or, with `ramp`, at constant
    speed between two ramps. Or, with `through`, without a stop: cubic in between, with a continuous speed, which
    at a pose is that of the parabola through it and its neighbours.

    Source of the least jerk: Flash & Hogan 1985, The coordination of arm movements, eq. 3.

    Raises:
        ShapeError, OutOfBoundsError: no such numbers, times that do not increase from 0, a turn beyond 3 rad.
        ConfigurationError: ramps of a path that does not stop, or longer than half of a line.
    """

    time: Array
    """(n,), s, n ≥ 2, increasing from 0."""
    poses: Array
    """(n, 7), in the world."""
    through: bool = False
    ramp: float | None = None
    """Time of speeding up, and of slowing down, at the ends of every line, s; None: least jerk."""
    _ways: Array = field(init=False, repr=False)
    """Of each line, (n − 1, 6): m in the world, rotation vector in the axes of its first pose, rad."""
    _slopes: Array = field(init=False, repr=False)
    """At the two ends of each line, (n − 1, 2, 6), per s."""

    def __post_init__(self) -> None:
        time = finite_array("times of a path", self.time, (None,))
        poses = finite_array("poses of a path", self.poses, (len(time), 7)).copy()
        if len(time) < 2 or time[0] != 0.0 or not (np.diff(time) > 0.0).all():
            raise OutOfBoundsError(
                f"times of a path are {time.tolist()} s; two or more, increasing from 0, are needed."
            )
        lengths = np.linalg.norm(poses[:, 3:], axis=1)
        if not (np.abs(lengths - 1.0) < 1e-3).all():
            raise OutOfBoundsError(
                f"pose {int(np.abs(lengths - 1.0).argmax())} of a path has no unit quaternion: "
                f"{poses[np.abs(lengths - 1.0).argmax(), 3:].tolist()}."
            )
        poses[:, 3:] /= lengths[:, None]
        ways = np.array([_way(a, b) for a, b in itertools.pairwise(poses)])
        turns = np.linalg.norm(ways[:, 3:], axis=1)
        if turns.max() > _LARGEST_TURN:
            raise OutOfBoundsError(
                f"a path turns by {turns.max():.3g} rad before {time[1 + int(turns.argmax())]:g} s; at most "
                f"{_LARGEST_TURN:g} rad from one pose to the next say which way round. Put one in between."
            )
        if self.ramp is not None:
            if self.through:
                raise ConfigurationError("a path that goes through its poses has no ramps; leave `ramp` out.")
            check_bounds("ramp of a path", self.ramp, 1e-9, float(np.diff(time).min()) / 2.0, "s")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "poses", poses)
        object.__setattr__(self, "_ways", ways)
        object.__setattr__(self, "_slopes", _slopes(np.diff(time), ways))

    @property
    def duration(self) -> float:
        """Of the whole path, s."""
        return float(self.time[-1])

    def line(self, s: float) -> int:
        """Return which line it is on at a time, s."""
        return min(max(int(self.time.searchsorted(s, side="right")) - 1, 0), len(self._ways) - 1)

    def pose(self, s: float) -> Array:
        """Return the pose at a time, s, (7,); before 0 the first, after the duration the last."""
        return self.reach(s, self.poses[0])[0]

    def reach(self, s: float, before: Array) -> tuple[Array, Array]:
        """Return the pose at a time, s, (7,), and the way to it from a pose before, (6,), in the world's axes."""
        if s >= self.time[-1] - _INSTANT:
            return own_offset_pose(self.poses[-1], STILL, before)
        i = self.line(s)
        length = self.time[i + 1] - self.time[i]
        after = max(s - self.time[i], 0.0)
        way = self._through(i, after, length) if self.through else self._share(after, length) * self._ways[i]
        return own_offset_pose(self.poses[i], way, before)

    def _share(self, t: float, length: float) -> float:
        """How much of a line is done a time after its beginning."""
        if self.ramp is None:
            return smooth(t / length)
        speed = 1.0 / (length - self.ramp)
        if t < self.ramp:
            return speed * self.ramp * _ramped(t / self.ramp)
        if t > length - self.ramp:
            return 1.0 - speed * self.ramp * _ramped((length - t) / self.ramp)
        return speed * (t - self.ramp / 2.0)

    def _through(self, i: int, t: float, length: float) -> Array:
        """Cubic with the slopes at both ends of the line."""
        u = t / length
        first, last = self._slopes[i]
        found: Array = (
            u * u * (3.0 - 2.0 * u) * self._ways[i]
            + length * u * (1.0 - u) ** 2 * first
            - length * u * u * (1.0 - u) * last
        )
        return found


class Clock:
    """Time of a motion, which can be stopped and started again smoothly.

    Args:
        period: s.
        change: how long a stop takes, s.
    """

    def __init__(self, period: float, change: float) -> None:
        self.time = 0.0
        self._period, self._change = period, positive("time of a stop", change, "s")
        self._course = 1.0

    @property
    def rate(self) -> float:
        """Of its time against real time, 0 … 1."""
        return smooth(self._course)

    def step(self, going: bool) -> float:
        """Return how far its time goes in one period, s, on its way to going or to standing."""
        towards = self._period / self._change
        self._course = min(self._course + towards, 1.0) if going else max(self._course - towards, 0.0)
        return self.rate * self._period


class CartesianMotion:
    """A path on its way.

    Args:
        path: of the tool.
        period: s.
        speed: that it may have at most, m/s; where the path is faster, its time slows down.
        turning: likewise, rad/s.
        change: how long a pause, an end before its time, or going on takes, s.
    """

    def __init__(
        self, path: CartesianPath, period: float, speed: float, turning: float, change: float = 0.5
    ) -> None:
        self.path, self.clock = path, Clock(period, change)
        self.pose = path.poses[0].copy()
        """Where it is, (7,)."""
        self.slowed = ""
        """What keeps it from its times: a speed limit, or a pause."""
        self.paused = self.cancelled = False
        self._period = period
        self._most = speed * period, turning * period
        self._limits = f"the speed limit of {speed:g} m/s", f"the speed limit of {turning:g} rad/s"

    @property
    def remaining(self) -> float:
        """Time to its end, s, if nothing slows it down."""
        return _left(self.path.duration, self.clock.time)

    @property
    def place(self) -> tuple[int, float]:
        """On which line it is, and at which part of its time."""
        i, time = self.path.line(self.clock.time), self.path.time
        return i, min((self.clock.time - float(time[i])) / float(time[i + 1] - time[i]), 1.0)

    @property
    def passed(self) -> int:
        """How many poses after the first it has passed."""
        return int(np.searchsorted(self.path.time, self.clock.time, side="right")) - 1

    @property
    def done(self) -> bool:
        """Whether it is at its end, or stands after `cancelled` was set."""
        return self.remaining == 0.0 or (self.cancelled and self.clock.rate == 0.0)

    def advance(self, going: bool = True) -> Array:
        """Let a period pass, and return the way made in it, (6,): m, and a rotation vector in world axes, rad.

        Args:
            going: whether nothing else holds it up; otherwise it comes to a stop as in a pause.
        """
        self.slowed = "paused" if self.paused else ""
        step = self.clock.step(going and not self.paused and not self.cancelled)
        if step == 0.0:
            return STILL
        there, way = self.path.reach(self.clock.time + step, self.pose)
        sizes = math.hypot(*way[:3].tolist()), math.hypot(*way[3:].tolist())
        excess = max(sizes[0] / self._most[0], sizes[1] / self._most[1])
        if excess > 1.0:
            self.slowed = self._limits[sizes[1] / self._most[1] == excess]
            step /= excess
            there, way = self.path.reach(self.clock.time + step, self.pose)
        self.clock.time += step
        self.pose = there
        return way


class JointMotion:
    """From joint positions at some speed to others at rest: of fifth order, so that no acceleration jumps.

    Args:
        begin: positions, (joints,), rad or m.
        speed: at the beginning, (joints,), per s.
        goal: positions, (joints,).
        duration: s.
        period: s.
        change: how long a pause or an end before its time takes, s.
    """

    def __init__(
        self, begin: Array, speed: Array, goal: Array, duration: float, period: float, change: float = 0.5
    ) -> None:
        self.clock = Clock(period, change)
        self.paused = self.cancelled = False
        self.duration = positive("duration of a joint motion", duration, "s")
        self._begin, self._goal = begin.copy(), goal.copy()
        self._way, self._first = goal - begin, speed * duration

    @property
    def remaining(self) -> float:
        """Time to its end, s, if nothing slows it down."""
        return _left(self.duration, self.clock.time)

    @property
    def done(self) -> bool:
        """Whether it is at its end, or stands after `cancelled` was set."""
        return self.remaining == 0.0 or (self.cancelled and self.clock.rate == 0.0)

    def advance(self) -> Array:
        """Let a period pass, and return the positions at its end, (joints,)."""
        self.clock.time += self.clock.step(not self.paused and not self.cancelled)
        u = self.clock.time / self.duration
        if self.remaining == 0.0:
            return self._goal.copy()
        own = u * (1.0 + u * u * (-6.0 + u * (8.0 - 3.0 * u)))
        found: Array = self._begin + smooth(u) * self._way + own * self._first
        return found


def joint_duration(way: Array, speed: Array, acceleration: float) -> float:
    """Return how long joints take from rest to rest with least jerk, s, at most at a speed and an acceleration.

    Args:
        way: of each joint, (joints,), rad or m.
        speed: largest, (joints,), per s.
        acceleration: largest, per s².
    """
    fast = 1.875 * np.abs(way) / speed
    brisk = np.sqrt(10.0 / math.sqrt(3.0) * np.abs(way) / acceleration)
    return max(float(fast.max()), float(brisk.max()), 1e-3)


def smooth(u: float) -> float:
    """Return 10u³ − 15u⁴ + 6u⁵, within 0 … 1."""
    if u <= 0.0:
        return 0.0
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u) if u < 1.0 else 1.0


def _left(duration: float, time: float) -> float:
    return duration - time if duration - time > _INSTANT else 0.0


def _ramped(u: float) -> float:
    """Integral of `smooth` from 0."""
    return u**4 * (2.5 - 3.0 * u + u * u)


def _way(begin: Array, end: Array) -> Array:
    local = np.empty(3)
    mujoco.mju_subQuat(local, end[3:], begin[3:])
    return np.concatenate([end[:3] - begin[:3], local])


def _slopes(lengths: Array, ways: Array) -> Array:
    """Speeds at both ends of each line; of the rotation vector, from angular velocities in the axes of the pose.

    In a body's own axes ω = J·θ̇ with the right Jacobian J of the rotation vector θ, so θ̇ = J⁻¹·ω.
    """
    rates = ways / lengths[:, None]
    at = np.zeros((len(lengths) + 1, 6))
    before, after = lengths[:-1, None], lengths[1:, None]
    at[1:-1] = (after * rates[:-1] + before * rates[1:]) / (before + after)
    found = np.stack([at[:-1], at[1:]], axis=1)
    for i, way in enumerate(ways):
        angle = float(np.linalg.norm(way[3:]))
        x, y, z = way[3:]
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        if angle > 1e-6:
            second = 1.0 / angle**2 - (1.0 + math.cos(angle)) / (2.0 * angle * math.sin(angle))
        else:
            second = 1.0 / 12.0
        found[i, 1, 3:] = (np.eye(3) + cross / 2.0 + second * cross @ cross) @ found[i, 1, 3:]
    return found
