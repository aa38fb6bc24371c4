"""Randomised copies of a robot, to find out how well what was learned on one carries over to another."""

from dataclasses import replace

import mujoco
import numpy as np

from pliant.envs.models.robot_model import RobotModel
from pliant.errors import check_bounds


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
    check_bounds("perturb: mass", mass, 0.0, 0.9)
    check_bounds("perturb: friction", friction, 0.0, 1.0)
    spec = model.spec.copy()
    for body in spec.bodies[1:]:
        _scale_mass(body, float(random.uniform(1.0 - mass, 1.0 + mass)))
    for joint in spec.joints:
        viscous, dry = random.uniform(1.0 - friction, 1.0 + friction, 2)
        joint.damping = np.asarray(joint.damping) * viscous
        joint.frictionloss = joint.frictionloss * float(dry)
    return replace(model, spec=spec)


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
