"""Scripts that clients upload: where one ends, and what of it the controller acts on."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_END = re.compile(r"^end[ \t\r]*\n", re.MULTILINE)
_NAME = re.compile(r"\A\s*(?:def|sec)\s+(\w+)\s*\(")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_STEP = re.compile(
    rf"(?P<kind>move[jlp])\(\s*(?P<pose>p?)\[(?P<values>[^\]]*)\]\s*,\s*a\s*=\s*(?P<a>{_NUMBER})\s*,"
    rf"\s*v\s*=\s*(?P<v>{_NUMBER})|signal_async_progress\(\s*(?P<progress>\d+)\s*\)"
)
_PATH = re.compile(r"# inject move path\n(.*?)\n    end", re.DOTALL)
_LONGEST = 1 << 20
CONTROL = "rtde_control"
"""Name of the client's own program."""


class PathMove(NamedTuple):
    """One move of a path."""

    kind: str
    """`movej`, `movel` or `movep`."""
    is_pose: bool
    values: tuple[float, ...]
    acceleration: float
    speed: float


@dataclass(frozen=True)
class Script:
    """What the controller keeps of a program."""

    name: str
    float_offset: int = 0
    int_offset: int = 0
    path: tuple[PathMove | int, ...] = ()
    """Moves in their order; a number is the progress to report."""


def take_scripts(text: str) -> tuple[str, list[Script]]:
    """Return what is left of the text on the script port, and the programs that are complete.

    A program ends with `end` in the first column. Lines that are no program are dropped.
    """
    scripts = []
    while (end := _END.search(text)) is not None:
        program, text = text[: end.end()], text[end.end() :]
        if (name := _NAME.match(program)) is not None:
            scripts.append(_read(name[1], program))
    if text and not _NAME.match(text) and text.endswith("\n"):
        text = ""
    return text[-_LONGEST:], scripts


def _read(name: str, program: str) -> Script:
    path = _PATH.search(program)
    return Script(name, _offset(program, "float"), _offset(program, "int"), _moves(path[1] if path else ""))


def _offset(program: str, kind: str) -> int:
    """The number on the line after the comment."""
    found = re.search(rf"# {kind} register offset\s*\n\s*(\d+)", program)
    return int(found[1]) if found else 0


def _moves(text: str) -> tuple[PathMove | int, ...]:
    found: list[PathMove | int] = []
    for step in _STEP.finditer(text):
        if step["progress"] is not None:
            found.append(int(step["progress"]))
            continue
        values = tuple(float(value) for value in step["values"].split(","))
        found.append(PathMove(step["kind"], bool(step["pose"]), values, float(step["a"]), float(step["v"])))
    return tuple(found)
