"""Files of a controller's settings: a choice of conf/controller and values for it, as data.

    controller: matsuoka
    settings:
      stride: 0.11
      unit: {drive: 0.9}

`controller=FILE.yaml` takes one wherever a controller is chosen; what else the command line says goes before it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pliant.conf.nodes import check_plain, literal
from pliant.errors import FileFormatError
from pliant.files import existing_file, read_bytes, write_bytes

_KIND = "controller's file"
_TRUSTED = "pliant.controllers.gaits."
"""Of what such a file may name: parts of gaits."""
_NAME = re.compile(r"[A-Za-z_]\w*")


def is_controller_file(text: str) -> bool:
    """Whether a choice of a controller is a file rather than a name of ours."""
    return text.endswith((".yaml", ".yml"))


def controller_words(path: str | Path) -> list[str]:
    """Return what a file says as words of a command line, the choice first.

    Raises:
        MissingFileError: no such file.
        FileFormatError: it is no YAML, not of this form, or more than data.
    """
    import yaml

    file = existing_file(Path(path).expanduser(), _KIND)
    try:
        content = yaml.safe_load(read_bytes(file, _KIND).decode())
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileFormatError(f"{_KIND} {file} is no YAML: {' '.join(str(error).split())}.") from error
    where = f"{_KIND} {file}"
    if not isinstance(content, Mapping) or not {"controller"} <= content.keys() <= {"controller", "settings"}:
        raise FileFormatError(
            f"{where} must hold `controller: NAME` and `settings: {{stride: 0.1}}`, and no more."
        )
    name, settings = content["controller"], content.get("settings") or {}
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FileFormatError(f"{where}: controller is {name!r}; a name as of `pliant list` is needed.")
    if not isinstance(settings, Mapping):
        raise FileFormatError(f"{where}: settings are {settings!r}; values by name are needed.")
    check_plain(settings, where)
    return [f"controller={name}", *_words("controller", settings, where)]


def write_controller(path: Path, name: str, settings: Mapping[str, Any], remark: str) -> Path:
    """Write a controller's file; raises `OutputError`.

    Args:
        path: of the file.
        name: of the choice in conf/controller.
        settings: nested values by name, plain data.
        remark: a line that the file begins with.
    """
    import yaml

    text = yaml.safe_dump({"controller": name, "settings": dict(settings)}, sort_keys=False, allow_unicode=True)
    return write_bytes(path, f"# {' '.join(remark.split())}\n{text}".encode())


def _words(key: str, settings: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, value in settings.items():
        inner = f"{key}.{name}"
        if not _NAME.fullmatch(name):
            raise FileFormatError(f"{where}: {inner!r} is no setting.")
        if isinstance(value, Mapping):
            yield from _words(inner, value, where)
            continue
        if name == "_target_" and not str(value).startswith(_TRUSTED):
            raise FileFormatError(f"{where}: {inner} is {value!r}; only parts of {_TRUSTED}* may be named there.")
        yield f"{inner}={literal(value, f'{where}: {inner}')}"
