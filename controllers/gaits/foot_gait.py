"""A gait in the space of the feet: oscillators say when a leg steps, geometry where its foot goes."""

import copy
import math
from typing import Any

import numpy as np

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array
from pliant.controllers.gaits.gait import Gait, GaitCommand, smooth_rise
from pliant.controllers.gaits.legs import SEGMENTS, Legs, hexapod_legs
from pliant.controllers.gaits.oscillators import Kuramoto, Oscillators
from pliant.controllers.gaits.patterns import LEGS, Pattern, pattern_of
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.limits import MotionLimits
from pliant.hardware.robot import RobotInfo

_SAMPLES = 48
"""Of a cycle, looked at for whether the legs reach it."""


class FootGait(Gait):
    """Coupled oscillators, paths of the feet and inverse kinematics.

    On the ground a foot goes straight backwards under the trunk at the commanded speed: once strides are full
    and the command is constant it does not slide. In the air it goes back to the front, with the speed of the
    ground and no acceleration at both ends, and rises by `lift`. With τ in [0, 1] the time in the swing, d the
    duty factor and L the stride,

        x = L·(−1/2 − m·τ + (1 + m)·(10τ³ − 15τ⁴ + 6τ⁵)),   m = (1 − d)/d,   z = lift·64·τ³(1 − τ)³

    Stride and lift grow with the amplitude of the leg's oscillator.

    Args:
        info, frequency, ramp, limits: see `Gait`.
        legs: of the robot; None: the hexapod's.
        pattern: tripod, tetrapod, ripple, wave, or a `Pattern`.
        rhythm: six oscillators, which are copied; None: `Kuramoto`.
        speed, turn_rate, height, stride: see `GaitCommand`.
        lift: how far a foot is raised, m.

    Raises:
        UnknownNameError: no such pattern; a joint that the robot lacks.
        ConfigurationError: not six oscillators.
        OutOfBoundsError: a number out of its range; a stride that a leg does not reach, with the longest one.
    """

    _offsets: Array
    """Of the pattern that was, (6,), cycles."""
    _shift: Array
    """From there to the pattern's, (6,), cycles."""
    _changed: float
    """How much of the way to the pattern is done."""

    def __init__(
        self,
        info: RobotInfo,
        legs: Legs | None = None,
        *,
        pattern: str | Pattern = "tripod",
        rhythm: Oscillators | None = None,
        speed: float = 0.05,
        turn_rate: float = 0.0,
        height: float = 0.1173,
        stride: float = 0.05,
        lift: float = 0.03,
        frequency: float = 0.5,
        ramp: float = 1.0,
        limits: MotionLimits | None = None,
    ) -> None:
        self._pattern = pattern_of(pattern)
        self._rhythm = Kuramoto() if rhythm is None else copy.deepcopy(rhythm)
        if not isinstance(self._rhythm, Oscillators) or self._rhythm.count != len(LEGS):
            raise ConfigurationError(f"gait: rhythm is {rhythm!r}; {len(LEGS)} Oscillators are needed.")
        self._lift = check_bounds("gait: lift", lift, 0.0, 1.0, "m")
        self._points = np.empty((len(LEGS), 3))
        command = GaitCommand(speed, turn_rate, height, stride)
        super().__init__(info, legs or hexapod_legs(), command, frequency=frequency, ramp=ramp, limits=limits)

    @property
    def pattern(self) -> Pattern:
        """The gait. Set to another one, or its name, the phases go over while the robot walks."""
        return self._pattern

    @pattern.setter
    def pattern(self, pattern: str | Pattern) -> None:
        self._pattern = pattern_of(pattern)
        self._wanted[-1] = self._duty
        self._offsets = self._offsets + smooth_rise(self._changed) * self._shift
        shift = self._pattern.offsets - self._offsets
        shift -= shift[0]
        self._shift, self._changed = shift - np.round(shift), 0.0

    @property
    def rhythm(self) -> Oscillators:
        """The oscillators."""
        return self._rhythm

    @property
    def lift(self) -> float:
        """How far a foot is raised, m; at most what was given at the construction, whose reach was checked."""
        return self._lift

    @property
    def phase(self) -> Array:
        """See `Gait`."""
        return self._rhythm.phase / (2.0 * math.pi)

    @property
    def feet(self) -> Array:
        """Where the feet are to be from the middle of the coxae, (6, 3), m; before any limit."""
        return self._points.copy()

    @property
    def _duty(self) -> float:
        return self._pattern.duty

    def _begin(self) -> None:
        self._offsets, self._shift, self._changed = self._pattern.offsets, np.zeros(len(LEGS)), 1.0
        self._rhythm.begin(self._offsets)

    def _advance(self, dt: float, command: GaitCommand, duty: float, gain: float) -> Array:
        velocities = self._velocities(command)
        frequency = self._cadence(velocities, duty, command.stride)
        if dt > 0.0:
            if self._changed < 1.0:
                self._change(dt * frequency)
            self._rhythm.advance(dt, frequency)
        growth = gain * self._rhythm.amplitude
        strides = velocities * (duty / frequency)
        compiled(_paths)(self.phase, duty, strides, growth, self._lift, self._feet, command.height, self._points)
        return self.legs.nearest(self._points)[0]

    def _change(self, cycles: float) -> None:
        """Lead the lags on to those of the pattern, so slowly that no leg's phase loses half its speed.

        Changed at once, the old phases may be an unstable equilibrium of the new lags: the wave's of the tripod.
        """
        fastest = 1.875 * float(np.abs(self._shift).max())
        self._changed = min(1.0, self._changed + 0.5 * cycles / fastest) if fastest else 1.0
        self._rhythm.couple(self._offsets + smooth_rise(self._changed) * self._shift)

    def _trouble(self, stride: float, height: float) -> str | None:
        cycle, duty = np.arange(_SAMPLES) / _SAMPLES, self._duty
        growth = np.full(len(LEGS), self._rhythm.limit)
        turning = self._across / np.hypot(*self._across.T).max()
        points = np.empty((2, 2, _SAMPLES, len(LEGS), 3))
        for way, ahead in enumerate((np.broadcast_to(self._ahead, turning.shape), turning)):
            for sign in (0, 1):
                for k, phase in enumerate(cycle):
                    phases = np.full(len(LEGS), phase)
                    strides = stride * (1 - 2 * sign) * ahead
                    compiled(_paths)(
                        phases, duty, strides, growth, self._lift, self._feet, height, points[way, sign, k]
                    )
        angles, misses = self.legs.nearest(points)
        if misses.max() > 1e-9:
            leg = int(misses.reshape(-1, len(LEGS)).max(axis=0).argmax())
            return f"the {LEGS[leg]} leg's foot would miss its path by {misses.max():.3g} m"
        beyond = (np.abs(angles) - self._ranges).reshape(-1, len(LEGS), 3).max(axis=0)
        if beyond.max() > 0.0:
            leg, segment = divmod(int(beyond.argmax()), 3)
            return (
                f"{LEGS[leg]}_{SEGMENTS[segment]} would turn {beyond.max():.3g} rad beyond its range of "
                f"±{self._ranges[segment]:.3g} rad"
            )
        return None


def _paths(
    phase: Any, duty: float, strides: Any, growth: Any, lift: float, middle: Any, height: float, out: Any
) -> None:
    swing = 1.0 - duty
    for i in range(out.shape[0]):
        if phase[i] < swing:
            tau = phase[i] / swing
            slope = swing / duty
            rise = tau * tau * tau * (10.0 - 15.0 * tau + 6.0 * tau * tau)
            along = -0.5 - slope * tau + (1.0 + slope) * rise
            up = 64.0 * (tau * (1.0 - tau)) ** 3
        else:
            along = 0.5 - (phase[i] - swing) / duty
            up = 0.0
        out[i, 0] = middle[i, 0] + growth[i] * along * strides[i, 0]
        out[i, 1] = middle[i, 1] + growth[i] * along * strides[i, 1]
        out[i, 2] = -height + growth[i] * up * lift
