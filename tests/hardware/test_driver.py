"""What a driver of one's own gets from its base, on a machine made of a few numbers."""

import math
import struct

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

    measures = ("position",)

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
    class Whole(Arm):
        measures = Driver.measures

    assert Arm().unmeasured == {"a/velocity", "b/velocity", "a/torque", "b/torque"}
    assert Whole().unmeasured == frozenset()
    with pytest.raises(ConfigurationError, match="does not measure b/torque"):
        SafeRobot(Arm(), SafetyConfig(joints={"b": JointLimits(torque=1.0)}))
    with pytest.raises(RobotError, match="a/torque, a/velocity, b/torque, b/velocity is NaN, which `unmeasured`"):
        check_robot(Whole())

    class Odd(Arm):
        measures = ("positions",)

    with pytest.raises(UnknownNameError, match=r"'positions' .*what Odd measures"):
        Odd()


# Commands


def test_before_a_command_a_joint_is_held_where_it_stands(arm):
    assert arm.read().command == pytest.approx([0.1, 0.1])
    arm.send([0.15, 0.05])
    arm.position = np.array([0.14, 0.06])
    assert arm.read().command == pytest.approx([0.15, 0.05])
    arm.stop()
    assert arm.read().command == pytest.approx([0.14, 0.06])


def test_no_torque_and_no_speed_is_in_force_before_a_command_whatever_is_to_be_at_rest():
    turned = [Channel("a/torque", "N·m", -1.0, 1.0, 0.8), Channel("b/velocity", "rad/s", 0.2, 1.0, 0.5)]
    with Arm(RobotInfo("arm", ("a", "b"), (), tuple(turned), PERIOD)) as arm:
        assert arm.read().command == pytest.approx([0.0, 0.2])


def test_of_what_is_no_joint_the_machine_tells_the_command():
    gripper = (*SIMULATED.command, Channel("grip/position", "rad", 0.0, 1.0, 1.0))
    with Arm(RobotInfo("arm", ("a", "b"), (), gripper, PERIOD)) as arm:
        with pytest.raises(ConfigurationError, match="which command 'grip/position' is in force"):
            arm.read()
        arm.told["command"] = [0.1, 0.1, math.nan]
        with pytest.raises(RobotError, match="tells no number for the command 'grip/position'"):
            arm.read()


def test_a_soft_joint_is_not_taken_to_be_where_its_link_is():
    with Arm(SOFT) as arm:
        with pytest.raises(ConfigurationError, match=r"'a/equilibrium' is in force .*Measurement\.command"):
            arm.read()
        arm.told["command"] = [0.2, 0.3]
        assert arm.read().command == pytest.approx([0.2, 0.3])


def test_a_joint_that_nothing_measures_is_not_moved(arm):
    arm.position = np.array([0.0, math.nan])
    with pytest.raises(RobotError, match="arm: nothing measures where joint 'b' stands"):
        arm.send([0.1, 0.1])
    assert arm.calls == []


def test_commands_are_limited_and_checked_before_the_machine_hears_of_them(arm):
    arm.send([0.1, 0.1])
    assert arm.send([5.0, -5.0]) == pytest.approx([1.0, -1.0])
    assert arm.position == pytest.approx([1.0, -1.0])
    for wrong, error in (([math.nan, 0.0], OutOfBoundsError), ([0.0], ShapeError)):
        with pytest.raises(error):
            arm.send(wrong)
    assert arm.calls == ["drive"] * 2


def test_a_joint_outside_its_range_is_brought_in_and_not_further_out(arm):
    arm.position = np.array([1.08, 0.0])
    sent = [arm.send([value, 0.0])[0] for value in (1.1, 1.05, 1.07, 0.9, 1.2)]
    assert sent == pytest.approx([1.08, 1.05, 1.05, 0.9, 1.0])


@pytest.mark.parametrize(
    ("stands", "wanted", "message"),
    [
        (1.2, 1.0, r"a/position stands at 1\.200 rad, outside \[-1, 1\]; move it in by hand"),
        (314.0, 1.0, r"stands at 314\.000 rad"),
        (0.1, 0.3, r"the first command of a/position is 0\.300 rad; it stands at 0\.100\. Walk there"),
        (math.inf, 0.0, "where joint 'a' stands"),
    ],
)
def test_the_first_command_is_no_jump(arm, stands, wanted, message):
    for _ in range(2):
        arm.position = np.array([stands, 0.0])
        with pytest.raises(RobotError, match=message):
            arm.send([wanted, 0.0])
        assert "drive" not in arm.calls
        arm.stop()  # and the first after a stop


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
        arm.send([0.1, 0.1])
    assert arm.calls == ["halt"]


