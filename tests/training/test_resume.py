import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file

from pliant.training import loop
from pliant.training.checkpoints import read_checkpoint


def same(one, two):
    """Whether two nested things are the same to the last bit."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(np.all(np.asarray(one) == np.asarray(two)))


def learned(folder):
    """All that decides how a run goes on, from its last checkpoint; without what tells the time."""
    checkpoint = read_checkpoint(folder)
    data, parameters, variables = load_from_zip_file(io.BytesIO(checkpoint.model), device="cpu")
    counters = ("num_timesteps", "_total_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining")
    progress = dict(checkpoint.state["progress"])
    progress.pop("seconds")
    return {
        "weights": {
            k: {n: np.asarray(t) for n, t in p.items()} for k, p in parameters.items() if "optim" not in k
        },
        "optimisers": {k: optimiser(p) for k, p in parameters.items() if "optim" in k},
        "variables": {k: np.asarray(v.detach()) for k, v in (variables or {}).items() if v is not None},
        "counters": {name: data[name] for name in counters},
        "observation": data["_last_obs"],
        "state": {**checkpoint.state, "progress": progress},
        "buffer": checkpoint.buffer or {},
    }


def optimiser(parameters):
    moments = parameters["state"].values()
    return [{name: np.asarray(value) for name, value in moment.items()} for moment in moments] + [
        group["lr"] for group in parameters["param_groups"]
    ]


def stopping_at(monkeypatch, steps, number=signal.SIGINT):
    """Sends this process a signal between two rollouts."""
    look = loop._Callback._on_rollout_start

    def and_stop(callback):
        if callback.num_timesteps == steps:
            os.kill(os.getpid(), number)
        look(callback)

    monkeypatch.setattr(loop._Callback, "_on_rollout_start", and_stop)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "sac", "td3", "tqc"])
def test_a_resumed_run_ends_where_one_without_interruption_does(verb, tiny, tmp_path, monkeypatch, algorithm):
    """Steps, optimiser, schedules, normaliser, replay buffer, generators, episodes: all to the last bit."""
    common = (*tiny[algorithm], "steps=256", "randomisation=usual", "evaluation.every=64")
    assert verb("train", *common, "hydra.run.dir=whole")[0] == 0
    with monkeypatch.context() as patch:
        stopping_at(patch, 128)
        status, out, _ = verb("train", *common, "hydra.run.dir=part")
    assert status == 130
    assert f"go on with: pliant train resume={tmp_path / 'part'}" in out
    assert json.loads((tmp_path / "part" / "metrics.json").read_text())["reason"] == "interrupted"
    status, out, err = verb("train", "resume=part", "hydra.run.dir=rest")
    assert status == 0, err
    assert "going on from step 128 of part" in out
    whole, rest = learned(tmp_path / "whole"), learned(tmp_path / "rest")
    for name in whole:
        assert same(whole[name], rest[name]), name
    one, two = (json.loads((tmp_path / f / "metrics.json").read_text()) for f in ("whole", "rest"))
    assert one["evaluations"] == two["evaluations"]
    assert [e["steps"] for e in one["evaluations"]] == [0, 64, 128, 192, 256]
    assert two["reason"] == "finished"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "algorithm"), [("Pendulum-v1", "ppo"), ("Pendulum-v1", "sac"), ("CartPole-v1", "ppo")]
)
def test_a_registered_environment_goes_on_to_the_last_bit_too(verb, tiny, tmp_path, monkeypatch, env, algorithm):
    options = [word for word in tiny[algorithm] if not word.startswith(("robot", "task"))]
    common = (f"env={env}", *options, "steps=256", "evaluation.every=128")
    status, _, err = verb("train", *common, "hydra.run.dir=whole")
    assert status == 0, err
    with monkeypatch.context() as patch:
        stopping_at(patch, 128)
        assert verb("train", *common, "hydra.run.dir=part")[0] == 130
    status, _, err = verb("train", "resume=part", "hydra.run.dir=rest")
    assert status == 0, err
    whole, rest = learned(tmp_path / "whole"), learned(tmp_path / "rest")
    for name in whole:
        assert same(whole[name], rest[name]), name


@pytest.mark.slow
def test_more_steps_go_on_from_the_end(verb, tiny, tmp_path):
    """2k steps and 2k more are 4k, where the learning rate is constant."""
    common = [o for o in tiny["ppo"] if o != "algo=ppo"]
    common += ["algo.learning_rate.start=1e-3", "algo.learning_rate.end=1e-3"]
    assert verb("train", *common, "steps=256", "hydra.run.dir=whole")[0] == 0
    assert verb("train", *common, "steps=128", "hydra.run.dir=part")[0] == 0
    assert verb("train", "resume=part", "steps=256", "hydra.run.dir=rest")[0] == 0
    whole, rest = learned(tmp_path / "whole"), learned(tmp_path / "rest")
    for name in whole["counters"]:  # schedules go by the steps of the first run, constant ones too
        whole["counters"][name] = 0 if "progress" in name else whole["counters"][name]
        rest["counters"][name] = 0 if "progress" in name else rest["counters"][name]
    for name in ("weights", "optimisers", "counters", "observation"):
        assert same(whole[name], rest[name]), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stopped", "steps", "shares"),
    [(128, None, [0.75, 1.0]), (128, 384, [0.75, 1.0, 1.0, 1.0]), (256, 384, [1.0, 1.0])],
)
def test_the_schedule_goes_on_where_it_was(verb, tiny, tmp_path, monkeypatch, stopped, steps, shares):
    """Over the steps of the first run, from 3e-3 to 1e-4; what is learned beyond keeps the last rate."""
    with monkeypatch.context() as patch:
        stopping_at(patch, stopped)
        verb("train", *tiny["ppo"], "steps=256", "hydra.run.dir=part")
    rates = []
    change = BaseAlgorithm._update_learning_rate

    def noting(model, optimizers):
        change(model, optimizers)
        rates.append(model.policy.optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(BaseAlgorithm, "_update_learning_rate", noting)
    status, _, err = verb(
        "train", "resume=part", *([] if steps is None else [f"steps={steps}"]), "hydra.run.dir=rest"
    )
    assert status == 0, err
    np.testing.assert_allclose(rates, [3e-3 - 2.9e-3 * share for share in shares])


@pytest.mark.slow
def test_nothing_of_the_earlier_run_is_touched(verb, trained, tmp_path, snapshot):
    before = snapshot(trained)
    status, _, err = verb("train", f"resume={trained}", "steps=192", "hydra.run.dir=rest")
    assert status == 0, err
    assert snapshot(trained) == before
    metrics = json.loads((tmp_path / "rest" / "metrics.json").read_text())
    assert metrics["steps"] == 192
    earlier = json.loads((trained / "metrics.json").read_text())
    assert metrics["evaluations"][: len(earlier["evaluations"])] == earlier["evaluations"]
    assert metrics["seconds"] > earlier["seconds"]


@pytest.mark.slow
def test_a_run_goes_on_in_its_own_folder_if_that_is_asked_for(verb, tiny, tmp_path, snapshot):
    """Otherwise a used folder stays as it is; either way the checkpoints that were there stay."""
    common = (*tiny["ppo"], "checkpoint.keep=1")
    assert verb("train", *common, "steps=128", "hydra.run.dir=run")[0] == 0
    before = snapshot(tmp_path / "run")
    status, _, err = verb("train", *common, "steps=64", "hydra.run.dir=run")
    assert status == 2
    assert "the folder run is used already, and results in it would be lost" in err
    assert snapshot(tmp_path / "run") == before
    for steps in (192, 256):
        status, _, err = verb("train", "resume=run", f"steps={steps}", "hydra.run.dir=run")
        assert status == 0, err
    left = [path.name for path in sorted((tmp_path / "run" / "checkpoints").iterdir())]
    assert left == ["000000000128.zip", "000000000192.zip", "000000000256.zip"]


def test_the_best_policy_goes_with_a_run(verb, trained, tmp_path, monkeypatch):
    """Also where the resumed part finds no better one."""
    monkeypatch.setattr(loop, "_rank", lambda found: -found["steps"])
    status, _, err = verb("train", f"resume={trained}", "steps=192", "hydra.run.dir=rest")
    assert status == 0, err
    assert (tmp_path / "rest" / "policy.onnx").read_bytes() == (trained / "policy.onnx").read_bytes()


@pytest.mark.slow
def test_an_earlier_checkpoint_can_be_chosen(verb, tiny, tmp_path):
    verb("train", *tiny["ppo"], "steps=192", "checkpoint.every=64", "checkpoint.keep=9", "hydra.run.dir=run")
    names = [path.name for path in sorted((tmp_path / "run" / "checkpoints").iterdir())]
    assert names == ["000000000064.zip", "000000000128.zip", "000000000192.zip"]
    status, out, err = verb("train", f"resume=run/checkpoints/{names[0]}", "hydra.run.dir=rest")
    assert status == 0, err
    assert "going on from step 64" in out
    assert same(learned(tmp_path / "run")["weights"], learned(tmp_path / "rest")["weights"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_loses_nothing_and_a_second_one_stops_at_once(verb, tiny, tmp_path, monkeypatch, number):
    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        stopping_at(patch, 64, number)
        status, out, _ = verb("train", *tiny["ppo"], "steps=6400", "hydra.run.dir=one")
    assert status == 128 + number
    assert "stopping after this rollout" in out
    assert read_checkpoint(tmp_path / "one").steps == 64

    def twice(callback):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Callback, "_on_rollout_start", twice)
        status, out, _ = verb("train", *tiny["ppo"], "steps=6400", "hydra.run.dir=two")
    assert status == 130
    assert "stopped at once; nothing was saved yet" in out
    with monkeypatch.context() as patch:
        patch.setattr(loop._Callback, "_on_rollout_start", twice)
        status, out, _ = verb("train", "resume=one", "hydra.run.dir=three")
    assert status == 130
    assert "go on from the last checkpoint: resume=one" in out
    assert signal.getsignal(number) == before


@pytest.mark.slow
def test_a_run_killed_while_it_writes_a_checkpoint_goes_on_from_the_one_before(verb, tiny, tmp_path):
    """SIGKILL when the second checkpoint is on its way to the disk, with everything of it written but the name."""
    code = """
