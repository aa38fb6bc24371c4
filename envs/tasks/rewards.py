"""Reward terms. Each returns what its name says; the weight, negative for a cost, says what it is worth.

e is the error goal − measured of the goal's numbers that the term is about (`goals`), in their unit.
"""

import math
from typing import Final

from pliant.envs.tasks.term import TermFunction, reward
from pliant.hardware.robot import Array

# Distance from the goal -----------------------------------------------------------------------------------------


@reward()
def error(goal: Array, measured: Array) -> float:
    """√mean(e²), in the goal's unit; ≥ 0."""
    return math.sqrt(mean_square(goal, measured))


@reward()
def distance(goal: Array, measured: Array) -> float:
    """|e| = √Σe² of a position, m; ≥ 0."""
    return euclidean(goal, measured)


@reward(positive="width")
def tracking(goal: Array, measured: Array, width: float) -> float:
    """1/(1 + mean(e²)/width²), in (0, 1]; 1/2 where √mean(e²) = width, in the goal's unit."""
    return 1.0 / (1.0 + mean_square(goal, measured) / (width * width))


@reward(positive="width")
def nearness(goal: Array, measured: Array, width: float) -> float:
    """1/(1 + |e|²/width²) of a position, in (0, 1]; 1/2 where |e| = width, m."""
    e = euclidean(goal, measured)
    return 1.0 / (1.0 + e * e / (width * width))


@reward()
def angle(goal: Array, measured: Array) -> float:
    """Angle between two orientations, quaternions w, x, y, z: 2·acos|⟨goal, measured⟩|, rad, in [0, π]."""
    return turned(goal, measured)


# What it costs --------------------------------------------------------------------------------------------------


@reward()
def action_rate(action: Array, previous: Array) -> float:
    """mean((a − a₋₁)²), in [0, 4]; a₋₁ rests at the start."""
    square = 0.0
    for k in range(action.size):
        change = action[k] - previous[k]
        square += change * change
    return square / action.size


@reward()
def action_size(action: Array) -> float:
    """mean(a²), in [0, 1]."""
    square = 0.0
    for k in range(action.size):
        square += action[k] * action[k]
    return square / action.size


@reward(torque="*/torque")
def effort(torque: Array) -> float:
    """mean(τ²), (N·m)²; ≥ 0."""
    square = 0.0
    for value in torque:
        square += value * value
    return square / torque.size


@reward(torque="*/torque", velocity="*/velocity")
def power(torque: Array, velocity: Array) -> float:
    """Σ|τ·q̇|, W; ≥ 0. Mechanical power that the drives give or take at the links."""
    total = 0.0
    for j in range(torque.size):
        total += abs(torque[j] * velocity[j])
    return total


@reward(signals="*/torque")
def excess(signals: Array, limit: float) -> float:
    """Σ max(|s| − limit, 0) of the signals that are named, in their unit; ≥ 0."""
    total = 0.0
    for number in signals:
        total += max(abs(number) - limit, 0.0)
    return total


@reward(velocity="*/velocity")
def speed(velocity: Array) -> float:
    """mean(q̇²), (rad/s)²; ≥ 0."""
    square = 0.0
    for value in velocity:
        square += value * value
    return square / velocity.size


@reward(position="*/position")
def joint_limits(position: Array, position_low: Array, position_high: Array, margin: float = 0.05) -> float:
    """Σ of what each joint is nearer to an end of its range than `margin`, rad; 0 far from them."""
    total = 0.0
    for j in range(position.size):
        total += max(position_low[j] + margin - position[j], 0.0)
        total += max(position[j] - position_high[j] + margin, 0.0)
    return total


@reward(force="*/force_*")
def contact_force(force: Array, threshold: float = 0.0) -> float:
    """max(|F| − threshold, 0) of a force sensor, N; ≥ 0."""
    square = 0.0
    for value in force:
        square += value * value
    return max(math.sqrt(square) - threshold, 0.0)


# How it stands --------------------------------------------------------------------------------------------------


@reward(orientation="base/orientation_*")
def upright(orientation: Array) -> float:
    """Cosine of the angle between the base's z axis and the world's, in [−1, 1]."""
    return float(1.0 - 2.0 * (orientation[1] * orientation[1] + orientation[2] * orientation[2]))


@reward(position="base/position_z", positive="width")
def height(position: Array, target: float, width: float = 0.1) -> float:
    """1/(1 + (z − target)²/width²), in (0, 1]; 1/2 where the base is `width` (m) off its height `target` (m)."""
    e = position[0] - target
    return float(1.0 / (1.0 + e * e / (width * width)))


# Events and values ----------------------------------------------------------------------------------------------


@reward()
def alive(failure: float) -> float:
    """1 in every period but one that ends in a failure."""
    return 1.0 - failure


@reward()
def success(success: float) -> float:
    """1 in the period in which success ends the episode, else 0."""
    return success


@reward()
def failure(failure: float) -> float:
    """1 in the period in which a failure ends the episode, else 0."""
    return failure


@reward(velocity="base/velocity_x")
def ahead(velocity: Array, most: float = 10.0) -> float:
    """Speed of the base along the world's x, m/s; faster than `most` counts as `most`."""
    return float(min(velocity[0], most))


@reward(signals=("base/position_y", "base/orientation_z"), memory=1)
def leaving(signals: Array, step: float, period: float, memory: Array) -> float:
    """d(Σ|s|)/dt of the signals that are named, in their unit per s; negative when they return to 0.

    Over an episode it adds up to how far they have gone from 0, and counts when they go: a policy that does not
    see them learns from what it does at that moment (potential-based shaping, Ng, Harada and Russell 1999).
    """
    before, memory[0] = memory[0], 0.0
    for number in signals:
        memory[0] += abs(number)
    return float((memory[0] - before) / period) if step > 1.0 else 0.0


@reward(signals="*/*")
def value(signals: Array) -> float:
    """Sum of the signals that are named, in their unit."""
    total = 0.0
    for number in signals:
        total += number
    return total


# Formulas that ends share ---------------------------------------------------------------------------------------


def mean_square(goal: Array, measured: Array) -> float:
    """mean(e²)."""
    square = 0.0
    for j in range(goal.size):
        e = goal[j] - measured[j]
        square += e * e
    return square / goal.size


def largest(goal: Array, measured: Array) -> float:
    """max|e|."""
    found = 0.0
    for j in range(goal.size):
        found = max(found, abs(goal[j] - measured[j]))
    return found


def euclidean(goal: Array, measured: Array) -> float:
    """√Σe², without overflow for the first two."""
    length = (
        math.hypot(goal[0] - measured[0], goal[1] - measured[1]) if goal.size > 1 else abs(goal[0] - measured[0])
    )
    for j in range(2, goal.size):
        length = math.hypot(length, goal[j] - measured[j])
    return length


def turned(goal: Array, measured: Array) -> float:
    """Angle between two orientations given as unit quaternions, rad."""
    product = 0.0
    for j in range(4):
        product += goal[j] * measured[j]
    return 2.0 * math.acos(min(abs(product), 1.0))


REWARDS: Final[dict[str, TermFunction]] = {
    term.name: term
    for term in (
        error, distance, tracking, nearness, angle,
        action_rate, action_size, effort, power, excess, speed, joint_limits, contact_force,
        upright, height, alive, success, failure, ahead, leaving, value,
    )
}  # fmt: skip
"""By name."""
