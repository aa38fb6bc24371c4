"""Where the numbers of a training go while it runs: files, TensorBoard, Weights & Biases, MLflow.

Needs stable-baselines3; imported by what trains.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import CSVOutputFormat, KVWriter, Logger, TensorBoardOutputFormat

from pliant.errors import require_extra, unknown_name


class WandbWriter(KVWriter):  # type: ignore[misc]
    """Sends numbers to Weights & Biases (extra `wandb`); without a network set WANDB_MODE=offline."""

    def __init__(self, folder: Path, config: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Begin a run there.

        Args:
            folder: of the run here; its name is the run's name there.
            config: to be kept with it.
            options: further arguments of `wandb.init` (project, group, tags, …).
        """
        wandb = require_extra("wandb", "wandb", "logging to Weights & Biases")
        self._run = wandb.init(**{"dir": str(folder), "name": folder.name, "config": dict(config), **options})

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Send what was recorded at a step."""
        self._run.log(_numbers(key_values, key_excluded, "wandb"), step=step)

    def close(self) -> None:
        """End the run there."""
        self._run.finish()


class MlflowWriter(KVWriter):  # type: ignore[misc]
    """Sends numbers to MLflow (extra `mlflow`), at MLFLOW_TRACKING_URI or the option `tracking_uri`."""

    def __init__(self, folder: Path, config: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Begin a run there.

        Args:
            folder: of the run here; its name is the run's name there.
            config: to be kept with it, as `config.json`.
            options: `tracking_uri`, `experiment`; all optional.
        """
        mlflow = require_extra("mlflow", "mlflow", "logging to MLflow")
        if "tracking_uri" in options:
            mlflow.set_tracking_uri(options["tracking_uri"])
        mlflow.set_experiment(options.get("experiment", "pliant"))
        self._mlflow = mlflow
        mlflow.start_run(run_name=folder.name)
        mlflow.log_dict(dict(config), "config.json")

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Send what was recorded at a step."""
        self._mlflow.log_metrics(_numbers(key_values, key_excluded, "mlflow"), step=step)

    def close(self) -> None:
        """End the run there."""
        self._mlflow.end_run()


def _csv(folder: Path, config: Mapping[str, Any], options: Mapping[str, Any]) -> KVWriter:
    return CSVOutputFormat(str(folder / "progress.csv"))


def _tensorboard(folder: Path, config: Mapping[str, Any], options: Mapping[str, Any]) -> KVWriter:
    require_extra("tensorboard", "train", "logging to TensorBoard")
    return TensorBoardOutputFormat(str(folder / "tensorboard"))


_WRITERS = {"csv": _csv, "tensorboard": _tensorboard, "wandb": WandbWriter, "mlflow": MlflowWriter}


def make_logger(
    names: Sequence[str], folder: Path, config: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]
) -> Logger:
    """Return a logger that writes to all places named.

    Args:
        names: any of csv, tensorboard, wandb, mlflow.
        folder: of the run.
        config: of the run, as plain data.
        options: of a place, by its name.

    Raises:
        UnknownNameError: no such place.
        MissingExtraError: its package is not installed.
    """
    for name in names:
        if name not in _WRITERS:
            raise unknown_name("place to log to", name, _WRITERS, "logging.to")
    return Logger(str(folder), [_WRITERS[name](folder, config, options.get(name, {})) for name in names])


def _numbers(values: Mapping[str, Any], excluded: Mapping[str, Any], place: str) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float | np.number) and place not in (excluded.get(name) or ())
    }
