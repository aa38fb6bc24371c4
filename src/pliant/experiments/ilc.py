"""Learning a slow lift of the two-joint arm by iterative learning control, with three laws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.controllers import (
    IterativeLearning,
    LearningLaw,
    MinimumJerk,
    Motion,
    NormOptimalILC,
    PDTypeILC,
    PTypeILC,
    Trial,
    joint_impulse_response,
    sample,
)
from pliant.controllers.checks import Array, positive
from pliant.controllers.frequency_response import LinearJoint
from pliant.controllers.trial import JointTrials
from pliant.envs.models.arm2 import JOINTS, arm2
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.movement import OpenLoop
from pliant.envs.robustness import Perturbation, replay
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError, check_bounds
from pliant.experiments.experiment import NOTHING, Claim, Experiment, Outcome, Source
from pliant.experiments.statics import StaticArm
from pliant.report import COLOURS, Report, figure

_GOOD = 2.0
"""Rms error below which the pneumatic arm comes, degrees."""
_PUBLISHED_TRIALS = 11
_SETTLED = 8.0
"""Length of a model's impulse response in time constants 1/(ζω) of its slower pole."""
_LABELS = {"p": "P-type", "pd": "PD-type", "norm_optimal": "norm-optimal"}
_NOT_LEARNED = 1e-9
"""A tolerance that is never reached, rad: learning goes on after the published one."""


class Lesson(NamedTuple):
    """What a law made of the task."""

    history: tuple[Trial, ...]
    learned: Trial
    """The first trial within the tolerance; the best one if there is none."""
    converged: bool
    replayed: Array
    """Largest error on each perturbed robot, (robots,), rad."""


def pd_law(joints: Sequence[LinearJoint], period: float, epsilon: float, cutoff: float) -> PDTypeILC:
    """PD-type learning for joints K/(I·s² + d·s + K + G).

    Inverting the joint gives the command that makes up for an error, u = ((K + G)·e + d·ė + I·ë)/K, so

        kp = (K + G)/K,  kd = d/K,  B = K/I (how a command accelerates the link: (1 + ε)/B = (1 + ε)·I/K).

    Then L·P = 1 + ε·I·s²/(I·s² + d·s + K + G): slow motion is learned in one trial, and faster motion contracts
    as long as |ε·I·s²/(I·s² + d·s + K + G)| < 1 or the low-pass holds it back.

    Args:
        joints: one linear model per joint.
        period: time from one command to the next, s.
        epsilon: ε, over-relaxation of the acceleration term.
        cutoff: of the low-pass on the error, Hz.
    """
    return PDTypeILC(
        period=period,
        input_gain=[joint.stiffness / joint.inertia for joint in joints],
        kp=[1.0 / joint.static_gain for joint in joints],
        kd=[joint.damping / joint.stiffness for joint in joints],
        epsilon=epsilon,
        cutoff=cutoff,
    )


def norm_optimal_law(joints: Sequence[LinearJoint], period: float, effort: float, cutoff: float) -> NormOptimalILC:
    """Norm-optimal learning for joints K/(I·s² + d·s + K + G).

    The lifted model is the sampled impulse response with ω = √((K + G)/I), ζ = d/(2·√((K + G)·I)) and static gain
    K/(K + G), long enough for its slower pole to die away.

    Args:
        joints: one linear model per joint.
        period: time from one command to the next, s.
        effort: weight of the change of command against the error.
        cutoff: above which changes of command weigh more, Hz.
    """
    omega = [2.0 * np.pi * joint.natural_frequency for joint in joints]
    rates = [
        w * (j.damping_ratio - np.sqrt(max(j.damping_ratio**2 - 1.0, 0.0)))
        for w, j in zip(omega, joints, strict=True)
    ]
    duration = _SETTLED / min(rates)
    responses = [
        joint_impulse_response(w, j.damping_ratio, period, duration, j.static_gain)
        for w, j in zip(omega, joints, strict=True)
    ]
    return NormOptimalILC(np.stack(responses, axis=-1), period, effort, cutoff)


