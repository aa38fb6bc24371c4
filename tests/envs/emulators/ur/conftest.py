"""Emulated controllers, and the real client in processes of its own."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("rtde_control", reason="the client of Universal Robots is not installed: pliant[ur]")

HERE = Path(__file__).parent
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


def run_functions(host, version, seconds=300):
    """Let the real client call every function; return what came out of each."""
    command = [sys.executable, str(HERE / "functions_client.py"), host, version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return json.loads(lines[-1])
