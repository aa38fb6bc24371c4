"""Choosing among named channels: by name, or by a glob that fits them part by part."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import Channel

Names = str | Sequence[str]
"""A name or glob, or several."""


def matches(name: str, pattern: str) -> bool:
    """Whether a name is or fits a glob, part by part: `*` does not reach beyond a `/`.

    So `*/position` are the joints' positions and `*/*/position` the motors'.
    """
    parts, wanted = name.split("/"), pattern.split("/")
    return name == pattern or (len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted)))


def select(patterns: Names, channels: Sequence[Channel], kind: str, where: str) -> list[int]:
    """Return which channels are meant: in the order of the patterns, each once.

    Args:
        patterns: names or globs.
        channels: to choose from.
        kind: what they are, for the message (`signal`).
        where: what has them, likewise (`robot 'arm2'`).

    Raises:
        UnknownNameError: a pattern that no channel fits.
    """
    names = [channel.name for channel in channels]
    found: list[int] = []
    for pattern in as_names(patterns, kind):
        fitting = [i for i, name in enumerate(names) if matches(name, pattern)]
        if not fitting:
            raise unknown_name(kind, pattern, names, where)
        found += [i for i in fitting if i not in found]
    return found


def as_names(value: Any, what: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; raise `ConfigurationError` if they are no text."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{what}: names or globs are needed, not {value!r}.")
    return tuple(names)
