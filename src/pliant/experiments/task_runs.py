"""Motions under task-space control, run and recorded, of an arm and a humanoid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import compile_model
from pliant.controllers.checks import Array, number_array
from pliant.controllers.controller import Controller, periods
from pliant.controllers.task_space import Recursion
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.weighted_qp import WeightedQP
from pliant.envs.description import RobotDescription, describe, robot_settings
from pliant.envs.movement import Movement
from pliant.envs.rendering import RenderingError
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.experiments.experiment import NOTHING, Claim, Experiment, Outcome, Source
from pliant.experiments.tool_experiment import strip
from pliant.hardware.robot import State
from pliant.report import COLOURS, Report, figure

SOLVERS: Final[Mapping[str, Callable[..., Any]]] = {
    "recursion": Recursion,
    # Forces of what is prescribed are thousands of N: their regularisation must not count beside a posture
    "weighted": partial(WeightedQP, weights=[1.0, 1e-6], force_regularisation=1e-14),
    "hierarchical": HierarchicalQP,
}
"""By name; of two levels."""
STYLES: Final = {"recursion": "-", "weighted": "-", "hierarchical": "--"}
"""Of lines: the two QPs often do the same."""
_SEED: Final = 20140601
CLOSE: Final = 1e-4
"""Error that counts as none, m."""
LOST: Final = 0.5
"""Noise of positions from which on nothing is to be expected, rad."""
STILL: Final = 1e-3
"""From peak to peak, m: what moves less rests."""


@dataclass(frozen=True)
class Round:
    """A path: along a circle about z at one speed, from where y is least."""

    centre: Array
    """(3,), m."""
    radius: float
    rate: float
    """rad/s"""
    duration: float = float("inf")

    def position(self, t: ArrayLike) -> Array:
        """See `Path`."""
        phase = self.rate * np.asarray(t, dtype=np.float64)
        return self.centre + self.radius * np.stack([np.sin(phase), -np.cos(phase), np.zeros_like(phase)], axis=-1)

    def velocity(self, t: ArrayLike) -> Array:
        """See `Path`."""
        phase = self.rate * np.asarray(t, dtype=np.float64)
        return self.radius * self.rate * np.stack([np.cos(phase), np.sin(phase), np.zeros_like(phase)], axis=-1)


class TaskRun(NamedTuple):
    """What happened, at the beginning and after every period: the leading axis."""

    time: Array
    """s"""
    tool: Array
    """True position of the frame that is controlled, (…, 3), m."""
    joints: Array
    """Their true positions, in the model's order, (…, joints), rad."""
    speeds: Array
    """Likewise, rad/s."""
    command: Array
    """What the controller asked for, before it was limited, (…, columns)."""
    qpos: Array
    """Coordinates of the whole model, for pictures."""

    def error(self, target: ArrayLike) -> Array:
        """Return the distance from a target, (3,) or one for every instant, m."""
        found: Array = np.linalg.norm(self.tool - np.asarray(target), axis=1)
        return found

    def after(self, time: float) -> "TaskRun":
        """Return what happened from a time on, s."""
        return TaskRun(*(field[self.time >= time - 1e-9] for field in self))


