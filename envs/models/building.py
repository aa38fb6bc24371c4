"""Steps that all model builders share: arguments checked, joints made, the model completed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import Compliance, CompliantJoint, Law, add_compliant_joint, find_law
from pliant.envs.models.robot_model import RobotModel
from pliant.errors import ConfigurationError, check_bounds


def check_joints(
    model: str, names: Sequence[str], joints: Sequence[CompliantJoint], preset: float | None = None
) -> tuple[CompliantJoint, ...]:
    """Return one description per joint name, all with the resting stiffness preset `preset` if it is given.

    Raises:
        ConfigurationError: the number is wrong, an entry is not a `CompliantJoint`, or a joint has no preset.
        OutOfBoundsError: the preset is outside a joint's bounds.
    """
    descriptions = tuple(joints)
    for joint in descriptions:
        if not isinstance(joint, CompliantJoint):
            raise ConfigurationError(
                f"{model}: a joint is given as a CompliantJoint, not as {type(joint).__name__}."
            )
    if len(descriptions) != len(names):
        raise ConfigurationError(
            f"{model} has {len(names)} joint(s) ({', '.join(names)}); {len(descriptions)} given."
        )
    if preset is None:
        return descriptions
    return tuple(replace(joint, preset=preset) for joint in descriptions)


def configured_law(law: str | Law, parameters: str | Mapping[str, float] | None = None) -> Compliance:
    """Return a law with its parameters by name, or those of the named set.

    Raises:
        UnknownNameError: no such law, set or parameter.
        OutOfBoundsError: a parameter out of its bounds.
    """
    found = law if isinstance(law, Law) else find_law(law)
    if isinstance(parameters, str):
        return found(set=parameters)
    values: dict[str, Any] = dict(parameters or {})
    return found(**values)


def add_hinge(
    body: mujoco.MjsBody,
    name: str,
    axis: ArrayLike,
    damping: float,
    friction: float,
    limits: tuple[float, float] | None = None,
) -> None:
    """Add a hinge through the body's origin.

    Args:
        body: the body that turns.
        name: of the joint.
        axis: in the body, (3,).
        damping: N·m·s/rad.
        friction: dry friction, N·m.
        limits: rad; None for a joint that turns freely.

    Raises:
        OutOfBoundsError: damping or friction is negative or not finite.
    """
    joint = body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=list(np.asarray(axis, np.float64)))
    joint.damping[0] = check_bounds(f"joint {name!r}: damping", damping, 0.0, 1e3, "N·m·s/rad")
    joint.frictionloss = check_bounds(f"joint {name!r}: friction", friction, 0.0, 1e3, "N·m")
    if limits is not None:
        joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.range = list(limits)


def complete(
    spec: mujoco.MjSpec,
    name: str,
    joints: Sequence[str],
    descriptions: Sequence[CompliantJoint],
    end_effector: str,
) -> RobotModel:
    """Make the joints of a spec compliant and fuse parts that are fixed to each other into one body a link.

    The damping and friction of a joint that a servo drives are those of its gear, instead of the builder's.
    """
    spec.fuse_static()
    for joint, description in zip(joints, descriptions, strict=True):
        add_compliant_joint(spec, joint, description, replace=description.servo is not None)
    return RobotModel(name, spec, tuple(joints), {end_effector: end_effector})
