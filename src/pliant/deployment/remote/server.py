"""The controller's side: serves a controller to a robot in another process, one robot at a time."""

import contextlib
import math
import os
import select
import time
import weakref
from array import array
from collections.abc import Callable, Sequence

import numpy as np

from pliant.controllers.controller import Event, new_events
from pliant.controllers.robot_parameters import parameter_differences
from pliant.deployment.controller import NamedController
from pliant.deployment.remote import json_messages, protocol
from pliant.deployment.remote.json_messages import Acceptance, Hello, Refusal
from pliant.deployment.remote.protocol import (
    Kind,
    Layout,
    Message,
    MessageError,
)
from pliant.deployment.remote.transport import Address, ClosedError, Connection, Listener, OtherVersionError
from pliant.errors import PliantError, RemoteError
from pliant.hardware.robot import Array, RobotInfo, check_command

Maker = Callable[[RobotInfo], NamedController]

_RESET, _STATES = int(Kind.RESET), (int(Kind.RESET), int(Kind.STATE))
_GREETING_TIME = 5.0
"""For a connection that says nothing, s."""
_MOST_CONNECTIONS = 16
_REMEMBERED = 1 << 20
"""Steps of which the times are kept, the newest."""


class ControlServer:
    """Makes a controller for the robot that connects, and answers its states with commands.

    Every robot gets a controller of its own; one that is commanded keeps others away until it leaves, but for
    those of its own process, such as the rehearsal of a deployment.

    Args:
        address: where it is served.
        make: makes a controller for a robot.
        expected: the robot that it is for.
        same_parameters: whether a robot whose parameters (laws, drives, masses) differ is refused.
        tell: told in one line of every robot that comes or leaves.

    Raises:
        OutputError: nothing can be served there.
    """

    def __init__(
        self,
        address: Address,
        make: Maker,
        expected: RobotInfo,
        *,
        same_parameters: bool = True,
        tell: Callable[[str], None] = print,
    ) -> None:
        self._make, self._expected, self._same, self._tell = make, expected, same_parameters, tell
        self._visits: dict[int, _Visit] = {}
        self._stopping = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._wake)  # not before: `stop` may write to it at any time
        self._listener = Listener(address)
        self.address = self._listener.address
        """Where robots connect."""

    def run(self) -> None:
        """Serve until `stop`; then say so to the robots, and take the address away."""
        poll = select.poll()
        for descriptor in (self._wake, self._listener.fileno()):
            poll.register(descriptor, select.POLLIN)
        try:
            while not self._stopping:
                waiting = any(visit.served is None for visit in self._visits.values())
                for descriptor, _ in poll.poll(1000.0 if waiting else None):
                    if visit := self._visits.get(descriptor):
                        if not self._answer(visit):
                            self._drop(visit, poll)
                    elif descriptor == self._listener.fileno():
                        self._receive(poll)
                if waiting:
                    self._drop_silent(poll)
        finally:
            self._listener.close()
            for visit in list(self._visits.values()):
                _send_last(visit, json_messages.fail(visit.number, "it was stopped."))
            for visit in list(self._visits.values()):
                self._drop(visit, poll)

    def stop(self) -> None:
        """End `run` once the command that is being computed is sent. Safe to call from a signal's handler."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def _receive(self, poll: select.poll) -> None:
        connection = self._listener.accept()
        if connection is None:
            return
        visit = _Visit(connection)
        if len(self._visits) >= _MOST_CONNECTIONS:
            _send_last(visit, json_messages.refuse(Refusal("busy", "too many are connected.")))
            connection.close()
            return
        self._visits[connection.fileno()] = visit
        poll.register(connection.fileno(), select.POLLIN)

    def _drop(self, visit: "_Visit", poll: select.poll) -> None:
        descriptor = visit.connection.fileno()
        poll.unregister(descriptor)
        del self._visits[descriptor]
        visit.connection.close()
        if visit.served is not None:
            self._tell(visit.served.farewell(visit.problem))

    def _drop_silent(self, poll: select.poll) -> None:
        now = time.monotonic()
        for visit in list(self._visits.values()):
            if visit.served is None and now - visit.since > _GREETING_TIME:
                self._drop(visit, poll)

    def _answer(self, visit: "_Visit") -> bool:
        """Read what has come and answer it; returns whether the connection stays."""
        try:
            message = visit.connection.take()
            if message is None:
                return True
            if visit.served is None:
                return self._greet(visit, message)
            answer = visit.served.answer(message)
        except ClosedError:
            return False
        except OtherVersionError as error:
            return _refused(visit, Refusal("version", f"{error} Both sides need the same one."))
        except PliantError as error:
            if visit.served is None:
                return _refused(visit, Refusal("message", str(error)))
            visit.problem = str(error)
            _send_last(visit, json_messages.fail(visit.served.number, str(error)))
            return False
        try:
            visit.connection.send(answer)
        except ClosedError:
            visit.problem = "it did not wait for its last command"
            return False
        return True

    def _greet(self, visit: "_Visit", message: Message) -> bool:
        if message.kind != Kind.HELLO:
            return _refused(
                visit, Refusal("message", f"the first message must be a greeting, not kind {message.kind}.")
            )
        hello = json_messages.read_hello(message.payload)
        others = [v.served for v in self._visits.values() if v.served is not None]
        if any(other.client != hello.client for other in others):
            text = f"robot {others[0].info.name!r} is commanded now; one robot at a time."
            return _refused(visit, Refusal("busy", text))
        try:
            if lines := robot_differences(self._expected, hello.info, same_parameters=self._same):
                return _refused(visit, Refusal("robot", "\n  - ".join(lines)))
            controller = self._make(hello.info)
            controller.check(hello.info)
            accepted = json_messages.accept(_acceptance(controller, hello.info))
        except PliantError as error:
            return _refused(visit, Refusal("controller", str(error)))
        except Exception as error:  # whatever a robot says of itself, the next one is served
            return _refused(visit, Refusal("message", f"{type(error).__name__}: {error}"))
        served = _Served(hello, controller)
        visit.connection.send(accepted)
        visit.served = served
        self._tell(f"robot {hello.info.name!r} connects: {controller.name}")
        return True


class _Visit:
    """A connection, of a robot or of whoever else."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.since = time.monotonic()
        self.served: _Served | None = None
        self.problem = ""

    @property
    def number(self) -> int:
        """Of the last request."""
        return 0 if self.served is None else self.served.number


