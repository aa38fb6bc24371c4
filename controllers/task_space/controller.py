"""A stack of tasks as a robot's controller: from what is sensed to the torques of its joints."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Adjustable, Controller, Ended, Event
from pliant.controllers.paths import Path
from pliant.controllers.poses import compose, pose
from pliant.controllers.task_space.balance import Balance
from pliant.controllers.task_space.contacts import Prescribed
from pliant.controllers.task_space.forces import MeasuredWrench
from pliant.controllers.task_space.problem import Status
from pliant.controllers.task_space.sensing import Sensing
from pliant.controllers.task_space.shortfall import Shortfall
from pliant.controllers.task_space.stack import TaskStack
from pliant.controllers.task_space.tasks import CentreOfMassTask, FrameTask, Task
from pliant.controllers.trajectories import Trajectory
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import RobotInfo, State

BASE_MOTIONS: Final = ("pose", "velocity", "acceleration")
_REMEMBERED: Final = 1000
"""Events that are kept."""
_STEP: Final = 1e-4
"""Half the time over which accelerations are taken from velocities, s."""
_LEAD: Final = 0.05
"""How far the direction of a joint's friction is looked ahead for, s …"""
_CREEP: Final = 0.05
"""… and the speed, rad/s or m/s, at which most of it is there."""
_ALMOST: Final = 1e-2
"""Difference from 1 of a quaternion's length that is rounding."""
_STATUS: Final = {
    Status.LIMITS_RELAXED: "limits of speed or position cannot be kept",
    Status.CONSTRAINTS_RELAXED: "contacts cannot be kept",
    Status.BRAKING: "the tasks have no solution: braking",
}


