"""The register file of one servo: its control table as bytes, and the checks that need no other register.

Source of the ranges: ROBOTIS e-manual, the page of each model.
"""

import itertools
from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from pliant.errors import check_bounds
from pliant.hardware.dynamixel.registers import Register
from pliant.hardware.dynamixel.tables import MODES, ServoModel

FIRMWARE = {1: 24, 2: 47}
"""Firmware version of the emulated servos, by protocol; new enough for everything in their manuals."""


class Reason(Enum):
    """Why a servo refuses an instruction, before its protocol puts it into an error byte."""

    RESULT = auto()
    INSTRUCTION = auto()
    CHECKSUM = auto()
    RANGE = auto()
    LENGTH = auto()
    LIMIT = auto()
    ACCESS = auto()


class RefusedError(Exception):
    """A servo does not do what an instruction asks; the instruction changed nothing."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.name.lower())
        self.reason = reason


class Write(NamedTuple):
    """A new value for one register."""

    register: Register
    value: int
    """As a count."""


INDIRECT_ADDRESS = "indirect_address_"
"""Begin of the names of the registers that say what the bytes of the indirect data stand for."""


class Indirect(NamedTuple):
    """A stretch of indirect addresses (2 bytes each) and their data (a byte each)."""

    addresses: int
    """First address of the former."""
    data: int
    """First address of the latter."""
    size: int
    """How many."""


def indirect_areas(model: ServoModel) -> tuple[Indirect, ...]:
    """Return where a servo has its indirect addresses: 20 in an XL330, 56 in the other X and the MX(2.0)."""
    if model.protocol == 1:
        return ()
    if model.name.startswith("XL330"):
        return (Indirect(168, 208, 20),)
    return (Indirect(168, 224, 28), Indirect(578, 634, 28))


_GAIN = (0, 16383)
_X_RANGES: Mapping[str, tuple[int, int]] = {
    "id": (0, 252),
    "return_delay_time": (0, 254),
    "protocol_type": (2, 2),
    "homing_offset": (-1044479, 1044479),
    "moving_threshold": (0, 1023),
    "temperature_limit": (0, 100),
    "pwm_limit": (0, 885),
    "velocity_limit": (0, 1023),
    "max_position_limit": (0, 4095),
    "min_position_limit": (0, 4095),
    "torque_enable": (0, 1),
    "led": (0, 1),
    "status_return_level": (0, 2),
    "velocity_i_gain": _GAIN,
    "velocity_p_gain": _GAIN,
    "position_d_gain": _GAIN,
    "position_i_gain": _GAIN,
    "position_p_gain": _GAIN,
    "feedforward_2nd_gain": _GAIN,
    "feedforward_1st_gain": _GAIN,
    "bus_watchdog": (0, 127),
    "profile_acceleration": (0, 32767),
    "profile_velocity": (0, 32767),
    "goal_position": (-1048575, 1048575),
}
_AX_RANGES: Mapping[str, tuple[int, int]] = {
    "id": (0, 253),
    "baud_rate": (0, 254),
    "return_delay_time": (0, 254),
    "cw_angle_limit": (0, 1023),
    "ccw_angle_limit": (0, 1023),
    "min_voltage_limit": (50, 250),
    "max_voltage_limit": (50, 250),
    "max_torque": (0, 1023),
    "status_return_level": (0, 2),
    "alarm_led": (0, 127),
    "shutdown": (0, 127),
    "torque_enable": (0, 1),
    "led": (0, 1),
    "goal_position": (0, 1023),
    "moving_speed": (0, 2047),
    "torque_limit": (0, 1023),
    "lock": (0, 1),
    "punch": (32, 1023),
}


def ranges(model: ServoModel) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest count that each register takes, where the manual gives them."""
    if model.protocol == 1:
        return dict(_AX_RANGES)
    table = dict(_X_RANGES)
    table["baud_rate"] = (0, max(model.baud_rates.values()))
    # Drive mode: bit 0 reverses, bit 1 is a slave's (MX-106 only), 2 times profiles, 3 turns on with a goal.
    table["drive_mode"] = (0, 0x0F)
    if "current_limit" in model.registers:
        table["current_limit"] = (0, model.registers["current_limit"].initial or 0)
    voltages = (model.registers[f"{end}_voltage_limit"].initial or 0 for end in ("min", "max"))
    table["min_voltage_limit"] = table["max_voltage_limit"] = (next(voltages), next(voltages))
    if model.name == "XL330-M288":
        table["velocity_limit"] = (0, 2047)
        table["min_voltage_limit"] = table["max_voltage_limit"] = (31, 70)
    return table


def _indirect_registers(areas: tuple[Indirect, ...]) -> dict[int, Register]:
    """Return the registers of indirect addresses, by the address of the byte of data that each rules."""
    numbers = itertools.count(1)
    return {
        area.data + n: Register(
            f"{INDIRECT_ADDRESS}{next(numbers)}", area.addresses + 2 * n, 2, "RW", area.data + n
        )
        for area in areas
        for n in range(area.size)
    }


