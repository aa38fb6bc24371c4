from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers import Controller, JointPID, Step
from pliant.controllers.policies import ControllerPolicy
from pliant.controllers.policy import to_command
from pliant.errors import MismatchError, ShapeError
from pliant.hardware.robot import Channel


class Noting(Controller):
    """Commands what it saw, and remembers it."""

    def __init__(self):
        self.resets, self.updates = [], []

    def reset(self, state):
        self.resets.append(state)

    def update(self, state, t):
        self.updates.append((state, t))
        return [state.position[0], 0.3]


SEEN = np.array([0.5, -2.0, 1.5, 0.25, 0.7])


def test_the_controller_sees_what_is_observed_at_its_own_time(info):
    controller = Noting()
    policy = ControllerPolicy(controller, info)
    command = to_command(policy(SEEN), info.actions)
    policy(SEEN)
    np.testing.assert_allclose(command, [0.5, 0.3])
    assert [t for _, t in controller.updates] == [0.0, 0.02]
    state = controller.updates[0][0]
    assert (state.position, state.velocity, state.torque) == ([0.5], [-2.0], [1.5])
    np.testing.assert_array_equal(state.command, [0.25, np.nan])
    assert np.isnan(state.stiffness).all()


def test_a_command_in_force_that_is_not_observed_is_unknown_not_measured(info):
    column = Channel("joint/position", "rad", -1.57, 1.57)
    controller = Noting()
    controller.update = lambda state, t: controller.updates.append((state, t)) or [0.0]
    ControllerPolicy(controller, replace(info, actions=(column,)))(SEEN)
    assert np.isnan(controller.updates[0][0].command).all()


def test_the_command_in_force_is_not_the_quantity_of_its_name(info):
    """A joint that is commanded positions: what it measures is one thing, what was commanded another."""
    positions = replace(info, actions=(Channel("joint/position", "rad", -1.57, 1.57),))
    controller = Noting()
    named = replace(
        positions,
        observations=tuple(
            replace(c, name="joint/position_command") if c.name == "joint/equilibrium_command" else c
            for c in info.observations
        ),
    )
    with pytest.raises(ShapeError):  # Noting commands two columns
        ControllerPolicy(controller, named)(SEEN)
    state = controller.updates[0][0]
    assert (state.position[0], state.command[0]) == (0.5, 0.25)


def test_an_episode_begins_with_a_reset_at_its_first_observation(info):
    controller = Noting()
    policy = ControllerPolicy(controller, info)
    for first in (0.1, 0.2):
        policy.reset()
        policy(np.array([first, 0.0, 0.0, 0.0, 0.0]))
        policy(SEEN)
    assert [state.position[0] for state in controller.resets] == [0.1, 0.2]
    assert [t for _, t in controller.updates] == [0.0, 0.02, 0.0, 0.02]


def test_a_pid_runs_as_a_policy(info):
    torque = replace(info, actions=(Channel("joint/torque", "N·m", -10.0, 10.0),))
    policy = ControllerPolicy(JointPID(Step(0.0, 1.0, at=0.0, duration=1.0), kp=4.0, kd=0.5), torque)
    action = policy(np.array([0.25, -2.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(to_command(action, torque.actions), [4.0 * 0.75 + 0.5 * 2.0])


def test_a_command_beyond_the_bounds_is_limited(info):
    command = to_command(ControllerPolicy(Noting(), info)([3.0, 0.0, 0.0, 0.0, 0.0]), info.actions)
    np.testing.assert_allclose(command, [1.57, 0.3])


def test_what_is_needed_and_not_observed_is_named(info):
    with pytest.raises(MismatchError, match="Noting needs joint/velocity, which"):
        ControllerPolicy(Noting(), replace(info, observations=(info.observations[0], *info.observations[2:])))


def test_a_command_of_another_size_is_refused(info):
    with pytest.raises(ShapeError, match="command of Noting"):
        ControllerPolicy(Noting(), replace(info, actions=info.actions[:1]))(SEEN)
