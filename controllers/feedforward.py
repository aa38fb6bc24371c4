"""Feed-forward: a learned time profile of commands with everything needed to replay it safely."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import (
    Array,
    all_finite,
    finite_array,
    name_differences,
    number_array,
    order_differences,
    positive,
)
from pliant.controllers.controller import Controller, check_names
from pliant.controllers.robot_parameters import ALL_THE_SAME, parameter_differences
from pliant.errors import FileFormatError, MismatchError, PliantError, ShapeError
from pliant.files import PathLike, plain, read_npz, write_npz
from pliant.hardware.robot import RobotInfo, State

FEEDFORWARD = "feedforward.npz"
"""The file of a run that learned one."""
_FORMAT = 1
_LABELS = ("columns", "units", "joints", "robot", "period", "parameters", "versions")


@dataclass(frozen=True, eq=False)
class FeedForward:
    """Commands for one run of a robot, one row a period, and what they were learned for.

    A row is in force from its time until the next one's (zero-order hold). Arrays are read-only.

    Raises:
        ShapeError: arrays or names whose sizes do not go together.
        OutOfBoundsError: NaN or infinite entries, a period that is not positive.
    """

    time: Array
    """(n,), s: 0, period, 2·period, …"""
    command: Array
    """(n, columns), in `units`."""
    columns: tuple[str, ...]
    """Names of the command's columns."""
    units: tuple[str, ...]
    """Unit of each column."""
    joints: tuple[str, ...]
    """Names of the joints, in the order of `desired` and `expected`."""
    robot: str
    """Name of the robot it was learned on; another robot of the same layout may replay it."""
    period: float
    """Time from one row to the next, s."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What the robot was (`RobotInfo.parameters`), as plain data."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the software it was learned with."""
    desired: Array | None = None
    """The motion that was to be learned, (n, joints), rad."""
    expected: Array | None = None
    """The motion that simulation predicts for these commands, (n, joints), rad."""

    def __post_init__(self) -> None:
        columns, units, joints = (tuple(map(str, names)) for names in (self.columns, self.units, self.joints))
        if len(units) != len(columns):
            raise ShapeError(f"feed-forward: {len(columns)} columns but {len(units)} units.")
        period = positive("feed-forward period", self.period, "s")
        command = finite_array("feed-forward command", self.command, (None, len(columns)))
        time = finite_array("feed-forward time", self.time, (len(command),))
        if not np.allclose(time, np.arange(len(time)) * period, rtol=0.0, atol=1e-3 * period):
            raise ShapeError(f"feed-forward time must be 0, {period:g} s, {2 * period:g} s, … (its period).")
        plainly = {"parameters": plain(self.parameters), "versions": plain(self.versions)}
        arrays = {"time": time, "command": command}
        for name in ("desired", "expected"):
            if (motion := getattr(self, name)) is not None:
                arrays[name] = finite_array(f"feed-forward {name}", motion, (len(time), len(joints)))
        names = {"columns": columns, "units": units, "joints": joints, "period": period}
        for name, value in {**names, **arrays, **plainly}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_robot(
        cls,
        info: RobotInfo,
        command: ArrayLike,
        *,
        desired: ArrayLike | None = None,
        expected: ArrayLike | None = None,
    ) -> Self:
        """Return the feed-forward of commands learned on a robot, labelled with what `info` says of it.

        Args:
            info: the robot.
            command: (n, columns), in the order and units of `info.command`.
            desired: the motion that was to be learned, (n, joints), rad.
            expected: the motion these commands gave in simulation, (n, joints), rad.
        """
        rows = finite_array("feed-forward command", command, (None, len(info.command)))
        return cls(
            time=info.period * np.arange(len(rows), dtype=np.float64),
            command=rows,
            columns=info.command_names,
            units=tuple(channel.unit for channel in info.command),
            joints=info.joints,
            robot=info.name,
            period=info.period,
            parameters=info.parameters,
            versions=software_versions(),
            desired=None if desired is None else number_array("desired", desired),
            expected=None if expected is None else number_array("expected", expected),
        )

    def save(self, path: PathLike) -> None:
        """Write it atomically as a compressed `.npz`; raises `OutputError`.

        The arrays in it: `time`, `command`, `metadata` (JSON text) and, if known, `desired` and `expected`.
        """
        metadata = {"format": _FORMAT, **{name: plain(getattr(self, name)) for name in _LABELS}}
        arrays = {"time": self.time, "command": self.command, "metadata": np.array(json.dumps(metadata))}
        motions = {"desired": self.desired, "expected": self.expected}
        write_npz(path, arrays | {name: motion for name, motion in motions.items() if motion is not None})

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote.

        Args:
            path: a file, or the folder of a run that holds `feedforward.npz`.

        Raises:
            MissingFileError: no such file.
            FileFormatError: not a feed-forward, damaged, incomplete, of a later format, or with NaN in it.
        """
        path = Path(path) / FEEDFORWARD if Path(path).is_dir() else path
        arrays = read_npz(path, "feed-forward", ["time", "command", "metadata"])
        try:
            metadata = json.loads(str(arrays["metadata"]))
            version = metadata["format"]
            fields: dict[str, Any] = {name: metadata[name] for name in _LABELS}
        except (ValueError, TypeError, KeyError) as error:
            raise FileFormatError(f"feed-forward {path}: its metadata lacks or garbles {error}.") from error
        if version != _FORMAT:
            raise FileFormatError(
                f"feed-forward {path} is of format {version}; this Pliant reads format {_FORMAT}."
            )
        fields |= {name: arrays.get(name) for name in ("time", "command", "desired", "expected")}
        try:
            return cls(**fields)
        except (PliantError, TypeError) as error:
            raise FileFormatError(f"feed-forward {path}: {error}") from error

    def check(self, info: RobotInfo, *, parameters: bool = True) -> None:
        """Raise `MismatchError`, listing every difference, if a robot must not replay this.

        Columns and joints are compared by name: another order alone is no mismatch (see `arranged`). Names,
        units, period and the robot's bounds always count; the robot's own name never does.

        Args:
            info: the robot.
            parameters: whether the robot's parameters (laws, drives, masses) must be the same too, as far as both
                sides know them.
        """
        found = name_differences("joint", self.joints, info.joints)
        found += name_differences("column", self.columns, info.command_names)
        found += self._value_differences(info)
        if not np.isclose(self.period, info.period, rtol=1e-9, atol=0.0):
            found.append(f"period: {self.period:g} s in the file, {info.period:g} s here")
        if parameters and (differing := parameter_differences(self.parameters, info.parameters)):
            found += [*differing, ALL_THE_SAME]
        if found:
            found += order_differences("joints", self.joints, info.joints)
            found += order_differences("columns", self.columns, info.command_names)
            raise MismatchError(
                f"the feed-forward learned on {self.robot!r} does not fit the robot {info.name!r}:\n  - "
                + "\n  - ".join(found)
            )

    def arranged(self, info: RobotInfo, *, parameters: bool = True) -> Self:
        """Return this in the column and joint order of a robot that passes `check`; raise as `check` does."""
        self.check(info, parameters=parameters)
        columns = [self.columns.index(name) for name in info.command_names]
        joints = [self.joints.index(name) for name in info.joints]
        return replace(
            self,
            command=self.command[:, columns],
            columns=info.command_names,
            units=tuple(self.units[i] for i in columns),
            joints=info.joints,
            desired=None if self.desired is None else self.desired[:, joints],
            expected=None if self.expected is None else self.expected[:, joints],
        )

    @property
    def duration(self) -> float:
        """How long the rows are in force, n·period, s."""
        return len(self.time) * self.period

    def at(self, t: ArrayLike) -> Array:
        """Return the command in force at the times `t` (any shape), (*t.shape, columns).

        Before 0 that is the first row, after the end the last one. Raises `OutOfBoundsError` for NaN.
        """
        time = all_finite("time", number_array("time", t))
        row = np.floor(time / self.period + 1e-6)  # n·period, however rounded, is in row n
        return self.command[np.clip(row, 0, len(self.time) - 1).astype(np.intp)]

    def _value_differences(self, info: RobotInfo) -> list[str]:
        """Return the differences in unit and the values out of bounds, of the columns both sides have."""
        channels = {channel.name: channel for channel in info.command}
        found = []
        for name, unit, values in zip(self.columns, self.units, self.command.T, strict=True):
            channel = channels.get(name)
            if channel is None:
                continue
            if unit != channel.unit:
                found.append(f"column {name!r}: unit {unit!r} in the file, {channel.unit!r} here")
            outside = int(np.count_nonzero((values < channel.low) | (values > channel.high)))
            if outside:
                found.append(
                    f"column {name!r}: {outside} of {len(values)} values, which span [{values.min():g}, "
                    f"{values.max():g}] {unit}, are outside [{channel.low:g}, {channel.high:g}] {channel.unit}"
                )
        return found


class Rows(Controller):
    """Gives commands that are known beforehand, a row a period, whatever it reads; then the last one for ever.

    Rows are counted by updates, not by time: on a robot that is late none is left out. For a clock that may skip,
    ask `FeedForward.at`.

    Args:
        command: (n, columns), n ≥ 1.
        columns: names of the columns; empty: those of whatever robot has as many.

    Raises:
        ShapeError, OutOfBoundsError: no rows, names that do not fit them, or an entry that is not finite.
    """

    def __init__(self, command: ArrayLike, columns: Sequence[str] = ()) -> None:
        self.command = finite_array("rows of commands", command, (None, len(columns) or None))
        self.columns = tuple(columns)
        self.initial_command = self.command[0]
        self._row = 0

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError` unless the robot has these columns, or as many where they have no names."""
        if self.columns:
            check_names(type(self).__name__, info.joints, self.columns, info)
        elif self.command.shape[1] != len(info.command):
            raise MismatchError(
                f"rows of {self.command.shape[1]} numbers do not fit the robot {info.name!r}, which takes "
                f"{len(info.command)} ({', '.join(info.command_names)})."
            )

    @property
    def finished(self) -> bool:
        """Whether every command has been given."""
        return self._row >= len(self.command)

    def reset(self, state: State | None = None) -> None:
        """Begin again with the first command."""
        self._row = 0

    def next(self) -> Array:
        """Return the next command, (columns,)."""
        row = min(self._row, len(self.command) - 1)
        self._row += 1
        return np.array(self.command[row], dtype=np.float64)

    def update(self, state: State, t: float) -> Array:
        """Return the next command, (columns,); neither state nor time is used."""
        return self.next()


class Playback(Rows):
    """Plays a feed-forward on a robot: its commands, a row a period, then the last one for ever."""

    def __init__(self, feedforward: FeedForward, info: RobotInfo, *, parameters: bool = True) -> None:
        """Check and arrange a feed-forward for a robot. Raises as `FeedForward.check` does."""
        self.feedforward = feedforward.arranged(info, parameters=parameters)
        super().__init__(self.feedforward.command, self.feedforward.columns)

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError` if the robot is another one than this was arranged for."""
        check_names("the feed-forward", self.feedforward.joints, self.columns, info)


def software_versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python, this package, what it computes with, and `packages`; imports none of them."""
    from importlib import metadata

    found = {"python": platform.python_version()}
    for package in ("pliant", "numpy", "mujoco", *packages):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
