"""What tests of controllers in another process share."""

import threading

import numpy as np
import pytest

from pliant.controllers import Controller
from pliant.deployment.controller import NamedController
from pliant.deployment.remote.server import ControlServer
from pliant.deployment.remote.transport import Address
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals


def robot_info(joints=("hip", "knee"), name="leg", unit="rad", period=0.01, parameters=None):
    """A robot of joints with a motor each, and a sensor."""
    motors = [f"{joint}/1" for joint in joints]
    signals = [*joint_signals(joints, motors), Channel("foot/force", "N", 0.0, np.inf)]
    command = tuple(Channel(f"{joint}/position", unit, -1.0, 2.0, 0.5) for joint in joints)
    return RobotInfo(name, tuple(joints), tuple(motors), command, period, parameters or {}, tuple(signals))


def state_of(info, seed=0):
    """A state of it, drawn at random; one signal is not measured."""
    draw = np.random.default_rng(seed).normal
    n, m = len(info.joints), len(info.motors)
    values = [draw(size=n) for _ in range(4)] + [draw(size=m) for _ in range(4)]
    values[2][0] = np.nan
    return State(1.25, *values, draw(size=len(info.command)), draw(size=len(info.sensors)))


class Echo(Controller):
    """Commands where the joints are, less t."""

    duration = 1.5
    initial_command = (0.1, 0.2)

    def __init__(self):
        self.seen, self.begun = [], []

    def reset(self, state):
        self.begun.append(state)

    def update(self, state, t):
        self.seen.append((state, t))
        return state.position - t


@pytest.fixture
def info():
    return robot_info()


@pytest.fixture
def serve(tmp_path):
    """Serves a controller in a thread; returns the server, whose `lines` are what it told."""
    running = []

    def start(make=None, expected=None, address=None, **options):
        lines = []
        given = make or (lambda info: Echo())
        server = ControlServer(
            Address.read(address or f"unix:{tmp_path}/control{len(running)}"),
            lambda info: NamedController(given(info), "Echo"),
            expected or robot_info(),
            tell=lines.append,
            **options,
        )
        server.lines = lines
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        if thread.is_alive():
            server.stop()
        thread.join(60.0)
        assert not thread.is_alive()
