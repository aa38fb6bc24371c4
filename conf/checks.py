"""What a verb's settings may be: checked against the defaults of conf/ before anything is built or run.

A setting is of the kind of its default: a whole number, a number, yes or no, a text, a list, or settings by name.
What a library builds from its own node (a robot, a task, a law of learning) checks its bounds itself and may take
a list or nothing in place of a number; what a verb itself reads is bounded here.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import InterpolationKeyError

from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds

_BUILT = (
    "robot",
    "task",
    "trajectory",
    "ilc",
    "randomisation",
    "algo",
    "controller",
    "safety",
    "robustness",
    "experiment",
    "experiments",
    "env_options",
    "hardware.gap",
    "logging.options",
)
"""Nodes that are not a verb's own."""

FREE = ("robot.joints", "robot.machine", "safety.joints", "controller.conditioning.settings.load")
"""Entries that may be of several kinds: `hip: 1`, `hip: {servo: 1}`, a file; who takes them checks them."""

_NONE = {"controller.limits", "controller.balance", "controller.forces"}
"""Settings by name that may be null: there are none."""

_MOST = 10**9
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    "period": (1e-5, 10.0),
    "episodes": (1, _MOST),
    "robots": (0, _MOST),
    "starts": (1, 10_000),
    "steps": (1, 10**15),
    "n_envs": (1, 100_000),
    "threads": (1, 1024),
    "physics_threads": (0, 10_000),
    "exploration": (0.0, 10.0),
    "normalise.clip": (1e-6, 1e9),
    "evaluation.every": (1, 10**15),
    "evaluation.episodes": (1, 100_000),
    "checkpoint.every": (1, 10**15),
    "checkpoint.keep": (1, _MOST),
    "learning.max_iterations": (1, _MOST),
    "learning.tolerance": (1e-12, 100.0),
    "learning.trials": (0, 100_000),
    "run.settle": (0.0, 3600.0),
    "hardware.goal_delay": (0.0, 10.0),
    "hardware.latency": (0.0, 10.0),
    "hardware.supply": (1.0, 100.0),
    "speed": (0.01, 100.0),
    "port": (0, 65535),
    "duration": (0.01, 1e6),
    "width": (16, 4096),
    "height": (16, 4096),
    "robot.period": (1e-5, 10.0),
    "experiment.duration": (1e-3, 1e5),
    "experiment.wide_duration": (1e-3, 1e5),
    "experiment.hold": (0.0, 1e5),
    "experiment.move": (1e-3, 1e5),
    "experiment.lap": (1e-3, 1e5),
    "experiment.at": (0.0, 1e5),
    "experiment.periods": (1, 10_000),
    "experiment.timestep": (1e-7, 1.0),
    "experiment.period": (1e-5, 10.0),
    "algo.gamma": (0.0, 1.0),
    "algo.gae_lambda": (0.0, 1.0),
    "algo.tau": (0.0, 1.0),
    "algo.clip_range": (1e-6, 1e6),
    "algo.learning_rate": (0.0, 1e38),
    "algo.learning_rate.start": (0.0, 1e38),
    "algo.learning_rate.end": (0.0, 1e38),
    "algo.learning_rate.end_fraction": (1e-9, 1.0),
    "algo.ent_coef": (0.0, 1e6),
    "algo.n_steps": (1, _MOST),
    "algo.n_epochs": (1, _MOST),
    "algo.batch_size": (1, _MOST),
    "algo.buffer_size": (1, _MOST),
    "algo.learning_starts": (0, 10**15),
    "algo.train_freq": (1, _MOST),
    "algo.gradient_steps": (-1, _MOST),
    "algo.top_quantiles_to_drop_per_net": (0, _MOST),
    "algo.policy_kwargs.n_critics": (1, 1000),
    "algo.policy_kwargs.n_quantiles": (1, 100_000),
    "algo.policy_kwargs.net_arch": (1, 1_000_000),
    "algo.policy_kwargs.log_std_init": (-100.0, 100.0),
}
"""Smallest and largest values of numbers; of a list's entries likewise."""

_DECIMAL = ("robot", "task", "trajectory", "env_options")
"""Where a whole number in a file may well have been meant as any number (`k: 40`)."""
_OPTIONAL = {"period", "hardware.supply", "duration", "beside"}
"""Values that may be null."""
_TEXTS = {
    "policy",
    "env",
    "resume",
    "feedforward",
    "variant",
    "environment",
    "to",
    "docs",
    "learning.resume",
    "film",
    "recordings",
    "trajectory.path",
    "model",
    "robot.law",
}
"""Texts and names of files; null where their default is."""
_YES_OR_NO = {"window"}
"""Yes, no or null."""
_LISTS = {"learning.columns"}
"""Lists, or null."""
_SINGLE = {*_TEXTS, *_YES_OR_NO}
_AUTOMATIC = {"algo.ent_coef"}
"""Numbers that may be `auto`, or `auto_0.1`."""


