"""The arm behind an emulated controller: what its controller takes it to be, and what it is.

Both come from one description of the robot (`conf/robot/ur10e.yaml`, or a user's): the published parameters for
the controller, the whole model with tool, payload and surroundings for the physics.
"""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

import mujoco
import numpy as np

from pliant.envs.description import describe
from pliant.envs.emulators.ur.poses import Array, rotation_vector
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.hardware.ur_arms import ALPHA, JOINTS, LINKS, UrArm, ur_arm, ur_names

TOOL = "tool"
FLANGE, TCP = "flange", "tcp"
FORCE, TORQUE = "flange force", "flange torque"


@dataclass(frozen=True)
class Arm:
    """An arm with what is mounted on it."""

    parameters: UrArm
    spec: mujoco.MjSpec
    """The model without anything that drives it, with a sensor at the flange for force and for torque."""
    tcp: Array
    """Tool centre point in the flange: m and rotation vector, rad."""
    payload: float
    """Mass at the flange, kg."""
    cog: Array
    """Its centre in the flange, m."""

    @property
    def torque(self) -> Array:
        """Largest torques, N·m."""
        return np.array(self.parameters.torque)

    @property
    def speed(self) -> Array:
        """Largest speeds, rad/s."""
        return np.array(self.parameters.speed)

    @property
    def range(self) -> tuple[Array, Array]:
        """Lowest and highest angles, rad; infinite where a joint turns without end."""
        bounds = [(-np.inf, np.inf) if pair is None else pair for pair in self.parameters.range]
        low, high = np.array(bounds).T
        return low, high


def make_arm(robot: Any) -> Arm:
    """Return the arm of a robot, see `describe`.

    Raises `ConfigurationError` if it is no arm of Universal Robots; errors of `describe`.
    """
    model = describe(robot).model
    try:
        parameters = ur_arm(model.name)
    except UnknownNameError:
        raise ConfigurationError(
            f"the robot {model.name!r} is none that a controller of Universal Robots drives. "
            f"Valid: {', '.join(ur_names())}."
        ) from None
    spec = model.spec.copy()
    if [joint.name for joint in spec.joints][: len(JOINTS)] != list(JOINTS):
        raise ConfigurationError(f"the robot {model.name!r} has other joints than {', '.join(JOINTS)}.")
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for body in spec.body("base").find_all("body"):
        body.gravcomp = 0.0
    for kind, name in ((mujoco.mjtSensor.mjSENS_FORCE, FORCE), (mujoco.mjtSensor.mjSENS_TORQUE, TORQUE)):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=FLANGE)
    payload, cog, tcp = _mounted(spec)
    return Arm(parameters, spec, tcp, payload, cog)


def _mounted(spec: mujoco.MjSpec) -> tuple[float, Array, Array]:
    """Mass at the flange, its centre there, and the tool centre point."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    tool, flange, tip = model.body(TOOL).id, data.site(FLANGE), data.site(TCP)
    turn = flange.xmat.reshape(3, 3).T
    centre = turn @ (data.subtree_com[tool] - flange.xpos)
    point = np.concatenate([turn @ (tip.xpos - flange.xpos), rotation_vector(turn @ tip.xmat.reshape(3, 3))])
    mass = float(model.body_subtreemass[tool])
    return mass, centre if mass > 0.0 else np.zeros(3), point


def nominal_spec(parameters: UrArm) -> mujoco.MjSpec:
    """Return the bare chain of an arm, in the controller's base frame, with a body at the flange for a payload."""
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for k, (name, link) in enumerate(zip(LINKS, parameters.links, strict=True)):
        half = ALPHA[k] / 2
        body = body.add_body(
            name=name, pos=[parameters.a[k], 0.0, parameters.d[k]], quat=[cos(half), sin(half), 0.0, 0.0]
        )
        ixx, ixy, ixz, iyy, iyz, izz = link.inertia
        body.explicitinertial, body.mass, body.ipos = True, link.mass, list(link.com)
        body.fullinertia = [ixx, iyy, izz, ixy, ixz, iyz]
        # The joint turns about z of the frame before, in front of which the link's frame lies by a.
        axis = [0.0, round(sin(2 * half)), round(cos(2 * half))]
        joint = body.add_joint(name=JOINTS[k], type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
        joint.pos = [-parameters.a[k], 0.0, 0.0]
    load = body.add_body(name=TOOL)
    load.mass, load.inertia, load.explicitinertial = 1e-6, [1e-9] * 3, True
    return spec
