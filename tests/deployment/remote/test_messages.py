"""The bytes: what goes in comes out, and nothing else is believed."""

import json
import struct
import zlib

import numpy as np
import pytest
from tests.deployment.remote.conftest import robot_info, state_of

from pliant.controllers import Ended
from pliant.controllers.controller import Event
from pliant.deployment.remote import json_messages, protocol
from pliant.deployment.remote.json_messages import Acceptance, Refusal
from pliant.deployment.remote.protocol import HEADER, Kind, Layout, Message, MessageError, StateMessage
from pliant.errors import RemoteError

CRC = 20
"""Where the page says the checksum is."""


def body(message):
    return memoryview(bytearray(message))[HEADER.size :]


def said(content):
    return memoryview(json.dumps(content).encode())


def test_the_frame_is_that_of_the_page(info):
    message = StateMessage(Layout(info))
    state = state_of(info)
    message.write(Kind.STATE, 7, state, 0.25, 1e-5)
    magic, version, kind, flags, size, number = struct.unpack_from("<4sBBHIQ", message.bytes)
    assert (magic, version, kind, flags, number) == (b"PLNT", 2, 6, 0, 7)
    assert size == len(message.bytes) - 24
    found = np.frombuffer(message.bytes, "<f8", offset=24)
    expected = [0.25, state.time, 1e-5, *state.command, *state.signals]
    np.testing.assert_array_equal(found, expected)
    without = bytes(message.bytes[:CRC]) + bytes(message.bytes[24:])
    assert zlib.crc32(without) == struct.unpack_from("<I", message.bytes, CRC)[0]


def test_a_state_comes_out_as_it_went_in(info):
    layout, state = Layout(info), state_of(info, 3)
    numbers = np.zeros(layout.numbers)
    layout.write(numbers, state, 0.5, np.nan)
    for before, after in zip(state, layout.state(numbers), strict=True):
        np.testing.assert_array_equal(after, before)


def test_a_robot_comes_out_as_it_went_in():
    info = robot_info(parameters={"joints": {"hip": {"mass": 1.5, "axis": [0.0, 1.0, 0.0]}}})
    found = json_messages.read_hello(body(json_messages.hello(info)))
    assert found.info == info, "bounds that are infinite too"
    assert found.client == json_messages.this_process()


@pytest.mark.parametrize(
    "acceptance",
    [Acceptance("Echo"), Acceptance("Echo", 2.5, (0.1, -0.2), retraces=True, at_once=True, ends=True)],
)
def test_an_acceptance_comes_out_as_it_went_in(acceptance):
    assert json_messages.read_acceptance(body(json_messages.accept(acceptance)), 2) == acceptance


EVENTS = [Event(0.25, "tool touches"), Event(1.5, "Kraft \N{GREATER-THAN OR EQUAL TO} 5 N\nup")]


@pytest.mark.parametrize("ended", [None, Ended("the nut is tight"), Ended("no contact", fault=True)])
@pytest.mark.parametrize("clearance", [None, np.array([0.0, -0.008])])
@pytest.mark.parametrize("events", [[], EVENTS])
def test_a_command_comes_out_as_it_went_in(ended, clearance, events):
    values = np.array([0.1, -1e300])
    sent = protocol.command(5, values, ended, clearance, events)
    flags = HEADER.unpack_from(sent)[3]
    found = protocol.read_command(Message(Kind.COMMAND, 5, flags, body(sent)), 2)
    np.testing.assert_array_equal(found.command, values)
    assert (found.clearance is None) == (clearance is None)
    if clearance is not None:
        np.testing.assert_array_equal(found.clearance, clearance)
    if ended is None and not events:
        assert found.told == b""
    else:
        assert json_messages.read_told(found.told, flags) == (ended, events)


def test_long_texts_of_events_are_shortened():
    sent = protocol.command(1, np.zeros(2), None, events=16 * [Event(0.0, 10_000 * "\N{SNOWMAN}")])
    found = protocol.read_command(Message(Kind.COMMAND, 1, protocol.EVENTS, body(sent)), 2)
    _, events = json_messages.read_told(found.told, protocol.EVENTS)
    assert [len(event.text) for event in events] == 16 * [500]


