"""An emulator as a process of its own that ends with the one that started it, however that one ends."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Protocol, Self

from pliant.errors import PliantError, RobotError

_START_TIME = 60.0
_STOP_TIME = 5.0


class Emulator(Protocol):
    """What runs in the process."""

    def run(self, parent: int | None = None) -> None:
        """Serve until `stop`, or until the process `parent` is no longer this one's parent."""

    def stop(self) -> None:
        """End `run` soon."""


class EmulatorProcess:
    """A process that runs an emulator, from `start` to `stop` or as a context manager.

    Ctrl-C does not reach it, so that a driver can still bring its robot to rest.

    Args:
        what: what is emulated, for messages: `emulated bus at ./bus`.
        make: makes the emulator, in the new process, so it must be picklable (a function of a module, or a
            `functools.partial` of one).
    """

    def __init__(self, what: str, make: Callable[[], Emulator]) -> None:
        self._what = what
        self._make = make
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self) -> int | None:
        """Number of the process; None before it is started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process; return when it serves. Raises what kept it from starting."""
        if self._process is not None:
            raise RobotError(f"the {self._what} runs already.")
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        arguments = (self._what, os.getpid(), there)
        process = context.Process(target=_serve, args=arguments, name=self._what, daemon=True)
        process.start()
        there.close()
        self._process = process
        try:
            here.send(self._make)  # as an argument, more than a pipe holds would wait for a process that has died
            problem = here.recv() if here.poll(_START_TIME) else RobotError("it does not start.")
        except (EOFError, OSError):
            problem = RobotError(
                'its process has ended. A script that starts one does so below `if __name__ == "__main__":`, '
                "since the process imports the script too."
            )
        except BaseException:  # what cannot be pickled, Ctrl-C
            self.stop()
            raise
        if problem is not None:
            self.stop()
            raise problem if isinstance(problem, PliantError) else RobotError(f"{self._what}: {problem!r}.")

    def stop(self) -> None:
        """End the process. Safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.join(_STOP_TIME)
        if process.is_alive():
            process.kill()
            process.join()
            self.clean_up()
        process.close()

    def clean_up(self) -> None:
        """Remove what a process that was killed has left; nothing by default."""

    def check_running(self) -> None:
        """Raise `RobotError` if the process is not there."""
        if not self.running:
            raise RobotError(f"the {self._what} does not run.")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _serve(what: str, parent: int, starter: Connection) -> None:
    # Keys of the terminal, and its end, are for the driver, which still brings its robot to rest.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        emulator = starter.recv()()
    except Exception as error:
        starter.send(error if isinstance(error, PliantError) else RobotError(f"{what}: {error!r}."))
        return
    signal.signal(signal.SIGTERM, lambda *_: emulator.stop())
    starter.send(None)
    starter.close()
    emulator.run(parent)
