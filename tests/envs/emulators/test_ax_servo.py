"""An AX-12A by its manual, over raw packets of protocol 1.0."""

import math

import pytest

from pliant.envs.emulators.dynamixel.plants import MOTORS, Shaft

ANGLE, OVERHEAT, RANGE, CHECKSUM, OVERLOAD, INSTRUCTION = 0x02, 0x04, 0x08, 0x10, 0x20, 0x40
MOTOR = MOTORS["AX-12A"]
COUNT = math.radians(300) / 1023
MIDDLE = 512 * COUNT


@pytest.fixture
def loaded(make_line):
    """Hangs at the middle of its travel, 0.3 N·m when horizontal."""
    return make_line({1: "AX-12A"}, {1: Shaft(MOTOR, 0.003, 0.3, hanging=MIDDLE, start=MIDDLE)})


def test_ping_and_read_are_the_bytes_of_the_manual(make_line):
    line = make_line({1: "AX-12A"})
    line.plant.set_temperature(1, 32)
    line.advance(0.01)
    assert line.hex("FF FF 01 02 01 FB") == "FF FF 01 02 00 FC"
    assert line.hex("FF FF 01 04 02 2B 01 CC") == "FF FF 01 03 00 20 DB"


def test_reg_write_and_broadcast_action_are_the_bytes_of_the_manual(ax):
    assert ax.hex("FF FF 01 05 04 1E F4 01 E2") == "FF FF 01 02 00 FC"
    assert ax.read(1, "registered") == 1
    assert ax.hex("FF FF FE 02 05 FA") == ""
    assert ax.read(1, "goal_position") == 500
    assert ax.read(1, "registered") == 0


def test_error_byte_of_the_manual_overload_and_overheating(make_line):
    line = make_line({1: "AX-12A"})
    line.bus.servos[0].overload()
    line.plant.set_temperature(1, 75)
    line.advance(0.01)
    assert line.hex("FF FF 01 02 01 FB") == "FF FF 01 02 24 D8"


def test_factory_reset_is_the_bytes_of_the_manual(make_line):
    line = make_line({0: "AX-12A"})
    line.write(0, "ccw_angle_limit", 800)
    assert line.hex("FF FF 00 02 06 F7") == "FF FF 00 02 00 FD"
    assert line.read(1, "ccw_angle_limit") == 1023


def test_writes_are_checked(ax):
    assert ax.write(1, "moving_speed", 100) == 0
    assert ax.write(1, "moving_speed", 1024) == RANGE
    assert ax.write(1, "goal_position", 1024) == RANGE
    assert ax.write(1, "punch", 31) == RANGE
    assert ax.write(1, "present_position", 1) == RANGE
    ax.write(1, "ccw_angle_limit", 700)
    assert ax.write(1, "goal_position", 701) == ANGLE
    assert ax.read(1, "goal_position") != 701
    assert ax.send(1, 0x02, bytes([49, 3]))[0].error == RANGE
    assert ax.send(1, 0x55 - 1)[0].error == INSTRUCTION
    assert ax.send(1, 0x05)[0].error == INSTRUCTION


def test_reboot_and_sync_read_do_not_exist_in_protocol_1(ax):
    for instruction in (0x08, 0x10):
        assert ax.send(1, instruction)[0].error == INSTRUCTION
    assert ax.send(254, 0x82, bytes([36, 2, 1])) == []


def test_lock_closes_the_eeprom_for_good(ax):
    assert ax.write(1, "return_delay_time", 10) == 0
    ax.write(1, "lock", 1)
    assert ax.write(1, "return_delay_time", 20) == RANGE
    assert ax.write(1, "lock", 0) == RANGE
    assert (ax.read(1, "return_delay_time"), ax.read(1, "lock")) == (10, 1)


def test_torque_on_does_not_lock_the_eeprom_and_goes_to_the_old_goal(ax):
    ax.write(1, "goal_position", 700)
    ax.write(1, "torque_enable", 1)
    assert ax.write(1, "return_delay_time", 20) == 0
    ax.advance(2.0)
    assert abs(ax.read(1, "present_position") - 700) <= 2


def test_moving_speed_limits_the_speed(ax):
    ax.write(1, "torque_enable", 1)
    ax.write(1, "moving_speed", 200)
    ax.write(1, "goal_position", 1000)
    ax.advance(0.4)
    assert ax.read(1, "moving") == 1
    assert abs(ax.read(1, "present_speed") - 200) < 20
    ax.write(1, "goal_position", 100)
    ax.advance(0.6)
    assert abs(ax.read(1, "present_speed") + 200) < 20


