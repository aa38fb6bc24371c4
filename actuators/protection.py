"""What the servos on a model have to say of themselves, and switching one on again that has shut down."""

from typing import NamedTuple

import mujoco

from pliant.actuators.layout import OVERLOADED_FOR, SHUT_DOWN
from pliant.actuators.model import JointOnModel
from pliant.errors import ConfigurationError


class ServoStatus(NamedTuple):
    """State of a servo's protection."""

    overloaded_for: float
    """Time at the torque limit without progress, s."""
    shut_down: bool
    """Without torque since an overload, until `restart_servo`."""


def servo_status(model: mujoco.MjModel, data: mujoco.MjData, joint: JointOnModel) -> ServoStatus:
    """Return what the servo of a joint says; raise `ConfigurationError` if no servo drives it."""
    act = data.act[_first(model, joint) :]
    return ServoStatus(float(act[OVERLOADED_FOR]), bool(act[SHUT_DOWN]))


def restart_servo(model: mujoco.MjModel, data: mujoco.MjData, joint: JointOnModel) -> None:
    """Give a servo its torque back, as writing the torque limit anew does; raises as `servo_status`."""
    first = _first(model, joint)
    data.act[first + OVERLOADED_FOR] = data.act[first + SHUT_DOWN] = 0.0


def _first(model: mujoco.MjModel, joint: JointOnModel) -> int:
    if joint.description.servo is None:
        raise ConfigurationError(f"joint {joint.name!r} is not driven by a servo.")
    return int(model.actuator_actadr[joint.actuators[0]])
