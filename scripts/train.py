"""Train a policy by reinforcement learning in simulation."""

import sys
import webbrowser
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from pliant.controllers.feedforward import software_versions
from pliant.errors import require_extra, unknown_name
from pliant.files import plain, write_json
from pliant.scripts import _app, _inheritance
from pliant.scripts._environments import make_environment, offered, vector_environments
from pliant.scripts._interruption import interruption
from pliant.scripts._train_report import write_report

_OBJECTIVES = ("reward_mean", "success_rate", "length_mean")
_PACKAGES = ("stable-baselines3", "sb3-contrib", "torch", "gymnasium")


def origin(config: DictConfig) -> dict[str, Any]:
    """Where a policy of this run comes from: written into its file, so that its environment can be made again."""
    overrides = list(HydraConfig.get().overrides.task)
    return {
        "environment": _inheritance.of_groups(overrides, _inheritance.ENVIRONMENT),
        "algorithm": str(config.algo._target_),
        "seed": int(config.seed),
        "versions": software_versions(*_PACKAGES),
    }


def job(config: DictConfig) -> float:
    """Train; write `policy.zip`, checkpoints, `metrics.json` and `report.html` into the run's folder.

    Returns:
        The objective, for a search.
    """
    torch = require_extra("torch", "train", "pliant train")
    require_extra("stable_baselines3", "train", "pliant train")
    from pliant.scripts._checkpoint import has_checkpoint, read_checkpoint
    from pliant.scripts._learner import Learner
    from pliant.scripts._loggers import make_logger
    from pliant.scripts._training import Training

    if config.objective not in _OBJECTIVES:
        raise unknown_name("objective", config.objective, _OBJECTIVES)
    checkpoint = None if config.resume is None else read_checkpoint(Path(config.resume))
    torch.set_num_threads(int(config.threads))
    folder, console = _app.run_folder(), Console()
    settings: dict[str, Any] = plain(OmegaConf.to_container(config, resolve=True))
    example = make_environment(config)
    info = offered(example)
    example.close()
    learner = Learner(config, info)
    checks = vector_environments(config, int(config.evaluation.episodes))
    training = Training(learner, checks, config, folder, console, origin(config))
    if checkpoint is not None:
        training.go_on(learner.restore(checkpoint), checkpoint.best)
        console.print(f"going on from step {learner.steps:,} of {config.resume}")
    learner.model.set_logger(make_logger(config.logging.to, folder, settings, settings["logging"]["options"]))
    console.print(f"{'steps':>10}  {'success':>8}  {'reward':>9}   {'':8} {'periods':>7}")
    try:
        with interruption(lambda: console.print("stopping after this rollout; once more to stop at once")) as stop:
            reason = training.run(stop)
    except KeyboardInterrupt:
        last = folder if has_checkpoint(folder) else config.resume
        nexts = "nothing was saved yet" if last is None else f"go on from the last checkpoint: resume={last}"
        console.print(f"stopped at once; {nexts}", soft_wrap=True)
        raise SystemExit(130) from None
    finally:
        learner.model.logger.close()
        learner.environments.close()
        checks.close()
    return finish(config, training, info.robot, reason, settings)


def finish(config: DictConfig, training: Any, robot: str, reason: str, settings: dict[str, Any]) -> float:
    """Write and print what came of the training; returns the objective."""
    folder, console, best = training.folder, training.console, training.best
    metrics = {
        "reason": reason,
        "robot": robot,
        "task": str(config.task.name),
        "algorithm": str(config.algo._target_).rpartition(".")[2],
        "seed": int(config.seed),
        "steps": training.learner.steps,
        "seconds": training.seconds,
        **{name: best[name] for name in _OBJECTIVES},
        "best": best,
        "evaluations": training.evaluations,
    }
    write_json(folder / "metrics.json", metrics)
    rate = training.learner.steps / max(training.seconds, 1e-9)
    console.print(
        f"{reason}: best {best['success_rate']:.0%} success at step {best['steps']:,}; {training.learner.steps:,} "
        f"steps in {training.seconds:.0f} s ({rate:,.0f}/s); results in {folder}",
        soft_wrap=True,
    )
    report = write_report(folder, metrics, settings) if config.report.write else None
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)
        if config.report.open:
            webbrowser.open(report.resolve().as_uri())
    nexts = f"pliant train resume={folder}" if reason == "interrupted" else f"pliant play {folder}"
    console.print(f"next: {nexts}", soft_wrap=True)
    return float(best[config.objective])


def resumed(arguments: list[str]) -> list[str]:
    """Return the command line with the settings of the run that it resumes, if any, put before its own."""
    resume = _inheritance.value_of(arguments, "resume")
    if resume is None:
        return arguments
    path = Path(resume)
    if path.suffix == ".zip" and not path.is_dir():
        path = path.parent.parent
    return _inheritance.inherit(arguments, _inheritance.of_run(path))


def main() -> None:
    """Run the verb on the command line's arguments."""
    with _app.explained_errors():
        sys.argv[1:] = resumed(sys.argv[1:])
    _app.run(job, "train")


if __name__ == "__main__":
    main()
