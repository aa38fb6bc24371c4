"""The numbers of a policy's deployment: how well it did, and how far the machine was from the prediction."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pliant.deployment.episodes import Trace
from pliant.hardware.robot import Array
from pliant.training.evaluation import Episode, summary


def outcome_numbers(traces: Sequence[Trace], predicted: Sequence[Trace]) -> dict[str, Any]:
    """Return what came of the finished episodes, with what was predicted of all, and of each.

    Args:
        traces: measured, of the first seeds of the prediction.
        predicted: by simulation, all finished.
    """
    done, foretold = _episodes(traces), _episodes(predicted)
    found = summary(foretold)
    each = [
        {
            **ours._asdict(),
            **{f"predicted_{name}": getattr(theirs, name) for name in ("reward", "length", "success")},
        }
        for ours, theirs in zip(done, foretold, strict=False)
    ]
    nothing: dict[str, Any] = {**dict.fromkeys(found), "episodes": 0, "failures": 0}
    return {
        **(summary(done) if done else nothing),
        "predicted_success_rate": found["success_rate"],
        "predicted_reward_mean": found["reward_mean"],
        "each": each,
    }


def difference_numbers(
    traces: Sequence[Trace], predicted: Sequence[Trace], joints: Sequence[str]
) -> dict[str, Any]:
    """Return the largest and the mean absolute difference between measured and predicted angles, rad.

    Rows are compared period by period, as far as both episodes went.
    """
    differences = [np.abs(measured - simulated) for measured, simulated in common_rows(traces, predicted)]
    if not differences:
        return dict.fromkeys(
            ("max_difference_rad", "max_difference_per_joint_rad", "mean_difference_per_joint_rad")
        )
    everything = np.concatenate(differences)
    largest, mean = everything.max(axis=0).tolist(), everything.mean(axis=0).tolist()
    return {
        "max_difference_rad": max(largest),
        "max_difference_per_joint_rad": dict(zip(joints, largest, strict=True)),
        "mean_difference_per_joint_rad": dict(zip(joints, mean, strict=True)),
    }


def common_rows(traces: Sequence[Trace], predicted: Sequence[Trace]) -> Iterator[tuple[Array, Array]]:
    """Yield measured and predicted positions, (n, joints), of each episode, as far as both went."""
    for ours, theirs in zip(traces, predicted, strict=False):
        if n := min(len(ours.position), len(theirs.position)):
            yield np.array(ours.position[:n]), np.array(theirs.position[:n])


def _episodes(traces: Sequence[Trace]) -> list[Episode]:
    return [trace.episode for trace in traces if trace.episode is not None]
