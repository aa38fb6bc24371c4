import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers.policies import OnnxPolicy, SB3Policy, export_onnx, load_policy, made_for
from pliant.controllers.policies import onnx as onnx_module
from pliant.errors import ConfigurationError, FileFormatError, MismatchError, MissingExtraError, MissingFileError
from pliant.files import sealed

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def policy(make_model, info, normalisation):
    return SB3Policy(make_model("PPO"), info, normalisation)


@pytest.fixture
def exported(policy, tmp_path):
    export_onnx(policy, tmp_path / "policy.onnx")
    return tmp_path / "policy.onnx"


@pytest.mark.parametrize("learned", [True, False])
def test_a_policy_is_compared_where_an_observation_has_no_bounds(
    make_model, info, normalisation, tmp_path, learned
):
    free = replace(info, observations=tuple(replace(c, low=-np.inf, high=np.inf) for c in info.observations))
    policy = SB3Policy(make_model("PPO"), free, normalisation if learned else None)
    assert export_onnx(policy, tmp_path / "policy.onnx") < 1e-5
    assert OnnxPolicy.load(tmp_path / "policy.onnx").info.observations == free.observations


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "SAC", "TD3", "TQC"])
def test_the_file_does_what_the_policy_does_in_and_out_of_bounds(
    make_model, info, normalisation, tmp_path, algorithm
):
    policy = SB3Policy(make_model(algorithm), info, normalisation)
    assert export_onnx(policy, tmp_path / "policy.onnx") < 1e-5
    back = load_policy(tmp_path / "policy.onnx", info)
    high = np.array([channel.high for channel in info.observations])
    seen = np.random.default_rng(1).uniform(-1.0, 1.0, (100, 5)) * high
    seen[50:] *= 100.0
    seen[:, 3] = normalisation.mean[3] + np.linspace(-1e-3, 1e-3, 100)  # where the normaliser is steepest
    seen = seen.astype(np.float32)
    actions = np.array([back(row) for row in seen])
    np.testing.assert_allclose(actions, [policy(row) for row in seen], rtol=0.0, atol=1e-5)
    assert np.ptp(actions) > 0.5


def test_without_normaliser_the_network_stands_alone(make_model, info, tmp_path):
    policy = SB3Policy(make_model("PPO"), info, None)
    assert export_onnx(policy, tmp_path / "policy.onnx") < 1e-5


@pytest.mark.parametrize("activation", ["ReLU", "ELU", "LeakyReLU", "SELU", "Sigmoid", "Softsign", "Tanh"])
def test_every_activation_of_the_table_is_the_same_function(make_model, info, normalisation, tmp_path, activation):
    import torch

    model = make_model("PPO", activation_fn=getattr(torch.nn, activation))
    assert export_onnx(SB3Policy(model, info, normalisation), tmp_path / "policy.onnx") < 1e-5


def test_state_dependent_exploration_is_left_out(make_model, info, normalisation, tmp_path):
    model = make_model("SAC", use_sde=True)
    assert export_onnx(SB3Policy(model, info, normalisation), tmp_path / "policy.onnx") < 1e-5


def test_a_layer_that_cannot_be_exported_is_named(make_model, info, tmp_path):
    import torch

    model = make_model("PPO", activation_fn=torch.nn.Softshrink)
    with pytest.raises(ConfigurationError, match=r"layer 'Softshrink'.*Can be: Linear, .*Tanh"):
        export_onnx(SB3Policy(model, info, None), tmp_path / "policy.onnx")


