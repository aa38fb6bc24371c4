"""Least squares over what the equalities of a problem leave free; plain functions over arrays, to be compiled.

All motions that the equalities of an instant allow are x = x₀ + B·z, with x = (u̇, λ). The columns of B are
orthonormal, and x₀ is orthogonal to them, in the norm in which solutions are kept small,

    |x|² = u̇ᵀ·W·u̇ + (r·λ)ᵀ·(r·λ),  W = 1 or M

so that |x₀ + B·z|² = |x₀|² + |z|² as long as z is measured from `offset` = Bᵀ·x₀ in that norm. Both come from
Householder reflections with pivoting of the equalities' rows, so that rows that repeat others are left out.

Source: Golub and Van Loan, "Matrix Computations", sections 5.2 (QR, compact WY form), 5.4 (pivoting), 6.2
(constrained least squares).
"""

import math

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.task_space.least_norm import RANK, product

CONSTRAINT_RANK = 1e-6
"""`RANK` of equalities: a straight knee bears its load whichever way it is about to bend."""
_CANCELLED = 1e-4
"""Part that is left of a square from which on it is taken anew."""
_SHORT = 12
"""Rows of as many numbers are multiplied one by one: sooner than by a library."""
UNEVEN = 1e-8
"""Damping beside the longest row of a level, at least: rounding must not pass for a way."""

Rows = tuple[Array, Array, Array, Array]
"""G, F, b and w of tasks, see `Problem`: jacobian, force_map, wanted, weight."""
Damping = tuple[float, float]
"""Of z, above 0, and of λ, from 0 on."""
Motions = tuple[Array, Array, Array]
"""x₀, B and the offset of z, (free,)."""


def eliminate(
    actuated: NDArray[np.int64],
    passive: NDArray[np.int64],
    inertia: Array,
    bias: Array,
    constraint: Array,
    wanted: Array,
    held: bool,
    mass_weighted: bool,
    ratio: float,
) -> tuple[Array, Array, Array, float]:
    """Solve the rows of the robot that no drive moves and, if `held`, the constraints.

    Args:
        actuated, inertia, bias, constraint, wanted: see `Problem`.
        passive: degrees of freedom that no drive moves.
        held: whether the constraints are equalities.
        mass_weighted: whether W is M.
        ratio: r.

    Returns:
        x₀, (nv + constraints,); B, (nv + constraints, free); the map from x to τ − h, (drives, nv + constraints);
        and what is left of a row that no motion fulfils, NaN where
        something is not finite.
    """
    nv, forces = len(bias), len(wanted)
    rows = forces if held else 0
    width = nv + forces
    root = _cholesky(inertia) if mass_weighted else np.eye(nv)
    equalities, right = np.zeros((rows + len(passive), width)), np.zeros(rows + len(passive))
    if rows:
        equalities[:rows, :nv] = constraint
    if mass_weighted:
        _divide_rows(equalities[:rows, :nv], root)
    right[:rows] = wanted[:rows]
    for k in range(len(passive)):
        i, row = passive[k], equalities[rows + k]
        row[:nv] = root[i] if mass_weighted else inertia[i]
        for j in range(forces):
            row[nv + j] = -constraint[j, i] / ratio
        size = math.sqrt(np.sum(row * row))
        row /= size
        right[rows + k] = -bias[i] / size
    total = np.sum(equalities) + np.sum(right)
    start, basis, misfit = _solutions(equalities, right, CONSTRAINT_RANK)
    misfit += 0.0 * total  # NaN if anything is
    free = basis.shape[1]
    if mass_weighted:  # back from Rᵀ·u̇ to u̇, M = R·Rᵀ
        both = np.empty((free + 1, nv))
        both[:free], both[free] = basis[:nv].T, start[:nv]
        _divide_rows_back(both, root)
        basis[:nv], start[:nv] = both[:free].T, both[free]
    basis[nv:] /= ratio
    start[nv:] /= ratio
    drive = np.empty((len(actuated), width))
    for k in range(len(actuated)):
        i = actuated[k]
        drive[k, :nv] = inertia[i]
        for j in range(forces):
            drive[k, nv + j] = -constraint[j, i]
    return start, basis, drive, misfit


