"""Steps of the two-joint arm in a horizontal plane, soft and stiff."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pliant.controllers.checks import Array, all_finite, number_array, positive
from pliant.envs.models.arm2 import JOINTS
from pliant.envs.movement import OpenLoop
from pliant.errors import ShapeError
from pliant.experiments.arm2_runs import PERIOD, SETTINGS, ArmRun, arm_arrays, arm_movement, draw_arm, run_arm
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.report import Report

_STILL = 0.01
"""A link slower than this has come to rest, rad/s."""


@dataclass(frozen=True)
class StepsOfTheArm(Experiment):
    """Both joints of the lying arm (`arm2`) step through `levels` in mode 6: map, position loop, motor, spring.

    Without gravity a link rests where its springs balance each other, which for unequal springs is not θeq, and
    dry friction holds it up to friction/K away from there. How fast it gets there is the motor's matter as much
    as the spring's: the position loop lags by about (D + kd)/kp.
    """

    title: ClassVar[str] = "Steps of the two-joint arm"
    source: ClassVar[str] = "Mengacci et al. 2021, Fig. 12"

    soft: float = 0.2
    """Stiffness preset of both joints, rad."""
    stiff: float = 0.6
    """Stiffness preset of both joints, rad."""
    levels: tuple[float, ...] = (0.0, 0.4, 0.8, 0.4, 0.0, -0.4, 0.0)
    """Equilibria of both joints, one after another, rad."""
    hold: float = 3.0
    """How long each is held, s."""
    damping: float = 0.065
    """Viscous friction of the joints, N·m·s/rad."""
    friction: float = 0.025
    """Dry friction of the joints, N·m."""

    def __post_init__(self) -> None:
        levels = all_finite("steps2: levels", number_array("steps2: levels", self.levels))
        if levels.ndim != 1 or len(levels) < 2 or not np.diff(levels).all():
            raise ShapeError(f"steps2: levels {levels.tolist()} must be two or more, each unlike the one before.")
        object.__setattr__(self, "levels", tuple(levels.tolist()))
        positive("steps2: hold", self.hold, "s")

    def run(self) -> Outcome:
        """Run both settings."""
        rows = round(self.hold / PERIOD)
        runs = {setting: run_arm(getattr(self, setting), move()) for setting, move in self.movements().items()}
        ends = [rows * (k + 1) for k in range(len(self.levels))]
        claims: list[Claim] = []
        metrics: dict[str, float] = {}
        arrays = arm_arrays(runs) | {"balance_time": PERIOD * np.array(ends, dtype=np.float64)}
        for setting, run in runs.items():
            balance = np.array([run.statics.rest((level, level), run.presets) for level in self.levels])
            arrays[f"{setting}_balance"] = balance
            for j, joint in enumerate(JOINTS):
                found = self._measure(run, j, balance[:, j], ends)
                metrics |= {f"{setting}_{joint}_{name}": value for name, value in found.items()}
                claims.append(_rest_claim(setting, joint, found))
        claims += [_delay_claim(joint, metrics) for joint in JOINTS]
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
            "Horizontal steps of the arm in mode 6. Red points: where the springs balance, which is where the "
            "link comes to rest but for dry friction.",
        )

    def _movement(self, preset: float) -> OpenLoop:
        equilibrium = np.repeat(self.levels, round(self.hold / PERIOD))
        return arm_movement(preset, equilibrium, vertical=False, damping=self.damping, friction=self.friction)

    def _measure(self, run: ArmRun, j: int, balance: Array, ends: list[int]) -> dict[str, float]:
        """Angles in rad, times in s, of one joint."""
        position = run.motion.position[:, j]
        rest = position[ends]
        linear = run.statics.linear((0.0, 0.0), run.presets)[j]
        crossings = [
            _crossing(position[start : end + 1], 0.5 * float(position[start] + position[end]))
            for start, end in itertools.pairwise(ends)
        ]
        return {
            "offset_rad": float(np.mean(rest - self.levels)),
            "balance_offset_rad": float(np.mean(balance - self.levels)),
            "worst_rest_error_rad": float(np.abs(rest - balance).max()),
            "friction_band_rad": self.friction / linear.stiffness,
            "stiffness": linear.stiffness,
            "speed_at_rest": float(np.abs(run.motion.velocity[ends, j]).max()),
            "delay_s": float(np.mean(crossings)) * PERIOD,
        }


def _crossing(position: Array, middle: float) -> float:
    """Row, in fractions, at which a motion first passes `middle`."""
    side = np.sign(position - middle)
    k = int(np.flatnonzero(side != side[0])[0])
    return k - 1 + float((middle - position[k - 1]) / (position[k] - position[k - 1]))


def _rest_claim(setting: str, joint: str, found: dict[str, float]) -> Claim:
    band, error, balance = (found[n] for n in ("friction_band_rad", "worst_rest_error_rad", "balance_offset_rad"))
    return Claim(
        f"rest minus equilibrium set, {joint} {setting}",
        f"{balance:+.4f} ± {band:.4f} rad (balance of its springs ± dry friction)",
        f"{found['offset_rad']:+.4f} rad on average, at most {error:.4f} rad off",
        error <= band and found["speed_at_rest"] < _STILL,
    )


def _delay_claim(joint: str, metrics: dict[str, float]) -> Claim:
    soft, stiff = (metrics[f"{setting}_{joint}_delay_s"] for setting in SETTINGS)
    return Claim(
        f"half of the way, {joint}: stiffer is quicker",
        "curves only",
        f"stiff after {1e3 * stiff:.0f} ms, soft after {1e3 * soft:.0f} ms",
        stiff < soft,
    )


_NOTES = (
    "The links of the published arm and the recordings of the real one are not public: this arm is built from the "
    "public bodies of a five-qbMove arm, and simulation is compared with the balance of the springs instead.",
    "The heights and times of the steps are chosen here.",
    "The springs are those identified on the real arm. They are unequal, so that a joint's equilibrium is not "
    "θeq: an offset that a calibration would remove.",
)
