"""From one word to a machine: a robot's description as a simulation, an emulated bus, or the real thing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig

from pliant.conf.build import build, own_class
from pliant.controllers.servo_sensing import ServoTorqueSensing
from pliant.deployment.force_torque import with_force_torque
from pliant.deployment.ur_machine import emulated, real_ur
from pliant.envs.description import RobotDescription, described
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.driver import Driver
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.dynamixel.watching import ServoLimits
from pliant.hardware.robot import Robot, RobotInfo

Maker = Callable[[RobotDescription, DictConfig], Robot]

_DYNAMIXEL = ("bus", "model", "servos", "encoders", "force_torque")
"""Entries of a machine that are not those of a `DynamixelConfig`."""


def machine(config: DictConfig) -> Robot:
    """Return the machine that `hardware` names, of the robot that `robot` describes.

    Args:
        config: with the nodes `robot` and `hardware`, and the `port` or `host`.

    Raises:
        UnknownNameError: no such kind of hardware, bus or controller, or a joint that the robot does not have.
        ConfigurationError: the description says of no machine, or what does not go together.
    """
    kind = config.hardware.get("kind")
    if kind not in _KINDS:
        raise unknown_name("kind of hardware", kind, _KINDS, "hardware.kind")
    description = described(config.robot)
    if kind == "simulated":
        return description.simulated()
    return with_force_torque(_maker(description, kind)(description, config), description)


def _maker(description: RobotDescription, kind: str) -> Maker:
    """What makes a real or emulated machine of the kind that a description tells of."""
    machine = description.machine if isinstance(description.machine, Mapping) else {}
    if "driver" in machine:
        return _own
    name, entry = description.model.name, next((entry for entry in _MAKERS if entry in machine), None)
    if entry is None:
        raise ConfigurationError(
            f"robot {name!r} describes no machine, so only hardware=simulated is there. Say what drives it: "
            "++robot.machine={bus: dynamixel, model: XM430-W350, servos: {JOINT: 1}}, of an arm of Universal "
            "Robots {controller: ur, model: ur10e}, with a driver of your own {driver: 'module:Class'}."
        )
    if machine[entry] not in _MAKERS[entry]:
        raise unknown_name(entry, machine[entry], _MAKERS[entry], f"the machine of robot {name!r}")
    return _MAKERS[entry][machine[entry]][kind]


def _dynamixel(description: RobotDescription, config: DictConfig) -> Robot:
    servos = dynamixel_config(description, str(config.port))
    return _sensing(DynamixelRobot(servos), servos)


def _emulated_dynamixel(description: RobotDescription, config: DictConfig) -> Robot:
    hardware = config.hardware
    gap = build(hardware.gap, "hardware.gap") if hardware.get("gap") else None
    step = float(description.model.spec.option.timestep)
    behind = description.lying.simulated(step, randomisation=gap, transaction=0.0)  # the bus takes its own time
    servos = dynamixel_config(description, str(config.port))
    robot = EmulatedRobot(
        servos,
        behind,
        lock_step=bool(hardware.lock_step),
        latency=float(hardware.latency),
        goal_delay=float(hardware.goal_delay),
        supply=None if hardware.supply is None else float(hardware.supply),
    )
    return _sensing(robot, servos)


def _own(description: RobotDescription, config: DictConfig) -> Robot:
    """A machine with a driver of one's own, `{driver: "mymodule:MyDriver", host: 192.168.1.5}`.

    Its class is given the robot's `info`, the further entries, and `host` and `port` where the command line has
    them.
    """
    where = f"the machine of robot {description.model.name!r}"
    settings = {key: value for key, value in (description.machine or {}).items() if key != "force_torque"}
    path = str(settings.pop("driver"))
    if config.hardware.kind == "emulated":
        raise ConfigurationError(
            f"{where} is driven by {path}, which no emulator is known for: hardware=simulated is the dry run, "
            "hardware=real the machine, or what stands in for it at its address."
        )
    settings |= {key: config[key] for key in ("host", "port") if config.get(key)}
    driver = own_class(path, Robot, where)  # type: ignore[type-abstract]
    try:
        made = driver(info=description.simulated().info, **settings)  # type: ignore[call-arg]
    except TypeError as error:
        raise ConfigurationError(f"{where}: {path}: {error}.") from error
    if isinstance(made, Driver) and not hasattr(made, "overruns"):
        raise ConfigurationError(f"{where}: {path}: its constructor has to call super().__init__(info).")
    return made


def _sensing(robot: Robot, config: DynamixelConfig) -> Robot:
    """A machine of servos, with the torques that those can be told of that measure none."""
    sensing = ServoTorqueSensing(robot, config)
    return sensing if sensing.estimated else robot


def torques_that_nothing_tells(description: RobotDescription) -> list[str]:
    """Joints of Dynamixel servos whose torque nothing tells: no current, spring or estimate.

    Raises:
        ConfigurationError, UnknownNameError: as `dynamixel_config`.
    """
    if "bus" not in (description.machine or {}):
        return []
    config = dynamixel_config(description, "")
    robot = _sensing(DynamixelRobot(config), config)
    blind = robot.unmeasured - robot.estimated
    return [joint.name for joint in config.joints if f"{joint.name}/torque" in blind and not joint.compliant]


_KINDS = ("simulated", "emulated", "real")
_MAKERS: Mapping[str, Mapping[str, Mapping[str, Maker]]] = {
    "bus": {"dynamixel": {"real": _dynamixel, "emulated": _emulated_dynamixel}},
    "controller": {"ur": {"real": real_ur, "emulated": emulated}},
}
"""What makes a machine, by the entry of its description that says what drives it, and by the kind of hardware."""


def dynamixel_config(description: RobotDescription, port: str) -> DynamixelConfig:
    """Return the servos that drive a robot, from the few lines of its description.

    ::

        machine:
          bus: dynamixel
          model: XM430-W350            # of every servo that says nothing else
          servos: {hip: 1, knee: {servo: 2, direction: -1, gear: 2.0}, ankle: [3, {servo: 4, direction: -1}]}
          encoders: {ankle: 5}

    A joint behind springs (with a column `equilibrium`) has one servo, or two where it has a stiffness preset too.
    Ranges and resting values are those of the robot's command columns. Whatever else a `DynamixelConfig` has
    (`baud_rate`, `watchdog`, …) may be said too.

    Args:
        description: of the robot.
        port: serial device; empty for an emulated bus of its own.

    Raises:
        ConfigurationError: a column cannot be driven by servos.
        UnknownNameError: a joint or entry that does not exist.
    """
    machine, info = description.machine, description.simulated().info
    assert isinstance(machine, Mapping)
    servos, encoders = dict(machine.get("servos") or {}), dict(machine.get("encoders") or {})
    for name in (*servos, *encoders):
        if name not in info.joints:
            raise unknown_name("joint", name, info.joints, f"the machine of robot {info.name!r}")
    model = machine.get("model")
    joints = [
        _joint(info, name, _mounts(name, servos[name], model), encoders.get(name), model)
        for name in info.joints
        if name in servos
    ]
    settings = {key: value for key, value in machine.items() if key not in _DYNAMIXEL}
    try:
        if isinstance(settings.get("limits"), Mapping):
            settings["limits"] = ServoLimits(**settings["limits"])
        return DynamixelConfig(
            joints=joints,
            port=port,
            name=info.name,
            period=info.period,
            parameters=info.parameters,
            positions=[info.signals[info.signal(f"{joint.name}/position")] for joint in joints],
            **settings,
        )
    except TypeError as error:
        raise ConfigurationError(f"machine of robot {info.name!r}: {error}") from error


def _mounts(joint: str, entry: Any, model: str | None) -> list[ServoMount]:
    return [_mount(joint, one, model) for one in (entry if isinstance(entry, Sequence | list) else [entry])]


def _mount(joint: str, entry: Any, model: str | None) -> ServoMount:
    """A servo given by its id, or by what a `ServoMount` takes."""
    given = dict(entry) if isinstance(entry, Mapping) else {"servo": entry}
    given.setdefault("model", model)
    given.setdefault("settings", {"return_delay_time": 0})
    if given["model"] is None:
        raise ConfigurationError(f"machine: joint {joint!r} has a servo of no model; say `model: XM430-W350`.")
    try:
        return ServoMount(**given)
    except TypeError as error:
        raise ConfigurationError(f"machine: servo of joint {joint!r}: {error}") from error


def _joint(
    info: RobotInfo, name: str, servos: list[ServoMount], encoder: Any, model: str | None
) -> DynamixelJoint:
    """A joint with the ranges of the robot's own columns."""
    columns = {c.quantity: c for c in info.command if c.owner == name}
    spring = "equilibrium" in columns
    position = columns.get("equilibrium") or columns.get("position")
    if position is None:
        raise ConfigurationError(
            f"joint {name!r} is commanded by {', '.join(columns) or 'nothing'}; servos take a position (mode 1, a "
            "servo or position loop) or an equilibrium (modes 3 and 6)."
        )
    preset = columns.get("preset")
    if (preset is not None) != (len(servos) == 2):
        raise ConfigurationError(
            f"joint {name!r} has {'a' if preset else 'no'} stiffness preset, but {len(servos)} servo(s): two "
            "antagonists set one."
        )
    return DynamixelJoint(
        name=name,
        servos=servos,
        low=position.low,
        high=position.high,
        rest=position.rest,
        preset=(0.0, 0.0) if preset is None else (preset.low, preset.high),
        preset_rest=0.0 if preset is None else preset.rest,
        encoder=None if encoder is None else _mount(name, encoder, model),
        spring=spring,
    )
