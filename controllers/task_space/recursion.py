"""Task-space control in closed form, level by level: exact, without limits."""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.compiled import compiled
from pliant.actuators.mujoco_calls import long, numbers, record, set_byte, set_long, table
from pliant.controllers.checks import Array, positive
from pliant.controllers.task_space.problem import Problem, Solution, Status
from pliant.errors import ConfigurationError

_DEFICIENT: Final = 1e-13
"""Eigenvalue of A, of the largest, that counts as zero."""
_FREE: Final = 1e-10
"""The same of what constraints hold."""


class Recursion:
    """The accelerations of least kinetic energy that do every task as far as those before it let it.

        G* = G·N,   A = G*·M⁻¹·G*ᵀ,   Ḡ = M⁻¹·G*ᵀ·A⁺,   u̇ ← u̇ + Ḡ·S·(b − G·u̇),   N ← N·(1 − Ḡ·S·G*)

    Before all tasks come the constraints, and before them what no drive and no constraint can change: the momentum
    of a robot in flight. Torques and forces follow from M·u̇ + h = Sᵀ·τ + Jᵀ·λ, with the least λ that will do.

    S is 1, but in directions in which a level can hardly move, where a singular value σ of G* (rows in the measure
    of `Problem.scale`) is below `singular`: there it is (σ/singular)², so that nothing runs away or jumps, and the
    levels that follow have the rest of that direction.

    The posture of all driven joints, alone as the last level, is done in the measure of kinetic energy: the part
    of its accelerations that disturbs nothing.

    Nothing is limited: torques, speeds and positions beyond their bounds, and contacts that pull, are told in the
    `*_bound` of the solution.

    Source: Khatib 1987; for the hierarchy Sentis and Khatib 2005, "Synthesis of whole-body behaviors through
    hierarchical control of behavioral primitives". A is with G* on both sides: the form with G on both is wrong.

    Args:
        problem: to be solved.
        singular: as above, m; 0: never.
        compensate: whether what no task moves is relieved of gravity and Coriolis forces; if not, it falls.

    Raises:
        ConfigurationError: a task wants the force of a constraint.
        OutOfBoundsError: `singular` is no finite number from 0 on.
    """

    def __init__(self, problem: Problem, *, singular: float = 0.06, compensate: bool = True) -> None:
        if problem.force_map.any():
            raise ConfigurationError(
                "Recursion finds no forces that are wanted of a contact: HierarchicalQP or WeightedQP is needed."
            )
        self.solution = Solution(problem)
        nv, drives = len(problem.bias), len(problem.actuated)
        if singular:
            positive("recursion: singular", singular, "m")
        levels = np.array(problem.levels, dtype=np.int64)
        others = np.setdiff1d(np.arange(nv), problem.actuated).astype(np.int64)
        widths = [*np.diff(levels), len(others), len(problem.constraint_wanted), 1]
        widest, most = int(max(widths)), len(others) + len(problem.constraint_wanted) + len(problem.wanted)
        p, s = problem, self.solution
        arrays: dict[str, NDArray[Any]] = {
            "levels": levels, "actuated": p.actuated, "others": others, "inertia": p.inertia, "bias": p.bias,
            "constraint": p.constraint, "constraint_wanted": p.constraint_wanted, "jacobian": p.jacobian,
            "force_map": p.force_map, "wanted": p.wanted, "weight": p.weight, "scale": p.scale,
            "torque_low": p.torque_low, "torque_high": p.torque_high, "acceleration_low": p.acceleration_low,
            "acceleration_high": p.acceleration_high, "cone": p.cone, "cone_low": p.cone_low,
            "cone_high": p.cone_high, "acceleration": s.acceleration, "torque": s.torque, "force": s.force,
            "residual": s.residual, "factor": np.zeros((nv, nv)), "reduced": np.zeros((most, nv)),
            "lifted": np.zeros((most, nv)), "over": np.zeros((widest, nv)), "a": np.zeros((widest, widest)),
            "inverse": np.zeros((widest, widest)), "scaled": np.zeros((widest, widest)),
            "small_factor": np.zeros((widest, widest)), "size": np.zeros(max(widest, nv)),
            "part": np.zeros(max(most, widest)), "ones": np.ones(widest),
            "torque_bound": s.torque_bound, "acceleration_bound": s.acceleration_bound,
            "cone_bound": s.cone_bound, "blocks": np.zeros(len(levels) + 3, dtype=np.int64),
        }  # fmt: skip
        self._kept = (problem, arrays)
        self._record = record(
            nv=nv, drives=drives, constraints=len(p.constraint_wanted), rows=len(p.wanted),
            level_count=len(levels) - 1, other_count=len(others), cone_rows=len(p.cone_high),
            compensate=int(compensate), rest=int(problem.rest), **arrays,
        )  # fmt: skip
        self._singular = float(singular)
        self._solve = compiled(_solve)

    def solve(self, problem: Problem) -> Solution:
        """See `Solver`. The problem must be the one that it was made for."""
        solution = self.solution
        if self._solve(self._record, self._singular):
            solution.status = Status.SOLVED
        else:
            self._brake(problem)
        return solution

    def _brake(self, problem: Problem) -> None:
        """Torques that brake, as far as they are within their bounds and contacts leave it to them."""
        solution, which = self.solution, problem.actuated
        needed = (problem.inertia @ problem.braking + problem.bias)[which]
        if not np.isfinite(needed).all():
            needed = np.zeros(len(which))
        solution.torque[:] = np.clip(needed, problem.torque_low, problem.torque_high)
        solution.acceleration[:] = problem.braking
        solution.force[:] = 0.0
        solution.status = Status.BRAKING


