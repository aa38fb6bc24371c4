"""A UR10 whose tool goes to points: the milestone report's law, and QPs that keep limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.task_space import Recursion
from pliant.envs.description import RobotDescription
from pliant.envs.task_space import mechanics, task_space
from pliant.experiments import task_space_ur10_checks as checks
from pliant.experiments.experiment import Outcome
from pliant.experiments.task_runs import (
    SOLVERS,
    Findings,
    Round,
    TaskExperiment,
    TaskMovement,
    deviations,
    draw_noise,
    draw_strips,
    robot_of,
)
from pliant.experiments.task_space_law import WrittenLaw
from pliant.experiments.task_space_ur10_figures import PROTOTYPE, draw_laws, draw_moving
from pliant.report import Report

_TARGET: Final = "goal_target"
_START: Final = [0.0, -np.pi / 4, -np.pi / 2, 0.0, 0.0, 0.0]


@dataclass(frozen=True)
class TaskSpaceUr10(TaskExperiment):
    """The tool of a UR10 goes to points by ẍ* = K_P·e − K_D·ẋ, sampled every 2 ms.

    The report's law knows no limits. Alike in everything else, a weighted and a strict QP keep torques, speeds and
    positions.
    """

    title: ClassVar[str] = "Task-space control of a UR10"
    source: ClassVar[str] = "Sherman & Seth 2014 (Simbody milestone report 21)"

    target: Sequence[float] = (-0.4, -0.1, 1.0)
    """The report's, in the robot's own world, m."""
    beyond: Sequence[float] = (-1.6, 0.0, 0.3)
    """A target out of reach, likewise."""
    stiffness: float = 225.0
    """K_P, 1/s²."""
    damping: float = 30.0
    """K_D, 1/s."""
    null_damping: float = 20.0
    """Of what the tool leaves free, 1/s."""
    posture: Sequence[float] = (0.6, 0.0, 0.0, 0.6, 0.6, 0.0)
    """From the start, to which the joints are drawn in the null space while the tool stays, rad."""
    radius: float = 0.1
    """Of the circle that the tool follows, m."""
    rate: float = 2.0
    """Along it, rad/s."""
    period: float = 0.002
    """From one command to the next, s."""
    duration: float = 3.0
    """Of every motion, s."""
    noise: Sequence[float] = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0)
    """Standard deviations, rad and rad/s."""
    delays: Sequence[int] = (0, 1, 2, 4, 8, 16, 19, 20, 21, 22, 23)
    """Of what is sensed, periods."""

    def __post_init__(self) -> None:
        for name in ("target", "beyond"):
            finite_array(f"task_space_ur10: {name}", getattr(self, name), (3,))
        finite_array("task_space_ur10: posture", self.posture, (6,))
        for name in ("stiffness", "damping", "null_damping", "radius", "rate", "period", "duration"):
            positive(f"task_space_ur10: {name}", getattr(self, name))
        deviations("task_space_ur10: noise", self.noise)
        deviations("task_space_ur10: delays", self.delays)

    def run(self) -> Outcome:
        """Run everything, one after another."""
        found = Findings()
        for judge in (checks.reach, checks.beyond, checks.null_space, checks.moving, checks.noise, checks.delays):
            judge(self, found)
        return found.outcome(_NOTES)

    def movements(self) -> Mapping[str, Callable[[], TaskMovement]]:
        """Reaching and what is out of reach, by every law; then the others."""
        reach = {f"reach_{name}": partial(self._movement, name) for name in SOLVERS}
        beyond = {
            f"beyond_{name}": partial(self._movement, name, target=self.beyond) for name in (*SOLVERS, "plain")
        }
        noise = {
            f"noise_{sigma:g}{'_sensed' if sensed else ''}": partial(
                self._movement, "recursion", noisy=sigma, sense="tip" if sensed else None
            )
            for sigma in self.noise
            for sensed in (False, True)
        }
        return {
            **reach,
            "written": self._written,
            "uniform": partial(self._written, null_damping=checks.UNIFORM, mass_weighted=False),
            "hanging": partial(self._written, gravity=False),
            **beyond,
            **{f"posture_{name}": partial(self._posture, name) for name in ("recursion", "hierarchical")},
            "circle": self._circle,
            "dragged": partial(self._circle, dragged=True),
            "jumps": self._jumps,
            **noise,
            **{f"delay_{delay}": partial(self._delayed, delay) for delay in self.delays},
        }

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Error and speeds of the laws; frames; the moving target; noise."""
        draw_laws(outcome.arrays, report)
        draw_strips(
            self._description(),
            [outcome.arrays["reach_recursion_qpos"], outcome.arrays["reach_weighted_qpos"]],
            "The first 0.8 s by the report's law (above) and by the weighted QP (below). The ball is the target.",
            report,
        )
        draw_moving(outcome.arrays, report)
        draw_noise(outcome.arrays, PROTOTYPE, report)

    def _description(self, **simulation: float) -> RobotDescription:
        model = {"mode": "torque", "gravity_compensation": False, "start": _START}
        return robot_of("ur10", self.period, model, targets={"goal": list(self.target)}, simulation=simulation)

    def _movement(
        self,
        law: str,
        *,
        target: ArrayLike | None = None,
        noisy: float = 0.0,
        delay: int = 0,
        posture: Mapping[str, Any] | None = None,
        targets: Mapping[str, Callable[[float], ArrayLike]] | None = None,
        **tool: Any,
    ) -> TaskMovement:
        """A motion of the tool; `plain` is the recursion that inverts whatever is nearly singular."""
        description = self._description(
            position_noise=noisy, velocity_noise=noisy, sensor_delay=delay * self.period
        )
        moves = "path" in tool or "follow" in tool
        goal = None if moves else (self.target if target is None else target)
        entries = {
            "tool": {
                "task": "point",
                "frame": "tip",
                "target": None if goal is None else [float(x) for x in np.asarray(goal)],
                "stiffness": self.stiffness,
                "damping": self.damping,
                "level": 1,
                **tool,
            },
            "posture": {
                "task": "posture",
                "stiffness": 0.0,
                "damping": self.null_damping,
                "level": 2,
                **(posture or {}),
            },
        }
        solver = partial(Recursion, singular=0.0) if law == "plain" else SOLVERS[law]
        controller = task_space(description, entries, solver=solver, limits={"speed": True})
        return TaskMovement(description, controller, self.duration, "tip", targets=targets)

    def _written(self, **settings: Any) -> TaskMovement:
        description = self._description()
        own = {"null_damping": self.null_damping, **settings}
        law = WrittenLaw(
            mechanics(description),
            description.model.end_effectors["tip"],
            self.target,
            self.stiffness,
            self.damping,
            **own,
        )
        return TaskMovement(description, law, self.duration, "tip")

    def _posture(self, law: str) -> TaskMovement:
        target = [float(x) for x in np.add(_START, self.posture)]
        return self._movement(
            law, target=self.begin, posture={"stiffness": self.null_damping**2 / 4, "target": target}
        )

    @property
    def begin(self) -> Array:
        """Where the tool is at the start, (3,), m."""
        own = mechanics(self._description())
        own.update(_START, np.zeros(6))
        return own.pose(own.frame("tcp"))[:3]

    @property
    def path(self) -> Round:
        """The circle, on which the tool begins."""
        return Round(self.begin + np.array([0.0, self.radius, 0.0]), self.radius, self.rate)

    @property
    def nearby(self) -> Array:
        """Where the tool goes while sensors are late, (3,), m."""
        found: Array = self.begin + np.array([0.0, checks.WAY, 0.0])
        return found

    def _circle(self, dragged: bool = False) -> TaskMovement:
        """The tool begins on the circle; dragged, it sees where the target is, not how fast."""
        if dragged:
            return self._movement("weighted", follow=_TARGET, targets={_TARGET: self.path.position})
        return self._movement("weighted", path=self.path)

    def _jumps(self) -> TaskMovement:
        """To and fro, a second each."""
        ends = (np.array(self.target), self.begin)
        return self._movement("weighted", follow=_TARGET, targets={_TARGET: lambda t: ends[int(t) % 2]})

    def _delayed(self, delay: int) -> TaskMovement:
        return self._movement("recursion", target=self.nearby, delay=delay)


_NOTES: Final = (
    "The report gives its target in the axes of the URDF's base; here it is turned by half about z, as the "
    "controller's base is. The report shows no numbers of errors: under paper stands what it says in words, or "
    "what the law's equations say.",
    "The null-space damping is 20 1/s times the mass matrix: the example's equal damping of all joints cannot be "
    "sampled every 2 ms with the published inertia of wrist 3.",
    "Near singular positions the recursion slows down what it can hardly move; the plain inverse does not.",
    "By the joints alone, noise of 0.1 rad and more shifts the tool: an arm whose joints seem to scatter by σ "
    "seems shorter, by about half of σ² for each joint.",
)
