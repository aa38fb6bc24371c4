"""What the commands of a program act on."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pliant.envs.emulators.ur.motion import Motion, ProgramError
from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.poses import Array
from pliant.envs.emulators.ur.safety import SafetyMode
from pliant.envs.emulators.ur.versions import PolyScope


class ForceMode(NamedTuple):
    """Settings of force mode."""

    frame: Array
    selection: tuple[int, ...]
    wrench: Array
    limits: Array
    kind: int


class Machine(Protocol):
    """What commands act on: the controller."""

    version: PolyScope
    arm: NominalArm
    motion: Motion
    cycle: float
    joint_range: tuple[Array, Array]

    def double(self, register: int) -> float:
        """Return an input register of the program."""

    def integer(self, register: int) -> int:
        """Return an input register of the program."""

    def answer(self, values: Sequence[float] | Array, register: int = 0) -> None:
        """Write output registers."""

    def answer_integer(self, register: int, value: int) -> None:
        """Write an output register."""

    def position(self) -> Array:
        """Return the measured angles, rad."""

    def velocity(self) -> Array:
        """Return the measured speeds, rad/s."""

    def zero_force(self) -> None:
        """Take what the force sensor measures now as zero."""

    def set_force_mode(self, settings: ForceMode | None) -> None:
        """Begin or end force mode."""

    def set_free(self, axes: Sequence[int] | None) -> None:
        """Begin or end moving by hand."""

    def set_torque(self, torque: Array) -> None:
        """Command torques for the next cycle."""

    def arm_watchdog(self, frequency: float) -> None:
        """Stop the program when the command register is not written this often, Hz."""

    def trip(self, mode: SafetyMode, reason: str) -> None:
        """Stop by the safety system."""

    def torques(self) -> Array:
        """Return joint torques without what the arm itself needs, N·m."""


def numbers(machine: Machine, *registers: int) -> list[float]:
    """Return input registers of the program; raises `ProgramError` if one holds no finite number."""
    values = [machine.double(register) for register in registers]
    if not all(map(math.isfinite, values)):
        raise ProgramError("an argument is no number")
    return values


def vector(machine: Machine, register: int) -> Array:
    """Return six input registers from one on; raises like `numbers`."""
    return np.array(numbers(machine, *range(register, register + 6)))
