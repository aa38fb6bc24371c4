"""Settings that a verb takes over from an earlier run: its overrides, put before those of the command line."""

import re
from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf

from pliant.errors import FileFormatError, MissingFileError

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


def _key(override: str) -> str:
    return re.sub(r"[@:].*", "", override.partition("=")[0].lstrip("+~"))


def _covers(key: str, other: str) -> bool:
    return other == key or other.startswith((f"{key}.", f"{key}/"))
