"""Environments registered with Gymnasium by others, made what the training expects: vectors of numbers."""

import difflib
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, flatten, flatten_space
from numpy.typing import NDArray

from pliant.controllers.policy import PolicyInfo, to_command
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.hardware.robot import Channel

_LONGEST = 10_000
"""Steps after which an episode without a limit is taken to have no end."""
_USUAL_RATE = 50
"""Steps in a second, 1/s, where the environment does not say."""
_PICTURE = 3
"""Axes of a picture of 8-bit values."""


class RegisteredEnv(gymnasium.Wrapper[NDArray[np.float32], Any, Any, Any]):
    """An environment of any registered id, with vectors for observations.

    | space | as it is here |
    |---|---|
    | observation `Box`, `Discrete`, `MultiDiscrete`, `MultiBinary`, `Dict`, `Tuple` | flattened, float32 |
    | action `Box` of one axis, bounded | [−1, 1], spread over its bounds |
    | action `Discrete` of n | n, counted from 0; or n preferences, of which the largest counts |

    Args:
        name: its id, for messages.
        env: as `gymnasium.make` returns it.

    Raises:
        ConfigurationError: another space.
    """

    def __init__(self, name: str, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._name, self._age = name, 0
        self._unlimited = env.spec is None or env.spec.max_episode_steps is None
        self.observation_space = _vector_space(name, env.observation_space)
        self.actions = _actions(name, env.action_space)
        """What an action moves, in the environment's own numbers."""
        self.action_space = (
            Discrete(len(self.actions))
            if isinstance(env.action_space, Discrete)
            else Box(-1.0, 1.0, env.action_space.shape, np.float32)
        )
        self.episode_generator: dict[str, Any] = {}
        """State of its random generator when the present episode began."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        self._age = 0
        self.episode_generator = dict(self.np_random.bit_generator.state)
        observation, info = self.env.reset(seed=seed, options=options)
        return self._vector(observation), info

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take a step.

        Raises:
            ConfigurationError: the episode has no end.
        """
        self._age += 1
        if self._unlimited and self._age > _LONGEST:
            raise ConfigurationError(
                f"an episode of environment {self._name!r} has not ended after {_LONGEST:,} steps. Give it a "
                "limit: gymnasium.register(…, max_episode_steps=N), or +env_options.max_episode_steps=N."
            )
        observation, reward, terminated, truncated, info = self.env.step(self._own_action(action))
        return self._vector(observation), float(reward), bool(terminated), bool(truncated), info

    def _own_action(self, action: Any) -> Any:
        space = self.env.action_space
        if isinstance(space, Discrete):
            return space.start + int(np.argmax(action) if np.ndim(action) else action)
        assert isinstance(space, Box)
        spread = to_command(np.clip(action, -1.0, 1.0), self.actions)
        return np.clip(spread.astype(space.dtype), space.low, space.high)

    def _vector(self, observation: Any) -> NDArray[np.float32]:
        return np.asarray(flatten(self.env.observation_space, observation), np.float32)


def registered_info(env: RegisteredEnv) -> PolicyInfo:
    """Return what an environment offers to a policy; as it names nothing, its numbers are numbered."""
    inner, space = env.unwrapped, env.observation_space
    assert isinstance(space, Box)
    period = float(getattr(inner, "dt", 0.0)) or 1.0 / float(env.metadata.get("render_fps") or _USUAL_RATE)
    name = env.spec.id if env.spec else type(inner).__name__
    return PolicyInfo(name, (), _numbered("observation", space), env.actions, period)


def known_id(name: str) -> str:
    """Return the id of a registered environment; the module in `module:my/Env-v0` is imported first.

    Raises:
        ConfigurationError: the module cannot be imported.
        UnknownNameError: no such id; the message says the nearest ones.
    """
    module, _, identity = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
    except Exception as error:  # a module of the user's own may fail in any way
        kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
        raise ConfigurationError(f"env={name}: {kind}{error}") from error
    try:
        gymnasium.spec(identity)
    except gymnasium.error.Error as error:
        raise _unknown(name, identity) from error
    return identity


@contextmanager
def explained(name: str | None) -> Iterator[None]:
    """Raise `ConfigurationError`, which names the environment, where it cannot be made or drawn.

    Args:
        name: its id; None: one of our own, whose faults are not the user's.
    """
    try:
        yield
    except (TypeError, ImportError, gymnasium.error.Error) as error:
        if name is None:
            raise
        raise ConfigurationError(f"environment {name!r}: {error}") from error


def accepted(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options that the maker of an environment takes, such as the size of its pictures."""
    entry = gymnasium.spec(name).entry_point
    with explained(name):
        maker = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    taken = signature(maker).parameters if callable(maker) else {}
    everything = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values())
    return {key: value for key, value in options.items() if everything or key in taken}


def _unknown(name: str, identity: str) -> UnknownNameError:
    """The error for an id; of the many that are registered only the nearest are told."""
    close = difflib.get_close_matches(identity, gymnasium.registry, n=3)
    if not close:  # the name may be right, and the version missing or another
        stem = identity.rpartition("/")[2].rpartition("-v")[0] or identity
        close = sorted(other for other in gymnasium.registry if stem and stem.lower() in other.lower())[:3]
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    ours = ", ".join(sorted(other for other in gymnasium.registry if other.startswith("pliant/")))
    return UnknownNameError(
        f"unknown environment {name!r} in env.{hint} Valid: any id registered with Gymnasium, {ours}, or one of "
        "your own: module:my/Env-v0."
    )


def _vector_space(name: str, space: gymnasium.Space[Any]) -> Any:
    if isinstance(space, Box) and space.dtype == np.uint8 and len(space.shape) == _PICTURE:
        raise ConfigurationError(
            f"environment {name!r} observes pictures, {space}; the networks here, and the file of a policy, have "
            "dense layers only. Observations of numbers are needed."
        )
    flat = flatten_space(space) if space.is_np_flattenable else None
    if not isinstance(flat, Box):
        raise ConfigurationError(
            f"environment {name!r} has the observation space {space}; one that flattens to a vector is needed: "
            "Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of these."
        )
    return Box(flat.low.astype(np.float32), flat.high.astype(np.float32), dtype=np.float32)


def _actions(name: str, space: gymnasium.Space[Any]) -> tuple[Channel, ...]:
    if isinstance(space, Discrete):
        return tuple(Channel(f"action/{k}", "1", -1.0, 1.0, 0.0) for k in range(int(space.n)))
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise ConfigurationError(
            f"environment {name!r} has the action space {space}; a Box of one axis or a Discrete is needed."
        )
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ConfigurationError(
            f"environment {name!r} has an unbounded action space, {space}; an algorithm would learn actions "
            "that no robot has."
        )
    return _numbered("action", space)


def _numbered(kind: str, space: Box) -> tuple[Channel, ...]:
    bounds = zip(space.low.tolist(), space.high.tolist(), strict=True)
    return tuple(
        Channel(f"{kind}/{k}", "1", low, high, min(max(0.0, low), high)) for k, (low, high) in enumerate(bounds)
    )
