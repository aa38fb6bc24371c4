"""Look at a robot and at what is soft about it, in a window, in a browser or in a film."""

import sys
import time
from importlib.resources import files
from pathlib import Path

import gymnasium
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

import pliant.envs
from pliant.conf.build import build
from pliant.controllers import FeedForward
from pliant.envs.rendering import RenderingError
from pliant.envs.simulated_robot import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.scripts import _app
from pliant.scripts._environments import make_environment
from pliant.scripts._film import film_format, save_film
from pliant.scripts._policies import bare_word
from pliant.scripts._screens import KEYS, Controls, FilmScreen, NativeScreen, Screen
from pliant.scripts._shows import EnvironmentShow, Show, demonstrating, following, replaying

VIEWERS = ("native", "web", "offscreen")
EXPERIMENTS = {
    "sine2": ["robot=arm2", "trajectory=sine"],
    "steps2": ["robot=arm2", "robot.model.vertical=false", "trajectory=step"],
    "chirp": ["robot=rig1", "robot.model.gravity=false", "trajectory=chirp", "trajectory.amplitude=[0.15]"],
}
"""Robot and motion of the experiments whose motion is one of the group `trajectory`."""
_RATE = 25.0
"""Images of a film per second."""


def named_subject(arguments: list[str]) -> list[str]:
    """Return a command line with its bare first word, a robot, experiment, environment or file, spelled out.

    Raises:
        UnknownNameError: the word is none of them.
    """
    words = bare_word(arguments)
    if not words or not words[0].startswith("policy="):
        return list(arguments)
    word, rest = arguments[0], list(arguments[1:])
    robots = sorted(f.name.removesuffix(".yaml") for f in (files("pliant.conf") / "robot").iterdir())
    if word in robots:
        return [f"robot={word}", *rest]
    if word in EXPERIMENTS:
        return [*EXPERIMENTS[word], *rest]
    if word in gymnasium.registry:
        return [f"environment={word}", *rest]
    if Path(word).exists():
        return [f"feedforward='{word}'", *rest]
    ours = sorted(name for name in gymnasium.registry if name.startswith("pliant/"))
    raise unknown_name("robot, experiment, environment or file", word, [*robots, *EXPERIMENTS, *ours])


def make_show(config: DictConfig) -> Show:
    """Return what the configuration asks to be shown.

    Raises:
        ConfigurationError: it asks for several motions at once.
    """
    motions = [name for name in ("environment", "feedforward", "trajectory") if config.get(name) is not None]
    if len(motions) > 1:
        raise ConfigurationError(f"{' and '.join(motions)} are motions of their own; give one of them.")
    if config.environment is not None:
        node = OmegaConf.create({"env": {"id": config.environment, "options": {}}, "task": config.task})
        return EnvironmentShow(make_environment(node), int(config.seed))
    robot = SimulatedRobot(build(config.robot.model, "robot.model"), float(config.robot.period))
    if config.feedforward is not None:
        path = Path(config.feedforward)
        return replaying(robot, FeedForward.load(path / "feedforward.npz" if path.is_dir() else path))
    if config.get("trajectory") is not None:
        return following(robot, build(config.trajectory, "trajectory"))
    return demonstrating(robot)


def web_screen(robot: SimulatedRobot, controls: Controls, config: DictConfig) -> Screen:
    """Open the page; raises `RenderingError` if MuJoCo has no web viewer, or it cannot start."""
    port = int(check_bounds("port", config.port, 0, 65535))
    try:
        from pliant.scripts._web_screen import WebScreen
    except ImportError as error:
        raise RenderingError(
            f"the web viewer is not in this MuJoCo ({error}). It comes with: pip install "
            '"mujoco>=4.0" mujoco-studio websockets. Or use viewer=native or viewer=offscreen.'
        ) from error
    screen = WebScreen(robot, controls, port, browse=bool(config.browser))
    print(f"open {screen.url} in a browser on this machine; Ctrl+C ends it", flush=True)
    return screen


def watch(show: Show, screen: Screen, controls: Controls, speed: float) -> None:
    """Run a show at `speed` times real time until its screen is closed."""
    step = show.robot.info.period / speed
    due = time.monotonic()
    while screen.show():
        if controls.again:
            controls.again = False
            show.restart()
        elif not controls.paused:
            show.advance()
        due = max(due + step, time.monotonic() - step)  # what is late is not caught up with
        time.sleep(max(due - time.monotonic(), 0.0))


def film(show: Show, config: DictConfig, controls: Controls) -> Path:
    """Write a show as a film in real time; returns its file."""
    path = Path(config.film)
    film_format(path)
    longest = show.duration if config.duration is None else float(config.duration)
    duration = check_bounds("duration", 12.0 if longest == float("inf") else longest, 0.1, 600.0, "s")
    width, height = (int(check_bounds(name, config[name], 16, 4096, "pixels")) for name in ("width", "height"))
    screen = FilmScreen(show.robot, controls, width, height)
    periods = max(round(float(config.speed) / _RATE / show.robot.info.period), 1)
    try:
        for k in range(round(duration / show.robot.info.period)):
            if k % periods == 0:
                screen.show()
            show.advance()
    finally:
        screen.close()
    return save_film(path, screen.frames, float(config.speed) / (periods * show.robot.info.period))


def job(config: DictConfig) -> None:
    """Show what is asked for."""
    console = Console()
    if config.viewer not in VIEWERS:
        raise unknown_name("viewer", config.viewer, VIEWERS)
    speed = check_bounds("speed", config.speed, 0.01, 100.0)
    controls = Controls(gauges=bool(config.gauges))
    show = make_show(config)
    if config.viewer == "offscreen":
        console.print(f"film: {film(show, config, controls)}", soft_wrap=True)
        return
    console.print("  ".join(f"{key}: {meaning}" for key, meaning in KEYS.items()), highlight=False)
    screen: Screen = (
        NativeScreen(show.robot, controls)
        if config.viewer == "native"
        else web_screen(show.robot, controls, config)
    )
    try:
        watch(show, screen, controls, speed)
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        screen.close()


def main() -> None:
    """Run the verb on the command line's arguments."""
    pliant.envs.register()
    with _app.explained_errors():
        sys.argv[1:] = named_subject(sys.argv[1:])
    _app.run(job, "view")


if __name__ == "__main__":
    main()
