"""An XM430-W350 (and its relatives) by its manual, over raw packets of protocol 2.0."""

import math

import pytest

from pliant.envs.emulators.dynamixel.bus import make_servo
from pliant.envs.emulators.dynamixel.plants import MOTORS, Shaft
from pliant.envs.emulators.dynamixel.servo import OVERLOAD_TIME, ServoSettings
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

RANGE, LENGTH, LIMIT, ACCESS, RESULT, INSTRUCTION = 4, 5, 6, 7, 1, 2
ALERT = 0x80
COUNT = 2 * math.pi / 4096
CLEAR = bytes.fromhex("01 44 58 4C 22")
LOAD = Shaft(MOTORS["XM430-W350"], inertia=0.02, gravity=1.0)


def test_writes_are_checked_as_the_manual_says(xm):
    assert xm.write(1, "led", 1) == 0
    assert xm.write(1, "led", 2) == RANGE
    assert xm.write(1, "present_position", 0) == ACCESS
    assert xm.write(1, "return_delay_time", 255) == RANGE
    assert xm.write(1, "operating_mode", 2) == RANGE
    assert xm.write(1, "goal_velocity", 201) == LIMIT
    assert xm.write(1, "goal_current", -1194) == LIMIT
    assert xm.write(1, "goal_position", 4096) == LIMIT
    assert xm.write(1, "goal_position", -1) == LIMIT
    half = bytes([116, 0, 1, 2])
    assert xm.send(1, 0x03, half)[0].error == LENGTH
    assert xm.send(1, 0x03, bytes([116, 0]))[0].error == LENGTH
    gap = bytes([66, 0, 1])
    assert xm.send(1, 0x03, gap)[0].error == ACCESS
    assert xm.read(1, "led") == 1


def test_write_over_several_registers_is_all_or_nothing(xm):
    velocity, position = (50).to_bytes(4, "little"), (3000).to_bytes(4, "little")
    assert xm.send(1, 0x03, bytes([112, 0]) + velocity + position)[0].error == 0
    assert (xm.read(1, "profile_velocity"), xm.read(1, "goal_position")) == (50, 3000)
    outside = (9999).to_bytes(4, "little")
    assert xm.send(1, 0x03, bytes([112, 0]) + bytes(4) + outside)[0].error == LIMIT
    assert xm.read(1, "profile_velocity") == 50


def test_reads_beyond_the_table_are_refused_and_gaps_are_zero(xm):
    (status,) = xm.send(1, 0x02, bytes([66, 0, 2, 0]))
    assert (status.error, status.parameters) == (0, b"\0\0")
    for span in (bytes([0x95, 2, 2, 0]), bytes([0, 0, 0, 0]), bytes([0, 9, 1, 0])):
        (status,) = xm.send(1, 0x02, span)
        assert (status.error, status.parameters) == (ACCESS, b"")


def test_eeprom_is_locked_while_the_torque_is_on(xm):
    assert xm.write(1, "homing_offset", -100) == 0
    xm.write(1, "torque_enable", 1)
    assert xm.write(1, "homing_offset", 5) == ACCESS
    assert xm.write(1, "id", 2) == ACCESS
    xm.write(1, "torque_enable", 0)
    assert xm.write(1, "homing_offset", 5) == 0


@pytest.mark.parametrize(("level", "answered"), [(0, (True, False, False)), (1, (True, True, False))])
def test_status_return_level_decides_what_is_answered(xm, level, answered):
    xm.write(1, "status_return_level", level)
    ping = xm.send(1, 0x01)
    read = xm.send(1, 0x02, xm.span(1, "led"))
    write = xm.send(1, 0x03, xm.payload(1, "led", 1))
    assert (bool(ping), bool(read), bool(write)) == answered
    assert xm.bus.servos[0].memory["led"] == 1


