"""Atlas reaches with its right hand while its pelvis stands or moves: the milestone report's experiment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.task_space import TaskSpaceController
from pliant.controllers.task_space.controller import BASE_MOTIONS
from pliant.envs.description import RobotDescription
from pliant.envs.models.atlas_body import PELVIS_JOINTS
from pliant.envs.task_space import mechanics, task_space
from pliant.experiments.experiment import Outcome
from pliant.experiments.task_runs import (
    SOLVERS,
    STILL,
    STYLES,
    Findings,
    TaskExperiment,
    TaskMovement,
    TaskRun,
    deviations,
    draw_noise,
    draw_strips,
    peak_to_peak,
    rms,
    robot_of,
    shares_of_limits,
)
from pliant.report import COLOURS, Report, figure

_HAND: Final = "right_hand"
_REPORT: Final = {"stiffness": 100.0, "damping": 20.0}
"""Posture of the report's example."""
_DAMPED: Final = {"stiffness": 0.0, "damping": 20.0}
_STILL_FOR: Final = 1.0
"""Over which rest is judged, s."""
_SETTLING: Final = 1.0
"""After the swing has grown, s."""
_STANDING: Final = 4.0
"""Of a motion with a pelvis that stands, s."""
_KNOWN: Final = {"velocity": 0.1, "acceleration": 0.02}
"""Part of the error without the pelvis's speed to which more knowledge must reduce it."""


@dataclass(frozen=True)
class Swing:
    """A trajectory: all coordinates by amplitude·sin(rate·t) about their start, which begins with least jerk."""

    start: Array
    """(joints,), m and rad."""
    amplitude: float
    rate: float
    """rad/s"""
    ramp: float
    """s"""
    duration: float = float("inf")

    @property
    def joints(self) -> int:
        """Number of coordinates."""
        return len(self.start)

    def position(self, t: ArrayLike) -> Array:
        """See `Trajectory`."""
        t = np.asarray(t, dtype=np.float64)
        swing = self.amplitude * self._share(t)[0] * np.sin(self.rate * t)
        found: Array = self.start + swing[..., None]
        return found

    def velocity(self, t: ArrayLike) -> Array:
        """See `Trajectory`."""
        t = np.asarray(t, dtype=np.float64)
        share, rate = self._share(t)
        speed = self.amplitude * (rate * np.sin(self.rate * t) + share * self.rate * np.cos(self.rate * t))
        return np.repeat(speed[..., None], self.joints, axis=-1)

    def _share(self, t: Array) -> tuple[Array, Array]:
        """Part of the amplitude, and its rate, 1/s."""
        s = np.clip(t / self.ramp, 0.0, 1.0)
        return s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2 / self.ramp