import os, signal, sys
import pliant.files
sync, count = os.fsync, 0
def kill_in_the_second(descriptor):
    global count
    name = os.readlink(f"/proc/self/fd/{descriptor}")
    count += "checkpoints/." in name
    if count == 2:
        os.truncate(name, os.stat(name).st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)
    sync(descriptor)
pliant.files.os.fsync = kill_in_the_second
from pliant.scripts import train
sys.argv[0] = "pliant train"
train.main()
"""
    arguments = [*tiny["ppo"], "steps=256", "checkpoint.every=64", "hydra.run.dir=run"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path.name for path in sorted((tmp_path / "run" / "checkpoints").iterdir())]
    assert len(left) == 2
    assert left[0].startswith(".000000000128.zip.")
    assert left[1] == "000000000064.zip"
    status, out, err = verb("train", "resume=run", "hydra.run.dir=rest")
    assert status == 0, err
    assert "going on from step 64" in out
    verb("train", *tiny["ppo"], "steps=256", "hydra.run.dir=whole")
    assert same(learned(tmp_path / "whole")["weights"], learned(tmp_path / "rest")["weights"])


@pytest.mark.slow
def test_a_corrupt_checkpoint_is_refused_clearly(verb, tiny, tmp_path):
    verb("train", *tiny["ppo"], "steps=128", "checkpoint.every=64", "hydra.run.dir=run")
    file = tmp_path / "run" / "checkpoints" / "000000000128.zip"
    file.write_bytes(file.read_bytes()[:-100])
    status, _, err = verb("train", "resume=run", "steps=256", "hydra.run.dir=rest")
    assert status == 2
    assert "000000000128.zip is damaged" in err
    assert "resume=run/checkpoints/000000000064.zip" in err
    file.write_bytes(b"")
    assert verb("train", "resume=run", "steps=256", "hydra.run.dir=rest")[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["resume=nowhere"], "run folder nowhere does not exist"),
        (["resume={run}"], "128 steps of 128 are done; to learn further: steps=256"),
        (["resume={run}", "steps=256", "seed=1"], "settings.seed: 0 in the file, 1 here"),
        (["resume={run}", "steps=256", "task=track"], "settings.task.name"),
        (["resume={run}", "steps=256", "algo=sac"], "settings.algo._target_"),
        (["resume={run}", "steps=256", "period=0.01"], "settings.period: 0.02 in the file, 0.01 here"),
        (["resume={run}/checkpoints/000000000001.zip", "steps=256"], "does not exist"),
    ],
)
def test_what_cannot_be_resumed_is_explained(verb, trained, arguments, message):
    status, out, err = verb("train", *(a.format(run=trained) for a in arguments), "hydra.run.dir=rest")
    assert status == 2, out
    assert message in err
