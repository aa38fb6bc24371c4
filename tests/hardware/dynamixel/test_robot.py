"""The driver as a robot, over the real SDK and real bytes."""

import math
import time

import numpy as np
import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.dynamixel.tables import AX_12A, MX_64, XL430_W250, XM430_W350
from pliant.hardware.timing import StepClock

pytest.importorskip("dynamixel_sdk")

pytestmark = pytest.mark.real_time

XM = "XM430-W350"
COUNT = 2 * math.pi / 4096


@pytest.fixture
def far(servo_bus):
    return servo_bus(XM430_W350, 1, 2, 3, 4)


def configure(far, *joints, **others):
    others = {"slack": 0.1, "release_pause": 0.0, "retries": 1} | others
    return DynamixelConfig(joints or two_joints(), far.port, **others)


def two_joints():
    return (
        DynamixelJoint("base", [ServoMount(1, XM)], -2.0, 2.0),
        DynamixelJoint("tip", [ServoMount(2, XM, direction=-1, gear=2.0)], -1.0, 1.0),
    )


def compliant(**others):
    servos = [ServoMount(1, XM), ServoMount(2, XM)]
    return DynamixelJoint("elbow", servos, -1.0, 1.0, preset=(0.0, 0.6), **others)


@pytest.fixture
def robot(far):
    robot = DynamixelRobot(configure(far), StepClock())
    yield robot
    robot.close()


def connected(far, *joints, **others):
    robot = DynamixelRobot(configure(far, *joints, **others), StepClock())
    robot.connect()
    return robot


# Connecting


def test_everything_is_known_without_connecting(robot):
    assert robot.info.joints == ("base", "tip")
    assert robot.info.motors == ("base/1", "tip/1")
    assert robot.info.command_names == ("base/position", "tip/position")
    with pytest.raises(RobotError, match="not open"):
        robot.read()
    with pytest.raises(RobotError, match="not connected"):
        robot.send([0, 0])
    robot.stop()


def test_connecting_moves_nothing_and_leaves_the_joints_to_the_hand(far, robot):
    robot.connect()
    assert all(not servo.written("goal_position") and not servo["torque_enable"] for servo in far.servos)
    far[1]["present_position"] = 2048 + 1000
    far[2]["present_position"] = 2048 + 200
    state = robot.read()
    assert state.position == pytest.approx([1000 * COUNT, -100 * COUNT])
    assert state.command == pytest.approx(state.position)


def test_the_first_goal_is_the_pose_at_the_start_not_at_connecting(far, robot):
    robot.connect()
    far[1]["present_position"] = 2048 + 652  # moved by hand, to 1 rad
    robot.send(robot.read().command)
    names = [name for name, _ in far[1].writes]
    assert far[1].written("goal_position")[0] == 2048 + 652
    assert names.index("goal_position") < names.index("torque_enable")
    assert far[1]["torque_enable"] == 1


def test_a_first_command_far_from_the_pose_is_refused_without_torque(far, robot):
    robot.connect()
    far[1]["present_position"] = 2048 + 652
    with pytest.raises(RobotError, match=r"base/position is 0\.000 rad; it stands at 1\.000.*walk_to"):
        robot.send([0.0, 0.0])
    assert all(not s["torque_enable"] and not s.written("goal_position") for s in far.servos)


def test_a_joint_outside_its_limits_is_to_be_moved_by_hand(far, robot):
    robot.connect()
    far[2]["present_position"] = 2048 + 2000
    with pytest.raises(RobotError, match=r"tip/position stands at -1\.534 rad, outside"):
        robot.send([0.0, -1.0])


@pytest.mark.parametrize(
    ("register", "value", "message"),
    [
        ("drive_mode", 1, "drive mode is 1"),
        ("homing_offset", -100, "homing offset is -100 counts"),
        ("max_position_limit", 3000, "beyond its own min_position_limit and max_position_limit"),
    ],
)
def test_a_servo_set_up_otherwise_is_refused(far, robot, register, value, message):
    far[1][register] = value
    with pytest.raises(ConfigurationError, match=message):
        robot.connect()
    assert not robot.bus.is_open


def test_another_model_is_refused_by_name(far, robot):
    far[2].memory[0:2] = (311).to_bytes(2, "little")
    with pytest.raises(ConfigurationError, match=r"servo 2 .* is a MX-64\(2\.0\); the configuration says XM430"):
        robot.connect()


def test_a_missing_servo_is_named_with_what_was_found(far):
    far[2].rate = 57600
    with pytest.raises(RobotError, match=r"servo 2 .* does not answer.*answers at 57600.*1 \(XM430-W350\)"):
        connected(far, slack=0.004)


