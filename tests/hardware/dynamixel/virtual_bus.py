"""A Dynamixel bus in virtual time: the real driver, the vendor's packets and emulated servos in one thread.

Time passes only with the bytes on the wire, with waiting and with `sleep`, so nothing here depends on how busy the
computer is, and the same run is the same to the byte. What is taken out is the pseudo-terminal.
"""

from collections.abc import Callable
from types import SimpleNamespace

from pliant.envs.emulators.dynamixel.faults import Faults, Wire
from pliant.hardware.dynamixel import bus as bus_module
from pliant.hardware.dynamixel import wire as wire_module


class Killed(BaseException):
    """What ends a program at once: nothing that it does afterwards reaches the bus."""


class VirtualBus:
    """An emulated bus that a driver opens as its port, and whose time is that of the driver's clock.

    Args:
        bus: in lock step, without a cycle of its own.
    """

    def __init__(self, bus):
        self.bus = bus
        self.dead = self.unplugged = False
        self.sending: Callable[[bytes], None] = lambda packet: None
        """Called with every packet before it is on the wire; may raise, or set `swallow`."""
        self.swallow = False
        """Whether the packet in hand is lost."""
        self._due: list[tuple[float, bytes]] = []
        self._baud = 1_000_000

    def plug(self, monkeypatch):
        """Let drivers find this bus at any port, and its time as theirs."""
        monkeypatch.setattr(wire_module, "SerialPort", self.opened)
        monkeypatch.setattr(wire_module, "time", self)
        monkeypatch.setattr(bus_module, "time", self)

    # Time

    def now(self):
        return self.bus.now

    monotonic = now

    def sleep(self, seconds):
        self.bus.advance(self.bus.now + seconds)

    def sleep_until(self, time):
        if time > self.bus.now:
            self.bus.advance(time)

    # The port, as the wire sees it

    def opened(self, path, baud):
        if self.unplugged:
            raise OSError("no such device")
        self._baud = baud
        port = SimpleNamespace(
            path=path, baud_rate=baud, read=self._read, close=lambda: None, sdk=SimpleNamespace(is_using=False)
        )
        port.sdk.clearPort = lambda: None
        port.sdk.writePort = self._write
        return port

    def _write(self, packet):
        if self.unplugged:
            raise OSError(5, "Input/output error")
        if not self.dead:
            self.swallow = False
            self.sending(bytes(packet))
            if not (self.swallow or self.dead):
                for delivery in self.bus.receive(bytes(packet), self._baud):
                    self._due.append((delivery.at + delivery.lateness, delivery.data))
        return len(packet)

    def _read(self, timeout):
        if self.unplugged:
            raise OSError(5, "Input/output error")
        end = self.bus.now + max(timeout, 0.0)
        while True:
            here = [data for at, data in self._due if at <= self.bus.now]
            if here:
                self._due = [(at, data) for at, data in self._due if at > self.bus.now]
                if b"".join(here):
                    return b"".join(here)
            coming = [at for at, _ in self._due if at <= end]
            if not coming:
                self.bus.advance(end)
                return b""
            self.bus.advance(min(coming))

    def kill(self):
        """End the program at once."""
        self.dead = True
        raise Killed

    def faults(self, direction="to_computer", **settings):
        wire = Wire(Faults(**settings))
        setattr(self.bus, direction, wire)
