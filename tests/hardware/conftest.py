"""A bus of servos made of bytes: the far end of a pseudo-terminal, without any physics.

It shares no code with the driver, so that both cannot be wrong alike.
"""

import os
import select
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pliant.errors import RobotError
from pliant.hardware.dynamixel.tables import ServoModel
from pliant.hardware.robot import Array, Channel, Robot, RobotInfo, State, check_command
from pliant.hardware.timing import StepClock

Fault = Callable[["Servo", bytes], list[bytes]]

RATES = {getattr(termios, f"B{rate}"): rate for rate in (9600, 57600, 115200, 1000000, 2000000, 4000000)}


def crc(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x8005) & 0xFFFF if value & 0x8000 else value << 1 & 0xFFFF
    return value


def status_2(servo: int, error: int, data: bytes) -> bytes:
    body = bytes([0x55, error]) + data
    stuffed = bytearray()
    for byte in body:
        stuffed.append(byte)
        if stuffed[-3:] == b"\xff\xff\xfd":
            stuffed.append(0xFD)
    head = b"\xff\xff\xfd\x00" + bytes([servo]) + (len(stuffed) + 2).to_bytes(2, "little")
    return head + stuffed + crc(head + stuffed).to_bytes(2, "little")


def status_1(servo: int, error: int, data: bytes) -> bytes:
    body = bytes([servo, len(data) + 2, error]) + data
    return b"\xff\xff" + body + bytes([~sum(body) & 0xFF])


class Servo:
    """Memory, and what the protocol makes of it."""

    def __init__(self, model: ServoModel, servo: int, rate: int = 1_000_000) -> None:
        self.model, self.rate = model, rate
        self.dead = False
        self.fault: Fault | None = None
        """Turns the next answer into the chunks that are sent instead; it unsets itself."""
        self.rebooting_until = 0.0
        self.last_heard = time.monotonic()
        self.writes: list[tuple[str, int]] = []
        """Registers written, in order, with their values."""
        self.follows = True
        """Whether the shaft is at once where the goal is."""
        self.memory = bytearray(256)
        self.reset(eeprom=True)
        self["id"] = servo
        self["present_position"] = model.zero_count

    def reset(self, eeprom: bool = False) -> None:
        for register in self.model.table:
            if eeprom or (register.address >= self.model.ram_start and register.access == "RW"):
                self[register.name] = register.initial or 0
        if self.model.protocol == 2:
            self["hardware_error_status"] = 0

    def __getitem__(self, name: str) -> int:
        register = self.model.registers[name]
        return register.decode(bytes(self.memory[register.address : register.address + register.size]))

    def __setitem__(self, name: str, value: int) -> None:
        register = self.model.registers[name]
        self.memory[register.address : register.address + register.size] = register.encode(value)

    @property
    def error(self) -> int:
        return 0x80 if self.model.protocol == 2 and self["hardware_error_status"] else self.status_error

    status_error = 0
    """Error byte of protocol 1.0."""

    def write(self, address: int, data: bytes) -> int:
        """Store bytes as a servo does; return the error number."""
        registers = [r for r in self.model.table if address <= r.address < address + len(data)]
        two = self.model.protocol == 2
        if two and (any(r.access == "R" for r in registers) or not registers):
            return 7
        if two and address < self.model.ram_start and self["torque_enable"]:
            return 7
        goals = {"goal_position", "goal_current", "goal_pwm", "goal_velocity"} & {r.name for r in registers}
        if goals and two and self["bus_watchdog"] == -1:
            return 4
        self.memory[address : address + len(data)] = data
        self.writes += [(register.name, self[register.name]) for register in registers]
        if "goal_position" in goals:
            if not two:
                self["torque_enable"] = 1  # the AX-12A does
            if self.follows and self["torque_enable"]:
                self["present_position"] = self["goal_position"]
        return 0

    def written(self, name: str) -> list[int]:
        return [value for register, value in self.writes if register == name]

    def watch(self) -> None:
        """Trip the bus watchdog if the bus has been silent for too long."""
        now = time.monotonic()
        armed = self.model.protocol == 2 and self["torque_enable"] and self["bus_watchdog"] > 0
        if armed and now - self.last_heard > 0.02 * self["bus_watchdog"]:
            self["bus_watchdog"] = -1
        self.last_heard = now


