"""The computer's end of the bus: a pseudo-terminal under a path of the user's choice."""

import fcntl
import os
import struct
import tty
from pathlib import Path

from pliant.errors import OutputError, RobotError

# struct termios2 of Linux: four flag words, line discipline, 19 control characters, input and output speed.
_TERMIOS2 = struct.Struct("4IB19s2I")
_TCGETS2 = 0x802C542A
_LARGEST_READ = 4096


def take_away_port(path: Path) -> None:
    """Remove what an emulator left at `path`, a link to a pseudo-terminal; all else is the user's and stays."""
    if path.is_symlink() and str(path.readlink()).startswith("/dev/pts/"):
        path.unlink()


class PseudoTerminal:
    """A pseudo-terminal whose other end a serial client opens as `path`, a symbolic link.

    Raises `OutputError` if the link cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._master = -1
        self._client = -1
        self.plug()

    @property
    def plugged(self) -> bool:
        """Whether a client can open it."""
        return self._master >= 0

    def fileno(self) -> int:
        """Return the descriptor to wait on; −1 while unplugged."""
        return self._master

    def plug(self) -> None:
        """Make the terminal and its link, as when an adapter is put in."""
        if self.plugged:
            return
        # This side keeps the client's end open too: else the line would hang up whenever a client closes it.
        self._master, self._client = os.openpty()
        tty.setraw(self._client)
        os.set_blocking(self._master, False)
        try:
            take_away_port(self._path)
            self._path.symlink_to(os.ttyname(self._client))
        except OSError as error:
            self.unplug()
            raise OutputError(f"cannot make the port {self._path}: {error.strerror}.") from error

    def unplug(self) -> None:
        """Take terminal and link away, as when an adapter is pulled out: a client's reads and writes fail."""
        if not self.plugged:
            return
        os.close(self._master)
        os.close(self._client)
        take_away_port(self._path)
        self._master = self._client = -1

    def baud(self) -> int:
        """Return the baud rate that the client has set, bit/s."""
        if not self.plugged:
            raise RobotError(f"the port {self._path} is unplugged.")
        data = fcntl.ioctl(self._master, _TCGETS2, bytes(_TERMIOS2.size))
        return int(_TERMIOS2.unpack(data)[-1])

    def read(self) -> bytes:
        """Return what the client has sent, possibly nothing."""
        try:
            return os.read(self._master, _LARGEST_READ)
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> None:
        """Send to the client; what it leaves unread for too long is lost, as in a full UART."""
        try:
            os.write(self._master, data)
        except BlockingIOError:
            return
