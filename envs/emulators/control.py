"""The control channel of an emulator: JSON lines over a Unix socket.

A request is `{"command": NAME, ARGUMENT: VALUE, …}`, its answer `{"result": …}` or `{"error": TEXT}`, one
line each: so a test, a shell and a person can break the machine while something else drives it.
"""

import ipaddress
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from pliant.errors import ConfigurationError, OutputError, PliantError, RobotError, unknown_name

_LONGEST_PATH = 107
_LONGEST_LINE = 65536
_PATIENCE = 0.1
Handler = Callable[[str, dict[str, object]], object]


def carry_out(commands: Mapping[str, Callable[..., object]], name: str, arguments: Mapping[str, object]) -> object:
    """Carry a command out and return its result; raises `PliantError` where it is unknown or cannot be."""
    if name not in commands:
        raise unknown_name("command", name, commands, "the control channel")
    try:
        return commands[name](**arguments)
    except PliantError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"command {name!r}: {error}.") from error


def control_path(port: Path) -> Path:
    """Return where the control socket of a port is."""
    return port.with_name(port.name + ".control")


def take_away_socket(path: Path) -> None:
    """Remove the socket that an emulator left at `path`. Anything else is the user's and stays."""
    if path.is_socket() and not path.is_symlink():
        path.unlink()


class ControlServer:
    """Serves the requests of any number of clients, one at a time.

    Args:
        path: of the socket; a leftover of an emulator that has ended is replaced.
        handler: carries out a command with its arguments and returns what goes into JSON; may raise
            `PliantError`.
    """

    def __init__(self, path: Path, handler: Handler) -> None:
        if len(str(path.absolute())) > _LONGEST_PATH:
            raise OutputError(
                f"the path of the control socket is longer than {_LONGEST_PATH} bytes: {path.absolute()}."
            )
        self._handler = handler
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            if _alive(path):
                raise OutputError(f"{path}: another emulator serves this port. Choose another path, or stop it.")
            take_away_socket(path)
            # Whoever may write to it commands the machine: the user alone, whatever the umask says.
            os.fchmod(self._socket.fileno(), 0o600)
            self._socket.bind(str(path.absolute()))
        except OSError as error:
            self._socket.close()
            if isinstance(error, PliantError):
                raise
            raise OutputError(f"cannot make the control socket {path}: {error.strerror}.") from error
        self._socket.listen()
        self._socket.setblocking(False)
        self._clients: dict[socket.socket, bytes] = {}

    def sockets(self) -> list[socket.socket]:
        """Return everything to wait on."""
        return [self._socket, *self._clients]

    def serve(self, ready: socket.socket) -> None:
        """Handle what has arrived on one of the sockets."""
        if ready is self._socket:
            client, _ = self._socket.accept()
            # A client that does not read its answers must not hold up the bus.
            client.settimeout(_PATIENCE)
            self._clients[client] = b""
            return
        try:
            data = ready.recv(_LONGEST_LINE)
            if not data or len(self._clients[ready]) > _LONGEST_LINE:
                raise ConnectionResetError
            *lines, self._clients[ready] = (self._clients[ready] + data).split(b"\n")
            for line in lines:
                ready.sendall(json.dumps(self._answer(line)).encode() + b"\n")
        except OSError:
            ready.close()
            del self._clients[ready]

    def close(self) -> None:
        """Close all connections and take the socket away."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self._socket.close()
        take_away_socket(self._path)

    def _answer(self, line: bytes) -> dict[str, object]:
        try:
            request = json.loads(line)
        except ValueError as error:
            return {"error": f"not JSON: {error}."}
        if not isinstance(request, dict) or not isinstance(request.get("command"), str):
            return {"error": 'a request is an object with a "command".'}
        try:
            return {"result": self._handler(str(request.pop("command")), request)}
        except PliantError as error:
            return {"error": str(error)}


def request(port: Path, command: str, **arguments: object) -> object:
    """Send one command to the emulator of `port` and return its result.

    Raises `RobotError` if the emulator refuses it or does not answer within 10 s.
    """
    path = control_path(port)
    line = json.dumps({"command": command, **arguments}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10.0)
            client.connect(str(path.absolute()))
            client.sendall(line)
            with client.makefile("rb") as stream:
                reply = stream.readline()
    except OSError as error:
        raise RobotError(f"no emulator answers at {path}: {error}.") from error
    if not reply:
        raise RobotError(f"the emulator at {path} has ended.")
    answer = json.loads(reply)
    if "error" in answer:
        raise RobotError(f"the emulator at {path} refuses {command!r}: {answer['error']}")
    return answer["result"]


def _alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path.absolute()))
        except OSError:
            return False
    return True


def check_loopback(host: str) -> None:
    """Raise `ConfigurationError` unless an address is one of this computer's own.

    Whoever reaches the ports of an emulator commands its machine, so only this computer may.
    """
    try:
        if ipaddress.IPv4Address(host).is_loopback:
            return
    except ValueError:
        pass
    raise ConfigurationError(f"host is {host!r}; a loopback address is needed, such as 127.0.0.2.")
