"""The hexapod walks by the lab's network of neurons, with ever longer strides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import pi
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.gaits import MatsuokaGait
from pliant.envs.gait_measures import GaitMeasures, GaitTrace
from pliant.envs.gait_trial import try_gaits
from pliant.envs.models.hexapod import REFERENCE_SERVO, WALKING, hexapod
from pliant.envs.models.hexapod_body import LINKS
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds
from pliant.experiments import hexapod_gait_checks as checks
from pliant.experiments.experiment import Experiment, Outcome
from pliant.experiments.hexapod_gait_figures import draw_collision, draw_limits, draw_strides
from pliant.experiments.hexapod_statics import leg_pose
from pliant.experiments.task_runs import Findings, deviations
from pliant.report import Report

_LIFTED: Final = 0.3
"""By how much the femur of the leg is raised that swings past another on the ground, rad."""


class Condition(NamedTuple):
    """How it walks."""

    step: float
    """Of the network, and period of the robot, s."""
    friction: float

    def __str__(self) -> str:
        return f"{1e3 * self.step:g} ms, friction {self.friction:g}"


class Walk(NamedTuple):
    """What came of a trial."""

    factor: float
    measures: GaitMeasures
    trace: GaitTrace
    command: Array
    """As it was sent, (periods, columns)."""

    @property
    def peak(self) -> float:
        """Largest electromagnetic torque of any motor once it walks in full, N·m."""
        return float(np.abs(self.trace.motor_torque[self.trace.time >= self.trace.full]).max())

    def estimate_error(self, link: str) -> float:
        """Of what position errors tell of the motors of these joints, rms, N·m."""
        which = [k for k, joint in enumerate(self.trace.joints) if joint.endswith(link)]
        away = (self.trace.estimated_torque - self.trace.motor_torque)[self.trace.time >= self.trace.full]
        return float(np.sqrt(np.square(away[:, which]).mean()))


@dataclass(frozen=True)
class HexapodGait(Experiment):
    """The robot walks from a settled stand by `MatsuokaGait.published`, with multiples of the default stride.

    Servos are `REFERENCE_SERVO`, there is one battery. A stride is good if no motor's torque passes three quarters
    of the stall torque and no legs touch.
    """

    title: ClassVar[str] = "Strides of a hexapod"
    source: ClassVar[str] = "Čížek, Faigl and others, hexapod on AX-12A servos, Fig. 7"

    factors: Sequence[float] = (1.0, 2.0, 5.0, 6.0)
    """Of the default stride."""
    between: Sequence[float] = (5.25, 5.5, 5.75)
    """Factors at which it is looked when legs begin to collide."""
    steps: Sequence[float] = (0.012, 0.019)
    """Of the network, s."""
    frictions: Sequence[float] = (0.5, 0.8)
    """Of the feet."""
    shown: Sequence[float] = (0.012, 0.5)
    """Step and friction that are drawn."""
    rhythms: Sequence[float] = (0.004, 0.006, 0.008, 0.010, 0.015, 0.030)
    """Steps of the network with which it walks by the default stride, s."""
    thickness: float = 0.028
    """Of the capsules that touch for the legs, m."""
    duration: float = 10.0
    """Of a trial, s."""

    def __post_init__(self) -> None:
        for name in ("factors", "between", "steps", "frictions", "rhythms"):
            deviations(f"hexapod_gait: {name}", getattr(self, name))
            if name != "frictions":
                positive(f"hexapod_gait: {name}", getattr(self, name)[0])
        finite_array("hexapod_gait: shown", self.shown, (2,))
        if tuple(self.shown) not in self.conditions:
            raise ConfigurationError(
                f"hexapod_gait: shown is {list(self.shown)}; one of "
                f"{', '.join(str(list(condition)) for condition in self.conditions)} is needed."
            )
        check_bounds("hexapod_gait: thickness", self.thickness, 0.002, 0.05, "m")
        check_bounds("hexapod_gait: duration", self.duration, 2.0, 1e3, "s")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All steps at all frictions."""
        return tuple(Condition(step, friction) for step in self.steps for friction in self.frictions)

    def run(self) -> Outcome:
        """Walk under every condition; then what decides the collisions, the speed and the torque."""
        found = Findings()
        for condition in self.conditions:
            walks = self.walk(condition, self.factors)
            checks.strides(condition, walks, found)
            if condition == tuple(self.shown):
                checks.published(walks, found)
                for walk in walks:
                    found.arrays |= _arrays(walk)
        for judge in (checks.geometry, checks.onset, checks.cycle, checks.rhythms, checks.influences, checks.bus):
            judge(self, found)
        return found.outcome(checks.NOTES)

    def movements(self) -> Mapping[str, Callable[[], Movement]]:
        """By factor, step and friction; those that are shown come first."""
        order = sorted(self.conditions, key=lambda condition: condition != tuple(self.shown))
        return {
            f"stride_{factor:g}_step_{1e3 * condition.step:g}_friction_{condition.friction:g}": partial(
                self._movement, condition, factor
            )
            for condition in order
            for factor in sorted(self.factors, reverse=True)
        }

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Coxae and torques of the longer strides; what limits them; the robot with the longest."""
        draw_strides(self, outcome.arrays, report)
        draw_limits(self, outcome, report)
        draw_collision(hexapod(view={"elevation": 70.0, "radius": 0.36}), self, outcome.arrays, report)

    def robot(
        self, condition: Condition, *, servo: Mapping[str, float] | None = None, **options: Any
    ) -> SimulatedRobot:
        """Return the robot in its walking pose; with fields of its servos, or options of a simulated robot."""
        model = hexapod(
            servo={**REFERENCE_SERVO, **(servo or {})},
            start=WALKING,
            friction=condition.friction,
            thickness=self.thickness,
        )
        return SimulatedRobot(model, condition.step, **options)

    def walk(
        self, condition: Condition, factors: Sequence[float], servo: Mapping[str, float] | None = None
    ) -> list[Walk]:
        """Walk with each factor."""
        with self.robot(condition, servo=servo) as robot:
            gaits = [MatsuokaGait.published(robot.info, factor, condition.step) for factor in factors]
            trials = try_gaits(robot, gaits, self.duration, traces=True)
        walks = []
        for factor, trial in zip(factors, trials, strict=True):
            assert trial.trace is not None
            walks.append(Walk(factor, trial.measures, trial.trace, trial.command))
        return walks

    def _movement(self, condition: Condition, factor: float) -> Movement:
        robot = self.robot(condition)
        return Movement(robot, MatsuokaGait.published(robot.info, factor, condition.step), self.duration)


def legs_apart(stroke: float) -> float:
    """Return how far apart the axes of front and middle leg of a side are, m.

    Each is half a stroke towards the other in the walking pose, the front leg lifted. Legs touch where it is their
    thickness.

    Args:
        stroke: rad.
    """
    chains = []
    for leg, towards, lift in (("front_left", 1.0, _LIFTED), ("middle_left", -1.0, 0.0)):
        angles = np.array([[WALKING[f"{leg}_{link}"] for link in LINKS]])
        angles += [[towards * stroke / 2.0, -lift, 0.0]]
        pose = leg_pose(leg, angles)
        ends = [*(pose.joints[link][0] for link in LINKS), pose.ball[0]]
        chains.append(np.vstack([np.linspace(one, other, 100) for one, other in pairwise(ends)]))
    return float(np.linalg.norm(chains[0][:, None] - chains[1][None], axis=2).min())


def touching_stroke(thickness: float) -> float:
    """Return from which stroke on legs of a thickness (m) touch, rad; by bisection of `legs_apart`."""
    low, high = 0.0, pi / 2
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if legs_apart(middle) > thickness else (low, middle)
    return high


def _arrays(walk: Walk) -> dict[str, Array]:
    """What is drawn of a walk: its last four seconds, every fourth physics step."""
    trace, name = walk.trace, f"stride_{walk.factor:g}"
    late = np.flatnonzero(trace.time >= trace.time[-1] - 4.0)[::4]
    coxae = [k for k, joint in enumerate(trace.joints) if joint.endswith("coxa") and "left" in joint]
    largest = [
        np.abs(
            trace.motor_torque[late][:, [k for k, joint in enumerate(trace.joints) if joint.endswith(link)]]
        ).max(1)
        for link in LINKS
    ]
    return {
        f"{name}_time": trace.time[late],
        f"{name}_coxae": trace.position[late][:, coxae],
        f"{name}_goals": trace.target[late][:, coxae],
        f"{name}_torque": np.stack(largest, axis=1),
        f"{name}_contacts": (trace.contacts[late] > 0.0).any(axis=1).astype(float),
        f"{name}_qpos": np.hstack([trace.base[late], trace.position[late]]),
    }
