"""The RTDE server: clients ask for recipes and get packages, or send values for the controller's inputs.

One connection per interface of the client. Nothing is sent unasked before the start is accepted, and the package
of a cycle is packed in one call per connection.
"""

import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pliant.envs.emulators.ur.listening import Listener
from pliant.envs.emulators.ur.packets import (
    IN_USE,
    NOT_FOUND,
    DamagedError,
    Frame,
    FrameParser,
    Kind,
    accepted,
    controller_version,
    names,
    outputs_request,
    recipe_answer,
)
from pliant.envs.emulators.ur.variables import Number, Recipe, Table, answered_types
from pliant.envs.emulators.ur.versions import PolyScope

RTDE_PORT = 30004
_LARGEST_READ = 65536
_PROTOCOL = 2
_BACKLOG = 65536
"""Bytes that may wait for a client that does not read; beyond, packages are left out."""

InputHandler = Callable[[Recipe, tuple[Number, ...]], None]


@dataclass(eq=False)
class Connection:
    """One client on the wire."""

    socket: socket.socket
    parser: FrameParser = field(default_factory=FrameParser)
    outputs: Recipe | None = None
    header: bytes = b""
    every: int = 1
    """Cycles from one package to the next."""
    inputs: list[Recipe] = field(default_factory=list)
    started: bool = False
    waiting: bytes = b""
    """Bytes that the socket would not take yet."""
    late: deque[tuple[float, bytes]] = field(default_factory=deque)
    """Packages that a fault holds back, with the time at which they go out."""

    def send(self, data: bytes) -> None:
        """Send, or keep what the socket does not take; raises `OSError` if the client is gone."""
        if self.waiting:
            data, self.waiting = self.waiting + data, b""
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        self.waiting = data[sent:]


class RtdeServer:
    """Serves any number of connections; never waits.

    Args:
        host: loopback address.
        version: what is answered to questions, and which variables exist.
        outputs: values that go out.
        inputs: values that come in.
        on_input: is told of every data frame, after its values are in `inputs`.
    """

    def __init__(
        self, host: str, version: PolyScope, outputs: Table, inputs: Table, on_input: InputHandler
    ) -> None:
        self._listener = Listener(host, RTDE_PORT)
        self._version = version
        self._outputs = outputs
        self._inputs = inputs
        self._on_input = on_input
        self._connections: dict[socket.socket, Connection] = {}
        self.taken: set[str] = set()
        """Inputs that somebody outside, such as a fieldbus, writes: asked for, they are in use."""
        self.mute = False
        """Fault: the wire stays open, but no package goes out."""
        self.delay = 0.0
        """Fault: how late packages come, s."""
        self.deaf = False
        """Fault: what clients send is lost."""
        self.packages = 0
        """Packages sent to any client."""
        self.malformed = 0
        """Data frames whose size does not fit their recipe: dropped."""

    def sockets(self) -> list[socket.socket]:
        """Return everything to wait on."""
        return [self._listener.socket, *self._connections]

    @property
    def clients(self) -> int:
        """Connections now."""
        return len(self._connections)

    def serve(self, ready: socket.socket) -> bool:
        """Handle what has arrived on one of the sockets; returns False if it is none of these."""
        if ready is self._listener.socket:
            client = self._listener.accept()
            if client is not None:
                self._connections[client] = Connection(client)
            return True
        connection = self._connections.get(ready)
        if connection is None:
            return False
        try:
            data = ready.recv(_LARGEST_READ)
            if not data:
                raise ConnectionResetError
            for received in connection.parser.feed(data):
                self._handle(connection, received)
        except BlockingIOError:
            pass
        except (OSError, DamagedError):
            self._drop(connection)
        return True

    def publish(self, cycle: int, now: float) -> None:
        """Send every started connection its package, if this cycle is one of its own."""
        for connection in list(self._connections.values()):
            try:
                self._publish(connection, cycle, now)
            except OSError:
                self._drop(connection)

    def cut(self) -> None:
        """Close all connections, as when a cable is pulled and the controller notices."""
        for connection in list(self._connections.values()):
            self._drop(connection)

    def close(self) -> None:
        """Close everything."""
        self.cut()
        self._listener.close()

    def _publish(self, connection: Connection, cycle: int, now: float) -> None:
        late = connection.late
        while late and late[0][0] <= now:
            connection.send(late.popleft()[1])
        if self.mute or not connection.started or connection.outputs is None or cycle % connection.every:
            return
        if len(connection.waiting) > _BACKLOG:
            return
        package = connection.header + connection.outputs.pack()
        self.packages += 1
        if self.delay or late:
            # Late packages keep their order, also when the delay ends.
            late.append((max(now + self.delay, late[-1][0] if late else 0.0), package))
        else:
            connection.send(package)

    def _drop(self, connection: Connection) -> None:
        self._connections.pop(connection.socket, None)
        connection.socket.close()

    def _handle(self, connection: Connection, received: Frame) -> None:
        kind, payload = received
        match kind:
            case Kind.DATA:
                if not self.deaf:
                    self._data(connection, payload)
            case Kind.PROTOCOL_VERSION:
                connection.send(accepted(kind, payload == _PROTOCOL.to_bytes(2, "big")))
            case Kind.CONTROLLER_VERSION:
                version = self._version
                connection.send(controller_version(version.major, version.minor, version.bugfix, version.build))
            case Kind.OUTPUTS:
                self._ask_outputs(connection, payload)
            case Kind.INPUTS:
                self._ask_inputs(connection, names(payload))
            case Kind.START:
                connection.send(accepted(kind, connection.outputs is not None or bool(connection.inputs)))
                connection.started = True
            case Kind.PAUSE:
                connection.send(accepted(kind, True))
                connection.started = False

    def _ask_outputs(self, connection: Connection, payload: bytes) -> None:
        frequency, wanted = outputs_request(payload)
        types = answered_types(self._outputs, wanted, self._version.missing_outputs)
        if NOT_FOUND not in types and wanted:
            connection.outputs = Recipe(self._outputs, wanted)
            connection.header = connection.outputs.header(1)
            frequency = min(max(frequency, 1.0), self._version.rate)
            connection.every = max(round(self._version.rate / frequency), 1)
        connection.send(recipe_answer(Kind.OUTPUTS, 1 if connection.outputs else 0, types))

    def _ask_inputs(self, connection: Connection, wanted: list[str]) -> None:
        others = {
            name
            for other in self._connections.values()
            if other is not connection
            for recipe in other.inputs
            for name in recipe.names
        }
        types = answered_types(self._inputs, wanted)
        busy = others | self.taken
        types = [IN_USE if name in busy else kind for name, kind in zip(wanted, types, strict=True)]
        number = 0
        if wanted and IN_USE not in types and NOT_FOUND not in types:
            connection.inputs.append(Recipe(self._inputs, wanted))
            number = len(connection.inputs)
        connection.send(recipe_answer(Kind.INPUTS, number, types))

    def _data(self, connection: Connection, payload: bytes) -> None:
        number = payload[0] if payload else 0
        if not 1 <= number <= len(connection.inputs):
            self.malformed += 1
            return
        recipe = connection.inputs[number - 1]
        if len(payload) - 1 != recipe.size:
            self.malformed += 1
            return
        values = recipe.unpack(payload[1:])
        inputs = self._inputs.values
        for place, value in zip(recipe.places, values, strict=True):
            inputs[place] = value
        self._on_input(recipe, values)
