"""Put a run in an example's place: `python -m pliant.examples.packing NAME RUN`.

RUN is the folder of a `pliant train`, a `pliant ilc` or a search of `pliant gait`, as it made the example. What it
learned is copied, with its command, settings and versions; then the example is scored. `example.yaml` stays.
"""

import argparse
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pliant.command_line import explained_errors
from pliant.controllers import FeedForward
from pliant.controllers.feedforward import software_versions
from pliant.controllers.policies import made_for
from pliant.errors import FileFormatError
from pliant.examples.catalogue import FILES, MADE, SETTINGS, find_example
from pliant.examples.scores import score
from pliant.files import existing_file, read_bytes, write_bytes, write_json

_RUN = Path(".hydra")


def pack(name: str, run: Path, episodes: int = 100) -> dict[str, Any]:
    """Copy what a run learned into an example, score it there, and return what is written of it.

    Args:
        name: of the example.
        run: folder of the run.
        episodes: that a policy is scored by.

    Raises:
        UnknownNameError: no such example.
        MissingFileError: the run lacks a file.
        FileFormatError: it is of another kind, or damaged.
        OutputError: the example cannot be written.
    """
    example = find_example(name)
    file, settings, verb, words = _read(run, FILES[example.kind])
    made = {
        "command": shlex.join(["pliant", verb, *(word for word in words if not word.startswith("hydra."))]),
        "date": datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime("%Y-%m-%d"),
        **_origin(example.kind, file, settings),
    }
    content = read_bytes(file, f"{example.kind} of the run")
    if example.kind == "gait":  # begins with a remark that names the run's folder
        content = b"".join(line for line in content.splitlines(keepends=True) if not line.startswith(b"#"))
    write_bytes(example.file, content)
    write_bytes(example.folder / SETTINGS, read_bytes(run / _RUN / "config.yaml", "settings of the run"))
    made["score"] = score(example, episodes)
    write_json(example.folder / MADE, made)
    return made


def _read(run: Path, name: str) -> tuple[Path, dict[str, Any], str, list[str]]:
    """The file that a run learned, its settings, its verb and the words of its command line."""
    import yaml

    file = existing_file(run / name, "what the run learned")
    found = []
    for record in ("config.yaml", "hydra.yaml", "overrides.yaml"):
        path = existing_file(run / _RUN / record, "record of the run")
        try:
            found.append(yaml.safe_load(read_bytes(path, "record of the run")))
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            raise FileFormatError(
                f"record of the run {path} is no YAML: {' '.join(str(error).split())}."
            ) from error
    settings, hydra, words = found
    return file, settings, str(hydra["hydra"]["job"]["config_name"]), [str(word) for word in words]


def _origin(kind: str, file: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Seed, steps and versions of what was learned, as far as there are any."""
    if kind == "policy":
        origin = made_for(file)
        return {name: origin[name] for name in ("seed", "steps", "algorithm", "versions")}
    if kind == "feedforward":
        return {"seed": None, "versions": dict(FeedForward.load(file).versions)}
    return {"seed": settings["search"]["seed"], "versions": software_versions("optuna")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Pack the run that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m pliant.examples.packing", description=__doc__)
    parser.add_argument("name", help="of the example, see pliant list examples")
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--episodes", type=int, default=100, help="that a policy is scored by")
    given = parser.parse_args(arguments)
    with explained_errors():
        print(pack(given.name, given.run, given.episodes))


if __name__ == "__main__":
    main()
