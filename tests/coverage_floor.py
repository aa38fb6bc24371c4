"""Fail when a package is covered less than it promises: python tests/coverage_floor.py REPORT.json.

Functions that run as machine code (`compiled(function)`, and what those call) cannot be traced and do not count.
"""

import ast
import json
import sys
from collections import defaultdict
from pathlib import Path

FLOORS = {"actuators": 95.0, "controllers": 95.0}


def called(tree: ast.AST) -> set[str]:
    """Names of the functions that are called below a node."""
    return {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def given_to_compiled(tree: ast.AST) -> set[str]:
    """Names of the functions that are given to `compiled` below a node."""
    return {
        getattr(given, "id", getattr(given, "attr", ""))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "compiled"
        for given in node.args
    }


def machine_code(files: list[str]) -> dict[str, set[int]]:
    """Lines of each file that belong to functions which are compiled."""
    trees = [(name, ast.parse(Path(name).read_text())) for name in files]
    functions = {
        node.name: (name, node) for name, tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    waiting = set().union(*(given_to_compiled(tree) for _, tree in trees))
    lines: dict[str, set[int]] = defaultdict(set)
    while waiting:
        name, node = functions.pop(waiting.pop(), ("", None))
        if node is not None:
            lines[name] |= set(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
            waiting |= called(node)
    return lines


def main() -> int:
    """Print the coverage of each package and return the exit status."""
    report = json.loads(Path(sys.argv[1]).read_text())
    covered: dict[str, int] = defaultdict(int)
    statements: dict[str, int] = defaultdict(int)
    apart = machine_code([name for name in report["files"] if set(Path(name).parts) & FLOORS.keys()])
    for name, file in report["files"].items():
        parts = Path(name).parts
        package = next((p for p in parts if p in FLOORS), None)
        if package:
            run = set(file["executed_lines"]) - apart[name]
            covered[package] += len(run)
            statements[package] += len(run | set(file["missing_lines"]) - apart[name])
    failed = False
    for package, floor in FLOORS.items():
        percent = 100.0 * covered[package] / max(statements[package], 1)
        failed |= percent < floor
        print(f"coverage of {package}: {percent:.1f} % (at least {floor:g} % is promised)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
