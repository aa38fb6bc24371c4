"""A stack of tasks on a robot: from its state to the torques that do them, level by level."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array
from pliant.controllers.task_space.contacts import Constraint, Prescribed
from pliant.controllers.task_space.forces import ContactForceTask, ForceTask
from pliant.controllers.task_space.limits import JointLimits
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.controllers.task_space.problem import Problem, Solution, Solver
from pliant.controllers.task_space.recursion import Recursion
from pliant.controllers.task_space.rows import Packed, fill_rows, rows_record
from pliant.controllers.task_space.tasks import PostureTask, Task
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, unknown_name

_BLIND: Final = 0.06
"""By how much a joint moves a task that it hardly moves, m or rad for 1 rad: as `singular` of `Recursion`."""


class TaskStack:
    """Tasks, constraints and limits of one robot, solved instant by instant.

        stack.mechanics.update(q, u)
        torque = stack.solve(period).torque

    Args:
        mechanics: of the robot.
        tasks: by name.
        constraints: what holds the robot, by name.
        forces: that the robot exerts on its surroundings, by name.
        actuated: joints that are commanded a torque; None: all that are read.
        torque: smallest and largest of each of them, (drives, 2), N·m or N; None: none.
        limits: of the joints' motion; None: none.
        solver: makes the solver of a problem, such as `Recursion` or `WeightedQP`.

    Raises:
        UnknownNameError: a joint or frame that the model does not have, or no such constraint.
        ConfigurationError: no tasks, or an object used twice; a force of a constraint that does not hold its axes.
        ShapeError, OutOfBoundsError: numbers that cannot be.
    """

    def __init__(
        self,
        mechanics: Mechanics,
        tasks: Mapping[str, Task],
        constraints: Mapping[str, Constraint | Prescribed] | None = None,
        *,
        forces: Mapping[str, ForceTask] | None = None,
        actuated: Sequence[str] | None = None,
        torque: ArrayLike | None = None,
        limits: JointLimits | None = None,
        solver: Callable[[Problem], Solver] = Recursion,
    ) -> None:
        if not tasks:
            raise ConfigurationError("a stack of tasks needs a task.")
        self.mechanics, self.limits = mechanics, limits
        self.tasks = dict(sorted(tasks.items(), key=lambda item: item[1].level))
        """By name, in the order of their levels."""
        self.constraints = dict(constraints or {})
        self.forces = dict(forces or {})
        everything = [*self.tasks.values(), *self.constraints.values(), *self.forces.values()]
        if len({id(task) for task in everything}) < len(everything):
            raise ConfigurationError("a stack of tasks has the same object twice.")
        self.actuated = mechanics.joints if actuated is None else tuple(actuated)
        for name in self.actuated:
            if name not in mechanics.joints:
                raise unknown_name("joint", name, mechanics.joints, "the controller's model")
        dofs = mechanics.dofs[[mechanics.joints.index(name) for name in self.actuated]]
        order = np.argsort(dofs)
        self._places = np.argsort(order)
        self._packed = Packed(mechanics, tuple(self.tasks.values()))
        self._held = Packed(mechanics, tuple(self.constraints.values()))
        rows = self._packed.first
        levels = [task.level for task in self.tasks.values()]
        starts = [rows[k] for k in range(len(levels)) if k == 0 or levels[k] != levels[k - 1]]
        cones = [constraint.cone_rows for constraint in self.constraints.values()]
        self.problem = Problem(dofs[order], mechanics.nv, self._held.first[-1], sum(cones), (*starts, rows[-1]))
        self.problem.inertia = mechanics.inertia
        if not self.forces:
            self.problem.bias = mechanics.bias
        for force in self.forces.values():
            force.bind(mechanics)
        self.problem.braking = mechanics.braking
        last = list(self.tasks.values())[-1]
        if isinstance(last, PostureTask) and rows[-1] - starts[-1] == last.rows:
            self.problem.rest = set(dofs.tolist()) <= set(last.dofs.tolist())
        for task, begin in zip(self.tasks.values(), rows, strict=False):
            self.problem.weight[begin : begin + task.rows] = math.sqrt(task.weight)
        if torque is not None:
            low, high = _bounds(torque, len(dofs))
            self.problem.torque_low[:], self.problem.torque_high[:] = low[order], high[order]
        self._wanted_forces = [
            self._wanted_force(task, begin)
            for task, begin in zip(self.tasks.values(), rows, strict=False)
            if isinstance(task, ContactForceTask)
        ]
        self._cones = [sum(cones[:k]) for k in range(len(cones) + 1)]
        p = self.problem
        self._rows = rows_record(p.jacobian, p.wanted, p.scale)
        self._held_scale = np.ones(self._held.first[-1])  # compiled code writes to it by its address
        self._held_rows = rows_record(p.constraint, p.constraint_wanted, self._held_scale)
        for k in range(len(self.constraints)):
            self._write_cone(k)
        self._made_of = self.actuated, None if torque is None else np.array(torque), solver
        self._fill, self._solver = compiled(fill_rows), solver(self.problem)
        self.solution = Solution(self.problem)
        """Of the last instant."""
        self._borne = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew of copies of its parts: compiled code finds their arrays by their places."""
        actuated, torque, solver = self._made_of
        parts = self.mechanics, self.tasks, self.constraints, self.forces, actuated, torque, self.limits, solver
        return _made, (type(self), *parts)

    def solve(self, period: float = 0.0) -> Solution:
        """Return the solution at the mechanics' last instant; it lives until the next one.

        Args:
            period: time since the last one, s, in which contacts and forces come and go.

        The torques are in the order of `problem.actuated`; `torque` gives them in the order of `actuated`.
        """
        problem, mechanics = self.problem, self.mechanics
        for k, constraint in enumerate(self.constraints.values()):
            first, end = self._held.first[k], self._held.first[k + 1]
            if constraint.advance(period, self.solution.force[first:end]):
                self._write_cone(k)
        if self.forces:
            problem.bias[:] = mechanics.bias
            for exerted in self.forces.values():
                exerted.advance(period)
                exerted.add(mechanics, problem.bias)
        fill = self._fill
        fill(mechanics.record, self._packed.table, self._rows)
        if self.constraints:
            fill(mechanics.record, self._held.table, self._held_rows)
            for k, constraint in enumerate(self.constraints.values()):
                if not constraint.holds:
                    first, end = self._held.first[k], self._held.first[k + 1]
                    problem.constraint[first:end] = 0.0
                    problem.constraint_wanted[first:end] = 0.0
        for wanted, holder, at, forces in self._wanted_forces:
            on = wanted.advance(period, self.solution.force[forces] if self._borne and holder.holds else None)
            problem.force_map[at, forces] = float(on)
        for k, task in self._packed.own:
            first, end = self._packed.first[k], self._packed.first[k + 1]
            task.write(mechanics, problem.jacobian[first:end], problem.wanted[first:end], problem.scale[first:end])
        if self.limits is not None:
            self.limits.apply(problem.acceleration_low, problem.acceleration_high)
        self.solution = self._solver.solve(problem)
        self._borne = True
        return self.solution

    @property
    def torque(self) -> Array:
        """Of the last solution, (drives,), in the order of `actuated`, N·m or N."""
        return self.solution.torque[self._places]

    def force(self, name: str) -> Array:
        """Return the force, or wrench, of a constraint in the last solution, in its axes, N and N·m.

        Raises:
            UnknownNameError: there is no such constraint.
        """
        if name not in self.constraints:
            raise unknown_name("constraint", name, self.constraints, "the stack")
        k = list(self.constraints).index(name)
        return self.solution.force[self._held.first[k] : self._held.first[k + 1]].copy()

    def residual(self, name: str) -> Array:
        """Return what the last solution leaves undone of a task, (rows,), m/s² and rad/s².

        Raises:
            UnknownNameError: there is no such task.
        """
        if name not in self.tasks:
            raise unknown_name("task", name, self.tasks, "the stack")
        k = list(self.tasks).index(name)
        return self.solution.residual[self._packed.first[k] : self._packed.first[k + 1]].copy()

    def binding(self) -> list[str]:
        """Return what is at its limit in the last solution, or beyond it, in words."""
        solution, mechanics = self.solution, self.mechanics
        found: list[str] = []
        names = {int(dof): name for dof, name in zip(mechanics.dofs, mechanics.joints, strict=True)}
        found += [
            f"torque of {names[int(dof)]}" for dof in self.problem.actuated[np.flatnonzero(solution.torque_bound)]
        ]
        for dof in np.flatnonzero(solution.acceleration_bound):
            if int(dof) in names:
                found.append(self._what_of(names[int(dof)], int(solution.acceleration_bound[dof])))
        for k, (name, constraint) in enumerate(self.constraints.items()):
            sides = solution.cone_bound[self._cones[k] : self._cones[k + 1]]
            if constraint.holds and np.count_nonzero(sides):
                found.append(f"force of {name}")
        return found

    def blind(self, name: str) -> bool:
        """Return whether the joints hardly move a task along its error, |Gᵀ·e| < 0.06 |e|, at the last instant.

        Raises:
            UnknownNameError: there is no such task.
        """
        if name not in self.tasks:
            raise unknown_name("task", name, self.tasks, "the stack")
        k, task = list(self.tasks).index(name), self.tasks[name]
        rows = self.problem.jacobian[self._packed.first[k] : self._packed.first[k + 1]]
        error = task.error[list(getattr(task, "axes", range(len(task.error))))]
        return bool(np.linalg.norm(rows.T @ error) < _BLIND * np.linalg.norm(error))

    def hold(self) -> None:
        """Take where every task is at the mechanics' last instant as its target, at rest; likewise constraints.

        Forces begin at 0.
        """
        for task in (*self.tasks.values(), *self.constraints.values()):
            task.hold(self.mechanics)
        for force in self.forces.values():
            force.reset()
        self._borne = False

    def _wanted_force(
        self, task: ContactForceTask, begin: int
    ) -> tuple[ContactForceTask, Constraint | Prescribed, NDArray[np.int64], NDArray[np.int64]]:
        """A task, its constraint, and the places of its rows and their forces; the map between them is written."""
        if task.constraint not in self.constraints:
            raise unknown_name("constraint", task.constraint, self.constraints, "a contact's force")
        holder = self.constraints[task.constraint]
        first = self._held.first[list(self.constraints).index(task.constraint)]
        at, forces = begin + np.arange(task.rows), first + np.array(task.rows_of(holder), dtype=np.int64)
        self.problem.force_map[at, forces] = 1.0
        return task, holder, at, forces

    def _what_of(self, joint: str, side: int) -> str:
        limits, i = self.limits, self.mechanics.joints.index(joint)
        if limits is None:
            return f"acceleration of {joint}"
        speed = (limits.high[i] if side > 0 else limits.low[i]) - self.mechanics.q[i]
        if abs(speed) / limits.window < limits.speed[i]:
            return f"{'upper' if side > 0 else 'lower'} end of {joint}"
        return f"speed of {joint}"

    def _write_cone(self, k: int) -> None:
        constraint = list(self.constraints.values())[k]
        a, b = self._cones[k], self._cones[k + 1]
        first, end = self._held.first[k], self._held.first[k + 1]
        rows, low, high = constraint.cone()
        self.problem.cone[a:b, first:end] = rows
        self.problem.cone_low[a:b], self.problem.cone_high[a:b] = low, high


def _made(
    kind: type[TaskStack],
    mechanics: Mechanics,
    tasks: Mapping[str, Task],
    constraints: Mapping[str, Constraint | Prescribed],
    forces: Mapping[str, ForceTask],
    actuated: Sequence[str],
    torque: Array | None,
    limits: JointLimits | None,
    solver: Callable[[Problem], Solver],
) -> TaskStack:
    return kind(
        mechanics,
        tasks,
        constraints,
        forces=forces,
        actuated=actuated,
        torque=torque,
        limits=limits,
        solver=solver,
    )


def _bounds(torque: ArrayLike, count: int) -> tuple[Array, Array]:
    found = np.array(torque, dtype=np.float64)
    if found.shape != (count, 2):
        raise ShapeError(f"torque of a stack has shape {found.shape}; ({count}, 2) is needed.")
    if not (found[:, 0] < found[:, 1]).all():
        raise OutOfBoundsError("torque of a stack: a smallest one is not below the largest.")
    return found[:, 0], found[:, 1]
