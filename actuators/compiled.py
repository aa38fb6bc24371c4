"""Plain functions over arrays, compiled: a microsecond a call, where NumPy needs one for every operator."""

import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

_PATIENCE = 2.0
"""Time spent on compiling from which on it is told, s."""
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


class CompilationNotice:
    """Tells once, while it happens, that Numba compiles for more than a moment.

    It listens to Numba's events, from the first function on that is `compiled` after `install`; what is loaded
    from the cache is no event.

    Args:
        tell: called once, from a thread of its own.
        patience: time spent on compiling in all before it is told, s.
    """

    _installed: "CompilationNotice | None" = None

    def __init__(self, tell: Callable[[], None], patience: float = _PATIENCE) -> None:
        self._tell, self._left = tell, patience
        self._depth, self._begin = 0, 0.0
        self._timer: threading.Timer | None = None
        self._listens = False

    def install(self) -> None:
        """Be the process's own; one before is not told any more."""
        CompilationNotice._installed = self

    def listen(self) -> None:
        """Begin, if it has not begun yet."""
        if not self._listens:
            from numba.core.event import Listener, register

            listener = type("_Listener", (Listener,), {"on_start": self.notify, "on_end": self.notify})
            register("numba:compile", listener())
            self._listens = True

    def notify(self, event: Any) -> None:
        """Take an event of Numba's."""
        if event.is_start:
            self._depth += 1
            if self._depth == 1 and self._left > 0.0 and CompilationNotice._installed is self:
                self._begin = time.perf_counter()
                self._timer = threading.Timer(self._left, self._late)
                self._timer.daemon = True
                self._timer.start()
        else:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._left -= time.perf_counter() - self._begin

    def _late(self) -> None:
        self._left = 0.0
        self._tell()


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

    if CompilationNotice._installed is not None:
        CompilationNotice._installed.listen()
    for used in plain_functions(function)[1:]:
        make_callable(used)
    with numba_cache(digest((), (function,))) as caching:
        kernel: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return kernel


def share(function: Callable[..., Any]) -> None:
    """Let functions that are compiled from now on call the machine code of a large one that Python calls too.

    Else it would be compiled once for Python and once for them.

    Args:
        function: see `compiled`.
    """
    from numba import types
    from numba.core.typing.templates import infer_global

    if function not in _callable:
        _callable.add(function)
        infer_global(function, types.Dispatcher(compiled(function)))
