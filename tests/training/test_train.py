import csv
import json
import sys
import time

import numpy as np
import pytest

from pliant.controllers.policies import OnnxPolicy, load_policy, made_for
from pliant.controllers.policies.onnx import read_onnx_label
from pliant.errors import FileFormatError
from pliant.training.evaluation import HELD_OUT
from pliant.training.run_settings import resumed


@pytest.mark.slow
def test_the_default_reaches_what_it_promises_on_held_out_seeds(verb, tmp_path):
    begin = time.process_time()
    status, _, err = verb("train", "hydra.run.dir=run")
    assert status == 0, err
    assert time.process_time() - begin < 600.0, "of all threads"
    curve = json.loads((tmp_path / "run" / "metrics.json").read_text())["evaluations"]
    assert max(point["success_rate"] for point in curve if point["steps"] <= 82_000) >= 0.95
    status, _, err = verb("evaluate", "run", "episodes=200", "robots=200", "hydra.run.dir=evaluation")
    assert status == 0, err
    metrics = json.loads((tmp_path / "evaluation" / "metrics.json").read_text())
    assert metrics["seed"] == HELD_OUT
    assert metrics["success_rate_low"] >= 0.95
    assert metrics["success_rate_randomised"] >= 0.9


@pytest.mark.slow
def test_a_film_that_fails_leaves_the_report_and_says_why(verb, tiny, tmp_path, monkeypatch):
    def fail(*_):
        raise FileFormatError("untrained.onnx is damaged")

    monkeypatch.setattr("pliant.scripts.train.record_beside", fail)
    options = [o for o in tiny["ppo"] if not o.startswith(("report", "logging"))]
    status, _, err = verb("train", *options, "steps=64", "logging.to=[csv]", "hydra.run.dir=run")
    assert status == 0, err
    assert "No film: untrained.onnx is damaged" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    "algorithm", ["ppo", *(pytest.param(a, marks=pytest.mark.slow) for a in ("sac", "td3", "tqc"))]
)
def test_a_run_folder_holds_what_was_learned_and_how(verb, tiny, tmp_path, algorithm):
    options = [o for o in tiny[algorithm] if not o.startswith(("report", "logging"))]
    status, out, err = verb("train", *options, "steps=128", "evaluation.every=64", "hydra.run.dir=run")
    assert status == 0, err
    run = tmp_path / "run"
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["reason"] == "finished"
    assert metrics["steps"] == 128
    assert [e["steps"] for e in metrics["evaluations"]] == [0, 64, 128]
    assert metrics["best"] == max(metrics["evaluations"], key=lambda e: (e["success_rate"], e["reward_mean"]))
    assert metrics["reward_mean"] == metrics["best"]["reward_mean"]
    environment = made_for(run)["environment"]
    assert environment.keys() == {"robot", "task", "period"}
    assert (environment["task"]["duration"], environment["robot"]["law"]) == (0.3, "qbmove")
    assert made_for(run)["steps"] == metrics["best"]["steps"]
    policy = OnnxPolicy.load(run / "policy.onnx")
    assert policy.info.actions[0].name == "joint/equilibrium"
    assert load_policy(run, policy.info)(np.zeros(len(policy.info.observations))).shape == (2,)
    assert list((run / "tensorboard").glob("events*"))
    with (run / "progress.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert any(row.get("evaluation/success_rate") for row in rows)
    page = (run / "report.html").read_text()
    assert "<svg" in page
    assert "algo._target_" in page
    assert "success" in out
    assert f"pliant play {run}" in out


@pytest.mark.slow
def test_the_same_seed_learns_the_same_to_the_last_bit_and_another_does_not(verb, tiny, tmp_path):
    for out, seed in (("one", 0), ("two", 0), ("three", 1)):
        verb("train", *tiny["ppo"], "steps=64", f"seed={seed}", f"hydra.run.dir={out}")
    one, two, three = (json.loads((tmp_path / f / "metrics.json").read_text()) for f in ("one", "two", "three"))
    assert one["evaluations"] == two["evaluations"]
    assert one["evaluations"][-1] != three["evaluations"][-1]


@pytest.mark.slow
def test_the_run_can_be_repeated_from_its_folder(verb, trained, tmp_path):
    """From the configuration that Hydra keeps there."""
    options = ["--config-dir", f"{trained}/.hydra", "--config-name", "config", "hydra.run.dir=again"]
    status, _, err = verb("train", *options)
    assert status == 0, err
    one, two = (json.loads((f / "metrics.json").read_text()) for f in (trained, tmp_path / "again"))
    assert one["evaluations"] == two["evaluations"]


def test_the_normaliser_can_be_left_out(verb, tiny, tmp_path):
    options = ("normalise.observation=false", "normalise.reward=false", "steps=64", "hydra.run.dir=run")
    status, _, err = verb("train", *tiny["ppo"], *options)
    assert status == 0, err
    assert read_onnx_label(tmp_path / "run" / "policy.onnx")["normalisation"] is None


def test_nothing_is_learned_by_a_network_that_no_file_can_hold(verb, tiny, tmp_path):
    layer = {"_target_": "hydra.utils.get_class", "path": "torch.nn.Softshrink"}
    setting = "+algo.policy_kwargs.activation_fn={" + ",".join(f"{k}:{v}" for k, v in layer.items()) + "}"
    status, _, err = verb("train", *tiny["ppo"], "steps=64", "hydra.run.dir=run", setting)
    assert status == 2
    assert "a layer 'Softshrink', which cannot be exported" in err
    assert not list((tmp_path / "run").glob("checkpoints/*"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["task=rech"], "rech"),
        (["algo=ppoo"], "ppoo"),
        (["task.hold=9"], "longer than its duration"),
        (["task.tolerance=.nan"], "tolerance"),
        (["+algo.lerning_rate=1"], "lerning_rate"),
        (["algo.n_steps=0"], "algo.n_steps = 0 is outside [1, "),
        (["algo.policy=MlpPolicies"], "algo stable_baselines3.PPO"),
        (["algo._target_=stable_baselines3.PPPO"], "PPPO"),
        (["algo._target_=os.getcwd"], "no trusted package"),
        (["robot.mode=9"], "unknown operation mode 9"),
        (["logging.to=[tensorbord]"], "Did you mean 'tensorboard'"),
        (["objective=reward_meen"], "Did you mean 'reward_mean'"),
        (["evaluation.every=0"], "evaluation.every"),
        (["checkpoint.keep=0"], "checkpoint.keep"),
        (["stpes=3"], "stpes"),
    ],
)
def test_a_wrong_setting_is_explained(verb, tiny, overrides, message):
    status, out, err = verb("train", *tiny["ppo"], "steps=64", "hydra.run.dir=run", *overrides)
    assert status == 2, out + err
    assert message in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "overrides", "extra"),
    [
        ("torch", [], "train"),
        ("stable_baselines3", [], "train"),
        ("sb3_contrib", ["algo=tqc"], "train"),
        ("tensorboard", ["logging.to=[tensorboard]"], "train"),
        ("wandb", ["logging.to=[wandb]"], "wandb"),
        ("mlflow", ["logging.to=[mlflow]"], "mlflow"),
    ],
)
def test_without_a_package_the_extra_is_named(verb, monkeypatch, module, overrides, extra):
    monkeypatch.setitem(sys.modules, module, None)
    status, _, err = verb("train", "robot=rig1", "n_envs=2", "steps=64", "hydra.run.dir=run", *overrides)
    assert status == 2
    assert f'pip install "pliant[{extra}]"' in err


def test_a_place_that_cannot_be_written_is_explained(verb, tiny, tmp_path):
    (tmp_path / "file").touch()
    status, _, err = verb("train", *tiny["ppo"], "hydra.run.dir=file/run")
    assert status == 2
    assert "cannot write in the folder" in err


@pytest.mark.slow
def test_a_learning_that_diverges_says_so(verb, tiny, monkeypatch, tmp_path):
    options = ("algo.learning_rate.start=1e30", "algo.learning_rate.end=1e30", "steps=6400", "hydra.run.dir=run")
    status, _, err = verb("train", *tiny["ppo"], "normalise.reward=false", *options)
    assert status == 2
    assert "the learning diverged after" in err
    assert "smaller learning rate" in err


def test_help_shows_examples_and_settings(verb, capfd):
    status, out, _ = verb("train", "--help")
    assert status == 0
    for expected in ("Examples:", "resume=", "n_envs", "algo=… (ppo):"):
        assert expected in out


def test_a_run_without_resume_is_left_as_it_is():
    assert resumed(["steps=1"]) == ["steps=1"]
