"""Watch a policy: in a window, as a film, or in numbers."""

import os
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.errors import ConfigurationError, check_bounds
from pliant.training.environments import Env, make_environment, policy_info
from pliant.training.evaluation import find_policy, run_episode
from pliant.training.registered import explained
from pliant.training.run_settings import named_policy, registered_environment, settings
from pliant.training.statistics import Episode, short_text, summary
from pliant.viewing.film import film_format, save_film


def render_mode(config: DictConfig) -> str | None:
    """How to draw: for a film if one is asked for, else in a window if there is, or must be, one."""
    if config.video is not None:
        return "rgb_array"
    display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return "human" if config.window or (config.window is None and display) else None


def show(episode: Episode, console: Console) -> None:
    """Print an episode's line."""
    outcomes = {True: "success", False: "no success", None: ""}
    verdict = f"failed: {episode.failure}" if episode.failure else outcomes[episode.success]
    console.print(
        f"{episode.seed:10}  {episode.reward:9.2f}  {episode.length:7}  {verdict}", highlight=False, soft_wrap=True
    )


def job(config: DictConfig) -> None:
    """Play some episodes and print what came of them."""
    console, mode = Console(), render_mode(config)
    video = None if config.video is None else Path(config.video)
    if video is not None:
        film_format(video)
    check_bounds("episodes", config.episodes, 1, 10**9)
    options = {} if mode is None else {"width": int(config.width), "height": int(config.height)}
    env = make_environment(config, mode, **options)
    if video is not None and "rgb_array" not in env.metadata.get("render_modes", ()):
        raise ConfigurationError(f"environment {config.env!r} draws no pictures, so there is no film of it.")
    policy = find_policy(config, env)
    frames: list[object] = []
    console.print(f"{'seed':>10}  {'reward':>9}  {'periods':>7}")
    episodes: list[Episode] = []
    try:
        for k in range(int(config.episodes)):
            take = (lambda: frames.append(env.render())) if video is not None else _nothing
            with explained(env.spec.id if env.spec else "play"):
                episodes.append(run_episode(policy, env, int(config.seed) + k, take))
            show(episodes[-1], console)
    except KeyboardInterrupt:
        if not episodes:
            raise
    finally:
        env.close()
    _conclude(config, env, episodes, frames, console)
    if len(episodes) < int(config.episodes):
        raise KeyboardInterrupt(f"{len(episodes)} of {config.episodes} episodes")


def _conclude(
    config: DictConfig, env: Env, episodes: list[Episode], frames: list[object], console: Console
) -> None:
    if frames:
        save_film(Path(config.video), frames, 1.0 / policy_info(env).period)  # type: ignore[arg-type]
        console.print(f"film: {config.video}", soft_wrap=True)
    elif config.video is None and config.window is None and render_mode(config) is None:
        console.print("no display here: window=true says why, video=film.webp draws without one")
    if len(episodes) > 1:
        found = summary(episodes)
        told = "" if found["success_rate"] is None else f"{short_text(found)}, "
        console.print(f"{told}reward {found['reward_mean']:.2f} on average")


def _nothing() -> None:
    pass


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "play", named_policy, settings, registered_environment("robot", "task"))


if __name__ == "__main__":
    main()