def test_compliance_slope_sets_the_stiffness(loaded):
    """At rest T·e/S of the stall torque balances gravity, up to friction: a softer slope sags more."""
    sags = {}
    for slope in (16, 128):
        loaded.write(1, "ccw_compliance_slope", slope)
        loaded.write(1, "cw_compliance_slope", slope)
        loaded.write(1, "ccw_compliance_margin", 0)
        loaded.write(1, "punch", 32)
        loaded.write(1, "torque_enable", 1)
        loaded.write(1, "goal_position", 512 + 200)
        loaded.advance(3.0)
        angle = loaded.plant.read(1).position - MIDDLE
        error = 200 - angle / COUNT
        stall = 12.0 * MOTOR.torque_constant / MOTOR.resistance
        held = stall * (32 / 1023 + (1 - 32 / 1023) * error / slope)
        assert abs(held - 0.3 * math.sin(angle)) <= MOTOR.friction + 0.01
        sags[slope] = error
    assert sags[128] > 3 * sags[16]


def test_margin_of_the_driving_direction_leaves_the_servo_short_of_its_goal(ax):
    ax.write(1, "ccw_compliance_margin", 30)
    ax.write(1, "moving_speed", 50)
    ax.write(1, "torque_enable", 1)
    ax.write(1, "goal_position", 600)
    ax.advance(2.0)
    assert abs(ax.read(1, "present_position") - (600 - 30)) <= 4
    ax.write(1, "goal_position", 500)
    ax.advance(2.0)
    assert abs(ax.read(1, "present_position") - 500) <= 2


def test_shutdown_sets_the_torque_limit_to_zero_and_writing_it_brings_the_torque_back(loaded):
    loaded.write(1, "torque_enable", 1)
    loaded.write(1, "goal_position", 700)
    loaded.advance(1.0)
    loaded.bus.servos[0].overload()
    loaded.advance(8.0)
    assert loaded.read(1, "torque_limit") == 0
    assert loaded.send(1, 0x01)[0].error == OVERLOAD
    assert abs(loaded.read(1, "present_position") - 512) < 20
    assert loaded.read(1, "torque_enable") == 1
    assert loaded.write(1, "torque_limit", 1023) == 0
    loaded.advance(2.0)
    assert loaded.read(1, "present_position") > 650


def test_torque_limit_does_not_come_back_while_it_is_too_hot(ax):
    ax.write(1, "torque_enable", 1)
    ax.plant.set_temperature(1, 80)
    ax.advance(0.01)
    assert ax.read(1, "torque_limit") == 0
    ax.write(1, "torque_limit", 1023)
    ax.advance(0.01)
    assert ax.read(1, "torque_limit") == 0
    ax.plant.set_temperature(1, 60)
    ax.advance(0.01)
    assert ax.write(1, "torque_limit", 1023) == 0
    ax.advance(0.01)
    assert ax.read(1, "torque_limit") == 1023


def test_pushing_in_vain_is_an_overload(loaded):
    loaded.write(1, "torque_enable", 1)
    loaded.write(1, "torque_limit", 150)
    loaded.write(1, "goal_position", 512 + 320)
    loaded.advance(8.0)
    assert loaded.read(1, "torque_limit") == 0


def test_shutdown_on_a_refused_goal_if_the_register_says_so(ax):
    ax.write(1, "shutdown", ANGLE)
    ax.write(1, "ccw_angle_limit", 600)
    assert ax.write(1, "goal_position", 601) == ANGLE
    assert ax.read(1, "torque_limit") == 0


def test_voltage_error_goes_with_its_cause(ax):
    ax.plant.set_supply(5.0)
    ax.advance(0.01)
    assert ax.send(1, 0x01)[0].error == 0x01
    assert ax.read(1, "present_voltage") == 50
    ax.plant.set_supply(11.1)
    ax.advance(0.01)
    assert ax.send(1, 0x01)[0].error == 0


def test_wheel_mode_turns_by_duty(ax):
    ax.write(1, "ccw_angle_limit", 0)
    ax.write(1, "torque_enable", 1)
    ax.write(1, "moving_speed", 1024 + 511)
    ax.advance(1.0)
    ideal = -511 / 1023 * 12.0 / MOTOR.torque_constant
    assert ax.plant.read(1).velocity == pytest.approx(ideal, rel=0.1)
    assert ax.read(1, "present_load") == -511


def test_position_register_ends_with_the_sensor(make_line):
    line = make_line({1: "AX-12A"}, {1: Shaft(MOTOR, start=math.radians(330))})
    assert line.read(1, "present_position") == 1023


def test_damaged_packet_is_answered_with_the_checksum_bit(ax):
    assert ax.hex("FF FF 01 02 01 FA") == "FF FF 01 02 10 EC"


def test_any_baud_rate_of_the_formula_is_heard(make_line):
    line = make_line({1: "AX-12A"})
    line.write(1, "baud_rate", 16)
    assert line.send(1, 0x01) == []
    line.baud = 115200
    assert len(line.send(1, 0x01)) == 1
