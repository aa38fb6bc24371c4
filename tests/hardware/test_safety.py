import math
import os
import signal

import numpy as np
import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.robot import Channel, RobotInfo, joint_signals
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import JointLimits, SafetyConfig, walks, watched
from pliant.hardware.timing import StepClock
from pliant.hardware.watch import Watch

MOTION = {"rad": MotionLimits(speed=2.0, acceleration=20.0, step=0.1, walk_speed=0.5)}


def safe(arm, stop_key=None, **config):
    config = {"motion": MOTION, "hold_time": 0.1} | config
    return SafeRobot(arm, SafetyConfig(**config), stop_key, arm.clock)


def connected(arm, stop_key=None, **config):
    robot = safe(arm, stop_key, **config)
    robot.connect()
    return robot


# Limits


def test_a_far_command_is_sent_as_a_small_step_and_the_caller_is_told(arm):
    robot = connected(arm)
    sent = robot.send([1.0, 0.0])
    assert sent == pytest.approx([20.0 * 0.01**2, 0.0])
    assert arm.sent[-1] == pytest.approx(sent)
    assert robot.report.limited == 1


def test_commands_within_the_limits_pass_unchanged(arm):
    robot = connected(arm)
    for k in range(1, 50):
        target = 0.2 * (1 - math.cos(0.05 * k)) * np.ones(2)
        assert robot.send(target) == pytest.approx(target, abs=1e-9)
    assert robot.report.limited == 0


def test_steps_speed_and_acceleration_are_limited_whatever_is_asked(arm):
    robot = connected(arm)
    rng = np.random.default_rng(1)
    for _ in range(300):
        robot.send(rng.uniform(-3, 3, 2))
    path = np.array([np.zeros(2), *arm.sent])
    speed = np.diff(path, axis=0) / 0.01
    assert np.abs(path).max() <= 1
    assert np.abs(speed).max() <= 2.0 + 1e-9
    assert np.abs(np.diff(speed, axis=0)).max() <= 20.0 * 0.01 + 1e-6


# stretch_body#232, piper_control#81: NaN passes a clamp


