"""Train a policy by reinforcement learning in simulation."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from pliant import command_line
from pliant.envs.recorded_episode import AFTER
from pliant.errors import ConfigurationError, PliantError, require_extra
from pliant.files import plain, write_json
from pliant.progress import progress
from pliant.training.checkpoints import has_checkpoint
from pliant.training.evaluation import HELD_OUT
from pliant.training.recording import record_beside
from pliant.training.reports import Film, write_training_report
from pliant.training.run_settings import registered_environment, resumed, settings
from pliant.training.statistics import short_text
from pliant.viewing.episode_film import film, picture_instants

_WIDTH, _HEIGHT = 400, 300
"""Of each picture in the report's film, pixels."""
_RATE, _MOST = 12.5, 100
"""Of the film, Hz, and how many pictures it has at most."""


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
        shown = policy_film(config, folder, console) if config.report.pictures else ""
        ran = command_line.ran(metrics["robot"])
        report = write_training_report(folder, metrics, composed, shown, ran)
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


def policy_film(config: DictConfig, folder: Path, console: Console) -> Film | str:
    """Film an episode of a run's best policy, beside the untrained one; returns why not where that fails."""
    try:
        shots = record_beside(config, folder, HELD_OUT)
        longest = max(len(shot.episode) * shot.episode.period for shot in shots)
        rate = min(_RATE, _MOST / longest)
        with progress(console, "film", len(picture_instants(shots, rate))) as steps:
            images, rate = film(shots, _WIDTH, _HEIGHT, rate=rate, note=steps.advance)
    except PliantError as error:
        return f"No film: {error}"
    caption = f"An episode that neither has seen, with what the task marks, and {AFTER:g} s after its end."
    return Film(images, rate, caption)


def main() -> None:
    """Run the verb on the command line's arguments."""
    environment = registered_environment("robot", "task", "randomisation")
    command_line.run(job, "train", resumed, settings, environment)


if __name__ == "__main__":
    main()
