"""Run what was learned on a machine: simulated, emulated or real."""

import sys
import webbrowser
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant.conf.build import build
from pliant.errors import ConfigurationError
from pliant.hardware.recording import Recorder
from pliant.hardware.safety import SafeRobot
from pliant.hardware.stopping import StopKey
from pliant.scripts import _app
from pliant.scripts._deploy.deployment import Deployment
from pliant.scripts._deploy.feedforward import FeedForwardDeployment
from pliant.scripts._deploy.policy import prepare_policy
from pliant.scripts._policies import deployed_policy


def prepared(config: DictConfig, robot: SafeRobot, console: Console) -> Deployment:
    """Return what the configuration asks for, if it fits the robot. Nothing is connected.

    Raises:
        ConfigurationError: not exactly one of `feedforward` and `policy` is given.
        PliantError: it cannot be read, or does not fit; see `FeedForwardDeployment` and `prepare_policy`.
    """
    given = [name for name in ("feedforward", "policy") if config[name] is not None]
    if len(given) != 1:
        raise ConfigurationError(
            f"{'both are' if given else 'nothing is'} given; one of feedforward=FILE (the feedforward.npz of "
            "pliant ilc) and policy=PATH (the run of pliant train) is needed."
        )
    if given == ["feedforward"]:
        return FeedForwardDeployment(config, robot)
    return prepare_policy(config, robot, console)


def job(config: DictConfig) -> dict[str, Any]:
    """Deploy, and write `recording.mcap`, `metrics.json` and `report.html` into the run's folder."""
    console, folder = Console(), _app.run_folder()
    with StopKey(config.run.stop_keys) as stop_key:
        robot = build(config.hardware, "hardware")
        deployment = prepared(config, SafeRobot(robot, build(config.safety, "safety"), stop_key), console)
        with Recorder(folder / "recording.mcap", deployment.robot.info, deployment.facts) as recorder:
            try:
                deployment.run(recorder, console)
            finally:
                numbers, report = deployment.finish(folder, console)
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)
        if config.report.open:
            webbrowser.open(report.resolve().as_uri())
    if deployment.reason == "interrupted":
        raise SystemExit(130)
    return numbers


def main() -> None:
    """Run the verb on the command line's arguments."""
    with _app.explained_errors():
        sys.argv[1:] = deployed_policy(sys.argv[1:])
    _app.run(job, "deploy")


if __name__ == "__main__":
    main()
