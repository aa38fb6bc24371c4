"""The frequency response of a qbMove, soft and stiff, from a chirp of its equilibrium."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.actuators import CompliantJoint, Mode, find_law
from pliant.controllers import Chirp
from pliant.controllers.checks import Array
from pliant.controllers.frequency_response import (
    FrequencyResponse,
    LinearJoint,
    bandwidth,
    coherent,
    estimate_frequency_response,
    resonance,
)
from pliant.envs.models.rig1 import rig1
from pliant.envs.movement import OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.experiments.harmonic_balance import harmonic_balance
from pliant.experiments.statics import StaticArm
from pliant.report import COLOURS, Report, figure

_PERIOD = 2e-3
_TIMESTEP = 5e-4
_SETTINGS = ("soft", "stiff")
_SEGMENTS = 5.0
"""Into which a chirp is cut for the estimate."""
_LATE = 0.9
"""Where on the way to its end the published sweep is read off: at the very end few segments count."""
_CLOSE = 0.02
"""Relative error up to which a measured frequency agrees with the linear model."""


class Sweep(NamedTuple):
    """One chirp and what came of it."""

    time: Array
    """(n,), s, from the start of the chirp: rest before and after it."""
    equilibrium: Array
    """(n,), rad."""
    position: Array
    """(n,), rad."""
    response: FrequencyResponse


def quarter_turn(response: FrequencyResponse) -> float | None:
    """Frequency at which the output first lags by 90°, Hz; None if it does not.

    For a linear joint that is √((K + G)/I)/2π, whatever its damping, also where there is no resonance.
    """
    lag = -response.phase
    late = np.flatnonzero(lag > 0.5 * np.pi)
    if not late.size or late[0] == 0:
        return None
    pair = slice(late[0] - 1, late[0] + 1)
    return float(np.interp(0.5 * np.pi, lag[pair], response.frequency[pair]))


@dataclass(frozen=True)
class ChirpResponse(Experiment):
    """A qbMove swings the weight of `rig1` in a horizontal plane, driven by a chirp of θeq in mode 3.

    Two sweeps a setting. The published one, whose amplitude the spring's hardening does not ignore, is compared
    with harmonic balance. One of a tenth of the amplitude, and wide enough for the stiff setting, is compared
    with the joint linearised at rest, K/(I·s² + d·s + K).
    """

    title: ClassVar[str] = "Frequency response of a qbMove"
    source: ClassVar[str] = "Mengacci et al. 2021, Fig. 11"

    soft: float = 0.2
    """Stiffness preset, rad."""
    stiff: float = 0.6
    """Stiffness preset, rad."""
    amplitude: float = 0.15
    """Of the published sweep, rad."""
    f0: float = 0.5
    """Where sweeps begin, Hz."""
    f1: float = 6.0
    """Where the published sweep ends, Hz."""
    duration: float = 20.0
    """Of the published sweep, s."""
    small_amplitude: float = 0.015
    """Of the wide sweep, rad."""
    wide_f1: float = 40.0
    """Where the wide sweep ends, Hz."""
    wide_duration: float = 60.0
    """s"""
    damping: float = 0.02
    """Viscous friction of the joint, N·m·s/rad."""

    def run(self) -> Outcome:
        """Run both sweeps in both settings."""
        law = find_law("qbmove")()
        claims: list[Claim] = []
        metrics: dict[str, float] = {}
        arrays: dict[str, Array] = {}
        for setting in _SETTINGS:
            preset = float(getattr(self, setting))
            published, wide = (self._movement(preset, chirp) for chirp in (self._published, self._wide))
            (linear,) = StaticArm(published.robot.model).linear([0.0], [preset])
            large, small = _sweep(published, self._published), _sweep(wide, self._wide)
            balance = harmonic_balance(law, preset, linear, self.amplitude, large.response.frequency)
            arrays |= _arrays(setting, linear, large, small, balance)
            metrics |= _measure(setting, linear, large.response, small.response, balance)
            claims += _claims(setting, metrics)
        return Outcome(tuple(claims), metrics, arrays, self._notes(metrics))

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """Both sweeps in both settings, the published ones first."""
        return {
            f"{setting}{sweep}": partial(self._movement, float(getattr(self, setting)), chirp)
            for sweep, chirp in (("", self._published), ("_wide", self._wide))
            for setting in _SETTINGS
        }

    def draw(self, outcome: Outcome, report: Report) -> None:
        """The chirp in time, and gain, phase and coherence of both sweeps."""
        self._draw_time(outcome, report)
        _draw_response(outcome, report)

    @property
    def _published(self) -> Chirp:
        return Chirp(self.amplitude, self.f0, self.f1, self.duration)

    @property
    def _wide(self) -> Chirp:
        return Chirp(self.small_amplitude, self.f0, self.wide_f1, self.wide_duration)

    def _movement(self, preset: float, chirp: Chirp) -> OpenLoop:
        joint = CompliantJoint(find_law("qbmove")(), Mode.EQUILIBRIUM_PRESET)
        model = rig1(joint, preset=preset, damping=self.damping, gravity=False, timestep=_TIMESTEP)
        robot, time = SimulatedRobot(model, _PERIOD), _times(chirp)
        rows = np.tile(robot.info.rest, (len(time), 1))
        inside = (time >= 0.0) & (time <= chirp.duration)
        rows[:, 0] = np.where(inside, chirp.position(np.clip(time, 0.0, None))[:, 0], 0.0)
        return OpenLoop(robot, rows)

    def _draw_time(self, outcome: Outcome, report: Report) -> None:
        with figure(2, 1, height=4.6, sharex=True, sharey=True) as (drawing, axes):
            time = outcome.arrays["time"]
            for ax, setting, colour in zip(axes.flat, _SETTINGS, COLOURS, strict=False):
                ax.plot(time, outcome.arrays["equilibrium"], color="black", linewidth=0.7, label="equilibrium")
                position = outcome.arrays[f"{setting}_position"]
                ax.plot(time, position, color=colour, linewidth=1.0, label="link")
                ax.set_title(f"{setting}, θs = {getattr(self, setting):g} rad")
                ax.set(ylabel="angle (rad)", xlim=(0.0, self.duration))
            axes.flat[0].legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
            axes.flat[-1].set(xlabel="time (s)")
            report.figure(
                drawing,
                f"Chirp of {self.amplitude:g} rad from {self.f0:g} to {self.f1:g} Hz: where the springs have "
                "their equilibrium, and the link.",
            )

    def _notes(self, metrics: dict[str, float]) -> tuple[str, ...]:
        hardening = metrics["soft_published_lag90_hz"] / metrics["soft_natural_hz"] - 1.0
        return (
            "The measurements of the real joint are not public, nor is what it moved: the rig of the step "
            "responses is taken (0.2 kg at 0.04 m), lying, so that the weight adds no stiffness of its own.",
            f"With that rig's friction ({self.damping:g} N·m·s/rad) the soft joint is overdamped and has no "
            "resonance, in the model as in the estimate. √(K/I) shows where the link lags by 90°, which no "
            "damping moves.",
            f"The stiff joint swings at {metrics['stiff_natural_hz']:.1f} Hz, beyond the end of the published "
            f"chirp ({self.f1:g} Hz): there it only follows. Its resonance is measured in the wide sweep.",
            f"At {self.amplitude:g} rad the soft springs harden: the lag of 90° comes {hardening:.0%} later than "
            "√(K/I), as harmonic balance predicts.",
        )


def _times(chirp: Chirp) -> Array:
    """Times of the commands from the start of a chirp, (n,), s, with half a segment of rest before and after."""
    rest = 0.5 * chirp.duration / _SEGMENTS
    return np.arange(-rest, chirp.duration + rest, _PERIOD)


def _sweep(movement: OpenLoop, chirp: Chirp) -> Sweep:
    """Run a chirp between two rests and estimate the response.

    A command is held for a period, so at an instant where it jumps it counts with its mean: that is late by half
    a period against the chirp, as the held command is on average.
    """
    motion = movement.run()
    before, after = motion.command[:-1, 0], motion.command[1:, 0]
    excitation, position = 0.5 * (before + after), motion.position[:-1, 0]
    segment, band = chirp.duration / _SEGMENTS, (chirp.f0, chirp.f1)
    response = estimate_frequency_response(excitation, position, _PERIOD, segment, band)
    return Sweep(_times(chirp), excitation, position, response)


def _measure(
    setting: str,
    linear: LinearJoint,
    large: FrequencyResponse,
    small: FrequencyResponse,
    balance: FrequencyResponse,
) -> dict[str, float]:
    """Frequencies in Hz and gains, NaN where there are none; of models and measurements."""
    peak, model_peak = resonance(coherent(small)), linear.resonance
    late = int(np.argmin(np.abs(large.frequency - _LATE * large.frequency[-1])))
    values: dict[str, float | None] = {
        "stiffness": linear.stiffness,
        "natural_hz": linear.natural_frequency,
        "damping_ratio": linear.damping_ratio,
        "model_bandwidth_hz": linear.bandwidth,
        "model_resonance_hz": model_peak and model_peak.frequency,
        "model_resonance_gain": model_peak and model_peak.gain,
        "lag90_hz": quarter_turn(coherent(small)),
        "bandwidth_hz": bandwidth(coherent(small), linear.static_gain),
        "resonance_hz": peak and peak.frequency,
        "resonance_gain": peak and peak.gain,
        "least_coherence": float(small.coherence.min()),
        "published_lag90_hz": quarter_turn(coherent(large)),
        "published_bandwidth_hz": bandwidth(coherent(large), linear.static_gain),
        "published_late_hz": float(large.frequency[late]),
        "published_late_gain": float(large.gain[late]),
        "published_least_coherence": float(large.coherence.min()),
        "balance_lag90_hz": quarter_turn(balance),
        "balance_bandwidth_hz": bandwidth(balance, linear.static_gain),
        "balance_late_gain": float(balance.gain[late]),
    }
    return {f"{setting}_{name}": math.nan if value is None else value for name, value in values.items()}


def _claims(setting: str, metrics: dict[str, float]) -> list[Claim]:
    """What a setting's metrics say: small motion against the linear model, the published one against balance."""

    def claim(what: str, model: str, expected: str, found: str, unit: str) -> Claim | None:
        wanted, got = metrics[f"{setting}_{expected}"], metrics[f"{setting}_{found}"]
        if math.isnan(wanted) and math.isnan(got):
            return None
        error = got / wanted - 1.0
        paper, ours = f"{wanted:.3f}{unit} ({model})", f"{got:.3f}{unit} ({error:+.1%})"
        return Claim(f"{what}, {setting}", paper, ours, bool(abs(error) < _CLOSE), f"±{_CLOSE:.0%}")

    small, large, late = "small motion: ", "published chirp: ", metrics[f"{setting}_published_late_hz"]
    rows = [
        claim(f"{small}lag of 90°", "√(K/I)", "natural_hz", "lag90_hz", " Hz"),
        claim(f"{small}bandwidth", "linear", "model_bandwidth_hz", "bandwidth_hz", " Hz"),
        claim(f"{small}resonance", "linear", "model_resonance_hz", "resonance_hz", " Hz"),
        claim(f"{small}gain at resonance", "linear", "model_resonance_gain", "resonance_gain", ""),
        claim(f"{large}lag of 90°", "harmonic balance", "balance_lag90_hz", "published_lag90_hz", " Hz"),
        claim(f"{large}bandwidth", "harmonic balance", "balance_bandwidth_hz", "published_bandwidth_hz", " Hz"),
        claim(f"{large}gain at {late:g} Hz", "harmonic balance", "balance_late_gain", "published_late_gain", ""),
    ]
    return [row for row in rows if row is not None]