def optimum(rows: Rows, damping: Damping, motions: Motions) -> tuple[Array, Array, Array, Array]:
    """Return the optimum of a level without its bounds, and what a step away from it costs.

    With A·z − r for the level's rows and force_damping·λ it minimises |A·z − r|² + damping²·|z + offset|².

    Returns:
        A and r; z, (free,); R, (free, free), upper: a step R⁻¹·y from z costs |y|².
    """
    start, basis, offset = motions
    tasks, missing = _reduced(rows, damping[1], start, basis)
    longest = 0.0
    for row in tasks:
        longest = max(longest, product(row, row, 0))
    step, root = _damped(tasks, missing, max(damping[0], UNEVEN * math.sqrt(longest)), offset)
    return tasks, missing, step, root


def narrow(tasks: Array, held: Array, basis: Array, offset: Array, step: Array) -> tuple[Array, Array]:
    """Return B and the offset of the motions that leave what a level has reached by z = `step`.

    Args:
        tasks: A of the level's own rows, (rows, free).
        held: rows of bounds without which the level would reach more, (any, free).
        basis, offset: of the level.
        step: z.
    """
    count = len(tasks)
    rows = np.empty((count + len(held), len(step)))
    rows[:count], rows[count:] = tasks, held
    for row in rows:
        size = math.sqrt(product(row, row, 0))
        if size > 0.0:
            row /= size
    _, kept, _ = _solutions(rows, np.zeros(len(rows)), RANK)
    if kept.shape[1] == 0:
        return np.zeros((len(basis), 0)), np.zeros(0)
    return np.dot(basis, kept), np.dot(np.ascontiguousarray(kept.T), offset + step)


def _reduced(rows: Rows, force_damping: float, start: Array, basis: Array) -> tuple[Array, Array]:
    """Return A and r of a level."""
    jacobian, force_map, wanted, weight = rows
    count, nv = jacobian.shape
    free, forces = basis.shape[1], len(start) - nv
    whole = count + forces if force_damping > 0.0 else count
    tasks, missing = np.zeros((whole, free)), np.zeros(whole)
    if count:
        mapped = np.any(force_map != 0.0)
        missing[:count] = wanted - np.dot(jacobian, start[:nv])
        if mapped:
            missing[:count] -= np.dot(force_map, start[nv:])
        if free:
            tasks[:count] = np.dot(jacobian, basis[:nv])
            if mapped:
                tasks[:count] += np.dot(force_map, basis[nv:])
    for i in range(count):
        tasks[i] *= weight[i]
        missing[i] *= weight[i]
    for i in range(whole - count):
        tasks[count + i] = force_damping * basis[nv + i]
        missing[count + i] = -force_damping * start[nv + i]
    return tasks, missing


