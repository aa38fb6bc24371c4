"""An emulated bus as a process of its own: what a driver, a test or any Dynamixel tool connects to.

python -m pliant.envs.emulators.dynamixel.process ./bus --servo 1:XM430-W350 --servo 2:XM430-W350
"""

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pliant.envs.emulators.child import EmulatorProcess
from pliant.envs.emulators.control import control_path, request, take_away_socket
from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.emulator import Emulator
from pliant.envs.emulators.dynamixel.plant import Plant
from pliant.envs.emulators.dynamixel.plants import shaft_plant
from pliant.envs.emulators.dynamixel.port import take_away_port
from pliant.envs.emulators.dynamixel.servo import Entry, ServoSettings
from pliant.errors import ConfigurationError, PliantError


class EmulatedBus(EmulatorProcess):
    """A bus of emulated servos in a process of its own, from `start` to `stop` or as a context manager.

    The process ends with this one, however this one ends. Ctrl-C does not reach it, so that a driver can
    still bring its robot to rest.

    Args:
        path: of the port, which is made there as a symbolic link; the control socket lies beside it.
        settings: the servos and how time passes.
        plant: makes the physics, in the new process, so it must be picklable (a function of a module, or a
            `functools.partial` of one); by default every servo turns a bare shaft.
    """

    def __init__(self, path: str | Path, settings: BusSettings, plant: Callable[[], Plant] | None = None) -> None:
        self.port = Path(path)
        make = partial(_emulator, settings, plant or bare_shafts(settings), self.port.absolute())
        super().__init__(f"emulated bus at {self.port}", make)

    def clean_up(self) -> None:
        """Take away the port and the socket of a process that was killed."""
        take_away_port(self.port)
        take_away_socket(control_path(self.port))

    # What can be done to the machine while it runs

    def faults(self, direction: str = "to_computer", **settings: float) -> None:
        """Set the faults of one direction of the wire (`to_computer` or `to_servos`), see `Faults`."""
        self._request("faults", direction=direction, **settings)

    def kill(self, servo: int) -> None:
        """Cut a servo's power."""
        self._request("kill", servo=servo)

    def revive(self, servo: int) -> None:
        """Give a servo its power back."""
        self._request("revive", servo=servo)

    def unplug(self) -> None:
        """Pull out the USB adapter; the servos keep their power."""
        self._request("unplug")

    def replug(self) -> None:
        """Put the USB adapter in again."""
        self._request("replug")

    def overload(self, servo: int) -> None:
        """Let a servo find itself overloaded."""
        self._request("overload", servo=servo)

    def supply(self, voltage: float) -> None:
        """Set the voltage of the supply, V."""
        self._request("supply", voltage=voltage)

    def temperature(self, servo: int, temperature: float) -> None:
        """Set the temperature inside a servo, °C."""
        self._request("temperature", servo=servo, temperature=temperature)

    def advance(self, seconds: float) -> float:
        """In lock step: let time pass; return the bus's time, s."""
        return float(str(self._request("advance", seconds=seconds)))

    def state(self) -> Mapping[str, object]:
        """Return the bus's `time`, counters, and `servos`: by number, each with `torque` and `registers`."""
        state = self._request("state")
        assert isinstance(state, dict)
        return state

    def writes(self) -> list[Entry]:
        """Return every write that a servo accepted or refused since the last call, in order; see `Entry`."""
        found: list[Entry] = []
        while entries := self._request("writes"):
            assert isinstance(entries, list)
            found += [Entry(**entry) for entry in entries]
        return found

    def register(self, servo: int, name: str) -> int:
        """Return the count in a servo's register, without the bus."""
        servos = self.state()["servos"]
        assert isinstance(servos, dict)
        return int(servos[str(servo)]["registers"][name])

    def _request(self, command: str, **arguments: object) -> object:
        self.check_running()
        return request(self.port, command, **arguments)


def bare_shafts(settings: BusSettings, supply: float | None = None) -> Callable[[], Plant]:
    """Return the default plant: every servo turns its own bare shaft.

    Args:
        settings: the bus.
        supply: its voltage, V; by default 12, or 5 if there is an XL330, which 12 would destroy.
    """
    models = {servo.id: servo.model for servo in settings.servos}
    small = any(model.startswith("XL330") for model in models.values())
    return partial(shaft_plant, models, (5.0 if small else 12.0) if supply is None else supply)


def _emulator(settings: BusSettings, plant: Callable[[], Plant], path: Path) -> Emulator:
    return Emulator(Bus(settings, plant()), path)


def _servo(text: str, baud: int) -> ServoSettings:
    number, _, model = text.partition(":")
    if not number.isdigit() or not model:
        raise ConfigurationError(f"--servo is NUMBER:MODEL, such as 1:XM430-W350; got {text!r}.")
    return ServoSettings(int(number), model, baud)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a bus in the foreground until it is interrupted."""
    parser = argparse.ArgumentParser(prog="pliant.envs.emulators.dynamixel.process", description=main.__doc__)
    parser.add_argument("port", type=Path, help="path of the port to make")
    parser.add_argument("--servo", action="append", required=True, metavar="NUMBER:MODEL")
    parser.add_argument("--baud", type=int, default=1_000_000, help="baud rate of the servos, bit/s")
    parser.add_argument("--latency", type=float, default=0.0, help="latency of the USB adapter, s")
    parser.add_argument("--lock-step", type=float, metavar="CYCLE", help="time passes with group writes, s each")
    options = parser.parse_args(arguments)
    try:
        settings = BusSettings(
            tuple(_servo(text, options.baud) for text in options.servo),
            lock_step=options.lock_step is not None,
            cycle=options.lock_step or 0.0,
            latency=options.latency,
        )
        emulator = Emulator(Bus(settings, bare_shafts(settings)()), options.port)
    except PliantError as error:
        print(error, file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: emulator.stop())
    print(
        f"{len(settings.servos)} servos at {options.port}, control at {control_path(options.port)}",
        flush=True,
    )
    emulator.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
