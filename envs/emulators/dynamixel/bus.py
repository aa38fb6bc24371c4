"""The bus: servos side by side on one wire, with a clock of its own.

A pure state machine: bytes in, bytes and the times at which they arrive out; no port, no waiting. On the wire
a byte takes 10 bits; it is half duplex, one sends at a time.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from pliant.envs.emulators.dynamixel.ax_servo import AxServo
from pliant.envs.emulators.dynamixel.dispatch import answers
from pliant.envs.emulators.dynamixel.faults import Wire
from pliant.envs.emulators.dynamixel.memory import RefusedError
from pliant.envs.emulators.dynamixel.orders import GROUP, GROUP_WRITES, Order, group_orders
from pliant.envs.emulators.dynamixel.packets import (
    Damaged,
    Instruction,
    InstructionPacket,
    PacketParser,
    ProtocolVersion,
)
from pliant.envs.emulators.dynamixel.plant import TICK, Plant
from pliant.envs.emulators.dynamixel.servo import BOOT_TIME, JOURNAL, Entry, Servo, ServoSettings
from pliant.envs.emulators.dynamixel.x_servo import XServo
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.dynamixel.packets import BROADCAST
from pliant.hardware.dynamixel.tables import servo_model

_BITS_PER_BYTE = 10


@dataclass(frozen=True)
class BusSettings:
    """A bus: its servos, and how its time passes."""

    servos: tuple[ServoSettings, ...]
    lock_step: bool = False
    """False: time passes as on the wall. True: only with the bytes on the wire, and nobody waits."""
    cycle: float = 0.0
    """In lock step: a group write to goals lets time pass until the next multiple of this, s; 0: not."""
    latency: float = 0.0
    """Time from the end of a status on the wire until the computer has it (USB adapter), s."""
    goal_delay: float = 0.0
    """Time from the end of a group write on the wire until the servos act on it, s."""

    def __post_init__(self) -> None:
        if not self.servos:
            raise ConfigurationError("a bus needs at least one servo.")
        numbers = [servo.id for servo in self.servos]
        twice = sorted({number for number in numbers if numbers.count(number) > 1})
        if twice:
            raise ConfigurationError(f"servo number {twice[0]} is used twice on the bus.")
        for name in ("cycle", "latency", "goal_delay"):
            check_bounds(f"bus setting {name!r}", getattr(self, name), 0.0, 10.0, "s")
        if self.cycle and not self.lock_step:
            raise ConfigurationError("cycle is for lock step; in real time the computer sets the pace.")


class Delivery(NamedTuple):
    """Bytes for the computer."""

    at: float
    """Bus time at which the last of them arrives, s."""
    data: bytes
    lateness: float
    """How much later than `at` they come because of a fault, s."""


class _Pending(NamedTuple):
    due: float
    servo: Servo
    order: Order


def make_servo(settings: ServoSettings, boot_time: float) -> Servo:
    """Return the servo that `settings` describe."""
    protocol = servo_model(settings.model).protocol
    return (AxServo if protocol == 1 else XServo)(settings, boot_time)


class Bus:
    """Servos on one wire, with a plant behind them.

    Args:
        settings: the servos and how time passes.
        plant: the physics; it knows every servo by the number that it has in `settings`, for good.
    """

    def __init__(self, settings: BusSettings, plant: Plant) -> None:
        self.settings = settings
        self.plant = plant
        self.now = 0.0
        """Time on the bus's clock, s."""
        self.to_servos = Wire()
        self.to_computer = Wire()
        self.packets = 0
        """How many whole instruction packets have come."""
        self.damaged = 0
        """How many have come with a wrong checksum."""
        boot_time = 0.0 if settings.lock_step else BOOT_TIME
        self._axes = {servo.id: make_servo(servo, boot_time) for servo in settings.servos}
        versions: tuple[ProtocolVersion, ...] = (2, 1)
        spoken = {servo.protocol for servo in self.servos}
        self._parsers = {version: PacketParser(version) for version in versions if version in spoken}
        self._ticks = 0
        self._pending: deque[_Pending] = deque()
        self.journal: deque[Entry] = deque(maxlen=JOURNAL)
        """Every write that a servo accepted or refused, in order."""
        for axis, servo in self._axes.items():
            servo.journal = self.journal
            servo.power_on(plant.read(axis))

    @property
    def servos(self) -> list[Servo]:
        """All servos, in the order of the settings."""
        return list(self._axes.values())

    def axis(self, number: int) -> tuple[int, Servo]:
        """Return the servo that has this number now, and by what number the plant knows it."""
        for axis, servo in self._axes.items():
            if servo.id == number:
                return axis, servo
        raise unknown_name("servo", number, [servo.id for servo in self.servos], "the bus")

    def advance(self, time: float) -> None:
        """Let time pass until `time` on the bus's clock, s; nothing happens if that has gone by."""
        while (self._ticks + 1) * TICK <= time + 1e-9:
            self._tick()
        self.now = max(self.now, time)
        self._act()

    def silence(self) -> None:
        """Take a pause on the wire as the end of a packet that was not finished."""
        for parser in self._parsers.values():
            parser.reset()

    def receive(self, data: bytes, baud: float) -> list[Delivery]:
        """Take bytes that the computer sends at `baud`, bit/s; return what comes back."""
        data, _ = self.to_servos.carry(data)
        self.advance(self.now + len(data) * _BITS_PER_BYTE / baud)
        deliveries: list[Delivery] = []
        for protocol, parser in self._parsers.items():
            for packet in parser.feed(data):
                deliveries += self._handle(protocol, packet, baud)
        if deliveries and self.settings.lock_step:
            self.advance(deliveries[-1].at)
        return deliveries

    def _handle(self, protocol: ProtocolVersion, packet: object, baud: float) -> list[Delivery]:
        assert isinstance(packet, InstructionPacket | Damaged)
        listening = [servo for servo in self.servos if servo.protocol == protocol and servo.hears(baud)]
        if isinstance(packet, Damaged):
            self.damaged += 1
        else:
            self.packets += 1
            for servo in listening:
                servo.heard()
            if packet.instruction == Instruction.WRITE:
                self._overtake(packet.id)
            group_write = packet.instruction in GROUP_WRITES & GROUP[protocol]
            if group_write and packet.id == BROADCAST:
                self._group_write(group_orders(protocol, packet) or [], listening)
                return []
        deliveries = []
        for step in answers(protocol, packet, listening):
            if isinstance(step, bytes):
                deliveries.append(self._send(step, baud))
            else:
                self.advance(self.now + step)
        return deliveries

    def _send(self, status: bytes, baud: float) -> Delivery:
        self.advance(self.now + len(status) * _BITS_PER_BYTE / baud)
        data, lateness = self.to_computer.carry(status)
        return Delivery(self.now + self.settings.latency, data, lateness)

    def _group_write(self, orders: list[Order], listening: list[Servo]) -> None:
        goals = False
        for order in orders:
            for servo in listening:
                if servo.id == order.id:
                    goals |= _sets_goal(servo, order)
                    self._pending.append(_Pending(self.now + self.settings.goal_delay, servo, order))
        self.advance(self.now)
        if goals and self.settings.cycle:
            cycles = int(self.now / self.settings.cycle + 1e-6) + 1
            self.advance(cycles * self.settings.cycle)

    def _overtake(self, number: int) -> None:
        """Let a servo act on what it was told before it is told more: on the wire nothing overtakes."""
        mine = [pending for pending in self._pending if pending.servo.id == number]
        self._pending = deque(pending for pending in self._pending if pending.servo.id != number)
        for _, servo, order in mine:
            self._write(servo, order)

    def _act(self) -> None:
        """Let the servos act on the group writes whose time has come; what they refuse nobody hears of."""
        while self._pending and self._pending[0].due <= self.now:
            _, servo, order = self._pending.popleft()
            self._write(servo, order)

    @staticmethod
    def _write(servo: Servo, order: Order) -> None:
        try:
            servo.write(order.address, order.data)
        except RefusedError as refused:
            servo.report(refused.reason)

    def _tick(self) -> None:
        self._ticks += 1
        self.now = max(self.now, self._ticks * TICK)
        self._act()
        for axis, servo in self._axes.items():
            self.plant.drive(axis, servo.tick(servo.reading))
        self.plant.advance(TICK)
        for axis, servo in self._axes.items():
            servo.reading = self.plant.read(axis)


def _sets_goal(servo: Servo, order: Order) -> bool:
    """Return whether a write touches a goal register."""
    end = order.address + order.length
    goals = (register for register in servo.model.table if register.name.startswith("goal_"))
    return any(order.address <= register.address < end for register in goals)