@pytest.mark.parametrize(
    ("told", "part"),
    [
        (b"", "no JSON"),
        (b"[]", "what a command tells is"),
        (b'{"events": 3}', "events is 3"),
        (b'{"events": [[0.0]]}', "a list of times and texts"),
        (b'{"events": [["now", "x"]]}', "the time of an event is 'now'"),
        (b'{"events": [[NaN, "x"]]}', "NaN"),
        (b'{"events": [[0.0, ""]]}', "an event is ''"),
        (b'{"events": [' + b",".join(17 * [b'[0, "x"]']) + b"]}", "17 events"),
        (b'{"events": []}', "reason is None"),
    ],
)
def test_what_a_command_cannot_tell_is_refused(told, part):
    with pytest.raises(MessageError) as caught:
        json_messages.read_told(told, protocol.EVENTS | protocol.ENDED)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("payload", "flags"),
    [(8, 0), (24, 0), (15, 1), (0, 0), (24, 16), (32, 0)],
    ids=["one number less", "one more", "no whole numbers", "none", "unknown flags", "a clearance unasked"],
)
def test_a_command_of_another_size_is_refused(payload, flags):
    with pytest.raises(MessageError, match="16, of 2 columns"):
        protocol.read_command(Message(Kind.COMMAND, 1, flags, memoryview(bytes(payload))), 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_command_that_is_not_finite_is_refused(bad):
    with pytest.raises(MessageError, match="finite"):
        protocol.read_command(Message(Kind.COMMAND, 1, 0, memoryview(np.array([0.0, bad]).tobytes())), 2)


def test_a_text_cannot_command_the_terminal():
    refusal = Refusal("busy", "\x1b[2Jgone\x07")
    text = json_messages.read_refusal(body(json_messages.refuse(refusal))).text
    assert text == "\N{REPLACEMENT CHARACTER}[2Jgone\N{REPLACEMENT CHARACTER}"
    assert len(json_messages.read_failure(body(json_messages.fail(1, 10_000 * "x")))) == protocol.LONGEST_TEXT


def greeting(**changes):
    whole = json.loads(bytes(body(json_messages.hello(robot_info()))))
    whole["robot"] |= changes
    return whole


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ([], "the greeting is"),
        ({"client": "a"}, "robot is None; a mapping"),
        (greeting(name=5), "name is 5"),
        (greeting(name=""), "name is ''"),
        (greeting(name=3000 * "x"), "at most 2000 characters"),
        (greeting(joints="hip"), "joints is 'hip'; a list"),
        (greeting(joints=["hip"]), "its signals must begin with"),
        (greeting(joints=["hip", None]), "joints is None"),
        (greeting(period=-1.0), "period is -1.0"),
        (greeting(period=True), "period is True"),
        (greeting(period=10**400), "a number"),
        (
            greeting(command=[{"name": "a", "unit": "rad", "low": 1.0, "high": 0.0, "rest": 0.5}]),
            "rest 0.5 is out",
        ),
        (greeting(command=[{"name": "a", "unit": "rad", "low": "x", "high": 0.0, "rest": 0.5}]), "a: low is 'x'"),
        (greeting(command=5000 * [0]), "at most 4096"),
        (greeting(parameters=[1]), "parameters is [1]; a mapping"),
        (greeting(bodies={"ball": [0.0]}), "a list of 7 numbers"),
        (greeting() | {"client": 1}, "client is 1"),
    ],
)
def test_a_greeting_that_cannot_be_is_refused_by_name(content, part):
    with pytest.raises(MessageError) as caught:
        json_messages.read_hello(said(content))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "payload", [b"", b"\xff\xfe", b"{", b'{"robot": NaN}', 100_000 * b"[", b'{"robot": ' + 5000 * b"9" + b"}"]
)
def test_what_is_no_json_is_refused(payload):
    with pytest.raises(MessageError):
        json_messages.read_hello(memoryview(payload))


@pytest.mark.parametrize(
    "change",
    [
        {"duration": -1.0},
        {"duration": "long"},
        {"initial_command": [0.0]},
        {"retraces": 1},
        {"at_once": "yes"},
        {"controller": None},
    ],
)
def test_an_acceptance_that_cannot_be_is_refused(change):
    usual = json.loads(bytes(body(json_messages.accept(Acceptance("Echo")))))
    with pytest.raises(MessageError, match=next(iter(change))):
        json_messages.read_acceptance(said(usual | change), 2)


def test_what_is_too_long_is_not_sent():
    with pytest.raises(RemoteError, match="at most 131072"):
        json_messages.hello(robot_info(parameters={"text": 200_000 * "x"}))
    with pytest.raises(MessageError, match="too long"):
        Layout(robot_info(joints=[f"j{k}" for k in range(2000)]))
