import numpy as np
import pytest

from pliant.controllers import MinimumJerk, Recorded, Sine, Step, desired_motion, for_joints
from pliant.controllers.desired_motion import joint_ranges
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.hardware.robot import Channel, RobotInfo


def test_a_trajectory_of_numbers_moves_as_many_joints_as_it_has():
    single, pair = MinimumJerk(0.0, 0.8, 1.0), MinimumJerk([0.0, 0.1], [0.8, 0.9], 1.0)
    assert for_joints(pair, ["a", "b"]) is pair
    assert for_joints(single, ["a", "b"], one_for_all=True) is single
    for wrong in (single, MinimumJerk([0.0] * 3, [1.0] * 3, 1.0), Recorded([0, 1], [[0.0], [1.0]])):
        with pytest.raises(ShapeError, match=r"the robot has 2: a, b\. Say a number for each.*trajectory\.goal"):
            for_joints(wrong, ["a", "b"])


ARM = RobotInfo(
    "arm",
    ("shoulder", "elbow"),
    (),
    (
        Channel("shoulder/equilibrium", "rad", -1.5, 1.5),
        Channel("shoulder/preset", "rad", 0.0, 0.6, 0.2),
        Channel("elbow/torque", "N·m", -5.0, 5.0),
    ),
    0.01,
)


def test_a_range_is_what_a_joints_own_columns_reach_and_two_turns_where_none_is_known():
    np.testing.assert_allclose(joint_ranges(ARM), [[-1.5, -4 * np.pi], [1.5, 4 * np.pi]])


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (
            MinimumJerk([0.0, 0.0], [90.0, 0.5], 1.0),
            r"joint 'shoulder' of robot 'arm' is asked for 90 rad at 1 s, outside its range of "
            r"\[-1\.5, 1\.5\] rad \(angles are in rad\)",
        ),
        (MinimumJerk([0.0, 0.0], [45.0, 0.5], 1.0), "45° would be 0.7854 rad"),
        (Step([0.0, -30.0], [0.0, 0.0], 0.5, 1.0), "joint 'elbow'.* -30 rad at 0 s"),
        (Recorded([0.0, 1.0], [[0.0, 0.0], [0.0, 1.6]], ("elbow", "shoulder")), "joint 'shoulder'.* 1.6 rad"),
        (Sine(1.4, 3.0, 0.2, 4.0), "joint 'shoulder'.* 1.6 rad"),
    ],
)
def test_a_trajectory_beyond_the_range_of_a_joint_is_refused_with_what_where_and_the_range(trajectory, message):
    with pytest.raises(OutOfBoundsError, match=message):
        desired_motion(trajectory, ARM, one_for_all=True)


def test_a_trajectory_up_to_the_very_end_of_the_range_is_accepted():
    motion = desired_motion(MinimumJerk([-1.5, 0.0], [1.5, 12.0], 1.0), ARM)
    np.testing.assert_allclose(motion.position[-1], [1.5, 12.0])
