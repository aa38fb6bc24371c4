"""Building objects from configuration: the one place that calls `hydra.utils.instantiate`.

A configuration may come from elsewhere, such as the environment that a policy's file names. So only targets of
trusted packages are built: Pliant's own and those of the algorithms, or, of what a policy's file may name, tasks,
motions, joints and randomisations alone (`LEARNED`); and what the environment variable PLIANT_TARGETS adds
(`PLIANT_TARGETS=my_lab,my_robot.tasks`). What counts is where a target is defined, not only the name that leads
there.
"""

import importlib
import importlib.util
import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from pliant.errors import ConfigurationError, PliantError

T = TypeVar("T")

LEARNED = (
    *(f"pliant.envs.{name}" for name in ("models", "tasks", "randomisation")),
    *(f"pliant.controllers.{name}" for name in ("trajectories", "paths", "two_link")),
    *(f"pliant.actuators.{name}" for name in ("joint", "law", "laws", "motor", "pid", "servo", "bam", "ax12a")),
    "pliant.actuators.drives",
)
"""What a policy's file may name as parts of its environment: nothing there writes or runs a file."""
CALLBACKS = ("pliant", "hydra.experimental")
"""Of what packages the callbacks of Hydra may be."""
_TRUSTED = ("pliant", "stable_baselines3", "sb3_contrib", "torch.nn", "torch.optim", "hydra.utils.get_class")


NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""`module:name`, as laws, drives and terms of one's own are named."""


