"""Desired motion over time: what a controller follows and a learning law is taught.

Every kind is a small frozen dataclass of plain numbers and lists, so that a Hydra config can name it as its
`_target_`. Where a value is per joint, one number serves all joints. Angles rad, time s.

Before 0 and after `duration` every trajectory rests: the position holds and the velocity is zero.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import (
    Array,
    all_finite,
    finite_array,
    name_differences,
    number_array,
    positive,
)
from pliant.errors import (
    FileFormatError,
    MismatchError,
    OutOfBoundsError,
    PliantError,
    ShapeError,
    check_bounds,
    unknown_name,
)
from pliant.files import PathLike, existing_file, read_npz
from pliant.hardware.robot import RobotInfo

Values = float | Sequence[float]
"""One number for all joints, or one per joint."""

_FARTHEST = 4.0 * np.pi
"""No joint is asked to turn further than this where nothing is known of its range, rad."""
_INSTANT = 1e-9
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


def sample(trajectory: Trajectory, period: float) -> Motion:
    """Return `trajectory` at 0, period, 2·period, … up to and including `duration`.

    A duration of m periods gives n = m + 1 samples. When it is not a whole number of periods the last sample
    comes up to a period early.

    Raises:
        OutOfBoundsError: the period is not a positive number, longer than the trajectory, or so short that more
            than `MOST_SAMPLES` would come.
    """
    step = positive("sampling period", period, "s")
    if step > trajectory.duration + _INSTANT:
        raise OutOfBoundsError(
            f"a sampling period of {step:g} s is longer than the trajectory ({trajectory.duration:g} s)."
        )
    if trajectory.duration / step > MOST_SAMPLES:
        raise OutOfBoundsError(
            f"a trajectory of {trajectory.duration:g} s has more than {MOST_SAMPLES:,} samples of {step:g} s."
        )
    count = int((trajectory.duration + _INSTANT) / step) + 1
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
        s = _within(t, self.duration)[0] / self.duration
        start, goal = _array(self.start), _array(self.goal)
        return start + (goal - start) * (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        s = _within(t, self.duration)[0] / self.duration
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
        time = _within(t, self.duration)[0]
        return np.where(time >= self.at - _INSTANT, _array(self.goal), _array(self.start))

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
        phase = _array(self.frequency) * _within(t, self.duration)[0]
        return _array(self.offset) + _array(self.amplitude) * np.sin(phase)

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        time, inside = _within(t, self.duration)
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
        time = _within(t, self.duration)[0][..., 0]
        return self.f0 + (self.f1 - self.f0) * time / self.duration

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        return _array(self.offset) + _array(self.amplitude) * np.sin(self._phase(t))

    def velocity(self, t: ArrayLike) -> Array:
        """Desired speeds, (*t.shape, joints), rad/s."""
        inside = _within(t, self.duration)[1]
        rate = 2.0 * np.pi * self.frequency(t)[..., None]
        return inside * _array(self.amplitude) * rate * np.cos(self._phase(t))

    def _phase(self, t: ArrayLike) -> Array:
        time = _within(t, self.duration)[0]
        return 2.0 * np.pi * (self.f0 * time + (self.f1 - self.f0) * time**2 / (2.0 * self.duration))


@dataclass(frozen=True, eq=False)
class Recorded:
    """A motion given by samples, with straight lines between them (so its velocity jumps at the samples)."""

    time: Array
    """Instants of the samples, (n,), s, increasing; the first one is moved to 0."""
    samples: Array
    """Angles, (n, joints), rad."""
    names: tuple[str, ...] = ()
    """Joint names, if they are known."""
    spread: bool = False
    """Whether the only column is meant for every joint of a robot, whatever its name."""

    def __post_init__(self) -> None:
        time = finite_array("Recorded time", self.time, (None,))
        samples = finite_array("Recorded samples", self.samples, (len(time), None))
        if len(time) < 2:
            raise ShapeError("Recorded: one sample is no motion; at least 2 are needed.")
        late = np.flatnonzero(np.diff(time) <= 0.0)
        if late.size:
            i = int(late[0])
            raise OutOfBoundsError(
                f"Recorded time must increase; sample {i + 1} is at {time[i + 1]:g} s, "
                f"the one before at {time[i]:g} s."
            )
        names = tuple(str(name) for name in self.names)
        if names and len(set(names)) != samples.shape[1]:
            raise ShapeError(f"Recorded: {samples.shape[1]} joints need as many different names; got {names}.")
        if self.spread and samples.shape[1] != 1:
            raise ShapeError(
                f"Recorded: one column can be spread over all joints, not {samples.shape[1]} ({', '.join(names)})."
            )
        object.__setattr__(self, "time", time - time[0])
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "names", names)

    @classmethod
    def load(cls, path: PathLike, joints: Sequence[str] | None = None, *, spread: bool = False) -> Self:
        """Read a motion from a file. Its columns find their joints by name, in whatever order they are.

        Args:
            path: a `.csv` with the column `time` and one per joint, named in the first line; or a `.npz` with
                the arrays `time` (n,) and `position` (n, joints), and `joints` (the names) if they are known.
            joints: names of the joints wanted, in the order wanted; all of the file's by default. For a file
                without names: what its columns are.
            spread: whether the file's only column is meant for every joint of the robot.

        Raises:
            MissingFileError: no such file.
            FileFormatError: neither kind, wrong columns, not numbers, NaN, time that does not increase; several
                columns without names.
            UnknownNameError: a joint that the file does not have.
        """
        file = existing_file(path, "trajectory")
        readers = {".csv": _read_csv, ".npz": _read_arrays}
        if file.suffix not in readers:
            raise FileFormatError(f"trajectory {file} is of no known kind; valid: {', '.join(readers)}.")
        time, samples, names = readers[file.suffix](file)
        try:
            recorded = cls(time, samples, names or tuple(joints or ()), spread)
        except PliantError as error:
            raise FileFormatError(f"trajectory {file}: {error}") from error
        if not recorded.names and recorded.joints > 1:
            raise FileFormatError(
                f"trajectory {file} holds {recorded.joints} columns without names, which could be of any joints; "
                "add their names in order, as the array 'joints' or by joints=[…]."
            )
        return recorded if joints is None else recorded.select(joints)

    def select(self, joints: Sequence[str]) -> Self:
        """Return the motion of the named joints, in that order. Raises `UnknownNameError`."""
        for name in joints:
            if name not in self.names:
                raise unknown_name("joint", name, self.names, "the recorded trajectory")
        order = [self.names.index(name) for name in joints]
        return type(self)(self.time, self.samples[:, order], tuple(joints))

    def for_joints(self, joints: Sequence[str]) -> Self:
        """Return the motion in the order of a robot's joints, which must be the ones recorded.

        With `spread` its only column moves all of them.

        Raises:
            MismatchError: a recorded joint is unknown to the robot, or one of the robot's is missing here.
            ShapeError: nothing is named, and the number is another one.
        """
        if self.spread:
            return replace(
                self, samples=np.repeat(self.samples, len(joints), axis=1), names=tuple(joints), spread=False
            )
        if self.names:
            if found := name_differences("joint", self.names, joints):
                raise MismatchError(
                    f"the recorded motion does not fit the robot, whose joints are {', '.join(joints)}:\n  - "
                    + "\n  - ".join(found)
                )
            return self.select(joints)
        if self.joints != len(joints):
            raise _other_joints(self.joints, joints)
        return self

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.samples.T)

    @property
    def duration(self) -> float:
        """From the first to the last sample, s."""
        return float(self.time[-1])

    def position(self, t: ArrayLike) -> Array:
        """Desired angles, (*t.shape, joints), rad."""
        time = _within(t, self.duration)[0][..., 0]
        return np.stack([np.interp(time, self.time, column) for column in self.samples.T], axis=-1)

    def velocity(self, t: ArrayLike) -> Array:
        """Slope of the line that leaves the sample at or before `t`, (*t.shape, joints), rad/s."""
        time, inside = _within(t, self.duration)
        slopes = np.diff(self.samples, axis=0) / np.diff(self.time)[:, None]
        before = np.searchsorted(self.time, time[..., 0] + _INSTANT, side="right") - 1
        return inside * slopes[np.clip(before, 0, len(slopes) - 1)]


def for_joints(trajectory: Trajectory, joints: Sequence[str], *, one_for_all: bool = False) -> Trajectory:
    """Return a trajectory in the order of a robot's joints.

    A recorded motion is matched by the names in it (`Recorded.for_joints`); others have none and are taken in the
    robot's order.

    Args:
        trajectory: of any kind.
        joints: names of the robot's joints, in order.
        one_for_all: whether a trajectory of one joint, without a name, may move all of them.

    Raises:
        ShapeError: it moves another number of joints.
        MismatchError: a recorded motion names other joints.
    """
    if isinstance(trajectory, Recorded):
        return trajectory.for_joints(joints)
    if trajectory.joints != len(joints) and not (one_for_all and trajectory.joints == 1):
        raise _other_joints(trajectory.joints, joints)
    return trajectory


def desired_motion(
    trajectory: Trajectory,
    info: RobotInfo,
    *,
    one_for_all: bool = False,
    ranges: tuple[Array, Array] | None = None,
) -> Motion:
    """Return the motion that a trajectory asks of a robot: its joints matched, sampled at the robot's period.

    Args:
        trajectory: of any kind.
        info: the robot.
        one_for_all: see `for_joints`.
        ranges: see `check_range`.

    Raises:
        ShapeError, MismatchError: it is not one of these joints; see `for_joints`.
        OutOfBoundsError: it is shorter than a period, or leaves the range of a joint; see `check_range`.
    """
    motion = sample(for_joints(trajectory, info.joints, one_for_all=one_for_all), info.period)
    check_range("the trajectory", motion.position, info, motion.time, ranges)
    return motion


def joint_ranges(info: RobotInfo) -> tuple[Array, Array]:
    """Return the lowest and highest angle of each joint that a robot can be asked for, (joints,), rad.

    That is what its own columns in rad reach. For a joint without one (driven by torques) no range is known, and
    two turns to either side are taken as what no joint goes beyond.
    """
    low, high = np.full(len(info.joints), -_FARTHEST), np.full(len(info.joints), _FARTHEST)
    for i, joint in enumerate(info.joints):
        angles = [c for c in info.command if c.owner == joint and c.unit == "rad"]
        if angles:
            low[i], high[i] = min(c.low for c in angles), max(c.high for c in angles)
    return low, high


def check_range(
    what: str,
    position: ArrayLike,
    info: RobotInfo,
    time: ArrayLike | None = None,
    ranges: tuple[Array, Array] | None = None,
) -> None:
    """Raise `OutOfBoundsError`, saying what, where and the valid range, if angles leave the range of a joint.

    Args:
        what: whose angles they are, such as "the trajectory".
        position: (joints,) or (n, joints), rad, in the robot's order; (n, 1) for all joints alike.
        info: the robot.
        time: of the rows, (n,), s, for the message.
        ranges: lowest and highest angles, (joints,), rad, where more is known of them than `joint_ranges` does.
    """
    low, high = joint_ranges(info)
    if ranges is not None:
        low, high = np.maximum(low, ranges[0]), np.minimum(high, ranges[1])
    rows = np.atleast_2d(np.asarray(position, dtype=np.float64))
    angles = np.broadcast_to(rows, (len(rows), len(low)))
    beyond = np.maximum(low - angles, angles - high)
    row, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[row, joint] <= 1e-9:
        return
    when = "" if time is None else f" at {np.asarray(time)[row]:.4g} s"
    angle = angles[row, joint]
    meant = (
        f"; {angle:g}° would be {np.radians(angle):.4g} rad"
        if low[joint] <= np.radians(angle) <= high[joint]
        else ""
    )
    raise OutOfBoundsError(
        f"{what}: joint {info.joints[joint]!r} of robot {info.name!r} is asked for {angle:.4g} rad{when}, outside "
        f"its range of [{low[joint]:.4g}, {high[joint]:.4g}] rad (angles are in rad{meant})."
    )


def _other_joints(number: int, joints: Sequence[str]) -> ShapeError:
    moved = f"{number} joint{'s' if number > 1 else ''}"
    return ShapeError(f"the trajectory moves {moved}; the robot has {len(joints)}: {', '.join(joints)}.")


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


def _within(t: ArrayLike, duration: float) -> tuple[Array, Array]:
    """Return `t` limited to [0, duration] and 1 where it was inside, else 0; both (*t.shape, 1)."""
    time = all_finite("time", number_array("time", t))[..., None]
    inside = (time >= -_INSTANT) & (time <= duration + _INSTANT)
    return np.clip(time, 0.0, duration), inside.astype(np.float64)


def _read_csv(file: Path) -> tuple[Array, Array, tuple[str, ...]]:
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"trajectory {file} cannot be read as CSV: {error}.") from error
    header = [name.strip() for name in lines[0]] if lines else []
    if "time" not in header or len(header) < 2 or len(set(header)) < len(header):
        raise FileFormatError(
            f"trajectory {file}: the first line must name the column 'time' and one different column per "
            f"joint; it has {', '.join(map(repr, header)) or 'nothing'}."
        )
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            row = [float(value) for value in line]
        except ValueError as error:
            raise FileFormatError(f"trajectory {file}, line {number}: {error}.") from error
        if len(row) != len(header):
            raise FileFormatError(
                f"trajectory {file}, line {number}: {len(row)} values for {len(header)} columns."
            )
        rows.append(row)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(header))
    column = header.index("time")
    names = tuple(name for name in header if name != "time")
    return table[:, column], np.delete(table, column, axis=1), names


def _read_arrays(file: Path) -> tuple[Array, Array, tuple[str, ...]]:
    arrays = read_npz(file, "trajectory", ["time", "position"], must_be_sealed=False)
    names = tuple(str(name) for name in np.atleast_1d(arrays["joints"])) if "joints" in arrays else ()
    return arrays["time"], arrays["position"], names