def test_a_servo_that_answers_only_pings_is_made_to_answer(far, robot):
    far[1]["status_return_level"] = 0
    robot.connect()
    assert far[1]["status_return_level"] == 2


def test_what_another_program_left_behind_is_set_right_and_nothing_else_is_written(far):
    far[1]["profile_velocity"], far[1]["position_p_gain"] = 20, 50
    joint = DynamixelJoint("base", [ServoMount(1, XM, settings={"position_d_gain": 500})], -2.0, 2.0)
    connected(far, joint).close()
    assert dict(far[1].writes[:3]) == {"position_d_gain": 500, "position_p_gain": 800, "profile_velocity": 0}
    far[1].writes.clear()
    connected(far, joint).close()
    assert {name for name, _ in far[1].writes} == {"bus_watchdog", "torque_enable"}


def test_a_servo_that_holds_torque_is_not_changed_under_it(far):
    far[1]["torque_enable"] = 1
    far[1]["position_p_gain"] = 50
    with pytest.raises(RobotError, match=r"servo 1 holds torque, and its position_p_gain .*torque_enable value=0"):
        connected(far)
    assert far[1]["torque_enable"] == 1


def test_a_fast_read_needs_the_firmware(far):
    with pytest.raises(ConfigurationError, match="before firmware 45"):
        connected(far, fast_read=True)
    for servo in far.servos:
        servo["firmware_version"] = 45
    robot = connected(far, fast_read=True)
    far[1]["present_position"] = 0x00FDFFFF  # bytes that a stuffed packet would change
    assert robot.read().motor_position[1] == 0.0
    robot.close()


def test_mixed_models_of_one_protocol_share_a_bus(servo_bus):
    far = servo_bus(XM430_W350, 1)
    far.servos += servo_bus(XL430_W250, 2).servos + servo_bus(MX_64, 3).servos
    joints = [
        DynamixelJoint(m, [ServoMount(n, m)], -1, 1) for n, m in enumerate((XM, "XL430-W250", "MX-64(2.0)"), 1)
    ]
    robot = connected(far, *joints)
    far[1]["present_current"], far[3]["present_current"] = 100, -100
    state = robot.read()
    assert state.torque[0] == pytest.approx(100 * 2.69e-3 * 4.1 / 2.3)
    assert math.isnan(state.torque[1])
    assert state.torque[2] == pytest.approx(-100 * 3.36e-3 * 6.0 / 4.1)
    robot.close()


# Commands


def test_what_was_sent_is_returned_in_whole_counts_and_within_the_bounds(far, robot):
    robot.connect()
    robot.send([0, 0])
    sent = robot.send([3.0, 0.0501])
    assert sent[0] == pytest.approx(2.0, abs=COUNT / 2)
    assert sent[1] == pytest.approx(0.0501, abs=COUNT / 4)
    assert robot.read().position == pytest.approx(sent)
    assert robot.read().command == pytest.approx(sent)


def test_a_nan_or_a_wrong_shape_is_refused_whole_and_nothing_is_sent(far, robot):
    robot.connect()
    robot.send([0, 0])
    before = len(far.received)
    with pytest.raises(OutOfBoundsError, match="no finite value for tip/position"):
        robot.send([0.1, math.nan])
    with pytest.raises(ShapeError, match=r"shape \(2,\)"):
        robot.send([0.1])
    assert len(far.received) == before


def test_two_servos_move_as_one_joint(far):
    robot = connected(far, compliant(encoder=ServoMount(4, XM)))
    for step in range(1, 6):
        sent = robot.send([0.05 * step, 0.03 * step])
    assert sent == pytest.approx([0.25, 0.15], abs=COUNT)
    far[4]["present_position"] = 2048 + 100
    state = robot.read()
    assert state.motor_position == pytest.approx([0.4, 0.1], abs=COUNT)
    assert state.position == pytest.approx([100 * COUNT])
    assert far[4]["torque_enable"] == 0
    robot.close()


def test_a_compliant_joint_without_an_encoder_does_not_pretend_to_know_its_angle(far):
    robot = connected(far, compliant())
    state = robot.read()
    assert np.isnan(state.position).all()
    assert np.isnan(state.stiffness).all()
    assert not np.isnan(state.motor_position).any()
    robot.close()


