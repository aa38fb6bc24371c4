"""The running box: records over UDP, its page over HTTP, and a control channel, in one loop and in real time."""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.envs.emulators.control import ControlServer, carry_out, check_loopback, control_path
from pliant.envs.emulators.net_ft.box import Box, BoxEmulation
from pliant.errors import OutputError, check_bounds, check_count
from pliant.hardware.force_torque.net_ft import PORT
from pliant.hardware.force_torque.net_ft_page import PAGE
from pliant.hardware.force_torque.wrench import QUANTITIES
from pliant.hardware.robot import Robot, State
from pliant.hardware.wrapper import RobotWrapper

SOCKET: Final = "box"
"""What the control socket is called after, in its folder."""
Source = Callable[[float], ArrayLike]
"""Raw wrench, (6,), N and N·m, at a time since the start, s."""
_MOST_BEHIND: Final = 0.02
"""Time that is made up for after a stall of this process, s."""
_LONGEST_REQUEST: Final = 4096


@dataclass
class Wire:
    """What happens to records on their way."""

    lost: float = 0.0
    """Part of them that is lost."""
    swapped: float = 0.0
    """Part of them that come after the next one."""
    delay: float = 0.0
    """By which all come late, s."""

    def __post_init__(self) -> None:
        check_bounds("lost", self.lost, 0.0, 1.0)
        check_bounds("swapped", self.swapped, 0.0, 1.0)
        check_bounds("delay", self.delay, 0.0, 10.0, "s")


class NetFTEmulator:
    """An emulated box on an address of this computer.

    Args:
        settings: the box; None: the usual one.
        source: what it is to read, raw, at a time since the start, s; None: what `push` says.
        host: loopback address that it serves.
        port: of the records; 0: any that is free.
        page_port: of the page, likewise.
        folder: where its control socket is made; None: there is none.
    """

    def __init__(
        self,
        settings: BoxEmulation | None = None,
        source: Source | None = None,
        host: str = "127.0.0.1",
        port: int = PORT,
        page_port: int = 80,
        folder: Path | None = None,
    ) -> None:
        check_loopback(host)
        check_count("port of the box", port, 0, 65535)
        check_count("page_port of the box", page_port, 0, 65535)
        self.box = Box(settings or BoxEmulation())
        self.host = host
        self._source = source
        self._wire, self._random = Wire(), np.random.default_rng(self.box.settings.seed)
        self._plugged = True
        self._stopped = threading.Event()
        self._client: tuple[str, int] | None = None
        self._under_way: list[tuple[float, bytes]] = []
        self._held = b""
        self._pages: dict[socket.socket, bytes] = {}
        self._control: ControlServer | None = None
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._http = socket.socket()
        try:
            self._udp.bind((host, port))
            self._http.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._http.bind((host, page_port))
            self._http.listen()
            if folder is not None:
                self._control = ControlServer(control_path(folder / SOCKET), self._command)
        except OSError as error:
            self.close()
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"cannot serve {host}, ports {port} and {page_port}: {error.strerror}.") from error
        self._udp.setblocking(False)
        self._http.setblocking(False)
        self.port, self.page_port = int(self._udp.getsockname()[1]), int(self._http.getsockname()[1])

    def run(self, parent: int | None = None) -> None:
        """Serve until `stop`, or until the process `parent` is no longer this one's parent."""
        period = 1.0 / self.box.settings.rate
        start = deadline = time.monotonic()
        try:
            while not self._stopped.is_set() and (parent is None or os.getppid() == parent):
                self._serve(max(deadline - time.monotonic(), 0.0))
                now = time.monotonic()
                deadline = max(deadline, now - _MOST_BEHIND)
                while deadline <= now:
                    if self._source is not None:
                        self.box.push(self._source(deadline - start))
                    self._send(self.box.record(), now)
                    deadline += period
                self._deliver(now)
        finally:
            self.close()

    def stop(self) -> None:
        """End `run` soon."""
        self._stopped.set()

    def close(self) -> None:
        """Close everything that was opened."""
        for one in (self._udp, self._http, *self._pages):
            one.close()
        self._pages.clear()
        if self._control is not None:
            self._control.close()

    # What can be done to it while it runs, from any thread or over the control channel

    def push(self, wrench: ArrayLike) -> None:
        """Let it read this raw wrench, (6,), N and N·m, from now on."""
        self.box.push(wrench)

    def unplug(self) -> None:
        """Pull its network cable."""
        self._plugged = False

    def plug_in(self) -> None:
        """Put the cable in again."""
        self._plugged = True

    def restart(self) -> None:
        """Switch it off and on: counts, stream and zero are lost."""
        self.box.restart()
        self._client = None

    def freeze(self, frozen: bool = True) -> None:
        """Let it take no new samples, and go on sending."""
        self.box.frozen = frozen

    def stick(self, stuck: bool = True) -> None:
        """Let its gauges go on reading what they read last."""
        self.box.stuck = stuck

    def spike(self, wrench: Sequence[float]) -> None:
        """Add this to the next sample alone, N and N·m."""
        self.box.spike(wrench)

    def drift(self, rate: Sequence[float]) -> None:
        """Let its reading without a load drift, N/s and N·m/s."""
        self.box.drift = np.array(rate, np.float64)

    def status(self, bits: int) -> None:
        """Add bits to the status of its records."""
        self.box.status = check_count("status", bits, 0, 2**32 - 1)

    def page(self, **entries: str) -> None:
        """Change entries of its page of settings: `page(cfgcpf="0")`."""
        self.box.page_entries.update(entries)

    def wire(self, **settings: float) -> None:
        """Set what happens to records on their way, see `Wire`."""
        self._wire = Wire(**settings)

    def state(self) -> Mapping[str, object]:
        """Return what it does now, see `Box.state`."""
        return self.box.state()

    def _command(self, name: str, arguments: Mapping[str, object]) -> object:
        return carry_out({command: getattr(self, command) for command in COMMANDS}, name, arguments)

    def _serve(self, timeout: float) -> None:
        """Handle what has arrived; wait for it up to a time, s."""
        waiting = [self._udp, self._http, *self._pages] if self._plugged else [self._udp]
        control = [] if self._control is None else self._control.sockets()
        ready, _, _ = select.select([*waiting, *control], [], [], timeout)
        for source in ready:
            if source is self._udp:
                self._take_request()
            elif source is self._http:
                client, _ = self._http.accept()
                client.settimeout(0.1)
                self._pages[client] = b""
            elif source in self._pages:
                self._answer(source)
            elif self._control is not None:
                self._control.serve(source)

    def _take_request(self) -> None:
        try:
            data, client = self._udp.recvfrom(_LONGEST_REQUEST)
        except OSError:
            return
        if self._plugged and self.box.request(data):
            self._client = client

    def _answer(self, client: socket.socket) -> None:
        try:
            data = client.recv(_LONGEST_REQUEST)
            self._pages[client] += data
            if data and b"\r\n\r\n" not in self._pages[client] and len(self._pages[client]) < _LONGEST_REQUEST:
                return
            found = self._pages[client].split(b" ")[1:2] == [PAGE.encode()]
            body = self.box.page() if found else b""
            head = f"HTTP/1.0 {'200 OK' if found else '404 Not Found'}\r\nContent-Type: text/xml\r\n\r\n"
            client.sendall(head.encode() + body)
        except OSError:
            pass
        client.close()
        del self._pages[client]

    def _send(self, record: bytes, now: float) -> None:
        """Put a record on the wire."""
        if not record:
            return
        draw = self._random.random(2)
        if not self._plugged or draw[0] < self._wire.lost:
            return
        if not self._held and draw[1] < self._wire.swapped:
            self._held = record
            return
        self._under_way.append((now + self._wire.delay, record))
        if self._held:
            self._under_way.append((now + self._wire.delay, self._held))
            self._held = b""

    def _deliver(self, now: float) -> None:
        due = [record for at, record in self._under_way if at <= now]
        self._under_way = [entry for entry in self._under_way if entry[0] > now]
        for record in due:
            if self._client is not None and self._plugged:
                try:
                    self._udp.sendto(record, self._client)
                except OSError:  # whoever asked is gone
                    self._client = None


