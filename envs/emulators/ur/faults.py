"""Faults of a controller and of the way to it, on command or at a cycle that is known beforehand."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.envs.emulators.ur.safety import SafetyMode
from pliant.envs.emulators.ur.variables import REGISTERS
from pliant.errors import ConfigurationError, check_bounds, check_count, unknown_name

if TYPE_CHECKING:
    from pliant.envs.emulators.ur.emulator import UrEmulator

_FOREVER = float("inf")
_DRIFT = (10.0, -5.0, 20.0, 0.5, 0.5, 0.2)


class Scheduled(NamedTuple):
    """Something that happens at a cycle."""

    cycle: int
    act: Callable[[], None]


class Faults:
    """The faults that a controller can be told to have.

    Args:
        emulator: that has them.
    """

    def __init__(self, emulator: "UrEmulator") -> None:
        self._emulator = emulator
        self._scheduled: list[Scheduled] = []
        self._frozen_until = 0.0
        self.begun: list[tuple[int, str]] = []
        """Faults that have begun: cycle and name."""
        self._kinds: Mapping[str, Callable[..., Callable[[], None] | None]] = {
            "mute": self._mute,
            "freeze": self._freeze,
            "cut": self._cut,
            "vanish": self._vanish,
            "late": self._late,
            "drop": self._drop,
            "protective_stop": self._protective_stop,
            "emergency_stop": self._emergency_stop,
            "local_control": self._local_control,
            "dead_program": self._dead_program,
            "register_clash": self._register_clash,
            "force_drift": self._force_drift,
            "speed_slider": self._speed_slider,
            "slot_busy": self._slot_busy,
        }

    def schedule(self, name: str, at: int | None = None, duration: float | None = None, **settings: float) -> int:
        """Have a fault; return the cycle at which it begins.

        Args:
            name: of the fault.
            at: cycle at which it begins; None: the next one.
            duration: s of the controller's time, of a fault that can end; None: it stays.
            settings: of the fault.
        """
        if name not in self._kinds:
            raise unknown_name("fault", name, self._kinds)
        if duration is not None:
            check_bounds("duration", duration, 0.0, 86400.0, "s")
        controller = self._emulator.controller
        cycle = controller.cycles if at is None else check_count("at", at, 0, 2**62)
        if cycle < controller.cycles:
            raise ConfigurationError(f"cycle {cycle} has gone by; now it is {controller.cycles}.")

        def act() -> None:
            self.begun.append((controller.cycles, name))
            end = self._kinds[name](**settings)
            if duration is not None and end is not None:
                self._add(controller.cycles + max(round(duration / controller.cycle), 1), end)

        if name == "freeze":
            settings = {"duration": 1.0 if duration is None else duration}
        if at is None:
            act()
        else:
            self._add(cycle, act)
        return cycle

    def tick(self, cycle: int) -> None:
        """Let begin and end what is due before the cycle after `cycle`."""
        while self._scheduled and self._scheduled[0].cycle <= cycle:
            self._scheduled.pop(0).act()

    def wait(self) -> None:
        """Stand still while frozen."""
        while (left := self._frozen_until - time.monotonic()) > 0.0:
            time.sleep(min(left, 0.05))

    def _add(self, cycle: int, act: Callable[[], None]) -> None:
        self._scheduled.append(Scheduled(cycle, act))
        self._scheduled.sort(key=lambda entry: entry.cycle)

    # Of the way to it

    def _mute(self) -> Callable[[], None]:
        """Nothing comes from the controller; what is sent to it arrives."""
        self._emulator.rtde.mute = True

        def end() -> None:
            self._emulator.rtde.mute = False

        return end

    def _drop(self) -> Callable[[], None]:
        """Nothing passes either way; the connections stay open, as when a cable is pulled."""
        rtde = self._emulator.rtde
        rtde.mute = rtde.deaf = True

        def end() -> None:
            rtde.mute = rtde.deaf = False

        return end

    def _late(self, delay: float = 0.03) -> Callable[[], None]:
        """Packages come late by `delay`, s."""
        self._emulator.rtde.delay = check_bounds("delay", delay, 0.0, 10.0, "s")

        def end() -> None:
            self._emulator.rtde.delay = 0.0

        return end

    def _freeze(self, duration: float) -> None:
        """The whole process stands still, arm included, for `duration`, s on the wall."""
        self._frozen_until = time.monotonic() + check_bounds("duration", duration, 0.0, 60.0, "s")

    def _cut(self) -> None:
        """All connections are closed; the program goes on, and clients may connect again."""
        self._emulator.cut()

    def _vanish(self) -> None:
        """The process is gone, without a word."""
        os.kill(os.getpid(), signal.SIGKILL)

    # Of the controller

    def _protective_stop(self) -> None:
        """The safety system stops the arm."""
        self._emulator.controller.trip(SafetyMode.PROTECTIVE_STOP, "a fault on command")

    def _emergency_stop(self) -> None:
        """Somebody hits the button."""
        self._emulator.controller.trip(SafetyMode.ROBOT_EMERGENCY_STOP, "the button on the pendant")

    def _local_control(self) -> None:
        """Somebody takes the pendant: the program ends, and none is accepted from outside."""
        controller = self._emulator.controller
        controller.remote_control = False
        controller.end_program("switched to local control")

    def _dead_program(self) -> None:
        """The program ends by itself."""
        self._emulator.controller.end_program("a fault on command")

    def _register_clash(self, first: float = 0, count: float = 24) -> Callable[[], None]:
        """A fieldbus writes input registers: who asks for them is told that they are in use."""
        rtde = self._emulator.rtde
        begin = check_count("first", int(first), 0, REGISTERS - 1)
        numbers = range(begin, min(begin + check_count("count", int(count), 1, REGISTERS), REGISTERS))
        taken = {f"input_{kind}_register_{n}" for n in numbers for kind in ("int", "double")}
        rtde.taken |= taken

        def end() -> None:
            rtde.taken -= taken

        return end

    def _force_drift(self, **wrench: float) -> Callable[[], None]:
        """The force sensor is off by fx, fy, fz, N, and tx, ty, tz, N·m, in base axes."""
        names = ("fx", "fy", "fz", "tx", "ty", "tz")
        for name in wrench:
            if name not in names:
                raise unknown_name("component", name, names)
        values = [check_bounds(name, wrench[name], -1e3, 1e3) if name in wrench else 0.0 for name in names]
        plant = self._emulator.controller.plant
        plant.drift(np.array(values if wrench else _DRIFT))

        def end() -> None:
            plant.drift(np.zeros(6))

        return end

    def _speed_slider(self, fraction: float = 0.5) -> Callable[[], None]:
        """Somebody moves the speed slider."""
        pins = self._emulator.controller.pins
        pins.slider = check_bounds("fraction", fraction, 0.0, 1.0)
        pins.report()

        def end() -> None:
            pins.slider = 1.0
            pins.report()

        return end

    def _slot_busy(self) -> Callable[[], None]:
        """A program started on the pendant occupies the controller."""
        controller = self._emulator.controller
        controller.end_program("replaced by a program on the pendant")
        controller.foreign = "pick_and_place.urp"
        return controller.free_slot
