"""The `info` of many environments in one dictionary, laid out as `gymnasium.vector.SyncVectorEnv` does.

`infos[name]` holds what environment i reports at index i, and `infos["_" + name]` which of them do.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.envs.tasks.row import SUCCESS
from pliant.hardware.robot import Array

Mask = NDArray[np.bool_]


def add(infos: dict[str, Any], name: str, values: Any, mask: Mask) -> None:
    """Add an entry to `infos` that the environments in `mask` report."""
    infos[name], infos[f"_{name}"] = values, mask.copy()


def step_report(
    terms: Sequence[str],
    outcome: Array,
    mask: Mask,
    failures: Mapping[int, str],
    penalty: float,
    success: bool = True,
) -> dict[str, Any]:
    """Return what the environments in `mask` report of a period.

    Args:
        terms: names of the reward's terms.
        outcome: `Episodes.outcome`, (n, terms + 4).
        mask: (n,).
        failures: why robots failed, by number.
        penalty: what a failure costs.
        success: whether the task tells of it.
    """
    infos: dict[str, Any] = {}
    if not mask.any():
        return infos
    for k, term in enumerate(terms):
        add(infos, f"reward_{term}", np.where(mask, outcome[:, k], 0.0), mask)
    if success:
        add(infos, "is_success", mask & (outcome[:, SUCCESS] == 1.0), mask)
    if failures:
        failed = np.zeros(len(mask), dtype=np.bool_)
        failed[list(failures)] = True
        reasons = np.full(len(mask), None, dtype=object)
        reasons[list(failures)] = list(failures.values())
        add(infos, "reward_failure", np.where(failed, -penalty, 0.0), failed)
        add(infos, "failure", reasons, failed)
    return infos


def parameter_report(names: Sequence[str], values: Sequence[Sequence[float]], mask: Mask) -> dict[str, Any]:
    """Return what the environments in `mask` report of the robots that begin: their parameters by name.

    Args:
        names: of the parameters.
        values: of every environment, in the order of the names.
        mask: (n,).
    """
    infos: dict[str, Any] = {}
    index = np.flatnonzero(mask)
    if not len(names) or not len(index):
        return infos
    table = np.zeros((len(mask), len(names)))
    table[index] = [values[i] for i in index.tolist()]
    parameters: dict[str, Any] = {}
    for name, column in zip(names, table.T, strict=True):
        add(parameters, name, column.copy(), mask)
    add(infos, "parameters", parameters, mask)
    return infos


def single(infos: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return what environment `index` reports, as that one alone would."""
    report: dict[str, Any] = {}
    for name, mask in infos.items():
        if not name.startswith("_"):
            continue
        if mask[index]:
            value = infos[name[1:]]
            report[name[1:]] = single(value, index) if isinstance(value, Mapping) else _plain(value[index])
    return report


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
