"""Desired motion over time: what a controller follows and a learning law is taught.

Every kind is a small frozen dataclass of plain numbers and lists, so that a Hydra config can name it as its
`_target_`. Where a value is per joint, one number serves all joints. Angles rad, time s.

Before 0 and after `duration` every trajectory rests: the position holds and the velocity is zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, all_finite, number_array, positive
from pliant.errors import OutOfBoundsError, ShapeError, check_bounds

Values = float | Sequence[float]
"""One number for all joints, or one per joint."""

INSTANT = 1e-9
"""Two times closer than this (s) are the same: absorbs the rounding of n·period."""


class Trajectory(Protocol):
    """A desired motion: position and velocity of every joint as functions of time."""

    @property
    def joints(self) -> int:
        """Number of joints."""

    @property
    def duration(self) -> float:
        """Time from start to rest, s."""

    def position(self, t: ArrayLike) -> Array:
        """Desired angles at the times `t` (any shape), (*t.shape, joints), rad."""

    def velocity(self, t: ArrayLike) -> Array:
        """Time derivative of `position`, (*t.shape, joints), rad/s."""


class Motion(NamedTuple):
    """A trajectory sampled at a fixed period."""

    time: Array
    """(n,), s, from 0."""
    position: Array
    """(n, joints), rad."""
    velocity: Array
    """(n, joints), rad/s."""

    @property
    def period(self) -> float:
        """Time between two samples, s."""
        return float(self.time[1] - self.time[0])


MOST_SAMPLES = 10_000_000
"""Of a motion: more than a day at 100 Hz."""


def check_samples(what: str, duration: float, step: float) -> None:
    """Raise `OutOfBoundsError` where a motion would have more than `MOST_SAMPLES`; both in s."""
    if duration / step > MOST_SAMPLES:
        raise OutOfBoundsError(f"{what} of {duration:g} s has more than {MOST_SAMPLES:,} samples of {step:g} s.")


def sample(trajectory: Trajectory, period: float) -> Motion:
    """Return `trajectory` at 0, period, 2·period, … up to and including `duration`.

    A duration of m periods gives n = m + 1 samples. When it is not a whole number of periods the last sample
    comes up to a period early.

    Raises:
        OutOfBoundsError: the period is not a positive number, longer than the trajectory, or so short that more
            than `MOST_SAMPLES` would come.
    """
    step = positive("sampling period", period, "s")
    if step > trajectory.duration + INSTANT:
        raise OutOfBoundsError(
            f"a sampling period of {step:g} s is longer than the trajectory ({trajectory.duration:g} s)."
        )
    check_samples("a trajectory", trajectory.duration, step)
    count = int((trajectory.duration + INSTANT) / step) + 1
    time = step * np.arange(count, dtype=np.float64)
    return Motion(time, trajectory.position(time), trajectory.velocity(time))


@dataclass(frozen=True)
class MinimumJerk:
    """Straight from `start` to `goal` with the least mean squared jerk, at rest at both ends.

    q(t) = start + (goal − start)·(10s³ − 15s⁴ + 6s⁵), s = t/duration. The speed peaks halfway at
    1.875·(goal − start)/duration.

    Source: Flash & Hogan 1985, The coordination of arm movements, eq. 3.
    """

    start: Values
    """Angle at 0, per joint, rad."""
    goal: Values
    """Angle at `duration`, per joint, rad."""
    duration: float
    """s."""

    def __post_init__(self) -> None:
        _settle(self, self.duration, "start", "goal")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return np.size(self.start)

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        s = within(t, self.duration)[0] / self.duration
        start, goal = _array(self.start), _array(self.goal)
        return start + (goal - start) * (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        s = within(t, self.duration)[0] / self.duration
        start, goal = _array(self.start), _array(self.goal)
        return (goal - start) / self.duration * (30.0 * s**2 * (1.0 - s) ** 2)


@dataclass(frozen=True)
class Step:
    """At `start` before the time `at`, at `goal` from then on.

    The velocity is zero throughout: the impulse at the step is left out.
    """

    start: Values
    """Angle before the step, per joint, rad."""
    goal: Values
    """Angle after the step, per joint, rad."""
    at: float
    """When it steps, s, in [0, duration]."""
    duration: float
    """s."""

    def __post_init__(self) -> None:
        _settle(self, self.duration, "start", "goal")
        check_bounds("Step at", self.at, 0.0, self.duration, "s")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return np.size(self.start)

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        time = within(t, self.duration)[0]
        return np.where(time >= self.at - INSTANT, _array(self.goal), _array(self.start))

    def velocity(self, t: ArrayLike) -> Array:
        """Zero, (*t.shape, joints), rad/s."""
        return np.zeros((*np.shape(t), self.joints))


@dataclass(frozen=True)
class Sine:
    """q(t) = offset + amplitude·sin(frequency·t). Starts at `offset`, at full speed."""

    amplitude: Values
    """Per joint, rad."""
    frequency: Values
    """Angular frequency, per joint, rad/s."""
    offset: Values
    """Mean angle, per joint, rad."""
    duration: float
    """s."""

    def __post_init__(self) -> None:
        _settle(self, self.duration, "amplitude", "frequency", "offset")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return np.size(self.amplitude)

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        phase = _array(self.frequency) * within(t, self.duration)[0]
        return _array(self.offset) + _array(self.amplitude) * np.sin(phase)

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        time, inside = within(t, self.duration)
        rate = _array(self.frequency)
        return inside * _array(self.amplitude) * rate * np.cos(rate * time)


@dataclass(frozen=True)
class Chirp:
    """A sine whose frequency goes linearly from `f0` to `f1`, to measure a frequency response.

    q(t) = offset + amplitude·sin φ(t), φ(t) = 2π·(f0·t + (f1 − f0)·t²/(2·duration)), so that the frequency at
    t is φ̇/2π = f0 + (f1 − f0)·t/duration.
    """

    amplitude: Values
    """Per joint, rad."""
    f0: float
    """Frequency at 0, Hz."""
    f1: float
    """Frequency at `duration`, Hz."""
    duration: float
    """s."""
    offset: Values = 0.0
    """Mean angle, per joint, rad."""

    def __post_init__(self) -> None:
        _settle(self, self.duration, "amplitude", "offset")
        check_bounds("Chirp f0", self.f0, 0.0, np.inf, "Hz")
        check_bounds("Chirp f1", self.f1, 0.0, np.inf, "Hz")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return np.size(self.amplitude)

    def frequency(self, t: ArrayLike) -> Array:
        """Instantaneous frequency, (*t.shape), Hz."""
        time = within(t, self.duration)[0][..., 0]
        return self.f0 + (self.f1 - self.f0) * time / self.duration

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        return _array(self.offset) + _array(self.amplitude) * np.sin(self._phase(t))

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        inside = within(t, self.duration)[1]
        rate = 2.0 * np.pi * self.frequency(t)[..., None]
        return inside * _array(self.amplitude) * rate * np.cos(self._phase(t))

    def _phase(self, t: ArrayLike) -> Array:
        time = within(t, self.duration)[0]
        return 2.0 * np.pi * (self.f0 * time + (self.f1 - self.f0) * time**2 / (2.0 * self.duration))


def _settle(trajectory: object, duration: float, *names: str) -> None:
    """Check a trajectory's duration and per-joint values; store the latter as tuples, one number a joint."""
    kind = type(trajectory).__name__
    arrays = {}
    for name in names:
        array = number_array(f"{kind} {name}", getattr(trajectory, name))
        if array.ndim > 1 or array.size == 0:
            raise ShapeError(f"{kind} {name} has shape {array.shape}; one number or one per joint is needed.")
        arrays[name] = all_finite(f"{kind} {name}", array)
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ShapeError(f"{kind}: every value needs the same number of joints; {found}.")
    joints = next(iter(lengths.values()), 1)
    for name, array in arrays.items():
        object.__setattr__(trajectory, name, tuple(np.broadcast_to(array, joints).tolist()))
    object.__setattr__(trajectory, "duration", positive(f"{kind} duration", duration, "s"))


def _array(values: Values) -> Array:
    return np.asarray(values, dtype=np.float64)


def within(t: ArrayLike, duration: float) -> tuple[Array, Array]:
    """Return `t` limited to [0, duration] and 1 where it was inside, else 0; both (*t.shape, 1)."""
    time = all_finite("time", number_array("time", t))[..., None]
    inside = (time >= -INSTANT) & (time <= duration + INSTANT)
    return np.clip(time, 0.0, duration), inside.astype(np.float64)
