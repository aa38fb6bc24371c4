"""The textbooks' planar arm of two links, rigid and soft, standing and lying: model, kinematics and feedback."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.controller import Controller
from pliant.controllers.joint_pid import JointPID
from pliant.controllers.paths import Circle, joint_trajectory
from pliant.controllers.trajectories import MinimumJerk, Trajectory
from pliant.controllers.two_link import Elbow, TwoLinkArm
from pliant.envs.models.two_link import soft_joints, two_link
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.experiments.two_link_checks import closed_form, compare_dynamics, compare_kinematics
from pliant.hardware.robot import State
from pliant.report import COLOURS, Report, figure

_EXACT = 1e-9
"""Agreement with a closed form, in SI units."""
_REACHED = 1e-3
"""An end-effector nearer than this to its set-point is there, m."""


class Feedback(NamedTuple):
    """What is added to a joint's proportional and derivative action."""

    name: str
    integral: bool
    gravity: bool


_FEEDBACKS = (
    Feedback("PD", False, False),
    Feedback("PID", True, False),
    Feedback("PD + g", False, True),
    Feedback("PID + g", True, True),
)


class Move(NamedTuple):
    """A move to a set-point."""

    elbow: Elbow
    start: tuple[float, float]
    """Angles of the links, rad: hanging, the elbow bent to the side that it ends on."""
    point: tuple[float, float]
    """m"""


_MOVES = (
    Move("up", (-np.pi / 2 + 0.6, -1.2), (1.2, 0.6)),
    Move("down", (-np.pi / 2 - 0.6, 1.2), (0.6, -1.1)),
)


class Setting(NamedTuple):
    """One of the four arms."""

    soft: bool
    vertical: bool

    @property
    def name(self) -> str:
        """Such as `rigid_vertical`."""
        return f"{'soft' if self.soft else 'rigid'}_{'vertical' if self.vertical else 'horizontal'}"


_SETTINGS = tuple(Setting(soft, vertical) for soft in (False, True) for vertical in (True, False))


@dataclass(frozen=True, eq=False)
class _MotorAngles(Controller):
    """Where soft joints' motors stand, (2,), rad, for spring, damper and feedback to be the rigid joints' law."""

    feedback: JointPID
    """The torques that springs and dampers do not give, N·m."""
    kp: float
    """Of the springs, N·m/rad."""
    kd: float
    """Of the dampers, N·m·s/rad."""

    def reset(self, state: State) -> None:
        self.feedback.reset(state)

    def update(self, state: State, t: float) -> Array:
        trajectory, torque = self.feedback.trajectory, self.feedback.update(state, t)
        return np.asarray(trajectory.position(t) + (self.kd * trajectory.velocity(t) + torque) / self.kp)


