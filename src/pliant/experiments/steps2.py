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
from pliant.experiments.coulomb import CoulombArm
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.report import COLOURS, Report, figure

_STILL = 1e-4
"""A link slower than this has come to rest, rad/s."""
_CLOSE = 2e-3
"""Of the Coulomb arm's rest angle, rad: the time step's error in how a link swings out."""


@dataclass(frozen=True)
class StepsOfTheArm(Experiment):
    """Both joints of the lying arm (`arm2`) step through `levels` in mode 6: map, position loop, motor, spring.

    Without gravity the springs balance each other, for unequal ones not at θeq, and dry friction holds the link
    somewhere near: where, an independent integration with Coulomb friction says (`CoulombArm`). How fast it gets
    there is the motor's matter as much as the spring's: the position loop lags by about D/kp.
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
            coulomb = self._coulomb(run)
            arrays |= {f"{setting}_balance": balance, f"{setting}_coulomb": coulomb}
            for j, joint in enumerate(JOINTS):
                found = self._measure(run, j, balance[:, j], coulomb[:, j], ends)
                metrics |= {f"{setting}_{joint}_{name}": value for name, value in found.items()}
                claims.append(_rest_claim(setting, joint, found))
        claims += [_delay_claim(joint, metrics) for joint in JOINTS]
        return Outcome(tuple(claims), metrics, arrays, _NOTES)

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """Both settings."""
        return {setting: partial(self._movement, getattr(self, setting)) for setting in SETTINGS}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Links, motors and references against time; and what dry friction holds."""
        presets = {setting: float(getattr(self, setting)) for setting in SETTINGS}
        draw_arm(
            outcome,
            report,
            presets,
            "Horizontal steps of the arm in mode 6. Red points: where the springs balance, which is where the "
            "link comes to rest but for dry friction.",
        )
        self._draw_friction(outcome, report)

    def _draw_friction(self, outcome: Outcome, report: Report) -> None:
        """How far dry friction holds the soft links from the balance; MuJoCo's default friction beside it."""
        data, rows = outcome.arrays, round(self.hold / PERIOD)
        creeping = self._movement(self.soft, hard=False).run().position
        with figure(1, len(JOINTS), sharex=True, sharey=True) as (drawing, axes):
            for j, (ax, joint) in enumerate(zip(axes[0], JOINTS, strict=True)):
                balance = np.append(np.repeat(data["soft_balance"][:, j], rows), data["soft_balance"][-1, j])
                for label, angle, style in (
                    ("MuJoCo's default friction", creeping[:, j], {"color": COLOURS[1], "linewidth": 1.0}),
                    ("link", data["soft_position"][:, j], {"color": COLOURS[0]}),
                    ("Coulomb arm", data["soft_coulomb"][:, j], {"color": "black", "linestyle": "--"}),
                ):
                    ax.plot(data["time"], 1e3 * (angle - balance), label=label, **style)
                ax.set(title=f"{joint}, soft (θs = {self.soft:g} rad)", xlabel="time (s)", ylim=(-60.0, 60.0))
            axes[0, 0].set(ylabel="link from balance (mrad)", xlim=(0.0, data["time"][-1]))
            drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
            report.figure(
                drawing,
                "Friction that holds: how far the soft links stand from the balance of their springs. Black: an "
                "independent integration with Coulomb friction. Red: with MuJoCo's default solver parameters of "
                "dry friction a stuck link creeps to the balance.",
            )

    def _movement(self, preset: float, hard: bool = True) -> OpenLoop:
        equilibrium = np.repeat(self.levels, round(self.hold / PERIOD))
        return arm_movement(
            preset, equilibrium, vertical=False, damping=self.damping, friction=self.friction, hard=hard
        )

    def _coulomb(self, run: ArmRun) -> Array:
        """Link angles of the Coulomb arm under the same commands, (n, 2), rad."""

        def reference(time: float) -> Array:
            level = self.levels[min(int(time / self.hold), len(self.levels) - 1)]
            return level + run.preset * np.array([1.0, -1.0, 1.0, -1.0])

        breaks = [self.hold * k for k in range(len(self.levels) + 1)]
        return CoulombArm(run.robot.model).run(breaks, reference, np.asarray(run.motion.time))[:, :2]

    def _measure(self, run: ArmRun, j: int, balance: Array, coulomb: Array, ends: list[int]) -> dict[str, float]:
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
            "held_rad": float(np.abs(rest - balance).max()),
            "coulomb_offset_rad": float(np.mean(coulomb[ends] - self.levels)),
            "worst_rest_error_rad": float(np.abs(rest - coulomb[ends]).max()),
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
    error = found["worst_rest_error_rad"]
    return Claim(
        f"rest minus equilibrium set, {joint} {setting}",
        f"{found['coulomb_offset_rad']:+.4f} rad (independent integration, Coulomb friction)",
        f"{found['offset_rad']:+.4f} rad on average, at most {error:.4f} rad off",
        error <= _CLOSE and found["speed_at_rest"] < _STILL,
        f"±{_CLOSE:g} rad, slower than {_STILL:g} rad/s",
    )


def _delay_claim(joint: str, metrics: dict[str, float]) -> Claim:
    soft, stiff = (metrics[f"{setting}_{joint}_delay_s"] for setting in SETTINGS)
    return Claim(
        f"time to half of the way, {joint}",
        "stiff before soft (√(K/I))",
        f"stiff after {1e3 * stiff:.0f} ms, soft after {1e3 * soft:.0f} ms",
        stiff < soft,
        "stiff before soft",
    )


_NOTES = (
    "The links of the published arm and the recordings of the real one are not public: this arm is built from the "
    "public bodies of a five-qbMove arm, and simulation is compared with an independent integration instead.",
    "The heights and times of the steps are chosen here.",
    "The springs are those identified on the real arm. They are unequal, so that a joint's equilibrium is not "
    "θeq: an offset that a calibration would remove.",
)
