"""What the driver and its safety layer promise, looked up at the servo: in every mode, of both protocols."""

import math
import os
import signal
import threading
import time

import numpy as np
import pytest

from pliant.controllers import Rows, run
from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import JointLimits, SafetyConfig

KINDS = ("position", "extended", "current_position", "compliant", "current", "pwm", "xl430", "ax12a")
WATCHED = tuple(kind for kind in KINDS if kind != "ax12a")
PERIOD = 0.02
QUICK = {
    "rad": MotionLimits(speed=1.5, acceleration=15.0, step=0.03, walk_speed=0.3),
    "N·m": MotionLimits(speed=20.0, acceleration=2000.0, walk_speed=2.0),
    "1": MotionLimits(speed=5.0, acceleration=500.0, walk_speed=0.5),
}


def safe(bench, stop_key=None, **config):
    limits = SafetyConfig(**({"motion": QUICK, "hold_time": 0.1} | config))
    bench.guards.append(SafeRobot(bench.robot, limits, stop_key, bench))
    return bench.guards[-1]


def moving(bench, periods=14, **config):
    """Return the machine behind its safety layer, on its way."""
    robot = safe(bench, **config)
    robot.connect()
    for _ in range(periods):
        robot.send(bench.far_command())
        robot.read()
    return robot


def armed(bench):
    return [count == 10 for count in bench.registers("bus_watchdog")]


# The watchdog is armed before the torque, and disarmed last


@pytest.mark.parametrize("kind", WATCHED)
def test_the_watchdog_is_armed_again_by_the_first_command_after_a_stop(bench, kind):
    bench = bench(kind)
    robot = moving(bench)
    robot.stop()
    assert bench.registers("bus_watchdog") == [0, 0]
    robot.rearm()
    for _ in range(14):
        robot.send(bench.far_command())
        assert armed(bench) == [True, True]
    bench.dead = True
    assert bench.still_after(1.0), "nobody drives them any more"
    assert bench.registers("bus_watchdog") == [-1, -1]


@pytest.mark.parametrize("kind", WATCHED)
@pytest.mark.parametrize("way", ["stop", "reconnect", "recover", "hold"])
def test_by_whatever_way_the_torque_comes_on_the_watchdog_is_armed_before(bench, kind, way):
    bench = bench(kind, **({"on_close": "hold"} if way == "hold" else {}))
    robot = bench.robot
    robot.connect()
    robot.send(robot.read().command)
    if way == "stop":
        robot.stop()
    elif way == "recover":
        robot.recover()
    else:
        robot.close()
        robot.connect()
    robot.send(robot.read().command)
    assert armed(bench) == [True, True]
    state = {}
    for entry in bench.journal("bus_watchdog", "torque_enable"):
        if entry.register == "torque_enable" and entry.value == 1 and not entry.refusal:
            assert state[entry.servo] == 10, "torque without a watchdog"
        if entry.register == "bus_watchdog":
            state[entry.servo] = entry.value


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_packet_of_the_first_command_no_servo_is_left_driving(bench, kind, killed):
    make, packet = bench, 0
    while True:
        bench = make(kind)
        bench.place(*([0.3, -0.3] if kind == "compliant" else [0.3, 0.3]))
        robot = bench.robot
        robot.connect()
        command = robot.read().command
        count = iter(range(-packet, 10_000))
        bench.sending = lambda _, count=count, bench=bench: next(count) == 0 and bench.kill()
        try:
            robot.send(command)
        except killed:
            pass
        else:
            break
        start = [bench.plant[s.id].position for s in bench.bus.servos]
        bench.fastest = 0.0
        assert bench.still_after(1.0)
        assert bench.fastest < 0.2, "at most the rounding of a count is settled"
        assert [bench.plant[s.id].position for s in bench.bus.servos] == pytest.approx(start, abs=0.01)
        if kind != "ax12a":
            for torque, watchdog in zip(
                bench.registers("torque_enable"), bench.registers("bus_watchdog"), strict=True
            ):
                assert not torque or watchdog == -1, "torque on, and nothing that watches"
        packet += 1
    assert packet > 8