def test_a_nan_in_the_last_joint_only_refuses_the_whole_command(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    with pytest.raises(OutOfBoundsError, match="no finite value for b/position"):
        robot.send([0.001, math.nan])
    with pytest.raises(OutOfBoundsError):
        robot.walk_to([math.inf, 0.0])
    with pytest.raises(ShapeError):
        robot.send([0.0])
    assert len(arm.sent) == 1
    robot.send([0.0, 0.0])
    assert np.isfinite(arm.sent).all()


# openarm_ros2#66, odri_control_interface#6: the first command jumps to 0


def test_the_first_command_starts_from_the_measured_pose(arm):
    robot = connected(arm)
    arm.position = np.array([0.8, -0.8])  # moved by hand between connecting and starting
    sent = robot.send([0.0, 0.0])
    assert sent == pytest.approx([0.8 - 0.002, -0.8 + 0.002])


def test_a_walk_arrives_at_walking_speed_and_the_next_command_goes_on_from_there(arm):
    robot = connected(arm)
    arm.position = np.array([0.3, 0.0])
    robot.walk_to([-0.5, 2.0])
    assert arm.position == pytest.approx([-0.5, 1.0])
    assert np.abs(np.diff(arm.sent, axis=0)).max() <= 0.5 * 0.01 + 1e-12
    assert robot.send([-0.5, 1.0]) == pytest.approx([-0.5, 1.0])


def test_closing_walks_back_to_rest_from_the_last_command_not_from_the_measurement(arm):
    robot = connected(arm)
    robot.walk_to([0.5, 0.5])
    last = arm.sent[-1].copy()
    arm.position = np.array([0.4, 0.4])  # sagging under its load
    count = len(arm.sent)
    robot.close()
    assert np.abs(arm.sent[count] - last).max() <= 0.5 * 0.01
    assert arm.sent[-1] == pytest.approx([0, 0])
    assert arm.calls[-1] == "close"


def test_a_robot_that_was_only_watched_is_not_moved_on_closing(arm):
    arm.position = np.array([0.5, 0.5])
    with safe(arm) as robot:
        robot.read()
    assert arm.sent == []


def test_the_way_back_can_be_left_out(arm):
    with safe(arm, return_to_rest=False) as robot:
        robot.walk_to([0.1, 0.1])
    assert arm.sent[-1] == pytest.approx([0.1, 0.1])


# lerobot#1252, #1426: one missed read kills a long recording


def test_a_missed_read_is_bridged_counted_and_forgotten(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    state = robot.read()
    arm.failing_reads = 3
    for _ in range(3):
        assert robot.read().time == state.time
        robot.send([0.0, 0.0])
    assert robot.report.missed_reads == 3
    assert robot.read().time > state.time
    arm.failing_reads = 3
    for _ in range(3):
        robot.read()
    assert not robot.tripped


def test_reads_that_go_on_failing_hold_and_then_release_in_this_order(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    arm.failing_reads = 100
    held_from = arm.clock.now()
    said = r"4 reads in a row failed, the last with: no answer.* run the command again \(in Python: rearm\(\)\)"
    with pytest.raises(RobotError, match=said):
        _send_times(robot, 10)
    assert arm.calls[-2:] == ["stop", "close"]
    assert arm.clock.now() - held_from >= 0.1
    with pytest.raises(RobotError, match="may not move: 4 reads"):
        robot.send([0.0, 0.0])
    assert robot.report.trips == [robot.tripped]


def _send_times(robot, times):
    for _ in range(times):
        robot.send([0.0, 0.0])


def test_a_machine_that_refuses_a_command_is_stopped(arm):
    robot = connected(arm)
    arm.refuses = "overload of servo 3"
    with pytest.raises(RobotError, match="overload of servo 3"):
        robot.send([0.0, 0.0])
    assert arm.calls[-2:] == ["stop", "close"]


@pytest.mark.parametrize(
    ("limits", "change", "message"),
    [
        (
            JointLimits(speed=1.0),
            ("velocity", -1.5),
            r"joint b beyond its limits: velocity -1\.500 rad/s, limit -1 rad/s; at 0\.\d+ s",
        ),
        (JointLimits(torque=2.0), ("torque", 2.5), r"2\.500 N·m"),
        (JointLimits(high=0.5), ("position", 0.6), r"0\.600 rad"),
        (JointLimits(low=-0.5), ("position", -0.6), r"-0\.600 rad"),
    ],
)
def test_a_joint_beyond_what_may_be_measured_stops_the_robot(arm, limits, change, message):
    robot = connected(arm, joints={"b": limits}, excess=3)
    name, value = change
    setattr(arm, name, np.array([0.0, value]))
    robot.read()
    robot.read()
    with pytest.raises(RobotError, match=message):
        robot.read()


def test_what_cannot_be_measured_needs_no_limit_and_gets_none(arm):
    arm.torque = arm.velocity = np.full(2, math.nan)
    robot = connected(arm, joints={"b": JointLimits(low=-0.9)}, excess=1)
    for _ in range(5):
        robot.read()


def test_a_limit_of_what_is_not_measured_is_refused_by_name_before_anything_moves(arm):
    arm.torque = np.array([0.0, math.nan])
    with pytest.raises(ConfigurationError, match=r"arm does not measure b/torque"):
        connected(arm, joints={"a": JointLimits(torque=2.0), "b": JointLimits(torque=2.0, speed=1.0)})
    assert arm.calls == ["connect", "read", "close"]


def test_a_limited_quantity_that_is_not_measured_any_more_is_a_failed_read(arm):
    robot = connected(arm, joints={"b": JointLimits(torque=2.0)})
    robot.send([0.0, 0.0])
    arm.torque = np.full(2, math.nan)
    with pytest.raises(
        RobotError, match=r"4 reads in a row failed.* b/torque, which has a limit, is not measured"
    ):
        _send_times(robot, 10)
    assert arm.calls[-2:] == ["stop", "close"]


# Old readings


@pytest.mark.parametrize("age", ["the same", "older", "falling behind", "no time at all"])
def test_readings_that_bring_nothing_new_stop_the_robot_though_they_come(arm, age):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    robot.read()
    read, frozen = arm.read, arm.clock.now()
    times = {
        "the same": lambda t: frozen,
        "older": lambda t: 2 * frozen - t,
        "falling behind": lambda t: frozen + 0.3 * (t - frozen),
        "no time at all": lambda t: math.nan,
    }[age]
    arm.read = lambda: read()._replace(time=times(arm.clock.now()))
    with pytest.raises(RobotError, match=r"4 reads in a row failed, the last with: the reading is"):
        _send_times(robot, 20)
    assert arm.calls[-2:] == ["stop", "close"]
    assert robot.report.missed_reads >= 4


def test_reading_twice_in_a_period_is_no_old_reading(arm):
    robot = connected(arm)
    for _ in range(10):
        robot.send([0.0, 0.0])
        for _ in range(5):
            robot.read()
    assert robot.report.missed_reads == 0


def test_a_jitter_of_the_beat_is_no_old_reading(arm):
    robot = connected(arm, overruns=1000)
    read, shift = arm.read, [0.0]
    arm.read = lambda: (state := read())._replace(time=state.time + shift[0])
    rng = np.random.default_rng(3)
    for _ in range(500):
        shift[0] = float(rng.uniform(0, 0.009))
        robot.send([0.0, 0.0])
        robot.read()
    assert robot.report.missed_reads == 0


# Overruns


def test_late_periods_are_counted_and_too_many_in_a_row_stop_the_robot(arm):
    robot = connected(arm, overruns=3)
    for k in range(9):
        arm.delay = 0.02 if k % 3 == 0 else 0.0
        robot.send([0.0, 0.0])
        robot.read()
    assert robot.report.overruns == 3
    arm.delay = 0.02
    with pytest.raises(RobotError, match="4 periods in a row took too long"):
        _send_times(robot, 10)


# ubiquity_motor#42, tractor#82, dimos#3004: motion resumes when an emergency stop is released


def test_a_stop_latches_until_rearmed_and_then_starts_from_the_measured_state(arm):
    robot = connected(arm)
    robot.walk_to([0.5, 0.5])
    robot.stop()
    with pytest.raises(RobotError, match=r"may not move: stopped.*rearm\(\)"):
        robot.send([0.5, 0.5])
    arm.position = np.array([-0.2, 0.1])  # moved by hand
    count = len(arm.sent)
    assert robot.read().position == pytest.approx([-0.2, 0.1])
    robot.rearm()
    assert len(arm.sent) == count, "rearming moves nothing"
    robot.send([0.5, 0.5])
    assert np.abs(arm.sent[-1] - [-0.2, 0.1]).max() <= 0.002 + 1e-12


def test_only_its_operator_arms_a_stopped_robot_again(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    robot.stop()
    for _ in range(2):
        with pytest.raises(RobotError, match=r"may not move: stopped.*rearm\(\)"):
            robot.connect()
        robot.close()
    arm.failing_reads = 10
    with pytest.raises(RobotError, match="no answer"):
        robot.rearm()
    arm.failing_reads = 0
    with pytest.raises(RobotError, match=r"rearm\(\)"):
        robot.connect()
    robot.rearm()
    assert not robot.tripped
    robot.send([0.0, 0.0])


def test_after_a_trip_connecting_is_refused_too(arm):
    pressed = [True]
    robot = connected(arm, stop_key=lambda: bool(pressed))
    with pytest.raises(RobotError, match="the stop key"):
        robot.send([0.0, 0.0])
    pressed.clear()
    with pytest.raises(RobotError, match="may not move: the stop key"):
        robot.connect()
    robot.rearm()
    robot.send([0.0, 0.0])


def test_a_stop_key_that_cannot_be_asked_stops(arm):
    def broken():
        raise OSError("no terminal")

    robot = connected(arm, stop_key=broken)
    with pytest.raises(RobotError, match="the stop key cannot be asked"):
        robot.send([0.0, 0.0])
    assert arm.calls[-2:] == ["stop", "close"]


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), OSError("no device")])
def test_a_driver_that_breaks_under_way_is_stopped_and_released(arm, error):
    def run():
        with safe(arm) as robot:
            robot.walk_to([0.1, 0.1])
            arm.during = fail
            robot.walk_to([0.2, 0.2])

    def fail(call):
        if call == "send":
            raise error

    with pytest.raises(RobotError, match=type(error).__name__):
        run()
    assert arm.calls[-2:] == ["stop", "close"]


def test_a_robot_whose_stop_fails_is_released_all_the_same(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    arm.refuses = "bus lost"

    def fail(call):
        if call == "stop":
            raise OSError("gone")

    arm.during = fail
    begin = arm.clock.now()
    with pytest.raises(RobotError, match=r"stopped: bus lost\. Stopping it failed \(gone\); it was released\."):
        robot.send([0.0, 0.0])
    assert arm.calls[-1] == "close"
    assert arm.clock.now() - begin >= robot.config.hold_time, "it may hold its last command"
    assert robot.tripped == "bus lost"
    assert robot.report.trips == ["bus lost"]


@pytest.mark.parametrize("calls", [["close"], ["stop", "close"]])
@pytest.mark.parametrize("error", [RobotError("arm: releasing failed."), OSError("gone"), ZeroDivisionError()])
def test_why_it_was_stopped_is_told_though_its_release_fails(arm, calls, error):
    handler = signal.getsignal(signal.SIGTERM)

    def fail(call):
        if call in calls:
            raise error

    def run():
        with safe(arm) as robot:
            robot.send([0.0, 0.0])
            arm.refuses, arm.during = "bus lost", fail
            robot.send([0.0, 0.0])

    with pytest.raises(
        RobotError,
        match=r"stopped: bus lost\. .*eleasing it failed \((rel|gone|Zero).*\); it may still have its torque",
    ):
        run()
    assert arm.calls.count("close") == 1
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize("error", [RobotError("no release"), OSError("gone")])
def test_a_release_that_fails_at_the_normal_end_is_an_error(arm, error):
    def fail(call):
        if call == "close":
            raise error

    def run():
        with safe(arm) as robot:
            robot.send([0.0, 0.0])
            arm.during = fail

    with pytest.raises(type(error), match=str(error)):
        run()


def test_a_stop_whose_failure_speaks_of_releasing_is_no_failed_release(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    arm.refuses = "bus lost"

    def fail(call):
        if call == "stop":
            raise OSError("releasing the brake")

    arm.during = fail
    with pytest.raises(RobotError, match=r"Stopping it failed \(releasing the brake\); it was released\."):
        robot.send([0.0, 0.0])


def test_a_release_that_was_interrupted_is_repeated_at_the_next_close(arm):
    robot, ends = connected(arm), [KeyboardInterrupt()]
    robot.send([0.0, 0.0])

    def fail(call):
        if call == "close" and ends:
            raise ends.pop()

    arm.during = fail
    with pytest.raises(KeyboardInterrupt):
        robot.close()
    robot.close()
    robot.close()
    assert arm.calls.count("close") == 2


def test_a_stop_is_sent_again_though_the_first_one_failed(arm):
    robot, tries = connected(arm), []

    def fail(call):
        if call == "stop":
            tries.append(call)
            if len(tries) == 1:
                raise OSError("gone")

    arm.during = fail
    with pytest.raises(OSError, match="gone"):
        robot.stop()
    assert len(tries) == 2
    assert robot.tripped == "stopped"


def test_a_robot_without_a_safety_layer_is_released_though_its_stop_fails(arm):
    def fail(call):
        if call == "stop":
            raise OSError("gone")

    arm.during = fail
    with pytest.raises(OSError, match="gone"), arm:
        raise ZeroDivisionError
    assert arm.calls[-1] == "close"


def test_an_error_that_is_no_robot_error_on_the_way_home_releases_too(arm):
    def run():
        with safe(arm) as robot:
            robot.walk_to([0.1, 0.1])
            arm.during = fail

    def fail(call):
        if call == "read":
            raise MemoryError

    with pytest.raises(RobotError, match=r"it cannot be read: MemoryError\(\)\. Its joints were held"):
        run()
    assert arm.calls[-2:] == ["stop", "close"]


def test_a_stop_on_the_way_home_holds_and_then_releases(arm):
    robot = connected(arm)
    robot.walk_to([0.5, 0.5])
    count = len(arm.sent)

    def strike(call):
        if call == "send" and len(arm.sent) == count + 10:
            arm.during = lambda call: None
            robot.stop()

    arm.during = strike
    held_from = arm.clock.now()
    with pytest.raises(RobotError, match="may not move: stopped"):
        robot.close()
    assert len(arm.sent) <= count + 11
    assert arm.calls[-2:] == ["stop", "close"]
    assert arm.clock.now() - held_from >= 0.1


def test_after_a_trip_rearming_connects_anew(arm):
    robot = connected(arm)
    robot.walk_to([0.5, 0.5])
    arm.refuses = "bus lost"
    with pytest.raises(RobotError):
        robot.send([0.5, 0.5])
    arm.refuses, arm.position = "", np.array([0.1, 0.1])
    robot.rearm()
    assert arm.calls[-2:] == ["connect", "read"]
    assert robot.send([0.1, 0.1]) == pytest.approx([0.1, 0.1])


def test_a_stop_while_it_connects_holds(arm):
    """A thread that stops then would be forgotten as soon as the robot is connected."""
    robot = safe(arm)
    arm.during = lambda call: robot.stop() if call == "connect" else None
    with pytest.raises(RobotError, match=r"may not move: stopped.*rearm\(\)"):
        robot.connect()
    arm.during = lambda call: None
    with pytest.raises(RobotError, match="may not move"):
        robot.send([0.1, 0.1])
    assert not arm.sent
    robot.rearm()
    robot.send([0.1, 0.1])


def test_a_stopped_robot_refuses_to_go_where_it_is(arm):
    robot = connected(arm)
    here = robot.walk_to([0.5, 0.5])
    robot.stop()
    with pytest.raises(RobotError, match="may not move: stopped"):
        robot.walk_to(here)


def test_what_a_machine_holds_back_it_does_not_run_after_later(arm):
    """A speed slider goes down and up again: from where the machine is, all limits hold still."""
    robot = connected(arm)
    for k in range(300):
        arm.furthest = 0.0005 if 20 <= k < 120 else np.inf
        robot.send([0.9, 0.0])
    speed = np.diff(np.array([np.zeros(2), *arm.sent])[:, 0]) / 0.01
    assert speed.max() <= 2.0 + 1e-9
    assert np.diff(speed).max() <= 20.0 * 0.01 + 1e-6
    assert arm.sent[-1][0] == 0.9


def test_a_stopped_robot_is_released_where_it_is(arm):
    with safe(arm) as robot:
        robot.walk_to([0.5, 0.5])
        robot.stop()
    assert arm.sent[-1] == pytest.approx([0.5, 0.5])
    assert arm.calls[-1] == "close"


def test_the_stop_key_stops(arm):
    pressed = []
    robot = safe(arm, stop_key=lambda: bool(pressed))
    robot.connect()
    robot.send([0.0, 0.0])
    pressed.append(True)
    with pytest.raises(RobotError, match="the stop key"):
        robot.send([0.0, 0.0])
    assert arm.calls[-2:] == ["stop", "close"]


# Ends: lerobot#1056, #4610; axol#247


def test_an_exception_of_the_program_walks_home_and_closes(arm):
    def fail():
        with safe(arm) as robot:
            robot.walk_to([0.5, 0.5])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert arm.sent[-1] == pytest.approx([0, 0])
    assert arm.calls[-1] == "close"


ENDING = [
    (signal.SIGINT, KeyboardInterrupt),
    (signal.SIGTERM, SystemExit),
    (signal.SIGHUP, SystemExit),
    (signal.SIGQUIT, SystemExit),
]


@pytest.mark.parametrize(("number", "error"), ENDING)
@pytest.mark.parametrize("moment", ["connect", "read", "send", "computing"])
def test_one_signal_walks_home_and_closes_at_whatever_moment(arm, number, error, moment):
    before = signal.getsignal(number)
    arm.during = lambda call: _once_at(arm, call, moment, number)

    def run():
        with safe(arm) as robot:
            robot.walk_to([0.1, 0.1])
            for _ in range(20):
                robot.read()
                robot.send([0.1, 0.1])
                if moment == "computing":
                    os.kill(os.getpid(), number)

    with pytest.raises(error):
        run()
    assert arm.calls[-1] == "close"
    assert not arm.sent or arm.sent[-1] == pytest.approx([0, 0])
    assert signal.getsignal(number) is before


def _once_at(arm, call, moment, number):
    if call == moment:
        arm.during = lambda call: None
        os.kill(os.getpid(), number)


def test_a_second_signal_cuts_the_walk_home_short_hold_then_release(arm):
    def strike(call):
        if len(arm.sent) in (80, 100) and call == "send":
            os.kill(os.getpid(), signal.SIGINT)

    arm.during = strike

    def run():
        with safe(arm) as robot:
            robot.walk_to([0.9, 0.9])

    with pytest.raises(KeyboardInterrupt):
        run()
    assert 100 <= len(arm.sent) <= 102
    assert arm.calls[-2:] == ["stop", "close"]


def test_two_signals_at_once_and_more_still_end_closed(arm):
    def strike(call):
        if len(arm.sent) >= 50:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)

    arm.during = strike

    def run():
        with safe(arm, hold_time=10.0) as robot:
            robot.walk_to([0.9, 0.9])

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        run()
    assert arm.calls[-1] == "close"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Impatient(StepClock):
    """A clock during whose first sleep somebody presses Ctrl-C."""

    def sleep_until(self, time):
        super().sleep_until(time)
        if self.now() < 5.0:
            super().sleep_until(5.0)
            os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_while_holding_releases_at_once(arm):
    pressed = []
    robot = SafeRobot(arm, SafetyConfig(hold_time=60.0), lambda: bool(pressed), clock := Impatient())

    def run():
        with robot:
            robot.send([0.0, 0.0])
            pressed.append(True)
            robot.send([0.0, 0.0])

    with pytest.raises(KeyboardInterrupt):
        run()
    assert clock.now() < 6.0
    assert arm.calls[-2:] == ["stop", "close"]


def test_a_signal_on_the_doorstep_of_the_exit_does_not_leave_the_robot_standing(arm, monkeypatch):
    leave = SafeRobot._leave

    def interrupted(self, kind):
        monkeypatch.setattr(SafeRobot, "_leave", leave)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(SafeRobot, "_leave", interrupted)

    def run():
        with safe(arm) as robot:
            robot.walk_to([0.1, 0.1])

    with pytest.raises(KeyboardInterrupt):
        run()
    assert arm.sent[-1] == pytest.approx([0, 0])
    assert arm.calls[-1] == "close"


def test_the_programs_own_exception_outlives_a_signal_on_the_way_home(arm):
    def strike(call):
        if len(arm.sent) == 30:
            os.kill(os.getpid(), signal.SIGINT)

    def run():
        with safe(arm) as robot:
            robot.walk_to([0.1, 0.1])
            arm.during = strike
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert arm.calls[-2:] == ["stop", "close"]


def test_a_failing_connection_leaves_nothing_open_and_no_handlers(arm):
    arm.failing_reads = 10
    with pytest.raises(RobotError, match="no answer"):
        safe(arm).__enter__()
    assert arm.calls.count("read") == 4, "the first read has the patience of all others"
    assert arm.calls[-1] == "close"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_reading_and_sending_want_a_connection(arm):
    robot = safe(arm)
    with pytest.raises(RobotError, match="not connected"):
        robot.send([0.0, 0.0])
    robot.stop()
    robot.close()
    robot.close()


# Configuration


def test_limits_narrow_the_range_of_the_robot(arm):
    narrow = {"a/position": MotionLimits(1.0, 10.0, low=0.2, high=0.5)}
    robot = SafeRobot(arm, SafetyConfig(motion=narrow))
    assert robot.info.low == pytest.approx([0.2, -1.0])
    assert robot.info.rest == pytest.approx([0.2, 0.0])
    assert robot.info.joints == arm.info.joints


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JointLimits(low=math.nan), r"\[nan, inf\] rad is no range"),
        (lambda: JointLimits(high=math.nan), "is no range"),
        (lambda: JointLimits(low=1.0, high=-1.0), r"\[1, -1\] rad is no range"),
        (lambda: JointLimits(low=math.inf), "is no range"),
        (lambda: JointLimits(speed=math.nan), "speed nan rad/s is not above 0"),
        (lambda: JointLimits(speed=-1.0), "speed -1 rad/s is not above 0"),
        (lambda: JointLimits(speed=0.0), "is not above 0"),
        (lambda: JointLimits(torque=math.nan), "torque nan N·m is not above 0"),
        (lambda: JointLimits(torque=-math.inf), "is not above 0"),
        (lambda: SafetyConfig(excess=0), "excess"),
        (lambda: SafetyConfig(excess=math.nan), "excess"),
        (lambda: SafetyConfig(patience=-1), "patience"),
        (lambda: SafetyConfig(patience=1.5), "whole number"),
        (lambda: SafetyConfig(overruns=math.inf), "overruns"),
        (lambda: SafetyConfig(hold_time=-1.0), "hold_time"),
        (lambda: SafetyConfig(motion={"rad": {"speed": 1.0}}), "limits of 'rad' lack acceleration"),
        (
            lambda: SafetyConfig(motion={"rad": {"speed": None, "acceleration": 1}}),
            "'rad': speed is None; a number",
        ),
        (lambda: SafetyConfig(motion={"rad": {"speed": -1, "acceleration": 1}}), "'rad': speed limit = -1"),
        (lambda: SafetyConfig(motion=1.0), r"limits \(motion\) are 1.0"),
        (lambda: SafetyConfig(joints={"a": {"sped": 1.0}}), "limit 'sped' in the safety limits of 'a'.*'speed'"),
        (lambda: SafetyConfig(joints={"a": {"speed": "fast"}}), "'a': speed is 'fast'; a number"),
        (lambda: SafetyConfig(joints={"a": {"speed": True}}), "'a': speed is True; a number"),
        (lambda: SafetyConfig(joints={"a": {"torque": None}}), "'a': torque is None; a number"),
        (lambda: SafetyConfig(joints={"a": {"low": math.nan}}), "'a': .* is no range"),
        (lambda: SafetyConfig(joints={"a": 1.0}), "'a' are 1.0; numbers by name"),
        (lambda: SafetyConfig(joints={"a": MotionLimits(1.0, 1.0)}), "'a' are MotionLimits.*numbers by name"),
        (lambda: MotionLimits(speed=math.nan, acceleration=1.0), "speed limit"),
        (lambda: MotionLimits(speed=1.0, acceleration=math.inf), "acceleration limit"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, step=math.nan), "step nan"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, step=-0.1), "step -0.1"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, low=1.0, high=-1.0), r"range \[1, -1\]"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, low=math.nan), "range"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, walk_speed=math.nan), "walk speed"),
        (lambda: MotionLimits(speed=1.0, acceleration=1.0, walk_speed=2.0), "walk speed"),
    ],
)
def test_limits_that_would_keep_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["a/postion", "rads", "a", "/position", "Rad"])
def test_misspelt_columns_and_units_are_refused(arm, name):
    with pytest.raises(UnknownNameError, match=r"command column or unit .* Valid: a/position, b/position, rad"):
        SafeRobot(arm, SafetyConfig(motion={name: MotionLimits(1.0, 10.0)}))


