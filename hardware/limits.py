"""Limits of a command's motion: what may be sent next, given what was sent last."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array, Channel


@dataclass(frozen=True)
class MotionLimits:
    """Limits of one column of a command, in the column's own unit u."""

    speed: float
    """Largest rate of change, u/s."""
    acceleration: float
    """Largest change of that rate, u/s²."""
    step: float = math.inf
    """Largest change from one period to the next, u: holds whatever the period."""
    walk_speed: float | None = None
    """Rate of a walk to the start or back to rest, u/s; a quarter of `speed` by default."""
    low: float = -math.inf
    """Smallest value, within the robot's own bounds."""
    high: float = math.inf
    """Largest value."""

    def __post_init__(self) -> None:
        check_bounds("speed limit", self.speed, 1e-9, 1e9)
        check_bounds("acceleration limit", self.acceleration, 1e-9, 1e12)
        if self.walk_speed is not None:
            check_bounds("walk speed", self.walk_speed, 1e-9, self.speed)
        if not (self.step > 0 and self.low < self.high):
            raise ConfigurationError(f"motion limits: step {self.step:g}, range [{self.low:g}, {self.high:g}].")


class Bounds(NamedTuple):
    """Limits of all columns, each (columns,)."""

    low: Array
    high: Array
    speed: Array
    """Smaller than that of `MotionLimits` where the step per period is the narrower limit."""
    acceleration: Array


class Motion(NamedTuple):
    """A command and how fast it changes, each (columns,)."""

    value: Array
    speed: Array


def bounds(limits: list[MotionLimits], channels: tuple[Channel, ...], period: float, walk: bool) -> Bounds:
    """Return the limits of a robot's columns, in motion or on a `walk`.

    Raises `ConfigurationError` if a range lies outside the column's own.
    """
    for limit, channel in zip(limits, channels, strict=True):
        if limit.low > channel.high or limit.high < channel.low:
            raise ConfigurationError(
                f"limits of {channel.name!r}: [{limit.low:g}, {limit.high:g}] lies outside the robot's own "
                f"[{channel.low:g}, {channel.high:g}]."
            )
    speeds = [_walk_speed(limit) if walk else limit.speed for limit in limits]
    return Bounds(
        np.array([max(limit.low, channel.low) for limit, channel in zip(limits, channels, strict=True)]),
        np.array([min(limit.high, channel.high) for limit, channel in zip(limits, channels, strict=True)]),
        np.array([min(speed, limit.step / period) for speed, limit in zip(speeds, limits, strict=True)]),
        np.array([limit.acceleration for limit in limits]),
    )


def _walk_speed(limit: MotionLimits) -> float:
    return limit.speed / 4 if limit.walk_speed is None else limit.walk_speed


def braking_speed(distance: Array, acceleration: Array, period: float) -> Array:
    """Return the largest speed from which one still stops within `distance`, in whole periods.

    Slowing down by a·T a period, v, v − a·T, v − 2a·T, … cover T·(n·v − a·T·n(n−1)/2) in n periods; n is the
    smallest number of them that covers the distance.

    Args:
        distance: To where one must stand still, ≥ 0, (columns,).
        acceleration: a, (columns,).
        period: T, s.
    """
    change = acceleration * period
    whole = np.sqrt(1 + 8 * distance / (change * period))
    periods = np.maximum(np.ceil((whole - 1) / 2 - 1e-9), 1)
    braking: Array = distance / (periods * period) + change * (periods - 1) / 2
    return braking


def limit_motion(target: Motion, last: Motion, limits: Bounds, period: float) -> Motion:
    """Return the motion that follows `last` towards `target` within the limits.

    A target that itself keeps the limits is followed exactly. Otherwise the motion catches up as fast as it
    may and meets the target without swinging past it, as long as the target goes on with its speed; before
    the end of the range it slows down in time. From outside the range it may only come back.

    Args:
        target: Where to be, and the speed with which the target moves there.
        last: What was sent last.
        limits: Of every column.
        period: T, s.
    """
    fastest, acceleration = limits.speed, limits.acceleration
    low, high = np.minimum(limits.low, last.value), np.maximum(limits.high, last.value)
    change = acceleration * period
    # A motion that is faster than allowed, as when a walk begins in motion, slows down no faster than it may.
    forwards, backwards = np.maximum(fastest, last.speed - change), np.minimum(-fastest, last.speed + change)
    aim = np.clip(target.value, limits.low, limits.high)
    flow = np.where(aim == target.value, np.clip(target.speed, -fastest, fastest), 0.0)
    speed = (aim - last.value) / period
    fits = (np.abs(speed - last.speed) <= change) & (np.abs(speed - flow) <= change)
    gap = aim - flow * period - last.value
    chase = flow + np.sign(gap) * braking_speed(np.abs(gap), acceleration, period)
    speed = np.where(fits, speed, np.clip(chase, last.speed - change, last.speed + change))
    speed = np.clip(speed, backwards, forwards)
    speed = np.minimum(speed, braking_speed(np.maximum(high - last.value, 0), acceleration, period))
    speed = np.maximum(speed, -braking_speed(np.maximum(last.value - low, 0), acceleration, period))
    value = np.clip(last.value + speed * period, low, high)
    # Without this, rounding would leave a walk a hair's breadth from its end.
    arrived = np.abs(value - aim) < 1e-12
    return Motion(np.where(arrived, aim, value), speed)
