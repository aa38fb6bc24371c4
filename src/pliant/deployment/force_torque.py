"""From a robot's description to the force-torque sensors of its machine."""

from collections.abc import Mapping
from typing import Any

from pliant.envs.description import RobotDescription
from pliant.envs.models.robot_model import tool_load
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.sensing import ForceTorqueSensing, Mounting, URForceTorque
from pliant.hardware.force_torque.sensor import SENSORS, make_sensor
from pliant.hardware.force_torque.wrench import ToolLoad
from pliant.hardware.robot import Robot
from pliant.hardware.ur.config import Payload
from pliant.hardware.ur.robot import URRobot

CONTROLLER = "controller"
"""The sensor that an arm has by itself."""


def with_force_torque(robot: Robot, description: RobotDescription) -> Robot:
    """Return a machine with the raw wrenches of its model's force-torque sensors.

    ::

        machine:
          force_torque:
            wrist: {sensor: net_ft, host: 192.168.1.1, mounting: [0, 0, 0, 0, 0, 0.785]}

    An arm of Universal Robots reads the one sensor of its model by itself, `{wrist: {sensor: controller}}`,
    without more words. `mounting` is the pose (m, rotation vector in rad) of the sensor's own axes in those of the
    model's site; the other entries are the driver's.

    Raises:
        UnknownNameError: the model has no such sensor, or there is no such driver.
        ConfigurationError: a sensor that the machine does not have, or what its driver does not take.
    """
    names = description.model.force_torque
    where = f"the machine of robot {description.model.name!r}"
    given = (description.machine or {}).get("force_torque")
    if given is None:
        given = (
            {next(iter(names)): {"sensor": CONTROLLER}} if isinstance(robot, URRobot) and len(names) == 1 else {}
        )
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{where}: force_torque is {given!r}; {{wrist: {{sensor: net_ft, host: …}}}} is one."
        )
    external = {}
    for name, entry in given.items():
        if name not in names:
            raise unknown_name("force-torque sensor", name, names, where)
        if not isinstance(entry, Mapping) or "sensor" not in entry:
            raise ConfigurationError(
                f"{where}: force-torque sensor {name!r} is {entry!r}; `sensor: …` is needed: "
                f"{', '.join([CONTROLLER, *SENSORS])} or module:Class."
            )
        settings = dict(entry)
        mounting = Mounting(settings.pop("mounting", (0.0,) * 6))
        if settings["sensor"] == CONTROLLER:
            robot = _of_controller(robot, description, str(name), settings, mounting)
        else:
            external[str(name)] = make_sensor(str(name), settings), mounting
    return ForceTorqueSensing(robot, external) if external else robot


def _of_controller(
    robot: Robot, description: RobotDescription, name: str, settings: Mapping[str, Any], mounting: Mounting
) -> Robot:
    where = f"force-torque sensor {name!r} of robot {description.model.name!r}"
    if not isinstance(robot, URRobot):
        raise ConfigurationError(
            f"{where}: only an arm of Universal Robots has one of its own, sensor: {CONTROLLER}."
        )
    if set(settings) != {"sensor"}:
        raise ConfigurationError(f"{where}: sensor: {CONTROLLER} takes mounting alone.")
    payload = robot.config.payload
    known = tool_load(description.model, name)
    if isinstance(payload, Payload):
        known = ToolLoad(payload.mass, payload.cog)
    return URForceTorque(robot, name, known, mounting)