@dataclass
class Findings:
    """What an experiment has found so far."""

    claims: list[Claim] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    def claim(
        self,
        what: str,
        expected: str,
        ours: str,
        holds: bool | np.bool_ | None,
        tolerance: str = NOTHING,
        source: Source = Source.PREDICTED,
    ) -> None:
        """Add a claim; see `Claim`."""
        self.claims.append(Claim(what, expected, ours, None if holds is None else bool(holds), tolerance, source))

    def noise(self, deviations: Sequence[float], plain: Sequence[float], sensed: Sequence[float]) -> None:
        """Add RMS errors (m) at deviations of noise, by the joints alone and with a sensed end effector."""
        self.arrays |= {
            "noise": np.array(deviations), "noise_plain": np.array(plain), "noise_sensed": np.array(sensed)
        }  # fmt: skip
        for sigma, one, other in zip(deviations, plain, sensed, strict=True):
            self.metrics |= {f"noise_{sigma:g}_error_m": one, f"noise_{sigma:g}_sensed_error_m": other}
            wanted, tolerance, holds = "smaller with the sensor", "the second below the first", other < one
            if sigma == 0.0:
                wanted, tolerance, holds = "0", "below 0.1 mm", max(one, other) < CLOSE
            self.claim(
                f"noise {sigma:g} rad and rad/s: RMS error by the joints, with a sensed end effector",
                wanted if sigma < LOST else "–",
                f"{1e3 * one:.3g} mm, {1e3 * other:.3g} mm",
                holds if sigma < LOST else None,
                tolerance if sigma < LOST else NOTHING,
            )

    def outcome(self, notes: Sequence[str]) -> Outcome:
        """Return it, with what was assumed."""
        return Outcome(tuple(self.claims), self.metrics, self.arrays, tuple(notes))


class TaskMovement(Movement):
    """A motion under task-space control."""

    def __init__(
        self,
        description: RobotDescription,
        controller: Controller,
        duration: float,
        frame: str,
        *,
        targets: Mapping[str, Callable[[float], ArrayLike]] | None = None,
    ) -> None:
        """Keep what is given; nothing moves yet.

        Args:
            description: of the robot.
            controller: of it.
            duration: s.
            frame: end effector that is recorded.
            targets: of the scene, by name: where each one is at a time, m.
        """
        super().__init__(description.simulated(), controller, duration)
        self.description, self._targets = description, dict(targets or {})
        self._site = description.model.end_effectors[frame]
        self._asked = np.full(len(self.robot.info.command), np.nan)

    def begin(self) -> State:
        """As of `Movement`, with the same noise every time."""
        self.robot.connect()
        return self.robot.reset(seed=_SEED)

    def states(self) -> Iterator[State]:
        """As of `Movement`, with targets that move."""
        yield self.begin()
        self._move(0.0)
        for period in periods(self.robot, self.controller, self.duration):
            self._asked = period.asked.copy()
            yield self.robot.read()
            self._move(float(self.robot.data.time))

    def record(self) -> TaskRun:
        """Run it."""
        rows = [
            (self.robot.data.time, self.robot.data.qpos.copy(), self.robot.data.qvel.copy(), self._asked)
            for _ in self.states()
        ]
        time, qpos, qvel, asked = (np.array(column) for column in zip(*rows, strict=True))
        model = self.robot.model
        joints = [model.joint(name) for name in self.robot.info.joints]
        places, dofs = ([int(where[0]) for where in which] for which in (
            [joint.qposadr for joint in joints], [joint.dofadr for joint in joints]
        ))  # fmt: skip
        data, tool = mujoco.MjData(model), np.empty((len(qpos), 3))
        for row, found in zip(qpos, tool, strict=True):
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            found[:] = data.site(self._site).xpos
        return TaskRun(time - time[0], tool, qpos[:, places], qvel[:, dofs], asked, qpos)

    def _move(self, time: float) -> None:
        for name, where in self._targets.items():
            self.robot.targets.move(name, where(time))


class TaskExperiment(Experiment):
    """An experiment whose motions are under task-space control."""

    def movement(self, name: str | None = None) -> TaskMovement:
        """As of `Experiment`."""
        found = super().movement(name)
        assert isinstance(found, TaskMovement)
        return found


def robot_of(name: str, period: float, model: Mapping[str, Any], **settings: Any) -> RobotDescription:
    """Return a robot of ours with another period, which is also its physics step.

    Args:
        name: of the robot.
        period: s.
        model: settings of its model in place of its own.
        settings: of the robot, likewise; mappings are merged.
    """
    found = robot_settings(name)
    for key, value in {"model": {**model, "timestep": period}, **settings, "period": period}.items():
        found[key] = {**(found.get(key) or {}), **value} if isinstance(value, Mapping) else value
    return describe(found)