@pytest.mark.parametrize("kind", WATCHED)
def test_a_stall_at_any_packet_of_the_first_command_leaves_the_watchdogs_armed_or_is_told(bench, kind):
    make, packet, told = bench, 0, []
    while True:
        bench = make(kind)
        robot = bench.robot
        robot.connect()
        command = robot.read().command
        count = iter(range(-packet, 10_000))
        bench.sending = lambda _, count=count, bench=bench: next(count) == 0 and bench.sleep(0.5)
        try:
            robot.send(command)
            robot.read()
            if next(count) <= 0:
                break
            robot.read()
        except RobotError as error:
            told.append(str(error))
        else:
            assert armed(bench) == [True, True]
        packet += 1
    assert packet > 8
    assert told
    assert all("watchdog" in error for error in told)


@pytest.mark.parametrize("kind", WATCHED)
@pytest.mark.parametrize("packet", range(12))
def test_a_stop_by_a_signals_handler_while_the_torque_comes_on_is_the_last_word(bench, kind, packet):
    bench = bench(kind)
    robot = bench.robot
    robot.connect()
    command = robot.read().command
    count = iter(range(-packet, 10_000))
    bench.sending = lambda _: next(count) == 0 and robot.stop()
    with pytest.raises(RobotError, match="was stopped"):
        robot.send(command)
    bench.sending = lambda _: None
    returned = len(bench.bus.journal)
    bench.sleep(0.5)
    assert len(bench.bus.journal) == returned, "no watchdog of a stopped servo trips"
    assert bench.still_after(0.0)
    robot.close()
    assert bench.registers("torque_enable") == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_late_period_two_commands_do_not_come_at_once(bench, kind):
    bench = bench(kind)
    robot = moving(bench)
    since = bench.now()
    for late in (0.9, 0.0, 0.0, 0.6, 0.0, 1.9, 0.0, 0.0):
        bench.sleep(late * PERIOD)
        robot.send(bench.far_command())
    times = [e.time for e in bench.journal(bench.drive_register, since=since) if e.servo == 1]
    assert np.diff(times).min() > 0.45 * PERIOD


@pytest.mark.parametrize("kind", KINDS)
def test_a_servo_that_fails_as_the_torque_comes_on_leaves_all_without_it(bench, kind):
    bench = bench(kind, retries=0)
    robot = bench.robot
    robot.connect()
    command = robot.read().command
    on = bench.model.register("torque_enable").address

    def deaf(packet):
        bench.swallow = bench.swallow or _writes(packet, 2, on, bench.model.protocol)

    bench.sending = deaf
    with pytest.raises(RobotError, match="gave no whole answer"):
        robot.send(command)
    bench.sending = lambda packet: None
    assert bench.registers("torque_enable")[0] == 0
    robot.close()
    assert bench.registers("torque_enable") == [0, 0]


def _writes(packet, servo, address, protocol):
    """Whether a packet writes to an address of one servo."""
    if protocol == 2:
        return packet[4] == servo and packet[7] == 3 and int.from_bytes(packet[8:10], "little") == address
    return packet[2] == servo and packet[4] == 3 and packet[5] == address


def _is_sync_write(packet, protocol):
    return packet[7 if protocol == 2 else 4] == 0x83


# A stop is confirmed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["stop", "close", "hold"])
def test_a_stop_whose_group_packets_are_all_lost_stops_all_the_same(bench, kind, end):
    bench = bench(kind, **({"on_close": "hold"} if end == "hold" else {}))
    robot = bench.robot
    moving(bench)

    def lose(packet):
        bench.swallow = _is_sync_write(packet, bench.model.protocol)

    bench.sending = lose
    if end == "stop":
        robot.stop()
    else:
        robot.close()
    if end == "close":
        assert bench.registers("torque_enable") == [0, 0]
        return
    for goal, here in zip(bench.registers(bench.drive_register), bench.registers("present_position"), strict=True):
        assert abs(goal - here) < 60 if bench.holds_position else goal == 0
    bench.sleep(0.5)
    assert bench.still_after(0.0)
    assert bench.registers("torque_enable") == [1, 1]


@pytest.mark.parametrize("kind", WATCHED)
def test_a_servo_that_does_not_hear_the_stop_keeps_its_watchdog_and_is_told_again(bench, kind):
    bench = bench(kind, retries=1)
    robot = bench.robot
    moving(bench)

    def deaf(packet):
        code = packet[7]
        to_second = packet[4] == 2 and code == 3
        bench.swallow = to_second or code == 0x83

    bench.sending = deaf
    robot.stop()
    assert bench.registers("bus_watchdog") == [0, 10]
    bench.sending = lambda packet: None
    robot.read()
    assert bench.registers("bus_watchdog") == [0, 0]
    assert bench.still_after(0.5)


