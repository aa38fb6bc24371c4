"""What the command line stands for: a user's own robot, what a run remembers, and words that have changed.

A run keeps its composed settings beside its results, and a policy those of its environment as plain data. They
come back as nodes of their own (`pliant.conf.nodes`), which the command line then changes like any other choice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pliant.conf.build import NAMED, check_module
from pliant.conf.nodes import add_node, check_plain, literal
from pliant.controllers.policies import made_for, period_of
from pliant.envs.description import file_settings, is_file
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError
from pliant.training.controller_file import controller_words, is_controller_file
from pliant.training.evaluation import WITHOUT_FILE

_HYDRA = Path(".hydra")
_OVERRIDES, _COMPOSED = _HYDRA / "overrides.yaml", _HYDRA / "config.yaml"
_NODES = ("robot", "task", "randomisation")
"""Nodes of a run that are remembered whole."""
_GROUPS = (*_NODES, "algo")
"""Settings of a training that are chosen by the name of a file."""
ENVIRONMENT = ("robot", "task", "env", "env_options", "period")
"""Settings that make an environment."""
_REGISTERED = ("env", "env_options")
"""Those of them that make one of a registered id, which brings robot, task and period of its own."""
_ROBOTS = ("robot", "task", "randomisation", "period", "recipe", "robots")
"""Settings that are about a robot of ours, and have no place beside a registered id."""
_KINDS: Mapping[str, Any] = {
    "robot": Mapping,
    "task": Mapping,
    "env": str,
    "env_options": Mapping,
    "period": int | float,
}
_WANTED = {Mapping: "settings by name are", str: "the id of an environment is", int | float: "a number is"}
_OVERRIDE = re.compile(r"(?:\+\+?|~)?(?!hydra\b)[A-Za-z_]\w*(?:\.[\w*]+)*(?:=(?P<value>.*))?", re.DOTALL)
"""An override that a run may remember: of a setting, not of Hydra's own, and no package or folder of files."""
_REMEMBERED = "remembered"
_OLD = {
    r"env=arm2": "robot=arm2",
    r"env=joint": "robot=rig1",
    r"env=two_link": "robot=two_link",
    r"env\.id=(.*)": r"env=\1",
    r"env\.options\.period=(.*)": r"period=\1",
    r"\+?env\.options\.robot\.(.*)": r"robot.simulation.\1",
    r"env\.options\.(law|mode|parameters)=(.*)": r"robot.\1=\2",
    r"env\.options\.(.*)": r"robot.model.\1",
    r"hardware=dynamixel": "hardware=real",
    r"task=reach_point": "task=reach_pose",
    r"video=(.*)": r"film=\1",
    r"hardware\.machine\.(.*)": r"hardware.gap.\1",
}
"""Earlier spellings of settings, as patterns, and what is written now."""


def settings(arguments: Sequence[str]) -> list[str]:
    """Return a command line with a robot's or controller's file, and a controller of one's own, made choices.

    Raises:
        ConfigurationError: an earlier spelling; the message says the new one.
        MissingFileError, FileFormatError: see `file_settings`.
    """
    words = list(arguments)
    for word in words:
        for old, new in _OLD.items():
            if re.fullmatch(old, word):
                raise ConfigurationError(f"{word} is written {re.sub(old, new, word)} now.")
    for k, word in enumerate(words):
        key, _, value = word.partition("=")
        path = value.strip("'\"")
        if key == "robot" and is_file(path):
            words[k] = f"robot={_name(path)}"
            words = add_node(words, "robot", _name(path), file_settings(path), path)
        elif key == "controller" and is_controller_file(path):
            return settings([*controller_words(path), *words[:k], *words[k + 1 :]])
        elif key == "controller" and NAMED.fullmatch(path):
            words[k] = f"controller={_name(path)}"
            words = add_node(words, "controller", _name(path), {"_target_": path.replace(":", ".")}, path)
    return words