def test_position_mode_reaches_its_goal_and_reports_moving(xm):
    xm.write(1, "torque_enable", 1)
    xm.write(1, "profile_velocity", 100)
    xm.write(1, "goal_position", 2600)
    xm.advance(0.05)
    assert xm.read(1, "moving") == 1
    assert xm.read(1, "moving_status") & 0x33 == 0x12
    xm.advance(1.0)
    assert abs(xm.read(1, "present_position") - 2600) <= 2
    assert xm.read(1, "moving") == 0
    assert xm.read(1, "moving_status") & 0x03 == 0x01


def test_profile_velocity_limits_the_speed(xm):
    xm.write(1, "torque_enable", 1)
    xm.write(1, "profile_velocity", 50)
    xm.write(1, "goal_position", 4000)
    xm.advance(0.5)
    assert abs(xm.read(1, "present_velocity") - 50) <= 2
    assert xm.read(1, "velocity_trajectory") == 50


def test_time_based_profile_takes_its_time(xm):
    xm.write(1, "drive_mode", 4)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "profile_velocity", 1000)
    xm.write(1, "profile_acceleration", 250)
    xm.write(1, "goal_position", 3048)
    xm.advance(0.9)
    assert xm.read(1, "moving_status") & 0x02
    xm.advance(0.15)
    assert not xm.read(1, "moving_status") & 0x02
    assert abs(xm.read(1, "present_position") - 3048) <= 20


def test_torque_on_holds_the_present_position_whatever_the_old_goal_was(xm):
    xm.write(1, "goal_position", 1000)
    xm.write(1, "torque_enable", 1)
    xm.advance(0.5)
    assert abs(xm.read(1, "present_position") - 2048) <= 1
    assert abs(xm.read(1, "goal_position") - 2048) <= 1


def test_torque_off_lets_the_load_fall(make_line):
    line = make_line({1: "XM430-W350"}, {1: LOAD})
    line.write(1, "torque_enable", 1)
    line.write(1, "goal_position", 3072)
    line.advance(1.0)
    assert abs(line.read(1, "present_position") - 3072) < 60
    line.write(1, "torque_enable", 0)
    line.advance(5.0)
    assert abs(line.read(1, "present_position") - 2048) < 100


def test_gravity_leaves_the_error_that_the_p_gain_allows(make_line):
    """At rest K_P·e·V·k_t/(885·R) is the gravity torque, up to what friction holds."""
    line = make_line({1: "XM430-W350"}, {1: LOAD})
    line.write(1, "torque_enable", 1)
    line.write(1, "goal_position", 3072)
    line.advance(2.0)
    motor = MOTORS["XM430-W350"]
    error = 3072 - line.read(1, "present_position")
    torque = 800 / 128 * error / 885 * 12.0 * motor.torque_constant / motor.resistance
    assert abs(torque - 1.0) <= motor.friction + 0.03


def test_velocity_mode_holds_its_speed_both_ways(xm):
    xm.write(1, "operating_mode", 1)
    xm.write(1, "torque_enable", 1)
    for goal in (100, -100):
        xm.write(1, "goal_velocity", goal)
        xm.advance(2.0)
        assert abs(xm.read(1, "present_velocity") - goal) <= 3


def test_current_mode_gives_the_torque_of_the_current(make_line):
    line = make_line({1: "XM430-W350"}, {1: LOAD})
    line.write(1, "operating_mode", 0)
    line.write(1, "torque_enable", 1)
    motor = MOTORS["XM430-W350"]
    line.write(1, "goal_current", round(0.6 / motor.torque_constant / 2.69e-3))
    line.advance(8.0)
    angle = line.plant.read(1).position - math.pi
    assert abs(math.sin(angle) - 0.6) <= motor.friction + 0.02
    assert line.read(1, "present_current") == line.read(1, "goal_current")
    line.write(1, "goal_current", -line.read(1, "goal_current"))
    assert line.read(1, "goal_current") < 0


def test_current_based_position_pushes_no_harder_than_its_current(make_line):
    line = make_line({1: "XM430-W350"}, {1: LOAD})
    line.write(1, "operating_mode", 5)
    line.write(1, "goal_current", 60)
    line.write(1, "torque_enable", 1)
    line.write(1, "goal_position", 2048 + 1024)
    line.advance(5.0)
    assert abs(line.read(1, "present_current")) <= 60
    assert line.read(1, "present_position") < 2700
    assert line.read(1, "hardware_error_status") == 0


