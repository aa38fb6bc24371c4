"""The robot interface: something with named joints that is read and commanded at a fixed period.

A simulated robot (`pliant.envs`) and a driver on a real bus are equals behind it: controllers, policies and
environments know nothing else. Angles rad, torques N·m, time s.
"""

import copy
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, unknown_name

Array = NDArray[np.float64]

PER_JOINT = ("position", "velocity", "torque", "stiffness")
PER_MOTOR = ("motor_position", "motor_velocity", "motor_torque", "spring_torque")
"""Quantities that every state holds of each joint and each motor, in the order of its fields."""


@dataclass(frozen=True)
class Channel:
    """One number that is read or sent: its name (`owner/quantity`), unit, bounds and resting value.

    A reading may have no bounds: they are infinite then.
    """

    name: str
    unit: str
    low: float
    high: float
    rest: float = 0.0

    def __post_init__(self) -> None:
        if not self.low <= self.rest <= self.high:
            raise ConfigurationError(
                f"channel {self.name!r}: rest {self.rest:g} is outside [{self.low:g}, {self.high:g}]."
            )

    @property
    def owner(self) -> str:
        """What it belongs to, such as a joint, whose name may have a `/` itself: all before the last one."""
        return self.name.rpartition("/")[0]

    @property
    def quantity(self) -> str:
        """What it tells of its owner: all after the last `/`."""
        return self.name.rpartition("/")[2]


def joint_signals(
    joints: Sequence[str], motors: Sequence[str], units: Mapping[str, tuple[str, str]] | None = None
) -> list[Channel]:
    """What every robot is read for: the numbers of `PER_JOINT` of each joint, then of `PER_MOTOR` of each motor.

    They are named `joint/position`, …, and of the motor `joint/1` `joint/motor_position1`, ….

    Args:
        joints: their names.
        motors: their names, `joint/1`, `joint/2`.
        units: of the position and of the torque of joints that do not turn, such as ("m", "N").
    """
    owners = [*((quantity, joint, "") for quantity in PER_JOINT for joint in joints)]
    owners += [(quantity, *motor.rpartition("/")[::2]) for quantity in PER_MOTOR for motor in motors]
    found = []
    for quantity, joint, number in owners:
        length, force = (units or {}).get(joint, ("rad", "N·m"))
        unit = {"position": length, "velocity": f"{length}/s", "stiffness": f"{force}/{length}"}
        known = unit.get(quantity.removeprefix("motor_"), force)
        found.append(Channel(f"{joint}/{quantity}{number}", known, -inf, inf))
    return found


