"""What carries the messages: a Unix socket on one machine, TCP to another one."""

import contextlib
import errno
import ipaddress
import os
import socket
import stat
import struct
import tempfile
import time
from pathlib import Path
from typing import Literal, NamedTuple

from pliant.deployment.remote.protocol import HEADER, LONGEST, MAGIC, VERSION, Message, MessageError, check_whole
from pliant.errors import ConfigurationError, OutputError, RemoteError

FORMS = "unix, unix:/PATH, tcp:PORT, tcp:HOST:PORT"
"""How an address is written."""
_LONGEST_PATH = 107
_CONNECT_TIME = 5.0
_BACKLOG = 32
_KEPT_ALIVE = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 5))
"""A robot's machine that is silent and gone is noticed within ten seconds."""


class ClosedError(RemoteError):
    """The other side has closed the connection, or its process has ended."""


class OtherVersionError(MessageError):
    """The other side speaks another version of the messages."""


class Address(NamedTuple):
    """Where a controller is served."""

    kind: Literal["unix", "tcp"]
    place: str
    """A path, or a host."""
    port: int = 0

    @classmethod
    def read(cls, text: object) -> "Address":
        """Return the address that a text names; `unix` alone is that of this user, `tcp:PORT` this machine's.

        Raises:
            ConfigurationError: it names none.
        """
        kind, _, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
        if kind == "unix" and (not rest or Path(rest).name):
            path = str(Path(rest).expanduser().absolute()) if rest else str(_private_folder() / "control")
            if len(os.fsencode(path)) > _LONGEST_PATH:
                raise ConfigurationError(
                    f"address {text!r}: a path of a socket has at most {_LONGEST_PATH} bytes."
                )
            return cls("unix", path)
        host, _, port = rest.rpartition(":")
        if kind == "tcp" and port.isascii() and port.isdigit() and int(port) <= 65535:
            return cls("tcp", host.strip("[]") or "127.0.0.1", int(port))
        raise ConfigurationError(f"address is {text!r}; one of {FORMS} is needed.")

    def __str__(self) -> str:
        """As it is written."""
        if self.kind == "unix":
            return f"unix:{self.place}"
        return f"tcp:[{self.place}]:{self.port}" if ":" in self.place else f"tcp:{self.place}:{self.port}"

    @property
    def local(self) -> bool:
        """Whether only programs of this machine come there."""
        if self.kind == "unix" or self.place == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.place).is_loopback
        except ValueError:
            return False


def _private_folder() -> Path:
    """The folder of this user alone, where sockets are."""
    if (given := os.environ.get("XDG_RUNTIME_DIR")) and Path(given).is_dir():
        folder = Path(given) / "pliant"
    else:
        folder = Path(tempfile.gettempdir()) / f"pliant-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OutputError(
            f"{folder} is not a folder of yours alone (mode 0700); give another address: unix:/PATH."
        )
    return folder


