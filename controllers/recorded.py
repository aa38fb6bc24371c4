"""A motion given by samples, and the files that it comes in."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array, name_differences
from pliant.controllers.trajectories import INSTANT, within
from pliant.errors import FileFormatError, MismatchError, OutOfBoundsError, PliantError, ShapeError, unknown_name
from pliant.files import PathLike, existing_file, read_npz


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
            raise other_joints(self.joints, joints)
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
        time = within(t, self.duration)[0][..., 0]
        return np.stack([np.interp(time, self.time, column) for column in self.samples.T], axis=-1)

    def velocity(self, t: ArrayLike) -> Array:
        """Slope of the line that leaves the sample at or before `t`, (*t.shape, joints), rad/s."""
        time, inside = within(t, self.duration)
        slopes = np.diff(self.samples, axis=0) / np.diff(self.time)[:, None]
        before = np.searchsorted(self.time, time[..., 0] + INSTANT, side="right") - 1
        return inside * slopes[np.clip(before, 0, len(slopes) - 1)]


def other_joints(number: int, joints: Sequence[str]) -> ShapeError:
    """The error that a trajectory moves another number of joints than a robot has."""
    moved = f"{number} joint{'s' if number > 1 else ''}"
    return ShapeError(
        f"the trajectory moves {moved}; the robot has {len(joints)}: {', '.join(joints)}. Say a number for each, "
        "in this order, as in trajectory.goal=[…]."
    )


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
