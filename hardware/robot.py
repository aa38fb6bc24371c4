"""The robot interface: something with named joints that is read and commanded at a fixed period.

A simulated robot (`pliant.envs`) and a driver on a real bus are equals behind it: controllers, policies and
environments know nothing else. Angles rad, torques N·m, time s.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """One number of a command: its name (`joint/quantity`), unit, bounds and resting value."""

    name: str
    unit: str
    low: float
    high: float
    rest: float = 0.0

    def __post_init__(self) -> None:
        if not self.low <= self.rest <= self.high:
            raise ConfigurationError(
                f"command column {self.name!r}: rest {self.rest:g} is outside [{self.low:g}, {self.high:g}]."
            )


@dataclass(frozen=True)
class RobotInfo:
    """What is known of a robot without connecting to it."""

    name: str
    joints: tuple[str, ...]
    """Joint names, in the order of every per-joint array."""
    motors: tuple[str, ...]
    """Motor names (`joint/1`, `joint/2`), in the order of every per-motor array; may be empty."""
    command: tuple[Channel, ...]
    """The columns of a command, in order."""
    period: float
    """Time from one command to the next, s."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What the joints are (law, mode, values), as plain data: written into every file that is learned."""

    @property
    def command_names(self) -> tuple[str, ...]:
        """Names of the command columns."""
        return tuple(channel.name for channel in self.command)

    @property
    def low(self) -> Array:
        """Lower bounds of a command, (columns,)."""
        return np.array([channel.low for channel in self.command])

    @property
    def high(self) -> Array:
        """Upper bounds of a command, (columns,)."""
        return np.array([channel.high for channel in self.command])

    @property
    def rest(self) -> Array:
        """The command that holds the robot at rest, (columns,)."""
        return np.array([channel.rest for channel in self.command])


class State(NamedTuple):
    """What was read from a robot at one instant. An entry that a machine cannot measure is NaN.

    A motion is a `State` whose arrays have the instants as leading axis.
    """

    time: Any
    """Robot time since `connect`, s: a float, or (n,) for a motion."""
    position: Array
    """Link angles, (joints,), rad."""
    velocity: Array
    """Link speeds, (joints,), rad/s."""
    torque: Array
    """Torque of the drive on the link, (joints,), N·m."""
    stiffness: Array
    """Joint stiffness −∂τ/∂q, (joints,), N·m/rad."""
    motor_position: Array
    """Motor angles after the gearbox (or a pivot position in m), (motors,), rad."""
    motor_velocity: Array
    """Motor speeds, (motors,), rad/s."""
    motor_torque: Array
    """Torque each motor's drive applies, (motors,), N·m."""
    spring_torque: Array
    """Torque each motor's spring puts on the link, (motors,), N·m."""
    command: Array
    """The command in force, as really sent, (columns,)."""


class Robot(ABC):
    """A robot as everything above it sees it.

    Life cycle: `connect`, then `read` and `send` once a period, then `close`; or a `with` block. Time belongs
    to the robot: `send` returns when the next period begins (a simulated robot steps, a real one waits).
    """

    @property
    @abstractmethod
    def info(self) -> RobotInfo:
        """Names, command layout and period; known without connecting."""

    @property
    def unmeasured(self) -> frozenset[str]:
        """What the machine is known not to measure, as `joint/position`, `joint/velocity`, `joint/torque`."""
        return frozenset()

    @abstractmethod
    def connect(self) -> None:
        """Open the machine. Does not move it."""

    @abstractmethod
    def read(self) -> State:
        """Return the newest state. Raises `RobotError` when not connected."""

    @abstractmethod
    def send(self, command: ArrayLike) -> Array:
        """Send a command, let one period pass, and return the command that was really sent.

        Args:
            command: (columns,), in the units of `info.command`. Values outside the bounds are limited;
                a NaN or a wrong shape raises before anything is sent.
        """

    def run(self, commands: ArrayLike) -> State:
        """Send commands one after another, a row a period, and return the motion from where the robot stands.

        Args:
            commands: (n, columns), in the units of `info.command`.

        Returns:
            A state with a leading axis of n + 1 instants, one period apart: position (n + 1, joints), ….

        Raises:
            ShapeError, OutOfBoundsError: a row has the wrong shape or a NaN; then none is sent.
        """
        rows = [check_command(row, self.info) for row in np.asarray(commands, dtype=np.float64)]
        states = [self.read()]
        for command in rows:
            self.send(command)
            states.append(self.read())
        return State(*(np.array(field) for field in zip(*states, strict=True)))

    @abstractmethod
    def stop(self) -> None:
        """Stop all motion. Safe to call at any time, connected or not, any number of times."""

    @abstractmethod
    def close(self) -> None:
        """Release the machine. Safe to call twice."""

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()


def check_command(command: ArrayLike, info: RobotInfo) -> Array:
    """Return `command` as (columns,) floats; raise if its shape is wrong or an entry is not finite.

    Limits are not applied here: what to do with a value out of bounds is the robot's decision.
    """
    array = np.asarray(command, dtype=np.float64)
    if array.shape != (len(info.command),):
        raise ShapeError(
            f"robot {info.name!r} takes a command of shape ({len(info.command)},) "
            f"({', '.join(info.command_names)}); got {array.shape}."
        )
    if not np.isfinite(array).all():
        bad = [name for name, value in zip(info.command_names, array, strict=True) if not np.isfinite(value)]
        raise OutOfBoundsError(f"robot {info.name!r}: command has no finite value for {', '.join(bad)}.")
    return array
