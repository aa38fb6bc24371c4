"""Taking what a sensor reads of a free tool for its bias."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.errors import check_bounds, check_numbers
from pliant.hardware.force_torque.wrench import QUANTITIES, UNITS
from pliant.hardware.robot import Array


@dataclass(frozen=True)
class TareSettings:
    """When readings may be taken for those of a tool that touches nothing.

    Pairs are of forces, N, and torques, N·m.
    """

    time: float = 1.0
    """Over which readings are averaged, s."""
    joint_speed: float = 0.01
    """Largest speed of any joint, rad/s."""
    tool_speed: float = 0.005
    """Largest speed of the tool, m/s."""
    spread: Sequence[float] = (5.0, 0.5)
    """Largest difference of two readings of one axis."""
    largest: Sequence[float] = (30.0, 3.0)
    """Largest change of the bias: beyond it, something presses on the tool, or its load is another."""

    def __post_init__(self) -> None:
        check_bounds("tare: time", self.time, 0.01, 100.0, "s")
        check_bounds("tare: joint_speed", self.joint_speed, 0.0, 10.0, "rad/s")
        check_bounds("tare: tool_speed", self.tool_speed, 0.0, 10.0, "m/s")
        for name in ("spread", "largest"):
            object.__setattr__(self, name, check_numbers(f"tare: {name}", getattr(self, name), 2, 0.0, 1e5))


class Tare(NamedTuple):
    """How a tare stands."""

    state: str
    """`none`, `running`, `done` or `refused`."""
    reason: str = ""
    """Why it was refused."""
    change: Array = np.zeros(6)
    """Of the bias, once done, (6,), N and N·m: what the sensor has drifted since the last tare."""


class TareTaking:
    """Averages what a free tool reads beyond its weight."""

    def __init__(self, settings: TareSettings) -> None:
        self._settings = settings
        self._pairs = np.array([np.repeat(settings.spread, 3), np.repeat(settings.largest, 3)])
        self.begin()

    def begin(self) -> None:
        """Forget what was averaged."""
        self._start, self._count = math.nan, 0
        self._sum, self._low, self._high = np.zeros(6), np.full(6, math.inf), np.full(6, -math.inf)

    def take(
        self,
        time: float,
        reading: Array,
        bias: Array,
        fault: str,
        joint_speed: float | None,
        tool_speed: float | None,
    ) -> Tare:
        """Take one reading into the mean, (6,), and return how the tare stands."""
        limits = self._settings
        if fault:
            return Tare("refused", f"the sensor is {fault}.")
        if joint_speed is None and tool_speed is None:
            return Tare("refused", "the speed of joints or tool is not told.")
        for what, speed, most, unit in (
            ("a joint", joint_speed, limits.joint_speed, "rad/s"),
            ("the tool", tool_speed, limits.tool_speed, "m/s"),
        ):
            if speed is not None and not speed <= most:
                return Tare(
                    "refused", f"{what} moves at {speed:.3g} {unit}; at most {most:.3g} {unit} are let pass."
                )
        if not self._count:
            self._start = time
        self._count += 1
        self._sum += reading
        np.minimum(self._low, reading, out=self._low)
        np.maximum(self._high, reading, out=self._high)
        beyond = self._high - self._low - self._pairs[0]
        if beyond.max() > 0.0:
            axis = int(beyond.argmax())
            spread, unit = self._high[axis] - self._low[axis], UNITS[axis]
            most = self._pairs[0, axis]
            return Tare(
                "refused",
                f"{QUANTITIES[axis]} spreads over {spread:.3g} {unit}; at most {most:.3g} {unit} are let pass.",
            )
        if time - self._start < limits.time:
            return Tare("running")
        change = self._sum / self._count - bias
        excess = np.abs(change) - self._pairs[1]
        if excess.max() > 0.0:
            axis = int(excess.argmax())
            unit, most = UNITS[axis], self._pairs[1, axis]
            return Tare(
                "refused",
                f"{QUANTITIES[axis]} is {change[axis]:.3g} {unit} off; at most {most:.3g} {unit} are let pass: "
                "the tool touches something, or its load is another.",
            )
        return Tare("done", "", change)
