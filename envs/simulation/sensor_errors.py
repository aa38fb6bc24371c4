"""How far off a robot's readings are: bias, drift and noise of each signal."""

import numpy as np

from pliant.envs.selection import select
from pliant.envs.simulation.signal_layout import Readings
from pliant.errors import check_bounds
from pliant.hardware.robot import Array, RobotInfo

_MOST = 1e6


class SensorErrors:
    """Bias, drift, and white Gaussian noise on what one robot reads.

    Bias and drift are those of its `Readings`, the noise that of the last reset unless `set_noise` changes it.
    """

    def __init__(self, info: RobotInfo, readings: Readings, *, noisy: bool) -> None:
        """Keep what is given; the noise of joints is none before `renew`.

        Args:
            info: of the robot.
            readings: what it reads.
            noisy: whether there may be noise: numbers are drawn for it, even if they are multiplied by 0.
        """
        self._info, self._readings, self._drawn = info, readings, noisy
        self._changed = dict[int, float]()
        self.renew(0.0, 0.0, 0.0)

    @property
    def noise(self) -> Array:
        """Standard deviation of the noise, (signals,), in the order of `info.signals`."""
        return self._noise.copy()

    def set_noise(self, signals: str, deviation: float) -> None:
        """Change the noise, also while the robot runs: from the next period on, over all resets.

        Args:
            signals: name or glob, as in `sensing`: `*/position`, `tip/position_*`.
            deviation: standard deviation, in the signals' unit.

        Raises:
            UnknownNameError: no such signal.
            OutOfBoundsError: a deviation that is negative or not finite.
        """
        value = check_bounds(f"noise of {signals!r}", deviation, 0.0, _MOST)
        chosen = select(signals, self._info.signals, "signal", f"robot {self._info.name!r}")
        self._changed |= dict.fromkeys(chosen, value)
        self._change()

    def renew(self, position: float, velocity: float, torque: float) -> None:
        """Take on the noise that a reset has drawn, as `Readings.deviations`."""
        self._noise = self._readings.deviations(position, velocity, torque)
        self._change()

    def add(self, values: Array, time: float | Array, random: np.random.Generator) -> None:
        """Add them to measurements.

        Args:
            values: exact, (signals,) or (n, signals), changed.
            time: when they were taken, s; (n, 1) of several.
            random: draws the noise, row by row.
        """
        if self._readings.biased:
            values += self._readings.bias + self._readings.drift * time
        if self._noisy:
            values += self._noise * random.standard_normal(values.shape)

    def _change(self) -> None:
        """Let the noise be what `set_noise` has made it."""
        for signal, deviation in self._changed.items():
            self._noise[signal] = deviation
        self._noisy = self._drawn or any(self._changed.values())
