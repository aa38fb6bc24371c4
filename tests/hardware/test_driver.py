"""What a driver of one's own gets from its base, on a machine made of a few numbers."""

import math

import numpy as np
import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.checking import check_robot
from pliant.hardware.driver import Driver, Measurement
from pliant.hardware.robot import Channel, RobotInfo, joint_signals
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import JointLimits, SafetyConfig
from pliant.hardware.timing import StepClock

PERIOD = 0.01
SHARED = np.zeros(2)
GYRO = Channel("imu/gyro_x", "rad/s", -35.0, 35.0)
SIMULATED = RobotInfo(
    "arm",
    ("a", "b"),
    ("a/1", "b/1"),
    (Channel("a/position", "rad", -1.0, 1.0, 0.5), Channel("b/position", "rad", -1.0, 1.0)),
    PERIOD,
    parameters={"mass": 1.0},
    signals=(*joint_signals(("a", "b"), ("a/1", "b/1")), GYRO),
    bodies={"ball": (0.0,) * 7},
)
SOFT = RobotInfo(
    "arm",
    ("a",),
    (),
    (Channel("a/equilibrium", "rad", -1.0, 1.0), Channel("a/preset", "rad", 0.0, 0.6, 0.1)),
    PERIOD,
)


class Arm(Driver):
    """Is where it is told to be, and notes every call."""

    def __init__(self, info=SIMULATED, sensors=(), clock=None):
        super().__init__(info, sensors, clock or StepClock())
        self.position = np.full(len(info.joints), 0.1)
        self.calls, self.fails, self.busy, self.told = [], {}, 0.0, {}

    def called(self, name):
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]

    def open(self):
        self.called("open")

    def measure(self):
        if "measure" in self.fails:
            raise self.fails["measure"]
        return Measurement(**{"position": self.position, **self.told})

    def drive(self, command):
        self.called("drive")
        self.position = command
        self._clock.sleep_until(self._clock.now() + self.busy)

    def halt(self):
        self.called("halt")

    def release(self):
        self.called("release")


@pytest.fixture
def arm():
    arm = Arm()
    arm.connect()
    arm.calls.clear()
    return arm


# What it is


def test_it_has_the_names_and_ranges_of_the_simulation_and_the_signals_of_the_machine():
    info = Arm().info
    assert (info.name, info.joints, info.command, info.period) == ("arm", ("a", "b"), SIMULATED.command, PERIOD)
    assert info.parameters == {"mass": 1.0}
    assert info.motors == info.sensors == ()
    assert info.bodies == {}


def test_joints_that_slide_keep_their_units_and_ranges():
    slide = RobotInfo(
        "lift",
        ("z",),
        (),
        (),
        PERIOD,
        signals=(Channel("z/position", "m", 0.0, 0.4), *joint_signals(("z",), (), {"z": ("m", "N")})[1:]),
    )
    assert Arm(slide).info.signals == slide.signals


def test_what_else_is_measured_is_named_or_described():
    current = Channel("a/current", "A", -3.0, 3.0)
    arm = Arm(sensors=["imu/gyro_x", current])
    assert arm.info.sensors == (GYRO, current)
    arm.told["sensors"] = [0.2, 1.5]
    with arm:
        assert arm.read().sensors == pytest.approx([0.2, 1.5])
    with pytest.raises(UnknownNameError, match=r"'imu/gyro_y' .*robot 'arm'.*'imu/gyro_x'"):
        Arm(sensors=["imu/gyro_y"])


def test_what_is_not_measured_is_said_and_gets_no_limit():
    class Blind(Arm):
        measures = ("position",)

    assert Blind().unmeasured == {"a/velocity", "b/velocity", "a/torque", "b/torque"}
    assert Arm().unmeasured == frozenset()
    with pytest.raises(ConfigurationError, match="does not measure b/torque"):
        SafeRobot(Blind(), SafetyConfig(joints={"b": JointLimits(torque=1.0)}))

    class Odd(Arm):
        measures = ("positions",)

    with pytest.raises(UnknownNameError, match=r"'positions' .*what Odd measures"):
        Odd()


# Commands


def test_before_a_command_a_joint_is_held_where_it_stands(arm):
    assert arm.read().command == pytest.approx([0.1, 0.1])
    arm.send([0.3, -0.3])
    arm.position = np.array([0.25, -0.25])
    assert arm.read().command == pytest.approx([0.3, -0.3])
    arm.stop()
    assert arm.read().command == pytest.approx([0.25, -0.25])


def test_what_is_commanded_no_place_is_at_rest():
    turned = [Channel("a/torque", "N·m", -1.0, 1.0), Channel("b/velocity", "rad/s", -1.0, 1.0)]
    with Arm(RobotInfo("arm", ("a", "b"), (), tuple(turned), PERIOD)) as arm:
        assert arm.read().command == pytest.approx([0.0, 0.0])


