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

RANK = 1e-10
"""A direction of tasks whose row is shorter than this beside the longest one is none."""
CONSTRAINT_RANK = 1e-6
"""Likewise of equalities: a straight knee bears its load whichever way it is about to bend."""
INFINITE = 1e30
"""A bound from here on is none."""
FEASIBLE = 1e-9
"""By how much a bound may be passed, rad/s², N·m or N."""
_COUNTING = 1e-7
"""How far a bound moves y for it to count, relative to 1 + the farthest that one does."""
SATISFIED, VIOLATED, INEXACT, NOT_FINITE = 0, 1, 2, 3


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


def optimum(
    jacobian: Array,
    force_map: Array,
    wanted: Array,
    weight: Array,
    scale: Array,
    damping: float,
    force_damping: float,
    uneven: float,
    start: Array,
    basis: Array,
    offset: Array,
    drive: Array,
    cone: Array,
    low: Array,
    high: Array,
) -> tuple[int, Array, Array, Array, Array, Array, Array, Array, Array]:
    """Return the optimum of a level without its bounds, and what it takes to find the one within them.

    With A·z − r for the level's rows and force_damping·λ it minimises |A·z − r|² + damping²·|z + offset|².

    Args:
        jacobian, force_map, wanted, weight: rows of the level, see `Problem`.
        scale: that multiplies them besides, (rows,).
        damping: above 0.
        force_damping: of λ, from 0 on.
        uneven: ratio of the weakest to the strongest direction of R below which bounds are searched with a damping
            that makes it this ratio.
        start, basis, drive: see `eliminate`.
        offset: of z, (free,).
        cone: C, (cone_rows, constraints).
        low, high: see `outcome.limits`.

    Returns:
        `SATISFIED`, `VIOLATED`, `INEXACT` or `NOT_FINITE`; A and r; z, (free,), and x, (nv + constraints,); R,
        (free, free): a step R⁻¹·y from z costs |y|²; and, if a bound is violated, how what is bounded follows from
        y, (bounds, free), and how far it may go down and up, (bounds,) each. `INEXACT` is a violation where R, z
        and x are those of a stronger damping: see `pull`.
    """
    tasks, missing = _reduced(jacobian, force_map, wanted, weight, scale, force_damping, start, basis)
    free = len(offset)
    step, root = _damped(tasks, missing, damping, offset)
    found, at = _reached(drive, cone, start, basis, step)
    status = _state(at, low, high) if math.isfinite(np.sum(missing)) else NOT_FINITE
    if status != VIOLATED:
        return status, tasks, missing, step, found, root, tasks, at, at
    least, most = math.inf, 0.0
    for k in range(free):
        least, most = min(least, abs(root[k, k])), max(most, abs(root[k, k]))
    if least < uneven * most:
        status = INEXACT
        step, root = _damped(tasks, missing, uneven * most, offset)
        found, at = _reached(drive, cone, start, basis, step)
    rows = bound_rows(drive, cone, basis)
    down, up = gaps(rows, at, low, high)
    return status, tasks, missing, step, found, root, np.dot(rows, _inverse(root)), down, up


def pull(tasks: Array, missing: Array, step: Array, root: Array) -> Array:
    """Return y of the step from z that minimises |A·z − r|² + damping²·|step|², R being of that damping.

    Repeated from where it leads within the bounds, it comes to the least |A·z − r|² there is.

    Source: Rockafellar 1976, "Monotone operators and the proximal point algorithm".
    """
    slope: Array = np.dot(missing - np.dot(tasks, step), tasks)
    for k in range(len(step)):
        slope[k] /= root[k, k]
        for j in range(k + 1, len(step)):
            slope[j] -= slope[k] * root[k, j]
    return slope


def bounded_values(drive: Array, cone: Array, found: Array) -> Array:
    """Return (τ − h, u̇, C·λ) at x, (bounds,)."""
    drives, nv = len(drive), drive.shape[1] - cone.shape[1]
    values = np.empty(drives + nv + len(cone))
    if drives:
        values[:drives] = np.dot(drive, found)
    values[drives : drives + nv] = found[:nv]
    if len(cone):
        values[drives + nv :] = np.dot(cone, found[nv:])
    return values


def bound_rows(drive: Array, cone: Array, basis: Array) -> Array:
    """Return how (τ − h, u̇, C·λ) follow from z, (bounds, free): exactly 0 in rows that do not."""
    drives, width = drive.shape
    nv, cones = width - cone.shape[1], len(cone)
    rows = np.empty((drives + nv + cones, basis.shape[1]))
    if drives:
        rows[:drives] = np.dot(drive, basis)
    rows[drives : drives + nv] = basis[:nv]
    if cones:
        rows[drives + nv :] = np.dot(cone, np.ascontiguousarray(basis[nv:]))
    for k in range(len(rows)):
        whole = 1.0
        if k < drives:
            whole = _product(drive[k], drive[k], 0)
        elif k >= drives + nv:
            whole = _product(cone[k - drives - nv], cone[k - drives - nv], 0)
        if _product(rows[k], rows[k], 0) <= RANK**2 * whole:
            rows[k] = 0.0
    return rows


