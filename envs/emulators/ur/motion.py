"""Motion of the target: what the controller wants of its joints, cycle by cycle.

A `Generator` is one kind of motion. `Motion` holds the target and the generator that moves it, and refuses a
second one: on the real controller that ends a program with "another thread is already controlling the robot".
"""

import math
from typing import Protocol

import numpy as np

from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.poses import Array, between, difference

_SERVO_GAIN_TIME = 1.2
"""Delay that the gain of servoJ adds, s: this over the gain; 4 ms at 300."""
_SERVO_ACCELERATION = np.array([12.0, 12.0, 20.0, 40.0, 40.0, 40.0])
"""Largest accelerations of servoJ, rad/s²: what the joints' torques allow a stretched arm."""
_STANDSTILL = 1e-6


class ProgramError(Exception):
    """What a program dies of."""


class Target(Protocol):
    """What a generator moves, and what it may ask."""

    q: Array
    qd: Array
    cycle: float
    speed_limit: Array
    arm: NominalArm


class Generator(Protocol):
    """One kind of motion."""

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """Return angles and speeds after one more cycle at a speed scaling of 0 … 1."""

    def done(self, target: Target) -> bool:
        """Return whether it has ended."""


class Servo:
    """servoJ: follow the newest target, smoothed over the lookahead time.

    A critically damped filter of second order, whose delay on a ramp is 2/ω. It takes a target every `time`
    seconds, stretched by the speed scaling, and does not extrapolate.
    """

    def __init__(self, q: Array, time: float, lookahead: float, gain: float) -> None:
        self._taken = q
        self._left = 0.0
        self.update(q, time, lookahead, gain)

    def update(self, q: Array, time: float, lookahead: float, gain: float) -> None:
        """Give a new target, rad."""
        self._newest = q
        self._time = time
        delay = max(lookahead + _SERVO_GAIN_TIME / max(gain, 1.0), 0.004)
        self._omega = 2.0 / delay

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`."""
        cycle, omega = target.cycle, self._omega
        if self._left < 0.5 * cycle:
            self._taken = self._newest
            self._left += max(self._time, cycle) / max(scaling, 0.01)
        self._left -= cycle
        error, speed = target.q - self._taken, target.qd
        # One cycle of ẍ = −2ω·ẋ − ω²·x, exactly.
        decay, slope = math.exp(-omega * cycle), speed + omega * error
        wanted = decay * (speed - omega * cycle * slope)
        step = _SERVO_ACCELERATION * cycle
        bounded = np.clip(wanted, speed - step, speed + step)
        bounded = np.clip(bounded, -target.speed_limit, target.speed_limit)
        if np.array_equal(bounded, wanted):
            return self._taken + decay * (error + cycle * slope), wanted
        return target.q + cycle * bounded, bounded

    def done(self, target: Target) -> bool:
        """Never: it holds its last target."""
        return False


class JointSpeed:
    """speedJ: approach joint speeds with an acceleration on the leading axis, and keep them."""

    def __init__(self, qd: Array, acceleration: float) -> None:
        self.update(qd, acceleration)

    def update(self, qd: Array, acceleration: float) -> None:
        """Give new speeds, rad/s, and acceleration, rad/s²."""
        self._qd, self._acceleration = qd, abs(acceleration)

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`."""
        wanted = np.clip(self._qd * scaling, -target.speed_limit, target.speed_limit)
        return _approach(target, wanted, self._acceleration)

    def done(self, target: Target) -> bool:
        """Never: it keeps its speed."""
        return False


class ToolSpeed:
    """speedL: approach a twist of the TCP in base axes with an acceleration, m/s², and keep it."""

    def __init__(self, twist: Array, acceleration: float) -> None:
        self._now: Array | None = None
        self.update(twist, acceleration)

    def update(self, twist: Array, acceleration: float) -> None:
        """Give a new twist, m/s and rad/s, and acceleration, m/s² (and rad/s²)."""
        self._twist, self._acceleration = twist, abs(acceleration)

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`."""
        target.arm.move(target.q)
        if self._now is None:
            self._now = target.arm.jacobian() @ target.qd
        change = self._twist * scaling - self._now
        largest = float(np.abs(change).max())
        step = self._acceleration * target.cycle
        self._now = self._now + (change if largest <= step else change * (step / largest))
        wanted = np.clip(target.arm.solve(self._now), -target.speed_limit, target.speed_limit)
        return target.q + target.cycle * wanted, wanted

    def done(self, target: Target) -> bool:
        """Never: it keeps its speed."""
        return False


