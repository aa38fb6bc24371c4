import math

import numpy as np
import pytest

from pliant.errors import ConfigurationError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals

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
    assert values["knee/1/spring_torque"] == read.spring_torque[0]
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
    units = {c.name: c.unit for c in joint_signals(["lift", "hip"], [], {"lift": ("m", "N")})}
    assert units["lift/position"] == "m"
    assert units["lift/velocity"] == "m/s"
    assert units["lift/torque"] == "N"
    assert units["lift/stiffness"] == "N/m"
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