def gaps(rows: Array, at: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return how far what is bounded may go down and up; without end where it cannot move and is within bounds."""
    down, up = low - at, high - at
    for k in range(len(rows)):
        room = FEASIBLE * (1.0 + abs(at[k]))
        if down[k] <= room and up[k] >= -room and not np.any(rows[k] != 0.0):
            down[k], up[k] = -INFINITE, INFINITE
    return down, up


def activate(multipliers: Array, sense: NDArray[np.intc]) -> None:
    """Write into daqp's `sense` which bounds a solution is at: 1 the upper, 3 the lower one."""
    for k in range(len(sense)):
        sense[k] = 1 if multipliers[k] > 0.0 else (3 if multipliers[k] < 0.0 else 0)


def proceed(
    tasks: Array, missing: Array, step: Array, root: Array, among: Array, y: Array, down: Array, up: Array
) -> tuple[Array, Array, Array]:
    """Return y of the next `pull`, and how far what is bounded may go down and up from there, (bounds,) each.

    Args:
        tasks, missing, step, root: see `pull`.
        among: how what is bounded follows from y, (bounds, free).
        y: of the last step, by which `down` and `up` are brought up to date.
        down, up: how far what is bounded might go before it, (bounds,) each.
    """
    went = np.dot(among, y)
    further = pull(tasks, missing, step, root)
    goes = np.dot(among, further)
    for k in range(len(down)):
        down[k] -= went[k]
        up[k] -= went[k]
    return further, down - goes, up - goes


def arrive(y: Array, shift: Array, root: Array, basis: Array, step: Array, found: Array) -> float:
    """Add a shift to y, and the step R⁻¹·y to z and to x; return |y|²."""
    free = len(step)
    y += shift
    back = y.copy()
    for i in range(free - 1, -1, -1):
        for j in range(i + 1, free):
            back[i] -= root[i, j] * back[j]
        back[i] /= root[i, i]
    step += back
    found += np.dot(basis, back)
    return _product(y, y, 0)


def counting(rows: Array, multipliers: Array) -> Array:
    """Return the rows whose bounds count: their multipliers move y by no less than rounding beside others."""
    shifts, most = np.abs(multipliers), 0.0
    for k in range(len(shifts)):
        if shifts[k] > 0.0:
            shifts[k] *= math.sqrt(_product(rows[k], rows[k], 0))
            most = max(most, shifts[k])
    return rows[shifts > _COUNTING * (1.0 + most)]


def narrow(
    tasks: Array, held: Array, root: Array, basis: Array, offset: Array, step: Array
) -> tuple[Array, Array]:
    """Return B and the offset of the motions that leave what a level has reached by z = `step`.

    Args:
        tasks: A of the level's own rows, (rows, free).
        held: rows of bounds without which the level would reach more, as they follow from y, (any, free).
        root: R, (free, free).
        basis, offset: of the level.
        step: z.
    """
    count = len(tasks)
    rows = np.empty((count + len(held), len(step)))
    rows[:count] = tasks
    if len(held):
        rows[count:] = np.dot(held, root)
    for row in rows:
        size = math.sqrt(_product(row, row, 0))
        if size > 0.0:
            row /= size
    _, kept, _ = _solutions(rows, np.zeros(len(rows)), RANK)
    if kept.shape[1] == 0:
        return np.zeros((len(basis), 0)), np.zeros(0)
    return np.dot(basis, kept), np.dot(np.ascontiguousarray(kept.T), offset + step)


def _state(at: Array, low: Array, high: Array) -> int:
    status = SATISFIED
    for k in range(len(low)):
        if not math.isfinite(at[k]):
            return NOT_FINITE
        if at[k] < low[k] - FEASIBLE or at[k] > high[k] + FEASIBLE:
            status = VIOLATED
    return status


def _reached(drive: Array, cone: Array, start: Array, basis: Array, step: Array) -> tuple[Array, Array]:
    """Return x and what is bounded there."""
    found = start + np.dot(basis, step) if len(step) else start.copy()
    return found, bounded_values(drive, cone, found)


def _reduced(
    jacobian: Array,
    force_map: Array,
    wanted: Array,
    weight: Array,
    scale: Array,
    force_damping: float,
    start: Array,
    basis: Array,
) -> tuple[Array, Array]:
    """Return A and r of a level."""
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
        tasks[i] *= scale[i] * weight[i]
        missing[i] *= scale[i] * weight[i]
    for i in range(whole - count):
        tasks[count + i] = force_damping * basis[nv + i]
        missing[count + i] = -force_damping * start[nv + i]
    return tasks, missing


def _solutions(rows: Array, right: Array, tolerance: float) -> tuple[Array, Array, float]:
    """Return x₀, B and the largest misfit of all solutions of rows·x = right; both are overwritten."""
    count, width = rows.shape
    most = min(count, width)
    vectors, across, reached = np.zeros((most, width)), np.zeros((most, most)), np.zeros(width)
    rank, longest = 0, 0.0
    for k in range(most):
        best, square = k, 0.0
        for i in range(k, count):
            rest = _product(rows[i], rows[i], k)
            if rest > square:
                best, square = i, rest
        size = math.sqrt(square)
        longest = max(longest, size)
        if not size > tolerance * longest:
            break
        rank += 1
        if best != k:
            for j in range(width):
                rows[k, j], rows[best, j] = rows[best, j], rows[k, j]
            right[k], right[best] = right[best], right[k]
        pivot = -size if rows[k, k] > 0.0 else size
        vector = vectors[k]
        vector[k:] = rows[k, k:]
        vector[k] -= pivot
        factor = 1.0 / (size * (size + abs(rows[k, k])))
        rows[k, k:] = 0.0
        rows[k, k] = pivot
        for i in range(k + 1, count):
            row = rows[i]
            along = _product(vector, row, k)
            along *= factor
            for j in range(k, width):
                row[j] -= along * vector[j]
        for i in range(k):
            along = _product(vectors[i], vector, k)
            for j in range(i + 1):
                across[j, k] -= factor * across[j, i] * along
        across[k, k] = factor
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
    inner = np.dot(np.ascontiguousarray(across[:rank, :rank]), used)
    outer = np.ascontiguousarray(used.T)
    basis = np.zeros((width, width - rank))
    if rank < width:
        basis -= np.dot(outer, np.ascontiguousarray(inner[:, rank:]))
    for j in range(width - rank):
        basis[rank + j, j] += 1.0
    return reached - np.dot(outer, np.dot(inner, reached)), basis, misfit


def _product(a: Array, b: Array, begin: int) -> float:
    """Sum of a·b from `begin` on, in four sums side by side."""
    n = len(a)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    j = begin
    while j + 4 <= n:
        one += a[j] * b[j]
        two += a[j + 1] * b[j + 1]
        three += a[j + 2] * b[j + 2]
        four += a[j + 3] * b[j + 3]
        j += 4
    while j < n:
        one += a[j] * b[j]
        j += 1
    return (one + two) + (three + four)


def _damped(tasks: Array, missing: Array, damping: float, offset: Array) -> tuple[Array, Array]:
    """Return z and R of the least |A·z − r|² + damping²·|z + offset|² by reflections into R = damping·1."""
    count, free = tasks.shape
    work = np.empty((free + 1, count))
    work[:free], work[free] = tasks.T, missing
    root = np.zeros((free, free))
    right = -damping * offset
    for k in range(free):
        column = work[k]
        size = _product(column, column, 0)
        norm = math.sqrt(size + damping**2)
        top = damping + norm
        factor = 1.0 / (norm * top)
        root[k, k] = -norm
        for j in range(k + 1, free + 1):
            other = work[j]
            along = _product(column, other, 0)
            if j == free:
                along += top * right[k]
            along *= factor
            if j < free:
                root[k, j] = -top * along
            else:
                right[k] -= top * along
            for i in range(count):
                other[i] -= along * column[i]
    step = np.empty(free)
    for i in range(free - 1, -1, -1):
        rest = right[i]
        for j in range(i + 1, free):
            rest -= root[i, j] * step[j]
        step[i] = rest / root[i, i]
    return step, root


def _inverse(root: Array) -> Array:
    """Return R⁻¹ of an upper R."""
    free = len(root)
    inverse = np.eye(free)
    for i in range(free):
        row = inverse[i]
        for k in range(i, free):
            row[k] /= root[k, k]
            for j in range(k + 1, free):
                row[j] -= row[k] * root[k, j]
    return inverse


def _cholesky(matrix: Array) -> Array:
    """R of R·Rᵀ, lower; not finite where the matrix is not positive definite."""
    n = len(matrix)
    root = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j] - _product(root[i, :j], root[j, :j], 0)
            root[i, j] = rest / root[j, j] if j < i else (math.sqrt(rest) if rest > 0.0 else math.nan)
    return root


def _divide_rows(rows: Array, root: Array) -> None:
    """Write the rows times R⁻ᵀ into them; R lower."""
    n = len(root)
    for row in rows:
        for j in range(n):
            row[j] = (row[j] - _product(root[j, :j], row[:j], 0)) / root[j, j]


def _divide_rows_back(rows: Array, root: Array) -> None:
    """Write the rows times R⁻¹ into them; R lower."""
    n = len(root)
    for row in rows:
        for j in range(n - 1, -1, -1):
            row[j] /= root[j, j]
            for k in range(j):
                row[k] -= row[j] * root[j, k]