def registered_environment(*groups: str, **instead: int) -> Callable[[Sequence[str]], list[str]]:
    """Return a change of a verb's command line: with `env=ID` it is without robot and task.

    Args:
        groups: of the verb, which are left out.
        instead: settings that are then others than usual.

    The change raises `ConfigurationError` where something about a robot is set beside the id.
    """

    def change(arguments: Sequence[str]) -> list[str]:
        env = value_of(arguments, "env")
        if env is None:
            return list(arguments)
        for word in arguments:
            key, _, value = word.partition("=")
            if _key(key).partition(".")[0] in _ROBOTS and not word.startswith("~") and value not in ("0", "null"):
                raise ConfigurationError(
                    f"{word}: env={env} brings robot, task and period of its own; {', '.join(_ROBOTS)} are for "
                    "robots of Pliant. What the environment takes is set by +env_options.NAME=VALUE."
                )
        kept = [word for word in arguments if _key(word) not in (*groups, *_ROBOTS)]
        return [*(f"~{group}" for group in groups), *(f"{k}={v}" for k, v in instead.items()), *kept]

    return change


def _name(path: str) -> str:
    return re.sub(r"\W", "_", Path(path).stem)


def inherit(arguments: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """Return the arguments with the earlier overrides before them.

    An earlier override gives way to a new one of the same key; a new choice of a group (`task=track`) also to what
    was set within the old one (`task.hold=0.5`).
    """
    given = {_key(argument) for argument in arguments if "=" in argument or argument.startswith("~")}
    kept = [old for old in earlier if not any(_covers(new, _key(old)) for new in given)]
    return [*kept, *arguments]


def remember(arguments: Sequence[str], remembered: Mapping[str, Any], origin: str) -> list[str]:
    """Return the command line with remembered settings before it.

    Args:
        arguments: of the command line; what it says goes before.
        remembered: nodes (mappings) and single values by key, plain data.
        origin: where they are from, for messages.

    Raises:
        FileFormatError: they are more than plain data.
    """
    words = list(arguments)
    for key, value in remembered.items():
        if isinstance(value, Mapping):
            words = add_node(words, key, _REMEMBERED, value, origin, default=key in _NODES)
        elif not any(_covers(_key(word), key) for word in words):
            words.insert(0, f"{key}={literal(value, f'{origin}: {key}')}")
    chosen = [word for word in words if word.partition("=")[2] == _REMEMBERED]
    return [*chosen, *(word for word in words if word not in chosen)]


def of_run(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return what a run was started with: its remembered nodes, and its other overrides.

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
    overrides = _loaded(file)
    if not isinstance(overrides, list):
        raise FileFormatError(f"{file} does not hold a list of overrides.")
    nodes = nodes_of_run(folder)
    left_out = [f"~{node}" for node in _NODES]
    others = [str(o) for o in overrides if not any(_covers(node, _key(str(o))) for node in nodes)]
    others = [word for word in others if word not in left_out]
    for override in others:
        _check_override(override, file)
    return nodes, others


def _check_override(override: str, file: Path) -> None:
    """Raise `FileFormatError` where an override would choose a file by its path, or anything of Hydra's own."""
    check_plain(override, str(file))
    form = _OVERRIDE.fullmatch(override)
    if form is None or (_key(override) in _GROUPS and not re.fullmatch(r"\w+", form["value"] or "")):
        raise FileFormatError(
            f"{file}: {override!r} is more than a setting of the run; only settings (task.hold=0.5) and choices "
            "by name (algo=sac) are data."
        )


def nodes_of_run(folder: Path) -> dict[str, Any]:
    """Return the nodes that a run remembers whole; none where the folder is not one of a run.

    Raises:
        FileFormatError: its record is damaged.
    """
    file = folder / _COMPOSED
    if not file.is_file():
        return {}
    composed = _loaded(file)
    if not isinstance(composed, dict):
        raise FileFormatError(f"{file} does not hold a run's settings.")
    if composed.get("env") is not None:
        return {}
    return {name: composed[name] for name in _NODES if isinstance(composed.get(name), dict)}


def _loaded(file: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.load(file))
    except Exception as error:  # YAML and OmegaConf fail in ways of their own
        raise FileFormatError(f"{file} cannot be read: {' '.join(str(error).split())}.") from error


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
    nodes, others = of_run(path)
    return remember(inherit(arguments, others), nodes, str(path))


def learned_in(key: str, arguments: Sequence[str]) -> list[str]:
    """Return the command line with the robot of the run that `key` names a file or folder of, if it is one."""
    value = value_of(arguments, key)
    if value is None:
        return list(arguments)
    path = Path(value)
    nodes = nodes_of_run(path if path.is_dir() else path.parent)
    return remember(arguments, {"robot": nodes["robot"]} if "robot" in nodes else {}, value)


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
    made = [_environment(name, ENVIRONMENT, words) for name in policies]
    if any(own != made[0] for own in made):
        raise ConfigurationError(
            f"the policies {policy} were learned in different environments; run each by itself."
        )
    return remember(words, made[0], policies[0]) if made else words


def deployed_policy(arguments: Sequence[str]) -> list[str]:
    """Return the command line of a deployment with its policy's own robot, task and period before it, if any.

    The period gives way to `robot.period`.
    """
    policy = value_of(arguments, "policy")
    if policy is None:
        return list(arguments)
    made = _environment(policy, ("robot", "task"), arguments)
    words = remember(arguments, made, policy)
    given = value_of(words, "robot.period")
    return words if given is not None else [f"robot.period={period_of(policy)!r}", *words]


def _environment(policy: str, names: Sequence[str], arguments: Sequence[str]) -> dict[str, Any]:
    """The settings of the environment that a policy was learned in, those of some names.

    Raises:
        FileFormatError: they are of other kinds than a run writes, such as paths in place of settings.
        ConfigurationError: it is one of a module that is not trusted, and not given on the command line.
    """
    if Path(policy).suffix == ".npz" or (Path(policy) / "feedforward.npz").is_file():
        folder = Path(policy) if Path(policy).is_dir() else Path(policy).parent
        learned = {"robot": node} if (node := nodes_of_run(folder).get("robot")) else {}
        return learned | ({"period": period_of(policy)} if "period" in names else {})
    environment = made_for(policy).get("environment", {})
    if not isinstance(environment, Mapping):
        raise FileFormatError(
            f"policy {policy}: the environment it names is a {type(environment).__name__}, not settings by name."
        )
    env = environment.get("env")
    if env is not None:
        if "env" not in names:
            raise ConfigurationError(
                f"the policy {policy} was learned in env={env}, which is no robot of Pliant: there is nothing to "
                "deploy it on. pliant play and pliant evaluate run it."
            )
        names = _REGISTERED
    found = {name: environment[name] for name in names if environment.get(name) is not None}
    if "period" in names and environment and not {"period", "env"} & found.keys():
        found["period"] = period_of(policy)  # it was learned with the robot's own
    for name, value in found.items():
        if not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            raise FileFormatError(
                f"policy {policy}: {name} of its environment is {value!r}; {_WANTED[_KINDS[name]]} needed."
            )
    if env is not None and ":" in env and value_of(arguments, "env") != env:
        check_module(env, f"policy {policy}")
    return found


def environment_settings(config: Any) -> dict[str, Any]:
    """Return the settings of a configuration that make its environment, as plain data.

    References within a node (`${robot.mode}`) stay, so that what they refer to can be changed later.

    Raises:
        ConfigurationError: a value is missing.
    """
    try:
        resolved: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        values: Any = OmegaConf.to_container(config, resolve=False)
    except OmegaConfBaseException as error:
        raise ConfigurationError(f"the settings are incomplete: {' '.join(str(error).split())}") from error
    names = _REGISTERED if resolved.get("env") is not None else ENVIRONMENT
    given = [name for name in names if resolved.get(name) not in (None, {})]
    return {name: values[name] if isinstance(values[name], dict) else resolved[name] for name in given}


def _key(override: str) -> str:
    return re.sub(r"[@:].*", "", override.partition("=")[0].lstrip("+~"))


def _covers(key: str, other: str) -> bool:
    return other == key or other.startswith((f"{key}.", f"{key}/"))
