"""The one way from a file to a policy, whatever kind of policy is in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant.controllers.feedforward import FeedForward
from pliant.controllers.policies.feedforward import FeedForwardPolicy
from pliant.controllers.policies.onnx import OnnxPolicy, read_onnx_label
from pliant.controllers.policies.sb3 import SB3Policy, read_label
from pliant.controllers.policy import Policy, PolicyInfo, fitted
from pliant.controllers.robot_parameters import tell
from pliant.errors import FileFormatError, MissingFileError
from pliant.files import PathLike, existing_file

_KINDS = {
    ".zip": "policy.zip of pliant train",
    ".onnx": "policy.onnx of pliant export",
    ".npz": "feedforward.npz of pliant ilc",
}
_IN_A_RUN = ("policy.zip", "policy.onnx", "feedforward.npz")


def load_policy(path: PathLike, info: PolicyInfo, *, parameters: bool = True) -> Policy:
    """Return the policy in a file, made ready for an environment. What could not be compared is logged.

    Args:
        path: a `.zip` of `pliant train`, an `.onnx` of `pliant export`, a feed-forward `.npz`, or the folder of a
            run that holds one of them.
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
        network = SB3Policy.load(file) if file.suffix == ".zip" else OnnxPolicy.load(file)
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
        raise FileFormatError(f"policy {file} is of no known kind. Known: {kinds}.")
    return file


def _label(file: Path) -> PolicyInfo:
    """What a network's file says of itself."""
    label = read_label(file) if file.suffix == ".zip" else read_onnx_label(file)
    return PolicyInfo.from_json(label.get("info"), f"policy {file}")