@pytest.mark.parametrize(("unit", "speed"), [("rad", 1.5), ("m", 0.25), ("N·m", 20.0), ("N", 20.0)])
def test_every_unit_of_a_joint_has_limits_of_its_own_accord(arm, unit, speed):
    np.testing.assert_allclose(SafeRobot(type(arm)(unit=unit)).limits.speed, speed)


# Torques and forces: they do not walk


@pytest.fixture
def driven(arm):
    """The robot, commanded torques of up to 1 N·m each."""
    return type(arm)(arm.clock, unit="N·m")


def test_torques_rise_from_nothing_to_the_largest_in_fifty_milliseconds(driven):
    with safe(driven, motion={}) as robot:
        assert not robot.walks
        sent = [robot.send([1.0, -0.1]) for _ in range(8)]
        assert np.array(sent)[:, 0] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0, 1.0])
        assert np.array(sent)[:, 1] == pytest.approx(-0.1)
        assert robot.send([-5.0, 0.0])[0] == pytest.approx(0.8), "and down as quickly"
        with pytest.raises(OutOfBoundsError, match="no finite value"):
            robot.send([np.nan, 0.0])
    quicker = {"N·m": MotionLimits(speed=1000.0, acceleration=1e9)}
    driven.position[:] = 0.0
    with safe(driven, motion=quicker) as robot:
        assert robot.send([1.0, 0.0])[0] == 1.0


