"""Learn a motion by iterative learning control in simulation, and report it."""

import math
import time
from functools import partial
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers import StopReason
from pliant.experiments.ilc_report import write_report
from pliant.experiments.ilc_run import learn_motion
from pliant.files import write_json
from pliant.training.run_settings import learned_in, settings


def job(config: DictConfig) -> dict[str, Any]:
    """Learn, write `feedforward.npz`, `metrics.json` and `report.html` into the run's folder."""
    console, folder = Console(), command_line.run_folder()
    robot, motion, learned, begin, metrics = learn_motion(config, folder, console)
    start = time.perf_counter()
    report = write_report(folder, robot, learned, motion, metrics, begin, bool(config.report.pictures))
    metrics["report_seconds"] = time.perf_counter() - start
    write_json(folder / "metrics.json", metrics)
    console.print(f"{learned.reason}: {learned.detail}")
    replayed = metrics["robustness"]
    if math.isfinite(replayed.get("worst_rad", math.nan)):
        console.print(
            f"on {replayed['robots']} perturbed robots: {replayed['mean_rad']:.3f} rad on average, "
            f"{replayed['worst_rad']:.3f} at worst"
        )
    wall, physics = metrics["wall_seconds"], metrics["physics_seconds"]
    console.print(f"learned in {wall:.2f} s, of which physics {physics:.2f} s; results in {folder}")
    if learned.reason is StopReason.INTERRUPTED:
        n, most = len(learned.history), config.learning.max_iterations
        raise KeyboardInterrupt(f"{n} of {most} trials; go on with: pliant ilc learning.resume={folder}")
    command_line.show_report(report, console, browse=config.report.open)
    return metrics


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "ilc", partial(learned_in, "learning.resume"), settings)


if __name__ == "__main__":
    main()
