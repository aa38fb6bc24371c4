from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers import FeedForward
from pliant.controllers.policies import FeedForwardPolicy
from pliant.controllers.policy import to_command
from pliant.errors import MismatchError
from pliant.hardware.robot import RobotInfo


def robot(info):
    return RobotInfo(info.robot, info.joints, (), info.actions, info.period)


@pytest.fixture
def feedforward(info):
    command = np.column_stack([np.linspace(-1.0, 1.0, 5), np.linspace(0.6, 0.0, 5)])
    return FeedForward.of_robot(robot(info), command)


def test_its_actions_give_the_commands_that_were_learned(info, feedforward):
    policy = FeedForwardPolicy(feedforward, info)
    for _ in range(2):
        policy.reset()
        for command in (*feedforward.command, feedforward.command[-1]):
            np.testing.assert_allclose(to_command(policy(np.zeros(5)), info.actions), command, atol=1e-15)


def test_columns_in_another_order_are_mapped_by_name(info, feedforward):
    other = replace(info, actions=info.actions[::-1])
    first = FeedForwardPolicy(feedforward, other)(np.zeros(5))
    np.testing.assert_allclose(to_command(first, other.actions), feedforward.command[0, ::-1])


def test_a_task_that_does_not_command_every_column_is_refused(info, feedforward):
    with pytest.raises(MismatchError, match="column 'joint/preset' is unknown"):
        FeedForwardPolicy(feedforward, replace(info, actions=info.actions[:1]))


def test_another_period_and_narrower_bounds_are_refused(info, feedforward):
    narrow = replace(info.actions[0], high=0.5)
    with pytest.raises(MismatchError) as caught:
        FeedForwardPolicy(feedforward, replace(info, period=0.01, actions=(narrow, info.actions[1])))
    assert "period: 0.02 s in the file, 0.01 s here" in str(caught.value)
    assert "outside [-1.57, 0.5]" in str(caught.value)
