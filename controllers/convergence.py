"""Whether a learning law can converge on a robot: told from one trial and a linear model, before the second one.

From trial to trial the error obeys e⁺ = (1 − L·P)·e, at every frequency by itself: L is what the law makes of an
error, P how a joint answers to a command. Three things keep it from vanishing:

- at rest, |1 − L(0)·g| ≥ 1 with the static gain g = dq/du: the correction is more than twice too large, or points
  the wrong way;
- above some frequency |1 − L·P| > 1, because the joint lags behind: what little the motion has of that comes back
  larger in every trial, most of all at a resonance;
- the law's gain fades before the error has.

Source: Bristow, Tharayil & Alleyne 2006, A survey of iterative learning control, theorems 1 and 2; Longman 2000,
Iterative learning control and repetitive control for engineering practice, on good and bad learning transients.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.learning import IterativeLearning, StopReason
from pliant.controllers.lifted import LiftedModel

_FREQUENCIES = 200
_LOWEST = 0.02
"""Of the frequencies that are looked at, Hz."""
_GROWTH = 1.02
"""A last error above this multiple of the best one has grown."""


class Forecast(NamedTuple):
    """What the model says of trials that have not been run."""

    converges: bool
    """Whether one of them comes within the tolerance."""
    best: float
    """Smallest of their largest errors, rad."""
    trials: int
    """How many they are with those that were run."""
    why: str
    """Which condition fails, and what to change, in sentences; empty if it converges."""


def forecast(learning: IterativeLearning, response: Array, joints: Sequence[str]) -> Forecast | None:
    """Return how a learning is likely to go on after the trials that it has run.

    The trials to come are run on the linear model, from the last real one. As far as the robot is not linear, or
    sticks, it will do otherwise.

    Args:
        learning: with one trial at least.
        response: (instants, m, joints, joints); see `coupled_response`.
        joints: their names.

    Returns:
        None where no trial is left, and for a law that does not say what it makes of an error; see
            `LearningLaw.transfer`.
    """
    last = learning.history[-1]
    frequency = np.insert(np.geomspace(_LOWEST, 0.5 / learning.motion.period, _FREQUENCIES), 0, 0.0)
    transfer = learning.law.transfer(last.iteration + 1, frequency)
    if transfer is None:
        return None
    model = LiftedModel(response, len(last.command))
    ahead = replace(learning, runner=lambda command: last.position + model.positions(command - last.command))
    ahead.history = list(learning.history)
    trials = list(ahead)
    if not trials:
        return None
    result = ahead.result
    if result.reason is StopReason.CONVERGED:
        return Forecast(True, result.history[-1].max_error, len(result.history), "")
    worst = int(np.abs(trials[-1].error).max(axis=0).argmax())
    best = min(trial.max_error for trial in trials)
    growing = result.reason is StopReason.DIVERGED or trials[-1].max_error > _GROWTH * best
    ratios = _ratios(response, transfer, frequency, learning.motion.period)
    why = _reason(joints, worst, ratios, frequency[1:], response, growing)
    return Forecast(False, best, len(result.history), why)


def _ratios(response: Array, transfer: NDArray[np.complexfloating], frequency: Array, period: float) -> Array:
    """Return |1 − L·P| of each joint alone, and of all together: (instants, frequencies, joints + 1)."""
    times = period * np.arange(response.shape[1])
    answer = np.einsum("ft,ktij->kfij", np.exp(-2j * np.pi * frequency[:, None] * times), response)
    joints = response.shape[2]
    left = np.eye(joints) - answer * np.broadcast_to(transfer, (len(frequency), joints))[:, None, :]
    alone = np.abs(np.diagonal(left, axis1=-2, axis2=-1))
    together = np.abs(np.linalg.eigvals(left)).max(axis=-1)
    return np.concatenate([alone, together[..., None]], axis=-1)


def _reason(
    joints: Sequence[str], worst: int, ratios: Array, frequency: Array, response: Array, growing: bool
) -> str:
    """Say which condition fails, and what to change."""
    names = [f"joint {joint!r}" for joint in joints] + ["all joints together, which act on each other"]
    at_rest, moving = ratios[:, 0].max(axis=0), ratios[:, 1:].max(axis=0)
    if at_rest.max() >= 1.0:
        j = int(at_rest[:-1].argmax()) if at_rest[:-1].max() >= 1.0 else len(joints)
        gains = response.sum(axis=1).diagonal(axis1=-2, axis2=-1)[:, : j + 1]
        return (
            f"At rest |1 − L·P| = {at_rest[j]:.2f} for {names[j]}, not below 1: with static gains dq/du of "
            f"{gains[:, -1].min():.2f} to {gains[:, -1].max():.2f} along the motion a correction is too large or "
            "points the wrong way. Lower the gain, take a stiffer preset, or ilc=norm_optimal, which knows the "
            "gains."
        )
    if not growing:
        return (
            f"Nothing grows, but the error of {names[worst]} shrinks too slowly: at rest |1 − L·P| = "
            f"{at_rest[worst]:.2f} in the next trial, and a gain that fades makes less of it in each. Take a "
            "larger gain, let it fade later (decay), allow more trials (learning.max_iterations), or "
            "ilc=norm_optimal."
        )
    growth = moving.max(axis=0) - 1.0
    j = worst if growth[worst] > 0.5 * growth[-1] else len(joints)
    peak, limit = int(moving[:, j].argmax()), frequency[int(np.argmax(moving[:, j] > 1.0))]
    return (
        f"The dynamics are too quick for this law, for {names[j]}: |1 − L·P| exceeds 1 from {limit:.2g} Hz on and "
        f"is {moving[peak, j]:.2f} at {frequency[peak]:.2g} Hz, so what the motion has of that grows in every "
        "trial. Take a slower trajectory, a lower gain, stiffer or more damped joints, or ilc=norm_optimal, which "
        "has a model of them."
    )
