"""What tests of tools in contact share."""

import mujoco
import numpy as np
import pytest

from pliant.controllers.poses import compose, pose
from pliant.envs.arm import arm
from pliant.envs.description import describe

ABOVE = 3e-4
"""Of the plane, m."""


@pytest.fixture(scope="session")
def above_plane():
    """Joint positions of the UR10 with the ball of its tool just above the plane, rad."""
    robot, kinematics = describe("ur10_plane").simulated(), arm("ur10_plane").preview
    q = robot.info.rest
    begin = kinematics.pose(q)

    def lowered(way):
        return kinematics.reach(compose(begin, pose([0.0, 0.0, way])), q)

    for way in np.arange(5e-3, 1.2e-2, 1e-4):
        robot.data.qpos[:] = lowered(way)
        mujoco.mj_forward(robot.model, robot.data)
        if robot.data.ncon:
            return lowered(way - ABOVE).tolist()
    raise AssertionError("there is no plane")