def rms(error: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(error))))


def reached(time: Array, error: Array, within: float) -> float:
    """Return from when on an error stays within a bound, s; NaN if it does not in the end."""
    late = np.flatnonzero(error > within)
    if not len(late):
        return float(time[0])
    return float(time[late[-1] + 1]) if late[-1] + 1 < len(time) else float("nan")


def peak_to_peak(run: TaskRun, last: float) -> float:
    """Return the largest way of the tool along an axis in the last seconds, m."""
    return float(np.ptp(run.after(run.time[-1] - last).tool, axis=0).max())


def deviations(what: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return standard deviations, ascending from 0 on.

    Raises:
        ShapeError: they are no list of numbers, or none.
        OutOfBoundsError: they do not ascend from 0 on.
    """
    found = number_array(what, values)
    if found.ndim != 1 or not len(found):
        raise ShapeError(f"{what}: {values!r} is no list of numbers.")
    if not (np.isfinite(found).all() and found[0] >= 0.0 and (np.diff(found) > 0.0).all()):
        raise OutOfBoundsError(f"{what} is {found.tolist()}; finite numbers that ascend from 0 on are needed.")
    return tuple(found.tolist())


def shares_of_limits(movement: TaskMovement, run: TaskRun) -> dict[str, Array]:
    """Return the largest speed, torque and position of all joints by their limits at every instant, (…,).

    Positions by half their ranges, from the middle; joints without a limit are left out.
    """
    model, info = movement.robot.model, movement.robot.info
    driven = [k for k, channel in enumerate(info.command) if channel.quantity == "torque"]
    which = [info.joints.index(info.command[k].owner) for k in driven]
    ranges = np.array([model.joint(info.joints[k]).range for k in which])
    middle, half = ranges.mean(axis=1), np.ptp(ranges, axis=1) / 2
    half[half == 0.0] = np.inf
    asked = np.nan_to_num(run.command[:, driven])
    return {
        "speed": (np.abs(run.speeds[:, which]) / model.numeric("speed_limits").data).max(axis=1),
        "torque": (np.abs(asked) / info.high[driven]).max(axis=1),
        "position": (np.abs(run.joints[:, which] - middle) / half).max(axis=1),
    }


def draw_noise(a: Mapping[str, Array], prototype: Mapping[str, Array], report: Report) -> None:
    """Add a figure of errors against noise.

    Args:
        a: of an outcome: `noise`, `noise_plain` and `noise_sensed`, see `Findings.noise`.
        prototype: another program's errors at the first deviations above 0, by name, m; may be empty.
        report: to which it is added.
    """
    above = a["noise"] > 0.0
    with figure(1, 1, width=6.5, height=3.8) as (drawing, axes):
        axis = axes[0, 0]
        for k, (key, label) in enumerate({"plain": "joints alone", "sensed": "end effector sensed"}.items()):
            axis.loglog(a["noise"][above], 1e3 * a[f"noise_{key}"][above], "o-", color=COLOURS[k], label=label)
        for k, (label, error) in enumerate(prototype.items()):
            axis.loglog(
                a["noise"][above][: len(error)], 1e3 * error, "x" if k else "+", color="black", label=label
            )
        axis.set(xlabel="noise of positions (rad) and speeds (rad/s)", ylabel="RMS error (mm)")
        axis.legend(fontsize=8)
        report.figure(
            drawing,
            "White noise on every joint's position and speed, new every 2 ms: RMS error of the point that is "
            "controlled, without and with a noise-free sensor of its position.",
        )


def draw_strips(description: RobotDescription, rows: Sequence[Array], caption: str, report: Report) -> None:
    """Add frames of recorded motions, one above the other."""
    try:
        model = compile_model(description.model.spec)
        pictures = np.concatenate([strip(model, row) for row in rows])
    except RenderingError as error:
        report.text(f"No pictures: {error}")
    else:
        report.picture(pictures, caption)
