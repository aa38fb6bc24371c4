"""Stopping a run from outside so that it loses nothing: Ctrl-C, or a scheduler's SIGTERM."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether somebody asked the run to stop."""

    requested = False


@contextmanager
def interruption(announce: Callable[[], None]) -> Iterator[Interruption]:
    """Note the first SIGINT or SIGTERM instead of dying of it; a second one raises `KeyboardInterrupt`.

    Outside the main thread, where signals do not arrive, nothing is changed.

    Args:
        announce: called at the first signal.
    """
    state = Interruption()

    def note(number: int, frame: FrameType | None) -> None:
        if state.requested:
            raise KeyboardInterrupt
        state.requested = True
        announce()

    if threading.current_thread() is not threading.main_thread():
        yield state
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
