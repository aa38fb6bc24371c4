"""The hexapod on three feet: a leg is stretched slowly, its servos hold ever more, and switch themselves off."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import pi
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators import compile_model
from pliant.actuators.ax12a import AX12A
from pliant.controllers.checks import Array, positive
from pliant.envs.models.hexapod import JOINTS, REFERENCE_SERVO, STANCE, hexapod
from pliant.envs.models.hexapod_body import LEGS, LINKS
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.movement import OpenLoop
from pliant.envs.rendering import RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds
from pliant.experiments import hexapod_torque_checks as checks
from pliant.experiments.experiment import Experiment, Outcome
from pliant.experiments.hexapod_statics import Statics, three_feet
from pliant.experiments.task_runs import Findings, deviations
from pliant.experiments.tool_experiment import strip
from pliant.report import COLOURS, Report, figure

LEG: Final = "middle_right"
"""The leg that is stretched."""
FEET: Final = (LEG, "front_left", "rear_left")
"""Legs that stand; the others are lifted."""
LOADS: Final = (0, 1, 2)
"""Batteries."""
_LIFT: Final = 1.0
"""Of the femurs of lifted legs beyond their default pose, rad."""
_AFTER: Final = 3.0
"""How long it stands stretched, s."""
_BEGIN: Final = -pi / 4
_THICKNESS: Final = 0.01
"""Of the capsules that touch, m: so thin that of a flat leg the foot alone touches the ground."""
_IMPRATIO: Final = 1000.0
"""Feet slide by a millimetre a second here, at which soft friction would let them creep instead of holding μ·N."""


class Stretch(NamedTuple):
    """A leg that is stretched, from the beginning of the way that is compared on; all (n,) but `statics`."""

    time: Array
    """s"""
    goal: Array
    """Of the tibia, rad."""
    femur: Array
    """Torque on the joint that presses the foot down, N·m."""
    tibia: Array
    femur_told: Array
    """What the servo's position error tells of it, N·m."""
    tibia_told: Array
    force: Array
    """On the foot, N."""
    statics: Statics
    """In closed form, the foot sliding."""
    upright: Statics
    """Likewise without friction."""
    qpos: Array
    """Of the whole model, for pictures."""

    @property
    def stalled(self) -> int | None:
        """Where the femur's servo reaches its torque limit, of n; None: never."""
        return _first(self.femur_told >= AX12A().stall_torque - 1e-9)

    @property
    def off(self) -> int | None:
        """Where it has switched itself off, of n; None: never."""
        return _first((self.femur_told >= AX12A().stall_torque - 1e-9) & (self.femur < 0.5 * self.femur_told))

    def at(self, degrees: float) -> int:
        """Where the tibia's goal is at an angle."""
        return int(np.abs(self.goal - np.deg2rad(degrees)).argmin())