@dataclass(frozen=True)
class RobotInfo:
    """What is known of a robot without connecting to it.

    Raises:
        ConfigurationError: two signals or two columns of one name, or signals that do not begin with those of
            `joint_signals`.
    """

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
    """What the robot is (laws, drives, masses), as plain data: written into every file of what is learned on it,
    and compared before that is used."""
    signals: tuple[Channel, ...] = ()
    """What is read, in order: the numbers of `joint_signals`, then what sensors of the robot's own measure; by
    default it has none."""
    bodies: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Free bodies that a reset can place, as only a simulation can: position (m) and unit quaternion (w first)
    where they start, by name."""

    def __post_init__(self) -> None:
        common = [channel.name for channel in joint_signals(self.joints, self.motors)]
        if not self.signals:
            object.__setattr__(self, "signals", tuple(joint_signals(self.joints, self.motors)))
        if list(self.signal_names[: len(common)]) != common:
            raise ConfigurationError(
                f"robot {self.name!r}: its signals must begin with those of its joints and motors "
                f"({', '.join(common)}); they begin with {', '.join(self.signal_names[: len(common)])}."
            )
        for kind, names in (("signals", self.signal_names), ("command columns", self.command_names)):
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise ConfigurationError(
                    f"robot {self.name!r} has two {kind} named {', '.join(map(repr, twice))}."
                )

    @cached_property
    def signal_names(self) -> tuple[str, ...]:
        """Names of the signals."""
        return tuple(channel.name for channel in self.signals)

    @property
    def sensors(self) -> tuple[Channel, ...]:
        """The signals beyond those of joints and motors: what `State.sensors` holds, in order."""
        return self.signals[len(PER_JOINT) * len(self.joints) + len(PER_MOTOR) * len(self.motors) :]

    def signal(self, name: str) -> int:
        """Return where the signal of that name stands among `signals`; `UnknownNameError` if there is none."""
        try:
            return self.signal_names.index(name)
        except ValueError:
            raise unknown_name("signal", name, self.signal_names, f"robot {self.name!r}") from None

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
    sensors: Array = np.empty(0)
    """What the robot's own sensors measure, (sensors,), in the order and units of `RobotInfo.sensors`."""

    @property
    def signals(self) -> Array:
        """All that was read, (…, signals), in the order of `RobotInfo.signals`."""
        return np.concatenate([*self[1:9], self.sensors], axis=-1)

    def copy(self) -> "State":
        """Return the same state with arrays of its own."""
        return State(*map(copy.copy, self))


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

    @property
    def estimated(self) -> frozenset[str]:
        """Of what is not measured, what `read` has a number for all the same, estimated from something else."""
        return frozenset()

    @property
    def held_back(self) -> bool:
        """Whether the last `send` sent less of a motion than it was given; who limits them goes on from there."""
        return False

    @abstractmethod
    def connect(self) -> None:
        """Open the machine. Does not move it."""

    @abstractmethod
    def read(self) -> State:
        """Return the newest state; its arrays are the caller's. Raises `RobotError` when not connected."""

    @abstractmethod
    def send(self, command: ArrayLike) -> Array:
        """Send a command, let one period pass, and return the command that was really sent.

        Args:
            command: (columns,), in the units of `info.command`. Values outside the bounds are limited;
                a NaN or a wrong shape raises before anything is sent.
        """

    def carry_on(self) -> bool:
        """After a stop or a fault, let what has not failed be moved again, from where it holds.

        For the one thing that still matters then: to be brought to rest. Until the robot is closed, `read` and
        `send` pass over what fails.

        Returns:
            Whether there is anything that can be moved. Machines that cannot do this say no.
        """
        return False

    def notices(self) -> Sequence[str]:
        """Return what the machine has to say since it was last asked, such as that a servo gets hot."""
        return ()

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
        try:
            if kind is not None:
                self.abort()
        finally:
            self.close()

    def abort(self) -> None:
        """End all motion because what commands the robot has failed: `stop`.

        A robot that every way out leads home, such as one behind a safety layer, may leave that to `close`.
        """
        self.stop()

    def reset(
        self,
        seed: int | None = None,
        position: ArrayLike | None = None,
        command: ArrayLike | None = None,
        *,
        bodies: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Put the robot to rest at its start, where that is possible, and return what it reads there.

        A simulated robot is put there at once. A machine cannot be: it walks to `command`, if it has a safety
        layer that knows how, and stands where that command holds it. Otherwise it refuses.

        Args:
            seed: of what is random about the robot; a machine does not need it.
            position: link angles, (joints,), rad; None: the robot's own start. A machine does not need it.
            command: in force at the start, (columns,); None: the resting one.
            bodies: position and unit quaternion (w first), (7,), of some of `info.bodies` by name; the others lie
                where they start. A machine has none.

        Raises:
            RobotError: the robot cannot be put anywhere by itself.
        """
        raise RobotError(
            f"robot {self.info.name!r} cannot be put to a start by itself; put a safety layer (SafeRobot), which "
            "walks there, in front of it."
        )

    def diagnostics(self) -> Mapping[str, object]:
        """Return what the robot knows of its own condition, as plain data; empty if nothing.

        Temperatures, voltages, errors, lost periods: whatever a driver has, its names with their units
        (`temperature_celsius`). It may take as long as several periods, so not to be asked in a control loop.
        """
        return {}


def stacked(states: Sequence[State]) -> State:
    """Return states as one motion: the same fields with the instants as leading axis."""
    return State(*(np.array(field) for field in zip(*states, strict=True)))


def check_command(command: ArrayLike, info: RobotInfo) -> Array:
    """Return `command` as (columns,) floats of their own; raise if its shape is wrong or an entry is not finite.

    Limits are not applied here: what to do with a value out of bounds is the robot's decision.
    """
    array = np.array(command, dtype=np.float64)
    if array.shape != (len(info.command),):
        raise ShapeError(
            f"robot {info.name!r} takes a command of shape ({len(info.command)},) "
            f"({', '.join(info.command_names)}); got {array.shape}."
        )
    if not np.isfinite(array).all():
        bad = [name for name, value in zip(info.command_names, array, strict=True) if not np.isfinite(value)]
        raise OutOfBoundsError(f"robot {info.name!r}: command has no finite value for {', '.join(bad)}.")
    return array
