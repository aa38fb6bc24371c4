"""The units in which a joint is spoken of: an angle and a torque on a hinge, a length and a force on a slide."""

from typing import NamedTuple

import mujoco


class JointUnits(NamedTuple):
    """Units of what a joint does and of what acts on it."""

    position: str
    velocity: str
    force: str
    stiffness: str
    damping: str
    inertia: str


HINGE = JointUnits("rad", "rad/s", "N·m", "N·m/rad", "N·m·s/rad", "kg·m²")
SLIDE = JointUnits("m", "m/s", "N", "N/m", "N·s/m", "kg")


def joint_units(kind: int) -> JointUnits:
    """Return the units of a joint of a `mujoco.mjtJoint`: those of a slide, or of a hinge for any other."""
    return SLIDE if int(kind) == int(mujoco.mjtJoint.mjJNT_SLIDE) else HINGE