def _solve(row: Any, singular: float) -> bool:
    """Fill the solution; whether it is finite."""
    r = row[0]
    nv, n = r.nv, r.constraints
    factor = table(r.factor, nv, nv)
    if not _factorise(table(r.inertia, nv, nv), factor, nv):
        return False
    bias, found = numbers(r.bias, nv), numbers(r.acceleration, nv)
    for i in range(nv):
        found[i] = 0.0 if r.compensate != 0 else -bias[i]
    if r.compensate == 0:
        _solve_with(factor, found, nv)
    blocks = 0  # so many levels are done
    set_long(r.blocks, 0, 0)
    if r.other_count > 0:
        free, needed = np.empty((r.other_count, nv)), np.empty(r.other_count)
        flying = _flight(row, free, needed)
        if flying > 0:
            ones = numbers(r.ones, flying)
            blocks = _level(row, free, needed, ones, ones, 0, flying, 0.0, blocks)
    if n > 0:
        ones = numbers(r.ones, n)
        held, goal = table(r.constraint, n, nv), numbers(r.constraint_wanted, n)
        blocks = _level(row, held, goal, ones, ones, 0, n, 0.0, blocks)
    jacobian, wanted = table(r.jacobian, r.rows, nv), numbers(r.wanted, r.rows)
    weight, scale = numbers(r.weight, r.rows), numbers(r.scale, r.rows)
    for k in range(r.level_count):
        a, b = long(r.levels, k), long(r.levels, k + 1)
        if r.rest != 0 and k == r.level_count - 1:
            _rest(row, jacobian, wanted, a, b, blocks)
        elif b > a:
            blocks = _level(row, jacobian, wanted, weight, scale, a, b, singular, blocks)
    finite = _torques(row)
    if finite:
        _note_bounds(row)
    return finite


def _level(
    row: Any, jacobian: Array, wanted: Array, weight: Array, scale: Array, a: int, b: int, singular: float,
    blocks: int,
) -> int:  # fmt: skip
    """Let rows a to b do what the levels before them leave; returns how many levels are done then."""
    r = row[0]
    nv, rows, used = r.nv, b - a, long(r.blocks, blocks)
    factor, found = table(r.factor, nv, nv), numbers(r.acceleration, nv)
    reduced = table(r.reduced + 8 * nv * used, rows, nv)
    lifted = table(r.lifted + 8 * nv * used, rows, nv)
    over, square, inverse = table(r.over, rows, nv), table(r.a, rows, rows), table(r.inverse, rows, rows)
    for k in range(rows):
        for i in range(nv):
            reduced[k, i] = jacobian[a + k, i]
        _reduce(row, reduced[k], blocks)
        for i in range(nv):
            over[k, i] = reduced[k, i]
        _solve_with(factor, over[k], nv)
    for i in range(rows):
        for j in range(i + 1):
            square[i, j] = square[j, i] = _dot(reduced[i], over[j], nv)
    _pseudoinverse(row, square, weight[a:b], inverse, rows)
    if singular > 0.0:
        _slow_down(row, reduced, scale[a:b], singular, inverse, rows)
    missing = numbers(r.part, rows)
    for k in range(rows):
        missing[k] = wanted[a + k] - _dot(jacobian[a + k], found, nv)
        for i in range(nv):
            lifted[k, i] = 0.0
        for j in range(rows):
            for i in range(nv):
                lifted[k, i] += inverse[j, k] * over[j, i]
    for k in range(rows):
        for i in range(nv):
            found[i] += lifted[k, i] * missing[k]
    set_long(r.blocks, blocks + 1, used + rows)
    return blocks + 1


