"""The one way from a file to a policy, whatever kind of policy is in it. No kind runs code of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant.controllers.feedforward import FeedForward
from pliant.controllers.policies.feedforward import FeedForwardPolicy
from pliant.controllers.policies.onnx import OnnxPolicy, read_onnx_label
from pliant.controllers.policy import Policy, PolicyInfo, fitted
from pliant.controllers.robot_parameters import tell
from pliant.errors import FileFormatError, MissingFileError
from pliant.files import PathLike, existing_file

_KINDS = {
    ".onnx": "policy.onnx of pliant train",
    ".npz": "feedforward.npz of pliant ilc",
}
_IN_A_RUN = ("policy.onnx", "feedforward.npz")
_CODE = (".zip", ".pkl", ".pickle", ".pt", ".pth")
"""Files of which reading is running."""


def load_policy(path: PathLike, info: PolicyInfo, *, parameters: bool = True) -> Policy:
    """Return the policy in a file, made ready for an environment. What could not be compared is logged.

    Args:
        path: an `.onnx` of `pliant train`, a feed-forward `.npz`, or the folder of a run that holds one of them.
        info: what the environment offers.
        parameters: whether the robot's parameters must be those that it learned with; else differences are logged.

    Raises:
        MissingFileError: no such file, or nothing learned in that folder.
        FileFormatError: a file of another kind, or damaged.
        MismatchError: it was made for something else; every difference is listed.
        MissingExtraError: the package that runs it is not installed.
    """
    file = policy_file(path)
    if file.suffix == ".npz":
        learned = FeedForward.load(file)
        policy: Policy = FeedForwardPolicy(learned, info, parameters=parameters)
        made = learned.parameters
    else:
        network = OnnxPolicy.load(file)
        policy, made = fitted(network, info, parameters=parameters), network.info.parameters
    tell(f"the policy {path}", made, info.parameters)
    return policy


def made_for(path: PathLike) -> Mapping[str, Any]:
    """Return where the policy in a file comes from (`PolicyInfo.origin`), without loading it.

    Empty for a feed-forward, which knows no environment. Raises as `load_policy`.
    """
    file = policy_file(path)
    return {} if file.suffix == ".npz" else _label(file).origin


def period_of(path: PathLike) -> float:
    """Return the period of the policy in a file without loading its network, s. Raises as `load_policy`."""
    file = policy_file(path)
    return FeedForward.load(file).period if file.suffix == ".npz" else _label(file).period


def policy_file(path: PathLike) -> Path:
    """Return the file that a path means. Raises `MissingFileError` and `FileFormatError`."""
    given = Path(path)
    if given.is_dir():
        for name in _IN_A_RUN:
            if (given / name).is_file():
                return given / name
        raise MissingFileError(f"the folder {given} holds nothing learned: none of {', '.join(_IN_A_RUN)}.")
    file = existing_file(given, "policy")
    if file.suffix not in _KINDS:
        kinds = ", ".join(f"{suffix} ({what})" for suffix, what in _KINDS.items())
        code = (
            " Python's pickle is in such files, which is code that would run: a policy is written as policy.onnx "
            "by the training itself, also when it goes on from a checkpoint (pliant train resume=RUN)."
        )
        raise FileFormatError(
            f"policy {file} is of no known kind. Known: {kinds}.{code if file.suffix in _CODE else ''}"
        )
    return file


def _label(file: Path) -> PolicyInfo:
    """What a network's file says of itself."""
    return PolicyInfo.from_json(read_onnx_label(file).get("info"), f"policy {file}")