class TaskSpaceController(Controller):
    """Commands the torques that do a stack of tasks.

    It knows the robot by a model of its own; of the machine it sees what is sensed, as late and as noisy as that
    is. A task's target is where it was when the controller began, unless it is told; `stack.tasks[…].target` may
    be written at any time.

    Args:
        stack: of the robot, with solver and limits.
        targets: by task: of a frame three numbers (its orientation stays) or seven, of joints each, of the centre
            of mass three.
        paths: by task, of a frame's position or the centre of mass: over the controller's time.
        follow: by task of a frame: the signals that its target is read from, such as `tip_target`.
        sense: by task of a frame: end effector whose sensed pose goes before the one that the joints tell.
        base_motion: what is known of joints that something else moves (`Prescribed`): their `pose`, their
            `velocity` too, or also, by `others`, their `acceleration`.
        others: positions of the joints that are commanded those; None: they rest.
        balance: keeps the centre of mass over the contacts, and notices a fall; None: nothing does.
        measure: by force of the stack: the sensor that tells it.
        brake_after: time without a solution that keeps the constraints after which it gives up, s.
        friction: part of the dry friction of the model's joints that is made up for, in the direction in which
            they are about to move, 0 … 1. Viscous friction is part of the mechanics.

    Raises:
        UnknownNameError: no such task, force or base motion.
        ConfigurationError: a task that has no such target.
        OutOfBoundsError, ShapeError: numbers that cannot be.
    """

    at_once = True

    def __init__(
        self,
        stack: TaskStack,
        *,
        targets: Mapping[str, ArrayLike] | None = None,
        paths: Mapping[str, Path] | None = None,
        follow: Mapping[str, str] | None = None,
        sense: Mapping[str, str] | None = None,
        base_motion: str = "velocity",
        others: Trajectory | None = None,
        balance: Balance | None = None,
        measure: Mapping[str, MeasuredWrench] | None = None,
        brake_after: float = 0.2,
        friction: float = 0.8,
    ) -> None:
        self.stack = stack
        if base_motion not in BASE_MOTIONS:
            raise unknown_name("base motion", base_motion, BASE_MOTIONS, "task-space control")
        self.base_motion, self.others = base_motion, others
        self.balance = balance
        self.events: deque[Event] = deque(maxlen=_REMEMBERED)
        """What had to give way, and tasks that rest away from their targets."""
        self.sensing = True
        """Whether sensed poses are made use of."""
        self.displaced: dict[str, Array] = {}
        """By task of a frame, (6,), m and a rotation vector, rad, along the axes of its target: where it shall be,
        from where it is, in place of anything else. May be written at any time."""
        self._paths, self._follow, self._sense = dict(paths or {}), dict(follow or {}), dict(sense or {})
        self._check_tasks("path", self._paths, (FrameTask, CentreOfMassTask))
        self._check_tasks("followed signal", self._follow, (FrameTask,))
        self._check_tasks("sensed pose", self._sense, (FrameTask,))
        self._check_tasks("target", targets or {}, (Task,))
        for name, path in self._paths.items():
            _check_path(name, path)
        for what, chosen in (("followed signals", self._follow), ("sensed end effector", self._sense)):
            for name, group in chosen.items():
                if not isinstance(group, str) or not group:
                    raise ConfigurationError(f"{what} of task {name!r}: {group!r}; a name such as tip is needed.")
        for name in self.stack.tasks:
            kinds = {"target": targets or {}, "path": self._paths, "follow": self._follow}
            both = [kind for kind, given in kinds.items() if name in given]
            if len(both) > 1:
                raise ConfigurationError(f"task {name!r} has {' and '.join(both)}; one of them is needed.")
        self._targets = {name: self._target(name, target) for name, target in (targets or {}).items()}
        self._measure = dict(measure or {})
        for name in self._measure:
            if name not in stack.forces:
                raise unknown_name("force", name, stack.forces, "a measured wrench of task-space control")
        self._brake_after = check_bounds("task-space control: brake_after", brake_after, 0.0, 10.0, "s")
        share = check_bounds("task-space control: friction", friction, 0.0, 1.0)
        dofs = stack.mechanics.dofs[[stack.mechanics.joints.index(name) for name in stack.actuated]]
        self._driven, self._friction = dofs, share * stack.mechanics.model.dof_frictionloss[dofs]
        self._prescribed = [c for c in stack.constraints.values() if isinstance(c, Prescribed)]
        moved = [name for constraint in self._prescribed for name in constraint.joints]
        self._still = [stack.mechanics.joints.index(name) for name in moved] if base_motion == "pose" else []
        self._shortfall = Shortfall(stack)
        self._sensed: Sensing | None = None
        self._ended: Ended | None = None
        self._last: float | None = None

    @property
    def ended(self) -> Ended | None:
        """See `Controller`."""
        return self._ended

    @property
    def adjustables(self) -> Mapping[str, Adjustable]:
        """Whether sensed poses are made use of, where any are."""
        return {"end_effector_sensing": Adjustable(0.0, 1.0, self.sensing)} if self._sense else {}

    def _adjust(self, name: str, value: float | bool) -> None:
        self.sensing = bool(value)

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError`, naming all of them, if the robot lacks joints, columns or signals."""
        poses = (*self._follow.values(), *self._sense.values())
        wrenches = [measured.sensor for measured in self._measure.values()]
        self._sensed = Sensing(self.stack.mechanics, info, self.stack.actuated, poses, wrenches)
        torques = set(self._sensed.columns.tolist())
        others = {
            name: [k for k, c in enumerate(info.command) if c.quantity == name and k not in torques]
            for name in ("position", "velocity")
        }
        self._positions, self._velocities = others["position"], others["velocity"]
        if self.others is not None and self.others.joints != len(self._positions):
            raise ConfigurationError(
                f"task-space control: {self.others.joints} joint(s) are to follow a trajectory; robot "
                f"{info.name!r} has {len(self._positions)} that are commanded positions."
            )

    def reset(self, state: State) -> None:
        """See `Controller`."""
        assert self._sensed is not None
        for task in self.stack.tasks.values():
            if isinstance(task, FrameTask):
                task.sensed[:] = math.nan
        self._sensed.read(state, self._still)
        self.stack.hold()
        for name, target in self._targets.items():
            self.stack.tasks[name].target[: len(target)] = target
        self._ended, self._last, self._braked = None, None, 0.0
        for measured in self._measure.values():
            measured.conditioning.reset()
        self._faults, self._clipped = dict.fromkeys(self._measure, ""), False
        self._shortfall.reset()
        self._status = Status.SOLVED
        self.events.clear()

    def update(self, state: State, t: float) -> Array:
        """See `Controller`. Raises `OutOfBoundsError` if a joint or the base is not read."""
        assert self._sensed is not None
        sensed, stack, info = self._sensed, self.stack, self._sensed.info
        sensed.read(state, self._still)
        self._aim(state, t)
        period = info.period if self._last is None else t - self._last
        self._last = t
        status = self._solve(t, period)
        self._note(status, t, period)
        command = info.rest
        command[sensed.columns] = stack.torque + self._made_up()
        if self.others is not None:
            middle = t + 0.5 * info.period
            command[self._positions] = self.others.position(middle)
            if self._velocities:
                command[self._velocities] = self.others.velocity(middle)
        return command

    def errors(self) -> dict[str, float]:
        """Return how far each task is from its target: the length of its error, m or rad, of both the larger.

        Of a contact's force it is N or N·m.
        """
        return self._shortfall.errors()

    def _made_up(self) -> Array:
        """Torques against dry friction, (drives,)."""
        stack = self.stack
        coming = stack.mechanics.velocity[self._driven] + _LEAD * stack.solution.acceleration[self._driven]
        found: Array = self._friction * np.tanh(coming / _CREEP)
        return found

    def _aim(self, state: State, t: float) -> None:
        """Write targets and references of this instant."""
        assert self._sensed is not None
        tasks = self.stack.tasks
        for name, path in self._paths.items():
            task = tasks[name]
            task.target[:3], task.velocity[:3] = path.position(t), path.velocity(t)
            before, after = path.velocity(max(t - _STEP, 0.0)), path.velocity(t + _STEP)
            task.acceleration[:3] = (after - before) / (t + _STEP - max(t - _STEP, 0.0))
        for name, group in self._follow.items():
            target = self._sensed.pose(state, group)
            if math.isfinite(target.sum()):
                tasks[name].target[:] = target
        for name, way in self.displaced.items():
            task = tasks[name]
            here = task.measure(self.stack.mechanics)
            task.target[:3] = here[:3] + way[:3]
            task.target[3:] = compose(pose((0.0, 0.0, 0.0), way[3:]), here)[3:]
        for name, measured in self._measure.items():
            raw = self._sensed.wrench(state, measured.sensor)
            fault = measured.take(state.time, raw, self.stack.forces[name], self.stack.mechanics)
            if fault.partition(":")[0] != self._faults[name]:
                self._faults[name] = fault.partition(":")[0]
                text = f"is not fed back: {measured.sensor} {fault}" if fault else "is fed back again"
                self.events.append(Event(t, f"force {name} {text}"))
        for name, group in self._sense.items():
            task = tasks[name]
            assert isinstance(task, FrameTask)
            task.sensed[:] = self._sensed.pose(state, group) if self.sensing else math.nan
        if self.base_motion == "acceleration" and self.others is not None:
            change = self.others.velocity(t + _STEP) - self.others.velocity(max(t - _STEP, 0.0))
            for constraint in self._prescribed:
                constraint.acceleration[:] = change / (t + _STEP - max(t - _STEP, 0.0))

    def _solve(self, t: float, period: float) -> Status:
        """Solve this instant, the centre of mass over what the robot stands on."""
        balance = self.balance
        if balance is None:
            return self.stack.solve(period).status
        task = balance.task
        asked = task.target.copy(), task.velocity.copy(), task.acceleration.copy()
        aim = balance.aim(asked[0][:2])
        task.target[:2] = aim.target
        if aim.moved:
            task.velocity[:2] = task.acceleration[:2] = 0.0
        if bool(aim.moved) is not self._clipped:
            self._clipped = bool(aim.moved)
            text = (
                f"stays {aim.moved:.3g} from its target, over the support" if aim.moved else "may go to its target"
            )
            self.events.append(Event(t, f"{balance.name} {text}"))
        status = self.stack.solve(period).status
        task.target[:], task.velocity[:], task.acceleration[:] = asked
        if self._ended is None and (fall := balance.fall()):
            self._ended = Ended(fall, fault=True)
        return status

    def _note(self, status: Status, t: float, period: float) -> None:
        """Keep what a user should know of."""
        if status is not self._status:
            self._status = status
            why = _STATUS.get(status)
            self.events.append(Event(t, "everything can be kept again" if why is None else why))
        self._braked = self._braked + period if status >= Status.CONSTRAINTS_RELAXED else 0.0
        if self._braked > self._brake_after and self._ended is None:
            self._ended = Ended(f"{_STATUS[status]} for {self._brake_after:g} s", fault=True)
        self.events.extend(self._shortfall.look(t, period))

    def _target(self, name: str, target: ArrayLike) -> Array:
        task = self.stack.tasks[name]
        given = finite_array(f"target of task {name!r}", target, (None,))
        sizes = (3, 7) if isinstance(task, FrameTask) else (len(task.target),)
        if len(given) not in sizes:
            raise ConfigurationError(
                f"target of task {name!r} has {len(given)} numbers; {' or '.join(map(str, sizes))} are needed."
            )
        if isinstance(task, FrameTask) and len(given) == 7:
            given = np.array(given, dtype=np.float64)
            length = float(np.linalg.norm(given[3:]))
            if abs(length - 1.0) > _ALMOST:
                raise OutOfBoundsError(
                    f"target of task {name!r}: its quaternion, w first, has the length {length:g}; 1 is needed."
                )
            given[3:] /= length
        return given

    def _check_tasks(self, what: str, given: Mapping[str, object], kinds: tuple[type[Task], ...]) -> None:
        for name in given:
            if name not in self.stack.tasks:
                raise unknown_name("task", name, self.stack.tasks, f"a {what} of task-space control")
            if not isinstance(self.stack.tasks[name], kinds):
                raise ConfigurationError(
                    f"task {name!r} is a {type(self.stack.tasks[name]).__name__}, which has no {what}."
                )


def _check_path(name: str, path: object) -> None:
    """Raise unless something is a motion of three coordinates."""
    if not all(callable(getattr(path, what, None)) for what in ("position", "velocity")):
        raise ConfigurationError(
            f"path of task {name!r} is {path!r}; a pliant.controllers.Line, Circle or ViaPoints is needed."
        )
    for what in ("position", "velocity"):
        shape = np.shape(getattr(path, what)(0.0))
        if shape != (3,):
            raise ShapeError(f"path of task {name!r} has {shape[-1] if shape else 1} coordinates; 3 are needed.")