@pytest.mark.parametrize("kind", WATCHED)
def test_a_servo_that_hears_nothing_any_more_stops_by_its_watchdog(bench, kind):
    bench = bench(kind)
    robot = moving(bench)
    bench.faults("to_servos", drop=1.0)
    with pytest.raises(RobotError, match="reads in a row failed"):
        _send(robot, bench.far_command(), 20)
    assert bench.still_after(0.5)
    assert bench.registers("bus_watchdog") == [-1, -1]


def _send(robot, command, periods):
    for _ in range(periods):
        robot.send(command)
        robot.read()


@pytest.mark.parametrize("kind", WATCHED)
def test_a_tripped_watchdog_is_cleared_only_together_with_a_goal_to_hold(bench, kind):
    """What the servo makes of its old goal when its trip is cleared no manual says."""
    bench = bench(kind)
    moving(bench)
    bench.sleep(0.5)
    since = bench.now()
    with pytest.raises(RobotError, match="has tripped"):
        bench.robot.read()
    for servo in (1, 2):
        entries = [e for e in bench.journal(since=since) if e.servo == servo and not e.refusal]
        cleared, goal = entries[:2]
        assert (cleared.register, cleared.value) == ("bus_watchdog", 0)
        assert goal.register in ("goal_position", "goal_current", "goal_pwm")
        assert goal.time - cleared.time < 0.002
        hold = next(e for e in entries if e.register == bench.drive_register)
        assert abs(hold.value - hold.present) <= 1 if bench.holds_position else hold.value == 0


@pytest.mark.parametrize("kind", WATCHED)
def test_a_program_that_takes_over_from_a_killed_one_moves_nothing(bench, kind):
    bench = bench(kind)
    moving(bench)
    bench.dead = True
    bench.sleep(1.0)
    bench.dead = False
    bench.robot.bus.close()
    bench.fastest = 0.0
    since = bench.now()
    bench.robot.connect()
    for entry in bench.journal("goal_position", since=since):
        assert abs(entry.value - entry.present) <= 1
    if not bench.holds_position:
        assert bench.registers("torque_enable") == [0, 0]
    bench.sleep(0.3)
    assert bench.fastest < 0.2, "at most the rounding of a count is settled"
    bench.robot.send(bench.robot.read().command)
    assert armed(bench) == [True, True]


# Stale feedback


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("current", "pwm")])
def test_a_trip_with_dead_feedback_holds_the_last_command(bench, kind):
    bench = bench(kind)
    robot = moving(bench)
    since = bench.now()
    before = bench.journal("goal_position")[-1].value
    bench.faults(drop=1.0)
    with pytest.raises(RobotError, match="reads in a row failed"):
        _send(robot, bench.far_command(), 10)
    first = 2 if kind == "compliant" else 1
    goals = [e.value for e in bench.journal("goal_position", since=since) if e.servo == 1]
    path = np.array([[e.value for e in bench.journal("goal_position") if e.servo == 1][-len(goals) - 1], *goals])
    step = 0.03 * first / bench.model.radians_per_count + 1
    assert np.abs(np.diff(path)).max() <= step, (before, goals)
    assert goals[-1] == goals[-2]


@pytest.mark.parametrize("kind", ["current", "pwm"])
def test_a_trip_with_dead_feedback_takes_the_drive_away(bench, kind):
    bench = bench(kind)
    robot = moving(bench)
    bench.faults(drop=1.0)
    with pytest.raises(RobotError, match="reads in a row failed"):
        _send(robot, bench.far_command(), 10)
    assert bench.registers(bench.drive_register) == [0, 0]


def test_one_silent_servo_holds_its_command_and_the_other_its_place(bench):
    bench = bench("position")
    robot = bench.robot
    moving(bench)
    bench.servo(2).alive = False
    goal = bench.registers("goal_position")[1]
    robot.stop()
    first, second = bench.registers("goal_position")
    assert abs(first - bench.registers("present_position")[0]) < 60
    assert second == goal


# Goals that are not taken


