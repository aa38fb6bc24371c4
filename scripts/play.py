"""Watch a policy: in a window, as a film, or in numbers."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers.policy import Policy
from pliant.envs.recorded_episode import Image, Shot
from pliant.errors import ConfigurationError, check_bounds, require_extra, unknown_name
from pliant.examples.catalogue import named_example
from pliant.progress import progress
from pliant.training.environments import Env, make_environment
from pliant.training.evaluation import find_policy, outcome, run_episode
from pliant.training.recording import policy_beside, policy_label, record_episode
from pliant.training.registered import explained
from pliant.training.run_settings import named_policy, registered_environment, settings
from pliant.training.statistics import Episode, short_text, summary
from pliant.viewing.episode_film import film, picture_instants
from pliant.viewing.film import film_format, save_film

if TYPE_CHECKING:
    from pliant.viewing.motions import Played

SCREENS = ("native", "web")
"""Where a policy can be watched with sliders."""


def render_mode(config: DictConfig) -> str | None:
    """How to draw: for a film if one is asked for, else in a window if there is, or must be, one."""
    if config.film is not None:
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


def watch_policy(config: DictConfig, console: Console) -> None:
    """Show one episode after another in MuJoCo's window or on a page, with sliders, until that is closed.

    Raises:
        UnknownNameError: no such viewer.
        ConfigurationError: a film is asked for at the same time.
    """
    from pliant.scripts.view import policy_motion, present

    if config.viewer not in SCREENS:
        raise unknown_name("viewer", config.viewer, SCREENS)
    if config.film is not None:
        raise ConfigurationError(f"viewer={config.viewer} writes no film; leave viewer or film={config.film} out.")

    def told(played: "Played") -> None:
        show(Episode(played.seed, played.reward, played.length, *outcome(played.info)), console)

    present(lambda: policy_motion(config, told), config, console)


def job(config: DictConfig) -> None:
    """Play some episodes and print what came of them."""
    if config.viewer is not None:
        watch_policy(config, Console())
        return
    console, mode = Console(), render_mode(config)
    if config.film is not None:
        film_format(Path(config.film))
        require_extra("PIL", "video", "a film")
    check_bounds("episodes", config.episodes, 1, 10**9)
    size = {name: int(check_bounds(name, config[name], 16, 4096, "pixels")) for name in ("width", "height")}
    env = make_environment(config, mode, **({} if mode is None else size))
    console.print(f"{'seed':>10}  {'reward':>9}  {'periods':>7}")
    episodes: list[Episode] = []
    shots: list[list[Shot]] = []
    try:
        policy = find_policy(config, env)
        beside = None if config.film is None else policy_beside(config, env)
        for k in range(int(config.episodes)):
            seed = int(config.seed) + k
            with explained(config.get("env")):
                if config.film is None:
                    episodes.append(run_episode(policy, env, seed))
                else:
                    episode, taken = _recorded(config, policy, beside, env, seed)
                    episodes.append(episode)
                    shots.append(taken)
            show(episodes[-1], console)
    except KeyboardInterrupt:
        if not episodes:
            raise
    finally:
        env.close()
    _conclude(config, episodes, shots, console)
    if len(episodes) < int(config.episodes):
        raise KeyboardInterrupt(f"{len(episodes)} of {config.episodes} episodes")


def _recorded(
    config: DictConfig, policy: Policy, beside: tuple[str, Policy] | None, env: Env, seed: int
) -> tuple[Episode, list[Shot]]:
    """Record an episode of the policy, and the same one of that which is shown beside it."""
    episode, shot = record_episode(policy, env, seed, policy_label(str(config.policy)))
    return episode, [shot, *([] if beside is None else [record_episode(beside[1], env, seed, beside[0])[1]])]


def _conclude(config: DictConfig, episodes: list[Episode], shots: list[list[Shot]], console: Console) -> None:
    if shots:
        frames: list[Image] = []
        with progress(console, "film", sum(len(picture_instants(taken)) for taken in shots)) as steps:
            for taken in shots:
                images, rate = film(taken, int(config.width), int(config.height), note=steps.advance)
                frames += images
        save_film(Path(config.film), frames, rate)
        console.print(f"film: {config.film}", soft_wrap=True)
    elif config.window is None and render_mode(config) is None:
        console.print("no display here: window=true says why, film=film.webp draws without one")
    if len(episodes) > 1:
        found = summary(episodes)
        told = "" if found["success_rate"] is None else f"{short_text(found)}, "
        console.print(f"{told}reward {found['reward_mean']:.2f} on average")


def main() -> None:
    """Run the verb on the command line's arguments."""
    environment = registered_environment("robot", "task")
    command_line.run(job, "play", partial(named_example, "play"), named_policy, settings, environment)


if __name__ == "__main__":
    main()
