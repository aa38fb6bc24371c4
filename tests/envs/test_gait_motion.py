"""What a gait asks of the joints, as a motion to be learned."""

import numpy as np
import pytest

from pliant.controllers.desired_motion import desired_motion
from pliant.controllers.gaits import FootGait
from pliant.envs.description import describe
from pliant.envs.gait_motion import gait_motion
from pliant.errors import OutOfBoundsError, UnknownNameError


@pytest.mark.slow
def test_it_is_what_the_gait_commands_from_where_the_robot_stands_to_a_stand():
    trajectory = gait_motion("hexapod", {"name": "foot", "speed": 0.04, "stride": 0.05}, 5.0)
    with describe("hexapod").simulated() as robot:
        stood = robot.reset()
        motion = desired_motion(trajectory, robot.info)
        gait = FootGait(robot.info, speed=0.04, stride=0.05)
        gait.reset(stood)
        walking = [gait.update(stood, k * robot.info.period) for k in range(round(4.0 / robot.info.period))]
    np.testing.assert_array_equal(motion.position[0], stood.position)
    np.testing.assert_allclose(motion.position[: len(walking)], walking, rtol=0, atol=1e-9)
    assert np.abs(motion.velocity).max() > 1.0
    assert np.abs(motion.velocity[-1]).max() < 0.05
    with pytest.raises(UnknownNameError, match="gait motion"):
        gait_motion("hexapod", "trot")
    with pytest.raises(OutOfBoundsError, match="gait motion: duration"):
        gait_motion("hexapod", "foot", 1.0)