@pytest.mark.parametrize("kind", WATCHED)
@pytest.mark.parametrize("where", ["before the read", "before the command"])
def test_a_stall_longer_than_the_watchdog_is_noticed_at_once(bench, kind, where):
    bench = bench(kind)
    robot = bench.robot
    moving(bench)
    if where == "before the read":
        bench.sleep(0.25)
    else:
        robot.read()
        bench.sleep(0.25)
    with pytest.raises(RobotError, match=r"bus watchdog of servo 1, joint '\w+', has tripped"):
        robot.read() if where == "before the read" else robot.send(bench.far_command())
    with pytest.raises(RobotError, match="recover"):
        robot.send(bench.far_command())


@pytest.mark.parametrize("kind", KINDS)
def test_a_servo_that_refuses_its_goals_is_noticed(bench, kind):
    bench = bench(kind)
    robot = bench.robot
    moving(bench)
    servo = bench.servo(2)
    admit = servo._admit

    def stubborn(write):
        from pliant.envs.emulators.dynamixel.memory import Reason, RefusedError

        if write.register.name == bench.drive_register:
            raise RefusedError(Reason.LIMIT)
        admit(write)

    servo._admit = stubborn
    command = np.array(robot.read().command)
    with pytest.raises(RobotError, match=r"servo 2, joint '\w+', does not take its goals"):
        _drift(robot, command, 60)


def _drift(robot, command, periods):
    """Send ever other commands."""
    wide = (robot.info.high - robot.info.low) / 400
    for k in range(periods):
        robot.send(np.clip(command - wide * min(k, 100), robot.info.low, robot.info.high))
        robot.read()


@pytest.mark.parametrize("kind", KINDS)
def test_a_servo_that_lost_its_power_for_a_moment_is_noticed_within_a_round(bench, kind):
    bench = bench(kind)
    robot = bench.robot
    moving(bench)
    axis, servo = bench.bus.axis(2)
    servo.power_on(bench.plant.read(axis))
    with pytest.raises(RobotError, match=r"servo 2, joint '\w+', has lost its torque"):
        _hold(robot, 10)


def _hold(robot, periods):
    for _ in range(periods):
        robot.read()
        robot.send(robot.read().command)


# First motion


@pytest.mark.parametrize("kind", ["position", "extended", "current_position", "xl430", "ax12a"])
@pytest.mark.parametrize("outside", [1.09, -1.09])
def test_the_torque_comes_on_where_a_joint_stands_also_a_little_outside_its_range(bench, kind, outside):
    bench = bench(kind)
    bench.place(outside, 0.5)
    robot = bench.robot
    robot.connect()
    bench.fastest = 0.0
    for _ in range(10):
        robot.send(robot.read().command)
    assert bench.fastest < 0.2, "at most the rounding of a count is settled"
    assert bench.registers("present_position")[0] == pytest.approx(
        bench.model.zero_count + outside / bench.model.radians_per_count, abs=2
    )
    robot.send(robot.read().command * 0.99)
    here = robot.read().command[0]
    assert abs(robot.send(robot.read().command * 1.5)[0]) <= abs(here) + 0.003, "never further out"


@pytest.mark.parametrize("kind", ["position", "ax12a"])
def test_from_outside_its_range_a_joint_walks_in(bench, kind):
    bench = bench(kind)
    bench.place(1.09, 0.0)
    robot = safe(bench)
    robot.connect()
    sent = [robot.send([0.0, 0.0])[0] for _ in range(60)]
    outside = np.array([value for value in sent if value > 1.0])
    assert len(outside) > 10
    assert np.abs(np.diff(outside)).max() <= 0.3 * PERIOD + 2 * bench.model.radians_per_count
    assert bench.registers("torque_enable") == [1, 1]
    robot.close()


# The way home


def test_a_walk_that_begins_in_motion_keeps_the_acceleration(bench):
    bench = bench("position")
    sent = []

    def run():
        with safe(bench) as robot:
            send = bench.robot.send
            bench.robot.send = lambda command: sent.append(np.array(command)) or send(command)
            for _ in range(12):
                robot.send([0.8, 0.8])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    speed = np.diff(np.array(sent), axis=0) / PERIOD
    assert np.abs(np.diff(speed, axis=0)).max() / PERIOD <= 15.0 + 1e-6
    assert sent[-1] == pytest.approx([0, 0])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "current"])  # torques do not walk
def test_a_trip_on_the_way_home_is_told(bench, kind):
    bench = bench(kind)

    def run():
        with safe(bench) as robot:
            _send(robot, bench.far_command(), 14)
            bench.sending = overload

    def overload(packet):
        bench.sending = lambda packet: None
        bench.servo(2).overload()

    with pytest.raises(RobotError, match=r"overload|shut down"):
        run()
    assert bench.registers("torque_enable") == [0, 0]


