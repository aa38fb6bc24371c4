"""What is wrong with a command line, in our own words instead of Hydra's."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf

from pliant.conf.checks import FREE, usual_settings
from pliant.conf.reference import groups_of_verb, verbs
from pliant.errors import ConfigurationError, PliantError, UnknownNameError, unknown_name

_FILES = {"robot": "a file of yours: robot=./leg.yaml", "controller": "one of yours: controller=module:Class"}
"""What a group takes besides the choices that come with Pliant."""
_GRAMMAR = "write key=value or group=choice; what has brackets, commas or blanks in quotes: 'key=[1, 2]'."


def in_our_words(error: Exception, config_name: str, arguments: Sequence[str]) -> PliantError | None:
    """Return the error that a user is told in place of one of Hydra's; None where Hydra's own words are clear.

    Args:
        error: of Hydra.
        config_name: in conf/.
        arguments: of the command line.
    """
    from hydra.errors import MissingConfigException, OverrideParseException

    text = str(error)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        return unknown_choice(error.missing_cfg_file, error.options)
    if isinstance(error, OverrideParseException):
        reason = error.message.splitlines()[0]
        why = "it has no =" if "missing EQUAL" in text else reason
        return ConfigurationError(f"{error.override!r} cannot be read ({why}): {_GRAMMAR}")
    if named := re.match(r"Could not override '([\w.]+)'\.\nTo append to your config", text):
        return unknown_setting(named[1], config_name, arguments)
    if named := re.match(r"Could not delete from config\. '([\w.]+)' does not exist", text):
        return unknown_setting(named[1], config_name, arguments)
    if named := re.match(r"Could not override '([\w/]+)'\. No match in the defaults list", text):
        names = [group.name for group in groups_of_verb(config_name)] if config_name in verbs() else []
        return unknown_name("group", named[1], names, f"pliant {config_name}")
    return None


def unknown_choice(path: str, options: Sequence[str]) -> UnknownNameError:
    """Return the error for a choice that does not exist.

    Args:
        path: group and choice, `robot/arm3`.
        options: choices of the group.
    """
    group, _, name = path.rpartition("/")
    return unknown_name(group, name, [*options, *((_FILES[group],) if group in _FILES else ())])


def check_options(arguments: Sequence[str]) -> None:
    """Raise `UnknownNameError` where an option (`--halp`) is none of Hydra's."""
    from hydra._internal.utils import get_args_parser

    known = get_args_parser()._option_string_actions
    for word in arguments:
        option = word.partition("=")[0]
        if word.startswith("--") and not any(name.startswith(option) for name in known):
            raise unknown_name("option", option, [name for name in known if name.startswith("--")])


def unknown_setting(key: str, config_name: str, overrides: Sequence[str]) -> UnknownNameError:
    """Return the error for a setting that does not exist, with those that do beside it."""
    node: Any = OmegaConf.to_container(usual_settings(config_name, overrides), resolve=False)
    *path, name = key.split(".")
    found = []
    for step in path:
        if not isinstance(node, Mapping) or step not in node:
            name = step
            break
        node = node[step]
        found.append(step)
    where = ".".join(found) or config_name
    if node is None:
        return UnknownNameError(
            f"unknown setting {name!r} in {where}, which is null unless given. Give its entries together: "
            f"'{where}={{{name}: …}}'."
        )
    if not isinstance(node, Mapping):
        return UnknownNameError(
            f"unknown setting {name!r} in {where}, which is a value ({node}) without settings."
        )
    if isinstance(node.get(name), Mapping):
        return UnknownNameError(
            f"{key} takes no other entries than it has: {', '.join(map(str, node[name]))}. To put others in "
            f"their place: '~{key}' '+{key}={{…}}'."
        )
    choices = [str(choice) for choice in node if not str(choice).startswith("_")]
    if not found and config_name in verbs():
        choices = list(dict.fromkeys([*(group.name for group in groups_of_verb(config_name)), *choices]))
    error = unknown_name("setting", name, choices, where)
    if where in FREE:
        return UnknownNameError(f"{error} A new entry is added by a plus: '+{key}=…'.")
    return error