class Memory:
    """The bytes of a servo's control table, by register name (as counts) and by address.

    Args:
        model: the kind of servo.
        values: counts that the EEPROM holds instead of the factory's.
    """

    def __init__(self, model: ServoModel, values: Mapping[str, int]) -> None:
        self.model = model
        areas = indirect_areas(model)
        ends = [r.address + r.size for r in model.table] + [area.data + area.size for area in areas]
        self._bytes = bytearray(max(ends))
        self._ranges = ranges(model)
        self._at = {r.address: r for r in model.table}
        self._indirect = _indirect_registers(areas)
        data = [Register(f"indirect_data_{n}", at, 1, "RW", 0) for n, at in enumerate(self._indirect, start=1)]
        further = [*self._indirect.values(), *data]
        self._at |= {register.address: register for register in further}
        self._registers = {**model.registers, **{register.name: register for register in further}}
        self._counts = dict.fromkeys(self._registers, 0)
        self.changes = 0
        """How often a register has changed."""
        self._ranges |= {r.name: (model.ram_start, len(self._bytes) - 1) for r in self._indirect.values()}
        self.restore(eeprom=True)
        for name, count in values.items():
            register = model.register(name)
            low, high = self._ranges.get(name, register.limits)
            self[name] = int(check_bounds(f"register {name!r} of a {model.name}", count, low, high))

    def __contains__(self, name: str) -> bool:
        """Whether the servo has a register of this name."""
        return name in self.model.registers

    def __getitem__(self, name: str) -> int:
        """Return the count in a register."""
        return self._counts[name]

    def __setitem__(self, name: str, count: int) -> None:
        """Store a count, or the nearest that the register can hold."""
        register = self._registers[name]
        low, high = register.limits
        count = min(max(count, low), high)
        self.changes += count != self._counts[name]
        self._counts[name] = count
        self._bytes[register.address : register.address + register.size] = register.encode(count)

    def value(self, name: str) -> float:
        """Return a register's value in SI units."""
        return self._counts[name] * self.model.registers[name].scale

    def store(self, name: str, value: float) -> None:
        """Store an SI value, as the nearest count that the register can hold."""
        self[name] = round(value / self.model.registers[name].scale)

    def at(self, address: int) -> Register | None:
        """Return the register that begins at an address, or at what an indirect one stands for."""
        return self._at.get(self._target(address))

    def snapshot(self) -> bytes:
        """Return all bytes."""
        return bytes(self._bytes)

    def restore(self, eeprom: bool, keep: tuple[str, ...] = ()) -> None:
        """Set the RAM, and the EEPROM if asked, to the factory's values, but not the registers `keep`."""
        for register in self.model.table:
            if (register.address >= self.model.ram_start or eeprom) and register.name not in keep:
                self[register.name] = register.initial or 0
        for data, register in self._indirect.items():
            self[register.name] = data
        if eeprom:
            self["firmware_version"] = FIRMWARE[self.model.protocol]

    def read(self, address: int, length: int) -> bytes:
        """Return `length` bytes; between the registers there are zeros, beyond the table `Reason.ACCESS`."""
        if length < 1 or address + length > len(self._bytes):
            raise RefusedError(Reason.ACCESS)
        if not self._indirect:
            return bytes(self._bytes[address : address + length])
        return bytes(self._bytes[self._target(at)] for at in range(address, address + length))

    def _target(self, address: int) -> int:
        """Return the address that a byte of indirect data stands for; any other is its own."""
        register = self._indirect.get(address)
        return address if register is None else self._counts[register.name]

    def cut(self, address: int, data: bytes) -> list[Write]:
        """Return what writing `data` at `address` sets, register by register. Raises `RefusedError`.

        A write covers whole, writable registers without a gap, with values inside their range; bytes of indirect
        data those that they stand for, one after the other. What depends on the servo's state is not checked here.
        """
        writes = []
        while data:
            if address in self._indirect and self._target(address) != address:
                target = self.at(address)
                size = 1 if target is None else target.size
                if [self._target(address + n) for n in range(size)] != [
                    self._target(address) + n for n in range(size)
                ]:
                    raise RefusedError(Reason.ACCESS)
                writes += self.cut(self._target(address), data[:size])
                address, data = address + size, data[size:]
                continue
            register = self._at.get(address)
            if register is None or register.access == "R":
                raise RefusedError(Reason.ACCESS)
            if len(data) < register.size:
                raise RefusedError(Reason.LENGTH)
            write = Write(register, register.decode(data[: register.size]))
            self._check(write)
            writes.append(write)
            address, data = address + register.size, data[register.size :]
        return writes

    def _check(self, write: Write) -> None:
        name = write.register.name
        low, high = self._ranges.get(name, write.register.limits)
        if name == "operating_mode" and write.value not in [MODES[mode] for mode in self.model.modes]:
            raise RefusedError(Reason.RANGE)
        if not low <= write.value <= high:
            raise RefusedError(Reason.RANGE)
