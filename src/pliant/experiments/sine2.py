"""A slow sine of the two-joint arm in a vertical plane, soft and stiff."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pliant.controllers import Sine
from pliant.controllers.checks import Array, positive
from pliant.envs.models.arm2 import JOINTS
from pliant.envs.movement import OpenLoop
from pliant.errors import OutOfBoundsError, check_bounds
from pliant.experiments.arm2_runs import PERIOD, SETTINGS, ArmRun, arm_arrays, arm_movement, draw_arm, run_arm
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.report import Report

_BALANCES = 40
"""Points on a period at which the balance is computed."""
_CLOSE = 0.02
"""Error up to which a delay agrees with its estimate, s."""


@dataclass(frozen=True)
class SineOfTheArm(Experiment):
    """Both joints of the hanging arm (`arm2`) are given θeq = amplitude·sin(frequency·t) in mode 6.

    The motion is slow against the joints' resonances, so a link goes through the angles at which its springs
    balance gravity, less high the softer they are, and late by

        T = h/2 + (D + (1 − c)·kd)/kp + (d + 4f/(π·ω·A))/(K + G):

    half the time h for which a command is held, the lag of the motor's position loop, and that of a spring K + G
    against the joint's viscous friction d and its dry friction f, which takes as much energy from a sine of
    amplitude A and frequency ω as a viscous friction of 4f/(π·ω·A).
    """

    title: ClassVar[str] = "A sine of the two-joint arm"
    source: ClassVar[str] = "Mengacci et al. 2021, Fig. 13"

    soft: float = 0.2
    """Stiffness preset of both joints, rad."""
    stiff: float = 0.6
    """Stiffness preset of both joints, rad."""
    amplitude: float = 0.8
    """Of the equilibrium of both joints, rad."""
    frequency: float = 0.8
    """ω, rad/s."""
    periods: int = 2
    """The first one is for the arm to swing in; the last one is measured."""
    damping: float = 0.065
    """d, N·m·s/rad."""
    friction: float = 0.025
    """f, N·m."""

    def __post_init__(self) -> None:
        positive("sine2: amplitude", self.amplitude, "rad")
        positive("sine2: frequency", self.frequency, "rad/s")
        if check_bounds("sine2: periods", self.periods, 2, 1000) != int(self.periods):
            raise OutOfBoundsError(f"sine2: periods is {self.periods}; a whole number is needed.")

    def run(self) -> Outcome:
        """Run both settings."""
        marks = (self.periods - 1) * self._turn * PERIOD + self._period * np.arange(_BALANCES) / _BALANCES
        marked = self._equilibrium(marks)
        runs = {setting: run_arm(getattr(self, setting), move()) for setting, move in self.movements().items()}
        claims: list[Claim] = []
        metrics: dict[str, float] = {}
        arrays = arm_arrays(runs) | {"balance_time": marks}
        for setting, run in runs.items():
            balance = _balances(run, marked)
            arrays[f"{setting}_balance"] = balance
            for j, joint in enumerate(JOINTS):
                found = self._measure(run, j, balance, marked)
                metrics |= {f"{setting}_{joint}_{name}": value for name, value in found.items()}
                claims += _claims(setting, joint, found)
        return Outcome(tuple(claims), metrics, arrays, _NOTES)

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """Both settings."""
        return {setting: partial(self._movement, getattr(self, setting)) for setting in SETTINGS}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Links, motors and references against time."""
        presets = {setting: float(getattr(self, setting)) for setting in SETTINGS}
        draw_arm(
            outcome,
            report,
            presets,
            "The hanging arm in mode 6, both equilibria following a sine. Red points: where springs and gravity "
            "balance; the link goes through these angles a little later.",
        )

    @property
    def _period(self) -> float:
        """Of the sine, s."""
        return 2.0 * math.pi / self.frequency

    @property
    def _turn(self) -> int:
        """Commands in a period of the sine."""
        return round(self._period / PERIOD)

    def _equilibrium(self, times: Array) -> Array:
        """θeq at some times, rad."""
        sine = Sine(self.amplitude, self.frequency, 0.0, (self.periods + 1) * self._period)
        return np.asarray(sine.position(times)[:, 0], dtype=np.float64)

    def _movement(self, preset: float) -> OpenLoop:
        equilibrium = self._equilibrium(PERIOD * np.arange(self.periods * self._turn, dtype=np.float64))
        return arm_movement(preset, equilibrium, vertical=True, damping=self.damping, friction=self.friction)

    def _measure(self, run: ArmRun, j: int, balance: Array, equilibrium: Array) -> dict[str, float]:
        """Angles in rad, times in s, of one joint in the last period."""
        position = run.motion.position[-self._turn - 1 :, j]
        stiffness = np.mean(
            [
                linear[j].stiffness + linear[j].gravity_stiffness
                for linear in (
                    run.statics.linear((e, e), run.presets, q)
                    for e, q in zip(equilibrium.tolist(), balance, strict=True)
                )
            ]
        )
        amplitude = 0.5 * float(np.ptp(balance[:, j]))
        least, most = self._reach(run, j)
        description = run.statics.joints[j].description
        assert description.pid is not None
        pid = description.pid
        motor = (description.motor.damping + (1.0 - pid.derivative_weight) * pid.kd) / pid.kp
        drag = self.damping + 4.0 * self.friction / (math.pi * self.frequency * amplitude)
        late = self._phase(balance[:, j]) - self._phase(position[:-1])
        return {
            "amplitude_rad": 0.5 * float(np.ptp(position)),
            "balance_amplitude_rad": amplitude,
            "least_amplitude_rad": least,
            "most_amplitude_rad": most,
            "delay_s": (late + math.pi) % (2.0 * math.pi) / self.frequency - math.pi / self.frequency,
            "estimated_delay_s": 0.5 * PERIOD + motor + drag / float(stiffness),
            "stiffness": float(stiffness),
        }

    def _reach(self, run: ArmRun, j: int) -> tuple[float, float]:
        """Smallest and largest amplitude of a joint, rad: where dry friction lets springs and weight rest.

        At the turning points the friction of either joint may push either way. The motors' loop, a lag of
        (D + (1 − c)·kd)/kp, and their own dry friction take a little of what their equilibrium reaches.
        """
        description = run.statics.joints[j].description
        assert description.pid is not None
        motor, pid, kp = description.motor, description.pid, description.pid.kp
        lag = self.frequency * (motor.damping + (1.0 - pid.derivative_weight) * pid.kd) / kp
        least = self.amplitude / math.hypot(1.0, lag) - motor.static_friction / kp
        found = []
        for reached, pick in ((least, min), (self.amplitude, max)):
            ends = []
            for way in (1.0, -1.0):
                level = (way * reached,) * 2
                balance = run.statics.rest(level, run.presets)
                loads = self.friction * np.array(list(itertools.product((-1.0, 1.0), repeat=2)))
                ends.append(pick(way * run.statics.rest(level, run.presets, balance, load)[j] for load in loads))
            found.append(0.5 * float(sum(ends)))
        return found[0], found[1]

    def _phase(self, turn: Array) -> float:
        """Phase of the fundamental of a period's samples, rad."""
        angles = 2.0 * np.pi * np.arange(len(turn)) / len(turn)
        return float(np.angle(np.sum(turn * np.exp(-1j * angles))))


