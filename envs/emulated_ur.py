"""An arm of Universal Robots with an emulated controller: the real driver and client, MuJoCo behind them."""

import itertools
import os
import socket
import weakref
from dataclasses import replace

from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.errors import RobotError
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur.rtde import PORT


class EmulatedUR(URRobot):
    """A `URRobot` with the machine it drives: an emulated controller in a process of its own, in real time.

    The controller is switched on by the first `connect` and stays on when the driver disconnects, as a machine
    does; `power_off`, or the end of this object or process, ends it.

    Args:
        config: the arm, as the driver sees it.
        settings: the controller; what differs from the model that was learned on is its `gap`.
    """

    def __init__(self, config: URConfig, settings: ControllerSettings) -> None:
        self.machine = EmulatedController(settings, config.host)
        """The running controller, and what can be done to it: faults, buttons, its log."""
        self._powered = False
        self._finalizer = weakref.finalize(self, self.machine.stop)
        super().__init__(config)

    def connect(self) -> None:
        """Switch the machine on, if it is not, and connect; see `URRobot.connect`."""
        if not self._powered:
            self.machine.start()
            self._powered = True
        super().connect()

    def power_off(self) -> None:
        """Close, and end the machine for good."""
        self.close()
        self._finalizer()


def emulated_ur(config: URConfig, settings: ControllerSettings) -> EmulatedUR:
    """Return an emulated arm at an address of its own, whatever the configuration says."""
    return EmulatedUR(replace(config, host=free_host()), settings)


def free_host() -> str:
    """Return a loopback address that no controller is served at, other than 127.0.0.1."""
    for number in itertools.islice(itertools.count(os.getpid()), 4096):
        host = f"127.1.{number // 250 % 250}.{number % 250 + 1}"
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, PORT))
            except OSError:
                continue
            return host
    raise RobotError("no loopback address is free for an emulated controller.")