def test_pwm_mode_turns_at_the_speed_of_the_duty(xm):
    xm.write(1, "operating_mode", 16)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "goal_pwm", -442)
    xm.advance(2.0)
    motor = MOTORS["XM430-W350"]
    ideal = -442 / 885 * 12.0 / motor.torque_constant
    assert xm.plant.read(1).velocity == pytest.approx(ideal, rel=0.1)
    assert xm.read(1, "present_pwm") == -442


def test_extended_mode_counts_turns_and_position_mode_forgets_them(xm):
    xm.write(1, "operating_mode", 4)
    xm.write(1, "torque_enable", 1)
    assert xm.write(1, "goal_position", -5000) == 0
    xm.advance(4.0)
    assert abs(xm.read(1, "present_position") + 5000) <= 2
    xm.write(1, "torque_enable", 0)
    xm.write(1, "operating_mode", 3)
    assert abs(xm.read(1, "present_position") - (-5000 + 2 * 4096)) <= 2


def test_clear_forgets_turns_at_rest_only(xm):
    xm.write(1, "operating_mode", 4)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "goal_position", 9000)
    xm.advance(0.2)
    assert xm.send(1, 0x10, CLEAR)[0].error == RESULT
    xm.advance(5.0)
    assert xm.send(1, 0x10, b"\x01\x00\x00\x00\x00")[0].error == RESULT
    assert xm.hex("FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC") == "FF FF FD 00 01 04 00 55 00 A1 0C"
    assert abs(xm.read(1, "present_position") - (9000 - 2 * 4096)) <= 2
    xm.advance(0.5)
    assert abs(xm.read(1, "present_position") - (9000 - 2 * 4096)) <= 2


def test_restart_loses_the_turns(xm):
    xm.write(1, "operating_mode", 4)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "goal_position", 9000)
    xm.advance(5.0)
    xm.send(1, 0x08)
    assert abs(xm.read(1, "present_position") - (9000 - 2 * 4096)) <= 2


def test_homing_offset_shifts_and_reverse_mode_mirrors_the_position(xm):
    xm.write(1, "homing_offset", 500)
    assert xm.read(1, "present_position") == 2548
    xm.write(1, "homing_offset", 2000)
    assert xm.read(1, "present_position") == 2048
    xm.write(1, "homing_offset", 0)
    xm.write(1, "drive_mode", 1)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "goal_position", 3000)
    xm.advance(1.5)
    assert abs(xm.read(1, "present_position") - 3000) <= 2
    assert xm.plant.read(1).position == pytest.approx((4096 - 3000) * COUNT, abs=3 * COUNT)


def test_torque_on_by_goal_update_needs_no_torque_enable(xm):
    xm.write(1, "drive_mode", 8)
    xm.write(1, "goal_position", 2500)
    xm.advance(1.5)
    assert xm.read(1, "torque_enable") == 1
    assert abs(xm.read(1, "present_position") - 2500) <= 2


def test_change_of_mode_resets_profile_and_goals(xm):
    xm.write(1, "profile_velocity", 30)
    xm.write(1, "goal_pwm", 100)
    xm.write(1, "operating_mode", 4)
    assert (xm.read(1, "profile_velocity"), xm.read(1, "goal_pwm")) == (0, 885)


def test_watchdog_stops_the_motion_and_locks_the_goals(xm):
    """The example of the manual: bus watchdog, velocity mode."""
    xm.write(1, "operating_mode", 1)
    xm.write(1, "torque_enable", 1)
    xm.write(1, "goal_velocity", 50)
    assert xm.write(1, "bus_watchdog", 100) == 0
    xm.advance(1.9)
    assert xm.read(1, "bus_watchdog") == 100
    xm.advance(2.1)
    assert xm.read(1, "bus_watchdog") == -1
    assert abs(xm.read(1, "present_velocity")) <= 1
    for goal in ("goal_velocity", "goal_position", "goal_current", "goal_pwm"):
        assert xm.write(1, goal, 10) == RANGE
    assert xm.write(1, "bus_watchdog", 50) == RANGE
    assert xm.write(1, "bus_watchdog", 0) == 0
    xm.advance(0.5)
    assert abs(xm.read(1, "present_velocity")) <= 1
    assert xm.write(1, "goal_velocity", 150) == 0
    xm.advance(1.0)
    assert xm.read(1, "present_velocity") > 140


