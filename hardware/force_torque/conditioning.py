"""From the raw wrench of a sensor to the one that the tool exerts on its surroundings, for all controllers.

No clock and no I/O: time, reading and orientation come in, the contact wrench and the name of a fault go out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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
from pliant.hardware.force_torque import kernel
from pliant.hardware.force_torque.tare import Tare, TareSettings, TareTaking
from pliant.hardware.force_torque.tool_load import read_load
from pliant.hardware.force_torque.wrench import GRAVITY, QUANTITIES, UNITS, ToolLoad
from pliant.hardware.robot import Array

_TURN = slice(6, 15)


@dataclass(frozen=True)
class WrenchSettings:
    """How a wrench is conditioned. Pairs are of forces, N, and torques, N·m."""

    load: ToolLoad | Mapping[str, Any] | str | Path = field(default_factory=ToolLoad)
    """What hangs on the sensor: `{mass: 1.2, com: [0, 0, 0.05]}`, kg and m in the sensor's axes; or a file of
    `pliant weigh`."""
    bias: Sequence[float] = (0.0,) * 6
    """What the sensor reads without any load, N and N·m."""
    range: Sequence[float] | None = None
    """Reading of each axis at which the sensor is saturated, N and N·m; None: not known."""
    stale: float | None = 0.1
    """How long readings may be missing or, while the sensor turns, be the same to the last bit, s; None: for
    ever."""
    spike: Sequence[float] | None = (20.0, 2.0)
    """Distance from the median of the last three readings at which a single one is not believed; None: any is."""
    cutoff: float | None = 20.0
    """Of the low-pass, Hz; None: no low-pass."""
    order: int = 1
    """Of the low-pass: 1, or 2 (Butterworth)."""
    drift: Sequence[float] | None = (5.0, 0.5)
    """Mean of the contact wrench of a tool known to be free, at which the sensor has drifted; None: never."""
    drift_time: float = 5.0
    """Over which that mean is taken, s."""
    tare: TareSettings | Mapping[str, Any] = field(default_factory=TareSettings)
    gravity: Sequence[float] = GRAVITY
    """In the axes of the world, m/s²."""

    def __post_init__(self) -> None:
        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        load = read_load(self.load) if isinstance(self.load, str | Path) else ToolLoad.of(self.load)
        keep("load", load)
        keep("bias", check_numbers("bias of the sensor", self.bias, 6, -1e6, 1e6))
        if self.range is not None:
            keep("range", check_numbers("range of the sensor", self.range, 6, 1e-6, 1e6))
        if self.stale is not None:
            check_bounds("stale", self.stale, 1e-3, 60.0, "s")
        for name in ("spike", "drift"):
            if getattr(self, name) is not None:
                keep(name, check_numbers(name, getattr(self, name), 2, 1e-6, 1e6))
        if self.cutoff is not None:
            check_bounds("cutoff", self.cutoff, 0.01, 1e4, "Hz")
        check_count("order of the low-pass", self.order, 1, 2)
        check_bounds("drift_time", self.drift_time, 0.01, 1e4, "s")
        if isinstance(self.tare, Mapping):
            try:
                keep("tare", TareSettings(**self.tare))
            except TypeError as error:
                raise ConfigurationError(f"tare: {error}") from error
        elif not isinstance(self.tare, TareSettings):
            raise ConfigurationError(f"tare is {self.tare!r}; settings such as {{time: 1.0}} are needed.")
        keep("gravity", check_numbers("gravity", self.gravity, 3, -100.0, 100.0, "m/s²"))


class ContactWrench(NamedTuple):
    """What the tool exerts on its surroundings."""

    wrench: Array
    """(6,), N and N·m, in the sensor's axes at its origin; with a fault but a drift, the last one before it."""
    fault: str
    """Why it must not be believed: `saturated: …`, `missing: …`, `frozen: …`, `drifted: …`; empty if it may."""


