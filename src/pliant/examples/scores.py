"""How good an example is, by the same numbers as when it was packed."""

from typing import Any

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from pliant.conf.build import build
from pliant.controllers import FeedForward, run
from pliant.controllers.feedforward import Playback
from pliant.controllers.gaits.gait import Gait
from pliant.deployment.controller import build_controller
from pliant.envs.description import described
from pliant.envs.gait_trial import try_gait
from pliant.errors import ConfigurationError
from pliant.examples.catalogue import Example, named_example
from pliant.training.evaluation import AS_BUILT, evaluate
from pliant.training.run_settings import named_policy, settings
from pliant.training.statistics import summary


def example_config(example: Example, verb: str, *words: str) -> DictConfig:
    """Return the configuration that a verb runs an example with.

    Args:
        example: one that the verb takes.
        verb: a name such as `play`.
        words: further settings of the command line.
    """
    from hydra import compose, initialize_config_module

    given = settings(named_policy(named_example(verb, [f"example={example.name}", *words])))
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose(verb, overrides=given)


def score(example: Example, episodes: int = 100) -> dict[str, Any]:
    """Return how good an example is on its simulated robot.

    Args:
        example: of any kind.
        episodes: of a policy, from the held-out seeds on.

    Returns:
        Of a policy `episodes`, `success_rate` and `reward_mean`; of a gait `kept` (its limits), `speed` (m/s) and
        `largest_torque` (N·m); of a feed-forward `max_error` (of any joint, rad).
    """
    return {"policy": _policy, "feedforward": _feedforward, "gait": _gait}[example.kind](example, episodes)


def _policy(example: Example, episodes: int) -> dict[str, Any]:
    config = example_config(example, "evaluate", f"episodes={episodes}", "robots=0")
    found = summary(evaluate(config, Console(quiet=True))[AS_BUILT])
    return {name: found[name] for name in ("episodes", "success_rate", "reward_mean")}


def _feedforward(example: Example, episodes: int) -> dict[str, Any]:
    learned = FeedForward.load(example.file)
    if learned.desired is None:
        raise ConfigurationError(f"the feed-forward {example.file} holds no desired motion; it cannot be judged.")
    with described(example_config(example, "deploy").robot).simulated() as robot:
        played = run(robot, Playback(learned, robot.info), float(learned.time[-1]))
    return {"max_error": float(np.abs(played.motion.position - learned.desired).max())}


def _gait(example: Example, episodes: int) -> dict[str, Any]:
    config = example_config(example, "gait")
    with described(config.robot).simulated() as robot:
        controller = build_controller(config.controller, robot.info).controller
        if not isinstance(controller, Gait):
            raise ConfigurationError(f"{example.file} is a {type(controller).__name__}; a gait is needed.")
        measures = try_gait(robot, controller, float(config.duration), build(config.limits, "limits")).measures
    return {"kept": measures.kept, "speed": measures.speed, "largest_torque": measures.largest_torque}
