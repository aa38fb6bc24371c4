"""Faults of a wire, on command: bytes lost, flipped or doubled, packets late or cut by a loose contact.

Seeded: the same faults on the same packets do the same damage.
"""

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pliant.errors import check_bounds, unknown_name


@dataclass(frozen=True)
class Faults:
    """What goes wrong on one direction of the wire; everything 0 is a good wire."""

    drop: float = 0.0
    """Probability that a byte is lost."""
    corrupt: float = 0.0
    """Probability that one bit of a byte is flipped."""
    duplicate: float = 0.0
    """Probability that a byte comes twice."""
    late: float = 0.0
    """Probability that a packet comes late."""
    lateness: float = 0.05
    """How much later a late packet comes, s."""
    cut_every: int = 0
    """A loose cable: every n-th packet ends early, at a random byte; 0 is never."""
    seed: int = 0
    """Seed of the random choices."""

    def __post_init__(self) -> None:
        for name in ("drop", "corrupt", "duplicate", "late"):
            check_bounds(f"fault {name!r}", getattr(self, name), 0.0, 1.0)
        check_bounds("fault 'lateness'", self.lateness, 0.0, 60.0, "s")
        check_bounds("fault 'cut_every'", self.cut_every, 0, 1e9)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Faults":
        """Return the faults that are named, all others 0. Raises `UnknownNameError`, `OutOfBoundsError`."""
        kinds = {name: type(value) for name, value in asdict(cls()).items()}
        for name in settings:
            if name not in kinds:
                raise unknown_name("fault", name, kinds)
        return cls(**{name: kinds[name](value) for name, value in settings.items()})


class Wire:
    """One direction of a wire, with its faults."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self._random = random.Random(self.faults.seed)
        self._packets = 0

    def carry(self, packet: bytes) -> tuple[bytes, float]:
        """Return what arrives of `packet` (possibly nothing) and how many seconds late it is."""
        faults, chance = self.faults, self._random.random
        self._packets += 1
        if faults.cut_every and self._packets % faults.cut_every == 0:
            packet = packet[: self._random.randrange(len(packet) or 1)]
        if faults.drop or faults.corrupt or faults.duplicate:
            packet = b"".join(self._carry_byte(byte) for byte in packet)
        late = faults.late > 0.0 and chance() < faults.late
        return packet, faults.lateness if late else 0.0

    def _carry_byte(self, byte: int) -> bytes:
        faults, chance = self.faults, self._random.random
        if faults.drop and chance() < faults.drop:
            return b""
        if faults.corrupt and chance() < faults.corrupt:
            byte ^= 1 << self._random.randrange(8)
        if faults.duplicate and chance() < faults.duplicate:
            return bytes([byte, byte])
        return bytes([byte])