def test_a_soft_joint_is_not_taken_to_be_where_its_link_is():
    with Arm(SOFT) as arm:
        with pytest.raises(ConfigurationError, match=r"'a/equilibrium': Measurement\.command"):
            arm.read()
        arm.told["command"] = [0.2, 0.3]
        assert arm.read().command == pytest.approx([0.2, 0.3])


def test_a_joint_that_nothing_measures_is_not_moved(arm):
    arm.position = np.array([0.0, math.nan])
    with pytest.raises(ConfigurationError, match="where joint 'b' stands"):
        arm.send([0.0, 0.0])
    assert arm.calls == []


def test_commands_are_limited_and_checked_before_the_machine_hears_of_them(arm):
    assert arm.send([5.0, -5.0]) == pytest.approx([1.0, -1.0])
    assert arm.position == pytest.approx([1.0, -1.0])
    for wrong, error in (([math.nan, 0.0], OutOfBoundsError), ([0.0], ShapeError)):
        with pytest.raises(error):
            arm.send(wrong)
    assert arm.calls == ["drive"]


def test_a_joint_outside_its_range_is_brought_in_and_not_further_out(arm):
    arm.position = np.array([1.4, 0.0])
    sent = [arm.send([value, 0.0])[0] for value in (1.5, 1.3, 1.35, 0.9, 1.2)]
    assert sent == pytest.approx([1.4, 1.3, 1.3, 0.9, 1.0])


def test_what_the_driver_and_the_caller_hold_are_arrays_of_their_own(arm):
    sent = arm.send([0.2, 0.2])
    sent[:] = 9.0
    arm.position[:] = 9.0
    state = arm.read()
    state.position[:] = state.command[:] = 7.0
    assert arm.read().position == pytest.approx([9.0, 9.0])
    assert arm.read().command == pytest.approx([0.2, 0.2])


def test_after_a_stop_from_another_thread_nothing_more_is_sent(arm):
    class Stopping(StepClock):
        def sleep_until(self, time_):
            arm.stop()

    arm._clock = Stopping()
    with pytest.raises(RobotError, match="was stopped; the command was not sent"):
        arm.send([0.0, 0.0])
    assert arm.calls == ["halt"]


# Time


def test_the_beat_does_not_drift_and_late_periods_are_counted(arm):
    arm.busy = 0.3 * PERIOD
    times = []
    for _ in range(10):
        arm.send([0.0, 0.0])
        times.append(arm.read().time)
    assert np.diff(times) == pytest.approx(PERIOD)
    assert arm.overruns == 0
    arm.busy = 1.4 * PERIOD
    arm.send([0.0, 0.0])
    assert arm.overruns == 1
    assert arm.diagnostics() == {"overruns": 1, "worst_lateness_s": pytest.approx(0.4 * PERIOD)}


def test_commands_never_come_closer_than_half_a_period(arm):
    sent = []
    drive = arm.drive
    arm.drive = lambda command: (sent.append(arm._clock.now()), drive(command))
    for busy in (0.0, 0.97, 0.0, 1.9, 0.0, 0.0):
        arm.send([0.0, 0.0])
        arm._clock.sleep_until(arm._clock.now() + busy * PERIOD)
    assert np.diff(sent).min() >= 0.5 * PERIOD - 1e-12


def test_times_are_those_of_the_machine_where_it_has_a_clock(arm):
    arm.told["time"] = 1234.5
    assert arm.read().time == 0.0
    arm.told["time"] = 1234.51
    assert arm.read().time == pytest.approx(0.01)


def test_readings_that_bring_nothing_new_stop_the_robot(arm):
    arm.close()
    arm.told["time"] = 5.0
    with SafeRobot(arm, SafetyConfig(hold_time=0.0), clock=arm._clock) as robot:
        command = robot.read().command
        with pytest.raises(RobotError, match="its time stands at 0"):
            _ = [robot.send(command) for _ in range(10)]
        assert arm.calls[-2:] == ["halt", "release"]


# Failures


@pytest.mark.parametrize("error", [TimeoutError("timed out"), ConnectionResetError("reset"), EOFError("the end")])
@pytest.mark.parametrize(
    ("function", "call", "doing"),
    [
        ("measure", lambda arm: arm.read(), "reading"),
        ("drive", lambda arm: arm.send([0.0, 0.0]), "sending"),
        ("halt", lambda arm: arm.stop(), "stopping"),
        ("release", lambda arm: arm.close(), "releasing"),
    ],
)
def test_a_wire_that_fails_is_an_error_of_the_robot(arm, error, function, call, doing):
    arm.fails[function] = error
    with pytest.raises(RobotError, match=f"arm: while {doing}: {error}"):
        call(arm)


def test_any_other_error_is_the_drivers_own(arm):
    arm.fails["measure"] = AttributeError("a mistake")
    with pytest.raises(AttributeError, match="a mistake"):
        arm.read()


