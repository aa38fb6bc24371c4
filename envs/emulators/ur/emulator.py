"""The running emulator: controller, servers and control channel in one loop.

In real time a cycle begins at its time on the wall: all that has arrived is read, the controller moves on by one
cycle, the packages go out. In lock step the packages go out at the same pace, but the arm stands still between the
commands that move it, so that no client ever takes the connection for dead.
"""

import os
import select
import socket
import time
from pathlib import Path

from pliant.envs.emulators.control import ControlServer, check_loopback, control_path
from pliant.envs.emulators.ur.controller import Controller
from pliant.envs.emulators.ur.dashboard import DASHBOARD_PORT, GREETING, Dashboard
from pliant.envs.emulators.ur.desk import Desk
from pliant.envs.emulators.ur.faults import Faults
from pliant.envs.emulators.ur.listening import TextServer
from pliant.envs.emulators.ur.rtde import RtdeServer
from pliant.envs.emulators.ur.script import take_scripts
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.envs.emulators.ur.variables import Number, Recipe

SCRIPT_PORT = 30003
SOCKET = "controller"
"""What the control socket is called after, in its folder."""
MOVING = frozenset({9, 10, 11, 24, 66})
"""Commands with which time passes in lock step: servoing, speeds, torques."""
_MOST_BEHIND = 0.02
"""Time that is made up for after a stall of this process, s. Beyond it cycles are lost: if many of them passed at
once, a watchdog would miss the client, whose commands come at their own pace."""
_BURST = 25
"""Cycles of a blocking command that pass at once in lock step."""


class UrEmulator:
    """An emulated controller on an address.

    Args:
        settings: the controller.
        host: loopback address that it serves.
        folder: where its control socket and its log are made.
    """

    def __init__(self, settings: ControllerSettings, host: str, folder: Path) -> None:
        check_loopback(host)
        self.controller = Controller(settings, folder)
        self.faults = Faults(self)
        self._lock_step = settings.pace == "lock_step"
        self._stopped = False
        self.lost = 0
        """Cycles that were left out because this process had no time."""
        self._closers: list[ControlServer | RtdeServer | TextServer] = []
        controller = self.controller
        try:
            self.rtde = RtdeServer(host, controller.version, controller.outputs, controller.inputs, self._input)
            self._closers.append(self.rtde)
            self._servers: list[RtdeServer | TextServer] = [self.rtde]
            self._serve_text(TextServer(host, SCRIPT_PORT, self._scripts))
            if controller.version.dashboard:
                self._serve_text(TextServer(host, DASHBOARD_PORT, Dashboard(controller).take, GREETING))
            self.desk = Desk(self)
            self._control = ControlServer(control_path(folder / SOCKET), self.desk.command)
            self._closers.append(self._control)
        except Exception:
            self.close()
            raise

    def run(self, parent: int | None = None) -> None:
        """Serve until `stop`, or until the process `parent` is no longer this one's parent."""
        try:
            if self._lock_step:
                self._run_in_lock_step(parent)
            else:
                self._run_in_real_time(parent)
        finally:
            self.close()

    def stop(self) -> None:
        """End `run` soon."""
        self._stopped = True

    def close(self) -> None:
        """Close everything that was opened."""
        for closer in self._closers:
            closer.close()
        self._closers.clear()
        self.controller.log.close()

    def cut(self) -> None:
        """Close every connection of the robot's own ports."""
        for server in self._servers:
            server.cut()

    def step(self, cycles: int) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            self.faults.tick(self.controller.cycles)
            self.controller.advance()
            self._publish()

    def _run_in_real_time(self, parent: int | None) -> None:
        cycle = self.controller.cycle
        most = max(round(_MOST_BEHIND / cycle), 1)
        deadline = time.monotonic() + cycle
        while not self._stopped and (parent is None or os.getppid() == parent):
            delay = deadline - time.monotonic()
            if delay > 0.0:
                time.sleep(delay)
            self._drain(0.0)
            self.faults.wait()
            behind = int((time.monotonic() - deadline) / cycle)
            if behind > most:
                self.lost += behind - most
                deadline += (behind - most) * cycle
            self.step(1)
            deadline += cycle

    def _run_in_lock_step(self, parent: int | None) -> None:
        controller = self.controller
        deadline = time.monotonic() + controller.cycle
        while not self._stopped and (parent is None or os.getppid() == parent):
            self._drain(max(deadline - time.monotonic(), 0.0))
            self.faults.wait()
            controller.start_now()
            controller.run_program()
            for _ in range(_BURST):
                if controller.program is None or not controller.program.busy:
                    break
                self.step(1)
            if time.monotonic() >= deadline:
                controller.report_state()
                self._publish()
                deadline = time.monotonic() + controller.cycle

    def _publish(self) -> None:
        self.rtde.publish(self.controller.cycles if not self._lock_step else 0, time.monotonic())

    def _drain(self, timeout: float) -> None:
        """Handle everything that has arrived; wait for it if nothing has."""
        waiting: list[socket.socket] = self._control.sockets()
        for server in self._servers:
            waiting += server.sockets()
        ready, _, _ = select.select(waiting, [], [], timeout)
        for source in ready:
            if source.fileno() < 0:  # closed by what came before it
                continue
            if not any(server.serve(source) for server in self._servers):
                self._control.serve(source)

    def _serve_text(self, server: TextServer) -> None:
        self._closers.append(server)
        self._servers.append(server)

    def _scripts(self, text: str) -> tuple[str, str]:
        left, scripts = take_scripts(text)
        for script in scripts:
            self.controller.load(script)
        return left, ""

    def _input(self, recipe: Recipe, values: tuple[Number, ...]) -> None:
        controller = self.controller
        controller.take_input(recipe, values)
        moving = controller.integer(0) in MOVING and controller.command_register in recipe.names
        if self._lock_step and moving and controller.program is not None:
            self.step(controller.settings.cycles_per_command)
