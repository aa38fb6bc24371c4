"""The base of a driver of one's own: what all machines have in common, around five functions that speak to one."""

import math
import struct
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ConfigurationError, RobotError, unknown_name
from pliant.hardware.robot import (
    PER_JOINT,
    Array,
    Channel,
    Robot,
    RobotInfo,
    State,
    check_command,
)
from pliant.hardware.safety_config import EFFORTS
from pliant.hardware.stopping import Exclusive
from pliant.hardware.timing import Clock, SystemClock, Ticker


@dataclass(frozen=True)
class Measurement:
    """What a machine tells at one instant, in the order of its joints. NaN is what it does not know."""

    position: ArrayLike
    """Of the links, (joints,), rad or m."""
    velocity: ArrayLike | None = None
    """(joints,), rad/s or m/s; None: not measured."""
    torque: ArrayLike | None = None
    """Of the drives on the links, (joints,), N·m or N; None: not measured."""
    sensors: ArrayLike = ()
    """What the machine has besides, (sensors,), in the order in which they were named to `Driver`."""
    command: ArrayLike | None = None
    """The command in force, (columns,), as the machine tells it; None: see `Driver.read`."""
    time: float | None = None
    """On the machine's clock, s; None: now. Only by the machine's clock is an old reading told from a new one."""


