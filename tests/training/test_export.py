import shutil

import numpy as np
import pytest

from pliant.controllers.policies import OnnxPolicy, SB3Policy

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def test_a_trained_policy_is_exported_beside_it_and_plays_the_same(verb, run):
    status, out, err = verb("export", "run")
    assert status == 0, err
    policy, exported = SB3Policy.load(run / "policy.zip"), OnnxPolicy.load(run / "policy.onnx")
    assert exported.info == policy.info
    for seen in np.random.default_rng(0).uniform(-5.0, 5.0, (20, 6)).astype(np.float32):
        np.testing.assert_allclose(exported(seen), policy(seen), rtol=0.0, atol=1e-5)
    for expected in ("joints: joint; period 0.02 s", "joint/goal", "joint/preset", "policy.onnx"):
        assert expected in out
    one, two = verb("play", "run/policy.zip", "window=false"), verb("play", "run/policy.onnx", "window=false")
    assert one[0] == two[0] == 0
    assert [line.split()[2] for line in one[1].splitlines()[1:4]] == [
        line.split()[2] for line in two[1].splitlines()[1:4]
    ]


def test_it_goes_where_it_is_asked_to(verb, run, tmp_path):
    assert verb("export", "run", "to=files/arm.onnx")[0] == 0
    assert (tmp_path / "files" / "arm.onnx").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.zip"], "does not exist"),
        (["random"], "not learned"),
        (["run/metrics.json"], "no known kind"),
        (["run", "to=run/policy.zip/x.onnx"], "cannot write"),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_cannot_be_exported_is_explained(verb, arguments, message):
    status, out, err = verb("export", *arguments)
    assert status == 2, out
    assert message in err


def test_only_what_was_trained_can_be_exported(verb, run):
    verb("export", "run")
    status, _, err = verb("export", "run/policy.onnx")
    assert status == 2
    assert "not a policy.zip of pliant train" in err
