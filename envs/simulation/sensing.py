"""How well each signal of a simulated robot is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pliant.envs.selection import matches
from pliant.errors import ConfigurationError, check_bounds, unknown_name

OF_A_JOINT = ("position", "velocity", "torque")
"""What of a joint a sensor can measure."""

_LARGEST = 1e9
_LONGEST = 100.0
"""Delay or period of a sensor, s."""


@dataclass(frozen=True)
class Sensing:
    """How well a signal is measured. All zero: perfectly, at the end of every period.

    Raises:
        OutOfBoundsError: a number is not finite, or one but bias and drift negative.
        ConfigurationError: a phase without a period, or longer than it.
    """

    noise: float = 0.0
    """Standard deviation of white noise, in the signal's unit."""
    bias: float = 0.0
    """Constant error."""
    drift: float = 0.0
    """Error that grows with the time since the reset, unit/s."""
    delay: float = 0.0
    """Age of what is read, s."""
    period: float = 0.0
    """Time from one sample to the next, in between which the reading stays, s; 0: in every physics step."""
    phase: float = 0.0
    """When the first sample is taken, s: sensors on one bus are read one after another."""

    def __post_init__(self) -> None:
        for name in ("noise", "delay", "period", "phase"):
            check_bounds(f"sensing: {name}", getattr(self, name), 0.0, _LARGEST if name == "noise" else _LONGEST)
        for name in ("bias", "drift"):
            check_bounds(f"sensing: {name}", getattr(self, name), -_LARGEST, _LARGEST)
        if self.phase and not self.phase < self.period:
            raise ConfigurationError(
                f"sensing: a phase of {self.phase:g} s needs a period that is longer; it is {self.period:g} s."
            )

    @property
    def sampled(self) -> bool:
        """Whether it needs a sensor with a memory."""
        return self.delay > 0.0 or self.period > 0.0


def sensing_of(signals: Sequence[str], wanted: Mapping[str, Sensing], robot: str) -> dict[str, Sensing]:
    """Return how each signal is measured that something is said of: the last glob that fits it counts.

    Raises:
        UnknownNameError: a pattern that matches no signal.
        ConfigurationError: no `Sensing`.
    """
    found: dict[str, Sensing] = {}
    for pattern, how in wanted.items():
        if not isinstance(how, Sensing):
            raise ConfigurationError(f"sensing of {pattern!r} is {how!r}; a Sensing is needed.")
        matching = [name for name in signals if matches(name, pattern)]
        if not matching:
            raise unknown_name("signal", pattern, signals, f"the sensing of robot {robot!r}")
        found |= dict.fromkeys(matching, how)
    return found


def in_turn(
    sensing: Mapping[str, Sensing], joints: Sequence[str], period: float, transaction: float, robot: str
) -> dict[str, Sensing]:
    """Let joints be read one after another over a bus, each once a period, position, speed and torque together.

    A period begins with the transaction that writes all commands; joint k of n is sampled k + 1 transactions after
    its beginning. What `sensing` says of a joint's delay or period comes first.

    Raises:
        OutOfBoundsError: a transaction that is negative or not finite, or so long that the period is over before
            every joint was read.
    """
    most = period / (len(joints) + 1) if joints else period
    if not check_bounds(f"robot {robot!r}: transaction", transaction, 0.0, most * (1.0 + 1e-9), "s"):
        return dict(sensing)
    found = dict(sensing)
    for k, joint in enumerate(joints):
        for quantity in OF_A_JOINT:
            how = found.get(f"{joint}/{quantity}", Sensing())
            if not how.sampled:
                found[f"{joint}/{quantity}"] = replace(how, period=period, phase=(k + 1) * transaction)
    return found
