"""Every setting of a verb and of a group's choices: its default, its meaning and the file that it is from.

The meaning is the comment in the file; where there is none, or only a unit, what the docstring of the `_target_`
says of the argument. So the help of the command line, the pages of the documentation and the files say the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pliant.conf.checks import initialised
from pliant.conf.comments import Entry, Key, read_comments
from pliant.conf.docstrings import TERMS, Documentation, documentation, term_documentation
from pliant.errors import unknown_name

ROOT = Path(__file__).parent
"""The folder conf/."""
MANY = {"reproduce": ("experiment", "experiments")}
"""Groups of which a verb takes several choices, and the setting that they come under, each by its name."""
_SHARED = ("common", "hydra")
"""Folders whose files are no choices."""
_OWN_ROBOT = ("pliant.envs.description.RobotDescription", "pliant.envs.models.own_robot.own_robot")
"""What says the meaning of entries of a user's own robot, whose file names no target."""
_ARM = ROOT / "robot" / "common" / "arm.yaml"
"""What says the meaning of entries that every robot has."""
_HIDDEN = ("_target_", "_partial_", "_convert_", "term")
_PYTHON = {"None": "null", "True": "true", "False": "false"}
_UNITS = {"m", "s", "rad", "N", "kg", "Hz", "V", "W", "A", "J", "K", "C", "1"}


class Setting(NamedTuple):
    """One setting."""

    key: str
    """As on the command line."""
    default: str
    """As in the file; `= other.setting` where it follows another one; empty for a node of settings."""
    meaning: str
    """With its unit last."""
    origin: str
    """File that the value is from, in conf/ unless absolute."""
    named: bool
    """Whether its name is one of the user's own, such as that of a joint."""


class Choice(NamedTuple):
    """One choice of a group."""

    name: str
    summary: str


class Group(NamedTuple):
    """A group that a verb has."""

    name: str
    meaning: str
    chosen: str
    """Empty for none."""
    choices: tuple[Choice, ...]


class _Composition(NamedTuple):
    settings: Mapping[str, Any]
    """Not resolved."""
    resolved: Any
    """The same as a configuration that resolves references."""
    files: tuple[tuple[Path, Key], ...]
    """In the order in which they are merged, with the node that each is put at."""
    choices: Mapping[str, str | None]
    """By group."""


def verbs() -> tuple[str, ...]:
    """The verbs that have settings, by the name of their file: `emulate_ur` is `pliant emulate ur`."""
    return tuple(sorted(file.stem for file in ROOT.glob("*.yaml")))


def groups() -> tuple[str, ...]:
    """The groups of choices."""
    return tuple(sorted({f.parent.name for f in ROOT.glob("*/*.yaml") if f.parent.name not in _SHARED}))


def choices(group: str) -> tuple[Choice, ...]:
    """The choices of a group, with the first line of each one's file.

    Raises:
        UnknownNameError: there is no such group.
    """
    if group not in groups():
        raise unknown_name("group", group, groups())
    return _choices_in(ROOT / group)


def _choices_in(folder: Path) -> tuple[Choice, ...]:
    return tuple(Choice(file.stem, read_comments(file).summary) for file in sorted(folder.glob("*.yaml")))


def groups_of_verb(verb: str, words: Sequence[str] = ()) -> tuple[Group, ...]:
    """The groups of a verb, with the choices that are made; those in folders of the user's own come first.

    Args:
        verb: its file's name.
        words: of the command line, `group=choice`, and `hydra.searchpath=[file://FOLDER]`.
    """
    known = read_comments(_file(verb)).groups
    made = _composed(verb, _hydras(verb, words)).choices

    def own(group: str) -> list[Choice]:
        return [choice for folder in _folders(words) for choice in _choices_in(folder / group)]

    found = [
        Group(name, comment, made.get(name) or "", (*own(name), *choices(name)))
        for name, comment in known.items()
        if name in groups()
    ]
    if verb in MANY:
        name, _ = MANY[verb]
        given = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
        meaning = "one or several, separated by commas, or all"
        found.append(Group(name, meaning, ",".join(given) or "all", choices(name)))
    return tuple(found)


