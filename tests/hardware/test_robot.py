"""What every robot has, whether or not it can do much with it: names, signals, a start, diagnostics."""

import math

import numpy as np
import pytest

from pliant.errors import ConfigurationError, RobotError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals, stacked
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.hardware.wrapper import RobotWrapper

IMU = Channel("imu/gyro_x", "rad/s", -35.0, 35.0)


def info(sensors=(), command=(), joints=("hip", "knee"), motors=("knee/1",)):
    return RobotInfo(
        "leg", joints, motors, tuple(command), 0.01, signals=(*joint_signals(joints, motors), *sensors)
    )


def state(joints, motors, sensors):
    numbers = iter(range(100))
    fields = [np.array([float(next(numbers)) for _ in range(n)]) for n in (joints,) * 4 + (motors,) * 4]
    return State(0.0, *fields, np.empty(0), np.array([float(next(numbers)) for _ in range(sensors)]))


def test_a_signal_is_found_by_name_in_what_was_read():
    leg = info([IMU])
    read = state(2, 1, 1)
    values = dict(zip(leg.signal_names, read.signals, strict=True))
    assert values["hip/position"] == read.position[0] == 0.0
    assert values["knee/torque"] == read.torque[1]
    assert values["knee/spring_torque1"] == read.spring_torque[0]
    assert values["imu/gyro_x"] == read.sensors[0]
    assert read.signals[leg.signal("knee/stiffness")] == read.stiffness[1]
    assert leg.sensors == (IMU,)


def test_a_motion_has_its_signals_with_the_instants_first():
    motion = State(
        np.arange(3.0), *(np.zeros((3, n)) for n in (2,) * 4 + (1,) * 4), np.empty((3, 0)), np.ones((3, 1))
    )
    assert motion.signals.shape == (3, len(info([IMU]).signals))


def test_without_sensors_the_signals_are_those_of_joints_and_motors():
    plain = RobotInfo("leg", ("hip", "knee"), ("knee/1",), (), 0.01)
    assert plain.signals == info().signals
    assert plain.sensors == ()


def test_joints_that_slide_are_read_in_metres_and_newtons():
    units = {c.name: c.unit for c in joint_signals(["lift", "hip"], ["lift/1"], {"lift": ("m", "N")})}
    assert units["lift/position"] == "m"
    assert units["lift/velocity"] == "m/s"
    assert units["lift/torque"] == "N"
    assert units["lift/stiffness"] == "N/m"
    assert units["lift/motor_velocity1"] == "m/s"
    assert units["lift/spring_torque1"] == "N"
    assert units["hip/stiffness"] == "N·m/rad"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: info([IMU, IMU]), "two signals named 'imu/gyro_x'"),
        (lambda: info([Channel("hip/position", "rad", -1, 1)]), "two signals named 'hip/position'"),
        (lambda: info(command=[Channel("hip/position", "rad", -1, 1)] * 2), "two command columns named"),
        (lambda: RobotInfo("leg", ("hip",), (), (), 0.01, signals=(IMU,)), "must begin with those of its joints"),
    ],
)
def test_names_are_unique_and_the_common_signals_come_first(make, what):
    with pytest.raises(ConfigurationError, match=what):
        make()


def test_an_unknown_signal_is_refused_with_the_valid_ones():
    with pytest.raises(UnknownNameError, match=r"imu/gyro_y.*Did you mean 'imu/gyro_x'"):
        info([IMU]).signal("imu/gyro_y")


def test_what_is_read_may_be_unbounded():
    assert info().signals[0].high == math.inf


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
