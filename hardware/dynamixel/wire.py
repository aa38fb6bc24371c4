"""Requests on the wire of a Dynamixel bus and their answers, each either right or refused.

The vendor's SDK opens the port and sends the packets; receiving is done here, because of what the SDK does
(dynamixel-sdk 4.1.0): it gives up every motor of a sync read when one is missing, drops the alert bit, takes
a short answer for a whole one and the answer of another request for the present one, stays "in use" after an
unplugging, and waits 34 ms at full processor load for a servo that is not there.
"""

import itertools
import logging
import math
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pliant.errors import RobotError, require_extra
from pliant.hardware.dynamixel.packets import (
    ALERT,
    BROADCAST,
    Instruction,
    Status,
    StatusReader,
    fast_status_size,
    fast_statuses,
    instruction_packet,
    stuff_packet,
)
from pliant.hardware.dynamixel.port import SerialPort, latency_seconds, latency_timer
from pliant.hardware.dynamixel.tables import STATUS_ERRORS_1

log = logging.getLogger(__name__)

RETURN_DELAY = 508e-6
"""Longest delay a servo can be set to before it answers, s."""
FAULTS_1 = 0x25
"""Error bits of protocol 1.0 that tell of the servo's health: overload, overheating, input voltage."""

_REFUSED_1 = 0x4A  # instruction, range, angle limit
_CHECKSUM_ERROR_1 = 0x10
_CRC_ERROR_2 = 3
_REFUSALS_2 = {
    1: "it failed to carry the request out",
    2: "it does not know the instruction",
    4: "the value is out of range, or the bus watchdog has tripped",
    5: "the data has the wrong length",
    6: "the value exceeds a limit in the control table",
    7: "the register cannot be accessed now (read-only, or in the EEPROM while the torque is on)",
}


class Answer(NamedTuple):
    """What a servo answered."""

    data: bytes
    error: int
    """Error byte of the packet."""
    alert: bool
    """The servo reports a hardware error."""
    refusal: str
    """Why the servo did not do what was asked; empty if it did."""


@dataclass
class Counters:
    """What has happened on a bus."""

    requests: int = 0
    retries: int = 0
    unanswered: int = 0
    """Requests to which a servo gave no whole answer."""
    damaged: int = 0
    """Answers with a wrong checksum."""
    malformed: int = 0
    """Answers of the wrong length, or of a servo that was not asked: another request's."""
    rejected: int = 0
    """Requests that arrived damaged at a servo."""


def judge(protocol: int, status: Status) -> Answer | None:
    """Return what a status packet says; None if it says that the request arrived damaged."""
    error = status.error
    if protocol == 2:
        code, alert = error & ~ALERT, bool(error & ALERT)
        damaged = code == _CRC_ERROR_2
        refusal = _REFUSALS_2.get(code, f"error {code}" if code else "")
    else:
        damaged, alert = bool(error & _CHECKSUM_ERROR_1), bool(error & FAULTS_1)
        refused = [name for bit, name in STATUS_ERRORS_1.items() if error & _REFUSED_1 & 1 << bit]
        refusal = f"{' and '.join(refused)} error" if refused else ""
    return None if damaged else Answer(status.data, error, alert, refusal)