def check_settings(settings: DictConfig, usual: DictConfig) -> None:
    """Raise where a setting is of the wrong kind, missing, not finite or out of bounds.

    Whole numbers that are written as others are (`steps=1e5`) become whole.

    Args:
        settings: composed.
        usual: the same choices with their defaults.

    Raises:
        ConfigurationError: a setting is of another kind than its default, or was not given.
        OutOfBoundsError: a number is not finite or out of bounds.
    """
    try:
        given, defaults = (OmegaConf.to_container(config, resolve=True) for config in (settings, usual))
    except InterpolationKeyError:  # whoever needs what is not there says so better
        given, defaults = (OmegaConf.to_container(config, resolve=False) for config in (settings, usual))
    for key, value in _checked("", given, defaults):
        with open_dict(settings):
            OmegaConf.update(settings, key, value)


def _checked(key: str, value: Any, usual: Any) -> Iterator[tuple[str, Any]]:
    """Check a node; yields the numbers that become whole."""
    if value == "???":
        raise ConfigurationError(f"{key} must be given: {key}=…")
    if isinstance(value, str) and "${" in value:
        return
    if usual == "???" and key not in _TEXTS:
        usual = None  # what must be given has no default to tell its kind
    if _within(key, FREE) and not (isinstance(value, Mapping) and isinstance(usual, Mapping)):
        machine = _within(key, ("robot.machine",))
        if _number(usual) and (isinstance(value, bool) or (machine and isinstance(value, str))):
            raise _wrong(key, value, "a number")
        if machine and isinstance(usual, str) and value is not None and not isinstance(value, str):
            raise _wrong(key, value, "a text")
        _all_numbers(key, value, finite=machine)
    elif isinstance(usual, Mapping):
        yield from _checked_node(key, value, usual)
    elif isinstance(value, Mapping):
        plain = _number(usual) and key.startswith("algo.") and "_target_" not in value
        if (
            (usual is not None and not _built(key))
            or isinstance(usual, bool | str)
            or _single(key, usual)
            or plain
        ):
            raise _wrong(key, value, _kind(usual))
        _all_numbers(key, value)
    elif isinstance(value, list):
        if usual is not None and not isinstance(usual, list) and not _built(key):
            raise _wrong(key, value, _kind(usual))
        if _single(key, usual):
            raise _wrong(key, value, "a text" if key in _TEXTS else "a single value")
        example = usual[0] if isinstance(usual, list) and usual else None if isinstance(usual, list) else usual
        names = isinstance(usual, str) and key.startswith("task.")  # one or several
        if isinstance(usual, bool | str) and not names:
            raise _wrong(key, value, _kind(usual))
        for k, entry in enumerate(value):
            if isinstance(entry, Mapping | list):
                _all_numbers(f"{key}[{k}]", entry)
            elif not (entry is None and _built(key)):
                _check_value(key, entry, example, f"{key}[{k}]")
    elif (number := _check_value(key, value, usual, key)) is not None:
        yield key, number


