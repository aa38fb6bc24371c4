from itertools import islice

import numpy as np
import pytest

from pliant.controllers.joint_pid import JointPID
from pliant.controllers.trajectories import Step
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.two_link import two_link
from pliant.envs.movement import Movement, OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import UnknownNameError
from pliant.experiments.sine2 import SineOfTheArm

START = (0.3, -0.2)


@pytest.fixture
def arm():
    """Commands that leave the rest at once, from a pose and a command that are not the resting ones."""
    robot = SimulatedRobot(arm2())
    rows = robot.info.rest + np.linspace(0.1, 0.4, 60)[:, np.newaxis] * [1.0, 0.0, -1.0, 0.0]
    return OpenLoop(robot, rows, position=START, before=rows[0])


def test_an_open_loop_at_once_is_the_one_period_by_period_to_the_last_bit(arm):
    stepped = list(arm.states())
    motion = arm.run()
    assert len(stepped) == len(arm.rows) + 1
    np.testing.assert_array_equal(motion.position, [state.position for state in stepped])
    np.testing.assert_array_equal(motion.motor_position, [state.motor_position for state in stepped])
    assert arm.duration == pytest.approx(0.6)


def test_it_begins_where_it_is_told_to_and_every_time_anew(arm):
    first, second = ([state.position for state in arm.states()] for _ in range(2))
    np.testing.assert_array_equal(first[0], START)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(arm.begin().command, arm.rows[0])


def test_feedback_acts_and_forgets_its_integral_at_the_beginning():
    robot = SimulatedRobot(two_link(vertical=False), 0.01)
    pid = JointPID(Step((0.0, 1.2), (0.3, 1.0), 0.0, 3.0), kp=200.0, kd=20.0, ki=100.0)
    movement = Movement(robot, pid, 2.0, position=(0.0, 1.2))
    first, second = ([state.position for state in movement.states()] for _ in range(2))
    np.testing.assert_allclose(first[-1], (0.3, 1.0), atol=0.05)
    np.testing.assert_array_equal(first, second)


def test_without_an_end_it_goes_on():
    feedback = JointPID(Step((0.0, 1.2), (0.3, 1.0), 0.1, 0.2), 1.0, 1.0)
    movement = Movement(SimulatedRobot(two_link(), 0.01), feedback, np.inf)
    assert sum(1 for _ in islice(movement.states(), 50)) == 50


def test_a_motion_that_an_experiment_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(UnknownNameError, match="Did you mean 'stiff'"):
        SineOfTheArm().movement("stif")
