"""Writing an `MjSpec` as one XML file, with a folder of everything that it reads from other files."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import mujoco

from pliant.actuators.callbacks import suspended
from pliant.actuators.keyframes import compile_spec
from pliant.errors import MissingFileError, OutputError

_KINDS = ("mesh", "hfield", "skin", "tex")


def write_model(spec: mujoco.MjSpec, path: Path) -> None:
    """Write a spec; errors of `save_model`. The spec itself stays as it is."""
    copy = spec.copy()
    folder = path.with_name(f"{path.stem}_assets")
    names: dict[str, str] = {}
    try:
        for source, rename in list(_sources(copy)):
            if source not in names:
                names[source] = _free_name(Path(source).name, set(names.values()))
                content = _content(spec, source)
                folder.mkdir(exist_ok=True)
                (folder / names[source]).write_bytes(content)
            rename(str(folder.absolute() / names[source]))
        if names:
            copy.compiler.meshdir = copy.compiler.texturedir = ""
            copy.strippath = False
        with suspended():
            text = copy.to_xml()
        if names:  # the compiler reads from where the files are now, the reader from beside the model
            text = text.replace(f'"{_in_xml(folder.absolute())}/', f'"{_in_xml(folder.name)}/')
        path.write_text(text)
    except MissingFileError:
        raise
    except OSError as error:
        raise OutputError(f"the model cannot be written to {str(path)!r}: {error.strerror}.") from error


def _sources(spec: mujoco.MjSpec) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Files that a spec reads, as MuJoCo resolved them, each with a function that names another in its place."""
    assets = {"mesh": spec.meshes, "hfield": spec.hfields, "skin": spec.skins, "tex": spec.textures}
    if not any(asset.file for kind in _KINDS for asset in assets[kind]) and not any(map(_sides, spec.textures)):
        return
    model = compile_spec(spec)
    for kind in _KINDS:
        for asset in assets[kind]:
            start = int(getattr(model, f"{kind}_pathadr")[asset.id])
            if start >= 0:
                source = model.paths[start:].split(b"\0", 1)[0].decode()
                yield _plain_path(spec, source), partial(setattr, asset, "file")
    for texture in spec.textures:
        for side in _sides(texture):
            # the compiled model keeps no path of a side
            source = str(Path(texture.compiler.texturedir) / texture.cubefiles[side])
            if source not in spec.assets:
                source = str(Path(spec.modelfiledir) / source)
            yield _plain_path(spec, source), partial(texture.cubefiles.__setitem__, side)


def _plain_path(spec: mujoco.MjSpec, source: str) -> str:
    """One spelling for one file."""
    return source if source in spec.assets else str(Path(source).resolve())


def _sides(texture: Any) -> list[int]:
    """The sides of a cube that have files of their own."""
    return [side for side, file in enumerate(texture.cubefiles) if file]


def _content(spec: mujoco.MjSpec, source: str) -> bytes:
    """What a file holds, in memory or on disk."""
    held = spec.assets.get(source)
    if held is not None:
        return held.encode() if isinstance(held, str) else bytes(held)
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise MissingFileError(f"the model needs {source!r}, which cannot be read: {error.strerror}.") from error


def _in_xml(path: str | Path) -> str:
    return escape(str(path), {'"': "&quot;", "'": "&apos;"})


def _free_name(name: str, taken: set[str]) -> str:
    """A file name that is not taken yet."""
    numbered = (name, *(f"{number}_{name}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in numbered if candidate not in taken)
