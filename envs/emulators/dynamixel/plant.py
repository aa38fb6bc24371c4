"""What lies behind the servos of an emulated bus: the seam between their firmware and the physics.

Every tick a servo's firmware hands its `Demand` to the plant, the plant moves on, and the firmware reads what
its sensors see. Angles are those of the encoder, rad, 0 at count 0, positive counter-clockwise; homing offset
and reversed direction are the firmware's business.
"""

from typing import NamedTuple, Protocol

TICK = 0.001
"""Period of the servos' firmware, s."""


class Demand(NamedTuple):
    """What a servo wants of its motor until the next tick."""

    duty: float
    """Share of the supply voltage on the motor, −1 … 1."""
    current: float
    """Largest current either way, A; 0 leaves the shaft free."""
    position: float | None
    """Reference of the position loop, rad, for plants that close it themselves; None: there is none."""


class Reading(NamedTuple):
    """What a servo's sensors see."""

    position: float
    """rad."""
    velocity: float
    """rad/s."""
    current: float
    """A."""
    voltage: float
    """V."""
    temperature: float
    """°C."""


class Plant(Protocol):
    """The physics behind a bus."""

    def drive(self, servo: int, demand: Demand) -> None:
        """Set what the motor of the servo with this number does until told otherwise."""

    def advance(self, dt: float) -> None:
        """Let `dt` seconds pass, a whole number of ticks."""

    def read(self, servo: int) -> Reading:
        """Return what the servo's sensors see now."""

    def set_supply(self, voltage: float) -> None:
        """Set the voltage of the power supply, V."""

    def set_temperature(self, servo: int, temperature: float) -> None:
        """Set the temperature inside a servo, °C."""

    def close(self) -> None:
        """Release what the plant holds."""
