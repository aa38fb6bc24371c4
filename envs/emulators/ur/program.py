"""The program that runs on the controller: the client's handshake through registers, and its watchdog.

The client writes a command into its integer register 0. The program answers there with READY or DONE: a real-time
command is carried out every cycle and leaves it READY; any other is carried out once, answered by DONE, and READY
follows when the register is 0 again.
"""

from pliant.envs.emulators.ur.commands import REAL_TIME, STOP_PROGRAM, Commands
from pliant.envs.emulators.ur.machine import Machine
from pliant.envs.emulators.ur.moves import Work
from pliant.envs.emulators.ur.script import Script

READY, DONE = 1, 2


class Watchdog:
    """Counts cycles without a write to the command register; see `rtde_set_watchdog` of URScript."""

    def __init__(self, frequency: float, cycle: float) -> None:
        self.period = 1.0 / frequency
        """Longest time between two writes, s."""
        self._cycle = cycle
        self._silent = 0.0

    def fed(self) -> None:
        """Take note of a write."""
        self._silent = 0.0

    def tick(self) -> bool:
        """Let a cycle pass; return whether it was one too many."""
        self._silent += self._cycle
        return self._silent > self.period + 0.5 * self._cycle


class Program:
    """The client's program while it runs.

    Args:
        machine: the controller.
        script: what was uploaded.
    """

    def __init__(self, machine: Machine, script: Script) -> None:
        self._machine = machine
        self._commands = Commands(machine, script)
        self._work: Work | None = None
        self._executed = False
        self.command = 0
        """What stands in the command register."""
        machine.answer_integer(0, READY)

    @property
    def busy(self) -> bool:
        """Whether it is in the middle of a command that takes its time."""
        return self._work is not None

    def step(self) -> bool:
        """Run for a cycle; return False when the program has ended. Raises `ProgramError` if it dies."""
        machine = self._machine
        self._commands.step()
        if self._work is not None:
            if next(self._work, self) is self:
                self._work = None
                machine.answer_integer(0, DONE)
            return True
        self.command = command = machine.integer(0)
        if command == STOP_PROGRAM:
            return False
        if command in REAL_TIME:
            self._commands.begin(command)
            machine.answer_integer(0, READY)
        elif command == 0:
            self._executed = False
            machine.answer_integer(0, READY)
        elif not self._executed:
            self._executed = True
            self._work = self._commands.begin(command)
            if self._work is None:
                machine.answer_integer(0, DONE)
        return True