class ServoBus:
    """Servos behind a pseudo-terminal whose name is `port`."""

    def __init__(self, protocol: int, servos: list[Servo]) -> None:
        self.protocol, self.servos = protocol, servos
        self.port = ""
        self.received: list[bytes] = []
        """Every packet that came in, as bytes."""
        self.echo = False
        self.break_fast_chain_at: int | None = None
        self.pace = False
        """Take the time on the wire that the bytes take at the baud rate."""
        self._unplugging = threading.Lock()
        self.plug()

    def plug(self) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._stop_read, self._stop_write = os.pipe()
        self._open = [self._slave, self.master, self._stop_read, self._stop_write]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def unplug(self) -> None:
        """Let the bus be gone, from any thread; a number closed once may be another file's the next time."""
        with self._unplugging:
            if self._open:
                os.write(self._stop_write, b"x")
                self._thread.join()
            while self._open:
                os.close(self._open.pop(0))

    def __getitem__(self, servo: int) -> Servo:
        return next(s for s in self.servos if s["id"] == servo)

    def heard(self) -> "ServoBus":
        """Return when everything sent so far has been dealt with; nothing acknowledges a sync write."""
        count = -1
        while count != len(self.received):
            count = len(self.received)
            time.sleep(0.01)
        return self

    def _run(self) -> None:
        buffer = b""
        while True:
            ready, _, _ = select.select([self.master, self._stop_read], [], [])
            if self._stop_read in ready:
                return
            buffer += os.read(self.master, 4096)
            while (found := self._packet(buffer)) is not None:
                packet, buffer = found
                self.received.append(packet)
                if self.pace:
                    time.sleep(len(packet) * 10 / self.rate)
                if self.echo:
                    os.write(self.master, packet)
                self._handle(packet)

    @property
    def rate(self) -> int:
        return RATES.get(termios.tcgetattr(self.master)[4], 0)

    def _packet(self, buffer: bytes) -> tuple[bytes, bytes] | None:
        header = b"\xff\xff\xfd\x00" if self.protocol == 2 else b"\xff\xff"
        start = buffer.find(header)
        if start < 0 or len(buffer) < start + 7 - 3 * (self.protocol == 1):
            return None
        if self.protocol == 2:
            size = int.from_bytes(buffer[start + 5 : start + 7], "little") + 7
        else:
            size = buffer[start + 3] + 4
        if len(buffer) < start + size:
            return None
        return buffer[start : start + size], buffer[start + size :]

    def _handle(self, packet: bytes) -> None:
        if self.protocol == 2:
            if crc(packet[:-2]) != int.from_bytes(packet[-2:], "little"):
                return
            target, code = packet[4], packet[7]
            parameters = packet[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        else:
            if sum(packet[2:]) & 0xFF != 0xFF:
                return
            target, code, parameters = packet[2], packet[4], packet[5:-1]
        now = time.monotonic()
        awake = [s for s in self.servos if not s.dead and s.rate == self.rate and now > s.rebooting_until]
        for servo in awake:
            servo.watch()
        by_id = {servo["id"]: servo for servo in awake}
        if code == 0x82:
            self._sync_read(by_id, parameters)
        elif code == 0x8A:
            self._fast_sync_read(by_id, parameters)
        elif code == 0x83:
            self._sync_write(by_id, parameters)
        elif target in by_id:
            self._single(by_id[target], code, parameters)

    def _single(self, servo: Servo, code: int, parameters: bytes) -> None:
        level, identity = servo["status_return_level"], servo["id"]
        width = self.protocol
        address = int.from_bytes(parameters[:width], "little")
        if code == 1:
            data = bytes(servo.memory[0:2]) + b"\x2d" if self.protocol == 2 else b""
            self._answer(servo, identity, servo.error, data)
        elif code == 2 and level >= 1:
            length = int.from_bytes(parameters[width : 2 * width], "little")
            self._answer(servo, identity, servo.error, bytes(servo.memory[address : address + length]))
        elif code == 3:
            error = servo.write(address, parameters[width:])
            if servo["status_return_level"] == 2:
                self._answer(servo, identity, servo.error | error, b"")
            rates = {value: rate for rate, value in servo.model.baud_rates.items()}
            servo.rate = rates[servo["baud_rate"]] if address == _address(servo, "baud_rate") else servo.rate
        elif code == 8 and self.protocol == 2:
            self._answer(servo, identity, servo.error, b"")
            servo.reset()
            servo.rebooting_until = time.monotonic() + 0.05

    def _sync_read(self, servos: dict[int, Servo], parameters: bytes) -> None:
        address, length = (int.from_bytes(parameters[i : i + 2], "little") for i in (0, 2))
        for target in parameters[4:]:
            if target in servos:
                servo = servos[target]
                self._answer(servo, target, servo.error, bytes(servo.memory[address : address + length]))

    def _fast_sync_read(self, servos: dict[int, Servo], parameters: bytes) -> None:
        address, length = (int.from_bytes(parameters[i : i + 2], "little") for i in (0, 2))
        ids = parameters[4:]
        packet = b"\xff\xff\xfd\x00\xfe" + (1 + len(ids) * (length + 4)).to_bytes(2, "little") + b"\x55"
        for target in ids:
            if target not in servos or target == self.break_fast_chain_at:
                break
            servo = servos[target]
            packet += bytes([servo.error, target]) + servo.memory[address : address + length]
            packet += crc(packet).to_bytes(2, "little")
        self._write(packet)

    def _sync_write(self, servos: dict[int, Servo], parameters: bytes) -> None:
        width = self.protocol
        address, length = (int.from_bytes(parameters[i * width : (i + 1) * width], "little") for i in (0, 1))
        rest = parameters[2 * width :]
        while rest:
            if rest[0] in servos:
                servos[rest[0]].write(address, rest[1 : 1 + length])
            rest = rest[1 + length :]

    def _answer(self, servo: Servo, identity: int, error: int, data: bytes) -> None:
        packet = (status_2 if self.protocol == 2 else status_1)(identity, error, data)
        fault = servo.fault
        for chunk in fault(servo, packet) if fault else [packet]:
            self._write(chunk)

    def _write(self, data: bytes) -> None:
        if self.pace:
            time.sleep(len(data) * 10 / self.rate)
        os.write(self.master, data)


def _address(servo: Servo, name: str) -> int:
    return servo.model.registers[name].address


def once(change: Fault) -> Fault:
    """Return a fault that strikes one answer and then goes away."""

    def fault(servo: Servo, packet: bytes) -> list[bytes]:
        servo.fault = None
        return change(servo, packet)

    return fault


class Arm(Robot):
    """A robot of two joints that is at once where it is told to be, and fails on command."""

    def __init__(self, clock: StepClock | None = None, unit: str = "rad") -> None:
        self.clock = clock or StepClock()
        names = ("a", "b")
        columns = tuple(Channel(f"{name}/position", unit, -1.0, 1.0) for name in names)
        self._info = RobotInfo("arm", names, (), columns, 0.01)
        self.position = np.zeros(2)
        self.velocity, self.torque = np.zeros(2), np.zeros(2)
        self.sent: list[np.ndarray] = []
        self.calls: list[str] = []
        self.failing_reads = 0
        self.refuses = ""
        self.furthest = np.inf
        """Largest way that it goes in a period; beyond it a command is held back."""
        self._held_back = False
        self.delay = 0.0
        """Extra time that every period takes, s."""
        self.during: Callable[[str], None] = lambda call: None
        """Called with the name of every call."""

    @property
    def info(self) -> RobotInfo:
        return self._info

    @property
    def held_back(self) -> bool:
        return self._held_back

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.during(call)

    def connect(self) -> None:
        self._note("connect")

    def read(self) -> State:
        self._note("read")
        if self.failing_reads:
            self.failing_reads -= 1
            raise RobotError("no answer")
        nan = np.full(2, np.nan)
        empty = np.zeros(0)
        here = self.position.copy()
        return State(
            self.clock.now(), here, self.velocity, self.torque, nan, empty, empty, empty, empty, here.copy()
        )

    def send(self, command: ArrayLike) -> Array:
        self._note("send")
        if self.refuses:
            raise RobotError(self.refuses)
        asked = check_command(command, self._info)
        sent = self.position + np.clip(asked - self.position, -self.furthest, self.furthest)
        self._held_back = bool((sent != asked).any())
        sent = sent if self._held_back else asked
        self.sent.append(sent)
        self.position = sent
        self.clock.sleep_until(self.clock.now() + self._info.period + self.delay)
        return sent

    def stop(self) -> None:
        self._note("stop")

    def close(self) -> None:
        self._note("close")


@pytest.fixture
def arm() -> Arm:
    return Arm()


@pytest.fixture
def servo_bus() -> Iterator[Callable[..., ServoBus]]:
    """Return a function that makes a bus of servos: `servo_bus(model, *ids, rate=…)`."""
    made: list[ServoBus] = []

    def make(model: ServoModel, *ids: int, rate: int = 1_000_000) -> ServoBus:
        made.append(ServoBus(model.protocol, [Servo(model, servo, rate) for servo in ids]))
        return made[-1]

    yield make
    for bus in made:
        bus.unplug()


@pytest.fixture
def strike() -> Callable[[Servo, Callable[[bytes], list[bytes]]], None]:
    """Return `strike(servo, change)`: the next answer becomes the chunks that `change` makes of it."""

    def arm(servo: Servo, change: Callable[[bytes], list[bytes]]) -> None:
        servo.fault = once(lambda _, packet: change(packet))

    return arm


@pytest.fixture
def until() -> Callable[..., None]:
    """Return a function that waits for a condition, or fails."""

    def wait(condition: Callable[[], object], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.005)

    return wait