@dataclass(frozen=True)
class TwoLink(Experiment):
    """Two uniform rods of 1 m and 1 kg, compared with their closed form and led to set-points and round a circle.

    Rigid, the joints are driven by τ = kp·e + kd·ė + z + g(q) with ż = ki·e. Soft, a joint is a spring of
    stiffness kp from motor to link and a damper kd on the link, and the motor is sent to
    θ = q_d + (kd·q̇_d + z + g(q))/kp: the same law with its proportional and derivative part in hardware, where no
    sampling delays them.
    """

    title: ClassVar[str] = "Planar two-link arm"
    source: ClassVar[str] = (
        "Spong, Hutchinson & Vidyasagar 2006, Robot Modeling and Control (planar elbow manipulator); "
        "Siciliano et al. 2009, Robotics, section 8.5"
    )

    kp: float = 200.0
    """Gain, and stiffness of the springs, N·m/rad."""
    kd: float = 20.0
    """Gain, and damping of the soft joints, N·m·s/rad."""
    ki: float = 500.0
    """N·m/(rad·s)"""
    move: float = 1.0
    """Duration of the move to a set-point, s."""
    hold: float = 2.5
    """How long it is held, s."""
    centre: Sequence[float] = (1.0, 0.2)
    """Of the circle, (2,), m."""
    radius: float = 0.4
    """Of the circle, m."""
    lap: float = 4.0
    """Time around the circle, s."""
    period: float = 0.01
    """From one command to the next, s."""

    def __post_init__(self) -> None:
        for name in ("kp", "kd", "ki", "move", "hold", "radius", "lap", "period"):
            positive(f"two-link: {name}", getattr(self, name))
        finite_array("two-link: centre", self.centre, (2,))

    def run(self) -> Outcome:
        """Compare model and closed form, then run every feedback on every arm."""
        metrics = {**compare_dynamics(), **compare_kinematics()}
        arrays: dict[str, Array] = {}
        for setting in _SETTINGS:
            arm = closed_form(setting.vertical)
            for feedback in _FEEDBACKS:
                name = f"{setting.name}_{_key(feedback)}"
                metrics |= self._set_points(arm, setting, feedback, name)
                tip, error = self._circle(arm, setting, feedback)
                arrays |= {f"{name}_tip": tip, f"{name}_circle_error": error}
                metrics |= {
                    f"{name}_circle_rms_m": float(np.sqrt(np.mean(error**2))),
                    f"{name}_circle_max_m": float(error.max()),
                }
        arrays["time"] = self.period * np.arange(len(arrays["rigid_vertical_pd_tip"]), dtype=np.float64)
        arrays["circle"] = self._path.position(arrays["time"])
        return Outcome(_claims(metrics), metrics, arrays, self._notes())

    def movements(self) -> Mapping[str, Callable[[], Movement]]:
        """Every arm with every feedback, once around the circle."""
        return {
            f"{setting.name}_{_key(feedback)}": partial(self._circling, setting, feedback)
            for setting in _SETTINGS
            for feedback in _FEEDBACKS
        }

    def draw(self, outcome: Outcome, report: Report) -> None:
        """The circles in the plane, the errors over time, and a table of the set-points."""
        self._draw_paths(outcome, report)
        self._draw_errors(outcome, report)
        header = ("arm", *(f"{f.name} (mm)" for f in _FEEDBACKS))
        for title, key in (
            ("at rest at the set-points, largest", "rest"),
            ("round the circle, rms", "circle_rms"),
        ):
            report.text(f"Error of the end-effector {title}:")
            report.table(
                header,
                [
                    (
                        setting.name.replace("_", ", "),
                        *(1e3 * outcome.metrics[f"{setting.name}_{_key(f)}_{key}_m"] for f in _FEEDBACKS),
                    )
                    for setting in _SETTINGS
                ],
            )

    @property
    def _path(self) -> Circle:
        return Circle(self.centre, self.radius, self.lap, start=np.pi)

    def _robot(self, setting: Setting) -> SimulatedRobot:
        if not setting.soft:
            return SimulatedRobot(two_link(vertical=setting.vertical), self.period)
        joints = soft_joints(self.kp)
        return SimulatedRobot(two_link(joints, vertical=setting.vertical, damping=self.kd), self.period)

    def _movement(self, trajectory: Trajectory, setting: Setting, feedback: Feedback, duration: float) -> Movement:
        """An arm under a feedback, from the start of a trajectory."""
        gravity = closed_form(setting.vertical).gravity_torque if feedback.gravity else None
        ki = self.ki if feedback.integral else 0.0
        controller: Controller
        if setting.soft:  # springs and dampers do the rest
            controller = _MotorAngles(JointPID(trajectory, 0.0, 0.0, ki, gravity=gravity), self.kp, self.kd)
        else:
            controller = JointPID(trajectory, self.kp, self.kd, ki, gravity=gravity)
        start = trajectory.position(0.0)
        unloaded = start if setting.soft else None
        return Movement(self._robot(setting), controller, duration, position=start, before=unloaded)

    def _circling(self, setting: Setting, feedback: Feedback) -> Movement:
        arm = closed_form(setting.vertical)
        near = arm.inverse_kinematics(self._path.position(0.0), elbow="up")
        trajectory = joint_trajectory(self._path, arm.inverse_kinematics, near)
        return self._movement(trajectory, setting, feedback, self.lap)

    def _set_points(self, arm: TwoLinkArm, setting: Setting, feedback: Feedback, name: str) -> dict[str, float]:
        """Largest distance from a set-point at rest, and what statics say of PD alone."""
        errors, predicted = [], []
        for elbow, start, point in _MOVES:
            goal = arm.inverse_kinematics(point, near=start, elbow=elbow)
            trajectory = MinimumJerk(start, goal.tolist(), self.move)
            rest = _angles(self._movement(trajectory, setting, feedback, self.move + self.hold))[-1]
            errors.append(float(np.linalg.norm(arm.forward_kinematics(rest) - point)))
            sagged = _sagged(arm, goal, self.kp)
            predicted.append(float(np.linalg.norm(arm.forward_kinematics(sagged) - point)))
        metrics = {f"{name}_rest_m": max(errors)}
        if not (feedback.integral or feedback.gravity):
            metrics[f"{name}_statics_m"] = max(predicted)
        return metrics

    def _circle(self, arm: TwoLinkArm, setting: Setting, feedback: Feedback) -> tuple[Array, Array]:
        """Tip, (periods + 1, 2), m, and its distance from where it should be at that time, m."""
        tip = arm.forward_kinematics(_angles(self._circling(setting, feedback)))
        desired = self._path.position(self.period * np.arange(len(tip)))
        return tip, np.asarray(np.linalg.norm(tip - desired, axis=1), dtype=np.float64)

    def _draw_paths(self, outcome: Outcome, report: Report) -> None:
        arrays = outcome.arrays
        with figure(2, 2, height=7.6, sharex=True, sharey=True) as (drawing, axes):
            for ax, setting in zip(axes.flat, _SETTINGS, strict=True):
                ax.plot(*arrays["circle"].T, color="black", linestyle="--", linewidth=1, label="desired")
                for feedback, colour in zip(_FEEDBACKS, COLOURS, strict=False):
                    tip = arrays[f"{setting.name}_{_key(feedback)}_tip"]
                    ax.plot(*tip.T, color=colour, label=feedback.name)
                ax.set(title=setting.name.replace("_", ", "), aspect="equal")
            for ax in axes[:, 0]:
                ax.set(ylabel="z or y (m)")
            for ax in axes[1]:
                ax.set(xlabel="x (m)")
            axes[0, 0].legend(loc="center")
            report.figure(
                drawing,
                f"Once around a circle in {self.lap:g} s; vertical (with gravity) and horizontal, rigid and soft "
                f"({self.kp:g} N·m/rad).",
            )

    def _draw_errors(self, outcome: Outcome, report: Report) -> None:
        arrays, time = outcome.arrays, outcome.arrays["time"]
        with figure(2, 2, height=5.2, sharex=True, sharey=True) as (drawing, axes):
            for ax, setting in zip(axes.flat, _SETTINGS, strict=True):
                for feedback, colour in zip(_FEEDBACKS, COLOURS, strict=False):
                    error = arrays[f"{setting.name}_{_key(feedback)}_circle_error"]
                    ax.semilogy(time, 1e3 * np.maximum(error, 1e-6), color=colour, label=feedback.name)
                ax.set(title=setting.name.replace("_", ", "), ylim=(0.05, 1e3))
            for ax in axes[:, 0]:
                ax.set(ylabel="error (mm)")
            for ax in axes[1]:
                ax.set(xlabel="time (s)")
            axes[0, 0].legend(loc="lower right", ncols=2)
            report.figure(
                drawing,
                "Distance of the end-effector from where it should be on the circle. Horizontal, g is zero and "
                "the curves with and without it coincide.",
            )

    def _notes(self) -> tuple[str, ...]:
        return (
            "The closed form is the published quantity; set-points, circle and gains are ours.",
            "No friction: with it, PD with gravity compensation would rest off its set-point, PID would not.",
            "The moves keep the elbow bent. Straight, it feels only 0.073 kg·m², for which these gains would need "
            "a shorter period.",
            "The motors of the soft joints are ideal (mode 3): they stand where they are sent.",
            "A soft joint's damper resists the speed itself and would drag the link behind a path by "
            f"{1e3 * self.kd / self.kp:g} ms (kd/kp); the motors lead by as much.",
        )


