"""How the person at a robot stops it: Ctrl-C, `kill`, and a key; and a stop in the midst of something else."""

import contextlib
import logging
import os
import select
import signal
import stat
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, Final, Self

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AGAIN: Final = "When it is safe, run the command again (in Python: rearm())."
"""What an operator does after a stop."""
_KEPT_IGNORED = (signal.SIGHUP, signal.SIGQUIT)


def mended(first: str = "") -> str:
    """Say what an operator does after a fault, and what has to come first (`restart it, `)."""
    return f"End the cause, {first}then run the command again (in Python: recover())."


class Exclusive:
    """A machine for one user at a time, among threads, and a stop that may come in between: `with exclusive():`.

    Called by a signal's handler while its own thread has the machine, a stop takes effect when that is over,
    before anything else is sent.

    Args:
        hold_still: what a stop does; called by whoever has the machine when the outermost block ends.
    """

    def __init__(self, hold_still: Callable[[], None]) -> None:
        self.stop_pending = False
        """Whether a stop waits for the block that is under way."""
        self._hold_still = hold_still
        self._lock = threading.RLock()
        self._busy = False
        # A thread that finds it busy has the lock: it can only be a signal's handler.

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Have the machine alone."""
        with self._lock:
            outermost, self._busy = not self._busy, True
            try:
                yield
            finally:
                if outermost:
                    try:
                        while self.stop_pending:
                            self.stop_pending = False
                            self._hold_still()
                    finally:
                        self._busy = False


class Interrupts:
    """Takes SIGINT, SIGTERM, SIGHUP and SIGQUIT at moments when a robot can be left alone.

    Outside `deferred` the first signal raises at once what ends the program with the status that a shell shows:
    `KeyboardInterrupt`, or `SystemExit` with 143 for SIGTERM, 129 for SIGHUP (the terminal was closed), 131 for
    SIGQUIT. Inside, and whenever one has been raised already, a signal waits in `pending` until the outermost
    block ends. A SIGHUP or SIGQUIT that the program was started to ignore (`nohup`) stays ignored.

    Use as a context manager in the main thread; in another thread Python delivers no signals, and it does nothing.
    Between `install` and `uninstall` it takes only what would end the program without a word.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._entered = False
        self._depth = 0
        self._raised = False
        self.pending: int | None = None
        """Signal that has arrived and not been raised."""
        self.count = 0
        """Signals that have arrived."""

    def __enter__(self) -> Self:
        self._take(SIGNALS)
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        self.uninstall()

    def install(self) -> None:
        """Take SIGTERM, SIGHUP and SIGQUIT if nobody else does; Ctrl-C stays Python's own. Safe to call twice."""
        if not self._entered:
            self._take([number for number in SIGNALS if signal.getsignal(number) == signal.SIG_DFL])

    def _take(self, numbers: Iterable[signal.Signals]) -> None:
        if threading.current_thread() is not threading.main_thread():
            log.info("not in the main thread: signals are left to whoever handles them.")
            return
        self._raised = False
        for number in numbers:
            if number in _KEPT_IGNORED and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before.setdefault(number, signal.signal(number, self._handle))

    def uninstall(self) -> None:
        """Give the signals back, unless a `with` block still takes them. Safe to call twice."""
        if self._entered or threading.current_thread() is not threading.main_thread():
            return
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _let_go_of_terminal()
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


def _let_go_of_terminal() -> None:
    """Let what is printed from now on go nowhere, if its terminal is gone: an error would end the program."""
    for descriptor in (1, 2):
        try:
            gone = stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)
            if gone:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
        except OSError:
            continue


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
            with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def __call__(self) -> bool:
        """Return whether one of the keys was pressed since the last call; never, once the terminal is gone."""
        if self._descriptor < 0:
            return False
        try:
            ready, _, _ = select.select([self._descriptor], [], [], 0)
            data = os.read(self._descriptor, 64) if ready else b""
        except (OSError, ValueError):
            ready, data = [self._descriptor], b""
        if ready and not data:
            log.warning("the terminal is gone, and with it the stop key.")
            self._descriptor, self._before = -1, []
        return any(key in self._keys for key in data)
