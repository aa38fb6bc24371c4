"""Listening sockets, and servers of text such as the dashboard."""

import socket
from collections.abc import Callable

from pliant.errors import OutputError

_LARGEST_READ = 65536
_LONGEST_TEXT = 1 << 20


class Listener:
    """A TCP port that clients connect to; never waits. Raises `OutputError` if the port is taken."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((host, port))
        except OSError as error:
            self.socket.close()
            raise OutputError(
                f"cannot serve {host}:{port}: {error.strerror}. The ports of a controller are fixed, so two of "
                "them need two addresses, such as host=127.0.0.2 and host=127.0.0.3."
            ) from error
        self.socket.listen()
        self.socket.setblocking(False)

    def accept(self) -> socket.socket | None:
        """Return a client that has connected; None if it is gone already."""
        try:
            client, _ = self.socket.accept()
        except OSError:
            return None
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setblocking(False)
        return client

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()


class TextServer:
    """Serves clients that send text.

    Args:
        host: loopback address.
        port: TCP port.
        handler: takes what a client has sent so far, returns what is left of it and the answer.
        greeting: is sent to whoever connects.
    """

    def __init__(
        self, host: str, port: int, handler: Callable[[str], tuple[str, str]], greeting: str = ""
    ) -> None:
        self._listener = Listener(host, port)
        self._handler = handler
        self._greeting = greeting
        self._clients: dict[socket.socket, str] = {}

    def sockets(self) -> list[socket.socket]:
        """Return everything to wait on."""
        return [self._listener.socket, *self._clients]

    def serve(self, ready: socket.socket) -> bool:
        """Handle what has arrived on one of the sockets; returns False if it is none of these."""
        if ready is self._listener.socket:
            client = self._listener.accept()
            if client is not None:
                self._clients[client] = ""
                self._answer(client, self._greeting)
            return True
        if ready not in self._clients:
            return False
        try:
            data = ready.recv(_LARGEST_READ)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self._drop(ready)
            return True
        left, answer = self._handler(self._clients[ready] + data.decode("utf-8", "replace"))
        self._clients[ready] = left[-_LONGEST_TEXT:]
        self._answer(ready, answer)
        return True

    def cut(self) -> None:
        """Close all connections."""
        for client in list(self._clients):
            self._drop(client)

    def close(self) -> None:
        """Close everything."""
        self.cut()
        self._listener.close()

    def _answer(self, client: socket.socket, text: str) -> None:
        if not text:
            return
        try:
            client.sendall(text.encode())
        except OSError:
            self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self._clients.pop(client, None)
        client.close()
