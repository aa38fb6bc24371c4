"""The step response of four elastic actuators, soft and stiff, on the rig with one joint."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.actuators import Compliance, CompliantJoint, Mode, find_law
from pliant.controllers.checks import Array, positive
from pliant.envs.models.rig1 import JOINT, rig1
from pliant.envs.movement import OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import check_bounds
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.experiments.statics import StaticArm
from pliant.hardware.robot import State
from pliant.report import COLOURS, Report, figure

_PERIOD = 1e-3
_TOOLBOX_STEP = 1e-3
"""Time step of the published toolbox, s."""
_TOLERANCE = 1e-3
_SHOWN = 0.3
"""How long the figure goes on after the step, s."""
_LABELS = {"sea": "SEA", "awas2": "AwAS-II", "bavs": "BAVS", "qbmove": "qbMove"}
_SETTINGS = ("soft", "stiff")


class _Case(NamedTuple):
    law: Compliance
    preset: float
    """rad, m for AwAS-II's pivot; not used by SEA, whose spring is exchanged."""


def _cases() -> dict[tuple[str, str], _Case]:
    """The published settings, by law and setting."""
    awas2, bavs, qbmove, sea = (find_law(name) for name in ("awas2", "bavs", "qbmove", "sea"))
    return {
        ("sea", "soft"): _Case(sea("soft"), 0.0),
        ("sea", "stiff"): _Case(sea("stiff"), 0.0),
        ("awas2", "soft"): _Case(awas2(), 0.005),
        ("awas2", "stiff"): _Case(awas2(), 0.040),
        ("bavs", "soft"): _Case(bavs(), 0.001),
        ("bavs", "stiff"): _Case(bavs(), 0.22),
        ("qbmove", "soft"): _Case(qbmove(), 0.2),
        ("qbmove", "stiff"): _Case(qbmove(), 0.6),
    }


def flung_speed(law: Compliance, preset: float, angle: float, inertia: float) -> float:
    """Speed that a step of the motors gives the link at most, rad/s.

    ½·I·v² = E(0) − E(angle): all the energy that the step puts into the spring, without friction or weight.

    Args:
        law: of the joint.
        preset: stiffness preset, rad (m for a pivot).
        angle: height of the step, rad.
        inertia: I, kg·m².
    """
    references = law.references(angle, preset)
    return math.sqrt(2.0 * max(law.energy(0.0, *references) - law.energy(angle, *references), 0.0) / inertia)


def _violent(case: _Case, speed: float) -> bool:
    """Whether a link of that speed crosses the range of its spring within a step of the published toolbox."""
    return speed * _TOOLBOX_STEP > 2.0 * case.law.max_deflection


