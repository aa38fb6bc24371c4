"""A robot and its controller over real sockets: what fits is commanded, all else is refused by name."""

import contextlib
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from tests.deployment.remote.conftest import Echo, robot_info, state_of

from pliant.controllers import Controller, Ended
from pliant.controllers.controller import Event
from pliant.deployment.remote import json_messages
from pliant.deployment.remote.client import RemoteController
from pliant.deployment.remote.protocol import HEADER, Kind, Layout, StateMessage, framed
from pliant.deployment.remote.transport import Address, connect
from pliant.deployment.tool_trace import ToolTrace
from pliant.errors import MismatchError, RemoteError, ShapeError
from pliant.hardware.robot import Channel


def remote(server, info=None, **options):
    patient = {"deadline": 30.0, **options}  # for a computer that is busy with other things
    return RemoteController(info or robot_info(), str(server.address), **patient)


def as_another(monkeypatch, name="another"):
    """What connects from now on says that it is of another process."""
    monkeypatch.setattr(json_messages, "this_process", lambda: name)


def as_soon_as_there_is_room(server):
    """A robot's side that is accepted once the server has noticed that another one has gone."""
    while True:
        with contextlib.suppress(RemoteError):
            return remote(server)


def eventually(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("address", [None, "tcp:0"])
def test_states_come_to_the_controller_and_commands_back_bit_for_bit(serve, info, address):
    echo = Echo()
    server = serve(lambda info: echo, address=address)
    controller = remote(server)
    assert (controller.duration, controller.initial_command) == (1.5, (0.1, 0.2))
    assert (controller.retraces, controller.ends, controller.ended) == (False, False, None)
    controller.check(info)
    states = [state_of(info, seed) for seed in range(5)]
    controller.reset(states[0])
    for k, state in enumerate(states):
        np.testing.assert_array_equal(controller.update(state, 0.01 * k), state.position - 0.01 * k)
    for (seen, t), (k, state) in zip(echo.seen, enumerate(states), strict=True):
        assert t == 0.01 * k
        for a, b in zip(seen, state, strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.shares_memory(a, echo.begun[0].position), "each is the controller's to keep"
    controller.close()
    eventually(lambda: len(server.lines) == 2)
    assert server.lines[0] == "robot 'leg' connects: Echo"
    assert "robot 'leg' leaves after 5 commands; computed in" in server.lines[1]
    assert "round trip of the robot" in server.lines[1]


@pytest.mark.parametrize(
    ("offered", "parts"),
    [
        (robot_info(name="arm"), ["it is for robot 'leg'."]),
        (robot_info(joints=("knee", "hip")), ["joints in another order: hip, knee; the robot's are knee, hip"]),
        (robot_info(joints=("hip",)), ["joints: hip, knee; the robot's are hip"]),
        (robot_info(unit="m"), ["hip/position is in rad, the robot's in m"]),
        (robot_info(period=0.02), ["the period is 0.01 s, the robot's 0.02 s"]),
        (
            replace(robot_info(), command=robot_info().command[::-1]),
            ["command columns in another order: hip/position, knee/position"],
        ),
        (
            robot_info(parameters={"joints": {"hip": {"damping": 2.0}}}),
            ["joints.hip.damping: 1.0 at the controller, 2.0 here"],
        ),
    ],
)
def test_another_robot_is_refused_with_the_difference(serve, offered, parts):
    server = serve(expected=robot_info(parameters={"joints": {"hip": {"damping": 1.0}}}))
    with pytest.raises(MismatchError) as caught:
        remote(server, offered)
    for part in [f"the controller at {server.address} refuses robot {offered.name!r}: ", *parts]:
        assert part in str(caught.value)


def test_what_a_machine_may_have_otherwise_is_accepted(serve):
    expected = robot_info(parameters={"joints": {"hip": {"damping": 1.0}}})
    server = serve(expected=expected, same_parameters=False)
    narrowed = tuple(replace(c, low=-0.5, high=0.5, rest=0.0) for c in expected.command)
    signals = (*expected.signals, Channel("wrist/force", "N", -1.0, 1.0))
    remote(server, replace(expected, command=narrowed, signals=signals, parameters={})).close()


class Picky(Controller):
    def __init__(self, fails):
        self.fails = fails

    def check(self, info):
        if self.fails == "check":
            raise MismatchError("it wants a tail")
        if self.fails == "bug":
            raise ZeroDivisionError("of a tail")

    @property
    def initial_command(self):
        return [0.0] if self.fails == "start" else None

    def update(self, state, t):
        return [0.0, 0.0]


@pytest.mark.parametrize(
    ("fails", "part"),
    [
        ("check", "it wants a tail"),
        ("bug", "controller Echo failed in check: ZeroDivisionError: of a tail"),
        ("start", "takes a command of shape"),
    ],
)
def test_a_controller_may_refuse_a_robot(serve, fails, part):
    server = serve(lambda info: Picky(fails))
    with pytest.raises(RemoteError, match=part):
        remote(server)


def test_a_second_robot_is_refused_and_comes_when_the_first_has_gone(serve, monkeypatch):
    server = serve()
    first, rehearsal = remote(server), remote(server)
    as_another(monkeypatch)
    with pytest.raises(RemoteError, match="robot 'leg' is commanded now; one robot at a time"):
        remote(server)
    first.reset(state_of(robot_info()))
    first.update(state_of(robot_info()), 0.0)
    first.close()
    with pytest.raises(RemoteError, match="one robot at a time"):
        remote(server)
    rehearsal.close()
    second = as_soon_as_there_is_room(server)
    second.reset(state_of(robot_info()))
    second.close()


ROBOT = """
import sys, time
from tests.deployment.remote.conftest import robot_info, state_of
from pliant.deployment.remote.client import RemoteController
controller = RemoteController(robot_info(), sys.argv[1], deadline=30.0)
controller.reset(state_of(robot_info()))
controller.update(state_of(robot_info()), 0.0)
print("ready", flush=True)
time.sleep(600)
"""


def test_a_robot_that_is_killed_leaves_room_for_the_next(serve, root):
    server = serve()
    command = [sys.executable, "-c", ROBOT, str(server.address)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as robot:
        try:
            assert robot.stdout.readline() == "ready\n"
            with pytest.raises(RemoteError, match="robot 'leg' is commanded now"):
                remote(server)
        finally:
            robot.kill()
    as_soon_as_there_is_room(server).close()


def test_every_robot_gets_a_controller_of_its_own(serve):
    made = []
    server = serve(lambda info: made.append(Echo()) or made[-1])
    for _ in range(2):
        controller = remote(server)
        controller.reset(state_of(robot_info()))
        controller.close()
    eventually(lambda: len(server.lines) == 4)
    assert [len(echo.begun) for echo in made] == [1, 1]


def one_step(controller):
    controller.reset(state_of(robot_info()))
    return controller.update(state_of(robot_info()), 0.0)


class Failing(Controller):
    def __init__(self, how):
        self.how = how

    @property
    def ended(self):
        return self.how if isinstance(self.how, Ended) else None

    def reset(self, state):
        if self.how == "reset":
            raise ShapeError("no such beginning")

    def update(self, state, t):
        if self.how == "update":
            return [1 / t, 0.0]
        return {"nan": [np.nan, 0.0], "size": [0.0], "none": None, "text": "up"}.get(self.how, [0.0, 0.0])


@pytest.mark.parametrize(
    ("how", "part"),
    [
        ("reset", "no such beginning"),
        ("update", r"controller Echo failed at t = 0 s: ZeroDivisionError: .* \(test_server.py, line \d+\)"),
        ("nan", "Echo at t = 0 s: robot 'leg': command has no finite value for hip/position"),
        ("size", r"Echo at t = 0 s: robot 'leg' takes a command of shape \(2,\)"),
        ("none", "Echo at t = 0 s"),
        ("text", "Echo at t = 0 s"),
    ],
)
def test_what_a_controller_fails_at_is_told_to_the_robot(serve, how, part):
    server = serve(lambda info: Failing(how))
    controller = remote(server)
    with pytest.raises(RemoteError, match=f"Echo at {server.address}: .*{part}"):
        one_step(controller)
    with pytest.raises(RemoteError, match="is gone: it was left"):
        controller.update(state_of(robot_info()), 0.01)
    eventually(lambda: len(server.lines) == 2)
    remote(server).close()


@pytest.mark.parametrize("ended", [Ended("the nut is tight"), Ended("no contact", fault=True)])
def test_an_end_comes_with_its_reason(serve, ended):
    controller = remote(serve(lambda info: Failing(ended)))
    assert controller.ends
    controller.reset(state_of(robot_info()))
    assert controller.ended is None
    controller.update(state_of(robot_info()), 0.0)
    assert controller.ended == ended
    controller.reset(state_of(robot_info()))
    assert controller.ended is None
    controller.close()


class Telling(Controller):
    """Tells of some events with every update, and of a clearance."""

    retraces = True

    def __init__(self, counts):
        self.counts, self.events, self.place = counts, deque(maxlen=100), -1

    @property
    def clearance(self):
        return [0.01 * self.place, -0.008]

    def reset(self, state):
        self.events.clear()
        self.place = -1

    def update(self, state, t):
        self.place += 1
        count = self.counts[self.place] if self.place < len(self.counts) else 0
        self.events.extend(Event(t, f"event {self.place}.{k}") for k in range(count))
        return [0.0, 0.0]


def test_events_and_clearance_are_those_of_a_controller_in_the_robots_own_process(serve):
    counts = [0, 2, 1, 40, 0, 1, 0, 0]
    server, own = serve(lambda info: Telling(counts)), Telling(counts)
    controller, state = remote(server), state_of(robot_info())
    assert controller.retraces
    assert controller.clearance is None
    for _ in range(2):
        traces = ToolTrace(own), ToolTrace(controller)
        own.reset(state)
        controller.reset(state)
        assert controller.clearance is None
        assert not controller.events
        for k in range(len(counts)):
            own.update(state, 0.01 * k)
            controller.update(state, 0.01 * k)
            np.testing.assert_array_equal(controller.clearance, own.clearance)
            for trace in traces:
                trace.see()
            if k == 2:
                assert traces[0].events == traces[1].events
        assert len(traces[0].events) == 44
        assert traces[1].events == traces[0].events
        assert traces[1].numbers() == traces[0].numbers()


@pytest.mark.parametrize("clearance", [[np.nan, 0.0], [0.0], "up"])
def test_a_clearance_that_cannot_be_is_a_fault(serve, clearance):
    wrong = type("Wrong", (Telling,), {"clearance": clearance})
    found = remote(serve(lambda info: wrong([])))
    with pytest.raises(RemoteError, match="Echo at t = 0 s"):
        one_step(found)


def test_a_controller_that_is_late_is_a_fault_and_the_next_robot_is_served(serve):
    go = threading.Event()

    class Slow(Echo):
        def update(self, state, t):
            if t > 0.0:
                go.wait(60.0)
            return super().update(state, t)

    server = serve(lambda info: Slow())
    controller, state = remote(server, deadline=0.02), state_of(robot_info())
    controller.reset(state)
    controller.update(state, 0.0)
    with pytest.raises(RemoteError, match=r"Echo at unix:.* did not answer within 0.02 s"):
        controller.update(state, 0.01)
    go.set()
    eventually(lambda: len(server.lines) == 2)
    assert "it did not wait for its last command" in server.lines[1]
    remote(server).close()


def test_the_first_command_may_take_longer(serve):
    class Compiling(Echo):
        def update(self, state, t):
            time.sleep(0.1)
            return super().update(state, t)

    controller, state = remote(serve(lambda info: Compiling()), deadline=0.01), state_of(robot_info())
    controller.reset(state)
    controller.update(state, 0.0)
    with pytest.raises(RemoteError, match=r"did not answer within 0\.01 s"):
        controller.update(state, 0.01)


def test_a_server_that_is_stopped_says_so(serve):
    server = serve()
    controller, state = remote(server), state_of(robot_info())
    controller.reset(state)
    controller.update(state, 0.0)
    server.stop()
    eventually(lambda: len(server.lines) == 2)
    with pytest.raises(RemoteError, match=r"Echo at .*: it was stopped"):
        controller.update(state, 0.01)


def ask(server, *messages):
    """Send messages over a bare connection; returns the last answer's kind and text."""
    connection = connect(server.address)
    connection.wait_for(60.0)
    for message in messages:
        connection.send(message)
        answer = connection.take_within(60.0)
    read = {Kind.REFUSE: json_messages.read_refusal, Kind.FAIL: json_messages.read_failure}
    found = answer.kind, read[answer.kind](answer.payload) if answer.kind in read else None
    connection.close()
    return found


def numbered(kind, number, t=0.0):
    info = robot_info()
    message = StateMessage(Layout(info))
    message.write(kind, number, state_of(info), t, 0.0)
    return bytes(message.bytes)


HELLO = json_messages.hello(robot_info())


@pytest.mark.parametrize(
    ("messages", "part"),
    [
        ([HELLO, numbered(Kind.RESET, 2)], "request 2 came after 0"),
        ([HELLO, numbered(Kind.RESET, 1), numbered(Kind.STATE, 1)], "request 1 came after 1"),
        ([HELLO, numbered(Kind.STATE, 1)], "a state came before that of a reset"),
        ([HELLO, framed(Kind.RESET, 1, b"12345678")], "kind 4 with 8 bytes came"),
        ([HELLO, framed(Kind.HELLO, 1, b"{}")], "kind 1 with 2 bytes came"),
        ([HELLO, framed(77, 1, b"")], "kind 77 with 0 bytes"),
        ([HELLO, numbered(Kind.RESET, 1, np.nan)], "finite numbers are needed"),
    ],
)
def test_messages_out_of_turn_end_the_run(serve, messages, part):
    server = serve()
    kind, text = ask(server, *messages)
    assert (kind, part in text) == (Kind.FAIL, True), text
    remote(server).close()


@pytest.mark.parametrize(
    ("message", "reason", "part"),
    [
        (HELLO[:4] + b"\x01" + HELLO[5:], "version", "version 1 of the messages is spoken; here it is 2"),
        (numbered(Kind.STATE, 1), "message", "the first message must be a greeting"),
        (framed(Kind.HELLO, 0, b"[]"), "message", "the greeting is []"),
        (b"hello", "message", "no message"),
    ],
)
def test_a_greeting_that_is_none_is_refused(serve, message, reason, part):
    server = serve()
    kind, refusal = ask(server, message)
    assert (kind, refusal.reason) == (Kind.REFUSE, reason)
    assert part in refusal.text
    assert server.lines == []
    remote(server).close()


def test_who_says_nothing_is_sent_away_and_others_do_not_wait(serve, monkeypatch):
    monkeypatch.setattr("pliant.deployment.remote.server._GREETING_TIME", 0.05)
    server = serve(address="tcp:0")
    silent = socket.create_connection(server.address[1:], 60.0)
    half = socket.create_connection(server.address[1:], 60.0)
    half.sendall(HELLO[:30])
    remote(server).close()
    for one in (silent, half):
        assert one.recv(1) == b""
        one.close()


def test_no_more_than_a_few_connections_are_kept(serve):
    server = serve()
    crowd = [connect(server.address) for _ in range(17)]
    crowd[-1].wait_for(60.0)
    assert json_messages.read_refusal(crowd[-1].take_within(60.0).payload).reason == "busy"
    for one in crowd:
        one.close()
    as_soon_as_there_is_room(server).close()


def mutated(message, draw):
    """A message with some of its bytes changed, left out, doubled or cut off."""
    data = bytearray(message)
    for _ in range(draw.integers(1, 5)):
        at = int(draw.integers(0, max(1, len(data))))
        match draw.integers(0, 5):
            case 0:
                data[at : at + 1] = draw.bytes(1)
            case 1:
                del data[at : at + int(draw.integers(1, 9))]
            case 2:
                data[at:at] = draw.bytes(int(draw.integers(1, 9)))
            case 3:
                del data[at:]
            case 4:
                data[at : at + 8] = struct.pack("<d", draw.choice([np.nan, np.inf, 1e308]))
    return bytes(data)


@pytest.mark.parametrize("address", [None, "tcp:0"])
def test_a_thousand_damaged_messages_neither_end_the_server_nor_reach_a_controller(serve, address):
    echo = Echo()
    server = serve(lambda info: echo, address=address)
    draw = np.random.default_rng(7)
    usual = [HELLO, numbered(Kind.RESET, 1), numbered(Kind.STATE, 2)]
    for _ in range(1000):
        which = int(draw.integers(0, 3))
        damaged = mutated(usual[which], draw)
        if not damaged or damaged == usual[which]:
            continue
        seen = len(echo.begun), len(echo.seen)
        connection = connect(server.address)
        connection.wait_for(60.0)
        for message in usual[:which]:
            connection.send(message)
            assert connection.take_within(60.0).kind in (Kind.ACCEPT, Kind.READY)
        before = len(echo.begun), len(echo.seen)
        assert before == (seen[0] + (which == 2), seen[1])
        connection.send(damaged)
        connection._socket.shutdown(socket.SHUT_WR)
        kinds = []
        with contextlib.suppress(RemoteError):
            while True:
                kinds.append(connection.take_within(60.0).kind)
        assert set(kinds) <= {Kind.REFUSE, Kind.FAIL}, damaged
        assert (len(echo.begun), len(echo.seen)) == before
        connection.close()
    controller, state = remote(server), state_of(robot_info())
    controller.reset(state)
    np.testing.assert_array_equal(controller.update(state, 0.5), state.position - 0.5)
    controller.close()


def test_damaged_greetings_with_a_checksum_that_is_right_do_not_end_the_server(serve):
    server, draw = serve(), np.random.default_rng(8)
    answers = []
    for _ in range(300):
        kind, refusal = ask(server, framed(Kind.HELLO, 0, mutated(HELLO[HEADER.size :], draw)))
        assert kind == Kind.ACCEPT or refusal.reason in ("message", "robot", "busy")
        answers.append(kind)
    assert answers.count(Kind.REFUSE) > 250
    as_soon_as_there_is_room(server).close()


@pytest.mark.parametrize("parameters", ['{"joints": 5, "x": 1}', '{"joints": {"hip": [[1], {}]}}', 400 * '{"a":'])
def test_parameters_of_any_form_do_not_end_the_server(serve, parameters):
    server = serve(expected=robot_info(parameters={"joints": {"hip": {"damping": 1.0}}}))
    text = HELLO[HEADER.size :].decode().replace('"parameters":{}', f'"parameters":{parameters}')
    assert parameters in text
    end = 400 * "}" if parameters.startswith('{"a":{') else ""
    greeting = text.replace(parameters, parameters + ("1" + end if end else ""))
    kind, refusal = ask(server, framed(Kind.HELLO, 0, greeting.encode()))
    assert kind == Kind.ACCEPT or refusal.reason in ("message", "robot"), refusal
    with pytest.raises(MismatchError):  # it is there
        remote(server, robot_info(name="cat"))


def test_the_address_is_left_free(serve, tmp_path):
    server = serve()
    server.stop()
    eventually(lambda: not (tmp_path / "control0").exists())
    assert Address.read(str(server.address)) == server.address
    assert HEADER.size == 24
