"""What is watched of AX-12A servos beside their feedback: a block of registers of one servo a period, in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.dynamixel.registers import Register
from pliant.hardware.dynamixel.tables import AX_12A

_FIRST, _LAST = AX_12A.register("torque_enable"), AX_12A.register("present_temperature")
BLOCK = (_FIRST.address, _LAST.address + _LAST.size - _FIRST.address)
"""First address and length of what is read of a servo at a time: from its torque enable to its temperature."""


@dataclass(frozen=True)
class ServoLimits:
    """What every AX-12A may come to while it is driven. Each is where it is warned and where it ends.

    Raises:
        ConfigurationError: what is no pair of numbers, or an end that comes before its warning.
        OutOfBoundsError: a number that cannot be.
    """

    load: Sequence[float] = (1.0, 1.0)
    """Share of the full drive, by the servo's own word (present load), on average over `load_time`."""
    load_time: float = 3.0
    """s."""
    temperature: Sequence[float] = (150.0, 150.0)
    """°C; the servo itself switches off at 70 from the factory."""
    voltage: Sequence[float] = (0.0, 0.0)
    """Lowest supply, V."""

    def __post_init__(self) -> None:
        for name, high, unit in (("load", 1.0, ""), ("temperature", 150.0, "°C"), ("voltage", 25.0, "V")):
            pair = getattr(self, name)
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise ConfigurationError(f"limits of the servos: {name} is {pair!r}; [warning, end] is needed.")
            warning, end = (
                check_bounds(f"limits of the servos: {name}", value, 0.0, high, unit) for value in pair
            )
            if (warning > end) if name != "voltage" else (warning < end):
                raise ConfigurationError(
                    f"limits of the servos: {name} would end at {end:g} before it warns at {warning:g}."
                )
        check_bounds("limits of the servos: load_time", self.load_time, 0.0, 3600.0, "s")


class Look(NamedTuple):
    """What one look at a servo found."""

    counts: Mapping[str, int]
    """Of the registers in the block."""
    warnings: Sequence[str]
    """New ones: each is given once, until it is over; of the supply that all share, by the first servo."""
    end: str
    """What is beyond its end; empty if nothing is."""


class Watch:
    """Judges blocks that were read of servos.

    Args:
        limits: of every servo; None: there are none.
        interval: time from one look at a servo to the next, s.
    """

    def __init__(self, limits: ServoLimits | None, interval: float) -> None:
        self._limits = limits
        self._looks = ceil((limits or ServoLimits()).load_time / interval - 1e-9) or 1
        self._loads: dict[int, list[float]] = {}
        self._warned: dict[str, set[int]] = {}
        """Servos that are near their limits, by what is near its own."""

    def restart(self) -> None:
        """Forget what was seen."""
        self._loads.clear()
        self._warned.clear()

    def look(self, servo: int, block: bytes) -> Look:
        """Return what the block of a servo says."""
        counts = {register.name: _count(register, block) for register in _REGISTERS}
        if self._limits is None:
            return Look(counts, (), "")
        load = abs(counts["present_load"]) * AX_12A.register("present_load").scale
        loads = self._loads[servo] = [*self._loads.get(servo, ()), load][-self._looks :]
        mean = sum(loads) / self._looks if len(loads) == self._looks else 0.0
        found = {
            "load": (mean, "a mean load of {:.2f} of full drive"),
            "temperature": (float(counts["present_temperature"]), "at {:.0f} °C"),
            "voltage": (counts["present_voltage"] * AX_12A.register("present_voltage").scale, "at {:.1f} V"),
        }
        warnings, ends = [], []
        for name, (value, text) in found.items():
            warning, end = getattr(self._limits, name)
            sign = -1.0 if name == "voltage" else 1.0
            said = f"{text.format(value)}; the limit is {end:g}"
            warned = self._warned.setdefault(name, set())
            if sign * value > sign * end:
                ends.append(said)
            elif sign * value > sign * warning and not (warned if name == "voltage" else servo in warned):
                warnings.append(said)
            if sign * value > sign * warning:
                warned.add(servo)
            else:
                warned.discard(servo)
        return Look(counts, warnings, ", ".join(ends))


_REGISTERS: Sequence[Register] = [r for r in AX_12A.table if _FIRST.address <= r.address <= _LAST.address]


def _count(register: Register, block: bytes) -> int:
    start = register.address - BLOCK[0]
    return register.decode(block[start : start + register.size])
