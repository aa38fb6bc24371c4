"""Plain functions over arrays, compiled: a microsecond a call, where NumPy needs one for every operator."""

from collections.abc import Callable
from functools import cache
from typing import Any

_callable: set[Callable[..., Any]] = set()
"""Functions that compiled ones may call."""


def make_callable(function: Callable[..., Any], checked: bool = False) -> None:
    """Let compiled functions call a plain one, and the plain ones that it calls by name.

    Args:
        function: see `compiled`.
        checked: whether an index beyond an array is an IndexError, as in Python, rather than some number.
    """
    from numba.extending import register_jitable

    from pliant.actuators.identity import plain_functions

    for used in plain_functions(function):
        if used not in _callable:
            _callable.add(used)
            register_jitable(boundscheck=checked, error_model="numpy")(used)


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function at its first call, or load its machine code from the cache.

    To step through it in a debugger, set the environment variable NUMBA_DISABLE_JIT=1 and use the Python back
    end of the joints.

    Args:
        function: of a module's top level; plain loops over arrays and numbers, calling only `math`, other such
            functions, and those of `mujoco_calls`. A change of any of them makes machine code of its own.
    """
    from numba import njit

    from pliant.actuators.cache import numba_cache
    from pliant.actuators.identity import digest, plain_functions

    for used in plain_functions(function)[1:]:
        make_callable(used)
    with numba_cache(digest((), (function,))) as caching:
        kernel: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return kernel
