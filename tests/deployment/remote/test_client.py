"""The robot's side against a process that does not keep to the messages: nothing of it reaches a robot."""

import socket
import threading

import numpy as np
import pytest
from tests.deployment.remote.conftest import robot_info, state_of
from tests.deployment.remote.test_server import mutated

from pliant.controllers import run
from pliant.deployment.remote import json_messages, protocol
from pliant.deployment.remote.client import RemoteController
from pliant.deployment.remote.json_messages import Acceptance, Refusal
from pliant.deployment.remote.protocol import HEADER, Kind, framed
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, RemoteError
from pliant.hardware.robot import Robot

ACCEPT = json_messages.accept(Acceptance("Rogue"))
GOOD = np.array([0.25, -0.5])


@pytest.fixture
def rogue(tmp_path):
    """Serves answers one after the other; None ends the connection, an event is waited for."""
    threads, places = [], iter(range(10_000))

    def start(*answers):
        place = str(tmp_path / f"rogue{next(places)}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(place)
        listener.listen()

        def serve():
            with listener:
                client, _ = listener.accept()
            with client:
                for answer in answers:
                    if not client.recv(1 << 18) or answer is None:
                        return
                    if isinstance(answer, threading.Event):
                        answer.wait(60.0)
                    else:
                        client.send(answer)
                client.recv(1 << 18)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return f"unix:{place}"

    yield start
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()


def begun(address, **options):
    controller = RemoteController(robot_info(), address, **options)
    controller.reset(state_of(robot_info()))
    return controller


STATE_FAULTS = {
    "an old answer": (protocol.command(1, GOOD, None), "it answers request 1 where 2 was asked"),
    "one to come": (protocol.command(3, GOOD, None), "it answers request 3 where 2 was asked"),
    "another kind": (protocol.ready(2), "a message of kind 5 came; 7 (COMMAND) is needed"),
    "one number less": (protocol.command(2, GOOD[:1], None), "a command of 8 bytes came"),
    "one more": (protocol.command(2, np.zeros(3), None), "a command of 24 bytes came"),
    "NaN": (protocol.command(2, np.array([0.0, np.nan]), None), "finite numbers are needed"),
    "infinite": (protocol.command(2, np.array([0.0, np.inf]), None), "finite numbers are needed"),
    "garbage": (b"\x00" * 40, "no message"),
    "a damaged command": (protocol.command(2, GOOD, None)[:-1] + b"\x01", "damaged"),
    "another version": (b"PLNT\x01" + protocol.command(2, GOOD, None)[5:], "version 1 of the messages"),
    "a failure of no words": (framed(Kind.FAIL, 2, b"{}"), "text is None"),
    "the end": (None, "is gone: the connection was closed"),
}


@pytest.mark.parametrize(("answer", "part"), STATE_FAULTS.values(), ids=STATE_FAULTS)
def test_an_answer_that_may_not_be_is_a_fault_and_the_last(rogue, answer, part):
    address = rogue(ACCEPT, protocol.ready(1), answer)
    controller, state = begun(address), state_of(robot_info())
    with pytest.raises(RemoteError) as caught:
        controller.update(state, 0.0)
    assert str(caught.value).startswith(f"Rogue at {address} ")
    assert part in str(caught.value)
    with pytest.raises(RemoteError, match="is gone: it was left after a fault"):
        controller.reset(state)


@pytest.mark.parametrize(
    ("answer", "error", "part"),
    [
        (
            json_messages.refuse(Refusal("robot", "it is for a cat.")),
            MismatchError,
            "refuses robot 'leg': it is",
        ),
        (json_messages.refuse(Refusal("busy", "later.")), RemoteError, "refuses robot 'leg': later."),
        (framed(Kind.ACCEPT, 0, b"{}"), RemoteError, "cannot be relied on: controller is None"),
        (framed(Kind.REFUSE, 0, b"5"), RemoteError, "cannot be relied on: the refusal is 5"),
        (framed(Kind.ACCEPT, 1, ACCEPT[HEADER.size :]), RemoteError, "it answers request 1 where 0 was asked"),
        (b"HTTP/1.1 400 Bad Request", RemoteError, "cannot be relied on: "),
        (None, RemoteError, "is gone: the connection was closed"),
    ],
)
def test_a_greeting_that_is_not_accepted_is_told(rogue, answer, error, part):
    address = rogue(answer)
    with pytest.raises(error) as caught:
        RemoteController(robot_info(), address)
    assert f"the controller at {address}" in str(caught.value)
    assert part in str(caught.value)


def test_silence_is_a_fault(rogue):
    end = threading.Event()
    with pytest.raises(RemoteError, match=r"did not answer within 0\.05 s"):
        RemoteController(robot_info(), rogue(end), deadline=0.01, patience=0.05)
    controller = begun(rogue(ACCEPT, protocol.ready(1), protocol.command(2, GOOD, None), end), deadline=0.03)
    np.testing.assert_array_equal(controller.update(state_of(robot_info()), 0.0), GOOD)
    with pytest.raises(RemoteError, match=r"Rogue at .* did not answer within 0\.03 s"):
        controller.update(state_of(robot_info()), 0.01)
    end.set()


def test_a_thousand_damaged_commands_do_not_reach_a_robot(rogue):
    draw = np.random.default_rng(3)
    good = protocol.command(2, GOOD, None)
    state, refused = state_of(robot_info()), 0
    for _ in range(1000):
        damaged = mutated(good, draw)
        if not damaged or damaged == good:
            continue
        controller = begun(rogue(ACCEPT, protocol.ready(1), damaged))
        with pytest.raises(RemoteError):
            controller.update(state, 0.0)
        refused += 1
    assert refused > 900


class Standing(Robot):
    """Stands still, and keeps what it is sent."""

    def __init__(self):
        self.sent, self.stopped = [], False

    @property
    def info(self):
        return robot_info()

    def connect(self):
        pass

    def read(self):
        return state_of(robot_info())

    def send(self, command):
        self.sent.append(np.array(command))
        return self.sent[-1]

    def stop(self):
        self.stopped = True

    def close(self):
        pass


def test_the_loop_stops_its_robot_at_a_fault(rogue):
    robot = Standing()
    answers = [protocol.command(2, GOOD, None), protocol.command(3, np.array([np.nan, 0.0]), None)]
    controller = RemoteController(robot_info(), rogue(ACCEPT, protocol.ready(1), *answers))
    with pytest.raises(RemoteError, match="finite numbers"):
        run(robot, controller, 1.0)
    np.testing.assert_array_equal(robot.sent, [GOOD])
    assert robot.stopped


def test_another_robot_than_was_sent_is_refused(rogue):
    controller = RemoteController(robot_info(), rogue(ACCEPT))
    controller.check(robot_info())
    with pytest.raises(MismatchError, match="'tail' is missing"):
        controller.check(robot_info(joints=("hip", "knee", "tail")))
    with pytest.raises(MismatchError, match=r"was told a period of 0\.01 s, not 0\.02 s"):
        controller.check(robot_info(period=0.02))
    controller.close()


@pytest.mark.parametrize(
    ("options", "error", "part"),
    [
        ({"deadline": 0.0}, OutOfBoundsError, "deadline"),
        ({"deadline": np.nan}, OutOfBoundsError, "deadline"),
        ({"patience": 0.01}, OutOfBoundsError, "patience"),
        ({"address": "here"}, ConfigurationError, "address is 'here'"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, error, part):
    with pytest.raises(error, match=part):
        RemoteController(robot_info(), **options)
