"""Pages of the documentation, in Markdown: the settings of every verb and of every group's choices."""

import re
from collections.abc import Iterable, Sequence

from pliant.conf.reference import (
    Group,
    Setting,
    choice_settings,
    choices,
    groups_of_verb,
    help_of,
    sections,
    verb_settings,
)


def verb_page(verb: str) -> str:
    """Return a verb's page of the documentation, in Markdown.

    Links to groups lead to `group-NAME.md` beside it.

    Raises:
        UnknownNameError: there is no such verb.
    """
    written, known = help_of(verb), groups_of_verb(verb)
    title, _, rest = written["header"].strip().partition("\n")
    parts = [f"# {written['app_name']}", _sentence(title.partition(": ")[2]), rest.strip()]
    if known:
        parts += ["## Groups", _table(("group", "default", "choices"), map(_linked, known))]
    for name, rows in sections(verb_settings(verb), known):
        parts += [f"## {name or 'Settings'}", _setting_table(rows)]
    lines = written["footer"].strip().splitlines()
    examples = [line.strip() for line in lines if line.startswith(" ")]
    remarks = [line for line in lines if line != "Examples:" and not line.startswith(" ")]
    parts += ["## Examples", "```text\n" + "\n".join(examples) + "\n```", _marked("\n".join(remarks))]
    return "\n\n".join(filter(None, parts)) + "\n"


def group_page(group: str) -> str:
    """Return a group's page of the documentation, with every choice and its settings, in Markdown.

    Raises:
        UnknownNameError: there is no such group.
    """
    parts = [f"# {group}"]
    known = choices(group)
    parts.append(_table(("choice", ""), ((f"[`{c.name}`](#{c.name})", _marked(c.summary)) for c in known)))
    for choice in known:
        rows = [row for row in choice_settings(group, choice.name) if row.key != group]
        parts += [
            f"## {choice.name}",
            _marked(choice.summary),
            _setting_table(rows) if rows else "It sets nothing.",
        ]
    return "\n\n".join(parts) + "\n"


def _setting_table(rows: Sequence[Setting]) -> str:
    return _table(
        ("setting", "default", "meaning"),
        ((f"`{row.key}`", f"`{row.default}`" if row.default else "", _marked(row.meaning)) for row in rows),
    )


def _marked(text: str) -> str:
    """A meaning as Markdown: what is in braces and brackets as code, nothing as emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    for k in range(0, len(parts), 2):
        cut, depth, begin = [], 0, 0
        for place, sign in enumerate(parts[k]):
            if sign in "{[":
                if depth == 0:
                    cut.append(parts[k][begin:place])
                    begin = place
                depth += 1
            elif sign in "}]" and depth > 0:
                depth -= 1
                if depth == 0:
                    cut.append(parts[k][begin : place + 1])
                    begin = place + 1
        cut.append(parts[k][begin:])
        parts[k] = "".join(
            f"`{piece}`" if piece[:1] in ("{", "[") else re.sub(r"([*_])", r"\\\1", piece).replace("<", "&lt;")
            for piece in cut
        )
    return "".join(parts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _linked(group: Group) -> tuple[str, str, str]:
    names = ", ".join(f"`{choice.name}`" for choice in group.choices)
    return f"[{group.name}](group-{group.name}.md)", f"`{group.chosen}`" if group.chosen else "none", names


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
