"""What is asked of a controller before the first motion; every refusal says what to press on the pendant."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pliant.errors import RobotError
from pliant.hardware.ur.config import Payload, URConfig
from pliant.hardware.ur.dashboard import Dashboard
from pliant.hardware.ur.rtde import Session, Version

ROBOT_MODES: Final[Mapping[int, str]] = {
    **{-1: "no controller", 0: "disconnected", 1: "confirm safety", 2: "booting", 3: "power off", 4: "power on"},
    **{5: "idle", 6: "backdrive", 7: "running", 8: "updating firmware"},
}
SAFETY_MODES: Final[Mapping[int, str]] = {
    **{1: "normal", 2: "reduced", 3: "protective stop", 4: "recovery", 5: "safeguard stop"},
    **{6: "system emergency stop", 7: "robot emergency stop", 8: "violation", 9: "fault"},
    **{10: "joint validation", 11: "undefined", 12: "safeguard stop (automatic mode)"},
    13: "three-position enabling stop",
}
RUNNING: Final = 7
NORMAL: Final = (1, 2)
PLAYING: Final = 2
PROTECTIVE_BIT: Final = 2
EMERGENCY_BIT: Final = 7
REGISTERS: Final = (
    *(f"input_int_register_{k}" for k in range(8)),
    *(f"input_double_register_{k}" for k in range(18)),
)
"""Inputs that the client writes; whoever else writes them commands the arm."""
PAYLOAD_TOLERANCE: Final = 0.05
"""kg"""
LENGTH_TOLERANCE: Final = 1e-3
"""m; of rotations the same in rad."""
STEADY_SPEED: Final = 0.005
"""Fastest joint of an arm that stands still, rad/s."""
LARGEST_UNKNOWN_FORCE: Final = 5.0
"""Force on the tool above which the sensor is not zeroed: what presses would push back afterwards, N."""

_CURE: Final[Mapping[int, str]] = {
    2: "wait until it has booted",
    3: "press the power button bottom left, then ON and START",
    4: "press START (brakes)",
    5: "press START to release the brakes",
    6: "leave backdrive",
    1: "confirm the safety configuration",
}
_SAFETY_CURE: Final[Mapping[int, str]] = {
    3: "find its cause, wait 5 s, then press Enable Robot, or: pliant ur unlock host={host}",
    4: "move the arm back inside its limits by hand (recovery)",
    5: "close the safeguard, then press Reset",
    6: "release the emergency stop of the system, then ON and START",
    7: "release the emergency stop button, then ON and START",
    8: "restart the safety system (red dot, Restart)",
    9: "restart the safety system (red dot, Restart)",
    12: "close the safeguard",
    13: "hold the enabling device",
}


@dataclass
class Findings:
    """What a look at a controller has found."""

    version: Version
    values: Mapping[str, tuple[float, ...]]
    """Present values by the controller's names."""
    serial_number: str = ""
    refusals: list[str] = field(default_factory=list)
    """Why nothing may move, each with its cure."""
    warnings: list[str] = field(default_factory=list)

    def raise_if_refused(self, name: str) -> None:
        """Raise `RobotError` with every refusal."""
        if self.refusals:
            raise RobotError(f"{name} may not move:\n  - " + "\n  - ".join(self.refusals))


def version_problem(version: Version) -> str:
    """Return why the client does not work with a version of PolyScope; empty if it does."""
    number = version[:2]
    if number == (5, 3):
        return f"PolyScope {version} brings the client down; update it (5.11 and later are known to work)."
    if (10, 7) <= number <= (10, 9):
        return f"on PolyScope {version} the client uploads nothing; update to 10.10 or later."
    if version.major < 3 or version.major in (4, 6, 7, 8, 9):
        return f"PolyScope {version} is not known."
    return ""


def has_dashboard(version: Version) -> bool:
    """Return whether there is a dashboard: not on PolyScope X."""
    return version.major < 10


def has_direct_torque(version: Version) -> bool:
    """Return whether torques can be commanded; where they cannot, the client says that they were."""
    return (5, 26) <= version[:2] < (6, 0) or version[:2] >= (10, 10)


def has_freedrive(version: Version) -> bool:
    """Return whether freedrive works: on 5.12.0 to 5.12.3 it fails."""
    return not (version[:2] == (5, 12) and version.bugfix <= 3)


def preflight(config: URConfig) -> Findings:
    """Look at a controller before the first motion.

    Raises:
        RobotError: it does not answer.
    """
    with Session(config.host) as session:
        version = session.version()
        found = Findings(version, {})
        if problem := version_problem(version):
            found.refusals.append(problem)
            return found
        busy = session.in_use(REGISTERS)
    with Session(config.host) as session:
        found.values = session.values(
            (
                *("robot_mode", "safety_mode", "safety_status_bits", "runtime_state", "actual_qd", "actual_q"),
                *("payload", "payload_cog", "tcp_offset", "target_speed_fraction", "actual_TCP_force"),
            )
        )
    _check_modes(config, found)
    if has_dashboard(version):
        _check_dashboard(config, found)
    if busy:
        found.refusals.append(
            f"input registers are in use ({', '.join(busy[:3])}{', …' if len(busy) > 3 else ''}): a fieldbus "
            "(Installation → Fieldbus: disable PROFINET, EtherNet/IP, MODBUS), a second client (the ROS driver, "
            "another program of this kind) or a gripper's URCap owns them. End it, or remove the URCap."
        )
    if config.mode == "torque" and not has_direct_torque(version):
        found.refusals.append(
            f"PolyScope {version} takes no torques; 5.26 or 10.10 and later do. Use mode=position or velocity."
        )
    if (version.major < 5) != (config.cycle > 0.005):
        kind = "a CB3" if config.cycle > 0.005 else "an e-series"
        found.refusals.append(
            f"the controller has PolyScope {version}, but a {config.model} has {kind} controller: say which arm "
            "it is, robot=ur10 or robot=ur10e."
        )
    _check_installation(config, found)
    _warn(config, found)
    return found


