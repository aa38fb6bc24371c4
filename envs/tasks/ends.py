"""End conditions: when an episode is a success, a failure, or over.

A role says what a condition means: `success` and `failure` terminate the episode, `time` truncates it, and a
`verdict` ends nothing but decides whether it counts as a success so far. e is as for the rewards.
"""

import math
from typing import Final

from pliant.envs.tasks.rewards import euclidean, largest, turned
from pliant.envs.tasks.term import TermFunction, end
from pliant.hardware.robot import Array

SUCCEEDING: Final = ("success", "verdict")
"""Roles that say whether an episode is a success."""

# Success --------------------------------------------------------------------------------------------------------


@end("success", memory=1, positive=("tolerance", "hold"))
def reached(goal: Array, measured: Array, tolerance: float, hold: float, period: float, memory: Array) -> bool:
    """Every |e| has been below `tolerance` (the goal's unit) for the last `hold` seconds."""
    return kept(largest(goal, measured) < tolerance, hold, period, memory)


@end("success", memory=1, positive=("tolerance", "hold"))
def arrived(goal: Array, measured: Array, tolerance: float, hold: float, period: float, memory: Array) -> bool:
    """|e| of a position has been below `tolerance` (m) for the last `hold` seconds."""
    return kept(euclidean(goal, measured) < tolerance, hold, period, memory)


@end("success", memory=1, positive=("tolerance", "angle", "hold"))
def posed(
    goal: Array, measured: Array, tolerance: float, angle: float, hold: float, period: float, memory: Array
) -> bool:
    """Position within `tolerance` (m) and orientation within `angle` (rad) for the last `hold` seconds.

    The goal's last four numbers are the orientation's quaternion, those before it the position.
    """
    place = goal.size - 4
    near = euclidean(goal[:place], measured[:place]) < tolerance
    return kept(near and turned(goal[place:], measured[place:]) < angle, hold, period, memory)


# Verdicts -------------------------------------------------------------------------------------------------------


@end("verdict", memory=1, positive="tolerance")
def followed(goal: Array, measured: Array, tolerance: float, memory: Array) -> bool:
    """Every |e| was below `tolerance` (the goal's unit) in every period so far."""
    memory[0] = max(memory[0], largest(goal, measured))
    return bool(memory[0] < tolerance)


@end("verdict", memory=1, positive="tolerance")
def stayed_near(goal: Array, measured: Array, tolerance: float, memory: Array) -> bool:
    """|e| of a position was below `tolerance` (m) in every period so far."""
    memory[0] = max(memory[0], euclidean(goal, measured))
    return bool(memory[0] < tolerance)


@end("verdict", memory=1, positive="tolerance")
def stayed_aligned(goal: Array, measured: Array, tolerance: float, memory: Array) -> bool:
    """The angle between two orientations was below `tolerance` (rad) in every period so far."""
    memory[0] = max(memory[0], turned(goal, measured))
    return bool(memory[0] < tolerance)


@end("verdict", memory=1, positive="tolerance")
def followed_on_average(goal: Array, measured: Array, tolerance: float, step: float, memory: Array) -> bool:
    """The mean of max|e| over the episode so far is below `tolerance` (the goal's unit)."""
    memory[0] += largest(goal, measured)
    return bool(memory[0] < tolerance * step)


@end("verdict", signals="*/*")
def at_least(signals: Array, limit: float) -> bool:
    """All of the signals that are named are at least `limit` (their unit)."""
    lowest = math.inf
    for number in signals:
        lowest = min(lowest, number)
    return lowest >= limit


@end("verdict", memory=1, signals="*/torque")
def stayed_within(signals: Array, limit: float, memory: Array) -> bool:
    """None of the signals that are named was beyond ±`limit` (their unit) in any period so far."""
    for number in signals:
        memory[0] = max(memory[0], abs(number))
    return bool(memory[0] <= limit)


# Failures -------------------------------------------------------------------------------------------------------


@end("failure", orientation="base/orientation_*", height="base/position_z")
def fallen(orientation: Array, height: Array, lowest: float = 0.0, tilt: float = 1.0) -> bool:
    """The base is lower than `lowest` (m), or its z axis leans more than `tilt` (rad) from the world's."""
    upright = 1.0 - 2.0 * (orientation[1] * orientation[1] + orientation[2] * orientation[2])
    return bool(height[0] < lowest or upright < math.cos(tilt))


@end("failure", signals="*/*")
def beyond(signals: Array, limit: float) -> bool:
    """One of the signals that are named is beyond ±`limit` (their unit)."""
    found = 0.0
    for number in signals:
        found = max(found, abs(number))
    return bool(found > limit)


@end("failure", signals="*/position")
def out_of_range(signals: Array, signals_low: Array, signals_high: Array, margin: float = 0.0) -> bool:
    """One of the signals that are named has left its range by more than `margin` (its unit)."""
    for j in range(signals.size):
        if signals[j] < signals_low[j] - margin or signals[j] > signals_high[j] + margin:
            return True
    return False


# Time -----------------------------------------------------------------------------------------------------------


@end("time", positive="duration")
def time_up(duration: float, step: float, period: float) -> bool:
    """`duration` seconds are over, counted in whole periods."""
    return step >= periods(duration, period)


@end("time")
def goal_ended(table: Array, step: float) -> bool:
    """The motion of the goal has come to its end."""
    return bool(step >= table.shape[0] - 1)


# Formulas -------------------------------------------------------------------------------------------------------


def kept(near: bool, hold: float, period: float, memory: Array) -> bool:
    """Whether something has held for the last `hold` seconds; counts its periods in `memory`."""
    memory[0] = memory[0] + 1.0 if near else 0.0
    return bool(memory[0] >= periods(hold, period))


def periods(duration: float, period: float) -> float:
    """How many periods a duration (s) takes, rounded up; at least 1."""
    return max(math.ceil(duration / period - 1e-9), 1.0)


ENDS: Final[dict[str, TermFunction]] = {
    term.name: term
    for term in (
        reached, arrived, posed, followed, stayed_near, stayed_aligned, followed_on_average,
        at_least, stayed_within, fallen, beyond, out_of_range, time_up, goal_ended,
    )
}  # fmt: skip
"""By name."""
