"""A training: algorithm, environments and normaliser, and how all of it is saved and put back.

Needs stable-baselines3; imported by what trains.
"""

import io
import random
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from pliant.conf.build import build
from pliant.controllers.policies import Normalisation, SB3Policy
from pliant.controllers.policy import PolicyInfo
from pliant.errors import ConfigurationError, FileFormatError, PliantError, require_extra
from pliant.files import plain
from pliant.training.checkpoints import Checkpoint, check_settings
from pliant.training.environments import vector_environments
from pliant.training.episode_recorder import EpisodeRecorder, RunningEpisodes
from pliant.training.run_settings import ENVIRONMENT

_SETTINGS = (*ENVIRONMENT, "randomisation", "algo", "normalise", "n_envs", "exploration", "seed")
"""Nodes of the configuration that must stay the same from a checkpoint on."""


class Learner:
    """An algorithm with everything it learns on. A checkpoint of it holds all that decides how it goes on."""

    def __init__(self, config: DictConfig, info: PolicyInfo) -> None:
        """Build it as the configuration says.

        Args:
            config: of `pliant train`.
            info: what the environments offer.

        Raises:
            ConfigurationError: settings that the algorithm does not have, or that do not go together.
            MissingExtraError: the algorithm's package is not installed.
        """
        self.info = info
        settings: Any = OmegaConf.to_container(config, resolve=True)
        names = _SETTINGS if settings.get("env") is None else [n for n in _SETTINGS if n != "period"]
        self.settings = {name: plain(settings[name]) for name in names if name in settings}
        algorithm = _algorithm(config)
        self._recorder = EpisodeRecorder(vector_environments(config, int(config.n_envs)))
        with warnings.catch_warnings():  # the environments count for themselves; these counts can be restored
            warnings.filterwarnings("ignore", ".*already wrapped with a `Monitor`")
            self._monitor = VecMonitor(self._recorder)
        self.normaliser = _normaliser(self._monitor, config)
        try:
            self.model = algorithm(
                env=self.environments, seed=int(config.seed), device=config.device, **self._noise(config)
            )
        except (TypeError, ValueError, AssertionError, RuntimeError, NotImplementedError) as error:
            raise ConfigurationError(f"algo {config.algo._target_}: {error}") from error
        self.scheduled = int(config.steps)
        """Steps that schedules, such as that of the learning rate, are stretched over: those of the first run. Who
        resumes it for more goes on with their last value."""
        self._pace()

    @property
    def environments(self) -> VecEnv:
        """What the algorithm sees."""
        return self._monitor if self.normaliser is None else self.normaliser

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return int(self.model.num_timesteps)

    def _pace(self) -> None:
        """Let the algorithm's schedules go by `scheduled`, and not by the steps of the run at hand."""
        model = self.model

        def update(done: int, total: int) -> None:
            model._current_progress_remaining = max(0.0, 1.0 - done / self.scheduled)

        model._update_current_progress_remaining = update

    def _noise(self, config: DictConfig) -> dict[str, NormalActionNoise]:
        """Exploration noise, for an algorithm whose policy has none of its own."""
        if "exploration" not in config:
            return {}
        ones = np.ones(len(self.info.actions), dtype=np.float32)
        return {"action_noise": NormalActionNoise(0.0 * ones, float(config.exploration) * ones)}

    def normalise(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return observations as the algorithm sees them; learns nothing from them."""
        if self.normaliser is None:
            return observation
        scaled: NDArray[np.float32] = self.normaliser.normalize_obs(observation)
        return scaled

    def policy(self, origin: Mapping[str, Any]) -> SB3Policy:
        """Return what has been learned so far; it goes on changing with the learner.

        Args:
            origin: where it comes from.
        """
        info = PolicyInfo(**{**vars(self.info), "origin": {**origin, "steps": self.steps}})
        normaliser = self.normaliser
        if normaliser is None or not normaliser.norm_obs:
            return SB3Policy(self.model, info, None)
        rms = normaliser.obs_rms
        return SB3Policy(
            self.model, info, Normalisation(rms.mean, rms.var, normaliser.clip_obs, normaliser.epsilon)
        )

    def checkpoint(self, progress: Mapping[str, Any], best: bytes | None) -> Checkpoint:
        """Return the training as it is between two rollouts.

        Args:
            progress: of the run, kept with it.
            best: the file of the best policy so far.
        """
        model = io.BytesIO()
        self.model.save(model, exclude=["_update_current_progress_remaining"])
        state = {
            "standing": self._recorder.running()._asdict(),
            "monitor": {name: getattr(self._monitor, name) for name in _MONITORED},
            "normaliser": None if self.normaliser is None else _normaliser_state(self.normaliser),
            "generators": _generators(self.model),
            "scheduled": self.scheduled,
            "progress": dict(progress),
        }
        buffer = getattr(self.model, "replay_buffer", None)
        arrays = None if buffer is None else _filled(buffer)
        return Checkpoint(self.steps, self.settings, model.getvalue(), state, arrays, best)

    def restore(self, checkpoint: Checkpoint) -> Mapping[str, Any]:
        """Go on from a checkpoint, to the last bit as if there had been no interruption.

        (Except with generalised state-dependent exploration, `use_sde`, whose noise is drawn anew.)

        Returns:
            The progress that was kept with it.

        Raises:
            MismatchError: it is of another training, or the environments do not repeat themselves.
            FileFormatError: its parts do not go together.
        """
        check_settings(checkpoint, self.settings)
        state = checkpoint.state
        device = self.model.device
        try:
            self.model = type(self.model).load(io.BytesIO(checkpoint.model), device=device)
            self.model.set_env(self.environments, force_reset=False)
            self.scheduled = int(state["scheduled"])
            self._pace()
            self._recorder.restore(RunningEpisodes(**state["standing"]))
            for name, value in state["monitor"].items():
                setattr(self._monitor, name, value)
            if self.normaliser is not None:
                _restore_normaliser(self.normaliser, state["normaliser"])
            if checkpoint.buffer is not None:
                _refill(self.model.replay_buffer, checkpoint.buffer)
            _restore_generators(self.model, state["generators"])
            return dict(state["progress"])
        except PliantError:
            raise
        except (KeyError, TypeError, ValueError, AssertionError, RuntimeError, AttributeError) as error:
            raise FileFormatError(f"the checkpoint's parts do not go together: {error}") from error


_MONITORED = ("episode_returns", "episode_lengths", "episode_count")


def _algorithm(config: DictConfig) -> Any:
    """The algorithm's class with its settings, waiting for its environments."""
    target = str(config.algo._target_)
    require_extra(target.partition(".")[0], "train", f"the algorithm {target}")
    algorithm = build(config.algo, "algo")
    if not callable(algorithm):
        raise ConfigurationError(f"algo: {target} is not an algorithm; `_partial_: true` is needed.")
    return algorithm


def _normaliser(monitor: VecMonitor, config: DictConfig) -> VecNormalize | None:
    wanted = config.normalise
    if not (wanted.observation or wanted.reward):
        return None
    return VecNormalize(
        monitor,
        norm_obs=bool(wanted.observation),
        norm_reward=bool(wanted.reward),
        clip_obs=float(wanted.clip),
        clip_reward=float(wanted.clip),
        gamma=float(config.algo.get("gamma", 0.99)),
    )


def _statistics(rms: RunningMeanStd) -> tuple[Any, ...]:
    return np.array(rms.mean), np.array(rms.var), float(rms.count)


def _normaliser_state(normaliser: VecNormalize) -> dict[str, Any]:
    state: dict[str, Any] = {"returns": normaliser.returns.copy(), "reward": _statistics(normaliser.ret_rms)}
    if normaliser.norm_obs:
        state["observation"] = _statistics(normaliser.obs_rms)
    return state


def _restore_normaliser(normaliser: VecNormalize, state: Mapping[str, Any]) -> None:
    normaliser.returns = state["returns"]
    pairs = [(normaliser.ret_rms, state["reward"])]
    if normaliser.norm_obs:
        pairs.append((normaliser.obs_rms, state["observation"]))
    for rms, values in pairs:
        rms.mean, rms.var, rms.count = values


def _generators(model: Any) -> dict[str, Any]:
    """States of all random generators that an algorithm draws from."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002  stable-baselines3 draws from it
        "torch": torch.get_rng_state().numpy(),
        "action_space": model.action_space.np_random.bit_generator.state,
    }


def _restore_generators(model: Any, state: Mapping[str, Any]) -> None:
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch.set_rng_state(torch.from_numpy(state["torch"]))
    model.action_space.np_random.bit_generator.state = state["action_space"]


def _filled(buffer: ReplayBuffer) -> dict[str, NDArray[Any]]:
    """The part of a replay buffer that holds something, by the names of its arrays."""
    filled = buffer.buffer_size if buffer.full else buffer.pos + 1  # one more: it may hold the newest observation
    arrays = {name: array[:filled] for name, array in _arrays(buffer).items()}
    return {**arrays, "_place": np.array([buffer.pos, buffer.full])}


def _refill(buffer: ReplayBuffer, stored: Mapping[str, NDArray[Any]]) -> None:
    for name, array in _arrays(buffer).items():
        array[: len(stored[name])] = stored[name]
    buffer.pos, buffer.full = int(stored["_place"][0]), bool(stored["_place"][1])


def _arrays(buffer: ReplayBuffer) -> dict[str, NDArray[Any]]:
    return {
        name: value
        for name, value in vars(buffer).items()
        if isinstance(value, np.ndarray) and value.shape[:1] == (buffer.buffer_size,)
    }