def test_a_trip_on_the_way_home_does_not_hide_what_ended_the_program(bench, caplog):
    bench = bench("position")

    def run():
        with safe(bench) as robot:
            _send(robot, bench.far_command(), 14)
            bench.servo(2).overload()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert "overload" in caplog.text
    assert bench.registers("torque_enable") == [0, 0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("kind", KINDS)
def test_every_signal_walks_home_and_releases(bench, kind, number):
    bench = bench(kind)

    def run():
        with safe(bench) as robot:
            for k in range(100):
                robot.send(bench.far_command())
                robot.read()
                if k == 14:
                    os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else SystemExit) as caught:
        run()
    if number != signal.SIGINT:
        assert caught.value.code == 128 + number
    assert bench.registers("torque_enable") == [0, 0]
    if bench.holds_position:
        zero = bench.model.zero_count
        assert bench.registers("goal_position") == pytest.approx([zero, zero], abs=1)


# Stopping from another thread


def test_after_a_stop_from_another_thread_nothing_more_is_sent(bench):
    make = bench
    for trial in range(25):
        bench = make("position")
        robot = safe(bench)
        robot.connect()
        failures = []

        def drive(robot=robot, failures=failures):
            try:
                while True:
                    robot.send([0.8, 0.8])
            except RobotError as error:
                failures.append(str(error))

        thread = threading.Thread(target=drive)
        thread.start()
        while thread.is_alive() and len(bench.bus.journal) < 40 + 7 * trial:
            time.sleep(0)
        robot.stop()
        returned = len(bench.bus.journal)
        thread.join(20)
        assert not thread.is_alive()
        assert failures
        assert "may not move: stopped" in failures[0]
        assert [e for e in list(bench.bus.journal)[returned:] if e.register == "goal_position"] == []
        # Disarmed; or run out by itself, where a busy computer kept a servo waiting.
        assert set(bench.registers("bus_watchdog")) <= {0, -1}
        robot.close()


def test_a_stop_by_a_signals_handler_in_the_midst_of_a_command_is_the_last_word(bench):
    bench = bench("position")
    robot = moving(bench)
    before = signal.signal(signal.SIGUSR1, lambda *_: robot.stop())
    try:
        bench.sending = lambda packet: _strike(bench)
        with pytest.raises(RobotError, match=r"may not move: stopped|was stopped"):
            robot.send(bench.far_command())
    finally:
        signal.signal(signal.SIGUSR1, before)
    for goal, here in zip(bench.registers("goal_position"), bench.registers("present_position"), strict=True):
        assert abs(goal - here) < 60
    assert bench.registers("bus_watchdog") == [0, 0]


def _strike(bench):
    bench.sending = lambda packet: None
    os.kill(os.getpid(), signal.SIGUSR1)


# Limits of what is not measured


@pytest.mark.parametrize(
    ("kind", "limits", "name"),
    [
        ("xl430", JointLimits(torque=1.0), "j1/torque"),
        ("ax12a", JointLimits(torque=1.0), "j1/torque"),
        ("compliant", JointLimits(high=0.5), "elbow/position"),
        ("compliant", JointLimits(speed=1.0), "elbow/velocity"),
    ],
)
def test_limits_of_what_no_servo_measures_are_refused_when_configured(bench, kind, limits, name):
    bench = bench(kind)
    joint = name.partition("/")[0]
    with pytest.raises(ConfigurationError, match=f"does not measure {name}"):
        safe(bench, joints={joint: limits})


def test_nan_in_a_late_row_of_a_run_is_refused_before_the_first(bench):
    bench = bench("position")
    bench.robot.connect()
    rows = np.zeros((60, 2))
    rows[50, 1] = math.nan
    with pytest.raises(OutOfBoundsError, match="rows of commands"):
        run(bench.robot, Rows(rows), 60 * 0.02)
    assert bench.journal("goal_position") == []
    assert bench.registers("torque_enable") == [0, 0]


def test_unplugging_is_told_as_such_to_the_end(bench):
    bench = bench("position")
    robot = moving(bench)
    bench.unplugged = True
    with pytest.raises(RobotError, match=r"was stopped: .*Was it unplugged"):
        _send(robot, bench.far_command(), 10)
