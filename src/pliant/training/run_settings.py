"""Settings that a run remembers, put before those of the command line: of a run that goes on, or of its policy."""

import re
from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf

from pliant.controllers.policies import made_for, period_of
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError
from pliant.training.evaluation import WITHOUT_FILE

_OVERRIDES = Path(".hydra") / "overrides.yaml"
ENVIRONMENT = ("env", "task")
"""The groups that make an environment."""


def inherit(arguments: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """Return the arguments with the earlier overrides before them.

    An earlier override gives way to a new one of the same key; a new choice of a group (`task=track`) also to what
    was set within the old one (`task.hold=0.5`).
    """
    given = {_key(argument) for argument in arguments if "=" in argument or argument.startswith("~")}
    kept = [old for old in earlier if not any(_covers(new, _key(old)) for new in given)]
    return [*kept, *arguments]


def of_groups(overrides: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return the overrides that choose, or set something within, one of the groups."""
    return [override for override in overrides if any(_covers(group, _key(override)) for group in groups)]


def of_run(folder: Path) -> list[str]:
    """Return the overrides a run was started with.

    Raises:
        MissingFileError: no such folder, or not one of a run.
        FileFormatError: its record of them is damaged.
    """
    file = folder / _OVERRIDES
    if not folder.is_dir():
        raise MissingFileError(f"run folder {folder} does not exist; looked from {Path.cwd()}.")
    if not file.is_file():
        runs = sorted(p.name for p in folder.iterdir() if (p / _OVERRIDES).is_file())
        hint = f"it holds the runs {', '.join(runs[:8])}; choose one" if runs else f"it has no {_OVERRIDES}"
        raise MissingFileError(f"{folder} is not the folder of a run: {hint}.")
    overrides = OmegaConf.to_container(OmegaConf.load(file))
    if not isinstance(overrides, list):
        raise FileFormatError(f"{file} does not hold a list of overrides.")
    return [str(override) for override in overrides]


def value_of(arguments: Sequence[str], key: str) -> str | None:
    """Return what the arguments set a key to, the last time; None if they do not."""
    values = [argument.partition("=")[2] for argument in arguments if _key(argument) == key and "=" in argument]
    return values[-1].strip("'\"") if values and values[-1] not in ("", "null") else None


def resumed(arguments: Sequence[str]) -> list[str]:
    """Return the command line with the settings of the run that it resumes, if any, put before its own."""
    resume = value_of(arguments, "resume")
    if resume is None:
        return list(arguments)
    path = Path(resume)
    if path.suffix == ".zip" and not path.is_dir():
        path = path.parent.parent
    return inherit(arguments, of_run(path))


def bare_word(arguments: Sequence[str]) -> list[str]:
    """Return the command line with a bare first word as `policy='WORD'`."""
    if not arguments or "=" in arguments[0] or arguments[0].startswith("-"):
        return list(arguments)
    quoted = arguments[0].replace("'", "\\'")
    return [f"policy='{quoted}'", *arguments[1:]]


def named_policy(arguments: Sequence[str]) -> list[str]:
    """Return the command line with its bare first word named, and the policy's own environment before it."""
    words = bare_word(arguments)
    policy = value_of(words, "policy")
    if policy is None or policy in WITHOUT_FILE:
        return words
    swept = {"--multirun", "-m"} & set(words)
    policies = [name for name in policy.split(",") if name not in WITHOUT_FILE] if swept else [policy]
    made = [_environment(name, ENVIRONMENT) for name in policies]
    if any(own != made[0] for own in made):
        raise ConfigurationError(
            f"the policies {policy} were learned in different environments; run each by itself."
        )
    return inherit(words, made[0]) if made else words


def deployed_policy(arguments: Sequence[str]) -> list[str]:
    """Return the command line of a deployment with the policy's own task and period before it, if it has one.

    The period gives way to `robot.period`.
    """
    policy = value_of(arguments, "policy")
    if policy is None:
        return list(arguments)
    words = inherit(arguments, _environment(policy, ("task",)))
    given = value_of(words, "robot.period")
    return [f"robot.period={period_of(policy)!r}", *words] if given is None else words


def _environment(policy: str, groups: Sequence[str]) -> list[str]:
    """The overrides of some groups that made the environment a policy was learned in."""
    environment = made_for(policy).get("environment", [])
    if not (isinstance(environment, list) and all(isinstance(override, str) for override in environment)):
        raise FileFormatError(f"policy {policy}: the environment it names is no list of overrides.")
    return of_groups(environment, groups)


def _key(override: str) -> str:
    return re.sub(r"[@:].*", "", override.partition("=")[0].lstrip("+~"))


def _covers(key: str, other: str) -> bool:
    return other == key or other.startswith((f"{key}.", f"{key}/"))