class WrenchConditioning:
    """Turns the raw wrench of a sensor into the contact wrench of the tool.

    raw is the wrench by which the arm holds what is behind the sensor, so at rest the tool exerts on its
    surroundings, with g the gravity and c the centre of the mass m in the sensor's axes and b the bias,

        F = f_raw − b_f + m·g,   T = τ_raw − b_τ + c × m·g.

    In this order: saturation; missing readings (NaN), for which the last one stands in for `stale`; readings
    frozen to the last bit while the sensor turns; single spikes, replaced by the median of the last three
    readings, so that a step comes one reading late; bias; weight; low-pass, exact at the step of time that passed
    (the input held over it); drift. The inertia of a load that is accelerated is not taken out.

    A simulation without noise repeats itself to the last bit at rest, and reads six zeros without a load: neither
    is a fault, so that a sensor that has died at zero is seen only if its load is given.

    Args:
        settings: see `WrenchSettings`.
    """

    def __init__(self, settings: WrenchSettings | None = None) -> None:
        self.settings = found = settings or WrenchSettings()
        assert isinstance(found.load, ToolLoad)
        assert isinstance(found.tare, TareSettings)
        self._condition = kernel.compiled()
        self._limits = np.full((3, 6), math.inf)
        if found.range is not None:
            self._limits[kernel.RANGE] = found.range
        for row, pair in ((kernel.SPIKE, found.spike), (kernel.DRIFT, found.drift)):
            if pair is not None:
                self._limits[row] = np.repeat(pair, 3)
        stale = math.inf if found.stale is None else found.stale
        cutoff = 0.0 if found.cutoff is None else 2.0 * math.pi * found.cutoff
        load = (found.load.mass, *found.load.com)
        self._numbers = np.array([*found.gravity, *load, stale, cutoff, found.order, 1.0 / found.drift_time])
        self._memory, self._clock = np.zeros((8, 6)), np.zeros(8)
        self._given, self._turn, self._out = np.zeros(15), np.zeros(9), np.zeros(6)
        self._memory[kernel.BIAS] = found.bias
        self._tare, self._taking = Tare("none"), TareTaking(found.tare)

    @property
    def bias(self) -> Array:
        """What is taken for the reading without any load, (6,), N and N·m; as `settings.bias` it outlives this."""
        bias: Array = self._memory[kernel.BIAS].copy()
        return bias

    @property
    def tare_state(self) -> Tare:
        """How the last tare stands."""
        return self._tare

    @property
    def spikes(self) -> int:
        """Readings that were replaced since the start or the last `reset`."""
        return int(self._clock[kernel.SPIKES])

    @property
    def missed(self) -> int:
        """Readings that were missing since then."""
        return int(self._clock[kernel.MISSED])

    def reset(self) -> None:
        """Begin anew with the next reading, without a jump; only the bias is kept."""
        bias = self.bias
        self._memory[:], self._clock[:], self._out[:] = 0.0, 0.0, 0.0
        self._memory[kernel.BIAS] = bias
        if self._tare.state == "running":
            self._tare = Tare("refused", "the conditioning was reset.")

    def start_tare(self) -> None:
        """Take the bias from the next readings, over the time of the settings; see `tare_state`.

        The arm must stand still and its tool touch nothing. If it does not, the bias stays as it is.
        """
        self._tare = Tare("running")
        self._taking.begin()

    def update(
        self,
        time: float,
        raw: ArrayLike,
        rotation: ArrayLike,
        *,
        free: bool = False,
        joint_speed: float | None = None,
        tool_speed: float | None = None,
    ) -> ContactWrench:
        """Take a reading and return the contact wrench.

        Args:
            time: of the robot, s. Where it goes back, everything but the bias begins anew.
            raw: the sensor's reading, (6,), N and N·m; NaN where there is none.
            rotation: of the sensor in the world, (3, 3): takes its coordinates into the world's.
            free: whether the tool is known to touch nothing; then its mean tells a drift of the sensor.
            joint_speed: largest of any joint, rad/s. A tare needs one of the two speeds at least.
            tool_speed: of the tool, m/s.

        Raises:
            ShapeError: arrays of another shape.
            OutOfBoundsError: a time that is not finite.
        """
        given = self._given
        reading, turn = np.asarray(raw, np.float64), np.asarray(rotation, np.float64)
        if reading.shape != (6,) or turn.shape != (3, 3):
            raise ShapeError(
                f"the sensor's reading has shape {reading.shape}, its rotation {turn.shape}; (6,) and (3, 3) are "
                "needed."
            )
        if not math.isfinite(time):
            raise OutOfBoundsError(f"the time of a wrench is {time}; a finite number is needed.")
        given[:6] = reading
        given[_TURN] = turn.ravel()
        if time < self._clock[kernel.TIME]:
            self.reset()
        code = self._condition(
            float(time), free, given, self._turn, self._numbers, self._limits, self._memory, self._clock, self._out
        )
        fault = self._fault(code) if code else ""
        if self._tare.state == "running":
            self._take(time, fault if code != kernel.DRIFTED else "", joint_speed, tool_speed)
        return ContactWrench(self._out.copy(), fault)

    def _fault(self, code: int) -> str:
        clock, axis = self._clock, int(self._clock[kernel.AXIS])
        if code == kernel.SATURATED:
            limit, unit = self._limits[kernel.RANGE, axis], UNITS[axis]
            return f"saturated: {QUANTITIES[axis]} reads {self._given[axis]:.4g} {unit} of ±{limit:.4g} {unit}"
        if code == kernel.MISSING:
            if not clock[kernel.SAMPLES]:
                return "missing: no reading yet"
            return f"missing: no reading for {clock[kernel.TIME] - clock[kernel.READ]:.3g} s"
        if code == kernel.FROZEN:
            return (
                f"frozen: the same reading to the last bit for {clock[kernel.TIME] - clock[kernel.CHANGED]:.3g} s"
            )
        if code == kernel.TURNED:
            return "missing: the sensor's orientation is no rotation"
        mean, unit = self._memory[kernel.MEAN, axis], UNITS[axis]
        return f"drifted: a free tool reads {mean:.3g} {unit} of {QUANTITIES[axis]} on average; tare it"

    def _take(self, time: float, fault: str, joint_speed: float | None, tool_speed: float | None) -> None:
        """Go on with a tare."""
        memory = self._memory
        free = memory[kernel.FREE]
        self._tare = self._taking.take(time, free, memory[kernel.BIAS], fault, joint_speed, tool_speed)
        if self._tare.state == "done":
            memory[kernel.BIAS] += self._tare.change
            memory[kernel.FILTERED] -= self._tare.change
            memory[kernel.MEAN] = 0.0
            self._out -= self._tare.change
