"""What every robot has, whether or not it can do much with it."""

import numpy as np
import pytest

from pliant.errors import RobotError
from pliant.hardware.robot import stacked
from pliant.hardware.safety import SafeRobot, SafetyConfig
from pliant.hardware.wrapper import RobotWrapper


def safe(arm):
    return SafeRobot(arm, SafetyConfig(hold_time=0.0), clock=arm.clock)


def test_a_machine_cannot_be_put_to_a_start_by_itself(arm):
    with pytest.raises(RobotError, match=r"robot 'arm' cannot be put to a start by itself.*SafeRobot"):
        arm.reset()
    assert arm.sent == []


def test_behind_a_safety_layer_it_walks_there_slowly(arm):
    with safe(arm) as robot:
        state = robot.reset(seed=3, command=[0.2, -0.1])
        np.testing.assert_allclose(state.position, [0.2, -0.1])
        steps = np.abs(np.diff(arm.sent, axis=0)).max()
        assert 0.0 < steps <= 0.3 * 0.01 + 1e-12, "walking speed is 0.3 rad/s"
        np.testing.assert_allclose(robot.reset().position, [0.0, 0.0])


def test_a_robot_that_knows_nothing_of_its_condition_says_nothing(arm):
    assert arm.diagnostics() == {}


def test_a_safety_layer_adds_what_it_had_to_do(arm):
    arm.diagnostics = lambda: {"voltage_v": 12.0}
    robot = safe(arm)
    assert robot.diagnostics()["voltage_v"] == 12.0
    assert robot.diagnostics()["safety"] == {"limited": 0, "missed_reads": 0, "overruns": 0, "trips": []}


def test_a_wrapper_hides_nothing(arm):
    wrapped = RobotWrapper(safe(arm))
    with wrapped:
        assert wrapped.reset(command=[0.1, 0.0]).position[0] == pytest.approx(0.1)
        assert "safety" in wrapped.diagnostics()
        wrapped.abort()
        assert wrapped.robot.tripped == ""


def test_a_program_that_fails_stops_a_bare_robot(arm):
    with pytest.raises(ZeroDivisionError), arm:
        arm.send([0.1, 1 / 0])
    assert arm.calls[-2:] == ["stop", "close"]


def test_states_are_one_motion(arm):
    motion = stacked([arm.read(), arm.read(), arm.read()])
    assert (motion.position.shape, motion.time.shape, motion.motor_position.shape) == ((3, 2), (3,), (3, 0))
