"""The robot's side: a controller in another process as a `Controller` like any other."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.controller import Controller, Ended, Event, check_names
from pliant.deployment.remote.json_messages import (
    Acceptance,
    hello,
    read_acceptance,
    read_failure,
    read_refusal,
    read_told,
)
from pliant.deployment.remote.protocol import (
    ENDED,
    EVENTS,
    Kind,
    Layout,
    Message,
    MessageError,
    StateMessage,
    read_command,
)
from pliant.deployment.remote.transport import Address, ClosedError, connect
from pliant.errors import MismatchError, RemoteError, check_bounds
from pliant.hardware.robot import Array, RobotInfo, State

_REMEMBERED = 1000
"""Events that are kept."""


class RemoteController(Controller):
    """Asks a controller in another process (`pliant control`) for every command, and waits for it.

    The exception among controllers: it does I/O. A process that is late, killed, or answers what it may not is a
    `RemoteError` of the update, after which the connection is closed: a robot ends as at any controller's fault.

    Args:
        info: the robot. All of it is sent, so that the other side can judge whether it fits.
        address: see `Address.read`.
        deadline: time for one command, s.
        patience: time for the greeting, for `reset` and for the first command after it, s: what is compiled then
            takes seconds once.

    Raises:
        MismatchError: the controller is for another robot.
        RemoteError: nobody serves there, or the robot is refused: another robot is commanded, another version of
            the messages is spoken, the controller cannot be made for it.
        ConfigurationError, OutOfBoundsError: no address; a time out of bounds.
    """

    def __init__(
        self, info: RobotInfo, address: str = "unix", deadline: float = 0.05, patience: float = 30.0
    ) -> None:
        self.address = Address.read(address)
        self._deadline = check_bounds("deadline", deadline, 1e-3, 60.0, "s")
        self._patience = check_bounds("patience", patience, self._deadline, 600.0, "s")
        self._info, self._layout = info, Layout(info)
        self._message = StateMessage(self._layout)
        self._number = 0
        self._time = self._patience
        self._round_trip = np.nan
        self._ended: Ended | None = None
        self._clearance: Array | None = None
        self.events: deque[Event] = deque(maxlen=_REMEMBERED)
        """Those of the controller, as it tells of them with its commands."""
        self.name = f"the controller at {self.address}"
        self._connection = connect(self.address)
        with self._left_after_a_fault():
            found = self._greeted()
        self.name = f"{found.controller} at {self.address}"
        self.duration = found.duration
        """How long what it does takes, s, where it says so."""
        self.initial_command = found.initial_command
        self.retraces, self.at_once = found.retraces, found.at_once
        self.ends = found.ends
        """Whether it may say that it has ended."""

    @property
    def ended(self) -> Ended | None:
        """What the controller said of its end with its last command."""
        return self._ended

    @property
    def clearance(self) -> Array | None:
        """What the controller said of it with its last command."""
        return self._clearance

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, naming every difference, if the robot is another one than was sent."""
        check_names(self.name, self._info.joints, self._info.command_names, info)
        if not np.isclose(info.period, self._info.period, rtol=1e-9, atol=0.0):
            raise MismatchError(
                f"{self.name} was told a period of {self._info.period:g} s, not {info.period:g} s."
            )

    def reset(self, state: State) -> None:
        """Let it begin at a state; raises `RemoteError` as `update`."""
        with self._left_after_a_fault():
            self._ended, self._clearance, self._round_trip = None, None, np.nan
            self.events.clear()
            self._wait_for(self._patience)
            self._ask(Kind.RESET, Kind.READY, state, 0.0)

    def update(self, state: State, t: float) -> ArrayLike:
        """Return its command, (columns,).

        Raises:
            RemoteError: it fails, with its own text; it does not answer in time, is gone, or answers anything but
                a command of the robot's columns to this state.
        """
        try:
            message = self._ask(Kind.STATE, Kind.COMMAND, state, t)
            values, self._clearance, told = read_command(message, self._layout.columns)
            if message.flags & (ENDED | EVENTS):
                self._ended, new = read_told(told, message.flags)
                self.events.extend(new)
            else:
                self._ended = None
            if self._time != self._deadline:
                self._wait_for(self._deadline)
        except BaseException as error:
            self._leave(error)
            raise
        return values

    def close(self) -> None:
        """Leave the controller to other robots. Safe to call twice."""
        self._connection.close()

    def _greeted(self) -> Acceptance:
        self._wait_for(self._patience)
        self._connection.send(hello(self._info))
        message = self._receive()
        if message.kind == Kind.REFUSE:
            reason, text = read_refusal(message.payload)
            refused = MismatchError if reason == "robot" else RemoteError
            raise refused(f"{self.name} refuses robot {self._info.name!r}: {text}")
        self._check(message, Kind.ACCEPT)
        return read_acceptance(message.payload, self._layout.columns)

    def _ask(self, kind: Kind, wanted: Kind, state: State, t: float) -> Message:
        """Send a state and return the answer."""
        self._number += 1
        self._message.write(kind, self._number, state, t, self._round_trip)
        begin = time.perf_counter()
        try:  # noqa: SIM105  a with block takes time here
            self._connection.send(self._message.bytes)
        except ClosedError:  # it may have said why
            pass
        message = self._receive()
        self._round_trip = time.perf_counter() - begin
        if message.kind == Kind.FAIL:
            raise RemoteError(f"{self.name}: {read_failure(message.payload)}")
        self._check(message, wanted)
        return message

    def _receive(self) -> Message:
        message = self._connection.take_within(self._time)
        if message is None:
            raise RemoteError(f"{self.name} did not answer within {self._time:g} s.")
        return message

    def _check(self, message: Message, wanted: Kind) -> None:
        if message.number != self._number:
            raise MessageError(f"it answers request {message.number} where {self._number} was asked.")
        if message.kind != wanted:
            raise MessageError(f"a message of kind {message.kind} came; {wanted} ({wanted.name}) is needed.")

    def _wait_for(self, seconds: float) -> None:
        self._connection.wait_for(seconds)
        self._time = seconds

    @contextmanager
    def _left_after_a_fault(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._leave(error)
            raise

    def _leave(self, error: BaseException) -> None:
        """Ask nothing more, and raise `RemoteError` if an error does not name the controller."""
        self.close()
        if isinstance(error, ClosedError):
            raise RemoteError(f"{self.name} is gone: {error}") from error
        if isinstance(error, MessageError):
            raise RemoteError(f"{self.name} cannot be relied on: {error}") from error
