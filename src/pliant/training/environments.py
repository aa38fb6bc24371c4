"""From a configuration to environments, one or many, and what they offer to a policy."""

from typing import TYPE_CHECKING, Any

import gymnasium
from omegaconf import DictConfig, OmegaConf

import pliant.envs
from pliant.conf.build import LEARNED, build
from pliant.controllers.policy import PolicyInfo
from pliant.envs.description import describe
from pliant.envs.env import PliantEnv
from pliant.envs.sb3 import sb3_vec_env
from pliant.errors import ConfigurationError, check_bounds
from pliant.training.registered import RegisteredEnv, accepted, explained, known_id, registered_info

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

Env = gymnasium.Env[Any, Any]

ROBOT = "pliant/Robot-v0"


def make_environment(
    config: DictConfig, render_mode: str | None = None, *, randomisation: Any = None, **options: Any
) -> Env:
    """Return one environment.

    Args:
        config: with the nodes `robot` and `task` and the `period`; or with `env`, the id of any Gymnasium
            environment (`module:my/Env-v0` imports it first), and its `env_options`.
        render_mode: None, "human" or "rgb_array".
        randomisation: node that says how its robot differs from episode to episode; None or empty: not at all.
        options: that take the place of those in the configuration; of an id those that it has.

    Raises:
        UnknownNameError: no such environment.
        ConfigurationError: an option it does not have, or spaces that cannot be learned in; see `RegisteredEnv`.
    """
    name, arguments = _arguments(config, randomisation)
    with explained(name):
        taken = options if config.get("env") is None else accepted(name, options)
        env: Env = gymnasium.make(name, **{**arguments, **taken, "render_mode": render_mode})
    return env if isinstance(env.unwrapped, PliantEnv) else RegisteredEnv(name, env)


def policy_info(env: Env) -> PolicyInfo:
    """Return what an environment offers to a policy: names, units and bounds of what it observes and commands.

    Args:
        env: of `make_environment`.
    """
    inner = env.unwrapped
    if isinstance(inner, PliantEnv):
        return PolicyInfo.of(inner.robot.info, inner.observations, inner.actions)
    if isinstance(env, RegisteredEnv):
        return registered_info(env)
    raise ConfigurationError(f"{env} is not an environment of make_environment.")


def subject(config: DictConfig) -> dict[str, str]:
    """Return what a configuration is about, for its results: the `task`, or the id of the `environment`."""
    if config.get("env") is not None:
        return {"environment": str(config.env)}
    return {"task": str(config.task.name)}


def vector_environments(config: DictConfig, n: int) -> "VecEnv":
    """Return n environments that learn together, with robots that differ if the configuration says so.

    Stepped all at once where the environment can be, else one after another. Errors of `make_environment`.
    """
    name, arguments = _arguments(config, config.get("randomisation"))
    if config.get("env") is not None and not _steps_together(config, name):
        from stable_baselines3.common.vec_env import DummyVecEnv

        return DummyVecEnv([lambda: make_environment(config) for _ in range(n)])
    threads = int(check_bounds("physics_threads", config.get("physics_threads", 0), 0, 10_000))
    with explained(name):
        vector: Any = gymnasium.make_vec(
            name,
            n,
            vectorization_mode="vector_entry_point",
            autoreset_mode="SameStep",
            threads=threads,
            **arguments,
        )
    return sb3_vec_env(vector)


def _steps_together(config: DictConfig, name: str) -> bool:
    """Whether an id stands for an environment of ours that many can be made of at once."""
    if gymnasium.spec(name).vector_entry_point is None:
        return False
    example = make_environment(config)
    example.close()
    return isinstance(example.unwrapped, PliantEnv)


def _arguments(config: DictConfig, randomisation: Any) -> tuple[str, dict[str, Any]]:
    """Id and arguments of `gymnasium.make` and `make_vec` alike; registers the environments."""
    pliant.envs.register()
    varied = build(randomisation, "randomisation", LEARNED) if randomisation else None
    if config.get("env") is not None:
        if varied is not None:
            raise ConfigurationError(f"env={config.env} brings a robot of its own; randomisation cannot vary it.")
        options = config.get("env_options") or {}
        return known_id(str(config.env)), build(options, "env_options", LEARNED)
    settings: Any = OmegaConf.to_container(config.robot, resolve=True)
    arguments = {
        "robot": describe(settings),
        "task": build(config.task, "task", LEARNED),
        "period": config.get("period"),
        "randomisation": varied,
    }
    return ROBOT, arguments
