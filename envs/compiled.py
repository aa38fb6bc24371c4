"""Plain functions over arrays, compiled: a microsecond a call, where NumPy needs one for every operator."""

from collections.abc import Callable
from functools import cache
from typing import Any

_callable: set[Callable[..., Any]] = set()
"""Functions that compiled ones may call."""


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function at its first call, or load its machine code from the cache.

    To step through it in a debugger, set the environment variable NUMBA_DISABLE_JIT=1 and use the Python back
    end of the joints.

    Args:
        function: of a module's top level; plain loops over arrays and numbers, calling only `math` and other such
            functions of the same file (a change in another one would leave old machine code in the cache).
    """
    from numba import njit
    from numba.extending import register_jitable

    from pliant.actuators.cache import numba_cache
    from pliant.actuators.identity import plain_functions

    for used in plain_functions(function)[1:]:
        if used not in _callable:
            _callable.add(register_jitable(used))
    with numba_cache() as caching:
        kernel: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return kernel