class Driver(Robot):
    """A machine, driven by five functions of a class of one's own: `open`, `measure`, `drive`, `halt`, `release`.

    Here is the rest: names and ranges as the simulation has them, commands checked and limited, the beat, times
    and states, the order of calls, and one at a time from whatever thread. Failures of the wire (`OSError`, which
    a timeout is, too, and `EOFError`) and packets that cannot be read (`ValueError`, `struct.error`) become
    `RobotError`; what else fails should be raised as one. The safety layer in front of it lets some readings fail
    in a row, but no command. No function may wait for ever: give sockets and ports a timeout of a few periods at
    most.

    A configuration names it `machine: {driver: "mymodule:MyDriver", …}`; its further entries, and `host` and
    `port` of the command line, are arguments of the constructor.

    Args:
        info: of the robot as it is simulated.
        sensors: what the machine measures besides, by the names of the simulation's signals, or new ones.
        clock: where time comes from.

    Raises:
        UnknownNameError: a sensor that the simulation does not have; a new one is given as a `Channel`.
    """

    measures: ClassVar[Sequence[str]] = ("position", "velocity", "torque")
    """What is measured of every joint; a limit of anything else is refused."""
    first_step: ClassVar[float] = 0.1
    """How far from where a joint stands the first command may be, and how far outside its range it may stand, rad
    or m."""

    def __init__(self, info: RobotInfo, sensors: Sequence[str | Channel] = (), clock: Clock | None = None) -> None:
        for quantity in self.measures:
            if quantity not in PER_JOINT[:3]:
                raise unknown_name("quantity", quantity, PER_JOINT[:3], f"what {type(self).__name__} measures")
        signals = info.signals[: len(PER_JOINT) * len(info.joints)]
        known = {channel.name: channel for channel in info.sensors}
        more = []
        for sensor in sensors:
            if isinstance(sensor, str) and sensor not in known:
                raise unknown_name("sensor", sensor, known, f"robot {info.name!r}")
            more.append(known[sensor] if isinstance(sensor, str) else sensor)
        self._info = replace(info, motors=(), signals=(*signals, *more), bodies={})
        self._clock = clock or SystemClock()
        self._ticker = Ticker(info.period, self._clock)
        self._exclusive = Exclusive(self._end_motion)
        self._begin: float | None = None
        """Time of the first reading; None before it."""
        self._command: Array | None = None
        """The last one sent; None where the machine stands by itself."""
        self._connected = self._closing = False
        self._stops = 0
        self._sent_at = -math.inf
        self._low, self._high = info.low, info.high
        self.overruns = 0
        """Periods since `connect` that took too long."""
        self.worst_lateness = 0.0
        """The longest by which one did, s."""

    # To be written for a machine

    @abstractmethod
    def open(self) -> None:
        """Connect the machine, see that it is what it should be, and move nothing. Raises `RobotError`."""

    @abstractmethod
    def measure(self) -> Measurement:
        """Return the newest that the machine tells; at once, or within a small part of the period."""

    @abstractmethod
    def drive(self, command: Array) -> None:
        """Give the machine a command, (columns,), within the ranges of `info.command`.

        The first one after `open` and after `halt` arms the machine's watchdog, then its torque.
        """

    @abstractmethod
    def halt(self) -> None:
        """Stop all motion and stay there; without torque where commands are torques. May be called at any time."""

    @abstractmethod
    def release(self) -> None:
        """Take the torque off, then the watchdog, and close the wire. Also called if `open` failed half way."""

    # The robot

    @property
    def info(self) -> RobotInfo:
        """The simulated robot's, with the signals that the machine has."""
        return self._info

    @property
    def unmeasured(self) -> frozenset[str]:
        """What is not in `measures`, of every joint."""
        lacking = [quantity for quantity in PER_JOINT[:3] if quantity not in self.measures]
        return frozenset(f"{joint}/{quantity}" for joint in self._info.joints for quantity in lacking)

    def connect(self) -> None:
        """Open the machine. Moves nothing, and does nothing if it is open."""
        with self._exclusive():
            if self._connected and self._closing:
                raise RobotError(f"{self._info.name}: its release was interrupted; close it first.")
            if self._connected:
                return
            self._closing = False
            try:
                with self._wire("connecting"):
                    self.open()
            except BaseException:
                with suppress(Exception):
                    self.release()
                raise
            self._connected, self._begin, self._command = True, None, None
            self.overruns, self.worst_lateness = 0, 0.0

    def read(self) -> State:
        """Return what the machine tells now.

        The command in force is what the machine says; else the one sent last. Before the first one, and after a
        stop, a joint that is commanded a place is taken to be held where it stands, and no speed, torque or force
        to be there.

        Raises:
            RobotError: not connected, the wire failed, what was measured is of a wrong size or no numbers, or
                nothing tells which command is in force.
        """
        info, count = self._info, len(self._info.joints)
        with self._exclusive():
            self._check_connected()
            with self._wire("reading"):
                told = self.measure()
                now = self._clock.now() if told.time is None else float(told.time)
                unknown: Array = np.full(count, np.nan)
                position = _numbers("positions", told.position, count)
                velocity = unknown if told.velocity is None else _numbers("velocities", told.velocity, count)
                torque = unknown if told.torque is None else _numbers("torques", told.torque, count)
                sensors = _numbers("sensors", told.sensors, len(info.sensors))
                command = self._in_force(told, position)
            if self._begin is None:
                self._begin = now
        none: Array = np.empty(0)
        return State(
            time=now - self._begin,
            position=position,
            velocity=velocity.copy(),
            torque=torque.copy(),
            stiffness=unknown.copy(),
            motor_position=none,
            motor_velocity=none,
            motor_torque=none,
            spring_torque=none,
            command=command,
            sensors=sensors,
        )

    def send(self, command: ArrayLike) -> Array:
        """Send a command, wait for the next period, and return what was sent.

        The first one, also after a stop, may be no further than `first_step` from what is in force then. A joint
        that stands a little outside its range may be brought in again, step by step, but not further out.
        """
        wanted, stops = check_command(command, self._info), self._stops
        # After a late period the next deadline may be near; commands that come at once are a jump.
        self._clock.sleep_until(self._sent_at + self._info.period / 2)
        with self._exclusive():
            self._check_connected()
            if self._command is None:
                self._begin_at(self.read().command, wanted)
            wanted = np.clip(wanted, self._low, self._high)
            if self._stops != stops:
                raise RobotError(f"{self._info.name} was stopped; the command was not sent.")
            with self._wire("sending"):
                self.drive(wanted.copy())
            self._low, self._high = np.minimum(self._info.low, wanted), np.maximum(self._info.high, wanted)
            self._command, self._sent_at = wanted, self._clock.now()
        beat = self._ticker.wait()
        self.overruns += beat.lateness > 0
        self.worst_lateness = max(self.worst_lateness, beat.lateness)
        return wanted.copy()

    def carry_on(self) -> bool:
        """See `Robot.carry_on`: whether the machine can still be read."""
        try:
            self.read()
        except RobotError:
            return False
        return True

    def stop(self) -> None:
        """Halt the machine if it is open; the next command moves it again.

        Called by a signal's handler while this thread has the machine, it takes effect when that is over, before
        anything else is sent.
        """
        self._stops += 1
        with self._exclusive():
            self._exclusive.stop_pending = True

    def close(self) -> None:
        """Release the machine if it is open, in a signal's handler as `stop`; again if that was interrupted."""
        self._stops += 1
        with self._exclusive():
            self._closing = self._exclusive.stop_pending = True

    def _end_motion(self) -> None:
        """Do what `stop` or `close` says, once nobody else has the machine."""
        if not self._connected:
            return
        self._command = None
        if not self._closing:
            with self._wire("stopping"):
                self.halt()
            return
        try:
            with self._wire("releasing"):
                self.release()
        except Exception:
            self._connected = False
            raise
        self._connected = False

    def diagnostics(self) -> Mapping[str, object]:
        """Late periods since `connect`."""
        return {"overruns": self.overruns, "worst_lateness_s": self.worst_lateness}

    def _check_connected(self) -> None:
        if not self._connected or self._closing:
            raise RobotError(f"{self._info.name} is not connected.")

    @contextmanager
    def _wire(self, doing: str) -> Iterator[None]:
        """Turn what a failed wire raises, or a packet that cannot be read, into an error of the robot."""
        try:
            yield
        except (OSError, EOFError, ValueError, struct.error) as error:
            if isinstance(error, ConfigurationError):
                raise
            what = str(error).rstrip(".") or type(error).__name__
            raise RobotError(f"{self._info.name}: while {doing}: {what}.") from error

    def _in_force(self, told: Measurement, position: Array) -> Array:
        if told.command is not None:
            command = _numbers("a command", told.command, len(self._info.command))
            for channel, value in zip(self._info.command, command, strict=True):
                if not math.isfinite(value):
                    raise RobotError(f"{self._info.name}: it tells no number for the command {channel.name!r}.")
            return command
        if self._command is not None:
            return self._command.copy()
        command = np.zeros(len(self._info.command))
        for k, channel in enumerate(self._info.command):
            if channel.quantity == "position" and channel.owner in self._info.joints:
                command[k] = position[self._info.joints.index(channel.owner)]
                if not math.isfinite(command[k]):
                    raise RobotError(f"{self._info.name}: nothing measures where joint {channel.owner!r} stands.")
            elif channel.unit in EFFORTS or channel.unit.endswith("/s"):
                command[k] = min(max(0.0, channel.low), channel.high)
            else:
                raise ConfigurationError(
                    f"{self._info.name}: nothing tells which command {channel.name!r} is in force (the motor of a "
                    "soft joint is not where its link stands), so the driver has to: Measurement.command."
                )
        return command

    def _begin_at(self, stands: Array, wanted: Array) -> None:
        """Begin from where the machine stands, unless that is far outside its range or from what is wanted."""
        for channel, here, there in zip(self._info.command, stands, wanted, strict=True):
            if channel.unit not in ("rad", "m"):
                continue
            if max(channel.low - here, here - channel.high) > self.first_step:
                raise RobotError(
                    f"{channel.name} stands at {here:.3f} {channel.unit}, outside [{channel.low:g}, "
                    f"{channel.high:g}]; move it in by hand, or correct its zero or its range."
                )
            if abs(there - here) > self.first_step:
                raise RobotError(
                    f"the first command of {channel.name} is {there:.3f} {channel.unit}; it stands at {here:.3f}. "
                    "Walk there (SafeRobot.walk_to), beginning with the state's own command."
                )
        self._low, self._high = np.minimum(self._info.low, stands), np.maximum(self._info.high, stands)
        self._ticker.restart()


def _numbers(what: str, values: ArrayLike, count: int) -> Array:
    """Numbers that a driver has measured, as an array of their own; `ValueError` if they are not as many."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"its driver measures {what} {values!r}; {count} numbers are needed") from None
    if found.shape != (count,):
        raise ValueError(f"its driver measures {what} of shape {found.shape}; ({count},) is needed")
    return found
