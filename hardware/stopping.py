"""How the person at a robot stops it: Ctrl-C, `kill`, and a key."""

import contextlib
import logging
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Takes SIGINT and SIGTERM at moments when a robot can be left alone.

    Outside `deferred` the first signal raises at once what it would have raised without us:
    `KeyboardInterrupt`, or `SystemExit(143)` for SIGTERM. Inside, and whenever one has been raised already, a
    signal waits in `pending` until the outermost block ends.

    Use as a context manager in the main thread; in another thread Python delivers no signals, and it does
    nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._depth = 0
        self._raised = False
        self.pending: int | None = None
        """Signal that has arrived and not been raised."""
        self.count = 0
        """Signals that have arrived."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        else:
            log.info("not in the main thread: signals are left to whoever handles them.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self._depth or self._raised:
            self.pending = number
        else:
            self._raised = True
            raise _exception(number)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Let signals wait until this block ends."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth and self.pending is not None:
                number, self.pending = self.pending, None
                self._raised = True
                raise _exception(number)


def _exception(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


class StopKey:
    """Watches the keyboard for a key that stops the robot.

    A context manager that lets single keys through without Enter. Without a terminal there is no key.

    Args:
        keys: Any of these stops.
    """

    def __init__(self, keys: str = " q\x1b") -> None:
        self._keys = keys.encode()
        self._descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        if self._descriptor >= 0:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def __call__(self) -> bool:
        """Return whether one of the keys has been pressed since the last call."""
        if self._descriptor < 0:
            return False
        ready, _, _ = select.select([self._descriptor], [], [], 0)
        return bool(ready) and any(key in self._keys for key in os.read(self._descriptor, 64))
