"""The messages that are JSON: a robot's greeting, its acceptance or refusal, and failures."""

import json
import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from pliant.controllers.controller import Ended, Event
from pliant.deployment.remote.protocol import (
    ENDED,
    FAULT,
    LONGEST,
    LONGEST_TEXT,
    MOST_EVENTS,
    Kind,
    MessageError,
    framed,
    printable,
    shortened,
)
from pliant.errors import PliantError, RemoteError
from pliant.files import plain
from pliant.hardware.robot import Channel, RobotInfo

_MOST_CHANNELS = 4096


class Refusal(NamedTuple):
    """Why a robot is not commanded."""

    reason: str
    """`robot` (it is for another), `busy`, `version`, `message` or `controller`."""
    text: str


@dataclass(frozen=True)
class Acceptance:
    """What the robot's side is told of a controller."""

    controller: str
    """Its name."""
    duration: float | None = None
    """How long what it does takes, s; None: it does not say."""
    initial_command: tuple[float, ...] | None = None
    """As of a `Controller`."""
    retraces: bool = False
    """As of a `Controller`."""
    at_once: bool = False
    """As of a `Controller`."""
    ends: bool = False
    """Whether it may say that it has ended."""


class Hello(NamedTuple):
    """What a robot's side says first."""

    client: str
    """Names the process: one that has a robot here may bring another, as a rehearsal."""
    info: RobotInfo


def this_process() -> str:
    """Return a name of this process that no other has."""
    return f"{os.getpid()}-{_drawn()}"


@cache
def _drawn() -> str:
    return secrets.token_hex(16)


def hello(info: RobotInfo) -> bytes:
    """Return the message that offers a robot; raise `RemoteError` if it is too long or not plain data."""
    robot = {
        "name": info.name,
        "joints": info.joints,
        "motors": info.motors,
        "command": [_channel(channel) for channel in info.command],
        "signals": [_channel(channel) for channel in info.signals],
        "period": info.period,
        "parameters": info.parameters,
        "bodies": info.bodies,
    }
    return _packed(Kind.HELLO, 0, {"client": this_process(), "robot": robot})


def read_hello(payload: memoryview) -> Hello:
    """Return what a HELLO says; raise `MessageError` if it is not what it should be."""
    given = _entries(payload, "the greeting")
    robot = _mapping(given.get("robot"), "robot")
    bodies = _mapping(robot.get("bodies", {}), "bodies")
    try:
        info = RobotInfo(
            _text(robot.get("name"), "name"),
            _names(robot.get("joints"), "joints"),
            _names(robot.get("motors"), "motors"),
            _channels(robot.get("command"), "command"),
            _number(robot.get("period"), "period", low=1e-6),
            _mapping(robot.get("parameters", {}), "parameters"),
            _channels(robot.get("signals"), "signals"),
            {_text(name, "bodies"): _numbers(at, f"bodies.{name}", 7) for name, at in bodies.items()},
        )
    except MessageError:
        raise
    except PliantError as error:
        raise MessageError(str(error)) from error
    return Hello(_text(given.get("client"), "client"), info)


def accept(found: Acceptance) -> bytes:
    """Return the message that accepts a robot."""
    return _packed(Kind.ACCEPT, 0, vars(found))


def read_acceptance(payload: memoryview, columns: int) -> Acceptance:
    """Return what an ACCEPT says to a robot of that many columns; raise `MessageError` if that cannot be."""
    given = _entries(payload, "the acceptance")
    duration, command = given.get("duration"), given.get("initial_command")
    return Acceptance(
        _text(given.get("controller"), "controller"),
        None if duration is None else _number(duration, "duration", low=0.0),
        None if command is None else _numbers(command, "initial_command", columns),
        _flag(given.get("retraces"), "retraces"),
        _flag(given.get("at_once"), "at_once"),
        _flag(given.get("ends"), "ends"),
    )


