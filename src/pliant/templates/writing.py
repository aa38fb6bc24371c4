"""Copying a template into a folder under a name of one's own."""

import importlib.util
import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from pliant.errors import ConfigurationError, OutputError, unknown_name
from pliant.files import ensure_folder

_TRUSTED = "PYTHONPATH=. PLIANT_TARGETS={name} pliant"
_LAW = "robot=rig1 robot.law={name}:{name} robot.preset=null"
_DRIVEN = "robot=smartsix '++robot.machine={{driver: \"{name}:{Name}\", host: 192.168.1.5, port: 4100}}'"
_NEXT: Mapping[str, tuple[str, ...]] = {
    "robot": (
        "pytest test_{name}.py",
        "pliant view robot=./{name}.yaml",
        "pliant train robot=./{name}.yaml task=reach",
    ),
    "task": (
        "pytest test_{name}.py",
        f"{_TRUSTED} play random --config-dir=conf task={{name}}",
        f"{_TRUSTED} train --config-dir=conf task={{name}}",
    ),
    "controller": (
        "pytest test_{name}.py",
        f"{_TRUSTED} view controller={{name}}:{{Name}}",
        f"{_TRUSTED} deploy controller={{name}}:{{Name}} duration=4 hardware=emulated",
    ),
    "driver": (
        "pytest test_{name}.py",
        f"{_TRUSTED} deploy {_DRIVEN} controller=hold duration=2",
        f"{_TRUSTED} deploy {_DRIVEN} controller=hold duration=2 hardware=real",
    ),
    "law": (
        "pytest test_{name}.py",
        f"{_TRUSTED} view {_LAW}",
        f"{_TRUSTED} ilc {_LAW} trajectory.start=0 trajectory.goal=0.8",
    ),
}
KINDS = tuple(_NEXT)
"""What there is a template of."""


def write_template(kind: str, name: str, folder: Path) -> list[Path]:
    """Write a template's files, all or none, and return them.

    Args:
        kind: one of `KINDS`.
        name: what it is to be called: files are named after it, and what is in them.
        folder: where they go. No file there is overwritten.

    Raises:
        UnknownNameError: no such kind.
        ConfigurationError: the name is none for a module, or one that is taken.
        OutputError: a file of that name exists, or none can be written.
    """
    check_name(kind, name)
    source = Path(__file__).parent / kind
    texts = {
        folder / _renamed(kind, name, str(file.relative_to(source))): file.read_text(encoding="utf-8")
        for file in sorted(source.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    if there := [str(path) for path in texts if path.exists()]:
        raise OutputError(
            f"there is {', '.join(there)} already; nothing was written. Choose another name or folder."
        )
    begun: list[Path] = []
    for path, text in texts.items():
        ensure_folder(path.parent)
        try:
            with path.open("x", encoding="utf-8") as file:
                begun.append(path)
                file.write(_renamed(kind, name, text))
        except OSError as error:
            for other in begun:
                other.unlink()
            raise OutputError(f"cannot write {path}: {error.strerror}. Nothing was written.") from error
    return begun


def next_commands(kind: str, name: str) -> list[str]:
    """Return what may be typed once a template is written, in order."""
    return [command.format(name=name, Name=_class(name)) for command in _NEXT[kind]]


def check_name(kind: str, name: str) -> None:
    """Raise `UnknownNameError` for the kind and `ConfigurationError` for the name, where they cannot be."""
    if kind not in KINDS:
        raise unknown_name("template", kind, KINDS, "pliant new")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ConfigurationError(
            f"{name!r} cannot name a {kind}: files and code are called by it, so small letters, digits and _ are "
            "needed, a letter first, and no word of Python's."
        )
    if name in _taken(kind):
        raise ConfigurationError(f"{name!r} is a {kind} that comes with Pliant; choose another name.")
    if importlib.util.find_spec(name) is not None and not Path(f"{name}.py").exists():
        raise ConfigurationError(f"{name!r} is a module that is installed here; choose another name.")


def _taken(kind: str) -> set[str]:
    """Names that a choice of this kind has already."""
    if kind == "law":
        from pliant.actuators import law_names

        return set(law_names())
    return {file.stem for file in (Path(__file__).parents[1] / "conf" / kind).glob("*.yaml")}


def _renamed(kind: str, name: str, text: str) -> str:
    """A template's text, or a file's name, with its placeholders replaced."""
    return text.replace(f"my_{kind}", name).replace(f"My{kind.capitalize()}", _class(name))


def _class(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
