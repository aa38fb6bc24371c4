"""From a robot's description to an arm of Universal Robots, real or emulated."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from pliant.envs.description import RobotDescription
from pliant.envs.emulated_ur import emulated_ur
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Robot
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur_arms import ur_arm

_E_SERIES = 0.002
"""Cycle of its controllers, s; a CB3 has a longer one."""
_TAKES_TORQUES = "5.26"
"""First PolyScope 5 that does."""


def ur_config(description: RobotDescription, host: str) -> URConfig:
    """Return how an arm is driven, from the few lines of its description.

    ::

        machine:
          controller: ur
          model: ur10e
          mode: position               # or torque, where the robot's commands are torques
          payload: {mass: 1.2, cog: [0, 0, 0.05]}
          tcp: [0, 0, 0.1, 0, 0, 0]

    Joints, ranges, resting values and period are the robot's own. Whatever else a `URConfig` has (`lookahead`,
    `gain`, `watchdog`, …) may be said too.

    Args:
        description: of the robot.
        host: address of the controller; empty: the machine's own `host`.

    Raises:
        ConfigurationError: the robot's commands are not those of the mode, or an entry does not exist.
    """
    info = description.simulated().info
    machine = dict(description.machine or {})
    settings = {key: value for key, value in machine.items() if key not in ("controller", "force_torque")}
    where = f"the machine of robot {info.name!r}"
    mode = settings.setdefault("mode", "position")
    wanted = [f"{joint}/{mode}" for joint in info.joints]
    if list(info.command_names) != wanted and mode in ("position", "torque"):
        raise ConfigurationError(
            f"{where} has the mode {mode!r}, so its commands would be {', '.join(wanted)}; the robot's are "
            f"{', '.join(info.command_names)}."
        )
    if mode == "torque" and ur_arm(str(settings.get("model", info.name))).period > _E_SERIES:
        raise ConfigurationError(
            f"{where} has the mode 'torque'; a CB3's controller takes no torques, those of the e-series and of "
            "PolyScope X from 5.26 and 10.10 on do. Say hardware=simulated, or take another arm (robot=ur10e)."
        )
    if mode not in ("position", "torque"):
        raise ConfigurationError(
            f"{where} has the mode {mode!r}: nothing that is learned or predicted commands that. Use position or "
            "torque here; velocity and tool are for programs of your own (pliant.hardware.ur.robot.URRobot)."
        )
    settings["host"] = host or settings.get("host") or ""
    try:
        return URConfig(
            **settings,
            name=info.name,
            joints=info.joints,
            period=info.period,
            low=info.low.tolist(),
            high=info.high.tolist(),
            rest=info.rest.tolist(),
            parameters=info.parameters,
            positions=[info.signals[info.signal(f"{joint}/position")] for joint in info.joints],
        )
    except TypeError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def real_ur(description: RobotDescription, config: DictConfig) -> Robot:
    """Return the arm at the address `host` of the command line, or of its machine."""
    host = str(config.get("host") or "")
    if not host and not (description.machine or {}).get("host"):
        raise ConfigurationError("say where the arm's controller is: host=192.168.1.10, for one.")
    return URRobot(ur_config(description, host))


def emulated(description: RobotDescription, config: DictConfig) -> Robot:
    """Return the arm with an emulated controller of its own, as `hardware.controller` describes it."""
    hardware: Any = OmegaConf.to_container(config.hardware, resolve=True)
    given = dict(hardware.get("controller") or {})
    # Its process builds the arm itself: a compiled model cannot be passed on.
    robot: Any = OmegaConf.to_container(config.robot, resolve=True)
    driven = ur_config(description, "127.0.0.2")
    if given.get("polyscope") is None:
        given["polyscope"] = _version(driven)
    compiled = description.simulated().compiled
    given.setdefault("start", compiled.qpos[compiled.positions].tolist())
    try:
        settings = ControllerSettings(robot=robot, gap=Gap(**(given.pop("gap", None) or {})), **given)
    except TypeError as error:
        raise ConfigurationError(f"hardware.controller: {error}") from error
    return emulated_ur(driven, settings)


def _version(driven: URConfig) -> str:
    """PolyScope of an emulated arm that can do what it is to do."""
    if driven.cycle > _E_SERIES:
        return "3.15"
    return _TAKES_TORQUES if driven.mode == "torque" else "5.22"
