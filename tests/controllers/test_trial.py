import numpy as np
import pytest

from pliant.controllers import Rows, run
from pliant.controllers.trial import JointTrials, joint_columns
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.robot import Channel, Robot, RobotInfo, State, check_command

COMMAND = (
    Channel("a/equilibrium", "rad", -1.0, 1.0),
    Channel("a/preset", "rad", 0.0, 0.6, 0.2),
    Channel("b/equilibrium", "rad", -2.0, 2.0),
    Channel("b/preset", "rad", 0.0, 0.6, 0.3),
)
INFO = RobotInfo("pair", ("a", "b"), (), COMMAND, 0.1)


class Follower(Robot):
    """A robot whose links are where they were sent, one period later."""

    def __init__(self, info=INFO):
        self._info = info
        self.commands = []
        self.position = np.zeros(2)

    @property
    def info(self):
        return self._info

    def connect(self):
        pass

    def read(self):
        none = np.empty(0)
        time = 0.1 * len(self.commands)
        return State(
            time, self.position.copy(), np.zeros(2), np.zeros(2), np.zeros(2), none, none, none, none, none
        )

    def send(self, command):
        sent = check_command(command, self.info)
        self.commands.append(sent)
        self.position = sent[[0, 2]]
        return sent

    def run(self, commands):
        return run(self, Rows(commands), 0.1 * len(commands)).motion

    def stop(self):
        pass

    def close(self):
        pass


def test_learned_columns_are_sent_and_the_others_rest():
    robot = Follower()
    trials = JointTrials(robot)
    measured = trials(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    np.testing.assert_allclose(robot.commands, [[0.1, 0.2, 0.2, 0.3], [0.3, 0.2, 0.4, 0.3]])
    np.testing.assert_allclose(measured, [[0.0, 0.0], [0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_allclose(trials.low, [-1.0, -2.0])
    np.testing.assert_allclose(trials.high, [1.0, 2.0])


def test_the_first_column_of_each_joint_is_learned_unless_others_are_named():
    assert joint_columns(INFO) == (0, 2)
    assert joint_columns(INFO, ["a/preset", "b/preset"]) == (1, 3)


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (["a/equilibrium", "c/equilibrium"], UnknownNameError),
        (["a/equilibrium"], ConfigurationError),
        (["a/equilibrium", "a/equilibrium"], ConfigurationError),
    ],
)
def test_columns_that_do_not_fit_the_joints_are_refused(names, error):
    with pytest.raises(error):
        joint_columns(INFO, names)


def test_a_joint_without_a_column_is_refused():
    info = RobotInfo("odd", ("a", "c"), (), COMMAND, 0.1)
    with pytest.raises(ConfigurationError, match="joint 'c' of robot 'odd' has no command column"):
        joint_columns(info)


def test_a_command_of_the_wrong_shape_or_with_nan_is_refused_before_anything_is_sent():
    robot = Follower()
    with pytest.raises(ShapeError):
        JointTrials(robot)(np.zeros((3, 3)))
    with pytest.raises(OutOfBoundsError):
        JointTrials(robot)(np.array([[0.0, np.nan]]))
    assert robot.commands == []