class _Served:
    """A robot with its controller."""

    def __init__(self, hello: Hello, controller: NamedController) -> None:
        self.client, self.info = hello
        self.number = 0
        self._controller = controller
        self._layout = Layout(self.info)
        self._begun = False
        self._newest: Event | None = None
        self._waiting: list[Event] = []
        self._steps = 0
        self._computed, self._round_trips = array("d"), array("d")

    def answer(self, message: Message) -> bytes:
        """Return the answer to a state; raise `PliantError` where there is none."""
        if message.number != self.number + 1:
            raise MessageError(f"request {message.number} came after {self.number}.")
        self.number += 1
        if message.kind not in _STATES or len(message.payload) != 8 * self._layout.numbers:
            raise MessageError(
                f"kind {message.kind} with {len(message.payload)} bytes came; a state, {8 * self._layout.numbers} "
                "bytes, is needed."
            )
        numbers = np.frombuffer(message.payload, "<f8").copy()  # a controller may keep what it is given
        t, now, round_trip = numbers[:3].tolist()
        if not (math.isfinite(t) and math.isfinite(now)):
            raise MessageError(f"a state came at t = {t:g} s, {now:g} s of the robot; finite numbers are needed.")
        state = self._layout.state(numbers)
        if message.kind == _RESET:
            self._controller.reset(state)
            self._begun, self._newest = True, None
            self._waiting.clear()
            return protocol.ready(self.number)
        if not self._begun:
            raise MessageError("a state came before that of a reset.")
        begin = time.perf_counter()
        values = self._command(self._controller.update(state, t), t)
        ended = self._controller.ended if self._controller.ends else None
        clearance = self._controller.clearance if self._controller.retraces else None
        cleared = None if clearance is None else self._command(clearance, t)
        self._note(time.perf_counter() - begin, round_trip)
        return protocol.command(self.number, values, ended, cleared, self._untold(t))

    def _untold(self, t: float) -> list[Event]:
        """Events that are new, the oldest of them; what is left waits for the next command."""
        events = self._controller.controller.events
        if not events and not self._waiting:
            return []
        new = new_events(events, self._newest)
        if events:
            self._newest = events[-1]
        self._waiting += [event if math.isfinite(event.time) else Event(t, event.text) for event in new]
        now, self._waiting = self._waiting[: protocol.MOST_EVENTS], self._waiting[protocol.MOST_EVENTS :]
        return now

    def _command(self, values: object, t: float) -> Array:
        try:
            return check_command(values, self.info)  # type: ignore[arg-type]
        except (PliantError, TypeError, ValueError) as error:
            raise RemoteError(f"{self._controller.name} at t = {t:.6g} s: {error}") from error

    def _note(self, computed: float, round_trip: float) -> None:
        for times, time_ in ((self._computed, computed), (self._round_trips, round_trip)):
            if self._steps < _REMEMBERED:
                times.append(time_)
            else:
                times[self._steps % _REMEMBERED] = time_
        self._steps += 1

    def farewell(self, problem: str) -> str:
        """Say that it leaves, and how long its commands took."""
        text = f"robot {self.info.name!r} leaves after {self._steps} commands"
        both = (("computed in", self._computed), ("round trip of the robot", self._round_trips))
        for name, kept in both:
            times = np.array(kept)
            if (known := times[np.isfinite(times)]).size:
                median, most, largest = map(_short, np.percentile(known, [50, 99, 100]))
                text += f"; {name} {median} (99 %: {most}, largest {largest})"
        return f"{text}; {problem}" if problem else text


