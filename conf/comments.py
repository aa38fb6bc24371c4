"""What the comments of a configuration file say of its settings.

The comment on a setting's line is its meaning; that of a mapping or list over several lines may stand on the line
above it instead. The first comment of a file says what the file is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pliant.errors import FileFormatError

Key = tuple[str, ...]
"""Names from the root of a file to a setting."""


class Entry(NamedTuple):
    """One setting of a file."""

    comment: str
    """Its meaning; empty where there is none."""
    spread: bool
    """Whether it is a mapping whose entries have lines of their own."""


class CommentedFile(NamedTuple):
    """What is said in one file."""

    summary: str
    """Its first comment, up to the end of a line that ends a sentence."""
    entries: Mapping[Key, Entry]
    groups: Mapping[str, str]
    """Comments on the groups of its defaults list."""


def read_comments(file: Path) -> CommentedFile:
    """Return the comments of a YAML file by setting.

    Raises:
        FileFormatError: it is no YAML.
    """
    return _read(file, file.stat().st_mtime_ns)


@cache
def _read(file: Path, changed: int) -> CommentedFile:
    """The comments of a file that was changed at a time, ns."""
    import yaml

    text = file.read_text(encoding="utf-8")
    try:
        comments = _comments(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise FileFormatError(f"{file} cannot be read: {' '.join(str(error).split())}.") from error
    entries = dict(_entries(root, comments, text.splitlines()))
    return CommentedFile(_summary(text.splitlines()), entries, dict(_groups(root, comments)))


def _summary(lines: Sequence[str]) -> str:
    """The first comment of a file as far as it is a sentence."""
    words: list[str] = []
    for line in lines:
        if not line.startswith("#") or (words and words[-1].endswith(".")):
            break
        if not line.startswith("# @package"):
            words.append(line.lstrip("# ").rstrip())
    return " ".join(words)


def _comments(text: str) -> dict[int, str]:
    """The comment of every line that has one."""
    import yaml

    ends: dict[int, int] = {}
    inside: set[int] = set()
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken):
            inside |= set(range(token.start_mark.line + 1, token.end_mark.line))
        ends[token.end_mark.line] = max(ends.get(token.end_mark.line, 0), token.end_mark.column)
    found = {}
    for number, line in enumerate(text.splitlines()):
        _, sign, comment = line[ends.get(number, 0) :].partition("#")
        if sign and number not in inside:
            found[number] = comment.strip()
    return found


def _entries(
    node: Any, comments: Mapping[int, str], lines: list[str], above: Key = ()
) -> Iterator[tuple[Key, Entry]]:
    """Every setting below a node, each before those inside it."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    for name, value in node.value:
        key = (*above, str(name.value))
        several = isinstance(value, yaml.CollectionNode) and not value.flow_style
        block = isinstance(value, yaml.ScalarNode) and value.style in ("|", ">")
        comment = comments.get(name.start_mark.line if several or block else value.end_mark.line, "")
        if several and not comment:
            comment = _above(name.start_mark.line, comments, lines)
        yield key, Entry(comment, isinstance(value, yaml.MappingNode) and several)
        yield from _entries(value, comments, lines, key)


def _above(line: int, comments: Mapping[int, str], lines: list[str]) -> str:
    """The comment on the lines right above one, of the same indentation."""
    indent = re.match(" *", lines[line])
    found: list[str] = []
    while (line := line - 1) > 0 and indent and lines[line].startswith(f"{indent[0]}#"):
        found.insert(0, comments[line])
    return " ".join(found)


def _groups(root: Any, comments: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    import yaml

    for name, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if name.value != "defaults":
            continue
        for choice in value.value:
            if isinstance(choice, yaml.MappingNode):
                group = choice.value[0][0]
                yield str(group.value), comments.get(group.start_mark.line, "")
