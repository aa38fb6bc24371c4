"""What is watched of AX-12A servos beside their feedback: a block of registers of one servo a period, in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
            warning, end = (check_bounds(f"limits of the servos: {name}", value, 0.0, high, unit) for value in pair)
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
    """New ones: each is given once, until it is over."""
    end: str
    """What is beyond its end; empty if nothing is."""


@dataclass
class _Known:
    loads: list[float] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)


class Watch:
    """Judges blocks that were read of servos.

    Args:
        limits: of every servo; None: there are none.
        interval: time from one look at a servo to the next, s.
    """

    def __init__(self, limits: ServoLimits | None, interval: float) -> None:
        self._limits = limits
        self._looks = ceil((limits or ServoLimits()).load_time / interval - 1e-9) or 1
        self._known: dict[int, _Known] = {}

    def restart(self) -> None:
        """Forget what was seen."""
        self._known.clear()

    def look(self, servo: int, block: bytes) -> Look:
        """Return what the block of a servo says."""
        counts = {register.name: _count(register, block) for register in _REGISTERS}
        if self._limits is None:
            return Look(counts, (), "")
        known = self._known.setdefault(servo, _Known())
        load = AX_12A.register("present_load")
        known.loads = [*known.loads, abs(counts["present_load"]) * load.scale][-self._looks :]
        whole = len(known.loads) == self._looks
        found = {
            "load": (sum(known.loads) / self._looks if whole else 0.0, "a mean load of {:.2f} of full drive"),
            "temperature": (float(counts["present_temperature"]), "at {:.0f} °C"),
            "voltage": (counts["present_voltage"] * AX_12A.register("present_voltage").scale, "at {:.1f} V"),
        }
        warnings, ends = [], []
        for name, (value, text) in found.items():
            warning, end = getattr(self._limits, name)
            sign = -1.0 if name == "voltage" else 1.0
            said = f"{text.format(value)}; the limit is {end:g}"
            if sign * value > sign * end:
                ends.append(said)
            elif sign * value > sign * warning and name not in known.warned:
                warnings.append(said)
            if sign * value > sign * warning:
                known.warned.add(name)
            else:
                known.warned.discard(name)
        return Look(counts, warnings, ", ".join(ends))


_REGISTERS: Sequence[Register] = [r for r in AX_12A.table if _FIRST.address <= r.address <= _LAST.address]


def _count(register: Register, block: bytes) -> int:
    start = register.address - BLOCK[0]
    return register.decode(block[start : start + register.size])
