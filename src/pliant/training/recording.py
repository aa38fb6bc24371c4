"""Episodes recorded for a film: a policy's, and beside it those of another one, such as itself before training."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pliant.controllers.policies import load_policy
from pliant.controllers.policies.loading import policy_file
from pliant.controllers.policy import Policy
from pliant.envs.env import PliantEnv
from pliant.envs.recorded_episode import RecordedEpisode, RecordedImages, Shot
from pliant.training.environments import Env, make_environment, policy_info
from pliant.training.evaluation import WITHOUT_FILE, named_or_loaded, run_episode
from pliant.training.registered import explained
from pliant.training.statistics import Episode

TRAINED = "policy.onnx"
"""The best policy of a run, in its folder."""
UNTRAINED = "untrained.onnx"
"""The policy of a run before it has learned anything, in its folder."""
_VERDICTS = {True: "success", False: "no success", None: ""}
_LABELS = {"zero": "zero action", "random": "random actions"}


def record_episode(policy: Policy, env: Any, seed: int, label: str) -> tuple[Episode, Shot]:
    """Run and record an episode, and a while after its end.

    Args:
        policy: made ready for the environment.
        env: ours with a simulated robot, or one that renders images.
        seed: of the episode.
        label: who acts, in words.

    Returns:
        What came of it, and what a film is made of.
    """
    inner = env.unwrapped
    recorded = RecordedEpisode(inner) if isinstance(inner, PliantEnv) else RecordedImages(env)
    episode = run_episode(policy, env, seed, recorded.see)
    recorded.go_on(policy)
    verdict = "the robot failed" if episode.failure else _VERDICTS[episode.success]
    return episode, Shot(label, recorded, verdict)


def record_beside(config: DictConfig, folder: Path, seed: int) -> list[Shot]:
    """Record an episode of the best policy of a training, and of its untrained one.

    Args:
        config: of the training.
        folder: of its run.
        seed: of the episode.

    Raises as `load_policy`.
    """
    env = make_environment(config, "rgb_array")
    try:
        files = {"policy": folder / TRAINED, "untrained": folder / UNTRAINED}
        policies = {label: load_policy(file, policy_info(env)) for label, file in files.items()}
        with explained(config.get("env")):
            return [record_episode(policy, env, seed, label)[1] for label, policy in policies.items()]
    finally:
        env.close()


def policy_label(name: str) -> str:
    """Return what a film calls a policy, from the name it was asked for by."""
    return _LABELS.get(name, "policy")


def policy_beside(config: DictConfig, env: Env) -> tuple[str, Policy] | None:
    """Return the policy that a film shows beside another one, and its label; None: none.

    Args:
        config: with `policy`; `beside`, its name, `untrained` or null; and what `find_policy` needs.
        env: the environment.

    Raises as `load_policy`.
    """
    if config.beside is None or str(config.policy) == str(config.beside):
        return None
    if str(config.beside) != "untrained":
        return policy_label(str(config.beside)), named_or_loaded(config, str(config.beside), env)
    if str(config.policy) in WITHOUT_FILE:
        return None
    before = policy_file(Path(config.policy)).with_name(UNTRAINED)
    name = str(before) if before.is_file() else "zero"
    return ("untrained" if before.is_file() else _LABELS["zero"]), named_or_loaded(config, name, env)
