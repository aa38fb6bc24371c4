"""Randomised copies of a robot, to find out how well what was learned on one carries over to another."""

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from pliant.actuators import JointOnModel, Parameter
from pliant.actuators.layout import DRIVE_AT, LAW_AT
from pliant.actuators.pid import PID_PARAMETERS
from pliant.envs.models.robot_model import RobotModel
from pliant.errors import check_bounds
from pliant.hardware.robot import Array

_CHOSEN = tuple(parameter.name for parameter in PID_PARAMETERS)
"""Parameters of a drive that are set and not built, so that they are the same on every robot."""


def check_changes(what: str, **changes: float) -> None:
    """Raise `OutOfBoundsError` unless relative changes, by name, are in [0, 0.9]; of friction, in [0, 1]."""
    for name, change in changes.items():
        check_bounds(f"{what}: {name}", change, 0.0, 1.0 if name == "friction" else 0.9)


def perturb(
    model: RobotModel, random: np.random.Generator, mass: float = 0.1, friction: float = 0.5
) -> RobotModel:
    """Return a copy of `model` whose masses and joint frictions differ; the original is not touched.

    Each body's mass and inertia are scaled by one factor drawn uniformly from [1 − mass, 1 + mass]; each joint's
    viscous and dry friction by two factors from [1 − friction, 1 + friction]. The same generator state gives the
    same copy.

    Args:
        model: any robot model.
        random: source of the factors.
        mass: largest relative change of masses, in [0, 0.9].
        friction: largest relative change of frictions, in [0, 1].

    Raises:
        OutOfBoundsError: a change is not finite or outside its bounds.
    """
    check_changes("perturb", mass=mass, friction=friction)
    spec = model.spec.copy()
    for body in spec.bodies[1:]:
        _scale_mass(body, float(random.uniform(1.0 - mass, 1.0 + mass)))
    for joint in spec.joints:
        viscous, dry = random.uniform(1.0 - friction, 1.0 + friction, 2)
        joint.damping = np.asarray(joint.damping) * viscous
        joint.frictionloss = joint.frictionloss * float(dry)
    return replace(model, spec=spec)


def perturb_joints(
    model: mujoco.MjModel,
    joints: Sequence[JointOnModel],
    random: np.random.Generator,
    spring: float = 0.1,
    motor: float = 0.1,
) -> None:
    """Change the springs and motors of a compiled robot, in place.

    Each parameter of each joint's law, whatever the law, is scaled by a factor drawn uniformly from
    [1 − spring, 1 + spring], and each of its drive (inertia, friction, limits of torque and speed, …) by one from
    [1 − motor, 1 + motor]; both stay within the parameter's bounds. Gains of a controller are not changed.

    Args:
        model: of the robot.
        joints: its compliant joints.
        random: source of the factors.
        spring: largest relative change of the laws' parameters, in [0, 0.9].
        motor: of the drives', in [0, 0.9].

    Raises:
        OutOfBoundsError: a change is not finite or outside its bounds.
    """
    check_changes("perturb", spring=spring, motor=motor)
    for joint in joints:
        row = model.actuator_user[joint.actuators[0]]
        _scale(row[LAW_AT:], joint.description.law.law.parameters, random, spring)
        for drive in joint.description.drives[:1]:  # both motors share its parameters
            _scale(row[DRIVE_AT:], drive.kind.parameters, random, motor, (*_CHOSEN, *drive.kind.fixed))


def _scale(
    values: Array,
    parameters: Sequence[Parameter],
    random: np.random.Generator,
    most: float,
    same: Sequence[str] = (),
) -> None:
    for k, parameter in enumerate(parameters):
        factor = float(random.uniform(1.0 - most, 1.0 + most))
        if parameter.name not in same:
            values[k] = min(max(values[k] * factor, parameter.low), parameter.high)


def _scale_mass(body: mujoco.MjsBody, factor: float) -> None:
    """Scale a body's mass and inertia, whether stated or inferred from its geoms."""
    if body.explicitinertial:
        body.mass *= factor
        body.inertia = np.asarray(body.inertia) * factor
        body.fullinertia = np.asarray(body.fullinertia) * factor
    else:
        for geom in body.geoms:
            geom.mass *= factor
            geom.density *= factor
