"""What docstrings say of targets and their arguments, read from the source without importing it."""

import ast
import importlib.util
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

TERMS: Mapping[str, str] = {
    "action": "composition",
    "start": "starts",
    "bodies": "starts",
    "goal": "goals",
    "measures": "measures",
    "observations": "observations",
    "rewards": "rewards",
    "ends": "ends",
    "markers": "markers",
}
"""Where in `pliant.envs.tasks` the terms are that a task has under a name."""


class Documentation(NamedTuple):
    """Of a class or function."""

    summary: str
    """The first paragraph of its docstring."""
    arguments: Mapping[str, str]
    """By name, what its docstring or that of a field says."""


_NOTHING = Documentation("", {})


@cache
def documentation(target: str) -> Documentation:
    """Return what is written of a target, `package.module.name`; nothing where it is not found."""
    module, _, name = target.rpartition(".")
    found = _find(module, name)
    if found is None:
        owner, _, outer = module.rpartition(".")  # a method of a class
        held = _find(owner, outer) if owner else None
        if held is None:
            return _NOTHING
        body = getattr(held[1], "body", [])
        found = next(((held[0], n) for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)
    return _NOTHING if found is None else _read(*found)


@cache
def term_documentation(kind: str, name: str) -> Documentation:
    """Return what is written of a task's term.

    Args:
        kind: the task's entry that it stands under, such as `rewards`.
        name: as in the file, a name or an import path.
    """
    if "." in name or ":" in name:
        return documentation(name.replace(":", "."))
    module = f"pliant.envs.tasks.{TERMS[kind]}"
    tree = _tree(module)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Name):
                    return documentation(f"{module}.{value.id}")
    return documentation(f"{module}.{name}")


def _read(module: str, node: ast.AST) -> Documentation:
    """What is written at a definition and at those that it inherits from."""
    if not isinstance(node, ast.ClassDef | ast.FunctionDef):
        return _NOTHING
    text = ast.get_docstring(node) or ""
    arguments: dict[str, str] = {}
    if isinstance(node, ast.ClassDef):
        for base in node.bases:
            if isinstance(base, ast.Name) and (found := _find(module, base.id)):
                arguments |= _read(*found).arguments
        arguments |= dict(_fields(node))
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                arguments |= dict(_args(ast.get_docstring(inner) or ""))
    arguments |= dict(_args(text))
    return Documentation(_joined(text.split("\n\n")[0]), arguments)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Docstrings below the fields of a class."""
    for field, below in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            yield field.target.id, _joined(inspect.cleandoc(below.value.value))


def _args(docstring: str) -> Iterator[tuple[str, str]]:
    """The arguments of a docstring's section `Args:`."""
    _, found, section = docstring.partition("Args:\n")
    if not found:
        return
    section = re.split(r"\n(?=\S)", section)[0]
    for part in re.split(r"\n(?= {4}\S)", f"\n{section}"):
        name, colon, text = part.strip().partition(":")
        if colon and re.fullmatch(r"\w+", name):
            yield name, _joined(text)


def _joined(text: str) -> str:
    return " ".join(text.split())


def _find(module: str, name: str) -> tuple[str, ast.AST] | None:
    """The definition of a name in a module, or in the one that it is imported from, with that module's name."""
    tree = _tree(module)
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find(node.module, alias.name)
    return None


@cache
def _tree(module: str) -> ast.Module | None:
    """The syntax tree of a module; None where there is no source."""
    top, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(top) if top else None  # imports nothing
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin)
    if inner:
        folder = place.parent.joinpath(*inner)
        place = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    try:
        return ast.parse(place.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