@dataclass(frozen=True)
class LearnedLift(Experiment):
    """The hanging arm (`arm2`, mode 6) learns a minimum-jerk lift, trial by trial, from the desired motion on.

    The published law, u⁺ = u + gain·exp(−n/decay)·e, knows nothing of the arm. The other two are given the arm
    linearised where it holds the goal, each joint with the other held (`StaticArm.linear`): there the loaded
    springs are stiffest and a command moves the links most, so that the gains of a softer pose would overshoot.
    All laws go on for `trials` trials; what is replayed on the perturbed robots is the command of the first trial
    within the tolerance, where the publication stops.
    """

    title: ClassVar[str] = "A lift learned by iterative learning control"
    source: ClassVar[str] = (
        "Mengacci et al. 2021, Fig. 15; PD-type: Angelini et al. 2018; norm-optimal: Hofer et al. 2019"
    )

    preset: float = 0.2
    """Stiffness preset of both joints, rad."""
    goal: tuple[float, float] = (0.8, 0.8)
    """Where the lift ends, rad."""
    duration: float = 20.0
    """Of the lift, s."""
    tolerance: float = 0.08
    """Largest error of both joints at which it is learned, rad."""
    trials: int = 15
    """Of every law."""
    gain: float = 0.5
    """Of the P-type law, rad per rad."""
    decay: float = 10.0
    """Of the P-type law's gain, trials."""
    epsilon: float = 0.9
    """Over-relaxation of the PD-type law."""
    cutoff: float = 2.0
    """Of the PD-type law's low-pass, and of the norm-optimal law, Hz."""
    effort: float = 0.1
    """Of the norm-optimal law."""
    robots: int = 20
    """Perturbed robots on which what was learned is replayed."""
    period: float = 0.01
    """From one command to the next, s."""

    def __post_init__(self) -> None:
        positive("ilc: tolerance", self.tolerance, "rad")
        for name, least in (("trials", 2), ("robots", 1)):
            value = check_bounds(f"ilc: {name}", getattr(self, name), least, 1000)
            if value != int(value):
                raise OutOfBoundsError(f"ilc: {name} is {value:g}; a whole number is needed.")

    def run(self) -> Outcome:
        """Learn with each law and replay what was learned on perturbed robots."""
        model, robot, motion = self._model(), self._robot(), self._motion
        joints = self._joints(robot)
        around = Perturbation(robots=self.robots)
        lessons = {}
        for name, law in self._laws(joints).items():
            history = self._learn(robot, law)
            learned = self._learned(history)
            rows = _replayed(robot, learned).rows
            errors = np.abs(replay(model, self.period, rows, around) - motion.position).max(axis=(1, 2))
            lessons[name] = Lesson(history, learned, learned.max_error < self.tolerance, errors)
        metrics = self._measure(lessons, joints)
        return Outcome(
            self._claims(lessons), metrics, _arrays(lessons, motion), self._notes(around, lessons["p"].history[0])
        )

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """The motion that each law learns, and the first trial; learning takes a moment."""
        learned = {name: partial(self._movement, name, self._learned) for name in _LABELS}
        return {**learned, "first": partial(self._movement, "p", itemgetter(0))}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Error against trial and the robots it was replayed on; the motions; the learned commands."""
        self._draw_errors(outcome, report)
        self._draw_motions(outcome, report)

    def _model(self) -> RobotModel:
        return arm2(preset=self.preset)

    def _robot(self) -> SimulatedRobot:
        return SimulatedRobot(self._model(), self.period)

    @property
    def _motion(self) -> Motion:
        """What is to be learned."""
        return sample(MinimumJerk((0.0, 0.0), self.goal, self.duration), self.period)

    def _joints(self, robot: SimulatedRobot) -> tuple[LinearJoint, ...]:
        """The arm linearised where it holds the goal."""
        statics, presets = StaticArm(robot.model), (self.preset, self.preset)
        return tuple(statics.linear(statics.holding(self.goal, presets), presets, self.goal))

    def _laws(self, joints: Sequence[LinearJoint]) -> dict[str, LearningLaw]:
        return {
            "p": PTypeILC(self.gain, self.decay),
            "pd": pd_law(joints, self.period, self.epsilon, self.cutoff),
            "norm_optimal": norm_optimal_law(joints, self.period, self.effort, self.cutoff),
        }

    def _learn(self, robot: SimulatedRobot, law: LearningLaw) -> tuple[Trial, ...]:
        with robot:
            trials = JointTrials(robot)
            learning = IterativeLearning(
                law, self._motion, trials, _NOT_LEARNED, self.trials, low=trials.low, high=trials.high
            )
            return tuple(learning)

    def _learned(self, history: Sequence[Trial]) -> Trial:
        """The first trial within the tolerance; the best one if there is none."""
        good = [trial for trial in history if trial.max_error < self.tolerance]
        return good[0] if good else min(history, key=lambda trial: trial.max_error)

    def _movement(self, law: str, choose: Callable[[Sequence[Trial]], Trial]) -> OpenLoop:
        """One of the trials of a law."""
        robot = self._robot()
        return _replayed(robot, choose(self._learn(robot, self._laws(self._joints(robot))[law])))

    def _measure(self, lessons: Mapping[str, Lesson], joints: Sequence[LinearJoint]) -> dict[str, float]:
        metrics = {"first_max_error_rad": lessons["p"].history[0].max_error, "tolerance_rad": self.tolerance}
        for name, lesson in lessons.items():
            metrics |= {
                f"{name}_converged": float(lesson.converged),
                f"{name}_trials": float(lesson.learned.iteration),
                f"{name}_max_error_rad": lesson.learned.max_error,
                f"{name}_rms_error_rad": lesson.learned.rms,
                f"{name}_last_max_error_rad": lesson.history[-1].max_error,
                f"{name}_last_rms_error_rad": lesson.history[-1].rms,
                f"{name}_perturbed_mean_rad": float(lesson.replayed.mean()),
                f"{name}_perturbed_worst_rad": float(lesson.replayed.max()),
            }
        for name, joint in zip(JOINTS, joints, strict=True):
            metrics |= {
                f"{name}_stiffness": joint.stiffness,
                f"{name}_gravity_stiffness": joint.gravity_stiffness,
                f"{name}_inertia": joint.inertia,
                f"{name}_natural_hz": joint.natural_frequency,
                f"{name}_damping_ratio": joint.damping_ratio,
            }
        return metrics

    def _claims(self, lessons: Mapping[str, Lesson]) -> tuple[Claim, ...]:
        claims = []
        for name, lesson in lessons.items():
            learned = lesson.learned
            trials = str(learned.iteration) if lesson.converged else f"more than {self.trials}"
            quick = lesson.converged and learned.iteration <= _PUBLISHED_TRIALS
            claims.append(
                Claim(
                    f"trials until both joints are within {self.tolerance:g} rad, {_LABELS[name]}",
                    str(_PUBLISHED_TRIALS) if name == "p" else NOTHING,
                    f"{trials} (largest error {learned.max_error:.3f} rad, rms {learned.rms:.3f} rad)",
                    quick if name == "p" else None,
                    "no more: another arm" if name == "p" else NOTHING,
                    Source.PUBLISHED,
                )
            )
        claims += _norm_optimal_claims(lessons["norm_optimal"])
        for name, lesson in lessons.items():
            claims.append(
                Claim(
                    f"largest error on {self.robots} perturbed arms, {_LABELS[name]}",
                    "runs on the real arm in pure feed-forward" if name == "p" else NOTHING,
                    f"{lesson.replayed.mean():.3f} rad on average, {lesson.replayed.max():.3f} rad at worst",
                    None,
                    source=Source.VERBAL if name == "p" else Source.PUBLISHED,
                )
            )
        return tuple(claims)

    def _draw_errors(self, outcome: Outcome, report: Report) -> None:
        with figure(1, 2, height=3.6, width_ratios=[3, 2]) as (drawing, axes):
            error, robots = axes.flat
            for (name, label), colour in zip(_LABELS.items(), COLOURS, strict=False):
                values = outcome.arrays[f"{name}_max_error"]
                error.semilogy(
                    np.arange(1, len(values) + 1), values, "o-", color=colour, markersize=4, label=label
                )
            error.axhline(self.tolerance, color=COLOURS[5], linestyle="--", linewidth=1, label="tolerance")
            ticks = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4]
            error.set(xlabel="trial", ylabel="largest error (rad)", yticks=ticks, yticklabels=map(str, ticks))
            error.minorticks_off()
            error.xaxis.get_major_locator().set_params(integer=True)
            error.legend()
            replayed = [outcome.arrays[f"{name}_perturbed_error"] for name in _LABELS]
            for i, (values, colour) in enumerate(zip(replayed, COLOURS, strict=False)):
                robots.plot(np.full(len(values), i), values, "o", color=colour, alpha=0.4, markersize=4)
            robots.axhline(self.tolerance, color=COLOURS[5], linestyle="--", linewidth=1)
            labels = [f"{label}\ntrial {outcome.metrics[f'{name}_trials']:.0f}" for name, label in _LABELS.items()]
            robots.set(
                xticks=range(len(labels)), xticklabels=labels, ylim=(0, None), xlim=(-0.5, len(labels) - 0.5)
            )
            robots.set(ylabel="largest error (rad)")
            report.figure(
                drawing,
                "Largest error of both joints in every trial, and of the learned command on "
                f"{self.robots} perturbed arms.",
            )

    def _draw_motions(self, outcome: Outcome, report: Report) -> None:
        data = outcome.arrays
        with figure(2, 2, height=5.6, sharex=True, sharey="col") as (drawing, axes):
            for j, joint in enumerate(JOINTS):
                link, command = axes[j]
                link.plot(data["time"], data["desired"][:, j], color="black", linestyle="--", label="desired")
                link.plot(data["time"], data["first"][:, j], color=COLOURS[5], label="first trial")
                for (name, label), colour in zip(_LABELS.items(), COLOURS, strict=False):
                    link.plot(data["time"], data[f"{name}_position"][:, j], color=colour, label=label)
                    command.plot(data["time"], data[f"{name}_command"][:, j], color=colour)
                command.plot(data["time"], data["desired"][:, j], color="black", linestyle="--")
                link.set(ylabel=f"{joint}, link (rad)")
                command.set(ylabel=f"{joint}, θeq (rad)")
            axes[0, 0].legend()
            for ax in axes[-1]:
                ax.set(xlabel="time (s)")
            report.figure(
                drawing,
                "The first trial within the tolerance of each law: link angles against the desired motion, and "
                "the equilibria that were learned.",
            )

    def _notes(self, around: Perturbation, first: Trial) -> tuple[str, ...]:
        return (
            "The links of the published arm are not public: this arm is built from the public bodies of a "
            f"five-qbMove arm. Its first trial is {first.max_error:.2f} rad off, and how many trials it takes "
            "from there depends on its weight; the claim is that it takes no more than the published arm.",
            "There is no real arm here. In its place the learned command is replayed on "
            f"{around.robots} arms whose masses differ by ±{around.mass:.0%}, frictions by "
            f"±{around.friction:.0%}, springs by ±{around.spring:.0%} and motors by ±{around.motor:.0%}, "
            f"with commands {1e3 * around.command_delay:g} ms late.",
            "PD-type and norm-optimal learning were published on other robots and motions; here they are given "
            "the same task, with parameters from the arm's stiffness, inertia and friction at the preset.",
            "Dry friction sets a floor: from some 0.05° rms on, what is learned in one trial is undone by where "
            "the links stick in the next. So the error does not fall in every trial.",
        )


def _replayed(robot: SimulatedRobot, trial: Trial) -> OpenLoop:
    """The motion of a trial, in which the last command is no longer in force."""
    return OpenLoop(robot, JointTrials(robot).robot_command(trial.command)[:-1])


def _norm_optimal_claims(lesson: Lesson) -> list[Claim]:
    """Compare with a pneumatic arm, whose rms error fell in every trial, from 14° to below 2° in less than 20."""
    rms = np.degrees([trial.rms for trial in lesson.history])
    rises = np.flatnonzero(np.diff(rms) >= 0.0)
    falling = int(rises[0]) + 1 if rises.size else len(rms)
    good = np.flatnonzero(rms < _GOOD)
    trials = int(good[0]) + 1 if good.size else None
    found = f"in {trials}" if trials else f"never: {rms.min():.1f}°"
    return [
        Claim(
            f"norm-optimal: trials until the rms error is below {_GOOD:g}°",
            "less than 20, from 14° (pneumatic arm)",
            f"{found}, from {rms[0]:.1f}°",
            trials is not None and trials < 20,
            "less than 20: another arm",
            Source.PUBLISHED,
        ),
        Claim(
            "norm-optimal: the rms error from trial to trial",
            "falls in every trial (pneumatic arm)",
            f"falls in the first {falling} of {len(rms)}, to {rms[falling - 1]:.2f}°",
            falling == len(rms),
            "every trial below the one before",
            Source.VERBAL,
        ),
    ]


def _arrays(lessons: Mapping[str, Lesson], motion: Motion) -> dict[str, Array]:
    """Angles (n, joints), rad, and errors (trials,) and (robots,), rad."""
    arrays = {"time": motion.time, "desired": motion.position, "first": lessons["p"].history[0].position}
    for name, lesson in lessons.items():
        arrays |= {
            f"{name}_max_error": np.array([trial.max_error for trial in lesson.history]),
            f"{name}_rms_error": np.array([trial.rms for trial in lesson.history]),
            f"{name}_command": lesson.learned.command,
            f"{name}_position": lesson.learned.position,
            f"{name}_perturbed_error": lesson.replayed,
        }
    return arrays
