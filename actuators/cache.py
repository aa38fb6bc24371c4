"""Where compiled code is kept between runs.

`PLIANT_CACHE_DIR`, or `pliant` in the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`). Each version of the
sources, of MuJoCo and of Numba has a folder of its own there, so that nothing stale is ever loaded; the whole
folder can be deleted at any time.
"""

import hashlib
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import mujoco
import numba
from numba.core import config


@cache
def folder() -> Path | None:
    """The folder for this version's compiled code, made if needed; None where none can be written."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    versions = f"{mujoco.__version__}-{numba.__version__}-{platform.python_version()}"
    digest.update(versions.encode())
    root = os.environ.get("PLIANT_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "pliant"
    path = Path(root).expanduser() / digest.hexdigest()[:16]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError:
        return None
    return path


@contextmanager
def numba_cache(name: str = "") -> Iterator[bool]:
    """Let functions decorated inside keep their machine code in `folder`; yields whether they can.

    Args:
        name: of a folder inside, for code that depends on more than the file that it is in.
    """
    path = folder()
    if path is None:
        yield False
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = str(path / name)
    try:
        yield True
    finally:
        config.CACHE_DIR = before


def store_source(name: str, text: str) -> Path | None:
    """Keep generated source under a name, for Numba to find it again; None where nothing can be kept.

    An existing file is left untouched: Numba takes its time stamp as part of the key.
    """
    path = folder()
    if path is None:
        return None
    target = path / name
    if not target.exists():
        handle, temporary = tempfile.mkstemp(dir=path, suffix=".py")
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).replace(target)
    return target
