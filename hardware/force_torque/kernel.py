"""The computation behind `WrenchConditioning`: one reading in, one contact wrench out."""

import math
from collections.abc import Callable
from functools import cache

from pliant.hardware.robot import Array

SATURATED, MISSING, FROZEN, TURNED, DRIFTED = 1, 2, 3, 4, 5
"""Numbers of the faults."""
RANGE, SPIKE, DRIFT = 0, 1, 2
"""Rows of the limits."""
GRAVITY, MASS, COM, STALE, CUTOFF, ORDER, SLOW = 0, 3, 4, 7, 8, 9, 10
"""Where each of the settings begins."""
LAST, BEFORE, ACCEPTED, FILTERED, RATE, MEAN, BIAS, FREE = 0, 1, 2, 3, 4, 5, 6, 7
"""Rows of the memory: the last two different readings, the one believed, the low-pass and its rate, the mean of a
free tool, the bias, and the reading without the weight."""
TIME, CHANGED, READ, SAMPLES, STARTED, SPIKES, MISSED, AXIS = 0, 1, 2, 3, 4, 5, 6, 7
"""Times and counts."""

Kernel = Callable[[float, bool, Array, Array, Array, Array, Array, Array, Array], int]


@cache
def compiled() -> Kernel:
    """The kernel as machine code, compiled when the first conditioning is made."""
    from numba import njit

    rows, row = "float64[:,::1]", "float64[::1]"
    signature = f"int64(float64, boolean, {row}, {row}, {row}, {rows}, {rows}, {row}, {row})"
    kernel: Kernel = njit(signature, cache=True)(condition)
    return kernel


def condition(
    time: float,
    free: bool,
    given: Array,
    turn: Array,
    numbers: Array,
    limits: Array,
    memory: Array,
    clock: Array,
    out: Array,
) -> int:
    """Take one reading; return the number of its fault or 0. See `WrenchConditioning`.

    Args:
        time: s.
        free: whether the tool is known to touch nothing.
        given: reading and rotation, (15,).
        turn: the rotation when the reading last changed, (9,); changed.
        numbers: settings, (11,).
        limits: range, spike and drift of each axis, (3, 6).
        memory: (8, 6); changed.
        clock: times and counts, (8,); changed.
        out: the contact wrench, (6,); changed where there is no fault.
    """
    step = time - clock[TIME]
    if clock[STARTED] == 0.0:
        step = 0.0
        clock[STARTED] = 1.0
        clock[READ], clock[CHANGED] = time, time
    clock[TIME] = time
    present, same, still, zero = True, clock[SAMPLES] > 0.0, True, True
    for i in range(6):
        value = given[i]
        if not math.isfinite(value):
            present = False
        elif abs(value) >= limits[RANGE, i]:
            clock[AXIS] = i
            clock[READ], clock[CHANGED] = time, time
            return SATURATED
        if value != memory[LAST, i]:
            same = False
        if value != 0.0:
            zero = False
    for i in range(9):
        if not math.isfinite(given[6 + i]):
            return TURNED
        if given[6 + i] != turn[i]:
            still = False
    if not present:
        clock[MISSED] += 1.0
        if time - clock[READ] > numbers[STALE] or clock[SAMPLES] == 0.0:
            return MISSING
    else:
        clock[READ] = time
        if same:
            empty = zero and numbers[MASS] == 0.0
            if not (still or empty) and time - clock[CHANGED] > numbers[STALE]:
                return FROZEN
        else:
            clock[CHANGED] = time
            for i in range(9):
                turn[i] = given[6 + i]
            clock[SAMPLES] += 1.0
            replaced = False
            for i in range(6):
                a, b, c = given[i], memory[LAST, i], memory[BEFORE, i]
                memory[BEFORE, i], memory[LAST, i] = b, a
                memory[ACCEPTED, i] = a
                if clock[SAMPLES] >= 3.0:
                    median = max(min(a, b), min(max(a, b), c))
                    if abs(a - median) > limits[SPIKE, i]:
                        memory[ACCEPTED, i] = median
                        replaced = True
            if replaced:
                clock[SPIKES] += 1.0
    gx = given[6] * numbers[GRAVITY] + given[9] * numbers[GRAVITY + 1] + given[12] * numbers[GRAVITY + 2]
    gy = given[7] * numbers[GRAVITY] + given[10] * numbers[GRAVITY + 1] + given[13] * numbers[GRAVITY + 2]
    gz = given[8] * numbers[GRAVITY] + given[11] * numbers[GRAVITY + 1] + given[14] * numbers[GRAVITY + 2]
    squares = numbers[GRAVITY] ** 2 + numbers[GRAVITY + 1] ** 2 + numbers[GRAVITY + 2] ** 2
    if abs(gx * gx + gy * gy + gz * gz - squares) > 1e-6 * squares:
        return TURNED
    mass, x, y, z = numbers[MASS], numbers[COM], numbers[COM + 1], numbers[COM + 2]
    gx, gy, gz = mass * gx, mass * gy, mass * gz
    memory[FREE, 0], memory[FREE, 1], memory[FREE, 2] = gx, gy, gz
    memory[FREE, 3], memory[FREE, 4], memory[FREE, 5] = y * gz - z * gy, z * gx - x * gz, x * gy - y * gx
    first = clock[SAMPLES] == 1.0 and not same and present
    cutoff = numbers[CUTOFF]
    if numbers[ORDER] == 1.0:
        decay, sine, cosine, pole = math.exp(-cutoff * step), 0.0, 1.0, 1.0
    else:  # y″ + √2·ω·y′ + ω²·y = ω²·u has the poles ω·(−1 ± i)/√2
        pole = cutoff / math.sqrt(2.0)
        decay, sine, cosine = math.exp(-pole * step), math.sin(pole * step), math.cos(pole * step)
    slow = 1.0 - math.exp(-numbers[SLOW] * step)
    drifted = -1
    for i in range(6):
        memory[FREE, i] += memory[ACCEPTED, i]
        value = memory[FREE, i] - memory[BIAS, i]
        if first or cutoff == 0.0:
            memory[FILTERED, i], memory[RATE, i] = value, 0.0
        elif numbers[ORDER] == 1.0:
            memory[FILTERED, i] = value + decay * (memory[FILTERED, i] - value)
        else:
            error, rate = memory[FILTERED, i] - value, memory[RATE, i]
            memory[FILTERED, i] = value + decay * ((cosine + sine) * error + sine / pole * rate)
            memory[RATE, i] = decay * ((cosine - sine) * rate - 2.0 * pole * sine * error)
        out[i] = memory[FILTERED, i]
        if free:
            memory[MEAN, i] += slow * (value - memory[MEAN, i])
        if drifted < 0 and abs(memory[MEAN, i]) > limits[DRIFT, i]:
            drifted = i
    if drifted >= 0:
        clock[AXIS] = drifted
        return DRIFTED
    return 0
