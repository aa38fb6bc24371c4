"""What an emulated Net F/T box measures and sends, without sockets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import (
    ConfigurationError,
    OutOfBoundsError,
    ShapeError,
    check_bounds,
    check_count,
    check_numbers,
)
from pliant.hardware.force_torque.net_ft import BIAS, ERROR, HEADER, RECORD, REQUEST, START, STOP

_OUT_OF_RANGE: Final = 1 << ERROR | 1 << 30
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True)
class BoxEmulation:
    """An emulated box: its calibration, and what is not ideal about its sensor.

    The defaults of noise and drift are plausible, and measured on no sensor.
    """

    rate: float = 1000.0
    """Records a second, Hz."""
    counts: Sequence[float] = (1e6, 1e6)
    """Of a newton and of a newton-metre."""
    range: Sequence[float] = (200.0, 200.0, 400.0, 20.0, 20.0, 20.0)
    """At which the sensor is saturated, N and N·m."""
    bias: Sequence[float] = (0.0,) * 6
    """Reading without a load, N and N·m."""
    noise: Sequence[float] = (0.05, 0.002)
    """Standard deviation of forces, N, and torques, N·m."""
    drift: Sequence[float] = (0.0,) * 6
    """Of the reading without a load, N/s and N·m/s."""
    seed: int = 0
    """Of the noise."""

    def __post_init__(self) -> None:
        check_bounds("rate of the box", self.rate, 1.0, 7000.0, "Hz")
        for name, count, low, high in (
            ("counts", 2, 1.0, 1e9),
            ("range", 6, 1e-3, 1e6),
            ("bias", 6, -1e6, 1e6),
            ("noise", 2, 0.0, 1e3),
            ("drift", 6, -1e3, 1e3),
        ):
            object.__setattr__(
                self, name, check_numbers(f"{name} of the box", getattr(self, name), count, low, high)
            )
        check_count("seed", self.seed, 0, 2**32 - 1)
        if (np.array(self.range) * np.repeat(self.counts, 3)).max() > _LARGEST:
            raise ConfigurationError("the box's range does not fit into 32 bits with these counts.")


class Box:
    """A box that is asked for records and makes them, sample by sample.

    Args:
        settings: see `BoxEmulation`.
    """

    def __init__(self, settings: BoxEmulation) -> None:
        self.settings = settings
        self._random = np.random.default_rng(settings.seed)
        self._counts = np.repeat(settings.counts, 3)
        self._limit, self._noise = np.array(settings.range), np.repeat(settings.noise, 3)
        self._raw = np.zeros(6)
        self._spike = np.zeros(6)
        self.page_entries = {
            "prodname": "emulated Net F/T",
            "cfgcpf": f"{settings.counts[0]:.0f}",
            "cfgcpt": f"{settings.counts[1]:.0f}",
            "scfgfu": "N",
            "scfgtu": "N-m",
            "cfgmr": ";".join(f"{value:g}" for value in settings.range),
            "comrdte": "Enabled",
            "comrdtrate": f"{settings.rate:.0f}",
        }
        """What its page of settings says; may be changed."""
        self.frozen = False
        """Whether it takes no new samples, but goes on sending."""
        self.stuck = False
        """Whether its gauges read what they read last."""
        self.status = 0
        """Bits that it adds to the status of its records."""
        self.drift = np.array(settings.drift)
        """N/s and N·m/s."""
        self.restart()

    def restart(self) -> None:
        """Switch it off and on: counts, stream and zero are lost."""
        self.streaming = False
        self._rdt = self._sample = self._left = 0
        self._age = 0.0
        self._zero, self._felt = np.zeros(6), np.zeros(6)

    def push(self, raw: ArrayLike) -> None:
        """Let the arm hold what is behind the sensor by this wrench, (6,), N and N·m: what it is to read, raw."""
        wrench = np.array(raw, np.float64)
        if wrench.shape != (6,):
            raise ShapeError(f"the wrench has shape {wrench.shape}; (6,) is needed: N and N·m.")
        if not np.isfinite(wrench).all():
            raise OutOfBoundsError("the wrench is not finite.")
        self._raw = wrench

    def spike(self, wrench: Sequence[float]) -> None:
        """Add this to the next sample alone, N and N·m."""
        self._spike = np.array(check_numbers("spike", wrench, 6, -1e6, 1e6))

    def request(self, data: bytes) -> bool:
        """Take a request; return whether it is one that records are sent for."""
        if len(data) != REQUEST.size:
            return False
        header, command, count = REQUEST.unpack(data)
        if header != HEADER:
            return False
        if command == BIAS:
            self._zero = self._felt.copy()
        elif command == START:
            self.streaming, self._rdt, self._left = True, 0, count or -1
        elif command == STOP:
            self.streaming = False
        return bool(command == START)

    def record(self) -> bytes:
        """Take a sample, and return its record; empty where none is asked for."""
        period = 1.0 / self.settings.rate
        self._age += period
        if not self.frozen:
            self._sample = (self._sample + 1) % 2**32
            if not self.stuck:
                noise = self._noise * self._random.standard_normal(6)
                offset = np.array(self.settings.bias) + self.drift * self._age
                self._felt = -self._raw + offset + noise + self._spike  # a box tells the load, the opposite of raw
                self._spike = np.zeros(6)
        if not self.streaming:
            return b""
        self._rdt = (self._rdt + 1) % 2**32
        if self._left > 0:
            self._left -= 1
            self.streaming = self._left > 0
        inside = np.clip(self._felt, -self._limit, self._limit)
        status = self.status | (_OUT_OF_RANGE if (inside != self._felt).any() else 0)
        counts = np.clip(np.rint((inside - self._zero) * self._counts), -_LARGEST, _LARGEST)
        return RECORD.pack(self._rdt, self._sample, status, *map(int, counts))

    def page(self) -> bytes:
        """Return its page of settings."""
        entries = "\n".join(f"<{name}>{value}</{name}>" for name, value in self.page_entries.items())
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<netft>\n{entries}\n</netft>\n'.encode()

    def state(self) -> dict[str, object]:
        """Return what it does now, as plain data: `streaming`, `rdt`, `sample`, `felt`."""
        return {
            "streaming": self.streaming,
            "rdt": self._rdt,
            "sample": self._sample,
            "felt": self._felt.tolist(),
        }