def test_a_robot_that_is_commanded_torques_begins_where_it_stands(driven):
    with safe(driven, motion={}) as robot:
        assert robot.walk_to([0.5, 0.5]) == pytest.approx([0.0, 0.0])
        assert driven.sent == []
        assert "stop" not in driven.calls, "nothing has moved"


def test_between_two_motions_and_at_the_end_torques_are_taken_off_by_a_stop(driven):
    with safe(driven, motion={}) as robot:
        robot.send([0.2, 0.2])
        begin = driven.clock.now()
        robot.walk_to([0.5, 0.5])
        assert driven.calls[-2:] == ["stop", "read"]
        assert driven.clock.now() - begin == pytest.approx(0.1), "hold_time"
        robot.send([0.1, 0.1])
        assert robot.report.trips == []
    assert driven.calls[-2:] == ["stop", "close"]
    assert len(driven.sent) == 2, "no torque is sent that nobody asked for"


def test_a_failure_ends_like_the_rest_of_torques(driven):
    def fail(robot):
        robot.send([0.2, 0.2])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), safe(driven, motion={}) as robot:
        fail(robot)
    assert driven.calls[-2:] == ["stop", "close"]
    assert len(driven.sent) == 1


def test_a_joint_that_is_commanded_torques_may_not_run_away(driven):
    """Four times as fast as a command of its place might be, as in the rehearsal, where nothing else is said."""
    driven.velocity = np.array([0.0, -7.9])
    with safe(driven, excess=2) as robot:
        for _ in range(5):
            robot.read()
        driven.velocity = np.array([0.0, -8.1])
        robot.read()
        with pytest.raises(RobotError, match=r"joint b beyond its limits: velocity -8\.100 rad/s, limit -8 rad/s"):
            robot.read()
    assert driven.calls[-2:] == ["stop", "close"]


