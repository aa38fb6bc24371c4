"""Try a gait of a robot with legs, or search for a better one under limits."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from pliant import command_line
from pliant.conf.build import build
from pliant.controllers.controller import Controller
from pliant.controllers.gaits.gait import Gait
from pliant.deployment.controller import build_controller
from pliant.envs.description import described
from pliant.envs.gait_measures import GaitLimits
from pliant.envs.gait_trial import check_robot, try_gait
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.examples.catalogue import named_example
from pliant.files import plain, write_json
from pliant.hardware.robot import RobotInfo
from pliant.progress import progress
from pliant.training.controller_file import write_controller
from pliant.training.gait_report import METRICS, gait_metrics, show_trial, write_gait_report
from pliant.training.gait_search import GaitSearch, SearchSettings
from pliant.training.gait_search_report import search_metrics, show_search, write_search_report
from pliant.training.gait_space import Choice, Range, Value, read_space
from pliant.training.run_settings import resumed, settings
from pliant.viewing.film import film_format, film_motion
from pliant.viewing.motions import LoopedMovement
from pliant.viewing.screens import Controls

NOT_KEPT = 1
"""Exit status of a gait that does not keep its limits, and of a search that finds none that does."""
_TRIALS = "trials.json"


def job(config: DictConfig) -> float:
    """Try a gait, or search; write `metrics.json`, `report.html` and what else there is into the run's folder.

    Returns:
        The objective, for a search by Hydra.
    """
    if config.get("controller") is None:
        raise ConfigurationError("a gait is a controller: controller=gait, controller=matsuoka or a file of one.")
    if config.objective not in METRICS:
        raise unknown_name("objective", config.objective, METRICS, "gait")
    check_bounds("duration", config.duration, 0.01, 1e4, "s")
    limits = build(config.limits, "limits")
    if not isinstance(limits, GaitLimits):
        raise ConfigurationError(f"limits are a {type(limits).__name__}; a GaitLimits is needed.")
    asked = _asked(config, limits)
    if asked is None and config.resume is not None:
        raise ConfigurationError(f"{config.resume} is a single trial, no search that could be gone on with.")
    folder, console = command_line.run_folder(config.resume), Console()
    robot = described(config.robot).simulated()
    check_robot(robot)
    with robot:
        if asked is None:
            return _try(config, robot, limits, folder, console)
        return _search(config, robot, asked, folder, console)


def _try(config: DictConfig, robot: SimulatedRobot, limits: GaitLimits, folder: Path, console: Console) -> float:
    """Try one gait."""
    film = None if config.film is None else Path(config.film)
    if film is not None:
        film_format(film)
    gait = _gait(config.controller, robot.info)
    trial = try_gait(robot, gait, config.duration, limits)
    metrics = gait_metrics(trial.measures)
    write_json(folder / "metrics.json", metrics)
    show_trial(console, trial.measures)
    console.print(f"results in {folder}", soft_wrap=True)
    if config.report.write:
        ran = command_line.ran(robot.info.name)
        command_line.show_report(write_gait_report(folder, trial, ran), console, browse=config.report.open)
    if film is not None:
        motion = LoopedMovement(Movement(robot, gait, config.duration))
        written = film_motion(
            motion,
            film,
            Controls(gauges=True),
            duration=config.duration,
            speed=1.0,
            width=640,
            height=480,
        )
        console.print(f"film: {written}", soft_wrap=True)
    if not trial.measures.kept and not command_line.is_sweep():
        raise SystemExit(NOT_KEPT)
    return float(getattr(trial.measures, config.objective))


def _gait(node: DictConfig, info: RobotInfo) -> Controller:
    """Build a gait; a controller of another kind with what its own code fails at explained."""
    named = build_controller(node, info)
    return named.controller if isinstance(named.controller, Gait) else named


class _Asked(NamedTuple):
    """What is to be searched."""

    space: Mapping[str, Range | Choice]
    usual: Mapping[str, Value]
    settings: SearchSettings


def _asked(config: DictConfig, limits: GaitLimits) -> _Asked | None:
    """Read what is to be searched; None for a single trial. The settings of a search are checked all the same."""
    entries: dict[str, Any] = plain(OmegaConf.to_container(config.search, resolve=True))
    parameters = entries.pop("parameters")
    chosen = SearchSettings(**entries, duration=float(config.duration), limits=limits)
    if parameters is None:
        return None
    usual = dict(_flat("controller", plain(OmegaConf.to_container(config.controller, resolve=True))))
    return _Asked(read_space(parameters, usual), usual, chosen)


def _search(config: DictConfig, robot: SimulatedRobot, asked: _Asked, folder: Path, console: Console) -> float:
    """Search for the best gait."""
    chosen = asked.settings

    def node(parameters: Mapping[str, Value]) -> DictConfig:
        changed = OmegaConf.create({"controller": OmegaConf.to_container(config.controller, resolve=True)})
        for name, value in parameters.items():
            OmegaConf.update(changed, name, value)
        controller: DictConfig = changed.controller
        return controller

    def make(parameters: Mapping[str, Value]) -> Controller:
        return _gait(node(parameters), robot.info)

    search = GaitSearch(robot, make, *asked)
    if config.resume is not None:
        search.resume(Path(config.resume) / _TRIALS)
        console.print(f"going on after {len(search.tried)} trials of {config.resume}", soft_wrap=True)
    search.save(folder / _TRIALS)

    def done() -> None:
        search.save(folder / _TRIALS)
        best = search.best
        told = "none keeps the limits yet" if best is None else f"best {chosen.objective} {search.value(best):.4g}"
        console.print(f"{len(search.tried)} of {chosen.trials} gaits tried, {told}", soft_wrap=True)
        steps.reach(len(search.tried) - before)

    before = len(search.tried)
    try:
        with progress(console, "search", chosen.trials - before, unit="gaits") as steps:
            search.run(done)
    except KeyboardInterrupt:
        n, most = len(search.tried), chosen.trials
        raise KeyboardInterrupt(f"{n} of {most} gaits tried; go on with: pliant gait resume={folder}") from None
    finally:
        if search.best is not None:
            settings_found: Any = OmegaConf.to_container(node(search.best.parameters))
            settings_found.pop("_target_", None)
            name = str(HydraConfig.get().runtime.choices["controller"])
            remark = f"{chosen.objective} {search.value(search.best):.4g}, of {robot.info.name}, {folder}"
            write_controller(folder / "best.yaml", name, settings_found, remark)
    metrics = search_metrics(search)
    write_json(folder / "metrics.json", metrics)
    show_search(console, search)
    console.print(f"results in {folder}", soft_wrap=True)
    if config.report.write:
        ran = command_line.ran(robot.info.name)
        command_line.show_report(write_search_report(folder, search, ran), console, browse=config.report.open)
    if search.best is None:
        if command_line.is_sweep():
            raise ConfigurationError(metrics["detail"])
        raise SystemExit(NOT_KEPT)
    console.print(f"next: pliant gait controller={folder / 'best.yaml'}", soft_wrap=True)
    return search.value(search.best)


def _flat(key: str, node: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Every single value of nested settings, by its whole name."""
    for name, value in node.items():
        inner = f"{key}.{name}"
        if isinstance(value, Mapping):
            yield from _flat(inner, value)
        elif name != "_target_" and value is not None:
            yield inner, value


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "gait", partial(named_example, "gait"), resumed, settings)


if __name__ == "__main__":
    main()