def _reduce(row: Any, vector: Array, blocks: int) -> None:
    """Make a row that row times N."""
    r = row[0]
    nv, total = r.nv, long(r.blocks, blocks)
    reduced, lifted, part = table(r.reduced, total, nv), table(r.lifted, total, nv), numbers(r.part, total)
    for k in range(blocks):
        first, end = long(r.blocks, k), long(r.blocks, k + 1)
        for i in range(first, end):
            part[i] = _dot(vector, lifted[i], nv)
        for i in range(first, end):
            for j in range(nv):
                vector[j] -= part[i] * reduced[i, j]


def _rest(row: Any, jacobian: Array, wanted: Array, a: int, b: int, blocks: int) -> None:
    """Let joints do what is left as it is: u̇ + N·(u̇_rest − u̇)."""
    r = row[0]
    nv, total, found = r.nv, long(r.blocks, blocks), numbers(r.acceleration, r.nv)
    reduced, lifted = table(r.reduced, total, nv), table(r.lifted, total, nv)
    step, part = numbers(r.size, nv), numbers(r.part, total)
    for j in range(nv):
        step[j] = 0.0
    for k in range(a, b):
        for j in range(nv):
            if jacobian[k, j] != 0.0:
                step[j] = wanted[k] - found[j]
    for k in range(blocks - 1, -1, -1):
        first, end = long(r.blocks, k), long(r.blocks, k + 1)
        for i in range(first, end):
            part[i] = _dot(reduced[i], step, nv)
        for i in range(first, end):
            for j in range(nv):
                step[j] -= part[i] * lifted[i, j]
    for j in range(nv):
        found[j] += step[j]


def _flight(row: Any, free: Array, needed: Array) -> int:
    """Rows of the motion that neither a drive nor a constraint can change, Zᵀ·(M·u̇ + h) = 0; returns how many."""
    r = row[0]
    count, nv, n = r.other_count, r.nv, r.constraints
    inertia, bias = table(r.inertia, nv, nv), numbers(r.bias, nv)
    values, vectors = _held(row)
    rows = 0
    for k in range(count):
        if n > 0 and values[k] > _FREE * values[count - 1]:
            continue
        free[rows], needed[rows] = 0.0, 0.0
        for i in range(count):
            dof = long(r.others, i)
            needed[rows] -= vectors[i, k] * bias[dof]
            for j in range(nv):
                free[rows, j] += vectors[i, k] * inertia[dof, j]
        rows += 1
    return rows