@pytest.mark.parametrize("speed", [9.0, math.inf])
def test_a_speed_that_is_given_is_the_limit(driven, speed):
    driven.velocity = np.array([0.0, -8.1])
    with safe(driven, excess=1, joints={"b": {"speed": speed}}) as robot:
        for _ in range(5):
            robot.read()


def test_a_joint_that_could_run_away_unseen_is_refused_unless_it_is_said_so(driven):
    driven.velocity = np.full(2, math.nan)
    with pytest.raises(
        ConfigurationError, match=r"a/velocity, b/velocity; .* say so: \+safety\.joints\.a\.speed=inf"
    ):
        safe(driven).connect()
    unlimited = {name: JointLimits(speed=math.inf) for name in "ab"}
    with safe(driven, joints=unlimited) as robot:
        robot.read()
    driven.velocity = np.zeros(2)
    with safe(driven) as robot:
        robot.send([0.0, 0.0])
        driven.velocity = np.full(2, math.nan)
        with pytest.raises(
            RobotError, match="a/velocity, b/velocity, which has a limit, is not measured any more"
        ):
            _ = [robot.read() for _ in range(5)]


def test_what_is_no_joint_may_be_commanded_a_force_beside_places(arm):
    """A gripper's force keeps no arm from going home; where forces alone are commanded, nothing can."""
    places = tuple(Channel(f"{joint}/position", "rad", -1.0, 1.0) for joint in "ab")
    force, torque = Channel("gripper/force", "N", 0.0, 40.0), Channel("a/torque", "N·m", -1.0, 1.0)
    for command, walk in [
        ((), True),
        (places, True),
        ((*places, force), True),
        ((*places, torque), True),
        ((places[1], torque), False),
        ((force,), False),
    ]:
        assert walks(RobotInfo("arm", ("a", "b"), (), command, 0.01)) == walk