def _balances(run: ArmRun, equilibrium: Array) -> Array:
    """Angles at which springs and gravity balance along a path, each found from the one before, (n, 2), rad."""
    angles: list[Array] = []
    for level in equilibrium.tolist():
        angles.append(run.statics.rest((level, level), run.presets, angles[-1] if angles else None))
    return np.array(angles)


def _claims(setting: str, joint: str, found: dict[str, float]) -> list[Claim]:
    amplitude, balance, least, most = (
        found[f"{name}amplitude_rad"] for name in ("", "balance_", "least_", "most_")
    )
    delay, estimate = found["delay_s"], found["estimated_delay_s"]
    return [
        Claim(
            f"amplitude, {joint} {setting}",
            f"{least:.4f} to {most:.4f} rad (springs against gravity, {balance:.4f} rad, with dry friction)",
            f"{amplitude:.4f} rad",
            least <= amplitude <= most,
            "within this range",
        ),
        Claim(
            f"delay behind the balance, {joint} {setting}",
            f"{1e3 * estimate:.0f} ms (motor loop and friction)",
            f"{1e3 * delay:.0f} ms",
            abs(delay - estimate) < _CLOSE,
            f"±{1e3 * _CLOSE:g} ms",
        ),
    ]


_NOTES = (
    "The links of the published arm and the recordings of the real one are not public: this arm is built from the "
    "public bodies of a five-qbMove arm, and simulation is compared with statics instead. How far the links sag "
    "depends on their masses and so differs from the publication.",
    "The springs are those identified on the real arm; their inequality moves the middle of the motion.",
)
