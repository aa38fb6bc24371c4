"""The serial port under a bus: opened for one program alone, with messages that say what to do.

The SDK's `PortHandler` does the opening; what it leaves out is here: a port that is missing, not permitted or
in use is refused with the remedy (the SDK raises pyserial's bare errors, or opens a port that another program
is using), and the USB adapter's latency timer is looked up.
"""

import fcntl
import grp
import os
import select
import termios
from pathlib import Path
from typing import Any

from pliant.errors import ConfigurationError, RobotError, require_extra

WRITE_TIMEOUT = 1.0
"""Longest time that a write may block, s; pyserial would wait for ever on a far end that stopped reading.

Long, because pyserial also counts the time for which a busy computer lets the program wait after the write.
"""


class SerialPort:
    """An open serial port, locked against other programs.

    Args:
        path: Device, such as `/dev/ttyUSB0` or the more lasting `/dev/serial/by-id/…`.
        baud_rate: bit/s.

    Raises:
        RobotError: The port is missing, not permitted, in use (the message names by whom) or no serial port.
        ConfigurationError: The SDK does not know this baud rate.
        MissingExtraError: dynamixel-sdk is not installed.
    """

    def __init__(self, path: str, baud_rate: int) -> None:
        sdk = require_extra("dynamixel_sdk", "dynamixel", "A Dynamixel bus")
        self.path = path
        self.sdk: Any = sdk.PortHandler(path)
        """The SDK's port handler, for its packet handlers."""
        self._check_rate(baud_rate)
        self._lock = _lock(path)
        self.sdk.baudrate = baud_rate
        try:
            self.sdk.openPort()
        except (OSError, termios.error) as error:  # pyserial's SerialException is an OSError
            os.close(self._lock)
            raise RobotError(f"cannot open {path}: {error}") from error
        self.sdk.ser.write_timeout = WRITE_TIMEOUT
        # A program on the bare SDK takes no lock; the terminal's own exclusive mode keeps it out, now that we
        # are in. On a pseudo-terminal that mode would outlive a killed process.
        if not _is_pseudo_terminal(path):
            fcntl.ioctl(self._lock, termios.TIOCEXCL)

    @property
    def baud_rate(self) -> int:
        """Bits per second."""
        return int(self.sdk.getBaudRate())

    @baud_rate.setter
    def baud_rate(self, rate: int) -> None:
        # The SDK would close the port and open it again, which the exclusive mode forbids.
        self._check_rate(rate)
        try:
            self.sdk.ser.baudrate = rate
        except (OSError, ValueError, termios.error) as error:
            raise ConfigurationError(f"the adapter on {self.path} cannot do {rate} bit/s: {error}") from error
        self.sdk.baudrate = rate

    def _check_rate(self, rate: int) -> None:
        if self.sdk.getCFlagBaud(rate) <= 0:
            raise ConfigurationError(f"{self.path}: the SDK has no {rate} bit/s; 57600 and 1000000 are usual.")

    def read(self, timeout: float) -> bytes:
        """Return the bytes that arrive within `timeout` s, as soon as there are any; b"" if none do.

        The processor sleeps meanwhile; the SDK asks the port again and again, at the cost of a whole core.
        """
        serial = self.sdk.ser
        ready, _, _ = select.select([serial.fileno()], [], [], max(0.0, timeout))
        return bytes(serial.read(max(1, serial.in_waiting))) if ready else b""

    def close(self) -> None:
        """Close the port and let other programs have it. Safe to call twice, and after an unplugging."""
        if self._lock < 0:
            return
        try:
            if not _is_pseudo_terminal(self.path):
                fcntl.ioctl(self._lock, termios.TIOCNXCL)
            self.sdk.closePort()
        except (OSError, termios.error):
            pass  # the device is gone, and with it all there was to release
        finally:
            os.close(self._lock)
            self._lock = -1


