"""Straight lines of a tool as motions of joints."""

import numpy as np
import pytest

from pliant.controllers.poses import difference, matrix, rotation_vector
from pliant.envs.straight_line import arm_kinematics, straight_line
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

TIMES = np.linspace(0.0, 4.0, 801)


def poses(robot, trajectory):
    arm = arm_kinematics(robot)
    return np.array([arm.pose(q) for q in trajectory.position(TIMES)])


def test_the_tool_goes_straight_and_turns_evenly_with_least_jerk():
    move, turn = np.array([0.2, 0.1, -0.15]), np.array([0.1, -0.2, 0.3])
    seen = poses("ur10e", straight_line("ur10e", move, turn))
    share = TIMES / 4.0
    share = 10 * share**3 - 15 * share**4 + 6 * share**5
    way = np.array([difference(pose, seen[0]) for pose in seen])
    np.testing.assert_allclose(way, share[:, None] * np.concatenate([move, turn]), atol=1e-7)


def test_a_line_in_the_axes_of_the_tool():
    seen = poses("ur5e", straight_line("ur5e", [0.0, 0.0, 0.1], [0.0, 0.0, 0.5], frame="tool"))
    begin, end = seen[0], seen[-1]
    np.testing.assert_allclose(end[:3] - begin[:3], 0.1 * matrix(begin[3:])[:, 2], atol=1e-9)
    turned = matrix(begin[3:]).T @ matrix(end[3:])
    np.testing.assert_allclose(turned[:, 2], [0.0, 0.0, 1.0], atol=1e-9)
    assert np.linalg.norm(difference(end, begin)[3:]) == pytest.approx(0.5, abs=1e-9)


def test_an_arm_of_few_joints_goes_with_its_position_alone():
    trajectory = straight_line("arm2", [-0.05, 0.0, -0.03], None, start=[0.6, 0.8])
    seen = poses("arm2", trajectory)
    np.testing.assert_allclose(seen[-1, :3] - seen[0, :3], [-0.05, 0.0, -0.03], atol=1e-7)
    assert np.linalg.norm(rotation_vector(seen[-1, 3:]) - rotation_vector(seen[0, 3:])) > 0.01


def test_what_cannot_be_is_refused_with_where():
    with pytest.raises(OutOfBoundsError, match=r"at t = \d\.\d+ s: .* stays"):
        straight_line("ur10e", [-2.0, 0.0, 0.0])
    with pytest.raises(UnknownNameError, match="frame"):
        straight_line("ur10e", [0.1, 0.0, 0.0], frame="flange")
    with pytest.raises(UnknownNameError, match="end effector"):
        straight_line("ur10e", [0.1, 0.0, 0.0], end_effector="nose")


def test_a_robot_without_one_end_effector_is_refused(tmp_path):
    (tmp_path / "leg.xml").write_text(
        "<mujoco><worldbody><body><joint name='hip'/><geom size='.1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(ConfigurationError, match="which end effector"):
        straight_line(tmp_path / "leg.xml", [0.1, 0.0, 0.0])
