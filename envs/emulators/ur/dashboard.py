"""The dashboard server: lines of text, as the pendant's buttons for whoever connects.

Answers follow Universal Robots' dashboard manual; commands that are not in the table are answered as unknown.
"""

from collections.abc import Callable

from pliant.envs.emulators.ur.controller import Controller
from pliant.envs.emulators.ur.safety import RobotMode, SafetyMode
from pliant.errors import RobotError

DASHBOARD_PORT = 29999
GREETING = "Connected: Universal Robots Dashboard Server\n"
_REMOTE_ONLY = ("stop", "play", "power on", "power off", "brake release", "unlock protective stop", "pause")
_SAFETY_NAMES = {
    SafetyMode.NORMAL: "NORMAL",
    SafetyMode.PROTECTIVE_STOP: "PROTECTIVE_STOP",
    SafetyMode.ROBOT_EMERGENCY_STOP: "ROBOT_EMERGENCY_STOP",
    SafetyMode.FAULT: "FAULT",
}


class Dashboard:
    """Answers lines.

    Args:
        controller: they are about.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._answers: dict[str, Callable[[], str]] = {
            "polyscopeversion": self._version,
            "version": self._version,
            "get serial number": lambda: self._controller.settings.serial_number,
            "get robot model": lambda: self._controller.arm.parameters.name.upper().rstrip("E"),
            "is in remote control": lambda: str(self._controller.remote_control).lower(),
            "get operational mode": lambda: "NONE",
            "robotmode": lambda: f"Robotmode: {self._controller.safety.robot_mode.name}",
            "safetymode": self._safety,
            "safetystatus": lambda: self._safety().replace("Safetymode", "Safetystatus"),
            "running": lambda: f"Program running: {str(bool(self._controller.runtime_state == 2)).lower()}",
            "programstate": self._program_state,
            "stop": self._stop,
            "play": lambda: "Failed to execute: play",
            "power on": self._power_on,
            "power off": self._power_off,
            "brake release": self._brake_release,
            "unlock protective stop": self._unlock,
            "close popup": lambda: "closing popup",
            "close safety popup": lambda: "closing safety popup",
            "restart safety": self._restart_safety,
            "quit": lambda: "Disconnected",
        }

    def take(self, text: str) -> tuple[str, str]:
        """Return what is left of a client's text, and the answers to its complete lines."""
        *lines, left = text.split("\n")
        return left, "".join(f"{self._answer(line.strip())}\n" for line in lines)

    def _answer(self, line: str) -> str:
        name = line.lower()
        if name not in self._answers:
            return f"could not understand: '{line}'"
        controller = self._controller
        if controller.version.remote_control and not controller.remote_control and name in _REMOTE_ONLY:
            return f"Command is not allowed in local control: {name}"
        return self._answers[name]()

    def _version(self) -> str:
        version = self._controller.version
        return f"URSoftware {version.major}.{version.minor}.{version.bugfix}.{version.build} (emulated)"

    def _safety(self) -> str:
        return f"Safetymode: {_SAFETY_NAMES[self._controller.safety.mode]}"

    def _program_state(self) -> str:
        controller = self._controller
        name = controller.foreign or "<unnamed>"
        return f"{'PLAYING' if controller.runtime_state == 2 else 'STOPPED'} {name}"

    def _stop(self) -> str:
        if self._controller.foreign:
            return "Failed to execute: stop"
        self._controller.end_program("stopped by the dashboard")
        return "Stopped"

    def _power_on(self) -> str:
        safety = self._controller.safety
        if safety.mode == SafetyMode.NORMAL and safety.robot_mode == RobotMode.POWER_OFF:
            safety.robot_mode = RobotMode.IDLE
        return "Powering on"

    def _power_off(self) -> str:
        self._controller.power_off()
        return "Powering off"

    def _brake_release(self) -> str:
        safety = self._controller.safety
        if safety.mode == SafetyMode.NORMAL:
            safety.robot_mode = RobotMode.RUNNING
        return "Brake releasing"

    def _unlock(self) -> str:
        try:
            self._controller.unlock()
        except RobotError:
            if self._controller.safety.mode == SafetyMode.PROTECTIVE_STOP:
                return (
                    "Cannot unlock protective stop until 5s after occurrence. Always inspect cause of protective "
                    "stop before unlocking"
                )
        return "Protective stop releasing"

    def _restart_safety(self) -> str:
        self._controller.restart_safety()
        return "Restarting safety"