def verb_settings(verb: str, words: Sequence[str] = ()) -> tuple[Setting, ...]:
    """The settings of a verb as the command line has them, without Hydra's own.

    Args:
        verb: its file's name.
        words: Hydra's overrides: `group=choice`, `key=value`.

    Raises:
        UnknownNameError: there is no such verb.
        HydraException: the words cannot be composed.
    """
    _file(verb)
    return tuple(_settings(_composed(verb, _hydras(verb, words))))


def choice_settings(group: str, choice: str) -> tuple[Setting, ...]:
    """The settings that a group's choice brings.

    Raises:
        UnknownNameError: there is no such group or choice.
    """
    names = [one.name for one in choices(group)]
    if choice not in names:
        raise unknown_name("choice", choice, names, group)
    file = ROOT / group / f"{choice}.yaml"
    if not any(name.startswith("override ") for name in read_comments(file).groups):
        return tuple(_settings(_composed(f"{group}/{choice}", ())))
    verb = next(verb for verb in verbs() if group in read_comments(_file(verb)).groups)
    own = {".".join(key) for key in read_comments(file).entries}
    return tuple(one for one in _settings(_composed(verb, (f"{group}={choice}",))) if one.key in own)


def sections(settings: Sequence[Setting], groups: Sequence[Group]) -> Iterator[tuple[str, list[Setting]]]:
    """Settings by the first name of their keys: single ones, without a name, then nodes, last those of groups."""
    tops = [one.key.partition(".")[0] for one in settings]
    inner = {top for top, one in zip(tops, settings, strict=True) if one.key != top}
    plain = [one for one in settings if one.key.partition(".")[0] not in inner]
    if plain:
        yield "", plain
    chosen = [group.name for group in groups]
    for node in sorted(dict.fromkeys(top for top in tops if top in inner), key=lambda top: top in chosen):
        yield node, [one for one in settings if one.key.partition(".")[0] == node]


def help_of(verb: str) -> Mapping[str, str]:
    """What Hydra calls the help of a verb: its `app_name`, `header` and `footer`."""
    import yaml

    found: Mapping[str, str] = yaml.safe_load(_file(verb).read_text(encoding="utf-8"))["hydra"]["help"]
    return found


def _file(verb: str) -> Path:
    if verb not in verbs():
        raise unknown_name("verb with settings", verb, verbs())
    return ROOT / f"{verb}.yaml"


