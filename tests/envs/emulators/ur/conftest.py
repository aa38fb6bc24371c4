"""Emulated controllers, and the real client in processes of its own."""

import itertools
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings

FUNCTIONS = Path(__file__).parent / "functions_client.py"
_numbers = itertools.count(2)
PRELUDE = """
import json, sys, time
import rtde_control, rtde_receive, rtde_io
HOST = sys.argv[1]

def eventually(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True

def say(**values):
    print(json.dumps(values), flush=True)

def heard():
    return sys.stdin.readline().strip()

receive = rtde_receive.RTDEReceiveInterface(HOST)
"""


def new_host():
    """A loopback address that no other test process uses: the ports of a controller are fixed."""
    pid, number = os.getpid(), next(_numbers)
    return f"127.{10 + pid % 200}.{pid // 200 % 250 + 1}.{number}"


class Client:
    """A process in which the real client runs a script; they talk by lines."""

    def __init__(self, host, body):
        script = PRELUDE + textwrap.dedent(body)
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, host],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def says(self):
        """Wait for what it says next."""
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise AssertionError(f"the client has ended: {self.process.stderr.read()[-2000:]}")

    def tell(self, text="go"):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


@pytest.fixture
def client():
    """Starts clients: `client(host, script)`."""
    pytest.importorskip("rtde_control", reason="the client is not installed: pliant[ur]")
    started = []

    def start(host, body):
        started.append(Client(host, body))
        return started[-1]

    yield start
    for one in started:
        one.end()


def wait_for(condition, seconds=30.0):
    """Wait until a condition holds; return whether it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture
def eventually():
    return wait_for


@pytest.fixture
def controller():
    """Starts controllers: `controller(polyscope="5.26")`, on addresses of their own."""
    started = []

    def start(host=None, **settings):
        started.append(EmulatedController(ControllerSettings(**settings), host or new_host()))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def lasting():
    """A controller for tests that leave no trace."""
    with EmulatedController(host=new_host()) as machine:
        yield machine


@pytest.fixture(scope="session")
def functions():
    """What every function of the client returned on a version, by name, and the controller's state at the end."""
    pytest.importorskip("rtde_control", reason="the client is not installed: pliant[ur]")
    found = {}

    def run(version):
        if version not in found:
            with EmulatedController(ControllerSettings(polyscope=version), new_host()) as one:
                command = [sys.executable, str(FUNCTIONS), one.host, version]
                done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
                lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
                assert lines, (done.returncode, done.stdout[-1000:], done.stderr[-1000:])
                found[version] = json.loads(lines[-1]), one.state()
        return found[version]

    return run
