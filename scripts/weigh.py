"""Weigh the tool of an arm by its force-torque sensor: mass, centre and bias, as a file for its controllers."""

from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.conf.build import build
from pliant.deployment.deployment import recorder_of
from pliant.deployment.machines import machine
from pliant.deployment.weighing import prepare_weighing
from pliant.hardware.safety import SafeRobot
from pliant.hardware.stopping import Interrupts, StopKey
from pliant.training.run_settings import settings


def job(config: DictConfig) -> dict[str, Any]:
    """Weigh, and write `load.json`, `metrics.json` and `recording.mcap` into the run's folder."""
    console, folder = Console(), command_line.run_folder()
    with StopKey(config.run.stop_keys) as stop_key:
        robot = SafeRobot(machine(config), build(config.safety, "safety"), stop_key)
        weighing = prepare_weighing(config, robot, console)
        with recorder_of(weighing, folder / "recording.mcap", config.hardware.kind, console) as recorder:
            try:
                weighing.run(recorder, console)
            finally:
                with Interrupts() as signals, signals.deferred():
                    numbers, _ = weighing.finish(folder, console)
    if weighing.reason == "interrupted":
        raise SystemExit(130)
    return numbers


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "weigh", settings)


if __name__ == "__main__":
    main()
