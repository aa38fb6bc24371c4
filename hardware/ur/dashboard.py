"""The controller's dashboard: a line asks, a line answers. PolyScope X has none."""

import contextlib
import socket
import time
from types import TracebackType
from typing import Final, Self

from pliant.errors import RobotError

PORT: Final = 29999
SCRIPT_PORT: Final = 30003
PATIENCE: Final = 3.0
"""How long it may take to answer, s."""

_STOP_SCRIPT = "def pliant_stop():\n  stopj({:.3f})\nend\n"


class Dashboard:
    """A connection to the dashboard, a context manager.

    Args:
        host: address of the controller.

    Raises:
        RobotError: it does not answer.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        try:
            self._socket = socket.create_connection((host, PORT), PATIENCE)
            self._buffer = b""
            self._line()  # a greeting
        except OSError as error:
            raise self._lost(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, request: str) -> str:
        """Send a line and return the answer's."""
        try:
            self._socket.sendall(request.encode() + b"\n")
            return self._line()
        except OSError as error:
            raise self._lost(error) from error

    def _line(self) -> str:
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            self._socket.settimeout(max(0.01, deadline - time.monotonic()))
            data = self._socket.recv(4096)
            if not data:
                raise ConnectionError("it has closed the connection")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _lost(self, error: OSError) -> RobotError:
        return RobotError(
            f"the dashboard of the controller at {self._host} does not answer (port {PORT}: "
            f"{error.strerror or error}). Is it switched on (Settings → Security → Services)?"
        )


def stop_program(host: str, deceleration: float, dashboard: bool) -> str:
    """End whatever program the controller runs, so that the arm brakes and is held; return how, or raise.

    Args:
        host: address of the controller.
        deceleration: of the joints, rad/s²; where there is no dashboard.
        dashboard: whether there is one. Without, a program that only brakes takes the other one's place.

    Raises:
        RobotError: the controller does not answer.
    """
    if dashboard:
        with contextlib.suppress(RobotError), Dashboard(host) as board:
            return f"dashboard: {board.ask('stop')}"
    try:
        with socket.create_connection((host, SCRIPT_PORT), PATIENCE) as script:
            script.sendall(_STOP_SCRIPT.format(deceleration).encode())
            script.shutdown(socket.SHUT_WR)
    except OSError as error:
        raise RobotError(
            f"the program of the controller at {host} could not be ended ({error.strerror or error}); its "
            f"watchdog "
            "ends it."
        ) from error
    return "a program that brakes"
