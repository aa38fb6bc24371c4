"""What `pliant VERB --help` prints: what the verb does, its settings, its groups and examples."""

import re
import shutil
import textwrap
from collections.abc import Sequence

from pliant.conf.reference import (
    Group,
    Setting,
    choices,
    groups,
    groups_of_verb,
    help_of,
    sections,
    verb_settings,
    verbs,
)

_WIDEST = 100
_NARROWEST = 60


def verb_help(verb: str, words: Sequence[str] = ()) -> str:
    """Return the help of a verb, as wide as the terminal is, at most 100 columns.

    Args:
        verb: its file's name, such as `emulate_ur`.
        words: of the command line, Hydra's overrides; the choices among them are those whose settings are shown.

    Raises:
        UnknownNameError: there is no such verb.
        HydraException: the words cannot be composed.
    """
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))
    written, known = help_of(verb), groups_of_verb(verb, words)
    name = written["app_name"]
    group = f"{known[0].name}=choice" if known else ""
    parts = [
        _reflowed(written["header"], width),
        f"Usage: {name} {f'[{group} …] ' if group else ''}[key=value …] [--multirun]",
    ]
    parts += [_section(title, rows, width) for title, rows in sections(verb_settings(verb, words), known)]
    parts += [_choices(one, width) for one in known]
    parts.append(_reflowed(written["footer"], width))
    other = f"The settings of another choice: {name} {known[0].name}=CHOICE --help\n" if known else ""
    parts.append(f"{other}All settings as YAML: {name} --cfg job\nWhat Hydra itself can do: --hydra-help")
    return "\n\n".join(parts)


def asks_help(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for the help of its verb."""
    return bool({"--help", "-h"} & set(arguments))


def quick_help(verb: str, arguments: Sequence[str]) -> str | None:
    """Return the help of a verb where it takes nothing but conf/, so that the verb itself need not be imported.

    Args:
        verb: as on the command line.
        arguments: after it; besides the options of help they are choices of groups, and of `emulate` the machine.
    """
    words = [word for word in arguments if word not in ("--help", "-h")]
    if words and (kind := f"{verb}_{words[0]}") in verbs():
        verb, words = kind, words[1:]
    if verb not in verbs() or not all(_is_choice(word) for word in words):
        return None
    return verb_help(verb, words)


def _is_choice(word: str) -> bool:
    group, _, name = word.partition("=")
    return group in groups() and name in {choice.name for choice in choices(group)}


def _section(name: str, rows: Sequence[Setting], width: int) -> str:
    lines = []
    if not name:
        lines.append("Settings:")
    elif rows[0].key == name:
        lines += _hanging(f"{name}.…:", rows[0].meaning, 2, width)
        rows = rows[1:]
    start = len(name) + 1 if name else 0
    keys = [row.key[start:] for row in rows]
    first = 2 + min(max(map(len, keys), default=0), 26) + 2
    second = first + min(max((len(row.default) for row in rows), default=0), 14) + 2
    for key, row in zip(keys, rows, strict=True):
        line = f"  {key}  ".ljust(first)
        if len(line) + min(len(row.default), 8) > width:
            lines.append(line.rstrip())
            line = " " * first
        room = width - len(line)
        line += row.default if len(row.default) <= room else f"{row.default[: room - 1]}…"
        if len(line) > second - 2 and row.meaning:
            lines.append(line)
            line = ""
        lines += _hanging(line.ljust(second - 1), row.meaning, second, width)
    return "\n".join(line.rstrip() for line in lines)


def _choices(group: Group, width: int) -> str:
    chosen = group.chosen or "none"
    lines = _hanging(f"{group.name}=… ({chosen}):", group.meaning, 2, width)
    first = 2 + max(len(choice.name) for choice in group.choices) + 2
    for choice in group.choices:
        lines += _hanging(f"  {choice.name}".ljust(first - 1), choice.summary, first, width)
    return "\n".join(lines)


def _hanging(start: str, text: str, indent: int, width: int) -> list[str]:
    """A text after its start, with further lines indented."""
    return textwrap.wrap(
        f"{start} {text}".rstrip(),
        width,
        initial_indent="",
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _reflowed(text: str, width: int) -> str:
    """Paragraphs broken anew; indented lines, such as commands, as they are, with a remark on the line below."""
    lines: list[str] = []
    paragraph: list[str] = []

    def end() -> None:
        if paragraph:
            lines.extend(textwrap.wrap(" ".join(paragraph), width, break_long_words=False, break_on_hyphens=False))
            paragraph.clear()

    for line in text.strip("\n").splitlines():
        if line and not line.startswith(" "):
            paragraph.append(line)
            continue
        end()
        command, gap, remark = re.match(r"( *\S.*?)?(?:( {3,})(\S.*))?$", line).groups() if line else ("", "", "")  # type: ignore[union-attr]
        if gap and len(line) > width:
            lines += [command, *textwrap.wrap(remark, width, initial_indent=" " * 6, subsequent_indent=" " * 6)]
        else:
            lines.append(line)
    end()
    return "\n".join(lines)
