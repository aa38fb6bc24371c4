"""Train a policy by reinforcement learning in simulation."""

from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from pliant import command_line
from pliant.errors import ConfigurationError, require_extra
from pliant.files import plain, write_json
from pliant.training.checkpoints import has_checkpoint
from pliant.training.reports import write_training_report
from pliant.training.run_settings import registered_environment, resumed, settings
from pliant.training.statistics import short_text


def job(config: DictConfig) -> float:
    """Train; write `policy.onnx`, checkpoints, `metrics.json` and `report.html` into the run's folder.

    Returns:
        The objective, for a search.
    """
    for module in ("torch", "stable_baselines3"):
        require_extra(module, "train", "pliant train")
    from pliant.training.loop import Training

    folder, console = command_line.run_folder(config.resume), Console()
    training = Training.begin(config, folder, console)
    announce = "stopping after this rollout; once more to stop at once"
    try:
        with command_line.interruption(lambda: console.print(announce)) as stop:
            reason = training.run(stop)
    except KeyboardInterrupt:
        last = folder if has_checkpoint(folder) else config.resume
        nexts = "nothing was saved yet" if last is None else f"go on from the last checkpoint: resume={last}"
        console.print(f"stopped at once; {nexts}", soft_wrap=True)
        raise SystemExit(130) from None
    finally:
        training.close()
    metrics = training.metrics(reason)
    write_json(folder / "metrics.json", metrics)
    best, steps, seconds = metrics["best"], metrics["steps"], metrics["seconds"]
    console.print(
        f"{reason}: best {short_text(best)} at step {best['steps']:,}; {steps:,} steps in "
        f"{seconds:.0f} s ({steps / max(seconds, 1e-9):,.0f}/s); results in {folder}",
        soft_wrap=True,
    )
    if config.report.write:
        composed: dict[str, Any] = plain(OmegaConf.to_container(config, resolve=True))
        report = write_training_report(folder, metrics, composed)
        command_line.show_report(report, console, browse=config.report.open)
    if reason == "interrupted":
        console.print(f"go on with: pliant train resume={folder}", soft_wrap=True)
        raise SystemExit(128 + stop.signal)
    console.print(f"next: pliant play {folder}", soft_wrap=True)
    if best[config.objective] is None:
        raise ConfigurationError(
            f"objective={config.objective}: the environment does not tell of success (info['is_success']); "
            "reward_mean and length_mean are there."
        )
    return float(best[config.objective])


def main() -> None:
    """Run the verb on the command line's arguments."""
    environment = registered_environment("robot", "task", "randomisation")
    command_line.run(job, "train", resumed, settings, environment)


if __name__ == "__main__":
    main()
