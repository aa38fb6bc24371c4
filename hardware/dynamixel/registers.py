"""A register of a control table: where it lies, how its bytes read, what one count is in SI units."""

from dataclasses import dataclass
from typing import Literal

from pliant.errors import OutOfBoundsError

Encoding = Literal["unsigned", "signed", "direction"]


@dataclass(frozen=True)
class Register:
    """One entry of a control table.

    Counts are what the servo stores, as a signed integer; SI values are counts × `scale`.
    """

    name: str
    """The manual's name in snake case."""
    address: int
    size: int
    """Bytes: 1, 2 or 4, low byte first."""
    access: Literal["R", "RW"]
    initial: int | None = None
    """Value on leaving the factory or after a reset; None where the manual gives none."""
    encoding: Encoding = "unsigned"
    """`signed`: two's complement. `direction`: 10 bits of magnitude, bit 10 set for the negative sense."""
    scale: float = 1.0
    """SI value of one count."""
    unit: str = "1"

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest count that the register's bytes can hold."""
        if self.encoding == "direction":
            return -1023, 1023
        bits = 8 * self.size
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.encoding == "signed" else (0, (1 << bits) - 1)

    def decode(self, data: bytes) -> int:
        """Return the count stored in `data`, whose length must be `size`."""
        if len(data) != self.size:
            raise OutOfBoundsError(f"register {self.name!r} has {self.size} bytes, not {len(data)}.")
        if self.encoding == "direction":
            raw = int.from_bytes(data, "little")
            return -(raw & 0x3FF) if raw & 0x400 else raw & 0x3FF
        return int.from_bytes(data, "little", signed=self.encoding == "signed")

    def encode(self, count: int) -> bytes:
        """Return the bytes that store `count`; raise `OutOfBoundsError` if it does not fit."""
        low, high = self.limits
        if not low <= count <= high:
            raise OutOfBoundsError(f"register {self.name!r} holds {low} … {high}; {count} does not fit.")
        if self.encoding == "direction":
            return (abs(count) | (0x400 if count < 0 else 0)).to_bytes(self.size, "little")
        return count.to_bytes(self.size, "little", signed=self.encoding == "signed")