def _hydras(verb: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command line, with several choices of a group as Hydra has them."""
    if verb not in MANY:
        return tuple(words)
    group, node = MANY[verb]
    found = []
    for word in words:
        name, _, value = word.partition("=")
        named = value.strip("[]").split(",")
        several = [f"+{group}@{node}.{c.name}={c.name}" for c in choices(group) if {"all", c.name} & set(named)]
        found += several if name == group else [word]
    return tuple(found)


@lru_cache(maxsize=1)
def _composed(name: str, words: tuple[str, ...]) -> _Composition:
    """Compose a configuration, and find the files that it is made of."""
    from hydra import compose
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    with initialised() as loader:
        config = compose(name, overrides=list(words))
        found = loader.compute_defaults_list(name, list(words), RunMode.RUN)
    files = []
    for one in found.defaults:
        file = next(
            (f for folder in (ROOT, *_folders(words)) if (f := folder / f"{one.config_path}.yaml").is_file()), None
        )
        if file is not None:
            files.append((file, tuple(filter(None, (one.package or "").split(".")))))
    raw: Any = OmegaConf.to_container(config, resolve=False)
    return _Composition(raw, config, tuple(files), found.overrides.known_choices)


def _folders(words: Sequence[str]) -> list[Path]:
    """The folders of a user's own choices that a command line names."""
    named = [word.partition("=")[2] for word in words if word.startswith("hydra.searchpath=")]
    return [Path(place.removeprefix("file://")) for places in named for place in places.strip("[]").split(",")]


def _settings(composition: _Composition) -> Iterator[Setting]:
    entries: dict[Key, list[tuple[str, Entry]]] = {}
    for file, place in composition.files:
        comments = read_comments(file)
        origin = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
        entries.setdefault(place, []).append((origin, Entry(comments.summary, True)))
        for key, entry in comments.entries.items():
            entries.setdefault((*place, *key), []).append((origin, entry))
    entries.pop((), None)
    yield from _below((), composition.settings, composition, entries, Documentation("", {}))


def _below(
    above: Key,
    node: Mapping[str, Any],
    composition: _Composition,
    entries: Mapping[Key, Sequence[tuple[str, Entry]]],
    written: Documentation,
) -> Iterator[Setting]:
    """The settings inside a node, of whose arguments something is written."""
    for name, value in node.items():
        if name in _HIDDEN:
            continue
        key = (*above, str(name))
        said = entries.get(key, ())
        own = _documentation(key, value)
        spread = (
            isinstance(value, Mapping)
            and bool(value)
            and (
                any(entry.spread for _, entry in said) or any(place[:-1] == key for _, place in composition.files)
            )
        )
        comments = [entry.comment for _, entry in said]
        meaning = _meaning(comments, [written.arguments.get(str(name), ""), own.summary])
        default = "" if spread else _shown(value, key, composition.resolved)
        named = any("by name" in e.comment or "of a joint" in e.comment for _, e in entries.get(above, ()))
        yield Setting(".".join(key), default, meaning, said[-1][0] if said else "", named)
        if spread:
            yield from _below(key, value, composition, entries, own)


def _documentation(key: Key, value: Any) -> Documentation:
    """What is written of what a node describes."""
    if not isinstance(value, Mapping):
        return Documentation("", {})
    if "_target_" in value:
        return documentation(str(value["_target_"]))
    kind = next((name for name in key[:2] if name in TERMS), "")
    if kind and "term" in value:
        return term_documentation(kind, str(value["term"]))
    if key == ("robot",) and "folder" in value:  # a file of the user's own
        described = {key[-1]: entry.comment for key, entry in read_comments(_ARM).entries.items() if len(key) == 1}
        for target in _OWN_ROBOT:
            described |= documentation(target).arguments
        return Documentation("", described)
    return Documentation("", {})


def _meaning(comments: Sequence[str], written: Sequence[str]) -> str:
    """The last comment that says more than a unit; else what is written, with the unit of the comments."""
    unit = ""
    for comment in reversed(comments):
        if comment and not is_unit(comment):
            return comment
        unit = unit or comment
    for text in written:
        said = text.split("\n")[0].strip().rstrip(".")
        if said and not is_unit(said):
            said = re.sub(r"\b(None|True|False)\b", lambda word: _PYTHON[word[0]], said)
            said = re.sub(r"^[A-Z](?=[a-z]*[ ,;:])", lambda first: first[0].lower(), said)
            return said if not unit or unit in said else f"{said}, {unit}"
    return ""


def is_unit(text: str) -> bool:
    """Whether a text is nothing but units: `N·m·s/rad`, `m and rad`."""
    words = re.findall(r"[^\W_]+", re.sub("[²³⁻¹°]", "", text))
    return bool(words) and all(word in _UNITS | {"and", "or"} for word in words)


def _shown(value: Any, key: Key, config: Any) -> str:
    """A value as it is written, or what it refers to."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        if ":" not in value:
            return f"= {_absolute(value[2:-1], key)}"
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        try:
            found = OmegaConf.select(config, ".".join(key))
        except OmegaConfBaseException:
            return value
        return _text(found)
    return _text(value)


def _absolute(reference: str, key: Key) -> str:
    """A reference that may be relative to the node that it stands in (`..preset`)."""
    name = reference.lstrip(".")
    up = len(reference) - len(name)
    return ".".join((*key[:-up], name)) if up else name


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        entries = (f"{name}: {_text(entry)}" for name, entry in value.items() if not str(name).startswith("_"))
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, str):
        plain = value and value == value.strip() and value.isprintable()
        return value if plain else '"' + value.encode("unicode_escape").decode() + '"'
    return str(value)
