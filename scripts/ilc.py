"""Learn a motion by iterative learning control in simulation, and report it."""

import time
from functools import partial
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers.learning import StopReason
from pliant.experiments.ilc_report import robustness_text, write_report
from pliant.experiments.ilc_run import learn_motion
from pliant.files import write_json
from pliant.training.run_settings import learned_in, settings

NOT_LEARNED = 1
"""Exit status of a learning that ended without having come within its tolerance."""


def job(config: DictConfig) -> dict[str, Any]:
    """Learn, write `feedforward.npz`, `metrics.json` and `report.html` into the run's folder."""
    console, folder = Console(), command_line.run_folder(config.learning.resume)
    robot, motion, learned, begin, metrics = learn_motion(config, folder, console)
    start, ran = time.perf_counter(), command_line.ran(robot.info.name)
    report = write_report(folder, robot, learned, motion, metrics, begin, bool(config.report.pictures), ran)
    metrics["report_seconds"] = time.perf_counter() - start
    write_json(folder / "metrics.json", metrics)
    console.print(f"{learned.reason}: {learned.detail}")
    replayed = metrics["robustness"]
    if replayed:
        console.print(f"replayed on perturbed robots: {robustness_text(metrics)}", soft_wrap=True)
    wall, physics = metrics["wall_seconds"], metrics["physics_seconds"]
    console.print(f"learned in {wall:.2f} s, of which physics {physics:.2f} s; results in {folder}")
    if learned.reason is StopReason.INTERRUPTED:
        n, most = len(learned.history), config.learning.max_iterations
        raise KeyboardInterrupt(f"{n} of {most} trials; go on with: pliant ilc learning.resume={folder}")
    command_line.show_report(report, console, browse=config.report.open)
    if learned.reason in (StopReason.ITERATIONS, StopReason.DIVERGED) and not command_line.is_sweep():
        raise SystemExit(NOT_LEARNED)
    return metrics


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "ilc", partial(learned_in, "learning.resume"), settings)


if __name__ == "__main__":
    main()