@dataclass(frozen=True)
class TaskSpaceAtlas(TaskExperiment):
    """The upper body does ẍ* = K_P·e − K_D·ẋ of the right hand, then a posture; legs are stiff.

    The pelvis is moved by something else. A controller that takes it to stand is late by K_D/K_P times the speed
    at which it carries the hand; one that knows its speed is not.
    """

    title: ClassVar[str] = "Task-space control of Atlas's upper body"
    source: ClassVar[str] = "Sherman & Seth 2014 (Simbody milestone report 21)"

    target: Sequence[float] = (0.4, -0.1, 1.0)
    """Of the right hand, the report's, m."""
    low: Sequence[float] = (0.4, -0.6, 0.4)
    """Another one, for which joints come to their ends, m."""
    height: float = 0.885
    """Of the pelvis, where it does not move, m."""
    stiffness: float = 225.0
    """K_P, 1/s²."""
    damping: float = 30.0
    """K_D, 1/s."""
    posture: float = 25.0
    """Stiffness of the posture, 1/s², critically damped."""
    amplitude: float = 0.1
    """Of the pelvis, on each of its six coordinates, m and rad."""
    rates: Sequence[float] = (0.5, 3.14, 6.28)
    """Of its motion, rad/s."""
    ramp: float = 2.0
    """In which that begins, s."""
    period: float = 0.002
    """From one command to the next, s."""
    duration: float = 6.0
    """Of a motion with a pelvis that moves, s; at least once to and fro."""
    noise: Sequence[float] = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0)
    """Standard deviations, rad and rad/s."""

    def __post_init__(self) -> None:
        for name in ("target", "low"):
            finite_array(f"task_space_atlas: {name}", getattr(self, name), (3,))
        for name in ("height", "stiffness", "damping", "posture", "amplitude", "ramp", "period", "duration"):
            positive(f"task_space_atlas: {name}", getattr(self, name))
        for name in ("rates", "noise"):
            deviations(f"task_space_atlas: {name}", getattr(self, name))

    def run(self) -> Outcome:
        """Run everything, one after another."""
        found = Findings()
        self._reach(found)
        self._pelvis(found)
        self._noise(found)
        return found.outcome(_NOTES)

    def movements(self) -> Mapping[str, Callable[[], TaskMovement]]:
        """Reaching by every law; then with a pelvis that moves; then with noise."""
        reach = {
            f"{where}_{name}": partial(self._standing, name, getattr(self, where))
            for where in ("target", "low")
            for name in SOLVERS
        }
        moving = {
            f"pelvis_{rate:g}_{known}": partial(self._moving, rate, known)
            for rate in self.rates
            for known in BASE_MOTIONS
        }
        noise = {
            f"noise_{sigma:g}{'_sensed' if sensed else ''}": partial(
                self._standing,
                "recursion",
                self.target,
                _DAMPED,
                noise=sigma,
                sense=_HAND if sensed else None,
            )
            for sigma in self.noise
            for sensed in (False, True)
        }
        return {**reach, **moving, **noise}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Error with a pelvis that moves; frames; reaching; noise."""
        a = outcome.arrays
        with figure(1, len(self.rates), width=12.0, height=3.4, sharey=True) as (drawing, axes):
            for axis, rate in zip(axes[0], self.rates, strict=True):
                for k, known in enumerate(BASE_MOTIONS):
                    key = f"pelvis_{rate:g}_{known}"
                    axis.plot(a[f"{key}_time"], 1e3 * a[f"{key}_error"], color=COLOURS[k], label=known)
                axis.set(title=f"{rate:g} rad/s", xlabel="time (s)", yscale="log", ylim=(1e-4, 1e3))
            axes[0, 0].set(ylabel="error of the hand (mm)")
            axes[0, -1].legend(fontsize=8)
            report.figure(
                drawing,
                "The hand stays while the pelvis swings: its error by what is known of the pelvis, pose "
                "alone, velocity too, or acceleration as well. The swing grows in the first 2 s.",
            )
        fastest = f"pelvis_{self.rates[-1]:g}_velocity"
        draw_strips(
            self._description("moving"),
            [a[f"{fastest}_qpos"]],
            "The right hand stays at its target, the ball, while the pelvis swings; its velocity is known.",
            report,
        )
        with figure(1, 2, width=9.0, height=3.4, sharey=True) as (drawing, axes):
            for axis, where in zip(axes[0], ("target", "low"), strict=True):
                for k, name in enumerate(SOLVERS):
                    key = f"{where}_{name}"
                    axis.plot(
                        a[f"{key}_time"],
                        1e3 * a[f"{key}_error"],
                        color=COLOURS[k],
                        label=name,
                        linestyle=STYLES[name],
                    )
                told = ", ".join(f"{x:g}" for x in getattr(self, where))
                axis.set(title=f"to ({told}) m", xlabel="time (s)", yscale="log", ylim=(1e-4, 1e3))
            axes[0, 0].set(ylabel="error of the hand (mm)")
            axes[0, 1].legend(fontsize=8)
            report.figure(drawing, "With a pelvis that stands and joints that end: the report's law, and two QPs.")
        draw_noise(a, {}, report)

    def _description(self, base: str, noise: float = 0.0) -> RobotDescription:
        simulation = {"position_noise": noise, "velocity_noise": noise}
        model = {"base": base, "legs": False, "height": self.height}
        return robot_of("atlas", self.period, model, targets={"goal": list(self.target)}, simulation=simulation)

    def _controlled(
        self,
        description: RobotDescription,
        law: str,
        target: Sequence[float],
        posture: Mapping[str, float],
        **settings: Any,
    ) -> TaskSpaceController:
        tasks = {
            "hand": {
                "task": "point",
                "frame": _HAND,
                "target": [float(x) for x in target],
                "stiffness": self.stiffness,
                "damping": self.damping,
                "level": 1,
                "sense": settings.pop("sense", None),
            },
            "posture": {"task": "posture", "level": 2, **posture},
        }
        return task_space(description, tasks, solver=SOLVERS[law], limits={"speed": True}, **settings)

    def _standing(
        self,
        law: str,
        target: Sequence[float],
        posture: Mapping[str, float] = _REPORT,
        *,
        noise: float = 0.0,
        sense: str | None = None,
    ) -> TaskMovement:
        description = self._description("fixed", noise)
        controller = self._controlled(description, law, target, posture, sense=sense)
        return TaskMovement(description, controller, _STANDING, _HAND)

    def _moving(self, rate: float, known: str) -> TaskMovement:
        description = self._description("moving")
        start = np.array([self.height if name == "pelvis_z" else 0.0 for name in PELVIS_JOINTS])
        controller = self._controlled(
            description,
            "weighted",
            self.target,
            {"stiffness": self.posture, "damping": 2.0 * float(np.sqrt(self.posture))},
            constraints={"pelvis": {"constraint": "prescribed", "joints": list(PELVIS_JOINTS)}},
            base_motion=known,
            others=Swing(start, self.amplitude, rate, self.ramp),
        )
        once = self.ramp + _SETTLING + 2.0 * np.pi / rate
        duration = self.period * round(max(self.duration, once) / self.period)
        return TaskMovement(description, controller, duration, _HAND)

    def _reach(self, found: Findings) -> None:
        for where in ("target", "low"):
            target = getattr(self, where)
            for name in SOLVERS:
                movement = self.movement(f"{where}_{name}")
                run = movement.record()
                error, moves = run.error(target), peak_to_peak(run, _STILL_FOR)
                largest = {what: float(share.max()) for what, share in shares_of_limits(movement, run).items()}
                assert isinstance(movement.controller, TaskSpaceController)
                told = [event.text for event in movement.controller.events if event.text.startswith("hand rests")]
                key = f"{where}_{name}"
                found.arrays |= {f"{key}_time": run.time, f"{key}_error": error}
                found.metrics |= {
                    f"{key}_error_m": float(error[-1]),
                    f"{key}_moves_m": moves,
                    **{f"{key}_{what}_share": share for what, share in largest.items()},
                }
                reached = bool(error[-1] < 1e-3)
                limited = name != "recursion"
                found.claim(
                    f"{name}, hand to ({', '.join(f'{x:g}' for x in target)}): error at rest",
                    "0" if limited else "0, or what blocks it is told",
                    f"{1e3 * error[-1]:.2g} mm" + (f": {told[0].partition(': ')[2]}" if told else ""),
                    moves < STILL and (reached or (not limited and bool(told))),
                    "below 1 mm, at rest" if limited else "below 1 mm, or told, at rest",
                )
                if limited:
                    found.claim(
                        f"{name}, likewise: largest speed, torque and position, of their limits",
                        "1 at most",
                        ", ".join(f"{what} {share:.4g}" for what, share in largest.items()),
                        max(largest.values()) <= 1.0 + 1e-6,
                        "at most 1",
                    )

    def _pelvis(self, found: Findings) -> None:
        for rate in self.rates:
            errors: dict[str, float] = {}
            for known in BASE_MOTIONS:
                run = self.movement(f"pelvis_{rate:g}_{known}").record()
                key = f"pelvis_{rate:g}_{known}"
                found.arrays |= {f"{key}_time": run.time, f"{key}_error": run.error(self.target)}
                late = run.after(self.ramp + _SETTLING)
                errors[known] = rms(late.error(self.target))
                found.metrics[f"{key}_error_m"] = errors[known]
                if known == "velocity" and rate == self.rates[-1]:
                    found.arrays[f"{key}_qpos"] = late.qpos
                if known == "pose":
                    expected = self._late(late, rate)
                    found.claim(
                        f"pelvis at {rate:g} rad/s, pose alone known: RMS error of the hand",
                        f"{1e3 * expected:.1f} mm (K_D·v/|s² + K_D·s + K_P|, v of the hand with the pelvis)",
                        f"{1e3 * errors[known]:.1f} mm",
                        abs(errors[known] / expected - 1.0) < 0.15,
                        "±15 %",
                    )
            for known, part in _KNOWN.items():
                found.claim(
                    f"pelvis at {rate:g} rad/s, {known} known too: RMS error of the hand",
                    "less, by what is known",
                    f"{1e3 * errors[known]:.3g} mm",
                    errors[known] < part * errors["pose"],
                    f"below {100 * part:g} % of the error with the pose alone",
                )

    def _late(self, run: TaskRun, rate: float) -> float:
        """RMS error, m, of a controller that does not know how fast the pelvis carries the hand."""
        own = mechanics(self._description("moving"))
        frame = own.frame(_HAND)
        pelvis = own.dofs[[own.joints.index(name) for name in PELVIS_JOINTS]]
        carried = []
        for q, u in zip(run.joints[::10], run.speeds[::10], strict=True):
            own.update(q, u)
            carried.append(np.linalg.norm(own.jacobian(frame)[:3, pelvis] @ u[-len(pelvis) :]))
        s = 1j * rate
        return float(self.damping / abs(s * s + self.damping * s + self.stiffness)) * rms(np.array(carried))

    def _noise(self, found: Findings) -> None:
        plain, sensed = (
            [
                rms(self.movement(f"noise_{sigma:g}{how}").record().after(2.0).error(self.target))
                for sigma in self.noise
            ]
            for how in ("", "_sensed")
        )
        found.noise(self.noise, plain, sensed)


_NOTES: Final = (
    "The report's example welds the feet, knows no ends of joints and takes ten times the published torques. Here "
    "legs are stiff, joints end where the URDF says, and torques are the published ones.",
    "In the example the pelvis moves at 0.5 rad/s. Here an ideal drive moves it, on all six coordinates at once.",
    "The recursion knows no ends of joints and is blocked where the posture drives one into them; the joints are "
    "named. The QPs go round them.",
    "Noise is tried with the report's law and a posture that is damped only, as on the UR10.",
)
