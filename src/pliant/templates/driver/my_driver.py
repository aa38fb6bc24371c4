"""A driver: speaks to a machine, here one whose controller answers numbered datagrams of text.

Names, ranges, periods and the order of calls are `Driver`'s; a safety layer is in front of it. docs/own-driver.md
"""

import socket
import time

import numpy as np

from pliant.errors import RobotError
from pliant.hardware.driver import Driver, Measurement
from pliant.hardware.robot import Array, RobotInfo


class MyDriver(Driver):
    """Commands positions, reads time, positions and speeds.

    Args:
        info: given by Pliant: names, units, bounds and resting values of the robot's channels, its period.
        host: address of the controller, in the robot's file under `machine` or as host=… on a command line.
        port: likewise.
        timeout: for an answer, s. Nothing may wait for ever.
    """

    measures = ("position", "velocity")  # of "position", "velocity", "torque"

    def __init__(self, info: RobotInfo, host: str, port: int, timeout: float = 0.05) -> None:
        super().__init__(info)
        self.address, self.timeout = (host, int(port)), timeout
        self.number, self.armed = 0, False

    def open(self) -> None:
        """Connect, see that the machine is what it should be, move nothing."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(self.timeout / 3)
        self.socket.connect(self.address)
        if (joints := self.ask("joints")) != " ".join(self.info.joints):
            raise RobotError(f"the controller at {self.address} moves {joints}.")

    def measure(self) -> Measurement:
        """Return what the machine tells now. Its own clock shows when it tells the same again."""
        now, *numbers = map(float, self.ask("state").split())
        position, velocity = np.reshape(numbers, (2, -1))
        return Measurement(position, velocity, time=now)

    def drive(self, command: Array) -> None:
        """Hand on a command; the first one arms the machine's watchdog, then its torque."""
        if not self.armed:
            self.ask("arm")
            self.armed = True
        self.ask("move " + " ".join(f"{angle:.6f}" for angle in command))

    def halt(self) -> None:
        """Stop all motion and stay there. Nothing is sent for a second then: no watchdog may drop the arm."""
        self.ask("halt")

    def release(self) -> None:
        """Take the torque off, then the watchdog, and close the wire; also after an `open` that failed."""
        try:
            if self.armed:
                self.ask("off")
                self.armed = False
        finally:
            self.socket.close()

    def ask(self, words: str) -> str:
        """Return the answer to a question."""
        self.number += 1
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:  # what is lost is asked again
            self.socket.send(f"{self.number} {words}".encode())
            try:
                number, _, answer = self.socket.recv(1500).decode().partition(" ")
            except TimeoutError:
                continue
            if number == str(self.number):  # else a late answer to an earlier question
                return answer
        raise TimeoutError(f"{self.address} gives no answer to {words.split()[0]!r}")
