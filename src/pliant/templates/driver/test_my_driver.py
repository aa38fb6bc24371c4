"""What the driver does, on what stands in for the machine."""

import socket
import threading
import time

import pytest
from my_driver import MyDriver

from pliant.envs import describe
from pliant.errors import RobotError
from pliant.hardware.checking import check_robot

INFO = describe("smartsix").simulated(0.02).info


@pytest.fixture
def machine():
    """A machine whose joints are at once where they are told to be; returns its port and what it was asked."""
    wire, asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
    wire.bind(("127.0.0.1", 0))
    wire.settimeout(0.1)
    ended = threading.Event()

    def serve():
        position = [0.1] * len(INFO.joints)
        while not ended.is_set():
            try:
                question, sender = wire.recvfrom(1500)
            except TimeoutError:
                continue
            number, verb, *words = question.decode().split()
            asked.append(verb)
            if verb == "move":
                position = [float(word) for word in words]
            state = [time.monotonic(), *position, *[0.0] * len(position)]
            answers = {"joints": " ".join(INFO.joints), "state": " ".join(map(str, state))}
            wire.sendto(f"{number} {answers.get(verb, 'done')}".encode(), sender)

    thread = threading.Thread(target=serve)
    thread.start()
    yield wire.getsockname()[1], asked
    ended.set()
    thread.join()
    wire.close()


def test_it_keeps_what_pliant_relies_on(machine):
    port, asked = machine
    found = check_robot(MyDriver(INFO, "127.0.0.1", port, timeout=5.0), periods=20)
    assert not any(name.endswith(("/position", "/velocity")) for name in found.unmeasured)
    assert asked[0] == "joints"
    assert asked.index("arm") < asked.index("move")
    assert "off" in asked[asked.index("halt") :]


def test_a_machine_of_other_joints_is_none_of_its_own(machine):
    port, asked = machine
    with (
        pytest.raises(RobotError, match="moves joint1"),
        MyDriver(describe("arm2").simulated().info, "127.0.0.1", port, timeout=5.0),
    ):
        pass
    assert asked == ["joints"], "its torque is left as it is"


def test_nobody_at_the_address_is_told():
    with pytest.raises(RobotError, match="while connecting"):
        MyDriver(INFO, "127.0.0.1", 9, timeout=1.0).connect()