class Wire:
    """Asks servos on one serial port and returns what they answer.

    An answer counts only if it comes from the servo that was asked, has the length that was asked for and a
    right checksum. Answers carry no number, so one that is late, or comes twice, could be taken for that of the
    next request. Where it could (the last request was not answered, or its answer was as long as the next one
    should be), the servo must first answer a read with a length of its own (`_settle`): whatever was on its way
    has then arrived.

    Args:
        path: Serial device.
        baud_rate: bit/s.
        protocol: 1 or 2.
        slack: Time a servo or the operating system may be late, s.
        counters: Where to count what happens.
    """

    def __init__(self, path: str, baud_rate: int, protocol: int, slack: float, counters: Counters) -> None:
        sdk = require_extra("dynamixel_sdk", "dynamixel", "A Dynamixel bus")
        self.path, self.protocol, self.counters = path, protocol, counters
        self.last_request = -float("inf")
        """When the last packet was sent (`time.monotonic`), s."""
        self.longest_silence = 0.0
        """Longest time between two packets since this was last set to 0, s."""
        self.loss = ""
        """Why the port was lost; empty while it was not."""
        self._slack = slack
        self._port: SerialPort | None = SerialPort(path, baud_rate)
        self._handler: Any = sdk.PacketHandler(float(protocol))
        if protocol == 2:
            self._handler.addStuffing = stuff_packet
        self._latency = latency_seconds(path)
        if self._latency > 0.002:
            log.warning(
                "%s: the adapter holds answers back for %.0f ms each. Set it to 1 ms: echo 1 | sudo tee %s "
                "(for good: the udev rule in docs/real-arm.md).",
                path,
                1e3 * self._latency,
                latency_timer(path),
            )
        self._owed: set[int] = set()
        self._answered: dict[int, tuple[Instruction, bytes, int]] = {}
        # Lengths that no other request uses; they reach over the id, which identifies the answer further.
        self._lengths = itertools.cycle((9, 11, 12, 13, 14))

    def close(self) -> None:
        """Close the port. Safe to call twice."""
        if self._port is not None:
            self._port.close()
        self._port = None

    @property
    def is_open(self) -> bool:
        """Whether the port is open; it is closed after an unplugging."""
        return self._port is not None

    @property
    def baud_rate(self) -> int:
        """Rate of this end, bit/s."""
        return self._opened().baud_rate

    @baud_rate.setter
    def baud_rate(self, rate: int) -> None:
        self._opened().baud_rate = rate

    def ask(
        self, servo: int, instruction: Instruction, parameters: bytes, expected: int, tries: int
    ) -> Answer | None:
        """Return the servo's answer to a request, or None if it gives none in `tries` tries.

        Args:
            servo: Id.
            instruction: One that a single servo answers.
            parameters: Unstuffed.
            expected: Bytes of data in the answer.
            tries: How often to ask.
        """
        for attempt in range(tries):
            self.counters.retries += attempt > 0
            if not self._ready(servo, (instruction, parameters, expected)):
                continue
            answer = self._ask_once([servo], instruction, parameters, expected).get(servo)
            if answer is not None:
                return answer
        return None

    def ask_all(
        self, servos: Sequence[int], span: bytes, length: int, tries: int, fast: bool
    ) -> dict[int, Answer]:
        """Return the answers to a sync read, by servo; those that give none are absent.

        Args:
            servos: Ids.
            span: Address and length, as the request carries them.
            length: Bytes from each.
            tries: How often to ask those that are missing.
            fast: Ask for one joint packet first.
        """
        found: dict[int, Answer] = {}
        missing = list(servos)
        for attempt in range(tries):
            # A servo that owes an answer and does not settle is left out: it would only hold up the others.
            missing = [servo for servo in missing if self._ready(servo, (Instruction.READ, span, length))]
            if not missing:
                break
            self.counters.retries += attempt > 0
            use_fast = fast and attempt == 0
            instruction = Instruction.FAST_SYNC_READ if use_fast else Instruction.SYNC_READ
            found.update(self._ask_once(missing, instruction, span + bytes(missing), length))
            missing = [servo for servo in missing if servo not in found]
        return {servo: found[servo] for servo in servos if servo in found}

    def send(self, servo: int, instruction: Instruction, parameters: bytes) -> bytes:
        """Send a packet through the SDK and return the bytes on the wire."""
        port = self._opened()
        packet = instruction_packet(self.protocol, servo, instruction, parameters)
        # The SDK leaves this set when an error interrupts it, and then calls the port busy for ever.
        port.sdk.is_using = False
        try:
            result = self._handler.txPacket(port.sdk, packet)
        except (OSError, termios.error) as error:
            raise self._lost(error) from error
        if result != 0:
            raise RobotError(f"{self.path}: {self._handler.getTxRxResult(result)}")
        self.counters.requests += 1
        now = time.monotonic()
        if math.isfinite(self.last_request):
            self.longest_silence = max(self.longest_silence, now - self.last_request)
        self.last_request = now
        return bytes(packet)

    def expect_nothing(self, servo: int) -> None:
        """Note that an answer of the servo may come that will not be waited for."""
        self._owed.add(servo)

    def _opened(self) -> SerialPort:
        if self._port is None:
            raise RobotError(f"the bus on {self.path} is not open: {self.loss or 'open() comes first.'}")
        return self._port

    def _ready(self, servo: int, request: tuple[Instruction, bytes, int]) -> bool:
        """Make sure that the servo's next answer can only be the one to `request`; False if it is silent."""
        before = self._answered.get(servo)
        alike = before is not None and before != request and before[2] == request[2]
        return not (alike or servo in self._owed) or self._settle(servo)

    def _settle(self, servo: int) -> bool:
        """Read a block of a length of its own; once it is here, nothing older of this servo can come."""
        length = next(self._lengths)
        span = b"".join(n.to_bytes(self.protocol, "little") for n in (0, length))
        answer = self._ask_once([servo], Instruction.READ, span, length).get(servo)
        id_register = 7 if self.protocol == 2 else 3
        return answer is not None and len(answer.data) == length and answer.data[id_register] == servo

    def _ask_once(
        self, servos: Sequence[int], instruction: Instruction, parameters: bytes, expected: int
    ) -> dict[int, Answer]:
        """Send one request and return the answers that come in time, by servo.

        Whatever interrupts this (a signal, an unplugging), the servos stay marked as owing an answer.
        """
        self._owed.update(servos)
        target = servos[0] if instruction < Instruction.SYNC_READ else BROADCAST
        sent = self.send(target, instruction, parameters)
        fast = instruction == Instruction.FAST_SYNC_READ
        overhead = 11 if self.protocol == 2 else 6
        size = fast_status_size(len(servos), expected) if fast else len(servos) * (expected + overhead)
        wire = 10 / self._opened().baud_rate * (len(sent) + size)
        deadline = self.last_request + wire + len(servos) * RETURN_DELAY + self._latency + self._slack
        statuses = (self._collect_fast if fast else self._collect)(servos, expected, sent, deadline)
        self._owed.difference_update(statuses)
        group = instruction >= Instruction.SYNC_READ
        request = (Instruction.READ, parameters[:4], expected) if group else (instruction, parameters, expected)
        self._answered.update(dict.fromkeys(statuses, request))
        self.counters.unanswered += len(servos) - len(statuses)
        answers = {servo: judge(self.protocol, status) for servo, status in statuses.items()}
        good = {servo: answer for servo, answer in answers.items() if answer is not None}
        self.counters.rejected += len(answers) - len(good)
        return good

    def _collect(self, servos: Sequence[int], expected: int, sent: bytes, deadline: float) -> dict[int, Status]:
        reader = StatusReader(self.protocol, expected, sent)
        found: dict[int, Status] = {}
        # Servos answer a sync read in order: after the last one's answer there is nothing to wait for.
        while servos[-1] not in found and (data := self._receive(deadline)):
            for status in reader.feed(data):
                whole = len(status.data) == expected or (not status.data and status.error & ~ALERT)
                if whole and status.servo in servos:
                    found.setdefault(status.servo, status)
                else:
                    self.counters.malformed += 1
        self.counters.damaged += reader.damaged
        return found

    def _collect_fast(
        self, servos: Sequence[int], expected: int, sent: bytes, deadline: float
    ) -> dict[int, Status]:
        received = b""
        found: list[Status] = []
        while len(found) < len(servos) and (data := self._receive(deadline)):
            received += data
            found = fast_statuses(received, servos, expected)
        return {status.servo: status for status in found}

    def _receive(self, deadline: float) -> bytes:
        """Return bytes that arrive before `deadline`, or b"" if none do."""
        try:
            return self._opened().read(deadline - time.monotonic())
        except (OSError, termios.error) as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> RobotError:
        """Close the port after an error of the operating system, so that it can be opened again."""
        self.close()
        self.loss = f"lost the port {self.path} ({error}). Was it unplugged? Plug it in and connect again."
        return RobotError(self.loss)