def _arrays(
    setting: str, linear: LinearJoint, large: Sweep, small: Sweep, balance: FrequencyResponse
) -> dict[str, Array]:
    """The published sweep in time, and both responses with their models."""
    arrays = {"time": large.time, "equilibrium": large.equilibrium, f"{setting}_position": large.position}
    for name, response in (
        ("published", large.response),
        ("small", small.response),
        ("linear", linear.response(small.response.frequency)),
        ("balance", balance),
    ):
        arrays[f"{setting}_{name}_frequency"] = response.frequency
        arrays[f"{setting}_{name}_gain"] = response.gain
        arrays[f"{setting}_{name}_phase"] = response.phase
        arrays[f"{setting}_{name}_coherence"] = response.coherence
    return arrays


def _draw_response(outcome: Outcome, report: Report) -> None:
    measured = {"linewidth": 4.0, "alpha": 0.5}
    styles = (
        ("small", {"color": COLOURS[2], **measured}, "small motion"),
        ("published", {"color": COLOURS[1], **measured}, "published chirp"),
        ("linear", {"color": "black", "linewidth": 0.9}, "linear model"),
        ("balance", {"color": "black", "linewidth": 0.9, "linestyle": "--"}, "harmonic balance"),
    )
    with figure(3, 2, height=7.0, sharex=True, sharey="row") as (drawing, axes):
        for column, setting in zip(axes.T, _SETTINGS, strict=True):
            for name, style, label in styles:
                data = {
                    part: outcome.arrays[f"{setting}_{name}_{part}"] for part in ("frequency", "gain", "phase")
                }
                column[0].loglog(data["frequency"], data["gain"], label=label, **style)
                column[1].semilogx(data["frequency"], np.degrees(data["phase"]), **style)
                if name in ("small", "published"):
                    coherence = outcome.arrays[f"{setting}_{name}_coherence"]
                    column[2].semilogx(data["frequency"], coherence, **style)
            natural = outcome.metrics[f"{setting}_natural_hz"]
            for ax in column:
                ax.axvline(natural, color=COLOURS[5], linewidth=0.8, linestyle=":")
            column[0].set_title(f"{setting}: √(K/I)/2π = {natural:.2f} Hz (dotted)")
            ticks = [0.5, 1, 2, 5, 10, 20, 40]
            column[2].set(xlabel="frequency (Hz)", ylim=(0.95, 1.005), xticks=ticks, xticklabels=map(str, ticks))
        axes[0, 0].legend()
        for ax, label in zip(axes[:, 0], ("gain (rad/rad)", "phase (°)", "coherence"), strict=True):
            ax.set(ylabel=label)
        axes[1, 0].set(yticks=[0, -45, -90, -135, -180], ylim=(-182, 8))
        report.figure(
            drawing,
            "Response of the link to its equilibrium: gain, phase and coherence of the published chirp and of a "
            "small and wide one, with the models they are compared with.",
        )
