"""From the configuration groups `env` and `task` to environments, one or many."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from omegaconf import DictConfig

import pliant.envs
from pliant.conf.build import LEARNED, build
from pliant.controllers.policy import PolicyInfo
from pliant.envs.env import PliantEnv
from pliant.envs.sb3 import sb3_vec_env
from pliant.errors import ConfigurationError, unknown_name

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

Env = gymnasium.Env[Any, Any]


def make_environment(
    config: DictConfig, render_mode: str | None = None, *, randomisation: Any = None, **options: Any
) -> Env:
    """Return one environment.

    Args:
        config: with the nodes `env` (id and options of `gymnasium.make`) and `task`.
        render_mode: None, "human" or "rgb_array".
        randomisation: node that says how its robot differs from episode to episode; None or empty: not at all.
        options: that take the place of those in the configuration.

    Raises:
        UnknownNameError: no such environment.
        ConfigurationError: an option it does not have, an action space that is not [−1, 1], or an environment that
            does not name what it observes and commands.
    """
    arguments = {**_arguments(config, randomisation), **options, "render_mode": render_mode}
    with _explained(config.env.id):
        env = gymnasium.make(config.env.id, **arguments)
    _check_spaces(config.env.id, env)
    return env


def policy_info(env: Env) -> PolicyInfo:
    """Return what an environment offers to a policy: names, units and bounds of what it observes and commands."""
    inner = env.unwrapped
    assert isinstance(inner, PliantEnv)  # as make_environment checks
    return PolicyInfo.of(inner.robot.info, inner.observations, inner.actions)


def vector_environments(config: DictConfig, n: int) -> "VecEnv":
    """Return n environments that learn together, with robots that differ if the configuration says so.

    Stepped all at once where the environment can be, else one after another. Errors of `make_environment`.
    """
    name, randomisation = config.env.id, config.get("randomisation")
    spec = gymnasium.registry.get(name)
    if spec is None or spec.vector_entry_point is None:
        from stable_baselines3.common.vec_env import DummyVecEnv

        return DummyVecEnv([lambda: make_environment(config, randomisation=randomisation) for _ in range(n)])
    arguments = {**_arguments(config, randomisation), "threads": int(config.physics_threads)}
    with _explained(name):
        vector: Any = gymnasium.make_vec(
            name, n, vectorization_mode="vector_entry_point", autoreset_mode="SameStep", **arguments
        )
    return sb3_vec_env(vector)


def _arguments(config: DictConfig, randomisation: Any) -> dict[str, Any]:
    """Arguments of `gymnasium.make` and `make_vec` alike; registers the environments."""
    pliant.envs.register()
    if config.env.id not in gymnasium.registry:
        known = sorted(name for name in gymnasium.registry if name.startswith("pliant/"))
        raise unknown_name("environment", config.env.id, known, "env.id")
    arguments: dict[str, Any] = {
        **build(config.env.options, "env.options", LEARNED),
        "task": build(config.task, "task", LEARNED),
    }
    if randomisation:
        varied = build(randomisation, "randomisation", LEARNED)
        arguments["robot"] = {**(arguments.get("robot") or {}), "randomisation": varied}
    return arguments


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say which environment does not have an option."""
    try:
        yield
    except TypeError as error:
        raise ConfigurationError(f"environment {name!r}: {error}") from error


def _check_spaces(name: str, env: Env) -> None:
    """Refuse what would be trained on wrongly, and in silence."""
    space = env.action_space
    if not isinstance(space, Box):
        raise ConfigurationError(f"environment {name!r} has the action space {space}; a Box is needed.")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ConfigurationError(
            f"environment {name!r} has an unbounded action space, {space}; an algorithm would learn actions "
            "that no robot has. Actions in [-1, 1], spread over the robot's bounds, are needed."
        )
    if not ((space.low == -1.0).all() and (space.high == 1.0).all()):
        raise ConfigurationError(f"environment {name!r} has the action space {space}; [-1, 1] is needed.")
    if not isinstance(env.unwrapped, PliantEnv):
        raise ConfigurationError(
            f"environment {name!r} is a {type(env.unwrapped).__name__}, which does not name what it observes and "
            "commands, so that no robot could tell whether a policy fits. Make it a PliantEnv."
        )
