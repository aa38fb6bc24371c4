"""The control channel's commands: what a test or a person does to a controller while something drives it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.envs.emulators.control import carry_out
from pliant.envs.emulators.ur.safety import RobotMode, SafetyMode
from pliant.errors import ConfigurationError, RobotError, ShapeError, check_count, unknown_name

if TYPE_CHECKING:
    from pliant.envs.emulators.ur.emulator import UrEmulator


class Desk:
    """Carries out commands by name.

    Args:
        emulator: they act on.
    """

    def __init__(self, emulator: "UrEmulator") -> None:
        self._emulator = emulator
        self._controller = emulator.controller
        self._commands: dict[str, Callable[..., object]] = {
            "state": self._state,
            "fault": emulator.faults.schedule,
            "press": self._press,
            "push": self._push,
            "step": self._step,
            "set_input": self._controller.pins.set_input,
            "set_analog_input": self._controller.pins.set_analog_input,
            "stop": emulator.stop,
        }
        self._buttons: dict[str, Callable[[], None]] = {
            "unlock": self._controller.unlock,
            "remote_control": lambda: self._remote(True),
            "local_control": lambda: self._remote(False),
            "emergency_stop": lambda: self._controller.trip(
                SafetyMode.ROBOT_EMERGENCY_STOP, "the button on the pendant"
            ),
            "release_emergency_stop": self._release,
            "power_on": self._power_on,
            "power_off": self._controller.power_off,
            "stop": lambda: self._controller.end_program("stopped on the pendant"),
            "free_slot": self._controller.free_slot,
        }

    def command(self, name: str, arguments: dict[str, object]) -> object:
        """Carry out a command; raises `PliantError` where it cannot be."""
        return carry_out(self._commands, name, arguments)

    def _press(self, button: str) -> None:
        """Do what an operator does on the pendant."""
        if button not in self._buttons:
            raise unknown_name("button", button, self._buttons, "the pendant")
        self._buttons[button]()

    def _remote(self, remote: bool) -> None:
        if not remote:
            self._controller.end_program("switched to local control")
        self._controller.remote_control = remote

    def _release(self) -> None:
        safety = self._controller.safety
        if safety.mode != SafetyMode.ROBOT_EMERGENCY_STOP:
            raise RobotError("the emergency stop is not pressed.")
        safety.mode = SafetyMode.NORMAL

    def _power_on(self) -> None:
        safety = self._controller.safety
        if safety.mode != SafetyMode.NORMAL:
            raise RobotError(f"the arm cannot be switched on: {safety.reason}.")
        safety.robot_mode = RobotMode.RUNNING

    def _push(self, wrench: list[float]) -> None:
        """Push on the flange with a force, N, and a torque, N·m, in base axes, until told otherwise."""
        values = np.array(wrench, dtype=float)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise ShapeError("a push is six finite numbers: force, N, and torque, N·m.")
        self._controller.plant.push = values

    def _step(self, cycles: int = 1) -> int:
        """In lock step: let cycles pass; return how many have passed since the start."""
        if self._controller.settings.pace != "lock_step":
            raise ConfigurationError("cycles are stepped in lock step only; in real time they pass by themselves.")
        self._emulator.step(check_count("cycles", cycles, 1, 100_000))
        return self._controller.cycles

    def _state(self) -> dict[str, object]:
        controller, rtde = self._controller, self._emulator.rtde
        outputs = controller.outputs
        return {
            "cycle": controller.cycles,
            "time": controller.time,
            "timestamp": outputs.get("timestamp"),
            "q": controller.plant.q.tolist(),
            "qd": controller.plant.qd.tolist(),
            "target_q": (controller.motion.q).tolist(),
            "target_qd": controller.motion.qd.tolist(),
            "wrench": controller.force.wrench.tolist(),
            "moved_by": controller.motion.owner,
            "program": controller.program is not None,
            "programs": controller.programs,
            "program_ended": controller.reason,
            "runtime_state": int(controller.runtime_state),
            "robot_mode": int(controller.safety.robot_mode),
            "safety_mode": int(controller.safety.mode),
            "safety_reason": controller.safety.reason,
            "remote_control": controller.remote_control,
            "watchdog": controller.watchdog_period,
            "speed_scaling": controller.scaling,
            "tcp": controller.arm.tcp.tolist(),
            "payload": controller.arm.payload,
            "digital_outputs": controller.pins.digital,
            "analog_outputs": controller.pins.analog,
            "clients": rtde.clients,
            "packages": rtde.packages,
            "malformed": rtde.malformed,
            "lost_cycles": self._emulator.lost,
            "faults": [list(entry) for entry in self._emulator.faults.begun],
        }