def test_a_file_that_would_differ_is_not_written(policy, tmp_path, monkeypatch):
    """The dropped normaliser of many an export."""
    network = onnx_module.onnx_network
    bare = SB3Policy(policy.model, policy.info, None)
    monkeypatch.setattr(onnx_module, "onnx_network", lambda _: network(bare))
    with pytest.raises(MismatchError, match="differs from the policy by"):
        export_onnx(policy, tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()


def test_it_runs_with_onnxruntime_alone_and_says_how(policy, exported, info):
    """As on a machine with neither torch nor Pliant."""
    code = f"""
import sys
from dataclasses import replace
for name in ("torch", "stable_baselines3", "pliant", "onnx", "gymnasium", "mujoco"):
    sys.modules[name] = None
import json, numpy, onnxruntime
session = onnxruntime.InferenceSession({str(exported)!r})
label = json.loads(session.get_modelmeta().custom_metadata_map["pliant"])
seen = numpy.linspace(-3.0, 3.0, 10, dtype=numpy.float32).reshape(2, 5)
(action,) = session.run(["action"], {{"observation": seen}})
low, high = (numpy.array([c[b] for c in label["info"]["actions"]]) for b in ("low", "high"))
command = (low + high) / 2 + (high - low) / 2 * action
print(json.dumps({{"action": action.tolist(), "command": command.tolist(), "label": label}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    seen = np.linspace(-3.0, 3.0, 10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(found["action"], [policy(row) for row in seen], atol=1e-5)
    label = found["label"]
    assert label["info"]["joints"] == ["joint"]
    assert label["info"]["period"] == 0.02
    assert [c["name"] for c in label["info"]["observations"]] == [c.name for c in info.observations]
    assert [(c["name"], c["unit"], c["low"], c["high"]) for c in label["info"]["actions"]] == [
        ("joint/equilibrium", "rad", -1.57, 1.57),
        ("joint/preset", "rad", 0.0, 0.6),
    ]
    assert label["normalisation"]["mean"] == policy.normalisation.mean.tolist()
    assert label["scaling"].startswith("command = (low + high)/2")


def test_where_it_comes_from_goes_with_it(exported):
    assert made_for(exported)["environment"] == ["env=joint", "task=reach"]


def test_files_that_are_no_policy_are_refused(exported, info, tmp_path):
    whole = exported.read_bytes()
    for content in (b"", b"not a graph", whole[:500], whole[:-1], whole + b"0"):
        (tmp_path / "bad.onnx").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"bad\.onnx is damaged"):
            load_policy(tmp_path / "bad.onnx", info)
    (tmp_path / "bad.onnx").write_bytes(sealed(b"no graph" + 64 * b"0"))
    with pytest.raises(FileFormatError, match="not an ONNX file"):
        load_policy(tmp_path / "bad.onnx", info)
    with pytest.raises(MissingFileError, match=r"policy .*nowhere\.onnx does not exist"):
        load_policy(tmp_path / "nowhere.onnx", info)


def relabelled(path, metadata):
    """Put other metadata into a file, and a checksum that is right."""
    import onnx

    model = onnx.load(path)
    del model.metadata_props[:]
    entries = [("sha256", "0" * 64)] if metadata is None else [("pliant", metadata), ("sha256", "0" * 64)]
    for key, value in entries:
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    path.write_bytes(sealed(model.SerializeToString()))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "without the metadata 'pliant'"),
        ("{", "lacks or garbles"),
        ("[1]", "lacks or garbles"),
        ('{"format": 7}', "of format 7"),
        ('{"format": 2}', "lacks 'NoneType'"),
    ],
)
def test_a_graph_without_its_label_is_refused(exported, info, metadata, message):
    relabelled(exported, metadata)
    with pytest.raises(FileFormatError, match=message):
        load_policy(exported, info)


def test_a_graph_that_is_not_what_its_label_says_is_refused(policy, exported, info):
    label = {"format": 2, "info": replace(info, observations=info.observations[:4]).to_json()}
    relabelled(exported, json.dumps(label))
    with pytest.raises(FileFormatError, match="its graph does not run"):
        OnnxPolicy.load(exported)
    label = {"format": 2, "info": replace(info, actions=info.actions[:1]).to_json()}
    relabelled(exported, json.dumps(label))
    with pytest.raises(FileFormatError, match="gives actions of shape"):
        OnnxPolicy.load(exported)


def test_without_onnxruntime_the_extra_is_named(exported, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pliant\[onnx\]"'):
        OnnxPolicy.load(exported)
