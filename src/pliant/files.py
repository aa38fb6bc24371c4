"""Reading and writing files: the one home for what every result on disk has in common.

A file is written under a temporary name beside its target, flushed to the disk and renamed, so that a reader
(or a crash, or a full disk) sees the old file or the new one and never half of either. What goes wrong is an
`OutputError`, `MissingFileError` or `FileFormatError` that says what to do.
"""

import errno
import json
import math
import os
import secrets
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.errors import FileFormatError, MissingFileError, OutputError

PathLike = str | os.PathLike[str]

_ADVICE = {
    errno.EACCES: "you may not write there; choose another folder or give yourself write permission",
    errno.EPERM: "you may not write there; choose another folder or give yourself write permission",
    errno.EROFS: "that disk is read-only; choose another folder",
    errno.ENOSPC: "the disk is full; free some space or choose a folder on another disk",
    errno.EDQUOT: "your disk quota is used up; free some space or choose a folder on another disk",
    errno.EFBIG: "the file would exceed the size allowed here; raise the limit or choose another disk",
    errno.ENOTDIR: "a file stands where a folder is needed; move it away or choose another folder",
    errno.EEXIST: "a file stands where a folder is needed; move it away or choose another folder",
    errno.EISDIR: "a folder of that name exists; choose another file name",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def write_atomically(path: PathLike, write: Callable[[BinaryIO], None]) -> Path:
    """Write a file completely or not at all; folders on the way are made.

    Args:
        path: where the file goes. An existing file is replaced; a link is followed.
        write: called once with a binary file open for writing.

    Returns:
        The file's path, as given.

    Raises:
        OutputError: it cannot be written. The old file, if any, is untouched. Any error of `write` that is
            not an `OSError` passes through, with the old file untouched likewise.

    Only a process killed outright (no exception) leaves the temporary file, `.NAME.XXXX.tmp`, behind.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))
    ensure_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            _sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _output_error(f"cannot write {given}", error) from error
    return given


def write_bytes(path: PathLike, content: bytes) -> Path:
    """Write a file's whole content atomically. Raises as `write_atomically` does."""

    def write(file: BinaryIO) -> None:
        file.write(content)

    return write_atomically(path, write)


def write_json(path: PathLike, data: object) -> Path:
    """Write `plain(data)` atomically as indented JSON. Raises as `write_atomically` and `plain` do."""
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return write_bytes(path, text.encode())


def write_npz(path: PathLike, arrays: Mapping[str, Any], *, compressed: bool = True) -> Path:
    """Write named arrays atomically as a NumPy archive. Raises as `write_atomically` does."""
    save = np.savez_compressed if compressed else np.savez
    return write_atomically(path, lambda file: save(file, **arrays))


def read_npz(path: PathLike, what: str, required: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return every array of a NumPy archive, by name.

    Args:
        path: the file.
        what: what it should be, in words, for the error messages ("feed-forward").
        required: names of the arrays that must be there.

    Raises:
        MissingFileError: no such file.
        FileFormatError: not an archive, damaged, or an array is missing.
    """
    file = existing_file(path, what)
    try:
        with file.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise FileFormatError(f"{what} {file} is not a NumPy archive (.npz), or was cut short.")
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileFormatError:
        raise
    except (OSError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"{what} {file} cannot be read: {error}.") from error
    missing = [name for name in required if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{what} {file} lacks the array {', '.join(map(repr, missing))}; "
            f"it holds {', '.join(map(repr, arrays)) or 'nothing'}."
        )
    return arrays


def existing_file(path: PathLike, what: str) -> Path:
    """Return `path` if it is a file; raise `MissingFileError` or `FileFormatError` (a folder) if not."""
    file = Path(path)
    if file.is_dir():
        raise FileFormatError(f"{what} {file} is a folder; a file is needed.")
    if not file.exists():
        alike = sorted(p.name for p in file.parent.glob(f"*{file.suffix}") if p.is_file())
        there = f"in {file.parent} there is {', '.join(alike[:5])}" if alike else f"looked from {Path.cwd()}"
        raise MissingFileError(f"{what} {file} does not exist; {there}.")
    return file


def ensure_folder(path: PathLike) -> Path:
    """Make a folder and those above it if need be, and return it once a file could be written in it.

    Raises:
        OutputError: it cannot be made or written to (no permission, a file of that name, disk full, …).
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:  # permission bits do not tell of read-only disks
            probe.write(b"0")
            probe.flush()
    except OSError as error:
        raise _output_error(f"cannot write in the folder {folder}", error) from error
    return folder


def plain(data: object) -> Any:
    """Return `data` in JSON's own types: dict with text keys, list, str, int, float, bool, None.

    NumPy numbers and arrays, tuples, sets, mappings (of any kind) and paths are converted. A number that is
    not finite becomes None, as JSON has none. Anything else raises `TypeError`.
    """
    if isinstance(data, np.ndarray | np.generic):
        data = data.tolist()
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, os.PathLike):
        return os.fspath(data)
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, set | frozenset):
        return sorted(plain(value) for value in data)
    if isinstance(data, Iterable):
        return [plain(value) for value in data]
    raise TypeError(f"{type(data).__name__} {data!r} cannot be written as JSON.")


def _output_error(what: str, error: OSError) -> OutputError:
    advice = _ADVICE.get(error.errno or 0, "choose another place")
    return OutputError(f"{what}: {error.strerror or error}; {advice}.")


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
