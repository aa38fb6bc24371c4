"""What happens to episodes in a period, as plain functions over arrays with the episode as leading axis.

They run compiled (`pliant.envs.compiled`), for one episode as for thousands, and a batch gives to the last bit
what each of its episodes gives alone. The arrays are those of `Episodes`; they are changed in place.
"""

import math
from typing import Final

from pliant.hardware.robot import Array

STEP: Final = 0
TALLY: Final = 1
CHANGE: Final = 2
MEMORY: Final = 3
"""Columns of `Episodes.memory`, and how many there are."""

REWARD: Final = -4
SUCCESS: Final = -3
TERMINATED: Final = -2
TRUNCATED: Final = -1
VERDICT: Final = 4
"""The last columns of `Episodes.outcome`, and how many they are; the reward's terms come before them."""


def spread_actions(
    action: Array, previous: Array, memory: Array, middle: Array, half: Array, source: Array, command: Array
) -> bool:
    """Limit actions to [−1, 1], spread them over the commands, middle + half·action, and see how they change.

    Args:
        action: (n, actions), limited.
        previous: (n, actions), overwritten by the limited actions.
        memory: (n, 3); `CHANGE` becomes the mean square of the change of the action.
        middle: of each column's bounds, (columns,); the resting value of a column that is not commanded.
        half: half the range of each column, (columns,); 0 likewise.
        source: which action commands each column, (columns,) int.
        command: (n, columns), written.

    Returns:
        Whether all actions are finite; if not, nothing has been changed.
    """
    for i in range(action.shape[0]):
        for k in range(action.shape[1]):
            if not math.isfinite(action[i, k]):
                return False
    for i in range(action.shape[0]):
        square = 0.0
        for k in range(action.shape[1]):
            action[i, k] = min(max(action[i, k], -1.0), 1.0)
            change = action[i, k] - previous[i, k]
            square += change * change
            previous[i, k] = action[i, k]
        memory[i, CHANGE] = square / action.shape[1]
        for k in range(command.shape[1]):
            command[i, k] = middle[k] + half[k] * action[i, source[k]]
    return True


def observe(
    signals: Array,
    observed: Array,
    command: Array,
    commanded: Array,
    added: Array,
    limits: Array,
    observation: Array,
) -> bool:
    """Put observations together and limit them to their bounds; a NaN stays one.

    Args:
        signals: (n, signals).
        observed: which of them, (k,) int.
        command: (n, columns).
        commanded: which columns are observed, (actions,) int.
        added: (n, k).
        limits: lower and upper bounds, (2, size).
        observation: (n, size), written.

    Returns:
        Whether no entry is NaN.
    """
    complete = True
    for i in range(signals.shape[0]):
        at = 0
        for k in observed:
            observation[i, at] = signals[i, k]
            at += 1
        for k in commanded:
            observation[i, at] = command[i, k]
            at += 1
        for k in range(added.shape[1]):
            observation[i, at] = added[i, k]
            at += 1
        for k in range(at):
            value = observation[i, k]
            if value < limits[0, k]:
                observation[i, k] = limits[0, k]
            elif value > limits[1, k]:
                observation[i, k] = limits[1, k]
            elif math.isnan(value):
                complete = False
    return complete


def judge_tracking(
    memory: Array,
    signals: Array,
    desired: Array,
    added: Array,
    outcome: Array,
    width: float,
    smoothness: float,
    tolerance: float,
) -> None:
    """Judge a period of `Track`: its terms `tracking` and `smoothness`.

    Args:
        memory: (n, 3); the tally is the largest error so far.
        signals: (n, signals).
        desired: positions and velocities at every period, (periods + 2, 2·joints).
        added: (n, 2·joints), written: what is desired at the end of the coming period.
        outcome: (n, 6), written.
        width: rad.
        smoothness: weight.
        tolerance: rad.
    """
    joints = desired.shape[1] // 2
    for i in range(memory.shape[0]):
        step = int(memory[i, STEP]) + 1
        square = 0.0
        worst = memory[i, TALLY]
        for j in range(joints):
            error = desired[step, j] - signals[i, j]
            square += error * error
            worst = max(worst, abs(error))
        for j in range(2 * joints):
            added[i, j] = desired[step + 1, j]
        score_tracking(
            i, step, desired.shape[0] - 2, square / joints, worst, memory, outcome, width, smoothness, tolerance
        )


