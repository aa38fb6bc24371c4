"""A soft arm that a box holds, and the same arm, stiff, that pushes the box away."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import compile_model
from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.inverse_kinematics import ClosedLoopIK
from pliant.controllers.paths import Line
from pliant.controllers.spring_compensation import GravityTorque, holding_equilibria
from pliant.envs.models.arm5 import JOINTS, arm5, arm5_joints
from pliant.envs.models.box import BOX, add_box
from pliant.envs.models.parts import orientation
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import GRAVITY
from pliant.envs.movement import OpenLoop
from pliant.envs.rendering import OffscreenRenderer, RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import check_bounds
from pliant.experiments.experiment import Claim, Experiment, Outcome, Source
from pliant.report import COLOURS, Report, figure

_PERIOD = 0.01
_FRAMES = 25
_STRIP = 5
_HELD = 5e-3
"""A box that moves less than this is standing still, m."""
_STOPPED = 50e-3
"""An end-effector further than this from its goal has been stopped, m."""
_REACHED = 15e-3
"""One nearer than this has reached it, m."""
_SETTINGS = ("soft", "stiff")
_SIZE = (340, 270)
"""Width and height of a picture, pixels."""
_VIEW = ((0.19, 0.08, 0.17), 1.05, 118.0, 24.0)
"""What the pictures look at (m), from how far (m), and from where (azimuth and elevation, degrees)."""
_PIN = 0.06
"""Length of the pin that marks the goal, m."""
_ORANGE = [1.0, 0.43, 0.05, 1.0]
_SMOOTH = 11
"""Over how many samples the force is averaged for the figure: 0.1 s."""


class Run(NamedTuple):
    """What happened, at the beginning of every period and at the end: leading axis of periods + 1."""

    qpos: Array
    """Coordinates of the whole model, for pictures."""
    tip: Array
    """(…, 3), m"""
    box: Array
    """Centre of the box, (…, 3), m; NaN without one."""
    force: Array
    """What the arm presses the box with along the heading, (…), N."""


@dataclass(frozen=True)
class Interaction(Experiment):
    """The arm with five qbMoves moves its hand along a line; a box stands in the way. Mode 6.

    The reference q of the links follows the line by first-order closed-loop inverse kinematics, and each joint is
    commanded the equilibrium at which its spring carries the arm's weight g there, θeq = q + asinh(g(q)/(2·k·
    cosh(a·θs)))/a. Nothing is measured, so the soft arm stays soft.

    The box slides once it is pressed with more than friction·mass·9.81 m/s² = 4.5 N. So the arm must yield by more
    than 50 mm to less than that when it is soft, and by less than 15 mm to 4.5 N when it is stiff. Most postures
    cannot: a spring that carries weight is stretched already, and an exponential spring under load is stiff at
    every preset; and a joint that lifts the arm as it yields is held by the weight itself. Here joint 3 turns the
    folded forearm about a nearly vertical axis and carries almost nothing.
    """

    title: ClassVar[str] = "Interaction with a box"
    source: ClassVar[str] = "Mengacci et al. 2021, Fig. 14"

    soft: float = 0.2
    """Stiffness preset of the soft arm, rad."""
    stiff: float = 0.6
    """Stiffness preset of the stiff arm, rad."""
    start: Sequence[float] = (0.36, -0.155, 0.575, -2.335, 1.03)
    """Angles of the links at the beginning, rad."""
    heading: float = 0.54
    """Direction of the way and of the box, from +x to +y of the world, rad."""
    way: float = 0.072
    """Length of the line, m."""
    duration: float = 5.0
    """Of the motion, s."""
    hold: float = 2.0
    """How long the end of the line is commanded after that, s."""
    height: float = 0.33
    """Of the arm's first axis above the floor, m."""
    box: Sequence[float] = (0.237, 0.104)
    """Where the box stands, (x, y), m: its face is 17 mm from the hand."""
    mass: float = 2.0
    """Of the box, kg."""
    edge: float = 0.265
    """Of the box, m."""
    friction: float = 0.23
    """Of the box."""
    gain: float = 10.0
    """Of the inverse kinematics, 1/s."""

    def __post_init__(self) -> None:
        finite_array("interaction: start", self.start, (len(JOINTS),))
        check_bounds("interaction: heading", self.heading, -np.pi, np.pi, "rad")
        for name, unit in (("way", "m"), ("duration", "s"), ("hold", "s")):
            positive(f"interaction: {name}", getattr(self, name), unit)
        for name in _SETTINGS:
            low, high = arm5_joints()[0].preset_bounds
            check_bounds(f"interaction: {name}", getattr(self, name), low, high, "rad")

    def run(self) -> Outcome:
        """Run soft and stiff, each with the box and without."""
        arrays: dict[str, Array] = {}
        metrics: dict[str, float] = {"slides_at_N": self.friction * self.mass * GRAVITY}
        movements = self.movements()
        for setting in _SETTINGS:
            reference, commands = self._commands(getattr(self, setting))
            goal = reference[-1]
            pushed, free = (self._simulate(movements[name]()) for name in (setting, f"{setting}_free"))
            metrics |= {
                f"{setting}_box_moved_m": float(np.linalg.norm(pushed.box - pushed.box[0], axis=1).max()),
                f"{setting}_error_m": float(np.linalg.norm(pushed.tip[-1] - goal)),
                f"{setting}_force_N": float(pushed.force[-1]),
                f"{setting}_free_error_m": float(np.linalg.norm(free.tip[-1] - goal)),
                f"{setting}_free_deviation_m": float(np.linalg.norm(free.tip - reference, axis=1).max()),
            }
            arrays.update({f"{setting}_{name}": value for name, value in pushed._asdict().items()})
            arrays |= {f"{setting}_free_tip": free.tip, f"{setting}_command": commands, "reference": reference}
        arrays["time"] = _PERIOD * np.arange(len(arrays["reference"]), dtype=np.float64)
        return Outcome(_claims(metrics), metrics, arrays, self._notes())

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """Soft and stiff with the box, then both without."""
        return {
            f"{setting}{suffix}": partial(self._movement, getattr(self, setting), with_box)
            for suffix, with_box in (("", True), ("_free", False))
            for setting in _SETTINGS
        }

    def draw(self, outcome: Outcome, report: Report) -> None:
        """A film of both runs side by side, a strip of frames of each, and what was measured."""
        try:
            goal = outcome.arrays["reference"][-1]
            films = [self._film(outcome.arrays[f"{setting}_qpos"], goal) for setting in _SETTINGS]
        except RenderingError as error:
            report.text(f"No pictures: {error}")
        else:
            both = [np.concatenate(pair, axis=1) for pair in zip(*films, strict=True)]
            report.animation(
                both, "Soft (left) the box holds the arm; stiff (right) the arm pushes it to the goal."
            )
            picked = np.linspace(0, _FRAMES - 1, _STRIP).round().astype(int)
            rows = [np.concatenate([film[i] for i in picked], axis=1) for film in films]
            report.picture(
                np.concatenate(rows),
                "Soft (above) and stiff (below), from left to right. The tip of the orange pin is the goal of the "
                "end-effector; the mark on the floor is where the box stood.",
            )
        self._figure(outcome, report)

    def _commands(self, preset: float) -> tuple[Array, Array]:
        """Desired positions of the tip, (periods + 1, 3), and the commands that lead there, (periods, columns)."""
        arm = compile_model(arm5(height=self.height).spec)
        kinematics, gravity = ClosedLoopIK(arm, "tip", self.gain), GravityTorque(arm)
        laws = [joint.law for joint in arm5_joints()]
        q: Array = np.array(self.start)
        begin = kinematics.position(q)
        line = Line(begin.tolist(), (begin + self.way * self._heading).tolist(), self.duration)
        time = _PERIOD * np.arange(round((self.duration + self.hold) / _PERIOD) + 1)
        commands = np.full((len(time) - 1, len(JOINTS), 2), preset)
        for command, t in zip(commands, time, strict=False):
            q = kinematics.step(q, line.position(t), line.velocity(t), _PERIOD)
            command[:, 0] = holding_equilibria(laws, q, gravity(q), preset)
        return line.position(time), commands.reshape(len(commands), -1)

    def _movement(self, preset: float, with_box: bool) -> OpenLoop:
        reference, rows = self._commands(preset)
        robot = SimulatedRobot(self._model(reference[-1], with_box=with_box), _PERIOD)
        return OpenLoop(robot, rows, position=self.start, before=rows[0])

    def _simulate(self, movement: OpenLoop) -> Run:
        rows = [self._observe(movement.robot) for _ in movement.states()]
        return Run(*(np.array(column) for column in zip(*rows, strict=True)))

    def _observe(self, robot: SimulatedRobot) -> tuple[Array, Array, Array, float]:
        model, data = robot.model, copy.copy(robot.data)
        mujoco.mj_forward(model, data)  # contact forces of a step lag behind it, and may be overwritten
        found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, BOX)
        box = np.array(data.body(found).xpos) if found >= 0 else np.full(3, np.nan)
        tip = np.array(data.site("tip").xpos)
        return np.array(data.qpos), tip, box, float(_force_on_box(model, data) @ self._heading)

    @property
    def _heading(self) -> Array:
        return np.array([np.cos(self.heading), np.sin(self.heading), 0.0])

    def _model(self, goal: Array, *, with_box: bool = True) -> RobotModel:
        """The arm, a pin at the goal of its tip, and perhaps the box and a mark of where it stood."""
        model = arm5(height=self.height)
        _aim(model.spec.camera("front"))
        model.spec.worldbody.add_site(
            name="goal",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[*goal, *goal[:2], goal[2] + _PIN],
            size=[0.003, 0.0, 0.0],
            rgba=_ORANGE,
        )
        if with_box:
            add_box(model.spec, self.box, self.heading, edge=self.edge, mass=self.mass, friction=self.friction)
            # With MuJoCo's defaults a box that is pressed creeps, below its friction, by 0.1 mm/s
            model.spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
            model.spec.option.impratio = 10.0
            model.spec.worldbody.add_site(
                name="start",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[*self.box, 0.0],
                quat=[np.cos(self.heading / 2), 0.0, 0.0, np.sin(self.heading / 2)],
                size=[self.edge / 2, self.edge / 2, 5e-4],
                rgba=_ORANGE,
            )
        return model

    def _film(self, motion: Array, goal: Array) -> list[NDArray[np.uint8]]:
        """Pictures of a recorded motion, evenly spaced in time."""
        model = compile_model(self._model(goal).spec)
        data = mujoco.MjData(model)
        frames = []
        with OffscreenRenderer(model, *_SIZE) as renderer:
            for k in np.linspace(0, len(motion) - 1, _FRAMES).round().astype(int):
                data.qpos[:] = motion[k]
                frames.append(renderer.render(data))
        return frames

    def _figure(self, outcome: Outcome, report: Report) -> None:
        arrays, time = outcome.arrays, outcome.arrays["time"]
        goal = arrays["reference"][-1]
        with figure(2, 2, height=6.0) as (drawing, axes):
            plan, error, box, force = axes.flat
            plan.plot(*_plan(arrays["reference"]), color="black", linestyle="--", linewidth=1)
            plan.plot(*_plan(goal), "o", color="black", markersize=5)
            limit = outcome.metrics["slides_at_N"]
            force.axhline(limit, color=COLOURS[5], linestyle="--", linewidth=1, label="box slides")
            for setting, colour in zip(_SETTINGS, COLOURS, strict=False):
                tip, run = arrays[f"{setting}_tip"], f"{setting}, θs = {getattr(self, setting):g} rad"
                plan.plot(*_plan(tip), color=colour)
                error.plot(time, 1e3 * np.linalg.norm(tip - goal, axis=1), color=colour, label=run)
                free = np.linalg.norm(arrays[f"{setting}_free_tip"] - goal, axis=1)
                error.plot(time, 1e3 * free, color=colour, linestyle=":", linewidth=1.2)
                moved = np.linalg.norm(arrays[f"{setting}_box"] - arrays[f"{setting}_box"][0], axis=1)
                box.plot(time, 1e3 * moved, color=colour)
                mean = np.convolve(arrays[f"{setting}_force"], np.full(_SMOOTH, 1.0 / _SMOOTH), "valid")
                force.plot(time[_SMOOTH // 2 : -(_SMOOTH // 2)], mean, color=colour)
            plan.set(xlabel="x (mm)", ylabel="y (mm)", title="end-effector from above", aspect="equal")
            plan.set(xlim=plan.get_xlim(), ylim=plan.get_ylim())  # the face goes on outside
            plan.plot(*_plan(self._face()), color=COLOURS[3], linewidth=3)
            error.set(ylabel="distance to the goal (mm)", title="end-effector (dotted: no box)")
            box.set(ylabel="way of the box (mm)", xlabel="time (s)", title="box")
            force.set(ylabel="force on the box (N)", xlabel="time (s)", title="contact")
            error.legend()
            force.legend()
            report.figure(
                drawing,
                "The same reference for a soft and a stiff arm. Dashed: the desired way of the tip, to the black "
                "dot. Orange: the face of the box at first, which the hand's edge touches. Force: 0.1 s mean.",
            )

    def _face(self) -> Array:
        """Ends of the side of the box that faces the arm, (2, 3), m."""
        x, y, _ = self._heading
        side = 0.5 * self.edge * np.array([[y, -x, 0.0], [-y, x, 0.0]])
        return np.array([*self.box, 0.0]) - 0.5 * self.edge * self._heading + side

    def _notes(self) -> tuple[str, ...]:
        return (
            "Posture, line and the place of the box are ours, chosen so that the arm yields to the box with one "
            "preset and not with the other; the published ones are not known to us.",
            "The arm is built from AlterEgo's public parts, with the default springs of the toolbox.",
            "The hand touches the box with the edge of its flange, not with the knob at its tip.",
            "The inverse kinematics follows positions only: five joints cannot hold an orientation as well.",
            "Contact: elliptic friction cone and impratio 10, so that a box that is pressed hardly creeps.",
        )


def _claims(metrics: dict[str, float]) -> tuple[Claim, ...]:
    mm = {name: 1e3 * value for name, value in metrics.items()}
    return (
        Claim(
            "soft: way of the box",
            "the box holds the arm",
            f"{mm['soft_box_moved_m']:.2f} mm",
            metrics["soft_box_moved_m"] < _HELD,
            f"below {1e3 * _HELD:g} mm",
            Source.VERBAL,
        ),
        Claim(
            "soft: end-effector's error",
            "stopped by the box",
            f"{mm['soft_error_m']:.1f} mm",
            metrics["soft_error_m"] > _STOPPED,
            f"above {1e3 * _STOPPED:g} mm",
            Source.VERBAL,
        ),
        Claim(
            "stiff: end-effector's error",
            "the arm reaches the goal",
            f"{mm['stiff_error_m']:.1f} mm",
            metrics["stiff_error_m"] < _REACHED,
            f"below {1e3 * _REACHED:g} mm",
        ),
        Claim(
            "stiff: way of the box",
            "the arm pushes the box on",
            f"{mm['stiff_box_moved_m']:.1f} mm",
            metrics["stiff_box_moved_m"] > _HELD,
            f"above {1e3 * _HELD:g} mm",
            Source.VERBAL,
        ),
        Claim(
            "without the box: error, soft and stiff",
            "the springs carry the weight; dry friction holds the arm short of the goal",
            f"{mm['soft_free_error_m']:.1f} and {mm['stiff_free_error_m']:.1f} mm",
            max(metrics["soft_free_error_m"], metrics["stiff_free_error_m"]) < _REACHED,
            f"below {1e3 * _REACHED:g} mm",
        ),
    )


def _force_on_box(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Sum of the contact forces on the box but for the floor's, (3,), N, in the world's frame."""
    total, wrench = np.zeros(3), np.zeros(6)
    for i, contact in enumerate(data.contact):
        names = [model.geom(int(geom)).name for geom in contact.geom]
        if BOX in names and "floor" not in names:
            mujoco.mj_contactForce(model, data, i, wrench)
            sign = 1.0 if names[1] == BOX else -1.0  # a contact's frame points from its first geom to its second
            total += sign * contact.frame.reshape(3, 3).T @ wrench[:3]
    return total


def _plan(points: Array) -> tuple[Array, Array]:
    """Coordinates x and y of points, mm."""
    return 1e3 * points[..., 0], 1e3 * points[..., 1]


def _aim(camera: mujoco.MjsCamera) -> None:
    """Move a camera so that it looks at the arm and the box from the side."""
    azimuth, elevation = np.radians(_VIEW[2:])
    back = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    camera.pos = list(np.array(_VIEW[0]) + _VIEW[1] * back)
    camera.quat = orientation((-np.sin(azimuth), np.cos(azimuth), 0.0), back)
