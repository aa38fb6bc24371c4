"""The running emulator: bus, port and control channel in one loop.

In real time the bus's clock is the wall's, and bytes are sent when they would have come off the wire. In lock
step the bus's clock moves with the bytes only and everything is sent at once.
"""

import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from pliant.envs.emulators.control import ControlServer, carry_out, control_path
from pliant.envs.emulators.dynamixel.bus import Bus
from pliant.envs.emulators.dynamixel.faults import Faults, Wire
from pliant.envs.emulators.dynamixel.port import PseudoTerminal
from pliant.errors import ConfigurationError, check_bounds, unknown_name

_NAP = 0.005
"""Longest wait, s: the physics never falls behind by more."""
_ENTRIES = 500
"""Entries of the journal in one answer."""
_GAP = 0.010
"""A pause that ends an unfinished packet, s. Servos allow 1.5 ms; a computer's scheduler needs more."""


class Emulator:
    """An emulated bus on a pseudo-terminal.

    Args:
        bus: the bus with its plant.
        path: of the port.
    """

    def __init__(self, bus: Bus, path: Path) -> None:
        self.bus = bus
        self._control = ControlServer(
            control_path(path), lambda name, arguments: carry_out(self._commands, name, arguments)
        )
        try:
            self._port = PseudoTerminal(path)
        except Exception:
            self._control.close()
            raise
        self._commands: dict[str, Callable[..., object]] = {
            "faults": self._faults,
            "kill": self._kill,
            "revive": self._revive,
            "unplug": self._port.unplug,
            "replug": self._port.plug,
            "overload": self._overload,
            "supply": self._supply,
            "temperature": self._temperature,
            "advance": self._advance,
            "state": self._state,
            "writes": self._writes,
            "stop": self.stop,
        }
        self._start = time.monotonic()
        self._due: deque[tuple[float, bytes]] = deque()
        self._last_byte = 0.0
        self._stopped = False

    def run(self, parent: int | None = None) -> None:
        """Serve until `stop`, or until the process `parent` is no longer this one's parent."""
        try:
            while not self._stopped and (parent is None or os.getppid() == parent):
                self._step()
        finally:
            self.close()

    def stop(self) -> None:
        """End `run` soon."""
        self._stopped = True

    def close(self) -> None:
        """Take port and control channel away and close the plant."""
        self._port.unplug()
        self._control.close()
        self.bus.plant.close()

    def _step(self) -> None:
        waiting: list[socket.socket | PseudoTerminal] = [*self._control.sockets()]
        if self._port.plugged:
            waiting.append(self._port)
        now = time.monotonic()
        nap = min(max(self._due[0][0] - now, 0.0), _NAP) if self._due else _NAP
        ready, _, _ = select.select(waiting, [], [], nap)
        now = time.monotonic()
        real = not self.bus.settings.lock_step
        if real:
            # After a stall of this process, the packets that wait came before most of the time that passed.
            self.bus.advance(min(now - self._start, self.bus.now + 2 * _NAP))
        for source in ready:
            if isinstance(source, PseudoTerminal):
                self._receive(now)
            else:
                self._control.serve(source)
        if real:
            self.bus.advance(now - self._start)
        self._deliver()

    def _receive(self, now: float) -> None:
        data = self._port.read()
        if not data:
            return
        if now - self._last_byte > _GAP:
            self.bus.silence()
        self._last_byte = now
        # Where the bus's clock lies behind the wall's, after a stall, its answers are late too, never early.
        to_wall = now - self.bus.now
        for at, status, lateness in self.bus.receive(data, self._port.baud()):
            on_time = now if self.bus.settings.lock_step else to_wall + at
            # A late packet holds up those behind it, as in an adapter's buffer: bytes never overtake each other.
            before = self._due[-1][0] if self._due else 0.0
            self._due.append((max(on_time + lateness, before), status))

    def _deliver(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            _, data = self._due.popleft()
            if self._port.plugged:
                self._port.write(data)

    # Commands of the control channel

    def _faults(self, direction: str = "to_computer", **settings: float) -> None:
        """Set all faults of one direction; what is not given is 0."""
        if direction not in ("to_computer", "to_servos"):
            raise unknown_name("direction", direction, ("to_computer", "to_servos"))
        wire = Wire(Faults.of(settings))
        if direction == "to_servos":
            self.bus.to_servos = wire
        else:
            self.bus.to_computer = wire

    def _kill(self, servo: int) -> None:
        """Cut a servo's power."""
        self.bus.axis(servo)[1].alive = False

    def _revive(self, servo: int) -> None:
        """Give a servo its power back: it starts anew."""
        axis, other = self.bus.axis(servo)
        other.alive = True
        other.power_on(self.bus.plant.read(axis))

    def _overload(self, servo: int) -> None:
        """Let a servo find itself overloaded."""
        self.bus.axis(servo)[1].overload()

    def _supply(self, voltage: float) -> None:
        """Set the supply's voltage, V."""
        self.bus.plant.set_supply(voltage)

    def _temperature(self, servo: int, temperature: float) -> None:
        """Set the temperature inside a servo, °C."""
        self.bus.plant.set_temperature(self.bus.axis(servo)[0], temperature)

    def _advance(self, seconds: float) -> float:
        """In lock step: let time pass; return the bus's time, s."""
        if not self.bus.settings.lock_step:
            raise ConfigurationError("time can be advanced in lock step only; in real time it passes by itself.")
        self.bus.advance(self.bus.now + check_bounds("seconds", seconds, 0.0, 3600.0, "s"))
        return self.bus.now

    def _writes(self) -> list[dict[str, object]]:
        """Return the oldest entries of the journal of the bus, as many as an answer holds, and forget them."""
        journal = self.bus.journal
        return [journal.popleft()._asdict() for _ in range(min(len(journal), _ENTRIES))]

    def _state(self) -> dict[str, object]:
        """Return the bus's time and counters, and every servo's registers (counts), angle and torque."""
        servos = {}
        for servo in self.bus.servos:
            servo.refresh()
            registers = {name: servo.memory[name] for name in servo.model.registers}
            servos[str(servo.id)] = {
                "model": servo.model.name,
                "alive": servo.alive,
                "torque": servo.torque and servo.alive,
                "position": servo.reading.position,
                "velocity": servo.reading.velocity,
                "registers": registers,
            }
        counters = {"packets": self.bus.packets, "damaged": self.bus.damaged}
        return {"time": self.bus.now, **counters, "plugged": self._port.plugged, "servos": servos}