def _angles(movement: Movement) -> Array:
    """Angles of the links at every period of a movement, (periods + 1, 2), rad."""
    return np.array([state.position for state in movement.states()])


def _key(feedback: Feedback) -> str:
    return feedback.name.lower().replace(" + ", "_")


def _sagged(arm: TwoLinkArm, goal: Array, kp: float) -> Array:
    """Angles at which kp·(goal − q) carries the arm, (2,), rad."""
    from scipy.optimize import root

    def unbalance(q: Array) -> Array:
        return kp * (goal - q) - arm.gravity_torque(q)

    return np.asarray(root(unbalance, goal, tol=1e-12).x, dtype=np.float64)


def _claims(metrics: dict[str, float]) -> tuple[Claim, ...]:
    exact = (
        ("M(q)", "mass_difference", "kg·m²"),
        ("C(q, q̇)·q̇ + g(q)", "bias_difference", "N·m"),
        ("g(q)", "gravity_difference", "N·m"),
        ("forward kinematics", "tip_difference", "m"),
        ("inverse kinematics, both elbows", "inverse_position_error_m", "m"),
    )
    claims = [
        Claim(
            f"{what}, largest difference",
            "0 (closed form)",
            f"{metrics[key]:.1e} {unit}",
            metrics[key] < _EXACT,
            f"{_EXACT:g} {unit}",
        )
        for what, key, unit in exact
    ]
    claims.append(
        Claim(
            "points out of reach",
            "no solution",
            f"{metrics['unreachable_refused']:.0f} of {metrics['unreachable_asked']:.0f} refused",
            metrics["unreachable_refused"] == metrics["unreachable_asked"],
            "all refused",
        )
    )
    for kind in ("rigid", "soft"):
        rest, statics = (metrics[f"{kind}_vertical_pd_{name}_m"] for name in ("rest", "statics"))
        claims.append(
            Claim(
                f"{kind}, vertical, PD at rest",
                f"{1e3 * statics:.2f} mm (kp·e = g)",
                f"{1e3 * rest:.2f} mm",
                abs(rest - statics) < 1e-4,
                "±0.1 mm",
            )
        )
        others = [
            error
            for name, error in metrics.items()
            if name.startswith(kind) and name.endswith("_rest_m") and name != f"{kind}_vertical_pd_rest_m"
        ]
        claims.append(
            Claim(
                f"{kind}, at rest with gravity compensation, integral or no gravity",
                "no error",
                f"{1e3 * max(others):.2f} mm at most",
                max(others) < _REACHED,
                f"below {1e3 * _REACHED:g} mm",
            )
        )
    return tuple(claims)
