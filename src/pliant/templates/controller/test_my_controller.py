"""What the controller says, on a simulated arm of two soft joints."""

import numpy as np
import pytest
from my_controller import MyController

from pliant.controllers import run
from pliant.envs import describe


@pytest.fixture
def robot():
    with describe("arm2").simulated() as robot:
        yield robot


def test_it_begins_where_the_robot_stands(robot):
    state = robot.read()
    controller = MyController(robot.info)
    controller.reset(state)
    np.testing.assert_allclose(controller.update(state, 0.0), state.command)


def test_the_joints_sway_and_the_presets_stay(robot):
    controller = MyController(robot.info, amplitude=0.3)
    done = run(robot, controller, 2.0)
    swing = np.ptp(done.motion.position, axis=0)
    assert (swing > 0.1).all()
    assert (swing < 2 * 0.3 + 0.2).all()
    last = controller.update(robot.read(), 0.5)  # the top of the wave
    presets = [k for k, name in enumerate(robot.info.command_names) if name.endswith("/preset")]
    np.testing.assert_allclose(last[presets], controller.begin[presets])
