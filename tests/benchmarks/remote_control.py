"""What asking a controller in another process costs.

python tests/benchmarks/remote_control.py frames [--steps 20000]
    round trips of the messages of a robot of Atlas's size, with nothing computed: what is said over the sockets of
    `pliant control`, the same bytes over bare sockets, and over ZeroMQ REQ/REP where pyzmq is installed
python tests/benchmarks/remote_control.py loop [--seconds 60] [--period 0.001] [robot=ur10 controller=setpoints …]
    a simulated robot in real time, commanded by `pliant control` with these settings; with --local by the same
    controller in its own process
"""

import argparse
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext

import numpy as np
from hydra import compose, initialize_config_module

from pliant.controllers import Controller, periods
from pliant.deployment.controller import NamedController, build_controller
from pliant.deployment.remote.client import RemoteController
from pliant.deployment.remote.protocol import HEADER, Kind, Layout, StateMessage
from pliant.deployment.remote.server import ControlServer
from pliant.deployment.remote.transport import Address
from pliant.envs.description import described
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals
from pliant.hardware.timing import SystemClock
from pliant.hardware.wrapper import RobotWrapper

JOINTS, SENSORS = 28, 18
FORK = multiprocessing.get_context("fork")


def atlas() -> RobotInfo:
    """A robot of 28 joints and 130 signals."""
    joints = tuple(f"joint{k}" for k in range(JOINTS))
    signals = [*joint_signals(joints, ()), *(Channel(f"imu/{k}", "1", -np.inf, np.inf) for k in range(SENSORS))]
    command = tuple(Channel(f"{joint}/torque", "N·m", -500.0, 500.0) for joint in joints)
    return RobotInfo("atlas", joints, (), command, 0.001, signals=tuple(signals))


def standing() -> State:
    """A state of it."""
    each, none = np.linspace(0.0, 1.0, JOINTS), np.empty(0)
    return State(0.0, each, each, each, each, none, none, none, none, each, np.linspace(0.0, 1.0, SENSORS))


class Silent(Controller):
    """Computes nothing."""

    def __init__(self, columns: int) -> None:
        self.command = np.zeros(columns)

    def update(self, state, t):
        """Return zeros."""
        return self.command


def tell(name: str, times: np.ndarray) -> None:
    """Print the round trips, s."""
    found = 1e6 * np.percentile(times, [50, 99, 99.9, 100])
    print(f"{name:34}" + "".join(f"{one:10.1f}" for one in found), flush=True)


def rounds(ask, steps: int) -> np.ndarray:
    """Return how long each of many calls takes, s, once they are warm."""
    times = np.empty(steps + 200)
    for k in range(len(times)):
        begin = time.perf_counter()
        ask()
        times[k] = time.perf_counter() - begin
    return times[200:]


def protocol(address: str, steps: int) -> np.ndarray:
    """The messages as `pliant control` and `controller=remote` send them."""
    here, there = FORK.Pipe()

    def serve() -> None:
        def make(info):
            return NamedController(Silent(len(info.command)), "silent")

        server = ControlServer(Address.read(address), make, atlas(), tell=lambda line: None)
        there.send(str(server.address))
        server.run()

    process = FORK.Process(target=serve, daemon=True)
    process.start()
    controller, state = RemoteController(atlas(), here.recv(), deadline=1.0), standing()
    controller.reset(state)
    times = rounds(lambda: controller.update(state, 0.0), steps)
    controller.close()
    process.terminate()
    process.join()
    return times


def bare(kind: str, steps: int, question: bytes, answer: bytes) -> np.ndarray:
    """As many bytes, over blocking sockets."""
    if kind == "unix":
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        here = socket.create_connection(listener.getsockname())
        there, _ = listener.accept()
        for one in (here, there):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve() -> None:
        here.close()
        into = bytearray(65536)
        while there.recv_into(into):
            there.send(answer)

    process = FORK.Process(target=serve, daemon=True)
    process.start()
    there.close()
    into = bytearray(65536)

    def ask() -> None:
        here.send(question)
        here.recv_into(into)

    times = rounds(ask, steps)
    here.close()
    process.join()
    return times


