"""Columns of the command that a person has taken over."""

import copy

import numpy as np
import pytest

from pliant.envs.models.arm2 import arm2
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError, ShapeError, UnknownNameError


@pytest.fixture
def robot():
    with SimulatedRobot(arm2(), 0.01) as robot:
        yield robot


def test_what_is_by_hand_is_sent_until_it_is_given_back_over_resets(robot):
    robot.by_hand.take("elbow/preset", 0.4)
    assert robot.by_hand.values == {"elbow/preset": 0.4}
    given = [0.2, 0.3, -0.1, 0.1]
    for _ in range(2):
        np.testing.assert_array_equal(robot.send(given), [0.2, 0.3, -0.1, 0.4])
        np.testing.assert_array_equal(robot.read().command, [0.2, 0.3, -0.1, 0.4])
        np.testing.assert_allclose(robot.command, [0.2, 0.3, -0.1, 0.4], rtol=1e-15)
        robot.reset()
    robot.by_hand.give_back()
    assert robot.by_hand.values == {}
    np.testing.assert_array_equal(robot.send(given), given)


def test_the_motion_is_the_one_of_a_robot_that_is_sent_the_same(robot):
    with SimulatedRobot(arm2(), 0.01) as other:
        robot.by_hand.take("shoulder/equilibrium", -0.5)
        for k in range(50):
            robot.send([0.01 * k, 0.3, 0.2, 0.1])
            other.send([-0.5, 0.3, 0.2, 0.1])
        np.testing.assert_array_equal(robot.get_state().integration, other.get_state().integration)


def test_a_rollout_sends_what_it_is_given(robot):
    rows = np.tile([0.2, 0.3, -0.1, 0.1], (20, 1))
    before = robot.rollout(rows).position
    robot.by_hand.take("elbow/preset", 0.5)
    np.testing.assert_array_equal(robot.rollout(rows).position, before)


def test_the_command_at_rest_is_the_resting_one(robot):
    np.testing.assert_allclose(robot.command, robot.info.rest)


def test_a_copy_goes_on_by_hand_on_its_own(robot):
    robot.by_hand.take("elbow/preset", 0.4)
    other = copy.deepcopy(robot)
    robot.by_hand.give_back()
    assert other.send([0.0, 0.1, 0.0, 0.1])[3] == 0.4
    assert robot.send([0.0, 0.1, 0.0, 0.1])[3] == 0.1


def test_what_cannot_be_taken_over_is_refused_and_nothing_changes(robot):
    with pytest.raises(UnknownNameError, match="elbow/preset"):
        robot.by_hand.take("elbow/presset", 0.1)
    for value in (7.0, -7.0, np.nan):
        with pytest.raises(OutOfBoundsError, match="elbow/preset by hand"):
            robot.by_hand.take("elbow/preset", value)
    assert robot.by_hand.values == {}
    robot.by_hand.take("elbow/preset", 0.4)
    with pytest.raises(ShapeError):
        robot.send([0.0, 0.1])
    with pytest.raises(OutOfBoundsError):
        robot.send([np.nan, 0.1, 0.0, 0.1])