def _short(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} µs" if seconds < 0.01 else f"{1e3 * seconds:.0f} ms"


def robot_differences(expected: RobotInfo, given: RobotInfo, *, same_parameters: bool = True) -> list[str]:
    """Return what a controller is for, and a line for everything in which a robot is not that; else nothing.

    Signals and bounds are not compared: a machine measures less than a simulation, and a safety layer narrows.

    Args:
        expected: what it is for.
        given: the robot.
        same_parameters: whether laws, drives and masses count.
    """
    if given.name != expected.name:
        return [f"it is for robot {expected.name!r}."]
    lines = _list_differences("joints", expected.joints, given.joints)
    lines += _list_differences("command columns", expected.command_names, given.command_names)
    if not lines:
        pairs = zip(expected.command, given.command, strict=True)
        lines += [f"{a.name} is in {a.unit}, the robot's in {b.unit}" for a, b in pairs if a.unit != b.unit]
    if not np.isclose(given.period, expected.period, rtol=1e-9, atol=0.0):
        lines.append(f"the period is {expected.period:g} s, the robot's {given.period:g} s (robot.period)")
    if same_parameters and not lines:
        lines += parameter_differences(expected.parameters, given.parameters, "at the controller")
    return [f"it is for another {expected.name!r}:", *lines] if lines else []


def _list_differences(what: str, expected: Sequence[str], given: Sequence[str]) -> list[str]:
    if tuple(expected) == tuple(given):
        return []
    order = " in another order" if sorted(expected) == sorted(given) else ""
    return [f"{what}{order}: {', '.join(expected)}; the robot's are {', '.join(given) or 'none'}"]


def _acceptance(controller: NamedController, info: RobotInfo) -> Acceptance:
    begin = controller.initial_command
    return Acceptance(
        controller.name,
        controller.duration,
        None if begin is None else tuple(check_command(begin, info).tolist()),
        bool(controller.retraces),
        bool(controller.at_once),
        controller.ends,
    )


def _refused(visit: _Visit, refusal: Refusal) -> bool:
    visit.problem = refusal.text
    _send_last(visit, json_messages.refuse(refusal))
    return False


def _send_last(visit: _Visit, message: bytes) -> None:
    with contextlib.suppress(ClosedError):
        visit.connection.send(message)
