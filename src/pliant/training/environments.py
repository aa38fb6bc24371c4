"""From a configuration to environments, one or many, and what they offer to a policy."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from omegaconf import DictConfig, OmegaConf

import pliant.envs
from pliant.conf.build import LEARNED, build
from pliant.controllers.policy import PolicyInfo
from pliant.envs.description import describe
from pliant.envs.env import PliantEnv
from pliant.envs.sb3 import sb3_vec_env
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Channel

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
        options: that take the place of those in the configuration.

    Raises:
        UnknownNameError: no such environment.
        ConfigurationError: an option it does not have, or spaces that are not boxes of numbers.
    """
    name, arguments = _arguments(config, randomisation)
    with _explained(name):
        env: Env = gymnasium.make(name, **{**arguments, **options, "render_mode": render_mode})
    return env if isinstance(env.unwrapped, PliantEnv) else _foreign(name, env)


def policy_info(env: Env) -> PolicyInfo:
    """Return what an environment offers to a policy: names, units and bounds of what it observes and commands.

    Of an environment that is not ours only the numbers are known, so they are numbered.
    """
    inner = env.unwrapped
    if isinstance(inner, PliantEnv):
        return PolicyInfo.of(inner.robot.info, inner.observations, inner.actions)
    observed, acted = (_numbered(kind, space) for kind, space in _spaces(env).items())
    period = float(getattr(inner, "dt", 0.0)) or 1.0 / float(env.metadata.get("render_fps", 50))
    return PolicyInfo(env.spec.id if env.spec else type(inner).__name__, (), observed, acted, period)


def vector_environments(config: DictConfig, n: int) -> "VecEnv":
    """Return n environments that learn together, with robots that differ if the configuration says so.

    Stepped all at once where the environment can be, else one after another. Errors of `make_environment`.
    """
    name, arguments = _arguments(config, config.get("randomisation"))
    if config.get("env") is not None and gymnasium.spec(name).vector_entry_point is None:
        from stable_baselines3.common.vec_env import DummyVecEnv

        return DummyVecEnv([lambda: make_environment(config) for _ in range(n)])
    threads = int(check_bounds("physics_threads", config.get("physics_threads", 0), 0, 10_000))
    with _explained(name):
        vector: Any = gymnasium.make_vec(
            name,
            n,
            vectorization_mode="vector_entry_point",
            autoreset_mode="SameStep",
            threads=threads,
            **arguments,
        )
    return sb3_vec_env(vector)


def _arguments(config: DictConfig, randomisation: Any) -> tuple[str, dict[str, Any]]:
    """Id and arguments of `gymnasium.make` and `make_vec` alike; registers the environments."""
    pliant.envs.register()
    varied = build(randomisation, "randomisation", LEARNED) if randomisation else None
    if config.get("env") is not None:
        if varied is not None:
            raise ConfigurationError(f"env={config.env} brings a robot of its own; randomisation cannot vary it.")
        options = config.get("env_options") or {}
        return _known(str(config.env)), build(options, "env_options", LEARNED)
    settings: Any = OmegaConf.to_container(config.robot, resolve=True)
    arguments = {
        "robot": describe(settings),
        "task": build(config.task, "task", LEARNED),
        "period": config.get("period"),
        "randomisation": varied,
    }
    return ROBOT, arguments


def _known(name: str) -> str:
    """The id of a registered environment; imports the module that it is to be found in."""
    module, _, identity = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        gymnasium.spec(identity)
    except ImportError as error:
        raise ConfigurationError(f"env={name}: {error}") from error
    except gymnasium.error.Error as error:
        known = sorted(n for n in gymnasium.registry if n.startswith("pliant/"))
        raise unknown_name("environment", name, [*known, "one of your own: module:my/Env-v0"], "env") from error
    return identity


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say which environment does not have an option."""
    try:
        yield
    except TypeError as error:
        raise ConfigurationError(f"environment {name!r}: {error}") from error


def _foreign(name: str, env: Env) -> Env:
    """An environment that is not ours, with actions in [−1, 1]; refuses what would be trained on wrongly."""
    space = _spaces(env)["action"]
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ConfigurationError(
            f"environment {name!r} has an unbounded action space, {space}; an algorithm would learn actions "
            "that no robot has."
        )
    if (space.low == -1.0).all() and (space.high == 1.0).all():
        return env
    low, high = np.float32(-1.0), np.float32(1.0)
    return gymnasium.wrappers.RescaleAction(env, low, high)


def _spaces(env: Env) -> dict[str, Box]:
    spaces = {"observation": env.observation_space, "action": env.action_space}
    for kind, space in spaces.items():
        if not isinstance(space, Box) or len(space.shape) != 1:
            name = env.spec.id if env.spec else type(env.unwrapped).__name__
            raise ConfigurationError(
                f"environment {name!r} has the {kind} space {space}; a Box of one axis is needed."
            )
    return spaces  # type: ignore[return-value]


def _numbered(kind: str, space: Box) -> tuple[Channel, ...]:
    bounds = zip(space.low.tolist(), space.high.tolist(), strict=True)
    return tuple(
        Channel(f"{kind}/{k}", "1", low, high, min(max(0.0, low), high)) for k, (low, high) in enumerate(bounds)
    )
