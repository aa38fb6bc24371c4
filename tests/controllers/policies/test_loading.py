import pickle
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pliant.controllers import FeedForward
from pliant.controllers.policies import (
    FeedForwardPolicy,
    OnnxPolicy,
    SB3Policy,
    export_onnx,
    load_policy,
    made_for,
    period_of,
)
from pliant.errors import FileFormatError, MismatchError, MissingFileError
from pliant.hardware.robot import RobotInfo


@pytest.fixture
def run(make_model, info, normalisation, tmp_path):
    """A folder with one policy of each kind."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    policy = SB3Policy(make_model("PPO"), info, normalisation)
    export_onnx(policy, tmp_path / "policy.onnx")
    robot = RobotInfo(info.robot, info.joints, (), info.actions, info.period)
    FeedForward.of_robot(robot, np.full((4, 2), 0.1)).save(tmp_path / "feedforward.npz")
    return tmp_path


def test_every_kind_of_file_is_a_policy_of_the_same_interface(run, info):
    kinds = {"policy.onnx": OnnxPolicy, "feedforward.npz": FeedForwardPolicy}
    for name, kind in kinds.items():
        policy = load_policy(run / name, info)
        assert isinstance(policy, kind)
        policy.reset()
        action = policy(np.zeros(5))
        assert action.shape == (2,)
        assert np.abs(action).max() <= 1.0
        assert policy.period == 0.02


def test_a_runs_folder_stands_for_what_was_learned_in_it(run, info):
    assert isinstance(load_policy(run, info), OnnxPolicy)
    (run / "policy.onnx").unlink()
    assert isinstance(load_policy(run, info), FeedForwardPolicy)
    assert made_for(run) == {}
    (run / "feedforward.npz").unlink()
    with pytest.raises(MissingFileError, match=r"holds nothing learned: none of policy\.onnx"):
        load_policy(run, info)


def test_joints_in_another_order_are_mapped_and_unknown_ones_refused(run, info):
    turned = replace(info, observations=info.observations[::-1], actions=info.actions[::-1])
    seen = np.array([0.5, -1.0, 2.0, 0.3, -0.4], dtype=np.float32)
    straight = load_policy(run, info)(seen)
    np.testing.assert_array_equal(load_policy(run, turned)(seen[::-1])[::-1], straight)
    renamed = replace(info, joints=("knee",))
    with pytest.raises(MismatchError, match="joint 'joint' is unknown to the environment"):
        load_policy(run, renamed)


def test_another_kind_of_file_is_refused_with_the_known_ones(tmp_path, info):
    (tmp_path / "policy.txt").touch()
    with pytest.raises(FileFormatError, match=r"no known kind\. Known: \.onnx .*\.npz"):
        load_policy(tmp_path / "policy.txt", info)


class Canary:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["policy.zip", "policy.pth", "policy.onnx", "feedforward.npz"])
def test_no_policy_is_code(tmp_path, info, name):
    """A pickle runs what it says as soon as it is read."""
    (tmp_path / name).write_bytes(pickle.dumps(Canary(tmp_path / "canary")))
    for path in (tmp_path / name, tmp_path):
        for read in (lambda path: load_policy(path, info), made_for, period_of):
            with suppress(FileFormatError, MissingFileError):
                read(path)
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("command.npy", pickle.dumps(Canary(tmp_path / "canary")))
    with pytest.raises(FileFormatError):
        load_policy(tmp_path / name, info)
    assert not (tmp_path / "canary").exists()
    if name.endswith(("zip", "pth")):
        with pytest.raises(FileFormatError, match=r"code that would run.*policy\.onnx"):
            load_policy(tmp_path / name, info)
