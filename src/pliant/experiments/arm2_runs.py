"""What the experiments on the two-joint arm share: a run of both joints in both settings, and its figure."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from pliant.controllers.checks import Array
from pliant.envs.models.arm2 import JOINTS, arm2
from pliant.envs.movement import OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.experiments.experiment import Outcome
from pliant.experiments.statics import StaticArm
from pliant.hardware.robot import State
from pliant.report import COLOURS, Report, figure

SETTINGS = ("soft", "stiff")
PERIOD = 0.01
"""From one command to the next, s."""


@dataclass(frozen=True, eq=False)
class ArmRun:
    """The arm in one setting after a run."""

    preset: float
    """Stiffness preset of both joints, rad."""
    robot: SimulatedRobot
    statics: StaticArm
    motion: State

    @property
    def presets(self) -> tuple[float, float]:
        """The preset, once for each joint."""
        return (self.preset, self.preset)


def arm_movement(
    preset: float, equilibrium: Array, *, vertical: bool, damping: float, friction: float, hard: bool = True
) -> OpenLoop:
    """The arm from rest at q = 0 in mode 6, both joints given the same equilibrium.

    Args:
        preset: stiffness preset of both joints, rad.
        equilibrium: θeq, a row a period, (n,), rad.
        vertical: hanging, or lying on its side.
        damping: viscous friction of the joints, N·m·s/rad.
        friction: dry friction of the joints, N·m.
        hard: whether dry friction holds; else it has MuJoCo's default solver parameters, with which it creeps.
    """
    arm = arm2(preset=preset, vertical=vertical, damping=damping, friction=friction)
    plain = mujoco.MjSpec().worldbody.add_joint()
    for joint in () if hard else arm.spec.joints:
        joint.solref_friction, joint.solimp_friction = plain.solref_friction, plain.solimp_friction
    robot = SimulatedRobot(arm, PERIOD)
    rows = np.tile(robot.info.rest, (len(equilibrium), 1))
    for joint in JOINTS:
        rows[:, robot.info.command_names.index(f"{joint}/equilibrium")] = equilibrium
    return OpenLoop(robot, rows)


def run_arm(preset: float, movement: OpenLoop) -> ArmRun:
    """Run the arm with a stiffness preset, rad."""
    return ArmRun(preset, movement.robot, StaticArm(movement.robot.model), movement.run())


def arm_arrays(runs: Mapping[str, ArmRun]) -> dict[str, Array]:
    """Time, and by setting: link angles (n, 2), motor angles and motor references (n, 4), rad."""
    arrays: dict[str, Array] = {}
    for setting, run in runs.items():
        motion = run.motion
        equilibrium, preset = motion.command[:, 0::2], motion.command[:, 1::2]
        references = np.stack([equilibrium + preset, equilibrium - preset], axis=-1).reshape(len(preset), -1)
        arrays |= {
            "time": np.asarray(motion.time),
            "equilibrium": equilibrium[:, 0],
            f"{setting}_position": motion.position,
            f"{setting}_motor_position": motion.motor_position,
            f"{setting}_motor_reference": references,
        }
    return arrays


def draw_arm(outcome: Outcome, report: Report, presets: Mapping[str, float], caption: str) -> None:
    """A row per joint, a column per setting: link, equilibrium, balance, both motors and their references."""
    data = outcome.arrays
    with figure(len(JOINTS), 2, height=6.4, sharex=True, sharey=True) as (drawing, axes):
        for column, (setting, preset) in zip(axes.T, presets.items(), strict=True):
            for j, (ax, joint) in enumerate(zip(column, JOINTS, strict=True)):
                for motor, colour in ((2 * j, COLOURS[3]), (2 * j + 1, COLOURS[4])):
                    angle, reference = (
                        data[f"{setting}_motor_{what}"][:, motor] for what in ("position", "reference")
                    )
                    ax.plot(data["time"], angle, color=colour, label=f"motor {motor % 2 + 1}")
                    style = {"color": "black", "linewidth": 0.7, "linestyle": ":"}
                    ax.plot(data["time"], reference, label=None if motor % 2 else "motor references", **style)
                ax.plot(data["time"], data["equilibrium"], color="black", linewidth=0.9, label="equilibrium set")
                ax.plot(data["time"], data[f"{setting}_position"][:, j], color=COLOURS[0], label="link")
                ax.plot(
                    data["balance_time"],
                    data[f"{setting}_balance"][:, j],
                    color=COLOURS[1],
                    linestyle="none",
                    marker="o",
                    markersize=4.0,
                    markerfacecolor="none",
                    zorder=3,
                    label="static balance",
                )
                ax.set_title(f"{joint}, {setting} (θs = {preset:g} rad)")
        for ax in axes[:, 0]:
            ax.set(ylabel="angle (rad)")
        for ax in axes[-1]:
            ax.set(xlabel="time (s)", xlim=(0.0, data["time"][-1]))
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=6)
        report.figure(drawing, caption)