def judge_path(
    memory: Array,
    desired: Array,
    added: Array,
    outcome: Array,
    width: float,
    smoothness: float,
    tolerance: float,
) -> None:
    """Judge a period of `TrackPath`: its terms `tracking` and `smoothness`.

    Args:
        memory: (n, 3); the tally is the largest error so far.
        desired: positions and velocities at every period, (periods + 2, 4).
        added: (n, 6); the tip is read, and what is desired at the end of the coming period written.
        outcome: (n, 6), written.
        width: m.
        smoothness: weight.
        tolerance: m.
    """
    for i in range(memory.shape[0]):
        step = int(memory[i, STEP]) + 1
        error = math.hypot(desired[step, 0] - added[i, 0], desired[step, 1] - added[i, 1])
        worst = max(memory[i, TALLY], error)
        for k in range(4):
            added[i, 2 + k] = desired[step + 1, k]
        score_tracking(
            i, step, desired.shape[0] - 2, error * error, worst, memory, outcome, width, smoothness, tolerance
        )


def score_tracking(
    i: int,
    step: int,
    last: int,
    square: float,
    worst: float,
    memory: Array,
    outcome: Array,
    width: float,
    smoothness: float,
    tolerance: float,
) -> None:
    """Reward an error that is to be small in every period; success if it always was.

    Args:
        i: which episode.
        step: periods since its start.
        last: the period with which it ends.
        square: of the error now.
        worst: the largest error so far.
        memory: (n, 3), written.
        outcome: (n, 6), written.
        width: error at which the reward falls to 1/2.
        smoothness: weight.
        tolerance: largest error of a success.
    """
    tracking = 1.0 / (1.0 + square / (width * width))
    rough = -smoothness * memory[i, CHANGE]
    memory[i, STEP], memory[i, TALLY] = step, worst
    outcome[i, REWARD] = tracking + rough
    outcome[i, SUCCESS] = 1.0 if worst < tolerance else 0.0
    outcome[i, TERMINATED] = 0.0
    outcome[i, TRUNCATED] = 1.0 if step >= last else 0.0
    outcome[i, 0], outcome[i, 1] = tracking, rough


def judge_reaching(
    memory: Array,
    signals: Array,
    goal: Array,
    outcome: Array,
    tolerance: float,
    hold: int,
    horizon: int,
    smoothness: float,
    bonus: float,
) -> None:
    """Judge a period of `Reach`: its terms `distance`, `smoothness` and `success`.

    Args:
        memory: (n, 3); the tally is for how many periods the goal has been kept.
        signals: (n, signals).
        goal: (n, joints).
        outcome: (n, 7), written.
        tolerance: rad.
        hold: periods.
        horizon: periods.
        smoothness: weight.
        bonus: reward of success.
    """
    joints = goal.shape[1]
    for i in range(memory.shape[0]):
        square = 0.0
        largest = 0.0
        for j in range(joints):
            error = goal[i, j] - signals[i, j]
            square += error * error
            largest = max(largest, abs(error))
        distance = math.sqrt(square / joints)
        score_reaching(i, distance, largest < tolerance, memory, outcome, hold, horizon, smoothness, bonus)


def judge_point(
    memory: Array,
    added: Array,
    outcome: Array,
    tolerance: float,
    hold: int,
    horizon: int,
    smoothness: float,
    bonus: float,
) -> None:
    """Judge a period of `ReachPoint`: its terms `distance`, `smoothness` and `success`.

    Args:
        memory: (n, 3); the tally is for how many periods the goal has been kept.
        added: tip and goal, (n, 4).
        outcome: (n, 7), written.
        tolerance: m.
        hold: periods.
        horizon: periods.
        smoothness: weight.
        bonus: reward of success.
    """
    for i in range(memory.shape[0]):
        distance = math.hypot(added[i, 2] - added[i, 0], added[i, 3] - added[i, 1])
        near = distance < tolerance
        score_reaching(i, distance, near, memory, outcome, hold, horizon, smoothness, bonus)


def score_reaching(
    i: int,
    distance: float,
    near: bool,
    memory: Array,
    outcome: Array,
    hold: int,
    horizon: int,
    smoothness: float,
    bonus: float,
) -> None:
    """Penalise the distance from a goal; success, which ends the episode, once it has been near for long enough.

    Args:
        i: which episode.
        distance: from the goal now.
        near: whether that is near enough.
        memory: (n, 3), written.
        outcome: (n, 7), written.
        hold: periods.
        horizon: periods.
        smoothness: weight.
        bonus: reward of success.
    """
    memory[i, STEP] += 1.0
    memory[i, TALLY] = memory[i, TALLY] + 1.0 if near else 0.0
    success = memory[i, TALLY] >= hold
    rough = -smoothness * memory[i, CHANGE]
    reward = bonus if success else 0.0
    outcome[i, REWARD] = rough + reward - distance
    outcome[i, SUCCESS] = outcome[i, TERMINATED] = 1.0 if success else 0.0
    outcome[i, TRUNCATED] = 1.0 if memory[i, STEP] >= horizon and not success else 0.0
    outcome[i, 0], outcome[i, 1], outcome[i, 2] = -distance, rough, reward