def test_watchdog_stops_a_profile_where_it_is(xm):
    xm.write(1, "torque_enable", 1)
    xm.write(1, "bus_watchdog", 5)
    xm.write(1, "profile_velocity", 20)
    xm.write(1, "goal_position", 4000)
    xm.advance(0.3)
    assert xm.read(1, "bus_watchdog") == -1
    stopped = xm.read(1, "present_position")
    assert 2048 < stopped < 2200
    xm.advance(2.0)
    assert abs(xm.read(1, "present_position") - stopped) <= 3


def test_any_instruction_on_the_bus_feeds_the_watchdog_but_damaged_ones_do_not(make_line):
    line = make_line({1: "XM430-W350", 2: "XM430-W350"})
    line.write(1, "torque_enable", 1)
    line.write(1, "bus_watchdog", 5)
    for _ in range(10):
        line.advance(0.08)
        line.send(2, 0x01)
    assert line.bus.servos[0].memory["bus_watchdog"] == 5
    for _ in range(3):
        line.advance(0.08)
        line.hex("FF FF FD 00 02 03 00 01 00 00")
    assert line.bus.servos[0].memory["bus_watchdog"] == -1


def test_watchdog_sleeps_while_the_torque_is_off(xm):
    xm.write(1, "bus_watchdog", 1)
    xm.advance(5.0)
    assert xm.read(1, "bus_watchdog") == 1


def test_overload_shuts_down_until_a_reboot(make_line):
    """A load beyond the stall torque: two seconds in vain, then the torque is gone, and only a reboot helps."""
    heavy = Shaft(MOTORS["XM430-W350"], inertia=0.05, gravity=0.0)
    line = make_line({1: "XM430-W350"}, {1: heavy})
    line.write(1, "torque_enable", 1)
    line.plant[1].external = -3.0
    line.write(1, "goal_pwm", 500)
    line.write(1, "goal_position", 3500)
    line.advance(OVERLOAD_TIME - 0.3)
    assert line.read(1, "hardware_error_status") == 0
    line.plant[1].external = -2.2
    line.advance(2 * OVERLOAD_TIME)
    assert line.read(1, "hardware_error_status") == 0x20
    assert line.read(1, "torque_enable") == 0
    line.plant[1].external = 0.0
    assert line.write(1, "torque_enable", 1) == ALERT
    assert line.read(1, "torque_enable") == 0
    assert line.write(1, "led", 7) == ALERT | RANGE
    assert line.send(1, 0x08)[0].error == 0
    assert line.read(1, "hardware_error_status") == 0
    assert line.write(1, "torque_enable", 1) == 0
    assert line.read(1, "torque_enable") == 1


def test_voltage_out_of_range_alerts_but_shuts_down_only_if_asked(make_line):
    line = make_line({1: "XM430-W350"})
    line.write(1, "torque_enable", 1)
    line.plant.set_supply(9.0)
    line.advance(0.1)
    assert line.read(1, "hardware_error_status") == 0x01
    assert line.read(1, "torque_enable") == 1
    assert line.read(1, "present_input_voltage") == 90
    line.plant.set_supply(12.0)
    line.advance(0.1)
    assert line.send(1, 0x01)[0].error == ALERT
    small = make_line({1: "XL330-M288"})
    small.write(1, "torque_enable", 1)
    small.plant.set_supply(3.0)
    small.advance(0.1)
    assert small.read(1, "torque_enable") == 0


def test_overheating_shuts_down(xm):
    xm.write(1, "torque_enable", 1)
    xm.plant.set_temperature(1, 81)
    xm.advance(0.01)
    assert xm.read(1, "present_temperature") == 81
    assert xm.read(1, "hardware_error_status") == 0x04
    assert xm.read(1, "torque_enable") == 0


