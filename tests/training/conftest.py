import importlib.util
import sys

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("stable_baselines3") else ["test_*.py"]


TINY = (
    "robot=rig1",
    "task.duration=0.3",
    "task.hold=0.04",
    "task.tolerance=0.4",
    "n_envs=2",
    "evaluation.episodes=3",
    "algo.policy_kwargs.net_arch=[8]",
    "report.write=false",
    "logging.to=[csv]",
)
ON = ("algo=ppo", "algo.n_steps=32", "algo.batch_size=32", "algo.n_epochs=2")
OFF = ("algo.learning_starts=32", "algo.batch_size=16", "algo.train_freq=16", "algo.gradient_steps=4")


@pytest.fixture(scope="session")
def tiny():
    """Overrides, by algorithm, that make training a matter of a second, with episodes that end both ways.

    A rollout of PPO is 64 steps, one of the others 32.
    """
    return {
        name: (*TINY, *(ON if name == "ppo" else (f"algo={name}", *OFF))) for name in ("ppo", "sac", "td3", "tqc")
    }


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a finished tiny run, not to be changed."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    argv, sys.argv = sys.argv, ["pliant train", *TINY, *ON, "steps=128", f"hydra.run.dir={folder}"]
    try:
        importlib.import_module("pliant.scripts.train").main()
    finally:
        sys.argv = argv
    return folder
