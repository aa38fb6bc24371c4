"""A tool that gives way like a mass with damper and spring is led over a ramp and a box, on two arms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.controllers.checks import positive
from pliant.experiments.experiment import Claim, Source
from pliant.experiments.tool_experiment import ToolExperiment
from pliant.experiments.tool_runs import ToolMovement, ToolRun

_RAMP = 0.1
"""Time of speeding up and of slowing down, s."""
_ON_RAMP = (0.3, 0.9)
"""Part of the time on the ramp in which the forces are compared."""
_WINDOW = 2.0
"""Over which forces are averaged, s: friction and contact chatter."""


@dataclass(frozen=True)
class Admittance(ToolExperiment):
    """The tool is led along a straight line, with nothing desired of the force, into a ramp and over a box.

    M·ẍ_c + K_D·ẋ_c + K_P·(x_c − x_d) = f, for each axis of the tool at the start, f being what the surroundings do
    to the tool. On the ramp of pitch p with friction μ it must press with F_z = K_D·ż + K_P·z and F_x/F_z =
    tan(p + atan μ), and lag by (F_x + K_D·ẋ)/K_P; after it, z comes back with the time constant K_D/K_P.
    """

    title: ClassVar[str] = "Admittance control of two arms over a ramp and a box"
    source: ClassVar[str] = "Storiale, Ferrentino & Chiacchio 2022, Fig. 8"

    duration: float = 180.0
    """Of the motion, s."""
    recovery: float = 5.5
    """How long it then stands, from the release on, time constants of z."""
    pitch: float = 0.507891
    """Of the ramp, rad."""
    friction: float = 0.1
    """Of the ramp."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("duration", "recovery", "pitch", "friction"):
            positive(f"admittance: {name}", getattr(self, name))

    @property
    def _until(self) -> float:
        return self.duration

    def _movement(self, name: str) -> ToolMovement:
        one = self._arm(name)
        along = one.along() * one.speed * (self.duration - _RAMP)
        goal = {"waypoints": [along.tolist()], "times": [self.duration], "ramp": _RAMP}
        constant = one.gains["damping"][2] / one.gains["stiffness"][2]
        return one.movement([{"trajectory": goal}], self.duration + self.recovery * constant)

    def _numbers(self, name: str, run: ToolRun) -> dict[str, float]:
        one = self._arm(name)
        along = one.along()
        axis = int(np.abs(along).argmax())
        damping, stiffness = (np.array(one.gains[key], dtype=float) for key in ("damping", "stiffness"))
        first, last = run.touches()
        height = (run.desired - run.commanded)[:, 2]
        top = float(run.time[(run.time < last)][height[run.time < last].argmax()])
        begin, end = (first + share * (top - first) for share in _ON_RAMP)
        errors, ratios, lags = [], [], []
        for t in np.linspace(begin, end, 8):
            mean = run.at(t, _WINDOW)
            rate = run.at(t + 0.5, _WINDOW).commanded - run.at(t - 0.5, _WINDOW).commanded
            force = mean.wrench[:3]
            errors.append(-damping[2] * rate[2] + stiffness[2] * (mean.desired - mean.commanded)[2] - force[2])
            ratios.append(force @ along / force[2])
            push = damping[axis] * rate @ along + force @ along
            lags.append(push / stiffness[axis] - (mean.desired - mean.commanded) @ along)
        free = run.at(0.5 * first, _WINDOW)
        released = run.time > last + 2.0
        after = height[released]
        fitted = np.polyfit(run.time[released], np.log(np.maximum(after, 1e-9)), 1, w=after)
        box = run.at(0.5 * (last + top) + 0.25 * (last - top), 10.0)
        across = np.cross(along, [0.0, 0.0, 1.0])
        return {
            "contact_s": first,
            "release_s": last,
            "peak_force_z_N": float(np.abs(run.wrench[:, 2]).max()),
            "force_error_N": float(np.abs(errors).max()),
            "force_ratio": float(np.mean(ratios)),
            "lag_error_m": float(np.abs(lags).max()),
            "free_lag_m": float((free.desired - free.commanded) @ along),
            "free_lag_expected_m": float(damping[axis] * one.speed / stiffness[axis]),
            "box_height_m": float((box.desired - box.commanded)[2]),
            "box_force_N": float(box.wrench[2]),
            "box_force_expected_N": float(stiffness[2] * (box.desired - box.commanded)[2]),
            "time_constant_s": float(-1.0 / fitted[0]),
            "time_constant_expected_s": float(damping[2] / stiffness[2]),
            "across_m": float(np.abs(run.measured @ across).max()),
            "height_at_end_of_motion_m": float(height[run.time <= self.duration][-1]),
            "height_at_end_m": float(height[-1]),
            "height_m": float(height.max()),
        }

    def _claims(self, name: str, numbers: Mapping[str, float]) -> list[Claim]:
        ratio = np.tan(self.pitch + np.arctan(self.friction))
        tau, expected = numbers["time_constant_s"], numbers["time_constant_expected_s"]
        left = numbers["height_at_end_of_motion_m"] * float(np.exp(-self.recovery))
        return [
            Claim(
                f"{name}: contact with the ramp",
                "20 s",
                f"{numbers['contact_s']:.2f} s",
                abs(numbers["contact_s"] - 20.0) < 3.0,
                "±3 s",
                Source.PUBLISHED,
            ),
            Claim(
                f"{name}: release from the box, by the choice of the speed",
                "140 s",
                f"{numbers['release_s']:.1f} s",
                None,
                source=Source.PUBLISHED,
            ),
            Claim(
                f"{name}: lag in the air",
                f"{1e3 * numbers['free_lag_expected_m']:.2f} mm (K_D·v/K_P)",
                f"{1e3 * numbers['free_lag_m']:.2f} mm",
                abs(numbers["free_lag_m"] - numbers["free_lag_expected_m"]) < 2e-5,
                "±0.02 mm",
            ),
            Claim(
                f"{name}: force on the ramp, off K_D·ż + K_P·z",
                "0",
                f"{numbers['force_error_N']:.3f} N",
                numbers["force_error_N"] < 0.1,
                "below 0.1 N",
            ),
            Claim(
                f"{name}: force along over force down, on the ramp",
                f"{ratio:.3f} (tan(p + atan μ))",
                f"{numbers['force_ratio']:.3f}",
                abs(numbers["force_ratio"] / ratio - 1.0) < 0.03,
                "±3 %",
            ),
            Claim(
                f"{name}: lag on the ramp, off (F + K_D·ẋ)/K_P",
                "0",
                f"{1e3 * numbers['lag_error_m']:.3f} mm",
                numbers["lag_error_m"] < 1e-3,
                "below 1 mm",
            ),
            Claim(
                f"{name}: force on the box",
                f"{numbers['box_force_expected_N']:.2f} N (K_P·z)",
                f"{numbers['box_force_N']:.2f} N",
                abs(numbers["box_force_N"] - numbers["box_force_expected_N"]) < 0.1,
                "±0.1 N",
            ),
            Claim(
                f"{name}: time constant after the release",
                f"{expected:.1f} s (K_D/K_P)",
                f"{tau:.2f} s",
                abs(tau / expected - 1.0) < 0.01,
                "±1 %",
            ),
            Claim(
                f"{name}: position error at {self.duration:g} s",
                "zero at 180 s",
                f"{1e3 * numbers['height_at_end_of_motion_m']:.1f} mm",
                numbers["height_at_end_of_motion_m"] < 1e-3,
                "below 1 mm",
                Source.PUBLISHED,
            ),
            Claim(
                f"{name}: position error {self.recovery:g} time constants later",
                f"{1e3 * left:.2f} mm (exp(−t·K_P/K_D))",
                f"{1e3 * numbers['height_at_end_m']:.2f} mm",
                abs(numbers["height_at_end_m"] - left) < 2e-5,
                "±0.02 mm",
            ),
            Claim(
                f"{name}: off the path, across it",
                "no deviation",
                f"{1e3 * numbers['across_m']:.3f} mm",
                numbers["across_m"] < 5e-4,
                "below 0.5 mm",
            ),
        ]

    def _notes(self) -> tuple[str, ...]:
        return (
            "The published speeds and set-points are not known. The speeds here make the tool leave the box at "
            "140 s; the contact then does not come at the published 20 s, because the way to the ramp is another "
            "one than those two times say.",
            "Zero error at 180 s cannot be with these gains: the time constant K_D/K_P is 55.6 s (UR10) and 30 s "
            "(Smart-Six). It is reached after some five of them.",
            "What the published code calls a mass matrix is its inverse; here the gains are masses, kg.",
        )
