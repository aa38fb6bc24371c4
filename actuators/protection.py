"""What the servos on a model have to say of themselves, and switching one on again that has shut down."""

from typing import NamedTuple

import mujoco

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
    at = _places(model, joint)
    overloaded, down = (
        float(data.act[at[name]]) if name in at else 0.0 for name in ("overloaded_for", "shut_down")
    )
    return ServoStatus(overloaded, bool(down))


def restart_servo(model: mujoco.MjModel, data: mujoco.MjData, joint: JointOnModel) -> None:
    """Give a servo its torque back, as writing the torque limit anew does; raises as `servo_status`."""
    at = _places(model, joint)
    for name in {"overloaded_for", "shut_down"} & at.keys():
        data.act[at[name]] = 0.0


def _places(model: mujoco.MjModel, joint: JointOnModel) -> dict[str, int]:
    """Where the state variables of a joint's servo are in `act`, by name."""
    if joint.description.servo is None:
        raise ConfigurationError(f"joint {joint.name!r} is not driven by a servo.")
    first = int(model.actuator_actadr[joint.actuators[0]])
    return {name: first + k for k, name in enumerate(joint.description.drives[0].kind.state)}