def test_a_unit_that_nothing_is_known_of_is_told_so():
    column = Channel("a/torque", "N·m", -1.0, 1.0)
    signals = joint_signals(("a",), (), {"a": ("mm", "N·m")})
    info = RobotInfo("arm", ("a",), (), (column,), 0.01, signals=tuple(signals))
    with pytest.raises(
        ConfigurationError, match=r"'a' is commanded in N·m, and nothing says how fast .* limits of mm"
    ):
        Watch(info, SafetyConfig())


def test_limits_may_be_given_by_name(arm):
    given = SafetyConfig(
        motion={"rad": {"speed": 2, "acceleration": 20.0, "walk_speed": None}}, joints={"b": {"speed": 1.0}}
    )
    assert given == SafetyConfig({"rad": MotionLimits(2, 20.0)}, {"b": JointLimits(speed=1.0)})


def test_a_joint_that_is_commanded_torques_may_not_leave_its_range():
    """Its own, and a fiftieth of its width; a given one counts in its place."""
    columns = tuple(Channel(f"{joint}/torque", "N·m", -1.0, 1.0) for joint in "ab")
    ranges = [Channel("a/position", "rad", -1.0, 2.0), Channel("b/position", "rad", -math.inf, math.inf)]
    info = RobotInfo("arm", ("a", "b"), (), columns, 0.01, signals=(*ranges, *joint_signals("ab", ())[2:]))
    limits = watched("a", info, SafetyConfig())
    assert (limits.low, limits.high, limits.speed) == pytest.approx((-1.06, 2.06, 6.0))
    assert watched("b", info, SafetyConfig()).limited == ("velocity",)
    given = watched("a", info, SafetyConfig(joints={"a": {"high": 3.0}, "b": {}}))
    assert (given.low, given.high, given.speed) == pytest.approx((-1.06, 3.0, 6.0))


