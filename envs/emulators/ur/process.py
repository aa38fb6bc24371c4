"""An emulated controller as a process of its own: what a driver, a test or any client of RTDE connects to."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pliant.envs.emulators.child import EmulatorProcess
from pliant.envs.emulators.control import request
from pliant.envs.emulators.ur.emulator import SOCKET, UrEmulator
from pliant.envs.emulators.ur.log import COMMANDS, CYCLES, Records, read_ring
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.errors import RobotError


class EmulatedController(EmulatorProcess):
    """A controller with its arm in a process of its own, from `start` to `stop` or as a context manager.

    The process ends with this one, however this one ends. Ctrl-C does not reach it, so that a driver can still
    bring its robot to rest. The log stays readable until the next start or the end of this object.

    Args:
        settings: the controller.
        host: loopback address that it serves; a second controller needs another one. The client asks whether it is
            in remote control everywhere but on 127.0.0.1.
    """

    def __init__(self, settings: ControllerSettings | None = None, host: str = "127.0.0.2") -> None:
        self.settings = settings or ControllerSettings()
        self.host = host
        self._folder = Path(tempfile.mkdtemp(prefix="pliant-ur-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        super().__init__(f"emulated controller at {host}", partial(UrEmulator, self.settings, host, self._folder))

    def fault(self, name: str, at: int | None = None, duration: float | None = None, **settings: float) -> int:
        """Have a fault, see `Faults`; return the cycle at which it begins.

        Args:
            name: mute, drop, late, freeze, cut, vanish, protective_stop, emergency_stop, local_control,
                dead_program, register_clash, force_drift, speed_slider, slot_busy.
            at: cycle at which it begins; None: at once.
            duration: after which it ends by itself, s; None: it stays.
            settings: of the fault.
        """
        if name == "vanish" and at is None:
            try:
                self._request("fault", name=name)
            except RobotError:
                return 0
        return int(str(self._request("fault", name=name, at=at, duration=duration, **settings)))

    def press(self, button: str) -> None:
        """Do what an operator does on the pendant.

        unlock (a protective stop), remote_control, local_control, emergency_stop, release_emergency_stop,
        power_on, power_off, stop, free_slot. Raises `RobotError` where the controller refuses.
        """
        self._request("press", button=button)

    def push(self, wrench: Sequence[float]) -> None:
        """Push on the flange with a force, N, and a torque, N·m, in base axes, until told otherwise."""
        self._request("push", wrench=[float(value) for value in wrench])

    def step(self, cycles: int = 1) -> int:
        """In lock step: let cycles pass; return how many have passed since the start."""
        return int(str(self._request("step", cycles=cycles)))

    def set_input(self, pin: int, high: bool) -> None:
        """Switch a digital input: 0 to 7 standard, 8 to 15 configurable, 16 and 17 of the tool."""
        self._request("set_input", pin=pin, high=high)

    def set_analog_input(self, pin: int, value: float) -> None:
        """Set an analogue input, V or A."""
        self._request("set_analog_input", pin=pin, value=value)

    def state(self) -> Mapping[str, object]:
        """Return what the controller and its arm do now."""
        state = self._request("state")
        assert isinstance(state, dict)
        return state

    def log(self) -> Records:
        """Return what the arm did, a record a cycle, see `CYCLES`; also after the process has ended."""
        return read_ring(self._folder / "cycles", CYCLES)

    def commands(self) -> Records:
        """Return what came on the wire, a record a command, see `COMMANDS`; also after the process has ended."""
        return read_ring(self._folder / "commands", COMMANDS)

    def _request(self, command: str, **arguments: object) -> object:
        self.check_running()
        return request(self._folder / SOCKET, command, **arguments)