@dataclass(frozen=True)
class StepResponse(Experiment):
    """A weight hangs on a short rod (`rig1`) and the motors step, in mode 3.

    I·q̈ + b·q̇ + m·g·l·sin q = τ(q, θ1, θ2), from rest at q = 0. The link comes to rest short of the step by what
    the spring yields to the weight. A step that would fling the link across the whole range of its spring within
    one step of the published toolbox (1 ms) is no motion a machine could make; there the motors turn at
    `motor_speed` instead. Among the published settings that is AwAS-II's stiff one alone.
    """

    title: ClassVar[str] = "Step response of four actuators"
    source: ClassVar[str] = "Mengacci et al. 2021, Fig. 8"

    angle: float = 0.8
    """Height of the step, rad."""
    at: float = 0.1
    """When it comes, s."""
    duration: float = 1.1
    """s"""
    damping: float = 0.02
    """Viscous friction of the joint, N·m·s/rad."""
    timestep: float = 1e-4
    """s. The stiffest setting swings at 530 Hz and is unstable above 0.6 ms."""
    motor_speed: float = 6.0
    """Top speed of a motor, rad/s."""

    def __post_init__(self) -> None:
        check_bounds("step: angle", self.angle, -math.pi, math.pi, "rad")
        positive("step: duration", self.duration, "s")
        check_bounds("step: at", self.at, 0.0, self.duration, "s")
        positive("step: motor_speed", self.motor_speed, "rad/s")

    def run(self) -> Outcome:
        """Run the eight settings."""
        claims: list[Claim] = []
        metrics: dict[str, float] = {}
        arrays: dict[str, Array] = {}
        for (law, setting), case in _cases().items():
            movement = self._movement(case)
            statics = StaticArm(movement.robot.model)
            speed = self._flung_speed(case, statics)
            motion = movement.run()
            balance = statics.rest([self.angle], [case.preset])[0]
            rest = float(motion.position[-1, 0])
            name = f"{law}_{setting}"
            metrics |= {
                f"{name}_rest_rad": rest,
                f"{name}_balance_rad": float(balance),
                f"{name}_stiffness": float(motion.stiffness[0, 0]),
                f"{name}_overshoot_rad": float(motion.position.max()) - rest,
                f"{name}_settled_s": _settled(motion, 0.02 * abs(self.angle)) - self.at,
                f"{name}_flung_speed": speed,
                f"{name}_ramped": float(_violent(case, speed)),
            }
            arrays |= {
                "time": np.asarray(motion.time),
                f"{name}_position": motion.position[:, 0],
                f"{name}_reference": motion.command[:, 0],
            }
            claims.append(
                Claim(
                    f"rest angle, {_LABELS[law]} {setting}",
                    f"{balance:.4f} rad (springs against gravity)",
                    f"{rest:.4f} rad",
                    abs(rest - float(balance)) < _TOLERANCE,
                    f"±{_TOLERANCE:g} rad",
                )
            )
        return Outcome(tuple(claims), metrics, arrays, self._notes(metrics))

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """The eight settings, the softest actuator first."""
        cases = sorted(_cases().items(), key=lambda item: item[0][0] != "qbmove")
        return {f"{law}_{setting}": partial(self._movement, case) for (law, setting), case in cases}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """A panel per actuator with both settings."""
        time = outcome.arrays["time"] - self.at
        with figure(2, 2, height=5.6, sharex=True, sharey=True) as (drawing, axes):
            for ax, (law, label) in zip(axes.flat, _LABELS.items(), strict=True):
                for setting, colour in zip(_SETTINGS, COLOURS, strict=False):
                    name = f"{law}_{setting}"
                    reference = outcome.arrays[f"{name}_reference"]
                    ax.plot(time, reference, color="black", linestyle="--", linewidth=1.0)
                    stiffness = outcome.metrics[f"{name}_stiffness"]
                    position = outcome.arrays[f"{name}_position"]
                    ax.plot(
                        time, position, color=colour, linewidth=1.2, label=f"{setting}, {stiffness:.4g} N·m/rad"
                    )
                ax.set_title(label)
                ax.legend(loc="lower right")
            for ax in axes[:, 0]:
                ax.set(ylabel="link angle (rad)")
            for ax in axes[-1]:
                ax.set(xlabel="time (s)", xlim=(-0.02, min(_SHOWN, self.duration - self.at)))
            report.figure(
                drawing,
                f"Response to a step of {self.angle:g} rad (dashed) of a weight on four actuators, soft and "
                "stiff; stiffness at rest, unloaded.",
            )

    def _robot(self, case: _Case) -> SimulatedRobot:
        preset = None if case.law.preset is None else case.preset
        joint = CompliantJoint(case.law, Mode.EQUILIBRIUM_PRESET)
        return SimulatedRobot(rig1(joint, preset=preset, damping=self.damping, timestep=self.timestep), _PERIOD)

    def _flung_speed(self, case: _Case, statics: StaticArm) -> float:
        return flung_speed(case.law, case.preset, self.angle, statics.inertia([0.0])[0])

    def _movement(self, case: _Case) -> OpenLoop:
        robot = self._robot(case)
        time = _PERIOD * np.arange(round(self.duration / _PERIOD))
        rows = np.tile(robot.info.rest, (len(time), 1))
        if _violent(case, self._flung_speed(case, StaticArm(robot.model))):
            rise = self.motor_speed * (time - self.at)
        else:
            rise = np.where(time >= self.at - 1e-9, math.inf, 0.0)
        size = np.clip(rise, 0.0, abs(self.angle))
        rows[:, robot.info.command_names.index(f"{JOINT}/equilibrium")] = math.copysign(1.0, self.angle) * size
        return OpenLoop(robot, rows)

    def _notes(self, metrics: dict[str, float]) -> tuple[str, ...]:
        ramped = [
            name.removesuffix("_ramped") for name, value in metrics.items() if name.endswith("_ramped") and value
        ]
        notes = [
            "The publication shows curves. The rest angles follow from its spring laws and its rig (0.2 kg at "
            "0.04 m): where the spring balances the weight, found by root finding without simulation.",
            f"The rig's friction is not published; b = {self.damping:g} N·m·s/rad is the value in the public "
            "toolbox's templates. It shapes the way to rest, not the rest angle.",
            f"Time step {1e3 * self.timestep:g} ms: at the toolbox's 1 ms AwAS-II's stiff setting is unstable.",
        ]
        for name in ramped:
            law, setting = name.rsplit("_", 1)
            notes.append(
                f"{_LABELS[law]} {setting}: a step would fling the link at {metrics[f'{name}_flung_speed']:.0f} "
                "rad/s, across the whole range of its spring in less than a millisecond. Its motor turns at "
                f"{self.motor_speed:g} rad/s instead."
            )
        return tuple(notes)


def _settled(motion: State, band: float) -> float:
    """When the link is last further than `band` from where it ends, s."""
    away: Array = np.abs(motion.position[:, 0] - motion.position[-1, 0]) > band
    return float(np.asarray(motion.time)[np.flatnonzero(away)[-1]]) if away.any() else 0.0
