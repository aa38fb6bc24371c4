"""Run what was learned, or a controller, on a machine: simulated, emulated or real."""

from functools import partial
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.conf.build import build
from pliant.deployment.controller import prepare_controller
from pliant.deployment.deployment import Deployment, recorder_of
from pliant.deployment.feedforward import FeedForwardDeployment
from pliant.deployment.machines import machine
from pliant.deployment.policy import prepare_policy
from pliant.errors import ConfigurationError
from pliant.examples.catalogue import named_example
from pliant.hardware.safety import SafeRobot
from pliant.hardware.stopping import Interrupts, StopKey
from pliant.training.run_settings import deployed_policy, learned_in, settings


def prepared(config: DictConfig, robot: SafeRobot, console: Console) -> Deployment:
    """Return what the configuration asks for, if it fits the robot. Nothing is connected.

    Raises:
        ConfigurationError: not exactly one of `feedforward`, `policy` and `controller` is given.
        PliantError: it cannot be read, or does not fit; see `FeedForwardDeployment`, `prepare_policy` and
            `prepare_controller`.
    """
    given = [name for name in ("feedforward", "policy", "controller") if config.get(name) is not None]
    if len(given) != 1:
        raise ConfigurationError(
            f"{' and '.join(given) or 'nothing'} given; one of feedforward=PATH (the run of pliant ilc), "
            "policy=PATH (the run of pliant train) and controller=NAME is needed."
        )
    if given == ["feedforward"]:
        return FeedForwardDeployment(config, robot)
    return (prepare_policy if given == ["policy"] else prepare_controller)(config, robot, console)


def job(config: DictConfig) -> dict[str, Any]:
    """Deploy, and write `recording.mcap`, `metrics.json` and `report.html` into the run's folder."""
    console, folder = Console(), command_line.run_folder()
    with StopKey(config.run.stop_keys) as stop_key:
        robot = machine(config)
        deployment = prepared(config, SafeRobot(robot, build(config.safety, "safety"), stop_key), console)
        deployment.ran = command_line.ran(robot.info.name, str(config.hardware.kind))
        with recorder_of(deployment, folder / "recording.mcap", config.hardware.kind, console) as recorder:
            try:
                deployment.run(recorder, console)
            finally:
                with Interrupts() as signals, signals.deferred():
                    numbers, report = deployment.finish(folder, console)
    command_line.show_report(report, console, browse=config.report.open)
    if deployment.reason == "interrupted":
        raise SystemExit(130)
    return numbers


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(
        job,
        "deploy",
        partial(named_example, "deploy"),
        deployed_policy,
        partial(learned_in, "feedforward"),
        settings,
    )


if __name__ == "__main__":
    main()
