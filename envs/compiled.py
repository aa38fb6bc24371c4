"""Plain functions over arrays, compiled: a microsecond a call, where NumPy needs one for every operator."""

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function at its first call, or load its machine code from the cache.

    To step through it in a debugger, set the environment variable NUMBA_DISABLE_JIT=1 and use the Python back
    end of the joints.

    Args:
        function: of a module's top level; plain loops over arrays and numbers, calling only `math`.
    """
    from numba import njit

    from pliant.actuators.cache import numba_cache

    with numba_cache() as caching:
        kernel: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return kernel
