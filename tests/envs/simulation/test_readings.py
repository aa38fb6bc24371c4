import numpy as np
import pytest

from pliant.actuators.compiled import compiled
from pliant.envs.models.rig1 import rig1
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.readings import collect, deliver, diverged, give
from pliant.envs.simulation.signals import JOINT, NOTHING, QPOS, QVEL, SENSOR
from pliant.errors import RobotError

LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 0.5])

both = pytest.mark.parametrize("run", [lambda function: function, compiled], ids=["python", "compiled"])


@both
def test_a_command_is_limited_and_given_to_its_actuators(run):
    command, control = np.array([-3.0, 0.2]), np.full(4, 9.0)
    assert run(give)(command, LOW, HIGH, np.array([3, 1]), np.array([0.5, 10.0]), control)
    np.testing.assert_array_equal(command, [-1.0, 0.2])
    np.testing.assert_array_equal(control, [9.0, 2.0, 9.0, -0.5])


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nothing_is_given_of_a_command_that_is_not_finite(run, bad):
    command, control = np.array([-3.0, bad]), np.full(2, 9.0)
    assert not run(give)(command, LOW, HIGH, np.array([0, 1]), np.ones(2), control)
    np.testing.assert_array_equal(command, [-3.0, bad])
    np.testing.assert_array_equal(control, 9.0)


@both
def test_measurements_are_collected_in_their_order_and_checked(run):
    source, index = np.array([JOINT, JOINT, QPOS, SENSOR, QVEL, NOTHING]), np.array([2, 0, 1, 0, 1, 0])
    values, none = np.full(6, 9.0), np.zeros(3, dtype=np.int32)

    def collected(signals, counts=none, sensordata=(8.0,)):
        arrays = (np.array(signals), np.array([4.0, 5.0]), np.array([6.0, 7.0]), np.array(sensordata))
        return run(collect)(*arrays, source, index, counts, values)

    assert collected([1.0, np.nan, 3.0])  # the NaN is not measured
    np.testing.assert_array_equal(values, [3.0, 1.0, 5.0, 8.0, 7.0, 0.0])
    assert not collected([np.nan, 2.0, 3.0])
    assert not collected([1.0, 2.0, 3.0], sensordata=[np.inf])
    assert not collected([1.0, 2.0, 3.0], np.array([0, 0, 1], dtype=np.int32))


@both
def test_the_measurements_and_the_command_are_delivered(run):
    signals, command = np.zeros(5), np.zeros(2)
    run(deliver)(np.arange(5.0), np.array([7.0, 8.0]), signals, command)
    np.testing.assert_array_equal(signals, np.arange(5.0))
    np.testing.assert_array_equal(command, [7.0, 8.0])


@pytest.mark.parametrize(
    ("counts", "what"), [([0, 0, 4], "acceleration"), ([2, 0, 1], "position"), ([0, 0, 0], "state of a motor")]
)
def test_what_has_diverged_is_named(counts, what):
    assert what in diverged("arm", 0.25, np.array(counts, dtype=np.int32))


def test_the_shortcut_reads_what_is_read_otherwise():
    robot = SimulatedRobot(rig1(), position_noise=0.01, sensor_delay=0.01, seed=1)
    signals, command = np.zeros(len(robot.info.signals)), np.zeros(2)
    with pytest.raises(RobotError, match="not connected"):
        robot.read_into(signals, command)
    with robot:
        for value in (0.1, 0.2, 0.3):
            robot.send([value, value])
            robot.read_into(signals, command)
            state = robot.read()
            np.testing.assert_array_equal(signals, state.signals)
            np.testing.assert_array_equal(command, state.command)
