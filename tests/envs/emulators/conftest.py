"""A computer's end of an emulated bus without a port: packets in, packets out, no waiting."""

from collections.abc import Mapping

import pytest

from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.packets import (
    Instruction,
    InstructionPacket,
    PacketParser,
    StatusPacket,
    encode_instruction,
)
from pliant.envs.emulators.dynamixel.plants import Shaft, ShaftPlant, bare_shaft
from pliant.envs.emulators.dynamixel.servo import ServoSettings

BROADCAST = 254


class Line:
    """Talks to a bus of shafts at 1 Mbit/s."""

    def __init__(
        self,
        models: Mapping[int, str],
        shafts: Mapping[int, Shaft] | None = None,
        registers: Mapping[str, int] | None = None,
        **settings,
    ):
        servos = tuple(ServoSettings(i, m, registers=registers or {}) for i, m in models.items())
        bare = {i: bare_shaft(m) for i, m in models.items()}
        supply = 5.0 if "XL330-M288" in models.values() else 12.0
        self.plant = ShaftPlant({**bare, **(shafts or {})}, supply)
        settings.setdefault("lock_step", True)
        self.bus = Bus(BusSettings(servos, **settings), self.plant)
        self.baud = 1_000_000
        self.protocol = self.bus.servos[0].protocol

    def raw(self, data: bytes) -> bytes:
        """Send bytes; return all bytes that come back."""
        return b"".join(delivery.data for delivery in self.bus.receive(data, self.baud))

    def hex(self, data: str) -> str:
        """Send bytes given in hex; return what comes back, so too."""
        return self.raw(bytes.fromhex(data)).hex(" ").upper()

    def send(self, servo: int, instruction: int, parameters: bytes = b"") -> list[StatusPacket]:
        """Send an instruction; return the statuses that come back."""
        sent = encode_instruction(self.protocol, InstructionPacket(servo, instruction, parameters))
        parser = PacketParser(self.protocol, status=True)
        statuses = parser.feed(self.raw(sent))
        assert len(parser) == 0
        return statuses

    def register(self, servo: int, name: str):
        return self.bus.axis(servo)[1].model.register(name)

    def span(self, servo: int, name: str) -> bytes:
        """Address and length of a register, as parameters."""
        register = self.register(servo, name)
        word = self.protocol
        return register.address.to_bytes(word, "little") + register.size.to_bytes(word, "little")

    def payload(self, servo: int, name: str, value: int) -> bytes:
        """Address and value of a register, as parameters."""
        register = self.register(servo, name)
        return register.address.to_bytes(self.protocol, "little") + register.encode(value)

    def write(self, servo: int, name: str, value: int) -> int:
        """Write a register; return the status's error byte."""
        (status,) = self.send(servo, Instruction.WRITE, self.payload(servo, name, value))
        assert status.parameters == b""
        return status.error

    def read(self, servo: int, name: str) -> int:
        """Read a register; return its count."""
        (status,) = self.send(servo, Instruction.READ, self.span(servo, name))
        return self.register(servo, name).decode(status.parameters)

    def advance(self, seconds: float) -> None:
        self.bus.advance(self.bus.now + seconds)


@pytest.fixture
def xm():
    """One XM430-W350, number 1."""
    return Line({1: "XM430-W350"})


@pytest.fixture
def ax():
    """One AX-12A, number 1."""
    return Line({1: "AX-12A"})


@pytest.fixture
def make_line():
    return Line