class Stop:
    """stopJ, stopL and every stop of the controller: all joints come to rest along their path."""

    def __init__(self, deceleration: float) -> None:
        self._deceleration = max(abs(deceleration), 0.01)

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`: a stop is never scaled."""
        return _approach(target, np.zeros(6), self._deceleration)

    def done(self, target: Target) -> bool:
        """See `Generator.done`."""
        return bool(np.abs(target.qd).max() < _STANDSTILL)


def _approach(target: Target, wanted: Array, acceleration: float) -> tuple[Array, Array]:
    """Change the speeds by what an acceleration on the leading axis allows in a cycle."""
    change = wanted - target.qd
    largest = float(np.abs(change).max())
    step = acceleration * target.cycle
    qd = wanted if largest <= step else target.qd + change * (step / largest)
    return target.q + 0.5 * target.cycle * (qd + target.qd), qd


class Trapezoid:
    """Distance along a path over time: even acceleration, even speed, even deceleration.

    Args:
        length: of the path.
        speed, acceleration: along it.
    """

    def __init__(self, length: float, speed: float, acceleration: float) -> None:
        if not (speed > 0.0 and acceleration > 0.0):
            raise ProgramError("a move needs a speed and an acceleration above 0")
        self._length, self._acceleration = length, acceleration
        self._speed = min(speed, math.sqrt(length * acceleration))
        self._ramp = self._speed / acceleration
        self.duration = 0.0 if length <= 0.0 else length / self._speed + self._ramp

    def share(self, time: float) -> float:
        """Return the part of the path that is behind at `time`, 0 … 1."""
        if time >= self.duration:
            return 1.0
        end = self.duration - time
        if time < self._ramp:
            way = 0.5 * self._acceleration * time * time
        elif end < self._ramp:
            way = self._length - 0.5 * self._acceleration * end * end
        else:
            way = self._speed * (time - 0.5 * self._ramp)
        return way / self._length


class JointMove:
    """moveJ: a straight line in joint space, speed and acceleration those of the leading axis."""

    def __init__(self, begin: Array, end: Array, speed: float, acceleration: float, limit: Array) -> None:
        self._begin, self._way = begin.copy(), end - begin
        leading = float(np.abs(self._way).max())
        # No joint goes beyond its own limit, whatever is asked of the leading one.
        within = float((limit * leading / np.maximum(np.abs(self._way), 1e-12)).min())
        self._profile = Trapezoid(leading, speed if leading == 0.0 else min(speed, within), acceleration)
        self._time = 0.0

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`."""
        self._time += scaling * target.cycle
        q = self._begin + self._profile.share(self._time) * self._way
        return q, np.zeros(6) if self._time >= self._profile.duration else (q - target.q) / target.cycle

    def done(self, target: Target) -> bool:
        """See `Generator.done`."""
        return self._time >= self._profile.duration and bool(np.abs(target.qd).max() < _STANDSTILL)


class ToolMove:
    """moveL: a straight line of the TCP that turns evenly, speed m/s and acceleration m/s².

    Where the TCP only turns, both are rad/s and rad/s².
    """

    def __init__(self, begin: Array, end: Array, speed: float, acceleration: float) -> None:
        self._begin, self._end = begin, end
        twist = difference(end, begin)
        length = float(np.linalg.norm(twist[:3]))
        if length < 1e-6:
            length = float(np.linalg.norm(twist[3:]))
        self._profile = Trapezoid(length, speed, acceleration)
        self._time = 0.0

    def step(self, target: Target, scaling: float) -> tuple[Array, Array]:
        """See `Generator.step`."""
        self._time += scaling * target.cycle
        pose = between(self._begin, self._end, self._profile.share(self._time))
        q = target.arm.inverse(pose, target.q, 1e-7, 1e-7)
        if q is None:
            raise ProgramError("a pose of the line cannot be reached")
        return q, np.zeros(6) if self._time >= self._profile.duration else (q - target.q) / target.cycle

    def done(self, target: Target) -> bool:
        """See `Generator.done`."""
        return self._time >= self._profile.duration and bool(np.abs(target.qd).max() < _STANDSTILL)


class Motion:
    """The target of the joints, and who moves it.

    Args:
        arm: nominal kinematics, for motions of the tool.
        q: angles at the start, rad.
        cycle: s.
    """

    def __init__(self, arm: NominalArm, q: Array, cycle: float) -> None:
        self.arm = arm
        self.cycle = cycle
        self.q = np.array(q, dtype=float)
        self.qd = np.zeros(6)
        self.qdd = np.zeros(6)
        self.speed_limit = np.array(arm.parameters.speed)
        self.generator: Generator | None = None
        self.owner = ""
        self.free = False
        """Whether the joints follow torques or a hand instead of the target."""
        self.still = 0.0
        """For how long the target has stood still, s."""

    def begin(self, owner: str, generator: Generator) -> None:
        """Let a generator move the target for `owner`; raises `ProgramError` while somebody else does."""
        if owner != self.owner:
            self.check_free(owner)
        self.owner, self.generator = owner, generator

    def check_free(self, wanted: str) -> None:
        """Raise `ProgramError` while somebody moves the target, unless it only comes to rest."""
        if self.owner not in ("", "stop"):
            raise ProgramError(f"another thread is already controlling the robot: {self.owner}, now {wanted}")

    def release(self) -> None:
        """Let nobody move the target any more; it stands where it is, so it must have come to rest."""
        self.owner, self.generator = "", None

    def stop(self, deceleration: float) -> None:
        """Bring the target to rest, whoever moves it."""
        self.owner, self.generator = "stop", Stop(deceleration)

    def finished(self) -> bool:
        """Return whether the generator has ended."""
        return self.generator is None or self.generator.done(self)

    def follow(self, q: Array, qd: Array) -> None:
        """While the joints are free: let the target be where the arm is."""
        self.q, self.qd, self.qdd = q.copy(), qd.copy(), np.zeros(6)
        self.still = 0.0

    def step(self, scaling: float) -> None:
        """Move the target on by a cycle."""
        if self.generator is None:
            self.qd, self.qdd = np.zeros(6), np.zeros(6)
        else:
            q, qd = self.generator.step(self, scaling)
            self.qdd = (qd - self.qd) / self.cycle
            self.q, self.qd = q, qd
            if self.owner == "stop" and self.finished():
                self.release()
        self.still = self.still + self.cycle if np.abs(self.qd).max() < _STANDSTILL else 0.0