def test_a_position_that_is_lost_on_the_way_is_a_failed_read(arm):
    robot = connected(arm)
    robot.send([0.0, 0.0])
    read = arm.read
    arm.read = lambda: read()._replace(position=np.array([0.0, math.nan]))
    with pytest.raises(
        RobotError, match=r"4 reads in a row failed.* position of joint b is not measured any more"
    ):
        _ = [robot.send([0.0, 0.0]) for _ in range(10)]
    robot.rearm()  # not measured from the first reading on: whoever needs it says so
    robot.send([0.0, 0.0])
    robot.read()


def test_a_stop_that_fails_is_tried_again_while_it_holds(arm):
    robot, tries = connected(arm), []
    robot.send([0.0, 0.0])
    arm.refuses = "bus lost"

    def fail(call):
        if call == "stop":
            tries.append(arm.clock.now())
            if len(tries) < 3:
                raise OSError("gone")

    arm.during = fail
    begin = arm.clock.now()
    with pytest.raises(RobotError, match=r"stopped: bus lost\. Its joints were held and then released\."):
        robot.send([0.0, 0.0])
    assert tries == pytest.approx([begin, begin + 0.02, begin + 0.04])
    assert arm.clock.now() - begin == pytest.approx(robot.config.hold_time)


def test_a_place_that_is_commanded_limits_its_speed_itself(arm):
    arm.velocity = np.array([0.0, -8.1])
    with safe(arm, excess=1) as robot:
        for _ in range(5):
            robot.read()