def test_reg_write_waits_for_the_action(xm):
    xm.write(1, "torque_enable", 1)
    assert xm.send(1, 0x04, xm.payload(1, "goal_position", 2500))[0].error == 0
    assert xm.read(1, "registered_instruction") == 1
    xm.advance(0.5)
    assert abs(xm.read(1, "present_position") - 2048) <= 1
    assert xm.send(1, 0x05)[0].error == 0
    assert xm.read(1, "registered_instruction") == 0
    xm.advance(1.0)
    assert abs(xm.read(1, "present_position") - 2500) <= 2
    assert xm.send(1, 0x05)[0].error == INSTRUCTION
    assert xm.send(1, 0x04, xm.payload(1, "led", 3))[0].error == RANGE


def test_unknown_instructions_are_answered_as_such(xm):
    assert xm.send(1, 0x77)[0].error == INSTRUCTION
    assert xm.send(254, 0x77) == []


def test_change_of_number_is_confirmed_under_the_old_one(xm):
    (status,) = xm.send(1, 0x03, xm.payload(1, "id", 9))
    assert (status.id, status.error) == (1, 0)
    assert xm.send(1, 0x01) == []
    assert xm.send(9, 0x01)[0].id == 9
    xm.plant.set_temperature(1, 40)
    xm.advance(0.01)
    assert xm.read(9, "present_temperature") == 40


@pytest.mark.parametrize(("option", "number", "baud"), [(0xFF, 1, 1), (0x01, 7, 1), (0x02, 7, 3)])
def test_factory_reset_keeps_what_its_option_says(make_line, option, number, baud):
    line = make_line({7: "XM430-W350"})
    line.write(7, "homing_offset", 77)
    line.write(7, "led", 1)
    assert line.send(7, 0x06, bytes([option]))[0].error == 0
    memory = line.bus.servos[0].memory
    assert (memory["id"], memory["baud_rate"]) == (number, baud)
    assert (memory["homing_offset"], memory["led"]) == (0, 0)


def test_factory_reset_of_everyones_number_is_not_carried_out(make_line):
    line = make_line({7: "XM430-W350", 8: "XM430-W350"})
    line.send(254, 0x06, b"\xff")
    assert [servo.id for servo in line.bus.servos] == [7, 8]
    assert line.send(7, 0x06, b"\x07")[0].error == RANGE


def test_reboot_leaves_the_servo_deaf_for_a_while(make_line):
    line = make_line({1: "XM430-W350"}, lock_step=False)
    line.write(1, "led", 1)
    assert len(line.send(1, 0x08)) == 1
    assert line.send(1, 0x01) == []
    line.advance(0.35)
    assert line.read(1, "led") == 0


def test_realtime_tick_counts_milliseconds(xm):
    before = xm.read(1, "realtime_tick")
    xm.advance(0.25)
    assert xm.read(1, "realtime_tick") - before == pytest.approx(250, abs=2)


def test_present_load_stands_where_the_servo_measures_no_current(make_line):
    line = make_line({1: "XL430-W250"})
    line.write(1, "operating_mode", 16)
    line.write(1, "torque_enable", 1)
    line.write(1, "goal_pwm", 442)
    line.advance(0.1)
    assert line.read(1, "present_load") == pytest.approx(1000 * 442 / 885, abs=1)


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        (ServoSettings(1, "XM430"), UnknownNameError, "XM430-W350"),
        (ServoSettings(253, "XM430-W350"), OutOfBoundsError, "252"),
        (ServoSettings(1, "XM430-W350", baud=1), ConfigurationError, "57600"),
        (ServoSettings(1, "XM430-W350", registers={"led": 1}), ConfigurationError, "led"),
        (ServoSettings(1, "XM430-W350", registers={"lde": 1}), UnknownNameError, "led"),
        (ServoSettings(1, "XM430-W350", registers={"shutdown": 300}), OutOfBoundsError, "255"),
    ],
)
def test_impossible_servos_are_refused(settings, error, text):
    with pytest.raises(error, match=text):
        make_servo(settings, 0.0)
