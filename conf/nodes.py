"""Nodes of a configuration that come from elsewhere than conf/: a user's own robot, and what a run remembers.

Hydra composes them like any other choice of their group, so that the command line changes single entries of them.
"""

import atexit
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pliant.errors import FileFormatError, OutputError

_PATH = "hydra.searchpath="
_INNER = re.compile(r"\$\{\.*[A-Za-z_][A-Za-z0-9_.]*\}")
"""A reference to another setting."""


@cache
def _folder() -> Path:
    """A folder for the nodes of this process, gone at its end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="pliant-conf-"))
    except OSError as error:
        raise OutputError(f"no temporary folder can be made: {error.strerror}.") from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def add_node(
    arguments: Sequence[str], group: str, name: str, node: Any, origin: str, *, default: bool = True
) -> list[str]:
    """Return the command line on which `group=name` chooses a node, put before everything else.

    Args:
        arguments: of the command line.
        group: such as `robot`.
        name: of the choice; letters, digits and `_`.
        node: plain data.
        origin: where the node is from, for messages.
        default: whether the verb's configuration makes a choice of this group by itself.

    Raises:
        FileFormatError: it is no mapping of plain data, or it would be more than data to Hydra.
    """
    import yaml

    if not isinstance(node, Mapping):
        raise FileFormatError(f"{origin}: {group} is {type(node).__name__}, not entries with names.")
    check_plain(node, f"{origin}: {group}")
    if "defaults" in node:
        raise FileFormatError(f"{origin}: {group} has an entry 'defaults', which would choose other files.")
    file = _folder() / group / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(dict(node), sort_keys=False, allow_unicode=True))
    choice = f"{'' if default else '+'}{group}={name}"
    return [*_searched(arguments), choice] if not _chooses(arguments, group) else _searched(arguments)


def _chooses(arguments: Sequence[str], group: str) -> bool:
    return any(argument.startswith(f"{group}=") for argument in arguments)


def _searched(arguments: Sequence[str]) -> list[str]:
    """The command line on which Hydra also looks into our folder."""
    ours = f"file://{_folder()}"
    found = []
    for argument in arguments:
        if not argument.startswith(_PATH):
            found.append(argument)
        elif ours not in argument:
            ours = f"{argument.removeprefix(_PATH).strip('[]')},{ours}"
    return [*found, f"{_PATH}[{ours}]"]


def check_plain(value: Any, where: str) -> None:
    """Raise `FileFormatError` unless a value is plain data, without interpolations but of other settings.

    Resolvers (`${name:…}`) might run anything.

    Args:
        value: of any kind.
        where: it is from, for the message.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise FileFormatError(f"{where}: the name {key!r} is no text.")
            check_plain(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for k, item in enumerate(value):
            check_plain(item, f"{where}[{k}]")
    elif isinstance(value, str):
        if "${" in _INNER.sub("", value):
            raise FileFormatError(
                f"{where} holds an interpolation that may reach beyond the settings, {value!r}; only values and "
                "references to other settings (${robot.mode}) are data."
            )
    elif value is not None and not isinstance(value, bool | int | float):
        raise FileFormatError(f"{where} is a {type(value).__name__}; plain data is needed.")


def literal(value: Any, where: str) -> str:
    """Return a value as the command line has it; `FileFormatError`, which names `where` it is from, for others."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str) and "${" not in value:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    raise FileFormatError(f"{where} is {value!r}; a number or a text is needed.")
