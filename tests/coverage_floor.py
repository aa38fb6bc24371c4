"""Fail when a package is covered less than it promises: python tests/coverage_floor.py REPORT.json."""

import json
import sys
from collections import defaultdict
from pathlib import Path

FLOORS = {"actuators": 95.0, "controllers": 95.0}


def main() -> int:
    """Print the coverage of each package and return the exit status."""
    report = json.loads(Path(sys.argv[1]).read_text())
    covered: dict[str, int] = defaultdict(int)
    statements: dict[str, int] = defaultdict(int)
    for name, file in report["files"].items():
        parts = Path(name).parts
        package = next((p for p in parts if p in FLOORS), None)
        if package:
            covered[package] += file["summary"]["covered_lines"]
            statements[package] += file["summary"]["num_statements"]
    failed = False
    for package, floor in FLOORS.items():
        percent = 100.0 * covered[package] / max(statements[package], 1)
        failed |= percent < floor
        print(f"coverage of {package}: {percent:.1f} % (at least {floor:g} % is promised)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