# Time


@pytest.mark.parametrize(("call", "ends"), [("stop", "halt"), ("close", "release")])
def test_a_stop_from_a_signals_handler_comes_after_what_is_being_sent(arm, call, ends):
    """The bytes that are on their way go out first, so that the machine hears of the stop last."""
    drive, told = arm.drive, []

    def interrupted(command):
        getattr(arm, call)()
        told.append(list(arm.calls))
        drive(command)

    arm.drive = interrupted
    arm.send([0.1, 0.1])
    assert told == [[]]
    assert arm.calls == ["drive", ends]


def test_a_machine_that_is_closed_while_it_connects_is_released(arm):
    arm.close()
    arm.calls.clear()
    opened = arm.open
    arm.open = lambda: (opened(), arm.close())
    arm.connect()
    assert arm.calls == ["open", "release"]
    with pytest.raises(RobotError, match="not connected"):
        arm.read()


def test_a_release_that_was_interrupted_is_done_again(arm):
    arm.fails["release"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        arm.close()
    for call in (arm.connect, arm.read, lambda: arm.send([0.1, 0.1])):
        with pytest.raises(RobotError, match=r"close it first|not connected"):
            call()
    del arm.fails["release"]
    arm.close()
    arm.close()
    assert arm.calls == ["release", "release"]
    arm.connect()
    assert arm.read().time == 0.0


def test_after_a_stop_what_can_be_read_may_be_brought_to_rest(arm):
    arm.stop()
    assert arm.carry_on()
    arm.send([0.1, 0.1])
    arm.fails["measure"] = TimeoutError("timed out")
    assert not arm.carry_on()


def test_the_beat_does_not_drift_and_late_periods_are_counted(arm):
    arm.busy = 0.3 * PERIOD
    times = []
    for _ in range(10):
        arm.send([0.1, 0.1])
        times.append(arm.read().time)
    assert np.diff(times) == pytest.approx(PERIOD)
    assert arm.overruns == 0
    arm.busy = 1.4 * PERIOD
    arm.send([0.1, 0.1])
    assert arm.overruns == 1
    assert arm.diagnostics() == {"overruns": 1, "worst_lateness_s": pytest.approx(0.4 * PERIOD)}


def test_commands_never_come_closer_than_half_a_period(arm):
    sent = []
    drive = arm.drive
    arm.drive = lambda command: (sent.append(arm._clock.now()), drive(command))
    for busy in (0.0, 0.97, 0.0, 1.9, 0.0, 0.0):
        arm.send([0.1, 0.1])
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


@pytest.mark.parametrize(
    "error", [TimeoutError("timed out"), EOFError("the end"), ValueError("no number"), struct.error("short")]
)
@pytest.mark.parametrize(
    ("function", "call", "doing"),
    [
        ("measure", lambda arm: arm.read(), "reading"),
        ("drive", lambda arm: arm.send([0.1, 0.1]), "sending"),
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
    for call in (arm.read, lambda: arm.send([0.1, 0.1])):
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
    with pytest.raises(RobotError, match=f"arm: while reading: its driver measures {message}"):
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
            {"drive": lambda arm, command: Arm.drive(arm, command + 0.2)},
            "joint 'a' went 0.200 from where it stood",
        ),
        (
            {"measure": lambda arm: Measurement(arm.position, command=[0.01 * len(arm.calls), 0.1])},
            r"the command in force is \[0\.02 0\.1 \], not \[0\.01 0\.1 \], which was sent",
        ),
        ({"measure": lambda arm: Measurement(arm.position, time=1.0)}, "its time stands at 0 s"),
        (
            {"measure": lambda arm: Measurement(arm.position, time=9.0 * arm._clock.now())},
            "by its own time a period takes 0.09 s; it says 0.01 s",
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
            "b/position is NaN, which `unmeasured` does not say",
        ),
    ],
)
def test_a_promise_that_is_broken_is_named_and_the_robot_released(broken, message):
    arm = type("Broken", (Arm,), broken)()
    arm._state = None
    with pytest.raises(RobotError, match=message):
        check_robot(arm, periods=20)
    assert not arm._connected
