"""A `PliantVectorEnv` as stable-baselines3's `VecEnv`. Import it through `pliant.envs.sb3`."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from pliant.envs.tasks.task import Observation
from pliant.envs.vector import Member, PliantVectorEnv
from pliant.errors import ConfigurationError

Indices = int | Iterable[int] | None
Infos = list[dict[str, Any]]


class SB3VecEnv(VecEnv):  # type: ignore[misc]
    """n environments, each of which begins its next episode in the very step that ends the last.

    The `info` of that step holds `terminal_observation`, `TimeLimit.truncated` and, as a `Monitor` would write,
    `episode`: its return `r`, length `l` and the time `t` since this object was made, s. What `reset` reports (the
    parameters that were drawn) is in `reset_infos`.

    `get_attr`, `set_attr` and `env_method` speak to the members of the vector environment, see `Member`.
    """

    def __init__(self, env: PliantVectorEnv) -> None:
        """Wrap a vector environment; see `pliant.envs.sb3.sb3_vec_env`."""
        if env.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ConfigurationError(
                "stable-baselines3 needs a vector environment made with autoreset_mode='SameStep', not "
                f"'{env.autoreset_mode.value}'."
            )
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = env.metadata
        self._actions: NDArray[Any] | None = None
        self._returns = np.zeros(env.num_envs)
        self._made = time.time()

    def reset(self) -> Observation:
        """Begin an episode everywhere, with the seeds of the last `seed`.

        Raises:
            ConfigurationError: options were set; the environments have none.
        """
        if any(self._options):
            raise ConfigurationError("the environments take no options at a reset.")
        observations, infos = self.env.reset(seed=self._seeds)
        self._reset_seeds()
        self.reset_infos = split(infos, self.num_envs)
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the coming step."""
        self._actions = actions

    def step_wait(self) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], Infos]:
        """Act for one period; see `PliantVectorEnv.step`."""
        assert self._actions is not None
        lengths = self.env.elapsed + 1  # the step itself sets those that end to 0
        self._returns[lengths == 1] = 0.0
        observations, rewards, terminated, truncated, merged = self.env.step(self._actions)
        done = terminated | truncated
        self._returns += rewards
        infos = split(merged, self.num_envs)
        for info in infos:
            info["TimeLimit.truncated"] = False
        for i in np.flatnonzero(done).tolist():
            ended, self.reset_infos[i] = self._final(infos[i], float(self._returns[i]), int(lengths[i]))
            infos[i] = {**ended, "TimeLimit.truncated": bool(truncated[i] and not terminated[i])}
        return observations, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the vector environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of each member."""
        return [getattr(member, attr_name) for member in self._members(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of members.

        Raises:
            ConfigurationError: it belongs to all environments together.
        """
        for member in self._members(indices):
            member.set_wrapper_attr(attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of each member."""
        return [getattr(m, method_name)(*method_args, **method_kwargs) for m in self._members(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """Whether the members are wrapped: by a `Monitor`, as it were, since episodes are reported; else not."""
        return [issubclass(wrapper_class, Monitor) for _ in self._members(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return an image of every robot."""
        return [member.render() for member in self.env.envs]

    def _members(self, indices: Indices) -> list[Member]:
        return [self.env.envs[i] for i in self._get_indices(indices)]

    def _final(self, info: dict[str, Any], return_: float, length: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what an environment reports of the episode that ended and of the one that begins."""
        ended: dict[str, Any] = info.pop("final_info")
        ended["terminal_observation"] = info.pop("final_obs")
        ended["episode"] = {"r": return_, "l": length, "t": round(time.time() - self._made, 6)}
        return ended, {name: value for name, value in info.items() if name != "TimeLimit.truncated"}


def split(infos: Mapping[str, Any], n: int) -> Infos:
    """Return what each of n environments reports, from a vector environment's `infos`."""
    names = [name for name in infos if not name.startswith("_")]
    common = [name for name in names if infos[f"_{name}"].all()]
    each: Infos = [dict(zip(common, row)) for row in zip(*(_listed(infos[name], n) for name in common))]  # noqa: B905
    each = each or [{} for _ in range(n)]
    for name in set(names) - set(common):
        values = _listed(infos[name], n)
        for i in np.flatnonzero(infos[f"_{name}"]).tolist():
            each[i][name] = values[i]
    return each


def _listed(values: Any, n: int) -> list[Any]:
    return split(values, n) if isinstance(values, Mapping) else values.tolist()
