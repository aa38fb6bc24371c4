"""A policy as an ONNX file: the normaliser and the network in one graph that needs no Python to run.

Input `observation`, (n, observations) float32, in the units of the metadata; output `action`, (n, actions)
float32, in [−1, 1]. The metadata entry `pliant` is JSON: names, units and bounds of both in order, the joints, the
period, the normaliser, and the law from an action to a command. The entry `sha256`, the last bytes of the file, is
a checksum of all that is before. A graph is no code: nothing of a file's own runs when it is loaded.
"""

import json
from typing import Any, Self

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.policies.network import onnx_network
from pliant.controllers.policies.sb3 import SB3Policy
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.errors import FileFormatError, MismatchError, require_extra
from pliant.files import PathLike, check_seal, existing_file, read_bytes, sealed, write_bytes

_FORMAT = 2
_KEY, _CHECKSUM = "pliant", "sha256"
_TOLERANCE = 1e-5
_SAMPLES = 1000
_SPREAD_LAW = "command = (low + high)/2 + (high - low)/2 * action, for each entry of info.actions"
_CHOICE_LAW = "the entry with the largest action is chosen; (action + 1)/2 is how probable it was in training"


class OnnxPolicy(Policy):
    """A network that onnxruntime runs; neither torch nor stable-baselines3 is needed."""

    def __init__(self, session: Any, info: PolicyInfo) -> None:
        """Wrap a session whose graph has been made by `export_onnx`."""
        super().__init__(info)
        self._session = session

    def act(self, observation: Array) -> Array:
        """Return the network's action."""
        return np.asarray(self.batch(observation[None])[0])

    def batch(self, observations: Array) -> Array:
        """Return the actions, (n, actions), for many observations, (n, observations)."""
        (action,) = self._session.run(["action"], {"observation": observations.astype(np.float32)})
        return np.asarray(action, dtype=np.float64)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `export_onnx` wrote.

        Raises:
            MissingFileError: no such file.
            FileFormatError: not an ONNX file, damaged, or not one of a policy.
            MissingExtraError: onnxruntime is not installed.
        """
        file = existing_file(path, "policy")
        content = read_bytes(file, "policy")
        session, label = _read(content, f"policy {file}")
        policy = cls(session, PolicyInfo.from_json(label.get("info"), f"policy {file}"))
        policy._try(f"policy {file}")
        return policy

    def _try(self, where: str) -> None:
        """Refuse a graph that does not do what its label says, on an observation of zeros."""
        try:
            shape = self.batch(np.zeros((1, len(self.info.observations)))).shape
        except Exception as error:  # onnxruntime's errors have no common base
            raise FileFormatError(f"{where}: its graph does not run: {error}") from error
        if shape != (1, len(self.info.actions)):
            raise FileFormatError(f"{where}: its graph gives actions of shape {shape}, not what its label says.")


def read_onnx_label(path: PathLike) -> dict[str, Any]:
    """Return what an exported policy's metadata says of it. Raises as `OnnxPolicy.load`."""
    file = existing_file(path, "policy")
    return _read(read_bytes(file, "policy"), f"policy {file}")[1]


def onnx_content(policy: SB3Policy) -> bytes:
    """Return a policy as the content of an ONNX file.

    Raises:
        ConfigurationError: the network has a layer that cannot be exported.
        MissingExtraError: onnx is not installed.
    """
    onnx = require_extra("onnx", "train", "writing a policy")
    model = onnx_network(policy)
    label = {
        "format": _FORMAT,
        "info": policy.info.to_json(),
        "normalisation": None if policy.normalisation is None else policy.normalisation.to_json(),
        "scaling": _CHOICE_LAW if policy.chooses else _SPREAD_LAW,
    }
    checksum = onnx.ModelProto()
    onnx.helper.set_model_props(model, {_KEY: json.dumps(label, ensure_ascii=False)})
    onnx.helper.set_model_props(checksum, {_CHECKSUM: "0" * 64})
    # One message after another is the sum of both to whoever reads them: so the checksum comes last.
    return sealed(model.SerializeToString() + checksum.SerializeToString())


def export_onnx(policy: SB3Policy, path: PathLike) -> float:
    """Write a policy as an ONNX file, after comparing both; see `compare_onnx`.

    Args:
        policy: with a network of dense layers.
        path: of the new file, written atomically.

    Returns:
        The largest difference between an action of the file and of the policy.

    Raises:
        OutputError: the file cannot be written. Others: as `onnx_content` and `compare_onnx`.
    """
    content = onnx_content(policy)
    difference = compare_onnx(policy, content)
    write_bytes(path, content)
    return difference


def compare_onnx(policy: SB3Policy, content: bytes) -> float:
    """Compare a policy with an ONNX file of it, on random observations.

    Half of them are within the bounds, the others up to ten times beyond.

    Args:
        policy: in memory.
        content: of the file.

    Returns:
        The largest difference in an action.

    Raises:
        MismatchError: the actions differ by 1e-5 or more.
        MissingExtraError: onnxruntime is not installed.
    """
    exported = OnnxPolicy(_read(content, "the exported policy")[0], policy.info)
    difference = largest_difference(policy, exported, np.random.default_rng(0))
    if not difference < _TOLERANCE:
        raise MismatchError(
            f"the exported network differs from the policy by {difference:.2g} in an action; less than "
            f"{_TOLERANCE:g} is needed, so it is not written."
        )
    return difference


def largest_difference(policy: SB3Policy, exported: OnnxPolicy, random: np.random.Generator) -> float:
    """Return the largest difference in an action on random observations, in and out of bounds.

    Where an observation has no bounds, they are ten standard deviations about the mean that learning saw, or ±10.
    """
    seen = policy.normalisation
    low, high = np.array([(channel.low, channel.high) for channel in policy.info.observations]).T
    mean, reach = (0.0, 10.0) if seen is None else (seen.mean, 10.0 * seen.deviation)
    low, high = (np.where(np.isfinite(b), b, mean + side * reach) for b, side in ((low, -1.0), (high, 1.0)))
    share = random.uniform(0.0, 1.0, (_SAMPLES, len(low)))
    share[_SAMPLES // 2 :] = random.uniform(-9.5, 10.5, (_SAMPLES - _SAMPLES // 2, len(low)))
    observations = (low + (high - low) * share).astype(np.float32).astype(np.float64)
    return float(np.abs(exported.batch(observations) - policy.batch(observations)).max())


def _read(content: bytes, where: str) -> tuple[Any, dict[str, Any]]:
    """Return the session of an ONNX file's content, and its label."""
    runtime = require_extra("onnxruntime", "onnx", where)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a small network gains nothing from more
    options.log_severity_level = 4
    check_seal(content, where)
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        text = session.get_modelmeta().custom_metadata_map.get(_KEY)
    except Exception as error:  # onnxruntime's errors have no common base
        raise FileFormatError(f"{where} is damaged or not an ONNX file: {error}") from error
    if text is None:
        raise FileFormatError(
            f"{where} is an ONNX file without the metadata {_KEY!r} (names, units, period, normalisation); "
            "only those of pliant train are policies."
        )
    try:
        label = dict(json.loads(text))
        version = label["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise FileFormatError(f"{where}: its metadata lacks or garbles {error}.") from error
    if version != _FORMAT:
        raise FileFormatError(f"{where} is of format {version!r}; this Pliant reads format {_FORMAT}.")
    return session, label
