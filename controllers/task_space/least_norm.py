"""The smallest step that keeps within bounds; plain functions over arrays, to be compiled.

    least |y|²  with  low ≤ K·(x + B·R⁻¹·y) ≤ high

K says what is bounded, see `bounded_values`. From y = 0, or from the bounds at which the last instant was, the
bound that is passed most is added, and those whose multipliers turn round on the way are dropped, until none is
passed. Reflections bring the rows to a triangle: ways that cost 1e5 times less than others are told from those,
where products of rows, or columns in another order, would lose them.

Source: Goldfarb and Idnani 1983, "A numerically stable dual method for solving strictly convex quadratic
programs"; Cox and Higham 1998, "Stability of Householder QR factorization for weighted least squares problems":
what is long comes first.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array

RANK = 1e-10
"""A direction whose row is shorter than this beside the longest one is none."""
INFINITE = 1e30
"""A bound from here on is none."""
FEASIBLE = 1e-9
"""By how much a bound may be passed, rad/s², N·m or N."""
_INACCURATE = 1e-6
"""Likewise, relative to 1 + |bound|, where rounding forbids to keep it better."""
_COUNTING = 1e-7
"""By how much a bound changes the slope of what is minimised to count, relative to 1 + the most that one does."""

Bounds = tuple[Array, Array, Array, Array]
"""drive and cone, of K; low and high, (bounds,) each."""
_Among = tuple[Array, Array, Array, NDArray[np.int64], Array, Array, Array]
"""Of bounds that are active, and of the one behind them that is about to be: rows in y, of length 1, turned round;
rows in z; lengths of the rows in y; places among all bounds; 1 of lower ones, −1 of upper ones; how far each is
from y = 0; multipliers."""
_Mirrors = tuple[Array, Array, Array, Array]
"""Reflections that bring the active rows to a lower triangle: vectors, factors, that triangle, a row at work."""


def least_norm(
    found: Array, basis: Array, root: Array, bounds: Bounds, active: NDArray[np.int8]
) -> tuple[bool, Array, Array]:
    """Return whether there is a solution, the step R⁻¹·y, (free,), and the rows of K·B whose bounds count.

    Those are the ones without which less than the least would be had, by more than the smallness of y asks for.

    Args:
        found: x, (nv + constraints,).
        basis: B, (nv + constraints, free).
        root: R, (free, free), upper.
        bounds: of K·x.
        active: at which bounds the solution may be, −1 below, 1 above, (bounds,); afterwards those at which it is,
            or between which there is none.
    """
    drive, cone, low, high = bounds
    size, start = len(root), bounded_values(drive, cone, found)
    rows, plain, lengths = np.empty((size + 1, size)), np.empty((size + 1, size)), np.empty(size + 1)
    which, sides = np.empty(size + 1, dtype=np.int64), np.empty(size + 1)
    gaps, shares, along, turn = np.empty(size + 1), np.empty(size + 1), np.empty(size), np.empty(size)
    among = rows, plain, lengths, which, sides, gaps, shares
    mirrors = np.empty((size, size)), np.empty(size), np.empty((size, size)), np.empty(size)
    work, ignored, count = mirrors[3], np.zeros(len(low), dtype=np.bool_), 0
    for p in range(len(low)):
        side, active[p] = -float(active[p]), 0
        if side == 0.0 or count == size or not _take(bounds, basis, root, start, p, side, count, among):
            continue
        _reflect(rows[count], count, mirrors)
        if _rest(work, count) > RANK:
            _add(count, mirrors)
            count += 1
    while count:  # without those that would have to pull
        _weigh(count, mirrors, gaps, along, shares)
        j = _wrong(sides, shares, count)
        if j < 0:
            break
        count = _drop(j, count, among, mirrors)
    for _ in range(20 * (size + 10)):
        step = _step(count, mirrors, gaps, along, shares, root)
        at = start + bounded_values(drive, cone, np.dot(basis, step))
        p, passed, side = _most_passed(at, low, high, which[:count], ignored)
        if p < 0:
            held = _counting(plain, lengths, shares, count)
            _mark(active, which, sides, count)
            for i in range(count):
                k = which[i]
                gaps[i] = ((low[k] if sides[i] > 0.0 else high[k]) - at[k]) / lengths[i]
            return True, step + _step(count, mirrors, gaps, along, shares, root), held  # refined once
        possible = _take(bounds, basis, root, start, p, side, count, among)
        if possible:
            possible, count = _enter(count, passed, turn, among, mirrors)
        if not possible:
            bound = low[p] if side > 0.0 else high[p]
            if passed > _INACCURATE * (1.0 + abs(bound)):
                break
            ignored[p] = True
            _weigh(count, mirrors, gaps, along, shares)
    _mark(active, which, sides, count)
    return False, np.zeros(size), plain[:0]


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
    """Return K·B, (bounds, free): exactly 0 in rows that nothing moves."""
    rows = np.empty((len(drive) + drive.shape[1] - cone.shape[1] + len(cone), basis.shape[1]))
    for p in range(len(rows)):
        if not _bound_row(drive, cone, basis, p, rows[p]):
            rows[p] = 0.0
    return rows


def product(a: Array, b: Array, begin: int) -> float:
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


def _take(
    bounds: Bounds, basis: Array, root: Array, start: Array, p: int, side: float, count: int, among: _Among
) -> bool:
    """Write a bound behind those that are active; return whether it bounds anything that moves."""
    drive, cone, low, high = bounds
    rows, plain, lengths, which, sides, gaps, shares = among
    bound = low[p] if side > 0.0 else high[p]
    if abs(bound) >= INFINITE:
        return False
    if not _bound_row(drive, cone, basis, p, plain[count]):
        return False
    across = plain[count].copy()
    for i in range(len(across)):
        across[i] /= root[i, i]
        for j in range(i + 1, len(across)):
            across[j] -= across[i] * root[i, j]
    length = math.sqrt(product(across, across, 0))
    rows[count] = across[::-1] / length  # long parts first
    lengths[count], which[count], sides[count], shares[count] = length, p, side, 0.0
    gaps[count] = (bound - start[p]) / length
    return True


def _bound_row(drive: Array, cone: Array, basis: Array, p: int, row: Array) -> bool:
    """Write a row of K·B; return whether it is one."""
    drives, nv, whole = len(drive), drive.shape[1] - cone.shape[1], 1.0
    if p < drives:
        row[:], whole = np.dot(drive[p], basis), product(drive[p], drive[p], 0)
    elif p < drives + nv:
        row[:] = basis[p - drives]
    else:
        given = cone[p - drives - nv]
        row[:], whole = 0.0, product(given, given, 0)
        for i in range(len(given)):
            if given[i] != 0.0:
                row += given[i] * basis[nv + i]
    return product(row, row, 0) > RANK**2 * whole


def _enter(
    count: int,
    passed: float,
    turn: Array,
    among: _Among,
    mirrors: _Mirrors,
) -> tuple[bool, int]:
    """Let the bound behind the active ones, which is passed, become one; return if it can, and their number.

    Those that would have to pull are dropped on the way.
    """
    rows, _, lengths, _, sides, _, shares = among
    triangle, work = mirrors[2], mirrors[3]
    left = passed / lengths[count]
    while True:
        _reflect(rows[count], count, mirrors)
        rest, side = _rest(work, count), sides[count]
        full = left / rest**2 if rest > RANK else math.inf
        far, blocking = math.inf, -1
        for i in range(count - 1, -1, -1):
            turn[i] = work[i] / triangle[i, i]
            for j in range(i):
                work[j] -= turn[i] * triangle[i, j]
        for i in range(count):
            against = side * sides[i] * turn[i]
            if against > RANK and max(sides[i] * shares[i], 0.0) < far * against:
                far, blocking = max(sides[i] * shares[i], 0.0) / against, i
        way = min(full, far)
        if way == math.inf:
            return False, count
        for i in range(count):
            shares[i] -= way * side * turn[i]
        shares[count] += way * side
        if full <= far:
            _reflect(rows[count], count, mirrors)
            _add(count, mirrors)
            return True, count + 1
        if rest > RANK:
            left -= way * rest**2
        count = _drop(blocking, count, among, mirrors)


def _most_passed(
    at: Array, low: Array, high: Array, which: NDArray[np.int64], ignored: NDArray[np.bool_]
) -> tuple[int, float, float]:
    """Return the bound that is passed most, −1 if none is, by how much, and 1 if below or −1 if above."""
    found, most, side = -1, 0.0, 0.0
    for k in range(len(at)):
        below, above = low[k] - at[k], at[k] - high[k]
        if max(below, above) > max(most, FEASIBLE) and not ignored[k] and not np.any(which == k):
            found, most, side = k, max(below, above), 1.0 if below > above else -1.0
    return found, most, side


def _reflect(row: Array, count: int, mirrors: _Mirrors) -> None:
    """Write a row as the reflections so far see it into the last array."""
    vectors, factors, _, work = mirrors
    work[:] = row
    for i in range(count):
        vector = vectors[i]
        along = factors[i] * product(vector, work, i)
        for j in range(i, len(work)):
            work[j] -= along * vector[j]


def _rest(work: Array, count: int) -> float:
    return math.sqrt(product(work, work, count))


def _add(count: int, mirrors: _Mirrors) -> None:
    """Add the row that `_reflect` has written to the triangle."""
    vectors, factors, triangle, work = mirrors
    size = _rest(work, count)
    pivot = -size if work[count] > 0.0 else size
    vectors[count] = work
    vectors[count, count] -= pivot
    factors[count] = 1.0 / (size * (size + abs(work[count])))
    triangle[count, :count] = work[:count]
    triangle[count, count] = pivot


def _drop(
    j: int,
    count: int,
    among: _Among,
    mirrors: _Mirrors,
) -> int:
    """Take a bound away, the one behind the active ones moving up with them; return how many are left."""
    rows, plain, lengths, which, sides, gaps, shares = among
    for i in range(j, min(count, len(which) - 1)):
        rows[i], plain[i] = rows[i + 1], plain[i + 1]
        lengths[i], which[i], sides[i] = lengths[i + 1], which[i + 1], sides[i + 1]
        gaps[i], shares[i] = gaps[i + 1], shares[i + 1]
    for i in range(j, count - 1):
        _reflect(rows[i], i, mirrors)
        _add(i, mirrors)
    return count - 1


def _weigh(count: int, mirrors: _Mirrors, gaps: Array, along: Array, shares: Array) -> None:
    """Write the multipliers with which all active bounds are just kept."""
    triangle, work = mirrors[2], mirrors[3]
    for i in range(count):
        along[i] = (gaps[i] - product(triangle[i, :i], along, 0)) / triangle[i, i]
    work[:count] = along[:count]
    for i in range(count - 1, -1, -1):
        shares[i] = work[i] / triangle[i, i]
        for j in range(i):
            work[j] -= shares[i] * triangle[i, j]


def _wrong(sides: Array, shares: Array, count: int) -> int:
    """Return the bound whose multiplier has most of the wrong sign, −1 if none has."""
    found, most = -1, 0.0
    for i in range(count):
        if -sides[i] * shares[i] > most:
            found, most = i, -sides[i] * shares[i]
    return found


def _step(count: int, mirrors: _Mirrors, gaps: Array, along: Array, shares: Array, root: Array) -> Array:
    """Return R⁻¹·y where all active bounds are just kept."""
    _weigh(count, mirrors, gaps, along, shares)
    vectors, factors = mirrors[:2]
    step = np.zeros(len(root))
    step[:count] = along[:count]
    for i in range(count - 1, -1, -1):
        share = factors[i] * product(vectors[i], step, i)
        for j in range(i, len(step)):
            step[j] -= share * vectors[i, j]
    step = step[::-1].copy()
    for i in range(len(step) - 1, -1, -1):
        step[i] = (step[i] - product(root[i], step, i + 1)) / root[i, i]
    return step


def _mark(active: NDArray[np.int8], which: NDArray[np.int64], sides: Array, count: int) -> None:
    for i in range(count):
        active[which[i]] = -int(sides[i])


def _counting(plain: Array, lengths: Array, shares: Array, count: int) -> Array:
    """Return the rows whose bounds count: without them what is minimised would go further."""
    slopes, most = np.zeros(len(plain)), 0.0
    for i in range(count):
        slopes[i] = abs(shares[i]) / lengths[i] * math.sqrt(product(plain[i], plain[i], 0))
        most = max(most, slopes[i])
    return plain[slopes > _COUNTING * (1.0 + most)]
