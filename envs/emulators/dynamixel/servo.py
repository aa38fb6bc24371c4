"""One servo of the bus: what its firmware does with instructions and time, whatever its protocol."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pliant.envs.emulators.dynamixel.memory import Memory, Reason, RefusedError, Write
from pliant.envs.emulators.dynamixel.packets import Instruction
from pliant.envs.emulators.dynamixel.plant import TICK, Demand, Reading
from pliant.errors import ConfigurationError
from pliant.hardware.dynamixel.tables import ServoModel, servo_model

BOOT_TIME = 0.3
"""How long a servo is deaf after a reboot, s; the manuals give none, users see some tenths of a second."""
OVERLOAD_TIME = 2.0
"""How long a servo pushes in vain at its limit before it reports an overload, s; not in the manuals."""
IDLE = Demand(0.0, 0.0, None)
"""The demand of a servo without torque: the shaft is free."""

JOURNAL = 100_000
"""Entries that the journal of a bus keeps; older ones are forgotten."""

_BAUD_TOLERANCE = 0.03
_READS = frozenset(
    {
        Instruction.READ,
        Instruction.SYNC_READ,
        Instruction.FAST_SYNC_READ,
        Instruction.BULK_READ,
        Instruction.FAST_BULK_READ,
    }
)


@dataclass(frozen=True)
class ServoSettings:
    """A servo as it comes onto the bus."""

    id: int
    """Its number on the bus."""
    model: str
    """Name of its model, such as `XM430-W350`."""
    baud: int = 1_000_000
    """Baud rate in its EEPROM, bit/s."""
    registers: Mapping[str, int] = field(default_factory=dict)
    """Counts of other EEPROM registers that are not as from the factory."""


class Entry(NamedTuple):
    """What happened to one register of one servo, for the journal of a bus."""

    time: float
    """s since the bus came up."""
    servo: int
    """Number of the servo."""
    register: str
    """Its name; the address where there is no register."""
    value: int
    """As a count."""
    refusal: str
    """Why the servo refused the write (`Reason`, in lower case); empty if it did not."""
    by: str
    """`computer`, or `servo` where its own firmware did it: a watchdog that trips, a shutdown."""
    present: int
    """Where the servo stood, as its `present_position` then."""


class Servo(ABC):
    """The firmware of a servo: answers instructions, and once a tick controls its motor.

    An instruction that is not carried out raises `RefusedError`; `report` puts the reason into the status.

    Args:
        settings: what is in the EEPROM.
        boot_time: how long the servo is deaf after a reboot, s.
    """

    def __init__(self, settings: ServoSettings, boot_time: float = 0.0) -> None:
        self.model: ServoModel = servo_model(settings.model)
        rates = self.model.baud_rates
        if settings.baud not in rates:
            known = ", ".join(map(str, sorted(rates)))
            raise ConfigurationError(f"a {self.model.name} has no baud rate {settings.baud}. Valid: {known}.")
        values = dict(settings.registers) | {"id": settings.id, "baud_rate": rates[settings.baud]}
        for name in values:
            if self.model.register(name).address >= self.model.ram_start:
                raise ConfigurationError(f"register {name!r} of servo {settings.id} is lost without power.")
        self.memory = Memory(self.model, values)
        self.alive = True
        """False for a servo without power: it neither hears nor moves."""
        self.reading = Reading(0.0, 0.0, 0.0, 12.0, 25.0)
        self.duty = 0.0
        self.now = 0.0
        self._boot_time = boot_time
        self._ready = 0.0
        self._registered: tuple[int, bytes] | None = None
        self._pushing = 0.0
        self.journal: deque[Entry] = deque(maxlen=JOURNAL)
        """Every write that the servo accepted or refused; a bus gives all its servos the same."""

    @property
    def id(self) -> int:
        """Number of the servo on the bus."""
        return self.memory["id"]

    @property
    def protocol(self) -> int:
        """Protocol the servo speaks, 1 or 2."""
        return self.model.protocol

    @property
    def reads_fast(self) -> bool:
        """Whether the servo knows the fast group reads."""
        first = self.model.fast_read_firmware
        return first is not None and self.memory["firmware_version"] >= first

    @property
    def return_delay(self) -> float:
        """Time from the end of an instruction to the start of the status, s."""
        return self.memory.value("return_delay_time")

    @property
    @abstractmethod
    def baud(self) -> float:
        """Baud rate the servo listens at, bit/s."""

    def hears(self, baud: float) -> bool:
        """Return whether the servo understands what is sent at `baud`, bit/s, now."""
        right = abs(self.baud / baud - 1.0) < _BAUD_TOLERANCE
        return self.alive and right and self.now >= self._ready

    def answers(self, instruction: int) -> bool:
        """Return whether the status return level lets the servo answer an instruction to it alone."""
        needed = 0 if instruction == Instruction.PING else 1 if instruction in _READS else 2
        return self.memory["status_return_level"] >= needed

    def power_on(self, reading: Reading) -> None:
        """Start the firmware: RAM at its initial values, position within one turn, torque off."""
        self.reading = reading
        self.duty = 0.0
        self._registered = None
        self._pushing = 0.0
        self.memory.restore(eeprom=False)
        self._start()

    def tick(self, reading: Reading) -> Demand:
        """Let one tick pass with what the sensors see; return what the motor is to do."""
        self.now += TICK
        self.reading = reading
        if not self.alive:
            return IDLE
        demand = self._control()
        self.duty = demand.duty
        self._watch()
        return demand if self.torque else IDLE

    @abstractmethod
    def heard(self) -> None:
        """Note that an instruction packet went by, whoever it was for."""

    # Instructions

    @abstractmethod
    def ping(self) -> bytes:
        """Return the parameters of the answer to a ping."""

    def read(self, address: int, length: int) -> bytes:
        """Return registers as they are now."""
        self.refresh()
        return self.memory.read(address, length)

    def write(self, address: int, data: bytes) -> None:
        """Set registers: all of them, or none if one is refused."""
        try:
            writes = self._admitted(address, data)
        except RefusedError as refused:
            register = self.memory.at(address)
            value = int.from_bytes(data, "little")
            if register is not None and len(data) >= register.size:
                value = register.decode(data[: register.size])
            self._note(str(address) if register is None else register.name, value, refused.reason.name.lower())
            raise
        for register, count in writes:
            before = self.memory[register.name]
            self.memory[register.name] = count
            self._note(register.name, count)
            self._written(register.name, before)

    def register_write(self, address: int, data: bytes) -> None:
        """Keep a write for the next `action`."""
        self._admitted(address, data)
        self._registered = (address, data)
        self._flag_registered(True)

    def action(self) -> None:
        """Carry out the write that was kept."""
        if self._registered is None:
            raise RefusedError(Reason.INSTRUCTION)
        (address, data), self._registered = self._registered, None
        self._flag_registered(False)
        self.write(address, data)

    @abstractmethod
    def factory_reset(self, option: int | None, broadcast: bool) -> None:
        """Set the EEPROM to the factory's values; `option` is protocol 2.0's choice of what to keep."""

    @abstractmethod
    def reboot(self) -> None:
        """Start anew, as after power was off."""

    @abstractmethod
    def clear(self, parameters: bytes) -> None:
        """Forget the turns of the position."""

    @abstractmethod
    def report(self, reason: Reason | None) -> int:
        """Return the error byte of the status, for a refused or (None) an obeyed instruction.

        Some servos shut down on what they report.
        """

    @abstractmethod
    def overload(self) -> None:
        """Report an overload now, as after pushing in vain for `OVERLOAD_TIME`."""

    # What the kinds of servo do differently

    @property
    @abstractmethod
    def torque(self) -> bool:
        """Whether the motor may drive the shaft."""

    @abstractmethod
    def refresh(self) -> None:
        """Bring the registers of present values up to date."""

    @abstractmethod
    def _start(self) -> None:
        """Set up what RAM does not hold, after power came."""

    @abstractmethod
    def _control(self) -> Demand:
        """Run the control loop for one tick."""

    @abstractmethod
    def _watch(self) -> None:
        """Look for what the servo protects itself from."""

    @abstractmethod
    def _admit(self, write: Write) -> None:
        """Raise `RefusedError` if the servo's state forbids a write."""

    @abstractmethod
    def _written(self, name: str, before: int) -> None:
        """Act on a register that was just written; `before` is what it held."""

    @abstractmethod
    def _flag_registered(self, waiting: bool) -> None:
        """Show in a register whether a write waits for the action."""

    def _note(self, register: str, value: int, refusal: str = "", by: str = "computer") -> None:
        """Write into the journal."""
        self.refresh()
        here = self.memory["present_position"]
        self.journal.append(Entry(self.now, self.id, register, value, refusal, by, here))

    def _admitted(self, address: int, data: bytes) -> list[Write]:
        writes = self.memory.cut(address, data)
        for write in writes:
            self._admit(write)
        return writes

    def _restart(self) -> None:
        self._ready = self.now + self._boot_time
        self.power_on(self.reading)

    def _overloaded(self, limit: float, speed: float) -> bool:
        """Return whether the motor has pushed at its limit for `OVERLOAD_TIME`, slower than `speed`."""
        stuck = limit > 0.0 and abs(self.duty) >= 0.98 * limit and abs(self.reading.velocity) <= speed
        self._pushing = self._pushing + TICK if stuck and self.torque else 0.0
        return self._pushing >= OVERLOAD_TIME
