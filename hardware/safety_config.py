"""What a safety layer keeps: limits of the commands' motion, and of what is measured at the joints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Real
from types import MappingProxyType
from typing import Any, Final

from pliant.errors import ConfigurationError, PliantError, check_bounds, check_count, unknown_name
from pliant.hardware.limits import MotionLimits
from pliant.hardware.resting import Poses
from pliant.hardware.robot import Channel, RobotInfo

DEFAULT_MOTION: Mapping[str, MotionLimits] = MappingProxyType(
    {
        "rad": MotionLimits(speed=1.5, acceleration=15.0, step=0.1, walk_speed=0.3),
        "m": MotionLimits(speed=0.25, acceleration=2.5, step=0.02, walk_speed=0.05),
        "rad/s": MotionLimits(speed=5.0, acceleration=200.0, walk_speed=1.0),
        "1": MotionLimits(speed=5.0, acceleration=500.0, walk_speed=0.5),
    }
)
"""Motion limits by the unit of a column, for columns that have none of their own."""
EFFORTS: Final = ("N·m", "N")
"""Units of torques and forces. Of their own accord such columns go from 0 to their largest value in …"""
_EFFORT_RISE: Final = 0.05
"""… this time, s, however quickly that changes."""
_AT_ONCE: Final = 1e12
"""Acceleration that limits nothing, u/s²."""
GIVE: Final = 0.02
"""How far beyond its range a joint may be, over the width of the range: stops give way."""
SWING: Final = 4.0
"""Speed of a joint over the largest that is commanded beyond which it is taken to be unstable. Behind a spring a
link swings up to twice the steady speed of its motor, and up to four times if the motor turns back just then."""


@dataclass(frozen=True)
class JointLimits:
    """What may be measured at a joint; beyond it the robot is stopped.

    A limit of what the robot does not measure is refused by `SafeRobot`: it would keep nothing.
    """

    low: float = -math.inf
    """Smallest angle, rad; of a slide joint everything is in m and N."""
    high: float = math.inf
    """Largest angle, rad."""
    speed: float | None = None
    """rad/s. None: that of `watched`, which is infinite but for joints that are commanded torques."""
    torque: float = math.inf
    """N·m."""

    def __post_init__(self) -> None:
        if not (-math.inf <= self.low < self.high <= math.inf):
            raise ConfigurationError(f"joint limits: [{self.low:g}, {self.high:g}] rad is no range.")
        for name, value, unit in (("speed", self.speed, "rad/s"), ("torque", self.torque, "N·m")):
            if value is not None and not value > 0:
                raise ConfigurationError(f"joint limits: {name} {value:g} {unit} is not above 0.")

    @property
    def limited(self) -> tuple[str, ...]:
        """Which of position, velocity and torque are limited."""
        given = {
            "position": math.isfinite(self.low) or math.isfinite(self.high),
            "velocity": self.speed is not None and math.isfinite(self.speed),
            "torque": math.isfinite(self.torque),
        }
        return tuple(name for name, finite in given.items() if finite)


@dataclass(frozen=True)
class SafetyConfig:
    """How a `SafeRobot` limits and watches."""

    motion: Mapping[str, MotionLimits] = field(default_factory=lambda: DEFAULT_MOTION)
    """Limits of the command by column (`joint/quantity`) or, for columns not named, by unit: one that occurs, or
    one of `DEFAULT_MOTION`, which has what is not given here. Torques and forces that are not given rise from 0 to
    their largest in 50 ms. As `MotionLimits`, or as numbers by name: {speed: 1.0, acceleration: 10.0}."""
    joints: Mapping[str, JointLimits] = field(default_factory=dict)
    """Limits of what is measured, by joint, as `JointLimits` or as numbers by name: {speed: 1.0}. A joint that is
    commanded a torque or a force alone has some of its own accord: `watched`."""
    excess: int = 3
    """Measurements in a row beyond a joint's limits at which the robot is stopped."""
    patience: int = 3
    """Reads in a row that may fail or bring nothing new; the last state stands in for them."""
    overruns: int = 5
    """Late periods in a row that are let pass."""
    hold_time: float = 1.0
    """Time for which the joints are held before the torque goes off, s."""
    return_to_rest: bool = True
    """Whether `close` walks back to rest first."""
    rest: Poses | None = None
    """Of a robot that falls without torque, its way from where it rests to where it stands: it gets up by it and
    goes down by it at every end. None: it goes straight to its resting command and back."""

    def __post_init__(self) -> None:
        check_count("excess", self.excess, 1, 1000)
        for name in ("patience", "overruns"):
            check_count(name, getattr(self, name), 0, 1000)
        check_bounds("hold_time", self.hold_time, 0.0, 60.0, "s")
        if not isinstance(self.rest, Sequence | None) or isinstance(self.rest, str):
            raise ConfigurationError(
                f"the way to rest is {self.rest!r}; a list of poses is needed: [{{hip: 0.3}}]."
            )
        for entry, kind in (("motion", MotionLimits), ("joints", JointLimits)):
            given = getattr(self, entry)
            if not isinstance(given, Mapping):
                raise ConfigurationError(f"the safety limits ({entry}) are {given!r}; limits by name are needed.")
            object.__setattr__(self, entry, {name: _limits(kind, limit, name) for name, limit in given.items()})


