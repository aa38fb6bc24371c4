"""Running a policy's episodes: from given seeds, one after another or many at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from pliant.controllers.policies import RandomPolicy, ZeroPolicy, load_policy
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.envs.env import PliantEnv
from pliant.errors import check_bounds
from pliant.progress import progress
from pliant.training.environments import Env, make_environment, policy_info, subject
from pliant.training.joint_errors import JointErrors
from pliant.training.statistics import Episode

TRAINING_CHECKS = 1_000_000
"""First seed of the evaluations during training, far from the training's own …"""
HELD_OUT = 2_000_000
"""… and of those afterwards, on which nothing was selected."""

AS_BUILT, RANDOMISED = "as built", "randomised"
"""The conditions that a policy is evaluated under: its robot, and robots that differ from it."""

WITHOUT_FILE: dict[str, Callable[[PolicyInfo, int], Policy]] = {
    "zero": lambda info, seed: ZeroPolicy(info),
    "random": RandomPolicy,
}
"""Policies that need no file, for a first look: from what an environment offers, and a seed."""


def find_policy(config: DictConfig, env: Env) -> Policy:
    """Return the policy of a file, a run's folder, or "zero" or "random", made ready for an environment.

    Args:
        config: with `policy`, `seed` and `same_robot`.
        env: the environment.

    Raises as `load_policy`.
    """
    return named_or_loaded(config, str(config.policy), env)


def named_or_loaded(config: DictConfig, name: str, env: Env) -> Policy:
    """As `find_policy`, of another name than the configuration's."""
    info = policy_info(env)
    if name in WITHOUT_FILE:
        return WITHOUT_FILE[name](info, int(config.seed))
    return load_policy(name, info, parameters=bool(config.same_robot))


def evaluate(config: DictConfig, console: Console) -> dict[str, list[Episode]]:
    """Run the episodes that `pliant evaluate` is configured for; Ctrl-C ends it early with those that are whole.

    Args:
        config: with `policy`, `seed`, `episodes`, `robots` and what makes the environment.
        console: shows how far it is.

    Returns:
        Episodes by condition: `AS_BUILT`, and `RANDOMISED` if robots that differ are asked for.
    """
    check_bounds("episodes", config.episodes, 1, 10**9)
    check_bounds("robots", config.robots, 0, 10**9)
    environments = {AS_BUILT: (make_environment(config), int(config.episodes))}
    if config.robots:
        varied = make_environment(config, randomisation=config.get("randomisation"))
        environments[RANDOMISED] = (varied, int(config.robots))
    conditions: dict[str, list[Episode]] = {name: [] for name in environments}
    try:
        for name, (env, count) in environments.items():
            _run_all(config, env, count, name, console, conditions[name])
    except KeyboardInterrupt:
        if not conditions[AS_BUILT]:
            raise
    return {name: episodes for name, episodes in conditions.items() if episodes}


def missing_episodes(config: DictConfig, conditions: Mapping[str, Sequence[Episode]]) -> str:
    """Return how many episodes of `evaluate` an interruption left out, in words; nothing if none."""
    asked = {AS_BUILT: int(config.episodes), RANDOMISED: int(config.robots)}
    done = {name: len(conditions.get(name, ())) for name in asked}
    return ", ".join(f"{done[name]} of {n} {name}" for name, n in asked.items()) if done != asked else ""


def evaluation_metrics(
    config: DictConfig, conditions: Mapping[str, Sequence[Episode]], found: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the numbers of an evaluation.

    Args:
        config: of `pliant evaluate`.
        conditions: episodes by condition.
        found: their `summary` by condition.
    """
    return {
        "policy": str(config.policy),
        **subject(config),
        "seed": int(config.seed),
        "completed": not missing_episodes(config, conditions),
        **found[AS_BUILT],
        **{f"{name}_randomised": value for name, value in found.get(RANDOMISED, {}).items()},
        "each": {name: [episode._asdict() for episode in episodes] for name, episodes in conditions.items()},
    }


def _run_all(
    config: DictConfig, env: Env, count: int, what: str, console: Console, episodes: list[Episode]
) -> None:
    """Run a policy's episodes in one environment, add each to `episodes` when it is over, and close it."""
    seed = int(config.seed)
    try:
        policy = find_policy(config, env)
        inner = env.unwrapped
        errors = JointErrors(inner) if isinstance(inner, PliantEnv) else None
        with progress(console, what, count, unit="episodes") as steps:
            for k in range(count):
                episodes.append(run_episode(policy, env, seed + k, errors=errors))
                steps.advance()
    finally:
        env.close()


def run_episode(
    policy: Policy,
    env: Any,
    seed: int,
    each: Callable[[], None] = lambda: None,
    errors: JointErrors | None = None,
) -> Episode:
    """Run one episode of an environment.

    Args:
        policy: made ready for it.
        env: a Gymnasium environment.
        seed: of the episode.
        each: called when it has begun and after every period.
        errors: of the joints of the environment, noted too.
    """

    def note() -> None:
        each()
        if errors is not None:
            errors.see()

    observation, _ = env.reset(seed=seed)
    policy.reset()
    note()
    total, length, over, info = 0.0, 0, False, dict[str, Any]()
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        total, length, over = total + float(reward), length + 1, terminated or truncated
        note()
    found = Episode(seed, total, length, *outcome(info))
    return found if errors is None else found._replace(errors=errors.of_episode())


def run_together(decide: Callable[[Any], Any], environments: Any, seed: int) -> list[Episode]:
    """Run one episode in each of many environments at once, the same ones for the same seed.

    Args:
        decide: observations, (n, observations) -> actions, (n, actions).
        environments: behind stable-baselines3's interface; every episode must come to an end.
        seed: of the first; the others follow.
    """
    n = environments.num_envs
    environments.seed(seed)
    observation = environments.reset()
    total, found, length = np.zeros(n), dict[int, Episode](), 0
    while len(found) < n:
        length += 1
        observation, reward, done, infos = environments.step(decide(observation))
        total += reward
        for k in np.flatnonzero(done):
            episode = Episode(seed + int(k), float(total[k]), length, *outcome(infos[k]))
            found.setdefault(int(k), episode)  # later episodes are of no account
    return [found[k] for k in sorted(found)]


def outcome(info: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether an episode succeeded, None where nothing says, and why its robot failed, if it did.

    Args:
        info: of its last step.
    """
    success = info.get("is_success")
    return None if success is None else bool(success), str(info.get("failure", ""))
