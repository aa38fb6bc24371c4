"""Reading and writing files: the one home for what every result on disk has in common.

A file is written under a temporary name beside its target, flushed to the disk and renamed, so that a reader
(or a crash, or a full disk) sees the old file or the new one and never half of either. What goes wrong is an
`OutputError`, `MissingFileError` or `FileFormatError` that says what to do.
"""

import contextlib
import errno
import hashlib
import io
import itertools
import json
import math
import os
import secrets
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.errors import FileFormatError, MissingFileError, OutputError

PathLike = str | os.PathLike[str]

_CHECKSUM = "sha256"
"""Entry of a JSON file."""
_SEAL = 64
"""Bytes of a SHA-256 in hexadecimal."""
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


def write_json(path: PathLike, data: object, *, checksum: bool = False) -> Path:
    """Write `plain(data)` atomically as indented JSON. Raises as `write_atomically` and `plain` do.

    Args:
        path: of the file.
        data: a mapping if there is to be a checksum.
        checksum: whether it gets an entry `sha256`, which `check_json` knows.
    """
    content = plain(data)
    if checksum:
        content[_CHECKSUM] = json_digest(content)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return write_bytes(path, text.encode())


def check_json(content: Any, what: str) -> None:
    """Raise `FileFormatError` if the content of a JSON file, which `what` names, has a checksum that is wrong."""
    if isinstance(content, dict) and _CHECKSUM in content:
        others = {name: value for name, value in content.items() if name != _CHECKSUM}
        if content[_CHECKSUM] != json_digest(others):
            raise FileFormatError(
                f"{what} is damaged: its checksum is not that of its content. If you changed it yourself, take "
                f"its entry {_CHECKSUM!r} out."
            )


def json_digest(content: Any) -> str:
    """Return the SHA-256 of plain data as JSON with its keys in order, in hexadecimal."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sealed(content: bytes) -> bytes:
    """Return a file's content with its last 64 bytes replaced by the SHA-256 of what is before, in hexadecimal.

    Whoever reads the file sees by `check_seal` that not a bit of it has changed. It is no signature: anybody can
    seal a file.
    """
    return content[:-_SEAL] + hashlib.sha256(content[:-_SEAL]).hexdigest().encode()


def check_seal(content: bytes, what: str) -> None:
    """Raise `FileFormatError` unless a file's content is as `sealed` returned it; `what` names the file."""
    if content != sealed(content):
        raise FileFormatError(
            f"{what} is damaged: its checksum is not that of its content (or it was written by an earlier Pliant, "
            "which wrote none)."
        )


def sealed_archive(archive: io.BytesIO) -> bytes:
    """Return the content of a zip archive, sealed in the comment at its end."""
    with zipfile.ZipFile(archive, "a") as edited:
        edited.comment = b"0" * _SEAL
    return sealed(archive.getvalue())


def is_sealed_archive(content: bytes) -> bool:
    """Whether the content of a zip archive ends in a seal, right or wrong."""
    return content[-_SEAL - 2 : -_SEAL] == _SEAL.to_bytes(2, "little")


def write_npz(path: PathLike, arrays: Mapping[str, Any], *, compressed: bool = True) -> Path:
    """Write named arrays atomically as a sealed NumPy archive. Raises as `write_atomically` does."""
    archive = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(archive, **arrays)
    return write_bytes(path, sealed_archive(archive))


def read_npz(
    path: PathLike, what: str, required: Iterable[str], *, must_be_sealed: bool
) -> dict[str, NDArray[Any]]:
    """Return every array of a NumPy archive, by name. If it is sealed, the seal is checked.

    Args:
        path: the file.
        what: what it should be, in words, for the error messages ("feed-forward").
        required: names of the arrays that must be there.
        must_be_sealed: whether it is one that `write_npz` wrote; others have checksums of their parts only.

    Raises:
        MissingFileError: no such file.
        FileFormatError: not an archive, damaged, or an array is missing.
    """
    file = existing_file(path, what)
    content = read_bytes(file, what)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise FileFormatError(f"{what} {file} is not a NumPy archive (.npz), or was cut short.")
    if must_be_sealed or is_sealed_archive(content):
        check_seal(content, f"{what} {file}")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # zipfile and NumPy's reader of headers fail in many ways of their own
        raise FileFormatError(f"{what} {file} cannot be read: {error}.") from error
    missing = [name for name in required if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{what} {file} lacks the array {', '.join(map(repr, missing))}; "
            f"it holds {', '.join(map(repr, arrays)) or 'nothing'}."
        )
    return arrays


def read_bytes(file: Path, what: str) -> bytes:
    """Return the content of a file that exists. Raises `FileFormatError` if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{what} {file} cannot be read: {error.strerror}.") from error


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


def new_folder(path: PathLike) -> Path:
    """Make a folder that nobody else has, also of processes that ask for it at the same instant, and return it.

    Args:
        path: its name; where something of that name exists, `_2`, `_3`, … is appended.

    Raises:
        OutputError: it cannot be made.
    """
    return _new(Path(path), Path.mkdir, "")


def new_file(path: PathLike) -> Path:
    """Make an empty file that nobody else has, numbered as `new_folder` does, and return it.

    Raises:
        OutputError: it cannot be made.
    """
    return _new(Path(path), lambda file: file.touch(exist_ok=False), Path(path).suffix)


def _new(first: Path, make: Callable[[Path], None], suffix: str) -> Path:
    name = first.name.removesuffix(suffix)
    try:
        first.parent.mkdir(parents=True, exist_ok=True)
        for path in itertools.chain([first], (first.with_name(f"{name}_{k}{suffix}") for k in itertools.count(2))):
            with contextlib.suppress(FileExistsError):
                make(path)
                return path
    except OSError as error:
        raise _output_error(f"cannot make {first}", error) from error
    raise AssertionError("there is always another number")


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