def _held(row: Any) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of J_uᵀ·J_u: how constraints hold what no drive moves."""
    r = row[0]
    count, constraint = r.other_count, table(r.constraint, r.constraints, r.nv)
    square = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            for k in range(r.constraints):
                square[i, j] += constraint[k, long(r.others, i)] * constraint[k, long(r.others, j)]
    values, vectors = np.linalg.eigh(square)
    return values, vectors


def _torques(row: Any) -> bool:
    """Torques, forces and residual of the accelerations; whether all are finite."""
    r = row[0]
    nv, n = r.nv, r.constraints
    inertia, bias, found = table(r.inertia, nv, nv), numbers(r.bias, nv), numbers(r.acceleration, nv)
    constraint, force, torque = table(r.constraint, n, nv), numbers(r.force, n), numbers(r.torque, r.drives)
    needed = numbers(r.size, nv)
    for i in range(nv):
        needed[i] = bias[i] + _dot(inertia[i], found, nv)
    for k in range(n):
        force[k] = 0.0
    if n > 0 and r.other_count > 0:
        values, vectors = _held(row)
        for m in range(r.other_count):
            if values[m] > _FREE * values[r.other_count - 1]:
                part = 0.0
                for i in range(r.other_count):
                    part += vectors[i, m] * needed[long(r.others, i)]
                for k in range(n):
                    for i in range(r.other_count):
                        force[k] += constraint[k, long(r.others, i)] * vectors[i, m] * part / values[m]
        for k in range(n):
            for i in range(nv):
                needed[i] -= constraint[k, i] * force[k]
    finite = True
    for i in range(r.drives):
        torque[i] = needed[long(r.actuated, i)]
        finite = finite and math.isfinite(torque[i])
    jacobian, force_map = table(r.jacobian, r.rows, nv), table(r.force_map, r.rows, n)
    wanted, residual = numbers(r.wanted, r.rows), numbers(r.residual, r.rows)
    for k in range(r.rows):
        residual[k] = _dot(jacobian[k], found, nv) - wanted[k]
        for i in range(n):
            residual[k] += force_map[k, i] * force[i]
    return finite


def _note_bounds(row: Any) -> None:
    r = row[0]
    torque = numbers(r.torque, r.drives)
    low, high = numbers(r.torque_low, r.drives), numbers(r.torque_high, r.drives)
    for i in range(r.drives):
        set_byte(r.torque_bound, i, -1 if torque[i] <= low[i] else 1 if torque[i] >= high[i] else 0)
    found = numbers(r.acceleration, r.nv)
    low, high = numbers(r.acceleration_low, r.nv), numbers(r.acceleration_high, r.nv)
    for i in range(r.nv):
        set_byte(r.acceleration_bound, i, -1 if found[i] <= low[i] else 1 if found[i] >= high[i] else 0)
    cone, force = table(r.cone, r.cone_rows, r.constraints), numbers(r.force, r.constraints)
    low, high = numbers(r.cone_low, r.cone_rows), numbers(r.cone_high, r.cone_rows)
    for k in range(r.cone_rows):
        value = _dot(cone[k], force, r.constraints)
        set_byte(r.cone_bound, k, -1 if value <= low[k] else 1 if value >= high[k] else 0)


def _slow_down(row: Any, own: Array, scale: Array, singular: float, inverse: Array, rows: int) -> None:
    """Multiply an inverse by S from the right."""
    r = row[0]
    nv, square, direct = r.nv, table(r.scaled, rows, rows), table(r.small_factor, rows, rows)
    for i in range(rows):
        for j in range(i + 1):
            square[i, j] = square[j, i] = scale[i] * scale[j] * _dot(own[i], own[j], nv)
    if _factorise(square, direct, rows):
        trace = 0.0  # of the inverse, at least the inverse of the smallest eigenvalue
        column = numbers(r.size, rows)
        for k in range(rows):
            for i in range(rows):
                column[i] = 0.0
            column[k] = 1.0
            _solve_with(direct, column, rows)
            trace += column[k]
        if trace * singular * singular < 1.0:
            return
    values, vectors = np.linalg.eigh(square)
    slowed = np.zeros((rows, rows))
    for k in range(rows):
        share = 1.0 if values[k] >= singular * singular else max(values[k], 0.0) / (singular * singular)
        for i in range(rows):
            for j in range(rows):
                slowed[i, j] += share * vectors[i, k] * vectors[j, k] * scale[j] / scale[i]
    inverse[:] = inverse @ slowed


def _pseudoinverse(row: Any, a: Array, weight: Array, inverse: Array, rows: int) -> None:
    """W·(W·A·W)⁺·W of a symmetric matrix, W the weights; its inverse where it has one."""
    r = row[0]
    size, scaled, factor = numbers(r.size, rows), table(r.scaled, rows, rows), table(r.small_factor, rows, rows)
    for i in range(rows):
        size[i] = 1.0 / math.sqrt(a[i, i]) if a[i, i] > 0.0 else 0.0
    for i in range(rows):
        for j in range(rows):
            scaled[i, j] = a[i, j] * size[i] * size[j]
    if _factorise(scaled, factor, rows) and _smallest(factor, rows) > _DEFICIENT:
        column = numbers(r.part, rows)
        for k in range(rows):
            for i in range(rows):
                column[i] = 0.0
            column[k] = 1.0
            _solve_with(factor, column, rows)
            for i in range(rows):
                inverse[i, k] = column[i] * size[i] * size[k]
        return
    for i in range(rows):
        size[i] = weight[i]
        for j in range(rows):
            scaled[i, j] = a[i, j] * weight[i] * weight[j]
    values, vectors = np.linalg.eigh(scaled)
    inverse[:] = 0.0
    for k in range(rows):
        if values[k] > _DEFICIENT * values[rows - 1]:
            for i in range(rows):
                for j in range(rows):
                    inverse[i, j] += vectors[i, k] * vectors[j, k] / values[k] * size[i] * size[j]


def _smallest(factor: Array, n: int) -> float:
    """Smallest pivot of a factor."""
    found = math.inf
    for i in range(n):
        found = min(found, factor[i, i] ** 2)
    return found


def _factorise(matrix: Array, factor: Array, n: int) -> bool:
    """Cholesky factor, lower, of a symmetric matrix; false where it is not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                if not rest > 0.0:
                    return False
                factor[i, i] = math.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    return True


def _solve_with(factor: Array, x: Array, n: int) -> None:
    """Make x that (L·Lᵀ)⁻¹ times x."""
    for i in range(n):
        rest = x[i]
        for k in range(i):
            rest -= factor[i, k] * x[k]
        x[i] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        for k in range(i):
            x[k] -= factor[i, k] * x[i]


def _dot(a: Array, b: Array, n: int) -> float:
    found = 0.0
    for i in range(n):
        found += a[i] * b[i]
    return found