@dataclass(frozen=True)
class HexapodTorque(Experiment):
    """The robot stands on a middle leg and the two corner legs of the other side, the other three are lifted.

    The tibia of the middle leg goes from −45° to 0 so slowly that statics hold, its femur at 30°, and the foot
    slides outwards. Servos are `REFERENCE_SERVO`. It begins further back, so that friction points inwards from
    the start.
    """

    title: ClassVar[str] = "Torques of a hexapod's leg"
    source: ClassVar[str] = "Čížek, Faigl and others, hexapod on AX-12A servos, Fig. 5"

    frictions: Sequence[float] = (0.05, 0.3, 0.5, 0.8)
    """Of the feet."""
    shown: float = 0.3
    """Of these the one that is drawn."""
    duration: float = 40.0
    """Of the tibia's way, s."""
    approach: float = 5.0
    """Of its way before that, at the same speed, s."""
    period: float = 0.019
    """From one command to the next, s."""

    def __post_init__(self) -> None:
        deviations("hexapod_torque: frictions", self.frictions)
        check_bounds("hexapod_torque: shown", self.shown, 0.0, 10.0)
        if self.shown not in self.frictions:
            raise ConfigurationError(
                f"hexapod_torque: shown is {self.shown:g}; one of the frictions "
                f"{', '.join(f'{mu:g}' for mu in self.frictions)} is needed."
            )
        check_bounds("hexapod_torque: duration", self.duration, 1.0, 1e3, "s")
        positive("hexapod_torque: approach", self.approach, "s")
        check_bounds("hexapod_torque: approach", self.approach, 0.0, self.duration, "s")
        positive("hexapod_torque: period", self.period, "s")

    def run(self) -> Outcome:
        """Stretch the leg under every load at every friction."""
        found = Findings()
        for friction in self.frictions:
            for load in LOADS:
                run = self.record(friction, load)
                checks.judge(run, friction, load, found)
                if friction == self.shown:
                    found.arrays |= {f"load{load}_{key}": value for key, value in _arrays(run).items()}
        return found.outcome(checks.NOTES)

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """By friction and number of batteries; the friction that is shown comes first."""
        order = sorted(self.frictions, key=lambda friction: friction != self.shown)
        return {
            f"friction_{friction:g}_batteries_{load}": partial(self._movement, friction, load)
            for friction in order
            for load in LOADS
        }

    def record(self, friction: float, load: int) -> Stretch:
        """Stretch the leg once."""
        movement = self._movement(friction, load)
        robot = movement.robot
        motion = movement.run()
        robot.close()
        first = round(self.approach / self.period)
        sent = np.vstack([movement.rows[:1], movement.rows])[first:]
        motion = type(motion)._make(np.asarray(part)[first:] for part in motion)
        names = [channel.name for channel in robot.info.sensors]
        pose = [f"{q}_{axis}" for q, axes in (("position", "xyz"), ("orientation", "wxyz")) for axis in axes]
        base = motion.sensors[:, [names.index(f"base/{quantity}") for quantity in pose]]
        angles = {leg: motion.position[:, [JOINTS.index(f"{leg}_{link}") for link in LINKS]] for leg in LEGS}
        side = 1.0 if LEGS[LEG].y > 0.0 else -1.0
        femur, tibia = (JOINTS.index(f"{LEG}_{link}") for link in ("femur", "tibia"))
        error = (sent - motion.position)[:, [femur, tibia]]
        told = side * AX12A().estimated_torque(error)
        return Stretch(
            time=np.asarray(motion.time) - motion.time[0],
            goal=sent[:, tibia],
            femur=side * motion.torque[:, femur],
            tibia=side * motion.torque[:, tibia],
            femur_told=told[:, 0],
            tibia_told=told[:, 1],
            force=motion.sensors[:, names.index(f"{LEG}_touch/touch")],
            statics=three_feet(angles, base, load, FEET, LEG, friction),
            upright=three_feet(angles, base, load, FEET, LEG, 0.0),
            qpos=np.hstack([base, motion.position]),
        )

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Torques of tibia and femur under the three loads; beside statics; the robot."""
        a = outcome.arrays
        with figure(1, 3, width=12.0, height=3.8, sharey=True) as (drawing, axes):
            tibia, femur, truth = axes[0]
            for k, load in enumerate(LOADS):
                goal = np.rad2deg(a[f"load{load}_goal"])
                label = ("no battery", "1 battery", "2 batteries")[load]
                for axis, link in ((tibia, "tibia"), (femur, "femur")):
                    axis.plot(goal, a[f"load{load}_{link}_told"], color=COLOURS[k], label=label)
                    axis.plot(goal, a[f"load{load}_{link}"], "--", color="black", linewidth=0.8)
            goal = np.rad2deg(a["load0_goal"])
            for k, link in enumerate(("tibia", "femur")):
                truth.plot(goal, a[f"load0_{link}"], color=COLOURS[3 + k], label=link)
                truth.plot(goal, a[f"load0_{link}_statics"], "--", color="black", linewidth=1.0)
            truth.plot(goal, a["load0_simple"], ":", color=COLOURS[5], label="force × distance, tibia")
            titles = ("tibia", "femur", "no battery, and closed form (dashed)")
            for axis, title in zip(axes[0], titles, strict=True):
                axis.set(xlabel="goal of the tibia (°)", title=title)
                axis.legend(fontsize=8, loc="upper left" if axis is not femur else "lower left")
            tibia.set(ylabel="torque (N·m)", ylim=(-0.1, 1.9))
            report.figure(
                drawing,
                f"Torques that press the foot down, friction {self.shown:g}. Left and middle: what the servos' "
                "position errors tell (in colour), and what acts on the joints (dashed): they part where the "
                "femur's servo switches itself off. Right: without battery, beside statics with a sliding foot, "
                "and the publication's force times distance.",
            )
        model = compile_model(self._model(self.shown, 2).spec)
        try:
            pictures = strip(model, a["load2_qpos"])
        except RenderingError as error:
            report.text(f"No pictures: {error}")
        else:
            report.picture(pictures, "With two batteries: the leg is stretched until the robot sinks on it.")

    def _model(self, friction: float, load: int) -> RobotModel:
        start = {
            f"{leg}_femur": STANCE[f"{leg}_femur"] + float(np.copysign(_LIFT, STANCE[f"{leg}_femur"]))
            for leg in LEGS
            if leg not in FEET
        }
        start[f"{LEG}_tibia"] = self._begin
        model = hexapod(
            batteries=load, servo=REFERENCE_SERVO, friction=friction, start=start, thickness=_THICKNESS
        )
        model.spec.option.impratio = _IMPRATIO
        return model

    @property
    def _begin(self) -> float:
        """Of the tibia at the start, rad."""
        return _BEGIN * (1.0 + self.approach / self.duration)

    def _movement(self, friction: float, load: int) -> OpenLoop:
        first, last = round(self.approach / self.period), round((self.approach + self.duration) / self.period)
        robot = SimulatedRobot(self._model(friction, load), self.period)
        way = np.interp(
            np.arange(last + round(_AFTER / self.period)), [0, first, last], [self._begin, _BEGIN, 0.0]
        )
        rows = np.tile(robot.info.rest, (len(way), 1))
        rows[:, JOINTS.index(f"{LEG}_tibia")] = way
        return OpenLoop(robot, rows)


def _first(happening: NDArray[np.bool_]) -> int | None:
    found = np.flatnonzero(happening)
    return int(found[0]) if len(found) else None


def _arrays(run: Stretch) -> dict[str, Array]:
    own = {name: getattr(run, name) for name in Stretch._fields if name not in ("statics", "upright")}
    return {
        **own,
        "femur_statics": run.statics.femur,
        "tibia_statics": run.statics.tibia,
        "simple": run.upright.force[:, 0] * run.upright.lever,
    }
