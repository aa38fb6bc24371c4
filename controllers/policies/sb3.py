"""A policy learned by stable-baselines3, with its normaliser, in one file.

The file is a zip archive: `policy.json` says what the policy sees and does and holds the normaliser; `model.zip`
is stable-baselines3's own file. Loading one runs code that is in it (pickle), so load only what you trust; an ONNX
export has none.
"""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.policies.normalisation import Normalisation
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.errors import FileFormatError, require_extra, unknown_name
from pliant.files import PathLike, existing_file, write_atomically

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

_FORMAT = 1
_LABEL, _MODEL = "policy.json", "model.zip"
_PACKAGES = {"stable_baselines3": "stable-baselines3", "sb3_contrib": "sb3-contrib"}


class SB3Policy(Policy):
    """The deterministic policy of a stable-baselines3 algorithm behind its normaliser."""

    def __init__(self, model: "BaseAlgorithm", info: PolicyInfo, normalisation: Normalisation | None) -> None:
        """Put the parts together.

        Args:
            model: whose observations are normalised ones and whose actions are in [−1, 1].
            info: what it sees and does.
            normalisation: of its observations; None if it learned on observations as they are.
        """
        super().__init__(info)
        self.model, self.normalisation = model, normalisation

    def act(self, observation: Array) -> Array:
        """Return the mean action, limited as in training."""
        scaled = observation if self.normalisation is None else self.normalisation(observation)
        action, _ = self.model.predict(scaled.astype(np.float32), deterministic=True)
        return np.asarray(action, dtype=np.float64)

    def save(self, path: PathLike) -> Path:
        """Write it atomically; raises `OutputError`."""
        normalisation = None if self.normalisation is None else self.normalisation.to_json()
        kind = type(self.model)
        label = {
            "format": _FORMAT,
            "algorithm": f"{kind.__module__.partition('.')[0]}.{kind.__name__}",
            "info": self.info.to_json(),
            "normalisation": normalisation,
        }
        model = io.BytesIO()
        self.model.save(model)

        def write(file: BinaryIO) -> None:
            # Compressed, so that the end of the archive within is not taken for the end of one that was cut short.
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_LABEL, json.dumps(label, ensure_ascii=False, indent=1))
                archive.writestr(_MODEL, model.getvalue())

        return write_atomically(path, write)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote.

        Raises:
            MissingFileError: no such file.
            FileFormatError: not a policy, damaged, or without its normaliser. A bare file of stable-baselines3
                is refused: it knows neither names and units nor the normalisation it was trained behind.
            MissingExtraError: the package of its algorithm is not installed.
        """
        label, model = _read(path)
        info = PolicyInfo.from_json(label.get("info"), f"policy {path}")
        if "normalisation" not in label:
            raise FileFormatError(f"policy {path} lacks the normalisation that it was trained behind.")
        data = label["normalisation"]
        normalisation = None if data is None else Normalisation.from_json(data, f"policy {path}")
        algorithm = _algorithm(str(label.get("algorithm")), path)
        try:
            loaded = algorithm.load(io.BytesIO(model), device="cpu")
        except Exception as error:  # stable-baselines3, torch and pickle fail in ways of their own
            raise FileFormatError(f"policy {path}: its network cannot be loaded: {error}") from error
        return cls(loaded, info, normalisation)


def read_label(path: PathLike) -> dict[str, Any]:
    """Return what a policy's file says of it, without loading the network. Raises as `SB3Policy.load`."""
    return _read(path)[0]


def _read(path: PathLike) -> tuple[dict[str, Any], bytes]:
    file = existing_file(path, "policy")
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if _LABEL not in names or _MODEL not in names:
                bare = "data" in names and "policy.pth" in names
                hint = (
                    "a bare stable-baselines3 model, without names, units and normalisation; use the policy.zip "
                    "that pliant train writes"
                    if bare
                    else f"not a policy; it holds {', '.join(names[:5]) or 'nothing'}"
                )
                raise FileFormatError(f"policy {file} is {hint}.")
            label, model = json.loads(archive.read(_LABEL)), archive.read(_MODEL)
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"policy {file} is damaged or not a policy: {error}.") from error
    if not isinstance(label, dict) or label.get("format") != _FORMAT:
        found = label.get("format") if isinstance(label, dict) else label
        raise FileFormatError(f"policy {file} is of format {found!r}; this Pliant reads format {_FORMAT}.")
    return label, model


def _algorithm(name: str, path: PathLike) -> Any:
    package, _, kind = name.partition(".")
    if package not in _PACKAGES:
        raise unknown_name("package of an algorithm", package, _PACKAGES, f"policy {path}")
    module = require_extra(package, "train", f"policy {path}, learned by {kind},")
    if not hasattr(module, kind):
        raise unknown_name("algorithm", kind, getattr(module, "__all__", ()), package)
    return getattr(module, kind)
