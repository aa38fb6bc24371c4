"""MuJoCo's own shared library, for what its Python bindings do not reach."""

import ctypes
from functools import cache
from pathlib import Path

import mujoco

from pliant.errors import ConfigurationError


@cache
def mujoco_library() -> ctypes.CDLL:
    """The library that the bindings loaded; raises `ConfigurationError` where MuJoCo's package has none."""
    folder = Path(mujoco.__file__).parent
    for pattern in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll"):
        for path in sorted(folder.glob(pattern)):
            return ctypes.CDLL(str(path))
    raise ConfigurationError(f"MuJoCo's shared library is not in {str(folder)!r}.")