COMMANDS: Final = (
    *(
        "push",
        "unplug",
        "plug_in",
        "restart",
        "freeze",
        "stick",
        "spike",
        "drift",
        "status",
        "page",
        "wire",
        "state",
    ),
)
"""What the control channel takes."""


class EmulatedNetFT(NetFTEmulator):
    """An emulated box in a thread of this process, from `start` to `stop` or as a context manager.

    For what reads a sensor beside a simulated robot of this process; arguments as of `NetFTEmulator`, but any free
    ports unless they are given.
    """

    def __init__(
        self,
        settings: BoxEmulation | None = None,
        source: Source | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        page_port: int = 0,
    ) -> None:
        super().__init__(settings, source, host, port, page_port)
        self._thread = threading.Thread(target=self.run, name=f"emulated sensor at {host}", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it. Safe to call twice."""
        super().stop()
        if self._thread.is_alive():
            self._thread.join()
        self.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class FeedingRobot(RobotWrapper):
    """A simulated robot whose wrist sensor is what an emulated box reads.

    Args:
        robot: that reads the signals `SENSOR/force_x` … `SENSOR/torque_z`.
        sensor: its name on the robot.
        push: takes a raw wrench, (6,), N and N·m, such as `NetFTEmulator.push`.
    """

    def __init__(self, robot: Robot, sensor: str, push: Callable[[ArrayLike], None]) -> None:
        super().__init__(robot)
        self._push = push
        info = robot.info
        before = len(info.signals) - len(info.sensors)
        self._places = [info.signal(f"{sensor}/{quantity}") - before for quantity in QUANTITIES]

    def read(self) -> State:
        """Return the robot's state; the box gets its wrench."""
        state = self.robot.read()
        self._push(state.sensors[self._places])
        return state
