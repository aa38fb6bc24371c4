import shutil

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def test_what_a_policy_sees_and_does_is_shown_and_its_file_copied(verb, run, tmp_path):
    before = (run / "policy.onnx").read_bytes()
    status, out, err = verb("export", "run")
    assert status == 0, err
    for expected in ("joints: joint; period 0.02 s", "joint/goal", "joint/preset", "file: run/policy.onnx"):
        assert expected in out
    assert len({line.index(" [") for line in out.splitlines() if line.startswith(("obs", "act"))}) == 1, "in line"
    assert verb("export", "run", "to=files/arm.onnx")[0] == 0
    assert (tmp_path / "files" / "arm.onnx").read_bytes() == (run / "policy.onnx").read_bytes() == before
    one, two = verb("play", "run", "window=false"), verb("play", "files/arm.onnx", "window=false")
    assert one[0] == two[0] == 0
    assert one[1] == two[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.onnx"], "does not exist"),
        (["random"], "not learned"),
        (["run/metrics.json"], "no known kind"),
        (["run", "to=run/policy.onnx/x.onnx"], "cannot write"),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_cannot_be_exported_is_explained(verb, arguments, message):
    status, out, err = verb("export", *arguments)
    assert status == 2, out
    assert message in err


def test_only_what_was_trained_can_be_exported(verb, run):
    (run / "policy.onnx").rename(run / "feedforward.npz")
    status, _, err = verb("export", "run")
    assert status == 2
    assert "not a policy.onnx of pliant train" in err


def test_a_damaged_file_is_not_copied(verb, run, tmp_path):
    content = bytearray((run / "policy.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (run / "policy.onnx").write_bytes(content)
    status, _, err = verb("export", "run", "to=arm.onnx")
    assert status == 2
    assert "is damaged: its checksum is not that of its content" in err
    assert not (tmp_path / "arm.onnx").exists()
