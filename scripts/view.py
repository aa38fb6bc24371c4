"""Look at a robot and at what is soft about it, in a window, in a browser or in a film."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import gymnasium
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

import pliant.envs
from pliant import command_line
from pliant.conf.build import build
from pliant.conf.checks import composed
from pliant.controllers import FeedForward
from pliant.controllers.gaits import PATTERNS
from pliant.deployment.controller import build_controller
from pliant.envs.description import described, is_file, robot_names
from pliant.envs.movement import Movement
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.examples.catalogue import named_example
from pliant.experiments.experiment import Experiment
from pliant.experiments.reproduction import experiment_names
from pliant.files import new_file
from pliant.training.environments import make_environment
from pliant.training.evaluation import find_policy
from pliant.training.run_settings import bare_word, learned_in, named_policy, settings
from pliant.viewing.choices import Choices
from pliant.viewing.film import film_motion
from pliant.viewing.motions import (
    LoopedEnvironment,
    LoopedMotion,
    LoopedMovement,
    Played,
    demonstration_movement,
    feedforward_movement,
    trajectory_movement,
)
from pliant.viewing.screens import (
    KEYS,
    LIST_KEY,
    SLIDER_KEYS,
    Controls,
    NativeScreen,
    Screen,
    open_web_screen,
    watch,
)
from pliant.viewing.stage import hidden_bodies

VIEWERS = ("native", "web", "offscreen")
AS_STARTED = "as started"
"""What the command line asks for, among what can be shown."""
GAITS = {
    **{pattern: ("controller=gait", f"controller.pattern={pattern}") for pattern in PATTERNS},
    "matsuoka": ("controller=matsuoka",),
}
"""Gaits of the hexapod, as words of the command line."""
_MOST_RUNS = 20
"""Policies that are offered, the newest first."""
_MOTIONS = ("experiment", "environment", "feedforward", "trajectory", "controller")


def named_subject(arguments: list[str]) -> list[str]:
    """Return a command line with its bare first word, a robot, experiment, environment or file, spelled out.

    Raises:
        UnknownNameError: the word is none of them.
        ConfigurationError: settings of a robot beside an experiment or environment, which bring their own.
    """
    words = bare_word(arguments)
    if words and words[0].startswith("policy="):
        words = [_named(arguments[0]), *arguments[1:]]
    own = next((word for word in words if word.startswith(("experiment=", "environment="))), None)
    robot = next((word for word in words if word.startswith(("robot=", "robot."))), None)
    if own is not None and robot is not None:
        raise ConfigurationError(
            f"{own} brings a robot of its own, which {robot} would not change. Leave it out; the settings of an "
            "experiment are under experiment, as in experiment.soft=0.3."
        )
    return words


def _named(word: str) -> str:
    """A bare word as the setting that it stands for."""
    if word in experiment_names():
        return f"experiment={word}"
    robots = robot_names()
    if word in robots or is_file(word):
        return f"robot={word}"
    if word in gymnasium.registry:
        return f"environment={word}"
    if (Path(word) / "policy.onnx").is_file() or (Path(word) / "checkpoints").is_dir():
        raise ConfigurationError(f"{word} is a run of pliant train; watch its policy with: pliant play {word}")
    if Path(word).exists():
        return f"feedforward='{word}'"
    ours = sorted(name for name in gymnasium.registry if name.startswith("pliant/"))
    choices = dict.fromkeys([*experiment_names(), *robots, *ours])
    raise unknown_name("robot, experiment, environment or file", word, choices)


def chosen_motion(config: DictConfig) -> LoopedMotion:
    """Return what the configuration asks to be shown.

    Raises:
        ConfigurationError: it asks for several motions at once, or for a variant of what has none.
        UnknownNameError: the experiment has no such variant.
    """
    motions = [name for name in _MOTIONS if config.get(name) is not None]
    if "controller" in motions and "trajectory" in motions:
        motions.remove("trajectory")  # the controller follows it
    if len(motions) > 1:
        raise ConfigurationError(f"{' and '.join(motions)} are motions of their own; give one of them.")
    if config.variant is not None and motions != ["experiment"]:
        raise ConfigurationError(f"variant={config.variant} is for an experiment, such as experiment=step.")
    if motions == ["experiment"]:
        experiment = build(config.experiment, "experiment")
        if not isinstance(experiment, Experiment):
            raise ConfigurationError(f"experiment is a {type(experiment).__name__}, not an Experiment.")
        return LoopedMovement(experiment.movement(config.variant))
    if config.environment is not None:
        node = OmegaConf.create({"env": config.environment, "env_options": {}})
        return LoopedEnvironment(make_environment(node), None, int(config.seed))
    robot = described(config.robot).simulated()
    if config.feedforward is not None:
        return LoopedMovement(feedforward_movement(robot, FeedForward.load(config.feedforward)))
    if config.get("controller") is not None:
        controller = build_controller(config.controller, robot.info)
        duration = math.inf if controller.duration is None else controller.duration
        return LoopedMovement(Movement(robot, controller, duration, before=controller.initial_command))
    if config.get("trajectory") is not None:
        return LoopedMovement(trajectory_movement(robot, build(config.trajectory, "trajectory")))
    return LoopedMovement(demonstration_movement(robot))


def film(motion: LoopedMotion, config: DictConfig, controls: Controls) -> Path:
    """Write a motion as a film of the length and size that is asked for; returns its file."""
    longest = motion.duration if config.duration is None else float(config.duration)
    duration = check_bounds("duration", 12.0 if longest == float("inf") else longest, 0.1, 600.0, "s")
    width, height = (int(check_bounds(name, config[name], 16, 4096, "pixels")) for name in ("width", "height"))
    speed, named = float(config.speed), config.film is not None
    path = Path(config.film) if named else new_file("motion.webp")
    try:
        return film_motion(motion, path, controls, duration=duration, speed=speed, width=width, height=height)
    except BaseException:
        if not named:
            path.unlink(missing_ok=True)
        raise


def policy_motion(config: DictConfig, told: Callable[[Played], None] = lambda played: None) -> LoopedMotion:
    """Return the policy of a configuration of `pliant play` at work; `told` is called after every episode.

    Raises:
        ConfigurationError: its environment has no simulated robot. Others: as `find_policy`.
    """
    env = make_environment(config)
    return LoopedEnvironment(env, find_policy(config, env), int(config.seed), told)


def other_motions() -> Mapping[str, Callable[[], LoopedMotion]]:
    """Return what can be chosen while something is watched: our robots, gaits, policies in `runs/train`."""
    words = {f"robot {name}": [f"robot={name}"] for name in robot_names()}
    words |= {f"gait {name}": ["robot=hexapod", *gait] for name, gait in GAITS.items()}
    runs = sorted((file.parent for file in Path("runs/train").glob("**/policy.onnx")), reverse=True)
    return {name: partial(_of_words, chosen) for name, chosen in words.items()} | {
        f"policy {run}": partial(_of_run, run) for run in runs[:_MOST_RUNS]
    }


def _of_words(words: list[str]) -> LoopedMotion:
    return chosen_motion(composed("view", words))


def _of_run(run: Path) -> LoopedMotion:
    return policy_motion(composed("play", settings(named_policy([str(run)]))))


def present(make: Callable[[], LoopedMotion], config: DictConfig, console: Console) -> None:
    """Show a motion, and what is chosen instead, in a window or on a page until that is closed.

    Args:
        make: the motion.
        config: with `viewer`, `gauges`, `legend`, `speed`, `port` and `browser`.
        console: says what keys do.
    """
    speed = check_bounds("speed", config.speed, 0.01, 100.0)
    port = int(check_bounds("port", config.port, 0, 65535))
    motion = make()
    tell_hidden(motion, console)
    choices = Choices({AS_STARTED: make, **other_motions()}, AS_STARTED)
    controls = Controls(gauges=bool(config.gauges), legend=bool(config.legend), choices=choices)
    controls.offer(motion)
    keys = {**KEYS, **(SLIDER_KEYS if config.viewer == "native" else LIST_KEY)}
    console.print("  ".join(f"{key}: {meaning}" for key, meaning in keys.items()), highlight=False)
    screen: Screen
    if config.viewer == "native":
        screen = NativeScreen(motion, controls)
    else:
        page = open_web_screen(motion, controls, port, browse=bool(config.browser))
        print(f"open {page.url} in a browser on this machine; Ctrl+C ends it", flush=True)
        screen = page
    try:
        watch(motion, screen, controls, speed)
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        screen.close()


def tell_hidden(motion: LoopedMotion, console: Console) -> None:
    """Say of which bodies geoms are shown that MuJoCo hides."""
    if bodies := hidden_bodies(motion.robot.model):
        console.print(
            f"no geoms in groups 0 to 2, so that those in groups 3 to 5 are shown: {', '.join(bodies)}",
            highlight=False,
            soft_wrap=True,
        )


def job(config: DictConfig) -> None:
    """Show what is asked for."""
    console = Console()
    if config.viewer not in VIEWERS:
        raise unknown_name("viewer", config.viewer, VIEWERS)
    if config.viewer == "offscreen":
        check_bounds("speed", config.speed, 0.01, 100.0)
        controls = Controls(gauges=bool(config.gauges), legend=bool(config.legend))
        motion = chosen_motion(config)
        tell_hidden(motion, console)
        console.print(f"film: {film(motion, config, controls)}", soft_wrap=True)
        return
    present(partial(chosen_motion, config), config, console)


def main() -> None:
    """Run the verb on the command line's arguments."""
    pliant.envs.register()
    command_line.run(
        job, "view", partial(named_example, "view"), named_subject, partial(learned_in, "feedforward"), settings
    )


if __name__ == "__main__":
    main()