def _limits(kind: type[MotionLimits] | type[JointLimits], given: Any, name: str) -> MotionLimits | JointLimits:
    """Return limits, which may be given as numbers by name: {speed: 1.0}."""
    if isinstance(given, kind):
        return given
    where, choices = f"the safety limits of {name!r}", [limit.name for limit in fields(kind)]
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{where} are {given!r}; numbers by name are needed, of {', '.join(choices)}.")
    for limit, value in given.items():
        if limit not in choices:
            raise unknown_name("limit", limit, choices, where)
        optional = limit in ("speed", "walk_speed") and kind.__dataclass_fields__[limit].default is None
        if isinstance(value, bool) or not (isinstance(value, Real) or (value is None and optional)):
            raise ConfigurationError(f"{where}: {limit} is {value!r}; a number is needed.")
    lacking = [limit.name for limit in fields(kind) if limit.default is MISSING and limit.name not in given]
    if lacking:
        raise ConfigurationError(f"{where} lack {' and '.join(lacking)}.")
    try:
        return kind(**given)
    except PliantError as error:
        raise type(error)(f"{where}: {error}") from None


def effort_joints(info: RobotInfo) -> frozenset[str]:
    """Return the joints that are commanded a torque or a force alone."""
    return _efforts(info) & frozenset(info.joints)


def walks(info: RobotInfo) -> bool:
    """Whether no joint is commanded a torque or a force alone, and something is commanded a place."""
    efforts = _efforts(info)
    others = {channel.owner for channel in info.command} - efforts
    return not (efforts & frozenset(info.joints)) and (not efforts or bool(others))


def _efforts(info: RobotInfo) -> frozenset[str]:
    """What is commanded a torque or a force alone."""
    efforts = {channel.owner for channel in info.command if channel.unit in EFFORTS}
    return frozenset(efforts - {channel.owner for channel in info.command if channel.unit not in EFFORTS})


def motion_limits(info: RobotInfo, motion: Mapping[str, MotionLimits]) -> list[MotionLimits]:
    """Return the limits of every column; raise `UnknownNameError` for a name that is none's."""
    choices = list(dict.fromkeys([*info.command_names, *(channel.unit for channel in info.command)]))
    for name in motion:
        if name not in choices and name not in (*DEFAULT_MOTION, *EFFORTS):
            raise unknown_name("command column or unit", name, choices, "the motion limits")
    return [_column_limits(channel, motion) for channel in info.command]


def joint_speed(joint: str, info: RobotInfo, motion: Mapping[str, MotionLimits]) -> float:
    """Return how fast what commands a joint may make it move, rad/s or m/s; infinite where nothing does.

    The speed limit of its own column; commanded a speed, the largest of those; commanded anything else, such as a
    torque, the speed limit of its unit.
    """
    unit = info.signals[info.signal(f"{joint}/position")].unit
    columns = {channel.unit: channel for channel in info.command if channel.owner == joint}
    if f"{unit}/s" in columns:
        return max(-columns[f"{unit}/s"].low, columns[f"{unit}/s"].high)
    if unit in columns:
        return _column_limits(columns[unit], motion).speed
    if not columns:
        return math.inf
    limits = motion.get(unit) or DEFAULT_MOTION.get(unit)
    if limits is None:
        raise ConfigurationError(
            f"joint {joint!r} is commanded in {', '.join(columns)}, and nothing says how fast it may be; give "
            f"motion limits of {unit}."
        )
    return limits.speed


def watched(joint: str, info: RobotInfo, config: SafetyConfig) -> JointLimits:
    """Return what may be measured at a joint.

    As given; and of one that is commanded a torque alone, which nothing else stops when its control fails, its
    range, a little wider (`GIVE`), and `SWING` times the speed of `joint_speed`.
    """
    given = config.joints.get(joint, JointLimits())
    if joint not in effort_joints(info):
        return replace(given, speed=math.inf) if given.speed is None else given
    low, high = joint_range(joint, info)
    return replace(
        given,
        low=low if given.low == -math.inf else given.low,
        high=high if given.high == math.inf else given.high,
        speed=SWING * joint_speed(joint, info, config.motion) if given.speed is None else given.speed,
    )


def joint_range(joint: str, info: RobotInfo) -> tuple[float, float]:
    """Return how far a joint may go, rad or m: its range, a little wider, as stops give way."""
    read = info.signals[info.signal(f"{joint}/position")]
    give = GIVE * (read.high - read.low) if math.isfinite(read.high - read.low) else 0.0
    return read.low - give, read.high + give


def _column_limits(channel: Channel, motion: Mapping[str, MotionLimits]) -> MotionLimits:
    name, unit = channel.name, channel.unit
    limits = motion.get(name) or motion.get(unit) or DEFAULT_MOTION.get(unit)
    if limits is None and unit in EFFORTS:
        largest = max(-channel.low, channel.high)
        return MotionLimits(min(largest / _EFFORT_RISE, 1e9), _AT_ONCE)
    if limits is None:
        raise ConfigurationError(
            f"no motion limits for the command column {name!r} in {unit}; give them by its name or its unit."
        )
    return limits