def refuse(refusal: Refusal) -> bytes:
    """Return the message that refuses a robot."""
    return _packed(Kind.REFUSE, 0, {"reason": refusal.reason, "text": shortened(refusal.text)})


def read_refusal(payload: memoryview) -> Refusal:
    """Return what a REFUSE says; raise `MessageError` if it says nothing."""
    given = _entries(payload, "the refusal")
    return Refusal(_text(given.get("reason"), "reason"), _text(given.get("text"), "text"))


def fail(number: int, text: str) -> bytes:
    """Return the message that ends a run because of an error, or because the controller's process ends."""
    return _packed(Kind.FAIL, number, {"text": shortened(text)})


def read_failure(payload: memoryview) -> str:
    """Return the text of a FAIL; raise `MessageError` if it has none."""
    return _text(_entries(payload, "the failure").get("text"), "text")


def read_told(told: bytes, flags: int) -> tuple[Ended | None, list[Event]]:
    """Return the end and the events of a COMMAND; raise `MessageError` if they are not what they should be."""
    given = _entries(memoryview(told), "what a command tells")
    events = _list(given.get("events", []), "events")
    if len(events) > MOST_EVENTS:
        raise MessageError(f"a command tells of {len(events)} events; {MOST_EVENTS} at most can be told.")
    pairs = [_list(event, "an event") for event in events]
    if any(len(pair) != 2 for pair in pairs):
        raise _wrong("events", events, "a list of times and texts")
    found = [Event(_number(time, "the time of an event"), _text(text, "an event")) for time, text in pairs]
    if not flags & ENDED:
        return None, found
    return Ended(_text(given.get("reason"), "reason"), bool(flags & FAULT)), found


def _packed(kind: Kind, number: int, content: Mapping[str, Any]) -> bytes:
    """A message of JSON; numbers that are not finite are null in it."""
    try:
        body = json.dumps(plain(content), allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise RemoteError(f"{kind.name.lower()} cannot be sent: {error}") from error
    if len(body) > LONGEST:
        raise RemoteError(f"{kind.name.lower()} has {len(body)} bytes; at most {LONGEST} can be sent.")
    return framed(kind, number, body)


def _channel(channel: Channel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in ("name", "unit", "low", "high", "rest")}


def _entries(payload: memoryview, what: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(bytes(payload), parse_constant=_no_number), what)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"{what} is no JSON: {error}.") from error


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _wrong(what: str, value: object, wanted: str) -> MessageError:
    return MessageError(f"{what} is {shortened(repr(value), 100)}; {wanted} is needed.")


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(what, value, "a mapping")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > _MOST_CHANNELS:
        raise _wrong(what, value, f"a list of at most {_MOST_CHANNELS}")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT:
        raise _wrong(what, value, f"a text of at most {LONGEST_TEXT} characters")
    return printable(value)


def _flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(what, value, "true or false")
    return value


def _number(value: object, what: str, low: float = -math.inf) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and value >= low:
        return float(value)
    raise _wrong(what, value, "a finite number" if math.isinf(low) else f"a number ≥ {low:g}")


def _numbers(value: object, what: str, count: int) -> tuple[float, ...]:
    given = _list(value, what)
    if len(given) != count:
        raise _wrong(what, value, f"a list of {count} numbers")
    return tuple(_number(one, what) for one in given)


def _names(value: object, what: str) -> tuple[str, ...]:
    return tuple(_text(name, what) for name in _list(value, what))


def _channels(value: object, what: str) -> tuple[Channel, ...]:
    return tuple(_read_channel(_mapping(one, what), what) for one in _list(value, what))


def _read_channel(given: Mapping[str, Any], what: str) -> Channel:
    name = _text(given.get("name"), f"{what}: name")
    low, high = given.get("low"), given.get("high")
    return Channel(
        name,
        _text(given.get("unit"), f"{name}: unit"),
        -math.inf if low is None else _number(low, f"{name}: low"),
        math.inf if high is None else _number(high, f"{name}: high"),
        _number(given.get("rest"), f"{name}: rest"),
    )