def condition(host: str, robot_mode: int, safety_mode: int, bits: int) -> str:
    """Return why an arm in these modes does not move, with the cure; empty if it may."""
    if bits >> PROTECTIVE_BIT & 1 or safety_mode == 3:
        return f"protective stop; {_SAFETY_CURE[3].format(host=host)}."
    if bits >> EMERGENCY_BIT & 1 or safety_mode in (6, 7):
        return f"emergency stop; {_SAFETY_CURE[7 if safety_mode != 6 else 6]}."
    if safety_mode not in NORMAL:
        cure = _SAFETY_CURE.get(safety_mode, "look at the pendant").format(host=host)
        return f"safety mode {SAFETY_MODES.get(safety_mode, safety_mode)}; {cure}."
    if robot_mode != RUNNING:
        cure = _CURE.get(robot_mode, "look at the pendant")
        return f"the arm is not running ({ROBOT_MODES.get(robot_mode, robot_mode)}); on the pendant, {cure}."
    return ""


def _one(found: Findings, name: str, default: float) -> float:
    return found.values.get(name, (default,))[0]


def _check_modes(config: URConfig, found: Findings) -> None:
    bits = int(_one(found, "safety_status_bits", 1))
    problem = condition(config.host, int(_one(found, "robot_mode", -1)), int(_one(found, "safety_mode", 1)), bits)
    if problem:
        found.refusals.append(problem)
    if int(_one(found, "runtime_state", 1)) == PLAYING:
        found.refusals.append(
            "a program is running already: of the pendant, or of another client. Press the stop button, or end it."
        )


def _check_dashboard(config: URConfig, found: Findings) -> None:
    try:
        with Dashboard(config.host) as board:
            if found.version[:2] < (5, 6):
                return
            found.serial_number = board.ask("get serial number")
            remote = board.ask("is in remote control").lower() == "true"
    except RobotError as error:
        found.refusals.append(str(error))
        return
    if not remote:
        found.refusals.append(
            "local control; press the tablet symbol top right and choose Remote Control (Settings → System → "
            "Remote "
            "Control switches it on first)."
        )


def _check_installation(config: URConfig, found: Findings) -> None:
    """Compare payload and TCP with the configuration: a wrong payload makes the arm jump, a wrong TCP lie."""
    payload = config.payload
    if isinstance(payload, Payload):
        if "payload" not in found.values:
            found.warnings.append(f"PolyScope {found.version} does not tell its payload; look yourself.")
        else:
            mass = found.values["payload"][0]
            off = abs(mass - payload.mass)
            if off > PAYLOAD_TOLERANCE:
                found.refusals.append(
                    f"the controller carries {mass:g} kg, {payload.mass:g} kg are configured; set Installation → "
                    "Payload, or robot.machine.payload."
                )
            cog = found.values.get("payload_cog")
            if cog is not None and payload.mass > 0 and math.dist(cog, payload.cog) > 10 * LENGTH_TOLERANCE:
                found.refusals.append(
                    f"the controller's payload has its centre at {_text(cog)} m, {_text(payload.cog)} m are "
                    f"configured; "
                    "set Installation → Payload, or robot.machine.payload."
                )
    if config.tcp is not None:
        there = found.values.get("tcp_offset")
        if there is None:
            found.warnings.append(f"PolyScope {found.version} does not tell its TCP; look yourself.")
        elif not np.allclose(there, config.tcp, rtol=0, atol=LENGTH_TOLERANCE):
            found.refusals.append(
                f"the controller's TCP is {_text(there)}, {_text(config.tcp)} is configured (m and rotation "
                f"vector); "
                "set Installation → TCP, or robot.machine.tcp."
            )


def _warn(config: URConfig, found: Findings) -> None:
    speeds = found.values.get("actual_qd", (0.0,))
    if max(map(abs, speeds)) > 10 * STEADY_SPEED:
        found.refusals.append("the arm moves; wait until it stands still.")
    slider = _one(found, "target_speed_fraction", 1.0)
    if slider < 0.02:
        found.refusals.append("the speed slider stands at 0; move it up (bottom of the Run screen).")
    elif slider < 0.999:
        found.warnings.append(f"the speed slider stands at {slider:.0%}: everything is slowed to that.")
    force = found.values.get("actual_TCP_force")
    if force is not None and math.hypot(*force[:3]) > LARGEST_UNKNOWN_FORCE:
        found.warnings.append(
            f"{math.hypot(*force[:3]):.0f} N act on the tool, and the start of the client's program zeroes the "
            f"force "
            "sensor: measured forces will be wrong by as much. Let the tool hang free."
        )
    if found.version.major >= 10:
        found.warnings.append(
            "PolyScope X: the application must allow external control (Application → External Control)."
        )


def _text(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"
