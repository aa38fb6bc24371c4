"""The documentation pages of the experiments: tables, figures and notes, kept true to a run.

What a run says stands between two comments that name it; the rest of a page is written by hand and left alone.
"""

from collections.abc import Sequence
from pathlib import Path

from pliant.errors import FileFormatError
from pliant.experiments.reproduction import HEADER, Result, headline, row
from pliant.files import ensure_folder, existing_file, write_bytes

INDEX = "index.md"
FIGURES = "figures"


def write_docs(folder: Path, results: Sequence[Result]) -> None:
    """Write figures, pages and the index's sections of the experiments that were run.

    Args:
        folder: of the pages; `NAME.md` and `index.md` are made if they are not there.
        results: experiments, drawn (see `write_report`).

    Raises:
        OutputError: a file cannot be written.
        FileFormatError: a page's comment that ends a run's part is missing.
    """
    ensure_folder(folder / FIGURES)
    for result in results:
        for picture in result.pictures:
            write_bytes(folder / FIGURES / picture.file, picture.content)
        _update(folder / f"{result.name}.md", result.name, f"# {result.experiment.title}\n", page(result))
        _update(folder / INDEX, result.name, "# Experiments\n", section(result))


def page(result: Result) -> str:
    """What a run says on an experiment's own page, in Markdown."""
    parts = [f"Source: {result.experiment.source}. Run it: `pliant reproduce experiment={result.name}`"]
    parts += [
        f"![{picture.caption}]({FIGURES}/{picture.file})\n\n*{picture.caption}*" for picture in result.pictures
    ]
    parts += [_sentence(result), table(result)]
    if result.outcome.notes:
        parts.append("\n".join(f"- {note}" for note in result.outcome.notes))
    return "\n\n".join(parts)


def section(result: Result) -> str:
    """An experiment's section of the index, in Markdown: a picture that leads to its page, and its numbers."""
    parts = [f"## [{result.experiment.title}]({result.name}.md)"]
    if result.pictures:
        first = result.pictures[0]
        parts.append(f'<a href="{result.name}.md"><img src="{FIGURES}/{first.file}" width="480" alt=""></a>')
    return "\n\n".join([*parts, _sentence(result), table(result)])


def _sentence(result: Result) -> str:
    found = headline([result])
    return f"{found[0].upper()}{found[1:]}."


def table(result: Result) -> str:
    """An experiment's claims as a Markdown table."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    for claim in result.outcome.claims:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row(claim)) + " |")
    return "\n".join(lines)


def replaced(text: str, name: str, part: str, where: str) -> str:
    """Return a page's text with the part of the run `name` put in place of the one there, or at its end.

    Raises:
        FileFormatError: the part begins, but the comment that ends it is missing.
    """
    begin, end = f"<!-- pliant reproduce experiment={name} -->", f"<!-- end of {name} -->"
    block = f"{begin}\n\n{part}\n\n{end}"
    before, found, rest = text.partition(begin)
    if not found:
        return f"{text.rstrip()}\n\n{block}\n"
    _, found, after = rest.partition(end)
    if not found:
        raise FileFormatError(f"{where}: the comment {begin!r} has no {end!r} after it.")
    return before + block + after


def _update(file: Path, name: str, new: str, part: str) -> None:
    text = existing_file(file, "documentation page").read_text(encoding="utf-8") if file.exists() else new
    write_bytes(file, replaced(text, name, part, str(file)).encode())
