"""What all gaits share: the command, a smooth start, stop and change, and the columns of the robot."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, positive
from pliant.controllers.controller import Adjustable, Controller, check_names
from pliant.controllers.gaits.legs import Legs
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.limits import Motion, MotionLimits, bounds, limit_motion
from pliant.hardware.robot import RobotInfo, State

FASTEST: Final = 5.0
"""Most steps a second of a leg, Hz."""


_LONGEST: Final = 0.2
"""A robot that was away for longer than this goes on where it was, s."""


class GaitCommand(NamedTuple):
    """How a robot is to walk."""

    speed: float
    """Ahead, m/s; negative: backwards."""
    turn_rate: float
    """Counter-clockwise seen from above, rad/s."""
    height: float
    """Of the coxae's middle above the ground, m."""
    stride: float
    """Longest way of a foot on the ground, against the trunk, m. Faster commands take more steps a second."""


class Gait(Controller):
    """Makes joint positions of six legs walk. Begins at the measured pose, stands up, then walks.

    Commands (`speed`, `turn_rate`, `height`, `stride`, `walking`) may be changed at any time: they are followed
    through a critically damped filter, strides grow and shrink over `ramp`, and the speed and acceleration of
    every joint's target are limited last of all.

    Subclasses give the middle of a stride (`_begin`) and the angles of the legs (`_advance`).

    Args:
        info: the robot, with position columns of the joints `LEG_coxa`, `LEG_femur`, `LEG_tibia`.
        legs: of the robot.
        command: how to walk.
        frequency: of the steps when the robot walks slowly or on the spot, Hz.
        ramp: time from standing to full strides, s; commands are followed in about the same.
        limits: of the targets, rad/s and rad/s².

    Raises:
        UnknownNameError: the robot lacks one of the joints.
        OutOfBoundsError: a number out of its range, or a command that no leg can follow.
    """

    _clock: float
    """Time of the last update, s."""
    _time: float
    """That it has walked or stood, s."""
    _settling: float
    """For how long it stands up at first, s."""
    _now: Array
    """The command as followed, and the duty factor, (5,)."""
    _rate: Array
    _away: Array
    """Of the measured pose from the first target, (18,), rad; led to 0 while it stands up."""
    _target: Array
    """Of the joints before any limit, (18,), rad."""
    _motion: Motion
    """What was commanded last."""

    def __init__(
        self,
        info: RobotInfo,
        legs: Legs,
        command: GaitCommand,
        *,
        frequency: float,
        ramp: float = 1.0,
        limits: MotionLimits | None = None,
    ) -> None:
        self.legs = legs
        self._columns, self._joints = _columns(info, legs), [*map(info.joints.index, legs.joints)]
        self._names, self._rest = (info.joints, info.command_names), info.rest
        self.frequency, self.ramp = positive("frequency of the gait", frequency, "Hz"), positive("ramp", ramp, "s")
        check_bounds("frequency of the gait", frequency, 0.0, FASTEST, "Hz")
        limits = limits or MotionLimits(speed=8.0, acceleration=200.0, walk_speed=0.6)
        channels = tuple(info.command[i] for i in self._columns)
        self._limits = bounds([limits] * len(channels), channels, info.period, walk=False)
        self._ranges = np.asarray(legs.ranges, dtype=np.float64)
        self._walk_speed = limits.walk_speed or limits.speed / 4
        self._walking = True
        self._feet = legs.forward_kinematics(legs.stand)
        """In the middle of a stride, (6, 3), m; their height is commanded."""
        ahead = np.array([math.cos(legs.forward), math.sin(legs.forward)])
        self._ahead, self._across = ahead, np.stack([-self._feet[:, 1], self._feet[:, 0]], axis=-1)
        self._wanted = np.zeros(len(command) + 1)
        self._wanted[-1] = self._duty
        self._strides, self._heights = (0.005, 1.0), (0.0, 1.0)
        for name, value in command._asdict().items():
            setattr(self, name, value)
        self._strides, self._heights = self._reach()
        for name in ("height", "stride", "speed"):
            setattr(self, name, getattr(self, name))
        self._start(None)
        self._compile(info.period)
        self.initial_command = self._command(self._motion.value)
        self.stopping = self.ramp

    @property
    @abstractmethod
    def phase(self) -> Array:
        """Of each leg, (6,), cycles in [0, 1): it lifts off at 0 and touches down at one minus the duty factor."""

    @property
    def swinging(self) -> NDArray[np.bool_]:
        """Whether each foot is in the air, (6,), once it walks."""
        swinging: NDArray[np.bool_] = self.phase < 1.0 - self._now[4]
        return swinging

    @property
    @abstractmethod
    def _duty(self) -> float:
        """Share of a cycle that a foot is to be on the ground."""

    @abstractmethod
    def _begin(self) -> None:
        """Put the rhythm to its start."""

    @abstractmethod
    def _advance(self, dt: float, command: GaitCommand, duty: float, gain: float) -> Array:
        """Let time pass and return the joint angles, (6, 3), rad, with strides of `gain` in [0, 1]."""

    @abstractmethod
    def _trouble(self, stride: float, height: float) -> str | None:
        """Say which leg cannot make a stride, and why; None: all can."""

    @property
    def speed(self) -> float:
        """Ahead, m/s."""
        return float(self._wanted[0])

    @speed.setter
    def speed(self, value: float) -> None:
        self._wanted[0] = check_bounds("gait: speed", value, -self._fastest(), self._fastest(), "m/s")

    @property
    def turn_rate(self) -> float:
        """Counter-clockwise, rad/s."""
        return float(self._wanted[1])

    @turn_rate.setter
    def turn_rate(self, value: float) -> None:
        most = self._fastest() / float(np.hypot(*self._across.T).max())
        self._wanted[1] = check_bounds("gait: turn_rate", value, -most, most, "rad/s")

    @property
    def height(self) -> float:
        """Above the ground, m; within `heights`."""
        return float(self._wanted[2])

    @height.setter
    def height(self, value: float) -> None:
        self._wanted[2] = check_bounds("gait: height", value, *self._heights, "m")

    @property
    def stride(self) -> float:
        """Longest way of a foot on the ground, m; at most the longest that every leg reaches."""
        return float(self._wanted[3])

    @stride.setter
    def stride(self, value: float) -> None:
        self._wanted[3] = check_bounds("gait: stride", value, *self._strides, "m")

    @property
    def longest_stride(self) -> float:
        """That every leg reaches at the height of the construction, m."""
        return self._strides[1]

    @property
    def heights(self) -> tuple[float, float]:
        """At which the stride of the construction is reached, m."""
        return self._heights

    @property
    def walking(self) -> bool:
        """Whether it is to walk; otherwise it comes to a stand."""
        return self._walking

    @walking.setter
    def walking(self, value: bool) -> None:
        self._walking = bool(value)

    @property
    def full_strides_after(self) -> float:
        """When, after `reset`, it has stood up and its strides are full, s; if it is never told to stand."""
        return self._settling + self.ramp

    @property
    def held_back(self) -> float:
        """How far the limits hold any joint's target back, rad; 0 as long as the gait is slow enough for them."""
        return float(np.abs(self._target - self._motion.value).max())

    @property
    def adjustables(self) -> Mapping[str, Adjustable]:
        """Speed, turn rate, height, stride, and whether it walks."""
        fast = self._fastest()
        turn = fast / float(np.hypot(*self._across.T).max())
        return {
            "speed": Adjustable(-fast, fast, self.speed),
            "turn_rate": Adjustable(-turn, turn, self.turn_rate),
            "height": Adjustable(*self._heights, self.height),
            "stride": Adjustable(*self._strides, self.stride),
            "walking": Adjustable(0.0, 1.0, self.walking),
        }

    def _adjust(self, name: str, value: float | bool) -> None:
        setattr(self, name, value)

    def come_to_stand(self) -> None:
        """Let the strides shrink to none, over `ramp`."""
        self.walking = False

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, naming every difference, if the robot is another one than this was made for."""
        check_names(type(self).__name__, *self._names, info)

    def reset(self, state: State) -> None:
        """Begin at the measured pose, standing; where a joint is not measured, at its command."""
        measured, sent = state.position[self._joints], state.command[self._columns]
        pose = np.where(np.isfinite(measured), measured, sent)
        if not np.isfinite(pose).all():
            name = self.legs.joints[int(np.flatnonzero(~np.isfinite(pose))[0])]
            raise OutOfBoundsError(f"gait: neither angle nor command of {name} is known; it cannot begin there.")
        self._start(pose)

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,), for the time `t`, s; of the state only `reset` uses something."""
        return self._command(self._move(t))

    def _compile(self, period: float) -> None:
        """Go a period and start again: what is compiled for that is there when a machine walks or is held back."""
        self._move(period)
        compiled(limit_motion)(self._motion, self._motion, self._limits, period)
        self._start(None)

    def _move(self, t: float) -> Array:
        """Return the angles for the time `t`, (18,), rad, within the limits."""
        dt = t - self._clock
        if not math.isfinite(dt):
            raise OutOfBoundsError(f"time of the gait is {t}; a finite number is needed.")
        if dt <= 0.0:
            return self._motion.value
        self._clock, dt = t, min(dt, _LONGEST)
        self._time += dt
        compiled(_follow)(self._now, self._rate, self._wanted, 5.0 / self.ramp, dt)
        begin = self._time - self._settling
        aim = 1.0 if self._walking and begin > 0.0 else 0.0
        most = min(dt, max(begin, 0.0)) / self.ramp if aim else dt / self.ramp
        self._grown += min(max(aim - self._grown, -most), most)
        left = 1.0 - smooth_rise(self._time / self._settling) if self._settling else 0.0
        target = self._angles(dt, left)
        last, speed = self._motion, np.empty_like(target)
        if compiled(_keeps)(target, self._target, *last, *self._limits, dt, speed):
            self._motion = Motion(target, speed)
        else:
            moving = Motion(target, (target - self._target) / dt)
            self._motion = compiled(limit_motion)(moving, last, self._limits, dt)
        self._target = target
        return self._motion.value

    def _start(self, pose: Array | None) -> None:
        """Begin at joint angles (18,), rad; None: in the middle of the strides."""
        self._now, self._rate = self._wanted.copy(), np.zeros_like(self._wanted)
        self._clock = self._time = self._grown = 0.0
        self._away = np.zeros(len(self._columns))
        self._begin()
        stand = self._angles(0.0)
        start = stand if pose is None else pose
        self._away = start - stand
        self._settling = 1.875 * float(np.abs(self._away).max()) / self._walk_speed
        self._target, self._motion = start.copy(), Motion(start.copy(), np.zeros_like(start))

    def _angles(self, dt: float, left: float = 0.0) -> Array:
        """Let time pass and return the angles within their ranges plus what is left of the way, (18,), rad."""
        speed, turn_rate, height, stride, duty = self._now.tolist()
        command = GaitCommand(speed, turn_rate, height, stride)
        angles = self._advance(dt, command, duty, smooth_rise(self._grown))
        target = np.empty(angles.size)
        compiled(_within)(angles, self._ranges, left, self._away, target)
        return target

    def _command(self, angles: Array) -> Array:
        command = self._rest.copy()
        command[self._columns] = angles
        return command

    def _velocities(self, command: GaitCommand) -> Array:
        """Of the trunk at each foot in the middle of its stride, (6, 2), m/s."""
        return command.speed * self._ahead + command.turn_rate * self._across

    def _cadence(self, velocities: Array, duty: float, stride: float) -> float:
        """Steps a second at which no foot's way on the ground is longer than the stride, Hz."""
        fastest: float = compiled(_longest)(velocities)
        return min(max(self.frequency, fastest * duty / stride), FASTEST)

    def _fastest(self) -> float:
        """Speed that `FASTEST` allows with the stride, m/s."""
        stride, duty = float(self._wanted[3]), float(self._wanted[4])
        return FASTEST * (stride or 1.0) / duty

    def _reach(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the strides that can be made at the height commanded, and the heights for the stride."""
        stride, height = self.stride, self.height
        longest = _last_good(lambda s: self._trouble(s, height) is None, self._strides[0], 1.0)
        if found := self._trouble(stride, height):
            raise OutOfBoundsError(
                f"gait: no leg can be asked for a stride of {stride:g} m at a height of {height:g} m: {found}. "
                + (f"The longest there is {longest:.4g} m." if longest else "No stride can be made there.")
            )
        low = _last_good(lambda h: self._trouble(stride, h) is None, height, 0.0)
        high = _last_good(lambda h: self._trouble(stride, h) is None, height, 1.0)
        assert longest is not None
        assert low is not None
        assert high is not None
        return (self._strides[0], longest), (low, high)


def _columns(info: RobotInfo, legs: Legs) -> list[int]:
    """Find the position column of each joint."""
    found = []
    for joint in legs.joints:
        if joint not in info.joints:
            raise unknown_name("joint", joint, info.joints, f"robot {info.name!r}, which the gait needs")
        fitting = [
            i for i, column in enumerate(info.command)
            if column.owner == joint and column.quantity in ("position", "equilibrium")
        ]  # fmt: skip
        if not fitting:
            raise ConfigurationError(
                f"gait: joint {joint!r} of robot {info.name!r} is not commanded a position; its columns: "
                f"{', '.join(info.command_names)}."
            )
        found.append(fitting[0])
    return found


def _last_good(good: Callable[[float], bool], begin: float, end: float) -> float | None:
    """Return how far from `begin` to `end` something holds, to 1e-5; None: not even at the beginning."""
    if not good(begin):
        return None
    if good(end):
        return end
    while abs(end - begin) > 1e-5:
        middle = 0.5 * (begin + end)
        begin, end = (middle, end) if good(middle) else (begin, middle)
    return begin


def smooth_rise(s: float) -> float:
    """Rise from 0 to 1 with neither speed nor acceleration at the ends."""
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def _follow(value: Any, rate: Any, wanted: Any, bandwidth: float, dt: float) -> None:
    """Go towards what is wanted, critically damped: the exact solution over dt."""
    decay = math.exp(-bandwidth * dt)
    for k in range(value.size):
        error = value[k] - wanted[k]
        push = (rate[k] + bandwidth * error) * dt
        value[k] = wanted[k] + (error + push) * decay
        rate[k] = (rate[k] - bandwidth * push) * decay


def _longest(vectors: Any) -> float:
    most = 0.0
    for i in range(vectors.shape[0]):
        most = max(most, vectors[i, 0] * vectors[i, 0] + vectors[i, 1] * vectors[i, 1])
    return math.sqrt(most)


def _within(angles: Any, ranges: Any, left: float, away: Any, out: Any) -> None:
    for i in range(angles.shape[0]):
        for j in range(angles.shape[1]):
            k = i * angles.shape[1] + j
            out[k] = min(max(angles[i, j], -ranges[j]), ranges[j]) + left * away[k]


def _keeps(
    target: Any,
    before: Any,
    value: Any,
    speed: Any,
    low: Any,
    high: Any,
    fastest: Any,
    acceleration: Any,
    dt: float,
    out: Any,
) -> bool:
    """Whether a target keeps all limits by far, as it does as a rule: `limit_motion` would not change it.

    Its speed is written into `out`.
    """
    for k in range(target.size):
        now, change = (target[k] - value[k]) / dt, acceleration[k] * dt
        out[k] = now
        ahead = target[k] + now * (abs(now) / (2.0 * acceleration[k]) + dt)
        slow = abs(now) <= fastest[k] and abs(now - speed[k]) <= change
        steady = abs(now - (target[k] - before[k]) / dt) <= change
        if not (slow and steady and low[k] <= ahead <= high[k]):
            return False
    return True
