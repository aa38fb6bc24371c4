"""How Atlas looks."""

import mujoco


def add_looks(spec: mujoco.MjSpec) -> None:
    """Draw the robot on its bodies."""