def test_unknown_joints_and_units_are_refused(arm):
    with pytest.raises(UnknownNameError, match="joint 'c' in the safety limits"):
        SafeRobot(arm, SafetyConfig(joints={"c": JointLimits()}))
    furlongs = type(arm)(unit="furlong")
    with pytest.raises(ConfigurationError, match="no motion limits for the command column 'a/position'"):
        SafeRobot(furlongs)
    with pytest.raises(OutOfBoundsError, match="hold_time"):
        SafetyConfig(hold_time=math.nan)


def test_walks_are_told_period_by_period_and_go_on_when_nobody_can_listen(arm, caplog):
    told = []

    def full(state, asked, sent):
        if len(told) == 30:
            raise OSError("the disk is full")
        told.append((state.time, asked, sent))

    with safe(arm) as robot:
        robot.observer = full
        robot.walk_to([0.1, 0.1])
        assert len(told) == len(arm.sent)
        robot.send([0.1, 0.1])
    assert len(told) == 30
    assert "the disk is full" in caplog.text
    assert arm.sent[-1] == pytest.approx([0, 0])
    assert arm.calls[-1] == "close"


def test_a_second_signal_while_a_connection_is_given_up_leaves_no_handlers(arm):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def strike(call):
        os.kill(os.getpid(), signal.SIGINT if call == "connect" else signal.SIGTERM)

    arm.during = strike
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        safe(arm).__enter__()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert arm.calls[-1] == "close"