class Connection:
    """One end of a connection, over which whole messages go.

    Args:
        sock: connected; of datagrams in order (Unix) or a stream (TCP).
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._stream = sock.type == socket.SOCK_STREAM
        self._view = memoryview(bytearray(HEADER.size + LONGEST + 1))
        self._filled = 0
        if self._stream:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEPT_ALIVE:
                sock.setsockopt(socket.IPPROTO_TCP, option, value)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)

    def fileno(self) -> int:
        """The descriptor, for `poll`."""
        return self._socket.fileno()

    def send(self, message: bytes | bytearray) -> None:
        """Send a whole message; raise `ClosedError` where nobody takes it."""
        try:
            if self._socket.send(message) == len(message):
                return
        except OSError as error:
            raise ClosedError(f"the connection is lost: {error.strerror or error}.") from error
        raise ClosedError("the other side takes nothing more.")

    def take(self) -> Message | None:
        """Return a message that has come in whole; None: not yet, or nothing within the time of `wait_for`.

        Raises:
            ClosedError: nothing more will come.
            OtherVersionError: a message of another version.
            MessageError: what came is no message.
        """
        try:
            got = self._socket.recv_into(self._view[self._filled :] if self._filled else self._view)
        except BlockingIOError:
            return None
        except OSError as error:
            lost = "it was left" if self.fileno() < 0 else f"the connection is lost: {error.strerror or error}"
            raise ClosedError(f"{lost}.") from error
        if not got:
            raise ClosedError("the connection was closed.")
        filled = self._filled = self._filled + got
        if filled < HEADER.size:
            if self._stream and MAGIC.startswith(bytes(self._view[: min(filled, len(MAGIC))])):
                return None
            raise MessageError(f"{filled} bytes that are no message.")
        magic, version, kind, flags, size, number, check = HEADER.unpack_from(self._view)
        if magic != MAGIC:
            raise MessageError("bytes that are no message.")
        if version != VERSION:
            raise OtherVersionError(f"version {version} of the messages is spoken; here it is {VERSION}.")
        whole = HEADER.size + size
        if filled < whole and size <= LONGEST and self._stream:
            return None
        if filled != whole:
            raise MessageError(f"a message of {filled} bytes that says it has {whole}.")
        check_whole(self._view[:whole], check)
        self._filled = 0
        return Message(kind, number, flags, self._view[HEADER.size : whole])

    def wait_for(self, seconds: float) -> None:
        """Let `send` and `take` wait for at most that long."""
        if self.fileno() < 0:
            raise ClosedError("it was left after a fault.")
        self._socket.settimeout(None)
        # The kernel's own timeout: one call a message, where that of Python's sockets takes two.
        limit = _timeval(seconds)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, limit)

    def take_within(self, seconds: float) -> Message | None:
        """Return the next message; None: it did not come whole within that time, which `wait_for` has set."""
        message = self.take()
        end = time.perf_counter() + seconds
        while message is None and self._filled and time.perf_counter() < end:
            message = self.take()
        return message

    def close(self) -> None:
        """Close it. Safe to call twice."""
        self._socket.close()


def _timeval(seconds: float) -> bytes:
    whole, part = divmod(max(seconds, 1e-6), 1.0)
    return struct.pack("ll", int(whole), int(1e6 * part))


def connect(address: Address) -> Connection:
    """Connect to where a controller is served; raise `RemoteError` if none is."""
    try:
        if address.kind == "tcp":
            sock = socket.create_connection((address.place, address.port), _CONNECT_TIME)
        else:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            # Python's timeout would not wait for a listener that has many to accept.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(_CONNECT_TIME))
            sock.connect(address.place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RemoteError(
            f"no controller is served at {address}: {reason}. To start one: pliant control controller=NAME "
            f"robot=NAME address={address}"
        ) from error
    return Connection(sock)


class Listener:
    """Where robots connect; a Unix socket is this user's alone and goes away with `close`.

    Args:
        address: port 0 of TCP: one that is free.

    Raises:
        OutputError: the address is taken, or cannot be.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        try:
            self._socket = self._unix() if address.kind == "unix" else self._tcp()
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                reason = "it is in use; another controller is served there"
            raise OutputError(f"no controller can be served at {address}: {reason}.") from error
        if address.kind == "tcp":
            self.address = address._replace(port=self._socket.getsockname()[1])
        self._socket.setblocking(False)

    def _tcp(self) -> socket.socket:
        found = socket.getaddrinfo(self.address.place, self.address.port, type=socket.SOCK_STREAM)
        return socket.create_server(found[0][4][:2], family=found[0][0], backlog=_BACKLOG)

    def _unix(self) -> socket.socket:
        path = Path(self.address.place)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            _take_away_leftover(path)
            before = os.umask(0o177)
            try:
                sock.bind(str(path))
            finally:
                os.umask(before)
            sock.listen(_BACKLOG)
        except BaseException:
            sock.close()
            raise
        return sock

    def fileno(self) -> int:
        """The descriptor, for `poll`."""
        return self._socket.fileno()

    def accept(self) -> Connection | None:
        """Return the connection of whoever has come; None: nobody has."""
        try:
            sock, _ = self._socket.accept()
        except OSError:
            return None
        sock.setblocking(False)
        return Connection(sock)

    def close(self) -> None:
        """Take no more robots. Safe to call twice."""
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        if self.address.kind == "unix":
            Path(self.address.place).unlink(missing_ok=True)


def _take_away_leftover(path: Path) -> None:
    """Remove the socket of a process that was killed. Anything else is the user's and stays."""
    if not path.is_socket() or path.is_symlink():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.settimeout(_CONNECT_TIME)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