def _lock(path: str) -> int:
    """Open and lock `path` before anything is changed on it; return the descriptor that holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise RobotError(_missing(path)) from error
    except PermissionError as error:
        raise RobotError(_forbidden(path)) from error
    except OSError as error:
        raise RobotError(f"cannot open {path}: {error.strerror}. {_holder(path)}") from error
    try:
        if not os.isatty(descriptor):
            raise RobotError(f"{path} is not a serial port.")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A program on the bare SDK takes no lock.
        if _openers(path, descriptor):
            raise RobotError(f"{path} is in use. {_holder(path, descriptor)}")
    except BlockingIOError as error:
        os.close(descriptor)
        raise RobotError(f"{path} is in use. {_holder(path)}") from error
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_pseudo_terminal(path: str) -> bool:
    return os.path.realpath(path).startswith("/dev/pts/")


def serial_ports() -> list[str]:
    """Return the serial ports that a servo adapter may be on, lasting names first."""
    dev = Path("/dev")
    found = [*dev.glob("serial/by-id/*"), *dev.glob("ttyUSB*"), *dev.glob("ttyACM*")]
    return [str(path) for path in found]


def _missing(path: str) -> str:
    here = ", ".join(serial_ports()) or "none"
    if not path:
        return f"no serial port is given: port=… (ports here: {here})."
    return (
        f"there is no serial port {path} (ports here: {here}). Is the adapter plugged in? A replugged "
        "adapter may have another number; its name under /dev/serial/by-id stays."
    )


def _forbidden(path: str) -> str:
    try:
        group = grp.getgrgid(Path(path).stat().st_gid).gr_name
    except (KeyError, OSError):
        group = "dialout"
    return (
        f"no permission to open {path}. Join its group: sudo usermod -aG {group} $USER, then log out and in; "
        "or install the udev rule in docs/real-arm.md."
    )


def _holder(path: str, own: int = -1) -> str:
    """Return a sentence on who holds the port, beside our descriptor `own`, and how to make them let go."""
    processes = (_lock_owners(path) if own < 0 else set()) or _openers(path, own)
    if os.getpid() in processes:
        return "This process itself holds it: close the other Bus first."
    if not processes:
        return "Another program holds it; close that program (find it with: sudo fuser -v " + path + ")."
    names = ", ".join(f"{_command(pid)!r} (process {pid})" for pid in sorted(processes))
    return f"It is held by {names}; end that program first."


def _lock_owners(path: str) -> set[int]:
    """Return the processes that hold a file lock on `path`, from /proc/locks."""
    status = Path(path).stat()
    device = status.st_dev
    key = f"{os.major(device):02x}:{os.minor(device):02x}:{status.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return set()
    fields = (line.split() for line in lines)
    return {int(f[4]) for f in fields if len(f) > 5 and f[1] == "FLOCK" and f[5] == key and int(f[4]) > 0}


def _openers(path: str, own: int = -1) -> set[int]:
    """Return the processes, as far as we may look, that have `path` open other than by our descriptor `own`.

    Who has the master's side of a pseudo-terminal is its far end, such as an emulated bus, and no other client.
    """
    target, found = os.path.realpath(path), set()
    mine = (os.getpid(), own)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(link.readlink()) == target and (int(link.parts[2]), int(link.name)) != mine:
                found.add(int(link.parts[2]))
        except OSError:
            continue  # gone meanwhile, or another user's
    terminal, _, number = target.rpartition("/")
    return {pid for pid in found if not (terminal == "/dev/pts" and _has_master(pid, number))}


def _has_master(pid: int, number: str) -> bool:
    """Return whether a process has the master's side of /dev/pts/`number` open."""
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if "ptmx" not in link.readlink().name:
                continue
            lines = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().splitlines()
        except OSError:
            continue
        if any(line.split() == ["tty-index:", number] for line in lines):
            return True
    return False


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "unknown program"
    return b" ".join(words).decode(errors="replace").strip() or "unknown program"


def latency_timer(path: str, sysfs: Path = Path("/sys/class/tty")) -> Path | None:
    """Return the file that holds the latency timer (ms) of a USB adapter's port; None if it has none."""
    file = sysfs / Path(os.path.realpath(path)).name / "device" / "latency_timer"
    return file if file.exists() else None


def latency_seconds(path: str, sysfs: Path = Path("/sys/class/tty")) -> float:
    """Return the time for which the USB adapter holds back what it received, s; 0 if it does not."""
    file = latency_timer(path, sysfs)
    try:
        return int(file.read_text()) / 1000 if file else 0.0
    except (OSError, ValueError):
        return 0.0
