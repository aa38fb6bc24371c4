"""Watch a policy: in a window, as a film, or in numbers."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.training.environments import Env, make_environment
from pliant.training.evaluation import find_policy, outcome, run_episode
from pliant.training.run_settings import named_policy, settings
from pliant.training.statistics import Episode, summary
from pliant.viewing.film import film_format, save_film

if TYPE_CHECKING:
    from pliant.viewing.motions import Played

SCREENS = ("native", "web")
"""Where a policy can be watched with sliders."""


def render_mode(config: DictConfig) -> str | None:
    """How to draw: for a film if one is asked for, else in a window if there is, or must be, one."""
    if config.video is not None:
        return "rgb_array"
    display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return "human" if config.window or (config.window is None and display) else None


def show(episode: Episode, console: Console) -> None:
    """Print an episode's line."""
    verdict = f"failed: {episode.failure}" if episode.failure else ("success" if episode.success else "no success")
    console.print(
        f"{episode.seed:10}  {episode.reward:9.2f}  {episode.length:7}  {verdict}", highlight=False, soft_wrap=True
    )


def watch_policy(config: DictConfig, console: Console) -> None:
    """Show one episode after another in MuJoCo's window or on a page, with sliders, until that is closed.

    Raises:
        UnknownNameError: no such viewer.
        ConfigurationError: a film is asked for at the same time.
    """
    from pliant.scripts.view import policy_motion, present

    if config.viewer not in SCREENS:
        raise unknown_name("viewer", config.viewer, SCREENS)
    if config.video is not None:
        raise ConfigurationError(
            f"viewer={config.viewer} writes no film; leave viewer or video={config.video} out."
        )

    def told(played: "Played") -> None:
        show(Episode(played.seed, played.reward, played.length, *outcome(played.info)), console)

    present(lambda: policy_motion(config, told), config, console)


def job(config: DictConfig) -> None:
    """Play some episodes and print what came of them."""
    if config.viewer is not None:
        watch_policy(config, Console())
        return
    console, mode = Console(), render_mode(config)
    video = None if config.video is None else Path(config.video)
    if video is not None:
        film_format(video)
    check_bounds("episodes", config.episodes, 1, 10**9)
    options = {} if mode is None else {"width": int(config.width), "height": int(config.height)}
    env = make_environment(config, mode, **options)
    policy = find_policy(config, env)
    frames: list[object] = []
    console.print(f"{'seed':>10}  {'reward':>9}  {'periods':>7}")
    episodes: list[Episode] = []
    try:
        for k in range(int(config.episodes)):
            take = (lambda: frames.append(env.render())) if video is not None else _nothing
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
        save_film(Path(config.video), frames, float(env.metadata["render_fps"]))  # type: ignore[arg-type]
        console.print(f"film: {config.video}", soft_wrap=True)
    elif config.video is None and config.window is None and render_mode(config) is None:
        console.print("no display here: window=true says why, video=film.webp draws without one")
    if len(episodes) > 1:
        found = summary(episodes)
        console.print(f"{found['success_rate']:.0%} success, reward {found['reward_mean']:.2f} on average")


def _nothing() -> None:
    pass


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "play", named_policy, settings)


if __name__ == "__main__":
    main()