def test_reads_that_fail_are_bridged_by_the_safety_layer():
    arm = Arm()
    with SafeRobot(arm, SafetyConfig(), clock=arm._clock) as robot:
        stood = robot.read()
        arm.fails["measure"] = TimeoutError("timed out")
        for _ in range(3):
            assert robot.read().position == pytest.approx(stood.position)
        del arm.fails["measure"]
        robot.send(robot.read().command)
        assert (robot.report.missed_reads, robot.report.trips) == (3, [])


def test_what_could_not_be_opened_is_released_and_says_why():
    arm = Arm()
    arm.fails = {"open": ConnectionRefusedError("refused"), "release": AttributeError("no socket")}
    with pytest.raises(RobotError, match="while connecting: refused"):
        arm.connect()
    assert arm.calls == ["open", "release"]
    with pytest.raises(RobotError, match="not connected"):
        arm.read()


def test_what_could_not_be_released_is_released_no_second_time(arm):
    arm.fails["release"] = TimeoutError("timed out")
    with pytest.raises(RobotError, match="while releasing"):
        arm.close()
    arm.close()
    assert arm.calls == ["release"]


def test_without_a_connection_the_machine_is_left_alone():
    arm = Arm()
    arm.stop()
    arm.close()
    for call in (arm.read, lambda: arm.send([0.0, 0.0])):
        with pytest.raises(RobotError, match="arm is not connected"):
            call()
    assert arm.calls == []
    arm.connect()
    arm.connect()
    assert arm.calls == ["open"]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"position": [0.0]}, r"positions of shape \(1,\); \(2,\) is needed"),
        ({"velocity": np.zeros((2, 1))}, r"velocities of shape \(2, 1\)"),
        ({"torque": "much"}, "torques 'much'"),
        ({"sensors": [1.0]}, r"sensors of shape \(1,\); \(0,\)"),
        ({"command": [1.0]}, "a command of shape"),
    ],
)
def test_measurements_of_a_wrong_size_are_told_as_such(arm, told, message):
    arm.told = told
    with pytest.raises(ShapeError, match=f"arm: its driver measures {message}"):
        arm.read()


# Checked as a whole


def test_it_keeps_what_the_interface_promises():
    arm = Arm()
    found = check_robot(arm, periods=20)
    assert (found.period, found.longest_period) == pytest.approx((PERIOD, PERIOD))
    assert found.noise == pytest.approx([0.0, 0.0])
    assert {name.partition("/")[2] for name in found.unmeasured} == {"velocity", "torque", "stiffness"}
    assert arm.calls == ["open", *["drive"] * 20, "halt", "halt", "release", "open", "release"]


def _no_checks(arm, command):
    arm.drive(np.resize(command, 2))
    return np.resize(command, 2)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            {"read": lambda arm: arm._state},
            "a reading before it is connected is not refused; RobotError is needed",
        ),
        ({"send": _no_checks}, "a command of NaN is not refused; OutOfBoundsError is needed"),
        (
            {"send": lambda arm, command: Driver.send(arm, np.resize(command, 2))},
            "a number too many is not refused; ShapeError",
        ),
        (
            {"drive": lambda arm, command: Arm.drive(arm, command + 0.1)},
            "joint 'a' went 0.100 from where it stood",
        ),
        (
            {"measure": lambda arm: Measurement(arm.position, command=[0.01 * len(arm.calls), 0.0])},
            r"the command in force is \[0\.02 0\.  \], not \[0\.01 0\.  \], which was sent",
        ),
        ({"measure": lambda arm: Measurement(arm.position, time=1.0)}, "its time stands at 0 s"),
        (
            {"measure": lambda arm: Measurement(arm.position, time=3.0 * arm._clock.now())},
            "by its own time a period takes 0.03 s; it says 0.01 s",
        ),
        ({"connect": lambda arm: (Driver.connect(arm), setattr(arm, "_begin", 0.0))}, "its time goes on at"),
        (
            {"read": lambda arm: Driver.read(arm)._replace(torque=np.zeros(3))},
            r"`torque` of its state has the shape \(3,\); \(2,\)",
        ),
        (
            {"read": lambda arm: Driver.read(arm)._replace(torque=SHARED)},
            "a later reading changes an earlier one",
        ),
        ({"read": lambda arm: Driver.read(arm)._replace(time=math.nan)}, "the time of its state is nan"),
        ({"read": lambda arm: Driver.read(arm)._replace(command=np.full(2, np.nan))}, "the command in force is"),
        (
            {"read": lambda arm: Driver.read(arm)._replace(position=np.array([0.1, math.nan]))},
            "the position of joint b is NaN, which `unmeasured` does not say",
        ),
    ],
)
def test_a_promise_that_is_broken_is_named_and_the_robot_released(broken, message):
    arm = type("Broken", (Arm,), broken)()
    arm._state = None
    with pytest.raises(RobotError, match=message):
        check_robot(arm, periods=20)
    assert not arm._connected
