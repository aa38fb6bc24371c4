"""A short look at a controller over its real-time interface: version, single values, registers in use.

For what must be known before the client is let loose: that one crashes on some versions of PolyScope, waits for
ever for answers that do not come, and says little of what is wrong.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from pliant.errors import RobotError

PORT: Final = 30004
PATIENCE: Final = 3.0
"""How long a controller may take to answer, s."""

_VERSION, _GET, _OUTPUTS, _INPUTS, _START, _DATA, _TEXT = (ord(c) for c in "VvOISUM")
_FORMATS: Final = {
    **{"BOOL": "?", "UINT8": "B", "UINT32": "I", "UINT64": "Q", "INT32": "i", "DOUBLE": "d"},
    **{"VECTOR3D": "3d", "VECTOR6D": "6d", "VECTOR6INT32": "6i", "VECTOR6UINT32": "6I"},
}


class Version(NamedTuple):
    """Of PolyScope."""

    major: int
    minor: int
    bugfix: int
    build: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.bugfix}"


class Session:
    """One connection to the real-time interface, a context manager.

    Args:
        host: address of the controller.

    Raises:
        RobotError: nobody listens there, or what answers is no controller.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        try:
            self._socket = socket.create_connection((host, PORT), PATIENCE)
        except OSError as error:
            raise RobotError(
                f"no controller answers at {host} (port {PORT}: {error.strerror or error}). Is it switched on, "
                f"is the "
                "cable in, are both in one network, and is RTDE switched on (Settings → Security → Services)?"
            ) from error
        self._buffer = b""
        try:
            if self._request(_VERSION, struct.pack(">H", 2)) != b"\x01":
                raise self._strange("it does not speak version 2 of the protocol")
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def version(self) -> Version:
        """Return the version of PolyScope."""
        answer = self._request(_GET)
        if len(answer) != 16:
            raise self._strange(f"its version has {len(answer)} bytes")
        return Version(*struct.unpack(">4I", answer))

    def values(self, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return one package's values of those variables that the controller has."""
        known = [name for name, kind in zip(names, self._outputs(names)[1], strict=True) if kind in _FORMATS]
        if not known:
            return {}
        recipe, kinds = self._outputs(known)
        if self._request(_START) != b"\x01":
            raise self._strange("it does not start to send")
        form = ">" + "".join(_FORMATS[kind] for kind in kinds)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            kind, data = self._receive()
            if kind == _DATA and len(data) == 1 + struct.calcsize(form) and data[0] == recipe:
                flat = iter(struct.unpack(form, data[1:]))
                sizes = [int(_FORMATS[k][:-1] or 1) for k in kinds]
                counts = zip(known, sizes, strict=True)
                return {name: tuple(float(next(flat)) for _ in range(count)) for name, count in counts}
        raise self._strange("it sends no package")

    def in_use(self, names: Sequence[str]) -> list[str]:
        """Return which of these inputs another client or fieldbus holds; the session holds the others."""
        answer = self._request(_INPUTS, ",".join(names).encode())
        kinds = answer[1:].decode("ascii", "replace").split(",")
        return [name for name, kind in zip(names, kinds, strict=False) if kind == "IN_USE"]

    def _outputs(self, names: Sequence[str]) -> tuple[int, list[str]]:
        data = struct.pack(">d", 125.0) + ",".join(names).encode()
        answer = self._request(_OUTPUTS, data)
        kinds = answer[1:].decode("ascii", "replace").rstrip(",").split(",")
        if len(kinds) != len(names):
            raise self._strange(f"it tells {len(kinds)} types of {len(names)} variables")
        return answer[0], kinds

    def _request(self, kind: int, data: bytes = b"") -> bytes:
        """Send a request and return its answer; what comes unasked in between is left out."""
        try:
            self._socket.sendall(struct.pack(">HB", len(data) + 3, kind) + data)
        except OSError as error:
            raise self._strange(f"it has closed the connection ({error.strerror or error})") from error
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            got, answer = self._receive()
            if got == kind:
                return answer
        raise self._strange("it does not answer")

    def _receive(self) -> tuple[int, bytes]:
        head = self._take(3)
        size, kind = struct.unpack(">HB", head)
        if size < 3:
            raise self._strange(f"a message of {size} bytes")
        return kind, self._take(size - 3)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                data = self._socket.recv(4096)
            except TimeoutError:
                raise self._strange(f"it does not answer within {PATIENCE:g} s") from None
            except OSError as error:
                raise self._strange(f"the connection broke ({error.strerror or error})") from error
            if not data:
                raise self._strange("it has closed the connection")
            self._buffer += data
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _strange(self, what: str) -> RobotError:
        return RobotError(f"what listens at {self._host}, port {PORT}, is no controller as expected: {what}.")


@contextlib.contextmanager
def looking(host: str) -> Iterator[tuple[Session, Version]]:
    """Open a session and ask for the version."""
    with Session(host) as session:
        yield session, session.version()


def look(host: str, names: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
    """Return the present values of those variables that the controller has."""
    with Session(host) as session:
        return session.values(names)
