"""What an interaction controller needs to know of an arm, from the description of a robot."""

from collections.abc import Sequence
from typing import Any

from pliant.controllers.interaction import Arm
from pliant.envs.description import describe
from pliant.envs.models.robot_model import tool_load
from pliant.envs.simulation.arms import arm_of
from pliant.hardware.force_torque.wrench import ToolLoad


def arm(
    robot: Any,
    end_effector: str | None = None,
    sensor: str = "wrist",
    *,
    flange: str | None = None,
    speed: float | Sequence[float] | None = None,
) -> Arm:
    """Return an arm's kinematics, frames, speeds and load.

    Args:
        robot: see `describe`.
        end_effector: whose site is the tool's centre point; None: the only one.
        sensor: name of the force-torque sensor.
        flange: site of the flange; None: that of the sensor.
        speed: largest joint speeds, rad/s or m/s, one for all or each; None: the model's numeric `speed_limits`.

    Raises:
        UnknownNameError: no such end effector, sensor or site.
        ConfigurationError: as `arm_kinematics`; a sensor or flange that moves against the tool; no speed is known.
    """
    found = describe(robot)
    model, compiled = found.model, found.simulated().compiled
    return arm_of(
        compiled, model.end_effectors, model.force_torque, end_effector, sensor, flange=flange, speed=speed
    )


def load_behind(robot: Any, sensor: str = "wrist") -> ToolLoad:
    """Return what hangs on a force-torque sensor of a robot. Errors of `describe` and `tool_load`."""
    return tool_load(describe(robot).model, sensor)
