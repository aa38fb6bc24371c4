"""Checkpoints: everything that decides how a training goes on, in one file, complete or absent.

A sealed zip archive of `checkpoint.json` (what the training is), `model.zip` (stable-baselines3's own: networks,
optimisers, schedules, counters), `state.pickle` (normaliser, episodes, random generators, progress), and, where
there is one, `replay_buffer.npz` and `policy.onnx`, the best policy so far. Going on from one runs code that is in
it (pickle), so go on from runs that you trust; nothing else reads checkpoints.
"""

import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import differences
from pliant.errors import FileFormatError, MismatchError, MissingFileError
from pliant.files import check_seal, existing_file, read_bytes, sealed_archive, write_bytes

_FORMAT = 2
_LABEL, _MODEL, _STATE = "checkpoint.json", "model.zip", "state.pickle"
_BUFFER, _BEST = "replay_buffer.npz", "policy.onnx"
_FOLDER = "checkpoints"


@dataclass(frozen=True)
class Checkpoint:
    """A training at one instant."""

    steps: int
    """Environment steps taken."""
    settings: Mapping[str, Any]
    """What must be the same to go on, as plain data."""
    model: bytes
    """stable-baselines3's file."""
    state: Mapping[str, Any]
    """Everything else that changes, by name."""
    buffer: Mapping[str, NDArray[Any]] | None
    """The filled part of a replay buffer."""
    best: bytes | None
    """The best policy so far, as a file."""


class Checkpoints:
    """The checkpoints that a training writes into its run's folder. Those of others there are left alone.

    Args:
        run: the folder.
        keep: how many stay, the newest ones.
    """

    def __init__(self, run: Path, keep: int) -> None:
        self._run, self._keep = run, keep
        self._written: list[Path] = []

    def write(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then remove what is too many. Raises `OutputError`."""
        path = write_bytes(self._run / _FOLDER / f"{checkpoint.steps:012d}.zip", _content(checkpoint))
        self._written = [*(other for other in self._written if other != path), path]
        while len(self._written) > self._keep:
            self._written.pop(0).unlink(missing_ok=True)
        return path


def _content(checkpoint: Checkpoint) -> bytes:
    label = {"format": _FORMAT, "steps": checkpoint.steps, "settings": checkpoint.settings}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_LABEL, json.dumps(label, indent=1, ensure_ascii=False))
        archive.writestr(_MODEL, checkpoint.model)
        archive.writestr(_STATE, pickle.dumps(checkpoint.state))
        if checkpoint.buffer is not None:
            arrays = io.BytesIO()
            np.savez(arrays, **checkpoint.buffer)  # type: ignore[arg-type]  # NumPy's stub has a flag among them
            archive.writestr(_BUFFER, arrays.getvalue())
        if checkpoint.best is not None:
            archive.writestr(_BEST, checkpoint.best)
    return sealed_archive(file)


def has_checkpoint(run: Path) -> bool:
    """Whether a run's folder holds a checkpoint to go on from."""
    return any((run / _FOLDER).glob("*.zip"))


def read_checkpoint(path: Path) -> Checkpoint:
    """Return a checkpoint.

    Args:
        path: its file, or the folder of a run, for the newest one.

    Raises:
        MissingFileError: no such file or folder, or a run without checkpoints.
        FileFormatError: damaged or no checkpoint; the message names the one before it.
    """
    file = _newest(path) if path.is_dir() else existing_file(path, "checkpoint")
    whole = read_bytes(file, "checkpoint")
    try:
        check_seal(whole, f"checkpoint {file}")
    except FileFormatError as error:
        raise FileFormatError(f"{error}{_advice(file)}") from error
    try:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        label = json.loads(content[_LABEL])
        if label["format"] != _FORMAT:
            raise FileFormatError(f"is of format {label['format']!r}; this Pliant reads format {_FORMAT}")
        arrays = content.get(_BUFFER)
        buffer = None if arrays is None else dict(np.load(io.BytesIO(arrays), allow_pickle=False))
        state = pickle.loads(content[_STATE])
        return Checkpoint(label["steps"], label["settings"], content[_MODEL], state, buffer, content.get(_BEST))
    except (KeyError, ImportError, AttributeError, pickle.UnpicklingError) as error:
        raise FileFormatError(f"checkpoint {file} is damaged or none: it lacks {error}.{_advice(file)}") from error
    except Exception as error:  # zipfile, NumPy and pickle fail in many ways of their own
        raise FileFormatError(f"checkpoint {file} is damaged or none: {error}.{_advice(file)}") from error


def check_settings(checkpoint: Checkpoint, settings: Mapping[str, Any]) -> None:
    """Raise `MismatchError`, listing every difference, unless a training of these settings can go on from it."""
    found = differences("settings", checkpoint.settings, settings)
    if found:
        raise MismatchError(
            "the checkpoint is of another training; what may change is steps, and what is only looked at "
            "(evaluation, checkpoint, logging, report):\n  - " + "\n  - ".join(found)
        )


def _newest(run: Path) -> Path:
    found = _checkpoints(run)
    if not found:
        raise MissingFileError(f"the run {run} has no checkpoint to go on from (none in {run / _FOLDER}).")
    return found[-1]


def _checkpoints(run: Path) -> list[Path]:
    """A run's checkpoints, the oldest first. A temporary file that a killed run left has another name."""
    return sorted((run / _FOLDER).glob("[0-9]*.zip"))


def _advice(file: Path) -> str:
    """Which checkpoint can be used instead."""
    others = [other for other in _checkpoints(file.parent.parent) if other.name < file.name]
    return f" Go on from the one before it: resume={others[-1]}" if others else ""