def build(config: Any, what: str, trust: Sequence[str] = _TRUSTED, **overrides: Any) -> Any:
    """Return the object that a config node with `_target_` describes; plain values pass through.

    Args:
        config: a node of a composed configuration.
        what: what it is, for error messages (`robot.model`).
        trust: packages and modules of which targets may be.
        overrides: further arguments of the target.

    Raises:
        PliantError: whatever the target itself has to say about its arguments.
        ConfigurationError: the target is not trusted, does not exist or does not take these arguments.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain = OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config
        trusted = check_trusted(plain, what, trust)
        with _execution_whitelist(trusted):
            return instantiate(config, _convert_="all", **overrides)
    except (InstantiationException, OmegaConfBaseException) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, PliantError):
                raise cause from error
            cause = cause.__cause__
        reason = str(error.__cause__ or error).strip().splitlines()
        raise ConfigurationError(f"configuration of {what}: {' '.join(reason)}") from error


def check_trusted(settings: Any, what: str, trust: Sequence[str] = _TRUSTED) -> tuple[str, ...]:
    """Return the packages that are trusted, if nothing that plain settings name is of another.

    Args:
        settings: nested mappings and lists: their `_target_`, and what is named by import path (`mylaws:cubic`).
        what: what they are of, for the message.
        trust: packages and modules, beside those of PLIANT_TARGETS.

    Raises:
        ConfigurationError: something is of no trusted package. It has not been imported.
    """
    trusted = (*trust, *_of_the_user())
    for target in _targets(settings):
        if not _trusted(target, trusted):
            raise ConfigurationError(
                f"configuration of {what}: target {target!r} is of no trusted package ({', '.join(trusted)}). "
                "If you trust it, say so by the environment variable: "
                f"PLIANT_TARGETS={','.join((*_of_the_user(), target.partition('.')[0]))}"
            )
    return trusted


def _is_import_path(text: str) -> bool:
    """Whether a text reads `module:name` where such a module, whatever its name, could be imported."""
    top = text.rpartition(":")[0].partition(".")[0]
    try:
        return bool(top) and "/" not in top and importlib.util.find_spec(top) is not None  # imports nothing
    except (ImportError, ValueError):
        return True


def check_module(path: str, what: str) -> None:
    """Raise `ConfigurationError` unless what a file names by import path may be looked up.

    Args:
        path: `module:name`.
        what: names it, for the message.

    Nothing is imported for it: the module is there already, is of Pliant, or of a package in PLIANT_TARGETS.
    """
    module = path.rpartition(":")[0]
    if module not in sys.modules:
        trusted = ("pliant", *_of_the_user())
        if not _within(module, trusted):
            raise ConfigurationError(
                f"{what} names {path!r}, whose module is of no trusted package ({', '.join(trusted)}) and has not "
                "been imported. If you trust it, import it first, or add it to the environment variable "
                "PLIANT_TARGETS."
            )


def imported(module: str, attribute: str, what: str) -> Any:
    """Return what a module holds that a configuration or file names.

    Args:
        module: on the import path.
        attribute: name in it.
        what: names it, for messages (`law 'mylaws:cubic'`).

    Raises:
        ConfigurationError: it cannot be imported, or there is no such thing in it. Errors of ours pass.
    """
    try:
        return getattr(importlib.import_module(module), attribute)
    except PliantError:
        raise
    except (ImportError, AttributeError, SyntaxError, ValueError, SystemExit) as error:
        told = str(error) if isinstance(error, ImportError | AttributeError) else repr(error)
        raise ConfigurationError(
            f"{what} cannot be imported ({told}). Its folder must be on the import path of this process: "
            "PYTHONPATH=FOLDER"
        ) from error


def own_class(path: str, base: type[T], what: str) -> type[T]:
    """Return the class of a driver of one's own that a file names by import path.

    Args:
        path: `module:Class`.
        base: what it has to be.
        what: names it, for messages.

    Raises:
        ConfigurationError: it is of no trusted package (`check_module`), cannot be imported, or is no `base`.
    """
    if not NAMED.fullmatch(path):
        raise ConfigurationError(f"{what} names {path!r}; module:Class is needed, such as mymodule:MyClass.")
    check_module(path, what)
    module, _, attribute = path.partition(":")
    found = imported(module, attribute, f"{what}: {path}")
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigurationError(f"{what}: {path} is derived from no {base.__module__}.{base.__name__}.")
    return found


def _of_the_user() -> tuple[str, ...]:
    return tuple(filter(None, os.environ.get("PLIANT_TARGETS", "").split(",")))


def _within(home: str, packages: Sequence[str]) -> bool:
    return any(home == name or home.startswith(f"{name}.") for name in packages)


def _trusted(target: str, trusted: Sequence[str]) -> bool:
    """Whether a target is defined in trusted packages; what does not exist is left to Hydra."""
    from hydra.utils import get_object

    top = {name.partition(".")[0] for name in trusted}
    if target.partition(".")[0] not in top:
        return False
    log = logging.getLogger(get_object.__module__)
    told, log.disabled = log.disabled, True  # building it tells, in our words
    try:
        found = get_object(target)
        home = getattr(found, "__module__", None) or ""
        source = getattr(found, "source", None)  # of a law or drive: the module that made it
        if isinstance(source, str) and _is_import_path(source):
            home = source.rpartition(":")[0]
    except Exception:  # importing may fail in any way; building it will say how
        home = target
    finally:
        log.disabled = told
    return _within(home, trusted) or target in trusted


def _targets(node: Any) -> Iterator[str]:
    """Every `_target_` in nested settings, every term that is an import path, and whatever reads `module:name`."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield str(node["_target_"])
        term = node.get("term")
        if isinstance(term, str) and "." in term and ":" not in term:
            yield term
        for value in node.values():
            yield from _targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from _targets(value)
    elif isinstance(node, str) and _is_import_path(node):
        yield ".".join(node.rsplit(":", 1))


def _execution_whitelist(trusted: Sequence[str]) -> AbstractContextManager[Any]:
    """What Hydra from 1.4 on wants to be told beside; earlier ones have no such thing."""
    import hydra.utils

    scope = getattr(hydra.utils, "execution_whitelist", None)
    return (
        nullcontext() if scope is None else scope(tuple(form for name in trusted for form in (name, f"{name}.*")))
    )