def test_a_joint_across_the_seam_moves_without_a_jump(far):
    far[1]["operating_mode"] = 4
    far[1]["present_position"] = 4090
    joint = DynamixelJoint("base", [ServoMount(1, XM, zero=math.pi)], -1.0, 1.0, mode="extended")
    robot = connected(far, joint)
    target = robot.read().command[0]
    assert target == pytest.approx(-6 * COUNT)
    for _ in range(15):
        target += COUNT
        robot.send([target])
        assert robot.read().position[0] == pytest.approx(target)
    assert far.heard()[1].written("goal_position")[-3:] == [4103, 4104, 4105]
    robot.close()


def test_the_servo_restarted_one_turn_off_gets_goals_in_that_turn(far):
    far[1]["operating_mode"] = 4
    far[1]["present_position"] = 4096 + 2100
    robot = connected(far, DynamixelJoint("base", [ServoMount(1, XM)], -1.0, 1.0, mode="extended"))
    assert robot.read().position[0] == pytest.approx(52 * COUNT)
    robot.send([52 * COUNT])
    assert far.heard()[1].written("goal_position")[-1] == 4096 + 2100
    robot.close()


def test_current_mode_sends_torque_and_stops_without_drive(far):
    joint = DynamixelJoint("base", [ServoMount(1, XM, direction=-1)], -2.0, 2.0, mode="current", torque=1.0)
    robot = connected(far, joint)
    sent = robot.send([0.5])
    per_count = 2.69e-3 * 4.1 / 2.3
    assert far[1]["operating_mode"] == 0
    assert far.heard()[1]["goal_current"] == -round(0.5 / per_count)
    assert sent[0] == pytest.approx(0.5, abs=per_count / 2)
    robot.stop()
    assert far.heard()[1]["goal_current"] == 0
    assert far[1]["torque_enable"] == 1
    robot.close()


def test_pwm_mode_sends_a_share_of_the_supply(far):
    robot = connected(far, DynamixelJoint("base", [ServoMount(1, XM)], -2.0, 2.0, mode="pwm"))
    robot.send([-0.25])
    assert far[1]["operating_mode"] == 16
    assert far.heard()[1]["goal_pwm"] == -round(0.25 * 885)
    robot.close()


def test_a_current_limit_is_sent_when_it_changes(far):
    joint = DynamixelJoint("base", [ServoMount(1, XM)], -2.0, 2.0, mode="current_position", torque=2.0)
    robot = connected(far, joint)
    for limit in (2.0, 2.0, 1.0, 1.0):
        robot.send([0.0, limit])
    assert far.heard()[1].written("goal_current")[-1] == int(1.0 / (2.69e-3 * 4.1 / 2.3))
    # twice at the start (before and with the torque), once for the change
    assert len(far[1].written("goal_current")) == 3
    assert far[1]["operating_mode"] == 5
    robot.close()


def test_an_ax_12a_is_a_robot_too(servo_bus):
    far = servo_bus(AX_12A, 1, 2)
    joints = [DynamixelJoint(f"j{n}", [ServoMount(n, "AX-12A")], -1.0, 1.0) for n in (1, 2)]
    robot = connected(far, *joints, watchdog=0.0)
    far[1]["present_speed"] = -100
    assert robot.read().velocity[0] == pytest.approx(-100 * 0.111 * 2 * math.pi / 60)
    sent = robot.send([0.05, -0.05])
    assert far.heard()[1]["goal_position"] == 512 + round(0.05 / (math.radians(300) / 1023))
    assert sent == pytest.approx([0.05, -0.05], abs=0.0026)
    robot.close()
    assert [s["torque_enable"] for s in far.servos] == [0, 0]


def test_a_wheel_mode_ax_is_refused(servo_bus):
    far = servo_bus(AX_12A, 1)
    far[1]["ccw_angle_limit"] = 0
    with pytest.raises(ConfigurationError, match="wheel mode"):
        connected(far, DynamixelJoint("j", [ServoMount(1, "AX-12A")], -1.0, 1.0), watchdog=0.0)


# Faults: dynamixel-workbench#382, DynamixelSDK#345, #539


def test_an_overload_is_reported_by_name_and_everything_holds_until_recovery(far, robot):
    robot.connect()
    robot.send([0, 0])
    robot.send([0.05, 0.05])
    far.heard()[1].follows = False
    far[1]["present_position"] = 2048 + 20
    far[2]["hardware_error_status"], far[2]["torque_enable"] = 0x20, 0
    with pytest.raises(RobotError, match=r"servo 2 of joint 'tip': overload.*recover\(\)"):
        robot.read()
    assert far.heard()[1].written("goal_position")[-1] == 2048 + 20, "the healthy joint holds where it is"
    with pytest.raises(RobotError, match="overload"):
        robot.send([0, 0])
    assert robot.read().position[0] == pytest.approx(20 * COUNT), "it can still be watched"
    robot.recover()
    assert far[2]["hardware_error_status"] == 0
    assert robot.read().command[0] == pytest.approx(20 * COUNT), "the old target is dropped"
    robot.send(robot.read().command)
    assert far[2]["torque_enable"] == 1


