"""A Dynamixel bus: servos by id, registers by name."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, check_bounds, check_count
from pliant.hardware.dynamixel.packets import BROADCAST, LARGEST_ID, Instruction
from pliant.hardware.dynamixel.tables import HARDWARE_ERRORS, STATUS_ERRORS_1, ServoModel, model_by_number
from pliant.hardware.dynamixel.wire import FAULTS_1, Answer, Counters, Wire


class RefusalError(RobotError):
    """A servo answered that it does not do what was asked."""


MOST_RETRIES = 100
"""Largest number of further tries of a request."""
LONGEST_SLACK = 10.0
"""Longest time an answer may be late, s."""


class Bus:
    """Servos of one protocol on one serial port.

    Every request is tried `1 + retries` times, and its answer is right or there is none (`Wire`). A bus that
    was closed, or unplugged in the middle of anything, can be opened again.

    Args:
        port: Serial device.
        baud_rate: bit/s, as set in every servo.
        protocol: 1 (AX-12A) or 2 (X series, MX(2.0)).
        retries: Further tries of a request without an answer.
        slack: Time a servo or the operating system may be late, s.
    """

    def __init__(
        self, port: str, baud_rate: int = 1_000_000, protocol: int = 2, retries: int = 2, slack: float = 0.005
    ) -> None:
        if protocol not in (1, 2):
            raise ConfigurationError(f"Dynamixel protocol {protocol!r} does not exist; 1 and 2 do.")
        check_count("retries", retries, 0, MOST_RETRIES)
        check_bounds("slack", slack, 0.0, LONGEST_SLACK, "s")
        self.path, self.protocol, self.retries = port, protocol, retries
        self._rate, self._slack = baud_rate, slack
        self._wire: Wire | None = None
        self._counters = Counters()
        self._models: dict[int, ServoModel] = {}

    def open(self) -> None:
        """Open the port. Raises `RobotError` with the remedy if it is missing, forbidden or in use."""
        if not self.is_open:
            self._models.clear()
            self._wire = Wire(self.path, self._rate, self.protocol, self._slack, self._counters)

    def close(self) -> None:
        """Close the port. Safe to call twice."""
        if self._wire is not None:
            self._wire.close()
            self._wire.loss = ""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._wire is not None and self._wire.is_open

    @property
    def counters(self) -> Counters:
        """What has happened on the bus, over all openings."""
        return self._counters

    @property
    def loss(self) -> str:
        """Why the port was lost, such as an unplugging; empty while it was not."""
        return self._wire.loss if self._wire else ""

    def silence(self) -> float:
        """Return the longest time without a packet since the last call, up to now, s."""
        if self._wire is None:
            return float("inf")
        longest = max(self._wire.longest_silence, time.monotonic() - self._wire.last_request)
        self._wire.longest_silence = 0.0
        return longest

    @property
    def baud_rate(self) -> int:
        """Rate of this end, bit/s; setting it changes no servo."""
        return self._rate

    @baud_rate.setter
    def baud_rate(self, rate: int) -> None:
        if self.is_open:
            self._opened().baud_rate = rate
        self._rate = rate

    def ping(self, servo: int, tries: int = 1) -> bool:
        """Return whether a servo has this id and answers."""
        expected = 3 if self.protocol == 2 else 0
        return self._opened().ask(self._id(servo), Instruction.PING, b"", expected, tries) is not None

    def model(self, servo: int) -> ServoModel:
        """Return the kind of servo that has this id, asking it the first time."""
        if servo not in self._models:
            number = int.from_bytes(self.read_block(servo, 0, 2).data, "little")
            model = model_by_number(number)
            if model.protocol != self.protocol:
                raise ConfigurationError(
                    f"servo {servo} is a {model.name}, whose table is of protocol {model.protocol}; "
                    f"the bus speaks {self.protocol}."
                )
            self._models[servo] = model
        return self._models[servo]

    def read_block(self, servo: int, address: int, length: int) -> Answer:
        """Return `length` bytes from `address` on. Raises `RobotError` without a whole answer."""
        span = self._span(address, length)
        answer = self._opened().ask(self._id(servo), Instruction.READ, span, length, 1 + self.retries)
        return self._need(answer, servo, f"read {length} bytes at {address}")

    def read(self, servo: int, register: str) -> int:
        """Return the count in a register, of its own size and sign."""
        entry = self.model(servo).register(register)
        return entry.decode(self.read_block(servo, entry.address, entry.size).data)

    def write(self, servo: int, register: str, count: int) -> None:
        """Write a count to a register. Raises `RobotError` if the servo does not acknowledge or refuses."""
        model = self.model(servo)
        entry = model.register(register)
        if entry.access == "R":
            raise ConfigurationError(f"register {register!r} of the {model.name} is read-only.")
        parameters = self._address(entry.address) + entry.encode(count)
        answer = self._opened().ask(servo, Instruction.WRITE, parameters, 0, 1 + self.retries)
        self._need(answer, servo, f"write {count} to {register!r}")

    def write_unanswered(self, servo: int, register: str, count: int, model: ServoModel) -> None:
        """Write to a servo that gives no answer, or changes its rate or id by the write."""
        entry = model.register(register)
        self._models.pop(servo, None)
        self._opened().expect_nothing(servo)
        self._opened().send(servo, Instruction.WRITE, self._address(entry.address) + entry.encode(count))

    def faults(self, servo: int) -> tuple[str, ...]:
        """Return the hardware errors that a servo reports, by name."""
        if self.protocol == 2:
            bits, names = self.read(servo, "hardware_error_status"), HARDWARE_ERRORS
        else:
            answer = self._opened().ask(servo, Instruction.PING, b"", 0, 1 + self.retries)
            bits, names = self._need(answer, servo, "report its state").error & FAULTS_1, STATUS_ERRORS_1
        return tuple(name for bit, name in names.items() if bits >> bit & 1)

    def reboot(self, servo: int, wait: float = 2.0) -> None:
        """Restart a servo of protocol 2 and wait until it answers again; its RAM is reset, its torque off."""
        if self.protocol == 1:
            raise ConfigurationError("protocol 1.0 knows no reboot; switch the power off and on.")
        answer = self._opened().ask(servo, Instruction.REBOOT, b"", 0, 1 + self.retries)
        self._need(answer, servo, "reboot")
        deadline = time.monotonic() + wait
        while not self.ping(servo):
            if time.monotonic() > deadline:
                raise RobotError(f"servo {servo} on {self.path} is not back {wait:g} s after a reboot.")

    def sync_read(self, servos: Sequence[int], address: int, length: int, fast: bool = False) -> dict[int, Answer]:
        """Return what servos hold from `address` on, by one request; those without an answer are absent.

        Protocol 1.0 has no such request: there the servos are asked one by one.

        Args:
            servos: Ids.
            address: First byte.
            length: Bytes of each.
            fast: Ask for one joint packet; only servos with `ServoModel.fast_read_firmware` know it.
        """
        wire, span, tries = self._opened(), self._span(address, length), 1 + self.retries
        servos = [self._id(servo) for servo in servos]
        if self.protocol == 2:
            return wire.ask_all(servos, span, length, tries, fast)
        answers = {servo: wire.ask(servo, Instruction.READ, span, length, tries) for servo in servos}
        return {servo: answer for servo, answer in answers.items() if answer is not None}

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write to many servos by one packet, which none of them acknowledges.

        Args:
            address: First byte.
            data: Bytes for each id, all of one length.
        """
        lengths = {len(part) for part in data.values()}
        if len(lengths) != 1:
            raise ShapeError("a sync write takes at least one servo, and as many bytes for each.")
        payload = b"".join(bytes([self._id(servo)]) + part for servo, part in data.items())
        self._opened().send(BROADCAST, Instruction.SYNC_WRITE, self._span(address, *lengths) + payload)

    def _opened(self) -> Wire:
        if self._wire is None or not self._wire.is_open:
            raise RobotError(f"the bus on {self.path} is not open: {self.loss or 'open() comes first.'}")
        return self._wire

    def _id(self, servo: int) -> int:
        largest = LARGEST_ID[self.protocol]
        if not 0 <= servo <= largest:
            raise OutOfBoundsError(
                f"servo id {servo} does not exist in protocol {self.protocol}; 0 … {largest} do."
            )
        return servo

    def _address(self, number: int) -> bytes:
        largest = 256**self.protocol - 1
        if not 0 <= number <= largest:
            raise OutOfBoundsError(f"{number} is no address or length in protocol {self.protocol}: 0 … {largest}.")
        return number.to_bytes(self.protocol, "little")

    def _span(self, address: int, length: int) -> bytes:
        return self._address(address) + self._address(length)

    def _need(self, answer: Answer | None, servo: int, what: str) -> Answer:
        if answer is None:
            raise RobotError(
                f"servo {servo} on {self.path} gave no whole answer when asked to {what} "
                f"({1 + self.retries} tries at {self._rate} bit/s). Check its power, cable and id: "
                f"pliant bus scan port={self.path}"
            )
        if answer.refusal:
            raise RefusalError(f"servo {servo} on {self.path} refused to {what}: {answer.refusal}.")
        return answer