def zeromq(kind: str, steps: int, question: bytes, answer: bytes) -> np.ndarray | None:
    """As many bytes, by ZeroMQ's request and reply; None where it is not installed."""
    try:
        import zmq
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        here, there = FORK.Pipe()

        def serve() -> None:
            reply = zmq.Context().socket(zmq.REP)
            reply.bind("tcp://127.0.0.1:*" if kind == "tcp" else f"ipc://{folder}/socket")
            there.send(reply.getsockopt_string(zmq.LAST_ENDPOINT))
            while reply.recv():
                reply.send(answer)

        process = FORK.Process(target=serve, daemon=True)
        process.start()
        request = zmq.Context().socket(zmq.REQ)
        request.connect(here.recv())

        def ask() -> None:
            request.send(question)
            request.recv()

        times = rounds(ask, steps)
        request.close(0)
        process.terminate()
        process.join()
    return times


def frames(steps: int) -> None:
    """Measure round trips."""
    layout, state = Layout(atlas()), standing()
    message = StateMessage(layout)
    message.write(Kind.STATE, 1, state, 0.0, 0.0)
    question, answer = bytes(message.bytes), bytes(HEADER.size + 8 * layout.columns)
    print(f"{len(question)} bytes out, {len(answer)} back; µs: median, p99, p99.9, largest")
    with tempfile.TemporaryDirectory() as folder:
        for name, address in (("Unix socket", f"unix:{folder}/control"), ("TCP", "tcp:0")):
            tell(f"pliant control, {name}", protocol(address, steps))
    for kind in ("unix", "tcp"):
        tell(f"the bytes alone, {kind}", bare(kind, steps, question, answer))
        found = zeromq(kind, steps, question, answer)
        if found is None:
            print("ZeroMQ: skipped, pyzmq is not installed")
        else:
            tell(f"ZeroMQ REQ/REP, {'ipc' if kind == 'unix' else 'tcp'}", found)


class RealTime(RobotWrapper):
    """A simulated robot that takes as long as it simulates."""

    def __init__(self, robot) -> None:
        super().__init__(robot)
        self.clock, self.next, self.lost = SystemClock(), None, 0

    def send(self, command):
        """Let a period pass, on the clock too; those that are over already are lost."""
        sent, period = self.robot.send(command), self.info.period
        now = self.clock.now()
        self.next = (now if self.next is None else self.next) + period
        if now > self.next:
            missed = int((now - self.next) / period) + 1
            self.lost += missed
            self.next += missed * period
        self.clock.sleep_until(self.next)
        return sent


class Timed(Controller):
    """Another controller, and how long each of its updates took."""

    def __init__(self, controller: Controller) -> None:
        self.controller, self.times = controller, []

    def reset(self, state):
        """As the other's."""
        self.controller.reset(state)

    def update(self, state, t):
        """As the other's."""
        begin = time.perf_counter()
        command = self.controller.update(state, t)
        self.times.append(time.perf_counter() - begin)
        return command


@contextmanager
def served(settings: list[str], info: RobotInfo):
    """A controller in a process of its own; what the process says is printed."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/control"
        command = [sys.executable, "-m", "pliant.scripts.main", "control", *settings, f"address={address}"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            print(process.stdout.readline(), end="")
            controller = RemoteController(info, address)
            yield controller
            controller.close()
            print(process.stdout.readline(), process.stdout.readline(), sep="", end="")
        finally:
            process.terminate()
            process.wait()


def loop(seconds: float, settings: list[str], *, local: bool) -> None:
    """Run a robot in real time."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("control", settings)
    robot = RealTime(described(config.robot).simulated())
    here = nullcontext(build_controller(config.controller, robot.info))
    made = here if local else served(settings, robot.info)
    with made as controller, robot:
        timed = Timed(controller)
        robot.reset(command=controller.initial_command)
        for _ in periods(robot, timed, seconds):
            pass
    print(f"{seconds:g} s at {1.0 / robot.info.period:g} Hz: {robot.lost} periods lost of {len(timed.times)}")
    print("µs: median, p99, p99.9, largest")
    tell("an update", np.array(timed.times))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("frames", "loop"))
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--period", type=float, default=0.001)
    parser.add_argument("--local", action="store_true")
    options = parser.parse_intermixed_args()
    if options.what == "frames":
        frames(options.steps)
    else:
        settings = options.settings or ["robot=arm2", "controller=setpoints"]
        loop(options.seconds, [*settings, f"robot.period={options.period}"], local=options.local)


if __name__ == "__main__":
    main()