def test_an_overload_that_comes_back_is_not_recovered_from(far, robot):
    robot.connect()
    robot.send([0, 0])
    far[2]["hardware_error_status"] = 0x20
    with pytest.raises(RobotError):
        robot.read()
    far[2].reset = lambda: None
    with pytest.raises(RobotError, match="back at once: servo 2 of joint 'tip': overload"):
        robot.recover()
    with pytest.raises(RobotError):
        robot.send([0, 0])


def test_connecting_to_a_servo_with_an_error_says_so(far, robot):
    far[1]["hardware_error_status"] = 0x04
    restart = r"restart the servos, which go limp \(pliant bus reboot port=\S+ baud=1000000 servo=1\)"
    said = rf"servo 1 of joint 'base': overheating\. End the cause, {restart}, then run the command again"
    with pytest.raises(RobotError, match=rf"{said} \(in Python: recover\(\)\)"):
        robot.connect()
    robot.recover()
    assert robot.read().position == pytest.approx([0, 0])


def test_an_ax_overload_is_recovered_by_its_torque_limit(servo_bus):
    far = servo_bus(AX_12A, 1)
    robot = connected(far, DynamixelJoint("j", [ServoMount(1, "AX-12A")], -1.0, 1.0), watchdog=0.0)
    robot.send([0.0])
    far[1].status_error, far[1]["torque_limit"] = 0x20, 0
    with pytest.raises(RobotError, match="servo 1 of joint 'j': overload"):
        robot.read()
    far[1].status_error = 0
    robot.recover()
    assert far[1]["torque_limit"] == 1023
    robot.close()


def test_an_ax_that_has_shut_down_and_forgot_to_say_so_is_found(servo_bus):
    far = servo_bus(AX_12A, 1)
    robot = connected(far, DynamixelJoint("j", [ServoMount(1, "AX-12A")], -1.0, 1.0), watchdog=0.0)
    robot.send([0.0])
    far[1]["torque_limit"] = 0
    with pytest.raises(RobotError, match="shut down"):
        robot.read()
    robot.close()


def test_a_servo_that_restarted_in_a_dip_of_the_supply_is_found_within_a_round(far, robot):
    robot.connect()
    robot.send([0, 0])
    far[2].reset()
    with pytest.raises(RobotError, match=r"servo 2, joint 'tip', (has lost its torque)"):
        _read_times(robot, 4)


def _read_times(robot, times):
    for _ in range(times):
        robot.read()


def test_a_missed_check_is_a_missed_read_and_checking_goes_on(far, robot):
    robot.connect()
    robot.send([0, 0])
    far[1].fault = lambda servo, packet: [packet] if len(packet) > 12 else []  # only one-byte reads are lost
    with pytest.raises(RobotError, match=r"servo 1 .* no whole answer"):
        _read_times(robot, 4)
    far[1].fault = None
    _read_times(robot, 4)
    far[2].reset()
    with pytest.raises(RobotError, match=r"servo 2, .*has lost its torque"):
        _read_times(robot, 4)


# The bus watchdog


def test_the_watchdog_is_armed_with_the_torque_and_never_shorter_than_asked(far):
    robot = connected(far, watchdog=0.21)
    assert far[1]["bus_watchdog"] == 0
    robot.send([0, 0])
    assert [far[n]["bus_watchdog"] for n in (1, 2)] == [11, 11]
    robot.close()


def test_a_tripped_watchdog_is_noticed_before_the_next_command_and_cleared_by_recovery(far):
    robot = connected(far, period=0.01, watchdog=0.04)
    robot.send([0, 0])
    time.sleep(0.1)
    with pytest.raises(RobotError, match=r"bus watchdog of servo \d, joint '\w+', has tripped"):
        robot.send([0.05, 0.05])
    robot.recover()
    assert far[1]["bus_watchdog"] == 0
    robot.send(robot.read().command)
    assert far[1]["bus_watchdog"] == 2
    robot.close()


def test_a_stopped_robot_does_not_trip(far):
    robot = connected(far, period=0.01, watchdog=0.04)
    robot.send([0, 0])
    robot.stop()
    time.sleep(0.1)
    robot.send([0, 0])
    robot.close()


# Ends: lerobot#4609, #1056, #4610


