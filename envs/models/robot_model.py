"""A robot as a MuJoCo spec with compliant joints: what every model builder of this folder returns."""

from dataclasses import dataclass

import mujoco


@dataclass(frozen=True)
class RobotModel:
    """A spec ready to compile, and what the layers above need to know of it."""

    name: str
    spec: mujoco.MjSpec
    joints: tuple[str, ...]
    """Names of the compliant joints, from base to tip."""
    end_effector: str
    """Name of the site at the tip."""
