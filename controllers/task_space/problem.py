"""What a solver of task-space control is given, and what it returns: the numbers of one instant.

    M·u̇ + h = Sᵀ·τ + Jᵀ·λ                  the robot
    J·u̇ = a                                level 1: welds, loops and contacts, held by the forces λ
    G·u̇ + F·λ ≈ b                          the tasks, level by level, within a level by weights
    τ, u̇ and C·λ within bounds             drives, speeds and positions, friction cones

u are the velocities of the model's nv degrees of freedom, S selects those that a drive moves.
"""

from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Problem:
    """One instant. Its arrays stay the same objects; who owns the problem writes the next instant into them.

    Args:
        actuated: degrees of freedom that a drive moves, (drives,), ascending.
        nv: number of degrees of freedom.
        constraints: number of rows of J.
        cone_rows: number of rows of C.
        levels: where each level of tasks begins among their rows, and their number: (0, …, rows).
    """

    def __init__(
        self, actuated: NDArray[np.int64], nv: int, constraints: int, cone_rows: int, levels: tuple[int, ...]
    ) -> None:
        drives, rows = len(actuated), levels[-1]
        self.actuated, self.levels = actuated, levels
        self.inertia = np.eye(nv)
        """M, (nv, nv)."""
        self.bias = np.zeros(nv)
        """h, (nv,), N·m or N: Coriolis, gravity, friction, less what the drives add by themselves, and what it
        takes to exert the forces that are wanted."""
        self.constraint = np.zeros((constraints, nv))
        """J, (constraints, nv)."""
        self.constraint_wanted = np.zeros(constraints)
        """a, (constraints,): −J̇·u and what keeps the constraint from drifting."""
        self.jacobian = np.zeros((rows, nv))
        """G, (rows, nv)."""
        self.force_map = np.zeros((rows, constraints))
        """F, (rows, constraints): rows of tasks that want a force of a constraint; 0 of all others."""
        self.wanted = np.zeros(rows)
        """b, (rows,): wanted acceleration less Ġ·u."""
        self.weight = np.ones(rows)
        """By which a row counts within its level, (rows,), above 0: its error is multiplied by it."""
        self.rest = False
        """Whether the last level is the posture of all driven joints: what the levels above leave."""
        self.scale = np.ones(rows)
        """What 1 of a row counts as, (rows,), m: says what is nearly singular."""
        self.torque_low, self.torque_high = np.full(drives, -np.inf), np.full(drives, np.inf)
        """Of τ, (drives,), N·m or N."""
        self.acceleration_low, self.acceleration_high = np.full(nv, -np.inf), np.full(nv, np.inf)
        """Of u̇, (nv,), by which limits of speed and position are kept."""
        self.cone = np.zeros((cone_rows, constraints))
        """C, (cone_rows, constraints)."""
        self.cone_low, self.cone_high = np.full(cone_rows, -np.inf), np.zeros(cone_rows)
        """Of C·λ, (cone_rows,)."""
        self.braking = np.zeros(nv)
        """u̇, (nv,), by which the robot comes to rest: wanted where nothing else can be had."""


class Status(IntEnum):
    """How far a problem could be solved."""

    SOLVED = 0
    LIMITS_RELAXED = 1
    """The limits of u̇ cannot all be kept: they are passed by as little as possible. The others are kept."""
    CONSTRAINTS_RELAXED = 2
    """Nor can the constraints: a contact slips or lifts, by as little as possible. Torques and cones are kept."""
    BRAKING = 3
    """No solution: the torques are those nearest to what `Problem.braking` needs."""


class Solution:
    """What a solver found. Its arrays are overwritten by the next `solve`.

    Args:
        problem: of whose sizes it is.
    """

    def __init__(self, problem: Problem) -> None:
        drives, nv = len(problem.actuated), len(problem.bias)
        self.status = Status.SOLVED
        self.acceleration = np.zeros(nv)
        """u̇, (nv,)."""
        self.torque = np.zeros(drives)
        """τ, (drives,), N·m or N."""
        self.force = np.zeros(len(problem.constraint_wanted))
        """λ, (constraints,)."""
        self.residual = np.zeros(len(problem.wanted))
        """G·u̇ + F·λ − b, (rows,): what was not done of the tasks."""
        self.torque_bound = np.zeros(drives, dtype=np.int8)
        """−1 or 1 where τ is at its lower or upper bound, or beyond, (drives,)."""
        self.acceleration_bound = np.zeros(nv, dtype=np.int8)
        """Likewise of u̇, (nv,)."""
        self.cone_bound = np.zeros(len(problem.cone_high), dtype=np.int8)
        """Likewise of C·λ, (cone_rows,)."""


class Solver(Protocol):
    """What finds torques for a problem. One instance serves one problem, whose instants may be alike."""

    def solve(self, problem: Problem) -> Solution:
        """Return the solution of this instant; it lives until the next call."""