def _checked_node(key: str, value: Any, usual: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Check settings by name."""
    if not isinstance(value, Mapping):
        if value is None and key in _NONE:
            return
        if "_target_" in usual or key in _BUILT:
            _all_numbers(key, value)
            if isinstance(value, str | bool) and "_target_" in usual:
                raise _wrong(key, value, f"a value or settings by name ({', '.join(map(str, usual))})")
            if value is not None and (bounds := _bounds(key)):
                check_bounds(key, value, *bounds)
            return
        wanted = f"settings by name ({', '.join(map(str, usual)) or 'NAME: value'})"
        raise _wrong(key, value, f"{wanted}, or null for none," if key in _NONE else wanted)
    same = value.get("_target_") == usual.get("_target_")
    for name, entry in value.items():
        inner = f"{key}.{name}" if key else str(name)
        if name in usual and same:
            yield from _checked(inner, entry, usual[name])
        elif entry == "???":
            raise ConfigurationError(f"{inner} must be given: {inner}=…")
        else:
            _all_numbers(inner, entry)


def _check_value(key: str, value: Any, usual: Any, where: str) -> int | None:
    """Check a single value by its default; returns it as a whole number if it has to become one."""
    if isinstance(value, float) and math.isnan(value):
        raise OutOfBoundsError(f"{where} is not a number (nan).")
    if isinstance(value, float) and math.isinf(value) and not (isinstance(usual, float) and math.isinf(usual)):
        raise OutOfBoundsError(f"{where} is {value}; a finite value is needed.")
    if value is None:
        strict = not _built(key) or isinstance(usual, bool) or key.startswith("algo.")
        if usual is not None and strict and key not in _OPTIONAL:
            raise _wrong(where, value, _kind(usual))
        return None
    if usual is None:
        for keys, kind, name in ((_TEXTS, str, "a text"), (_YES_OR_NO, bool, "true or false")):
            if key in keys and not isinstance(value, kind):
                raise _wrong(where, value, name)
        if key in _LISTS and where == key:
            raise _wrong(where, value, "a list")
        if _bounds(key):
            _bounded(key, where, value)
        return None
    if isinstance(usual, list):
        if not _built(key) or isinstance(value, bool) or (isinstance(value, str) and any(map(_number, usual))):
            raise _wrong(where, value, "a list")
    elif isinstance(usual, bool):
        if not isinstance(value, bool):
            raise _wrong(where, value, "true or false")
    elif isinstance(usual, str):
        if _bounds(key) and _number(value):
            _bounded(key, where, value)
        elif not isinstance(value, str):
            raise _wrong(where, value, "a text")
        elif key in _AUTOMATIC:
            _check_automatic(where, value)
    elif isinstance(usual, int | float):
        if key in _AUTOMATIC and isinstance(value, str):
            _check_automatic(where, value)
            return None
        if not _number(value):
            raise _wrong(where, value, _kind(usual))
        _bounded(key, where, value)
        if isinstance(usual, float) or _within(key, _DECIMAL):
            return None
        if value != int(value):
            raise _wrong(where, value, "a whole number")
        return int(value) if isinstance(value, float) else None
    return None


def _bounded(key: str, where: str, value: Any) -> None:
    if not _number(value):
        raise _wrong(where, value, "a number")
    if bounds := _bounds(key):
        check_bounds(where, value, *bounds)


def _check_automatic(where: str, value: str) -> None:
    if not re.fullmatch(r"auto(_\d+(\.\d*)?(e-?\d+)?)?", value):
        raise _wrong(where, value, "a number, auto or auto_0.1")


def _all_numbers(key: str, value: Any, *, finite: bool = False) -> None:
    """Raise where a number in nested settings is nan, or infinite where it may not be."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            _all_numbers(f"{key}.{name}", entry, finite=finite)
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            _all_numbers(f"{key}[{k}]", entry, finite=finite)
    elif isinstance(value, float) and math.isnan(value):
        raise OutOfBoundsError(f"{key} is not a number (nan).")
    elif finite and isinstance(value, float) and math.isinf(value):
        raise OutOfBoundsError(f"{key} is {value}; a finite value is needed.")


def _built(key: str) -> bool:
    """Whether a setting is of a node that a library builds and checks."""
    return _within(key, _BUILT)


def _within(key: str, nodes: Sequence[str]) -> bool:
    return any(key == node or key.startswith(f"{node}.") for node in nodes)


def _single(key: str, usual: Any) -> bool:
    """Whether a setting, also one whose default is null, is never a list nor settings by name."""
    return key in _SINGLE or (usual is None and _bounds(key) is not None)


def _bounds(key: str) -> tuple[float, float] | None:
    """Bounds of a number; those of an experiment are the same under `experiments.NAME`."""
    return _BOUNDS.get(re.sub(r"^experiments\.\w+\.", "experiment.", key))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(usual: Any) -> str:
    """What a value like a default is called."""
    if usual is None:
        return "a single value"
    if isinstance(usual, bool):
        return "true or false"
    for kind, name in ((int, "a whole number"), (float, "a number"), (str, "a text"), (list, "a list")):
        if isinstance(usual, kind):
            return name
    return "settings by name"


def _wrong(where: str, value: Any, wanted: str) -> ConfigurationError:
    shown = "null" if value is None else repr(value)
    return ConfigurationError(f"{where} is {shown}; {wanted} is needed.")


@contextmanager
def initialised() -> Iterator[Any]:
    """Hydra's loader of configurations: the one of the command line that is running, if one is."""
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    if GlobalHydra.instance().is_initialized():
        yield GlobalHydra.instance().config_loader()
    else:
        with initialize_config_module("pliant.conf", version_base="1.3"):
            yield GlobalHydra.instance().config_loader()


def composed(config_name: str, overrides: Sequence[str]) -> DictConfig:
    """Return a configuration as the command line would make it, checked likewise.

    Args:
        config_name: in conf/.
        overrides: of Hydra, each as on the command line.

    Raises as `check_settings`.
    """
    from hydra import compose

    with initialised():
        settings = compose(config_name, overrides=list(overrides))
    check_settings(settings, usual_settings(config_name, overrides))
    return settings


def usual_settings(config_name: str, overrides: Sequence[str]) -> DictConfig:
    """Return what the choices (`task=track`) among overrides bring, without the values that were given.

    Args:
        config_name: in conf/.
        overrides: of Hydra, each as on the command line.
    """
    from hydra import compose

    with initialised() as loader:
        kept = [
            word
            for word in overrides
            if word.startswith("hydra.searchpath=")
            or loader.get_group_options(re.split("[=@:]", word.lstrip("+~"))[0])
        ]
        return compose(config_name, overrides=kept)
