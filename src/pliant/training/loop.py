"""A run of `pliant train`: the loop of learning, evaluating and saving, and what came of it.

Needs stable-baselines3; imported by the verb.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from pliant.command_line import Interruption
from pliant.controllers.feedforward import software_versions
from pliant.controllers.policies import compare_onnx, onnx_content
from pliant.errors import ConfigurationError, OutOfBoundsError, unknown_name
from pliant.files import plain, write_bytes
from pliant.progress import Steps, progress
from pliant.training.checkpoints import Checkpoints, read_checkpoint
from pliant.training.environments import make_environment, policy_info, subject, vector_environments
from pliant.training.evaluation import TRAINING_CHECKS, run_together
from pliant.training.learner import Learner
from pliant.training.loggers import make_logger
from pliant.training.recording import TRAINED, UNTRAINED
from pliant.training.run_settings import environment_settings
from pliant.training.statistics import summary

_OBJECTIVES = ("reward_mean", "success_rate", "length_mean")
"""What a search can be for."""
_PACKAGES = ("stable-baselines3", "sb3-contrib", "torch", "gymnasium")
"""What a policy comes to depend on; their versions are written into its file."""


class _Stop(Exception):  # noqa: N818  not an error
    """The training ends here, at somebody's request."""


@dataclass
class Training:
    """A run in its folder: what is due when, and what has come of it."""

    learner: Learner
    checks: VecEnv
    """Environments for evaluations, one for each episode."""
    config: DictConfig
    folder: Path
    console: Console
    origin: Mapping[str, Any]
    """Where its policies come from."""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    """What every evaluation so far found, with its step."""
    best: dict[str, Any] | None = None
    """The best of them: the highest success rate, then the highest reward."""
    seconds: float = 0.0
    """Time spent learning, before a resume included."""
    best_file: bytes | None = None
    """The file of the best policy so far."""
    saved: int = -1
    """Step of the newest checkpoint."""

    @classmethod
    def begin(cls, config: DictConfig, folder: Path, console: Console) -> Self:
        """Build everything that a run needs, and go on from a checkpoint if the configuration says so.

        Args:
            config: of `pliant train`.
            folder: of the run.
            console: where it is told how far the run is.

        Raises:
            PliantError: a setting is wrong, a package is missing, the checkpoint does not fit, or the network has
                a layer that no policy's file can have.
        """
        if config.objective not in _OBJECTIVES:
            raise unknown_name("objective", config.objective, _OBJECTIVES)
        checkpoint = None if config.resume is None else read_checkpoint(Path(config.resume))
        if str(config.device).startswith("cuda") and not torch.cuda.is_available():
            raise ConfigurationError(f"device={config.device}: torch finds no GPU here; device=cpu needs none.")
        torch.set_num_threads(int(config.threads))
        settings: dict[str, Any] = plain(OmegaConf.to_container(config, resolve=True))
        example = make_environment(config, randomisation=config.get("randomisation"))
        info = policy_info(example)
        example.close()
        learner = Learner(config, info)
        checks = vector_environments(config, int(config.evaluation.episodes))
        training = cls(learner, checks, config, folder, console, _origin(config))
        fresh = learner.policy(training.origin)
        untrained = onnx_content(fresh)
        compare_onnx(fresh, untrained)  # whether it can be written, before anything is learned
        write_bytes(folder / UNTRAINED, untrained)
        if checkpoint is not None:
            training.go_on(learner.restore(checkpoint), checkpoint.best)
            console.print(f"going on from step {learner.steps:,} of {config.resume}")
        logger = make_logger(config.logging.to, folder, settings, settings["logging"]["options"])
        learner.model.set_logger(logger)
        console.print(f"{'steps':>10}  {'success':>8}  {'reward':>9}   {'':8} {'periods':>7}")
        return training

    def __post_init__(self) -> None:
        for name in ("evaluation", "checkpoint"):
            if int(self.config[name].every) < 1:
                raise OutOfBoundsError(
                    f"{name}.every is {self.config[name].every}; a number of steps ≥ 1 is needed."
                )
        if int(self.config.checkpoint.keep) < 1:
            raise OutOfBoundsError(f"checkpoint.keep is {self.config.checkpoint.keep}; at least 1 is needed.")
        self._checkpoints = Checkpoints(self.folder, int(self.config.checkpoint.keep))

    def go_on(self, progress: Mapping[str, Any], best_file: bytes | None) -> None:
        """Take over what an earlier run has come to; see `Learner.restore`."""
        self.evaluations, self.best = list(progress["evaluations"]), progress["best"]
        self.seconds, self.best_file, self.saved = progress["seconds"], best_file, self.learner.steps
        if best_file is not None:
            write_bytes(self.folder / TRAINED, best_file)

    def run(self, stop: Interruption) -> str:
        """Learn until the configured number of steps, or until stopped.

        Returns:
            "finished" or "interrupted".

        Raises:
            ConfigurationError: nothing is left to do, or the learning diverges.
        """
        total, done = int(self.config.steps), self.learner.steps
        if done >= total:
            raise ConfigurationError(f"{done} steps of {total} are done; to learn further: steps={2 * total}.")
        model, started, before = self.learner.model, time.perf_counter(), self.seconds
        with progress(self.console, "learning", total, unit="steps", lines=False) as steps:
            callback = _Callback(self, stop, steps)
            try:
                model.learn(total - done, callback=callback, log_interval=1, reset_num_timesteps=done == 0)
            except _Stop:
                return "interrupted"
            except ValueError as error:
                self._explain_divergence(error)
                raise
            finally:
                self.seconds = before + time.perf_counter() - started
        try:
            self.look()
        except ValueError as error:
            self._explain_divergence(error)
            raise
        self.save()
        return "finished"

    def look(self) -> None:
        """Evaluate what has been learned, on the same episodes every time, unless that was done at this step."""
        steps = self.learner.steps
        if self.evaluations and self.evaluations[-1]["steps"] == steps:
            return
        policy = self.learner.policy(self.origin)
        episodes = run_together(self._decide, self.checks, TRAINING_CHECKS)
        found = {"steps": steps, **summary(episodes)}
        self.evaluations.append(found)
        logger = self.learner.model.logger
        for name in ("success_rate", "reward_mean", "length_mean"):
            if found[name] is not None:
                logger.record(f"evaluation/{name}", found[name])
        logger.dump(steps)
        better = self.best is None or _rank(found) > _rank(self.best)
        if better:
            self.best = found
            self.best_file = onnx_content(policy)
            write_bytes(self.folder / TRAINED, self.best_file)
        mark = "[green]best[/]" if better else ""
        self.console.print(
            f"{steps:10,}  {_percent(found['success_rate']):>8}  {found['reward_mean']:9.2f} "
            f"± {found['reward_deviation']:<8.2f} {found['length_mean']:7.0f}  {mark}",
            highlight=False,
        )

    def save(self) -> None:
        """Write a checkpoint, unless there is one of this step."""
        if self.saved == self.learner.steps:
            return
        progress = {"evaluations": self.evaluations, "best": self.best, "seconds": self.seconds}
        checkpoint = self.learner.checkpoint(progress, self.best_file)
        self._checkpoints.write(checkpoint)
        self.saved = self.learner.steps

    def close(self) -> None:
        """Close what it logs to, and its environments."""
        self.learner.model.logger.close()
        self.learner.environments.close()
        self.checks.close()

    def metrics(self, reason: str) -> dict[str, Any]:
        """Return the numbers of the run.

        Args:
            reason: as `run` returned it.
        """
        best, config = self.best, self.config
        assert best is not None
        return {
            "reason": reason,
            "robot": self.learner.info.robot,
            **subject(config),
            "algorithm": str(config.algo._target_).rpartition(".")[2],
            "seed": int(config.seed),
            "steps": self.learner.steps,
            "seconds": self.seconds,
            **{name: best[name] for name in _OBJECTIVES},
            "best": best,
            "evaluations": self.evaluations,
        }

    def _decide(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        actions, _ = self.learner.model.predict(self.learner.normalise(observation), deterministic=True)
        return np.asarray(actions)

    def _explain_divergence(self, error: ValueError) -> None:
        parameters = self.learner.model.policy.parameters()
        if not all(math.isfinite(float(p.detach().abs().sum())) for p in parameters):
            raise ConfigurationError(
                f"the learning diverged after {self.learner.steps} steps: the network's weights are not finite. "
                "A smaller learning rate, or max_grad_norm, may help."
            ) from error


class _Callback(BaseCallback):  # type: ignore[misc]
    """Looks and saves between rollouts, when everything that was collected has been learned from."""

    def __init__(self, training: Training, stop: Interruption, steps: Steps) -> None:
        super().__init__()
        self._training, self._stop, self._steps = training, stop, steps
        self._since = (time.perf_counter(), training.learner.steps)
        self._before = training.seconds

    def _on_rollout_start(self) -> None:
        training, steps = self._training, self.num_timesteps
        last = training.evaluations[-1]["steps"] if training.evaluations else None
        if _due(steps, last, int(training.config.evaluation.every)):
            training.look()
        training.seconds = self._before + time.perf_counter() - self._since[0]
        if self._stop.requested or (steps and _due(steps, training.saved, int(training.config.checkpoint.every))):
            training.save()
        if self._stop.requested:
            raise _Stop

    def _on_step(self) -> bool:
        seconds = time.perf_counter() - self._since[0]
        rate = (self.num_timesteps - self._since[1]) / max(seconds, 1e-9)
        self._steps.reach(self.num_timesteps, f"{rate:,.0f}/s")
        return True


def _origin(config: DictConfig) -> dict[str, Any]:
    """Where a policy of a run comes from: written into its file, so that its environment can be made again."""
    return {
        "environment": environment_settings(config),
        "algorithm": str(config.algo._target_),
        "seed": int(config.seed),
        "versions": software_versions(*_PACKAGES),
    }


def _due(steps: int, last: int | None, every: int) -> bool:
    """Whether a multiple of `every` lies between the last time and now."""
    return last is None or steps // every > max(last, 0) // every


def _rank(found: Mapping[str, Any]) -> tuple[float, float]:
    return found["success_rate"] or 0.0, found["reward_mean"]


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.0%}"
