"""What a person does with an arm before a program does: look, unlock, lead it by hand."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pliant.errors import RobotError, ShapeError
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.dashboard import Dashboard
from pliant.hardware.ur.preflight import (
    PLAYING,
    PROTECTIVE_BIT,
    ROBOT_MODES,
    SAFETY_MODES,
    has_dashboard,
    has_freedrive,
    preflight,
)
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur.rtde import Session, look
from pliant.hardware.ur.supervisor import UPLOAD_TIME

UNLOCK_TIME: Final = 10.0
"""How long the safety system may take to release a protective stop, s."""
_HAND_WATCHDOG: Final = 0.5
"""Silence of this program after which the arm is held again, s."""
_VALUES: Final = (
    *(
        "robot_mode",
        "safety_mode",
        "runtime_state",
        "payload",
        "payload_cog",
        "tcp_offset",
        "target_speed_fraction",
    ),
    *("actual_q", "actual_TCP_pose", "actual_TCP_force", "joint_temperatures"),
)


def look_at(host: str) -> Mapping[str, object]:
    """Return what a controller tells of itself and its arm, names with their units; changes nothing.

    Raises:
        RobotError: nobody answers.
    """
    with Session(host) as session:
        version = session.version()
        values = session.values(_VALUES)
    found: dict[str, object] = {"polyscope": str(version)}
    if has_dashboard(version):
        with Dashboard(host) as board:
            if version[:2] >= (5, 6):
                found["serial_number"] = board.ask("get serial number")
                found["remote_control"] = board.ask("is in remote control")
    number = {
        name: int(values[name][0]) for name in ("robot_mode", "safety_mode", "runtime_state") if name in values
    }
    found["robot_mode"] = ROBOT_MODES.get(number.get("robot_mode", -1), "unknown")
    found["safety_mode"] = SAFETY_MODES.get(number.get("safety_mode", 0), "unknown")
    found["program"] = "running" if number.get("runtime_state") == PLAYING else "none"
    names = {
        "payload": "payload_kg",
        "payload_cog": "payload_centre_m",
        "tcp_offset": "tcp_m_rad",
        "target_speed_fraction": "speed_slider",
        "actual_q": "joints_rad",
        "actual_TCP_pose": "tool_m_rad",
        "actual_TCP_force": "wrench_N_Nm",
        "joint_temperatures": "joint_temperatures_celsius",
    }
    for name, told in names.items():
        if name in values:
            found[told] = values[name][0] if len(values[name]) == 1 else list(values[name])
    return found


def unlock(host: str) -> None:
    """Release a protective stop, for the operator who has found its cause. Nothing moves.

    Raises:
        RobotError: there is none, the controller refuses (in the first 5 s), or has no dashboard (PolyScope X).
    """
    with Session(host) as session:
        version = session.version()
    if not has_dashboard(version):
        raise RobotError(f"PolyScope {version} is unlocked on the pendant only: press Enable Robot there.")
    if not _stopped(host):
        raise RobotError(f"the controller at {host} is in no protective stop.")
    with Dashboard(host) as board:
        board.ask("close safety popup")
        answer = board.ask("unlock protective stop")
    if "releasing" not in answer.lower():
        raise RobotError(f"the controller at {host} does not unlock: {answer}.")
    deadline = time.monotonic() + UNLOCK_TIME
    while _stopped(host):
        if time.monotonic() > deadline:
            raise RobotError(f"the protective stop at {host} was not released within {UNLOCK_TIME:g} s.")
        time.sleep(0.1)


def lead_by_hand(config: URConfig, ended: Callable[[], bool], axes: Sequence[int] = (1,) * 6) -> None:
    """Let the arm be led by hand until `ended` says so; then it is held. It is held too when this program dies.

    Args:
        config: the arm.
        ended: asked twenty times a second.
        axes: of the base (x, y, z, and about them): 1 where it gives way, 0 where it is held. CB3 has all free.

    Raises:
        RobotError: the arm may not be driven, or its version of PolyScope has no freedrive that works.
    """
    free = list(axes)
    if len(free) != 6 or not set(free) <= {0, 1}:
        raise ShapeError(f"axes is {axes!r}; six of 0 and 1 are needed.")
    found = preflight(config)
    if not has_freedrive(found.version):
        found.refusals.append(f"freedrive fails on PolyScope {found.version}; 5.12.4 and later have it again.")
    found.raise_if_refused(f"the arm at {config.host}")
    robot = URRobot(config)
    supervisor = robot.supervisor
    robot.connect()
    try:
        supervisor.call("upload", UPLOAD_TIME)
        supervisor.moving = True
        supervisor.call("arm", frequency=1 / _HAND_WATCHDOG)
        if not supervisor.call("freedrive", axes=free):
            raise RobotError(f"the controller at {config.host} does not begin freedrive.")
        try:
            while not ended():
                supervisor.call("kick")
                if int(supervisor.state()["runtime_state"][0]) != PLAYING:
                    raise RobotError("the program on the controller has ended; the arm is held.")
                time.sleep(0.05)
        finally:
            supervisor.call("end_freedrive")
            supervisor.moving = False
    finally:
        robot.close()


def _stopped(host: str) -> bool:
    values = look(host, ["safety_mode", "safety_status_bits"])
    bits = int(values.get("safety_status_bits", (0.0,))[0])
    return bool(bits >> PROTECTIVE_BIT & 1) or int(values.get("safety_mode", (1.0,))[0]) == 3
