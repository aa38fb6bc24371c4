"""Where the episodes of a training stand, to be saved: an episode is its generator and its actions.

Needs stable-baselines3; imported by what trains.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from pliant.errors import MismatchError

_TOLD = "episode_generator"
"""Attribute of environments that tell the state of their generator when the episode began."""


class RunningEpisodes(NamedTuple):
    """Everything that n running episodes can be repeated from."""

    generators: list[dict[str, Any]]
    """State of each environment's random generator when its episode began."""
    ages: NDArray[np.int64]
    """Steps since then, (n,)."""
    actions: NDArray[Any]
    """The last actions of all environments, (largest age, n, actions)."""
    observation: NDArray[np.float32]
    """What was observed last, (n, observations)."""


class EpisodeRecorder(VecEnvWrapper):  # type: ignore[misc]
    """Remembers of every running episode how it began and what was done, so that it can be repeated.

    The environments must draw from their own generator, `np_random`, and nothing else: only when an episode
    begins, as `PliantEnv` does, or at any time if they tell its state at that time, as `RegisteredEnv` does.
    """

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv)
        self._ages = np.zeros(self.num_envs, dtype=np.int64)
        self._actions: list[NDArray[Any]] = []
        self._begun: list[dict[str, Any]] = []
        self._next: list[dict[str, Any]] = []
        self._observation = np.empty(0, dtype=np.float32)
        self._told = venv.has_attr(_TOLD)

    def reset(self) -> NDArray[np.float32]:
        """Begin new episodes.

        The first reset seeds the generators; the episodes it begins are passed over, so that the state at the
        beginning of those that count is known.
        """
        self.venv.reset()
        self._next = self._generators(range(self.num_envs))
        observation: NDArray[np.float32] = self.venv.reset()
        self._begin(range(self.num_envs), observation)
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Note the actions and act."""
        self._actions.append(np.array(actions))
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Note which episodes ended."""
        observation, rewards, dones, infos = self.venv.step_wait()
        self._ages += 1
        self._begin(np.flatnonzero(dones), observation)
        longest = int(self._ages.max())
        if len(self._actions) > 2 * longest + 100:
            del self._actions[: len(self._actions) - longest]
        return observation, rewards, dones, infos

    def running(self) -> RunningEpisodes:
        """Return where the episodes stand."""
        longest = int(self._ages.max())
        actions = np.array(self._actions[len(self._actions) - longest :])
        return RunningEpisodes(list(self._begun), self._ages.copy(), actions, self._observation.copy())

    def restore(self, episodes: RunningEpisodes) -> None:
        """Repeat the episodes up to where they stood.

        Raises:
            MismatchError: they come out otherwise: the environment, or the software under it, has changed.
        """
        self.venv.reset()
        longest = int(episodes.ages.max())
        observation = np.empty_like(episodes.observation)
        for step in range(longest + 1):
            starting = np.flatnonzero(episodes.ages == longest - step)
            for index, generator in zip(starting, self._get("np_random", starting), strict=True):
                generator.bit_generator.state = episodes.generators[index]
                ((observation[index], _),) = self.venv.env_method("reset", indices=[int(index)])
            if step < longest:
                observation = self._repeat(episodes.actions[step], observation, episodes.ages, longest - step)
        if not np.array_equal(observation, episodes.observation):
            raise MismatchError(
                "the environment does not repeat its episodes: the checkpoint's last observations cannot be "
                "reached again. Was it made with another version of Pliant or MuJoCo? An environment of your own "
                "must draw from its np_random alone, and keep nothing from one episode to the next."
            )
        self._begun, self._ages = list(episodes.generators), episodes.ages.copy()
        self._next = self._generators(range(self.num_envs))
        self._actions, self._observation = list(episodes.actions), observation

    def _repeat(
        self, actions: NDArray[Any], observation: NDArray[np.float32], ages: NDArray[np.int64], left: int
    ) -> NDArray[np.float32]:
        """Take a step again; what environments do whose turn has not come is of no account."""
        moved, _, _, _ = self.venv.step(actions)
        running = ages >= left
        return np.where(running[:, None], moved, observation)

    def _begin(self, indices: Any, observation: NDArray[np.float32]) -> None:
        self._observation = observation
        if len(indices) == 0:
            return
        if not self._begun:
            self._begun = list(self._next)
        before = self._get(_TOLD, indices) if self._told else [self._next[index] for index in indices]
        for index, earlier, after in zip(indices, before, self._generators(indices), strict=True):
            self._begun[index], self._next[index] = earlier, after
        self._ages[list(indices)] = 0

    def _generators(self, indices: Any) -> list[dict[str, Any]]:
        return [generator.bit_generator.state for generator in self._get("np_random", indices)]

    def _get(self, name: str, indices: Any) -> list[Any]:
        found: list[Any] = self.venv.get_attr(name, indices=[int(index) for index in indices])
        return found
