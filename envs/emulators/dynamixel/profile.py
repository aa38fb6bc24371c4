"""The motion profile of a servo: the way from where the reference is to where the goal is."""

import math
from enum import IntEnum
from typing import NamedTuple


class Shape(IntEnum):
    """Kind of profile, as bits 4 and 5 of the moving status register."""

    STEP = 0x00
    RECTANGULAR = 0x10
    TRIANGULAR = 0x20
    TRAPEZOIDAL = 0x30


class Limits(NamedTuple):
    """Largest speed (rad/s) and acceleration (rad/s²) of a profile; inf is no limit."""

    speed: float
    acceleration: float


class Reference(NamedTuple):
    """Where a profile is: position (rad) and velocity (rad/s)."""

    position: float
    velocity: float = 0.0


def shape(start: Reference, goal: float, limits: Limits) -> Shape:
    """Return the kind of profile from `start` to `goal`."""
    if math.isinf(limits.speed):
        return Shape.STEP
    if math.isinf(limits.acceleration):
        return Shape.RECTANGULAR
    ramps = limits.speed**2 / limits.acceleration
    return Shape.TRAPEZOIDAL if abs(goal - start.position) >= ramps else Shape.TRIANGULAR


def timed(distance: float, duration: float, ramp: float) -> Limits:
    """Return the limits of a profile over `distance` (rad) in `duration`, of which `ramp` to speed up (s).

    A duration of 0 is a step. The ramp is at most half the duration.
    """
    if duration <= 0.0:
        return Limits(math.inf, math.inf)
    ramp = min(ramp, duration / 2)
    speed = abs(distance) / (duration - ramp)
    return Limits(speed, speed / ramp if ramp > 0.0 else math.inf)


def advance(reference: Reference, goal: float, limits: Limits, dt: float) -> Reference:
    """Return the profile's state `dt` later, on its way to `goal`.

    It speeds up by at most `limits.acceleration`, is never faster than `limits.speed` nor than lets it stop
    at the goal, v ≤ √(2·a·distance), and goes on from its velocity when the goal changes under way.
    """
    distance = goal - reference.position
    change = limits.acceleration * dt
    if math.isinf(change):
        velocity = math.copysign(limits.speed, distance)
        there = abs(distance) <= limits.speed * dt
    else:
        wanted = math.copysign(min(limits.speed, _braking(abs(distance), limits.acceleration, dt)), distance)
        velocity = reference.velocity + min(max(wanted - reference.velocity, -change), change)
        there = abs(distance) <= change * dt and abs(reference.velocity) <= 2 * change
    if there or math.isinf(limits.speed):
        return Reference(goal)
    return Reference(reference.position + velocity * dt, velocity)


def _braking(distance: float, acceleration: float, dt: float) -> float:
    """Return the speed from which steps of `dt` come to rest after `distance`: v²/2a + v·dt/2 = distance."""
    half = acceleration * dt / 2
    return math.sqrt(half * half + 2 * acceleration * distance) - half
