"""Who may import whom: lower floors never import higher ones, and no module needs one that needs it."""

import ast
import os
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "pliant"
FLOORS = (
    {"errors", "files", "report", "progress", "command_line", "conf"},
    {"hardware", "actuators"},
    {"controllers"},
    {"envs"},
    {"training", "viewing"},
    {"deployment", "experiments"},
    {"examples", "templates"},
    {"scripts"},
)
"""The lowest first. What shares a floor does not import each other; the lowest one holds what everybody uses."""
BASE = FLOORS[0]


class Import(NamedTuple):
    """One import of a module."""

    target: str
    """Dotted name of a module."""
    line: int
    deferred: bool
    """Whether it is inside a function or for type checkers only."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; the folders of the root are links there."""
    found = {}
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                path = Path(folder) / name
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(tree: ast.AST, *, deferred: bool = False) -> Iterator[Import]:
    """All imports below a node of the syntax tree."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, node.lineno, deferred) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:  # of a package its modules, or what its __init__ holds
                    whole = f"{module}.{alias.name}"
                    yield Import(whole if whole in MODULES else module, node.lineno, deferred)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports(node, deferred=True)
            case ast.If(test=test, body=body, orelse=orelse) if "TYPE_CHECKING" in ast.dump(test):
                yield from imports(ast.Module(body, []), deferred=True)
                yield from imports(ast.Module(orelse, []), deferred=deferred)
            case _:
                yield from imports(node, deferred=deferred)


def imported(name: str) -> list[Import]:
    """What a module imports."""
    return list(imports(ast.parse(MODULES[name].read_text(encoding="utf-8"))))


IMPORTS = {name: imported(name) for name in MODULES}


def package_of(module: str) -> str:
    """The package or module directly under `pliant` that a module belongs to; empty for `pliant` itself."""
    return ".".join(module.split(".")[1:2])


def floor(package: str) -> int:
    """The number of a package's floor."""
    return next(level for level, packages in enumerate(FLOORS) if package in packages)


def may_import(importer: str, target: str) -> bool:
    """Whether one package may import another."""
    return importer == target or floor(importer) > floor(target) or {importer, target} <= BASE


def cycle(needs: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next one, ending with the first; none if there is no such circle."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_package_has_its_floor():
    assert {package_of(name) for name in MODULES} - {""} == set().union(*FLOORS)


@pytest.mark.parametrize("name", sorted(set().union(*FLOORS)))
def test_a_lower_floor_imports_no_higher_one(name):
    climbing = [
        f"{module}:{found.line} imports {found.target}"
        for module, everything in IMPORTS.items()
        if package_of(module) == name
        for found in everything
        if found.target.startswith("pliant.") and not may_import(name, package_of(found.target))
    ]
    assert not climbing


def test_no_module_needs_one_that_needs_it():
    needs = {
        module: {found.target for found in everything if not found.deferred and found.target in MODULES} - {module}
        for module, everything in IMPORTS.items()
    }
    assert not cycle(needs)


def test_hardware_does_not_import_the_simulator():
    found = [
        f"{module}:{one.line}"
        for module, everything in IMPORTS.items()
        if package_of(module) == "hardware"
        for one in everything
        if one.target.partition(".")[0] == "mujoco"
    ]
    assert not found


def test_only_verbs_are_in_the_folder_of_the_verbs():
    from pliant.scripts.main import verbs

    files = {name.rpartition(".")[2] for name in MODULES if name.startswith("pliant.scripts.")}
    assert files == {*verbs(), "main"}


def test_what_the_checks_rest_on():
    """Imports of every form are seen, and those that come later are told from those at import time."""
    text = """
import pliant.envs
from pliant.envs import movement, PliantEnv
if TYPE_CHECKING:
    from pliant.training.loop import Training
else:
    import mujoco
try:
    import numpy
except ImportError:
    pass
class A:
    import json
    def f(self):
        from pliant.errors import PliantError
"""
    seen = {(found.target, found.deferred) for found in imports(ast.parse(text))}
    assert seen == {
        ("pliant.envs", False),
        ("pliant.envs.movement", False),
        ("pliant.training.loop", True),
        ("mujoco", False),
        ("numpy", False),
        ("json", False),
        ("pliant.errors", True),
    }
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not cycle({"a": {"b"}, "b": {"c"}, "c": set()})