def test_closing_releases_the_joints_from_tip_to_base(far, robot):
    robot.connect()
    robot.send([0, 0])
    far.received.clear()
    robot.close()
    released = [p[4] for p in far.received if p[7] == 3 and p[8:11] == b"\x40\x00\x00"]
    assert released == [2, 1]
    assert [far[n]["torque_enable"] for n in (1, 2)] == [0, 0]
    robot.close()


def test_closing_can_leave_the_arm_holding(far):
    robot = connected(far, on_close="hold")
    robot.send([0, 0])
    robot.close()
    assert [(far[n]["torque_enable"], far[n]["bus_watchdog"]) for n in (1, 2)] == [(1, 0), (1, 0)]
    again = connected(far, on_close="hold")
    assert far[1]["torque_enable"] == 1, "connecting again does not drop it"
    again.close()


def test_a_servo_that_does_not_confirm_its_release_is_told_all_the_same(far, robot, caplog):
    robot.connect()
    robot.send([0, 0])
    far[1].fault = lambda servo, packet: []
    robot.close()
    assert far.heard()[1]["torque_enable"] == far[2]["torque_enable"] == 0
    assert "servo [1] did not confirm" in caplog.text


def test_stopping_holds_where_the_joint_is_and_not_where_it_should_be(far, robot):
    robot.connect()
    robot.send([0, 0])
    far[1].follows = False
    robot.send([0.1, 0])
    far.heard()[1]["present_position"] = 2048 + 30
    robot.stop()
    assert far.heard()[1]["goal_position"] == 2048 + 30
    assert far[1]["torque_enable"] == 1


def test_stopping_goes_on_past_a_dead_servo(far, robot):
    robot.connect()
    robot.send([0, 0])
    far.heard()[1].dead = True
    far[2]["present_position"] = 2048 - 50
    robot.stop()
    assert far.heard()[2].written("goal_position")[-1] == 2048 - 50


def test_an_unplugged_bus_is_one_clear_error_and_can_be_connected_again(far, robot, caplog):
    robot.connect()
    robot.send([0, 0])
    far.unplug()
    with pytest.raises(RobotError, match="unplugged"):
        robot.read()
    robot.stop()
    robot.close()
    far.plug()
    robot = DynamixelRobot(configure(far), StepClock())
    robot.connect()
    far[1]["present_position"] = 2048 + 70
    assert robot.read().command[0] == pytest.approx(70 * COUNT)
    robot.close()


def test_a_servo_that_falls_silent_is_named(far, robot):
    robot.connect()
    far[2].dead = True
    with pytest.raises(RobotError, match=r"servo 2 on .* did not answer"):
        robot.read()
    far[2].dead = False
    robot.read()


# Time


def test_a_period_on_the_wall_clock_is_kept_and_overruns_are_counted(far):
    robot = DynamixelRobot(configure(far, period=0.02))
    with robot:
        robot.send([0, 0])
        start = time.monotonic()
        for _ in range(10):
            robot.send([0, 0])
        assert time.monotonic() - start >= 9 * 0.02
        before = robot.overruns
        time.sleep(0.05)
        robot.send([0, 0])
        assert robot.overruns > before
        assert robot.worst_lateness > 0.02
        assert robot.read().time > 0.2


def test_in_lock_step_nobody_waits(far, robot):
    robot.connect()
    start = time.monotonic()
    for _ in range(50):
        robot.send([0, 0])
    assert robot.read().time == pytest.approx(50 * 0.02)
    assert time.monotonic() - start < 1.0


# Its condition


def test_the_condition_of_every_servo_is_told_in_words_and_units(far, robot):
    robot.connect()
    far[1]["present_temperature"] = 41
    far[2]["present_input_voltage"] = 118
    far[2]["hardware_error_status"] = 0b100
    found = robot.diagnostics()
    assert found["servos"]["1"]["temperature_celsius"] == 41
    assert found["servos"]["2"]["voltage_v"] == pytest.approx(11.8)
    assert found["servos"]["2"]["errors"] == ["overheating"]
    assert [servo["joint"] for servo in found["servos"].values()] == ["base", "tip"]
    assert found["fault"] == ""
    assert {"overruns", "worst_lateness_s", "retries", "damaged"} <= set(found)


def test_a_silent_servo_has_no_condition_and_a_closed_bus_no_servos(far, robot):
    assert robot.diagnostics()["servos"] == {}
    robot.connect()
    far[2].dead = True
    found = robot.diagnostics()["servos"]
    assert found["2"] == {"temperature_celsius": None, "voltage_v": None, "errors": None, "joint": "tip"}
    assert found["1"]["errors"] == []
