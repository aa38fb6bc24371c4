"""Choosing among named channels, `owner/quantity`: by name, or by a glob that fits both parts."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import Channel

Names = str | Sequence[str]
"""A name or glob, or several."""
_OF_MOTORS = re.compile(r"(.+)/([12*?]|\[.+\])/(position|velocity|torque|spring_torque)")
"""What motors' signals were called before they were named like all others."""


def matches(name: str, pattern: str) -> bool:
    """Whether a name is or fits a glob, owner and quantity each by itself; the last `/` stands between them.

    So `*/position` are the positions of all joints, also of one called `left/elbow`, `left/*/position` those of
    joints whose names begin with `left/`, and `*/motor_position*` the positions of motors.
    """
    (owner, _, quantity), (owners, _, quantities) = name.rpartition("/"), pattern.rpartition("/")
    return name == pattern or (fnmatchcase(owner, owners) and fnmatchcase(quantity, quantities))


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
            raise unknown_name(kind, pattern, names, where + _renamed(pattern))
        found += [i for i in fitting if i not in found]
    return found


def _renamed(pattern: str) -> str:
    """What to say to who asks for a motor's signal by the name that it had before."""
    old = _OF_MOTORS.fullmatch(pattern)
    if old is None:
        return ""
    joint, motor, quantity = old.groups()
    prefix = "" if quantity == "spring_torque" else "motor_"
    return f" (motors' signals are called like {joint}/{prefix}{quantity}{motor})"


def as_names(value: Any, what: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; raise `ConfigurationError` if they are no text."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{what}: names or globs are needed, not {value!r}.")
    return tuple(names)