def _solutions(rows: Array, right: Array, tolerance: float) -> tuple[Array, Array, float]:
    """Return x₀, B and the largest misfit of all solutions of rows·x = right; both are overwritten."""
    count, width = rows.shape
    most = min(count, width)
    vectors, factors, reached = np.zeros((most, width)), np.empty(most), np.zeros(width)
    squares, known = np.empty(count), np.empty(count)
    for i in range(count):
        squares[i] = known[i] = product(rows[i], rows[i], 0)
    rank, longest = 0, 0.0
    for k in range(most):
        best, square = k, 0.0
        for i in range(k, count):
            if squares[i] < _CANCELLED * known[i]:
                squares[i] = known[i] = product(rows[i], rows[i], k)
            if squares[i] > square:
                best, square = i, squares[i]
        size = math.sqrt(square)
        longest = max(longest, size)
        if not size > tolerance * longest:
            break
        rank += 1
        if best != k:
            for j in range(width):
                rows[k, j], rows[best, j] = rows[best, j], rows[k, j]
            right[k], right[best] = right[best], right[k]
            squares[best], known[best] = squares[k], known[k]
        vector = vectors[k]
        vector[k:] = rows[k, k:]
        size = math.sqrt(product(vector, vector, k))
        pivot = -size if rows[k, k] > 0.0 else size
        vector[k] -= pivot
        factors[k] = 1.0 / (size * (size + abs(rows[k, k])))
        rows[k, k] = pivot
        if k + 1 < count:
            along = np.dot(rows[k + 1 :], vector)
            for i in range(k + 1, count):
                share, row = factors[k] * along[i - k - 1], rows[i]
                for j in range(k, width):
                    row[j] -= share * vector[j]
                squares[i] -= row[k] * row[k]
        rest = right[k]
        for j in range(k):
            rest -= rows[k, j] * reached[j]
        reached[k] = rest / pivot
    misfit = 0.0
    for i in range(rank, count):
        rest = right[i]
        for j in range(rank):
            rest -= rows[i, j] * reached[j]
        misfit = max(misfit, abs(rest))
    if rank == 0:
        return reached, np.eye(width), misfit
    used = np.ascontiguousarray(vectors[:rank])
    outer = np.ascontiguousarray(used.T)
    products, across = np.dot(used, outer), np.zeros((rank, rank))
    for k in range(rank):  # of the reflections' product, 1 − Vᵀ·T·V
        for i in range(k):
            share = factors[k] * products[i, k]
            for j in range(i + 1):
                across[j, k] -= share * across[j, i]
        across[k, k] = factors[k]
    inner = np.dot(across, used)
    basis = np.zeros((width, width - rank))
    if rank < width:
        basis -= np.dot(outer, np.ascontiguousarray(inner[:, rank:]))
    for j in range(width - rank):
        basis[rank + j, j] += 1.0
    return reached - np.dot(outer, np.dot(inner, reached)), basis, misfit


def _damped(tasks: Array, missing: Array, damping: float, offset: Array) -> tuple[Array, Array]:
    """Return z and R of the least |A·z − r|² + damping²·|z + offset|² by reflections into R = damping·1."""
    count, free = tasks.shape
    work = np.empty((free + 1, count))
    work[:free], work[free] = tasks.T, missing
    root, right = np.zeros((free, free)), -damping * offset
    for k in range(free):
        column = work[k]
        norm = math.sqrt(product(column, column, 0) + damping**2)
        top = damping + norm
        along = _products(work[k + 1 :], column)
        along[free - k - 1] += top * right[k]
        along /= norm * top
        root[k, k] = -norm
        root[k, k + 1 :] = -top * along[: free - k - 1]
        right[k] -= top * along[free - k - 1]
        for j in range(k + 1, free + 1):
            other, share = work[j], along[j - k - 1]
            for i in range(count):
                other[i] -= share * column[i]
    step = np.empty(free)
    for i in range(free - 1, -1, -1):
        step[i] = (right[i] - product(root[i], step, i + 1)) / root[i, i]
    return step, root


def _products(rows: Array, vector: Array) -> Array:
    found = np.empty(len(rows))
    if len(vector) > _SHORT:
        found[:] = np.dot(rows, vector)
    else:
        for i in range(len(rows)):
            found[i] = product(rows[i], vector, 0)
    return found


def _cholesky(matrix: Array) -> Array:
    """R of R·Rᵀ, lower; not finite where the matrix is not positive definite."""
    n = len(matrix)
    root = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j] - product(root[i, :j], root[j, :j], 0)
            root[i, j] = rest / root[j, j] if j < i else (math.sqrt(rest) if rest > 0.0 else math.nan)
    return root


def _divide_rows(rows: Array, root: Array) -> None:
    """Write the rows times R⁻ᵀ into them; R lower."""
    n = len(root)
    for row in rows:
        for j in range(n):
            row[j] = (row[j] - product(root[j, :j], row[:j], 0)) / root[j, j]


def _divide_rows_back(rows: Array, root: Array) -> None:
    """Write the rows times R⁻¹ into them; R lower."""
    n = len(root)
    for row in rows:
        for j in range(n - 1, -1, -1):
            row[j] /= root[j, j]
            for k in range(j):
                row[k] -= row[j] * root[j, k]
