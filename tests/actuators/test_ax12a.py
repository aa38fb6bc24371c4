import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.actuators.ax12a import (
    AX12A,
    COUNT,
    FULL,
    OVERHEAT_BIT,
    OVERLOAD_BIT,
    ServoState,
    compliance_drive,
    rounded_slope,
)
from pliant.errors import ConfigurationError, OutOfBoundsError

errors = st.floats(-2000, 2000)
margins = st.integers(0, 255)
slopes = st.sampled_from([2, 4, 8, 16, 32, 64, 128])
drives = st.integers(0, 1023)
STEP = 0.01


def endure(servo, state, error, seconds, speed=0.0, temperature=30.0):
    for _ in range(round(seconds / STEP)):
        state = servo.watched(state, servo.drive(error, state), speed, temperature, STEP)
    return state


@pytest.mark.parametrize(
    ("slope", "stiffness"), [(2, 147), (4, 73), (8, 37), (16, 18.3), (32, 9.16), (64, 4.6), (128, 2.3)]
)
def test_each_slope_gives_the_stiffness_of_the_data_sheet(slope, stiffness):
    servo = AX12A(punch=0, ccw_slope=slope)
    state = servo.powered_on
    assert servo.stiffness(state) == pytest.approx(stiffness, rel=0.01)
    start = servo.ccw_margin * COUNT
    torques = [servo.torque(servo.drive(start + share * slope * COUNT, state), 0.0, state) for share in (0.3, 0.8)]
    assert (torques[1] - torques[0]) / (0.5 * slope * COUNT) == pytest.approx(servo.stiffness(state))


@pytest.mark.parametrize(
    ("register", "used"),
    [(0, 2), (1, 2), (2, 2), (3, 2), (4, 4), (31, 16), (32, 32), (127, 64), (128, 128), (254, 128)],
)
def test_the_slope_register_is_rounded_down_to_a_power_of_two(register, used):
    assert rounded_slope(register) == used


@given(errors, margins, slopes, drives, drives)
def test_the_drive_is_odd_in_the_error_and_never_exceeds_the_torque_limit(error, margin, slope, punch, limit):
    drive = compliance_drive(error, margin, slope, punch, limit)
    assert abs(drive) <= limit
    assert drive == -compliance_drive(-error, margin, slope, punch, limit)
    assert drive * error >= 0.0


@given(margins, slopes, drives, drives, st.floats(0, 500), st.floats(0, 500))
def test_the_drive_never_falls_as_the_error_grows(margin, slope, punch, limit, first, second):
    near, far = sorted((first, second))
    weak = compliance_drive(near, margin, slope, punch, limit)
    assert weak <= compliance_drive(far, margin, slope, punch, limit) + 1e-9


def test_the_drive_is_zero_in_the_margin_then_the_punch_then_a_ramp_to_the_limit():
    law = (5, 32, 100, 900)
    assert compliance_drive(5.0, *law) == 0.0
    assert compliance_drive(5.0 + 1e-9, *law) == pytest.approx(100)
    assert compliance_drive(5.0 + 16, *law) == pytest.approx(500)
    assert compliance_drive(5.0 + 32, *law) == 900


def test_each_direction_has_its_own_margin_and_slope():
    servo = AX12A(cw_margin=10, ccw_margin=0, cw_slope=2, ccw_slope=128)
    state = servo.powered_on
    assert servo.drive(5 * COUNT, state) > 0.0
    assert servo.drive(-5 * COUNT, state) == 0.0
    assert servo.drive(-12 * COUNT, state) == -FULL
    assert servo.drive(12 * COUNT, state) < FULL / 4


def test_the_stall_torque_is_the_data_sheets_and_the_no_load_speed_the_recordings():
    servo = AX12A()
    state = servo.powered_on
    assert servo.torque(FULL, 0.0, state) == pytest.approx(1.5)
    assert servo.torque(FULL, 66 / 60 * math.tau, state) == pytest.approx(0.0, abs=1e-12)
    assert servo.torque(FULL, 0.0, state, voltage=9.0) == pytest.approx(1.5 * 9 / 12)


def test_a_servo_that_drives_with_zero_brakes_and_one_that_has_shut_down_turns_freely():
    servo = AX12A()
    on, off = servo.powered_on, ServoState(torque_limit=0.0)
    assert servo.torque(0.0, 2.0, on) < 0.0 < servo.torque(0.0, -2.0, on)
    assert servo.torque(0.0, 2.0, off) == 0.0


def test_under_a_load_the_joint_rests_where_the_spring_balances_it():
    servo = AX12A()
    state, load, inertia, angle, speed = servo.powered_on, -0.3, 5e-3, 0.0, 0.0
    for _ in range(20000):
        torque = servo.torque(servo.drive(0.0 - angle, state), speed, state) + load
        speed += 1e-4 * torque / inertia
        angle += 1e-4 * speed
    punch = servo.stall_torque * servo.punch / FULL
    sag = servo.ccw_margin * COUNT + (0.3 - punch) / servo.stiffness(state)
    assert -angle == pytest.approx(sag, rel=1e-3)


def test_a_blocked_servo_switches_its_torque_off_and_stays_off_until_the_limit_is_written():
    servo = AX12A(overload_time=2.0)
    state = endure(servo, servo.powered_on, error=1.0, seconds=1.9)
    assert state.errors == 0
    assert servo.drive(1.0, state) == FULL
    state = endure(servo, state, error=1.0, seconds=0.2)
    assert state.errors == OVERLOAD_BIT
    assert state.torque_limit == 0.0
    state = endure(servo, state, error=0.0, seconds=60.0)
    assert servo.torque(servo.drive(1.0, state), 1.0, state) == 0.0
    state = servo.restarted(state, 1023)
    assert state.errors == 0
    assert servo.drive(1.0, state) == FULL


def test_a_servo_that_moves_or_holds_below_its_limit_never_overloads():
    servo = AX12A(overload_time=2.0)
    assert endure(servo, servo.powered_on, error=1.0, seconds=10.0, speed=3.0).errors == 0
    assert endure(servo, servo.powered_on, error=-1.0, seconds=10.0, speed=-3.0).errors == 0
    assert endure(servo, servo.powered_on, error=20 * COUNT, seconds=10.0).errors == 0


def test_being_pushed_back_at_the_limit_is_an_overload():
    assert endure(AX12A(), AX12A().powered_on, error=1.0, seconds=3.0, speed=-3.0).errors == OVERLOAD_BIT


def test_a_pause_in_the_overload_starts_its_clock_anew():
    servo = AX12A(overload_time=2.0)
    state = endure(servo, servo.powered_on, error=1.0, seconds=1.5)
    state = endure(servo, state, error=0.0, seconds=STEP)
    assert endure(servo, state, error=1.0, seconds=1.5).errors == 0


def test_an_error_that_the_shutdown_register_does_not_select_leaves_the_torque_on():
    servo = AX12A(shutdown=OVERHEAT_BIT)
    state = endure(servo, servo.powered_on, error=1.0, seconds=5.0)
    assert state.errors == OVERLOAD_BIT
    assert servo.drive(1.0, state) == FULL


def test_a_hot_servo_switches_off():
    state = endure(AX12A(), AX12A().powered_on, error=0.0, seconds=STEP, temperature=70.0)
    assert state.errors == OVERHEAT_BIT
    assert state.torque_limit == 0.0


def test_the_law_compiles_unchanged():
    compiled = numba.njit(compliance_drive)
    for error in (-50.0, -3.0, 0.0, 0.5, 7.0, 900.0):
        arguments = (error, 1.0, 32.0, 32.0, 700.0)
        assert compiled(*arguments) == compliance_drive(*arguments)


@pytest.mark.parametrize(
    "registers", [{"punch": 1024}, {"ccw_slope": 255}, {"cw_margin": -1}, {"stall_torque": math.nan}]
)
def test_a_value_that_a_register_cannot_hold_is_refused(registers):
    with pytest.raises(OutOfBoundsError, match=next(iter(registers))):
        AX12A(**registers)


def test_a_register_takes_whole_numbers_only_and_the_limit_at_most_1023():
    with pytest.raises(ConfigurationError, match=r"cw_slope = 3\.5 must be a whole number"):
        AX12A(cw_slope=3.5)
    with pytest.raises(OutOfBoundsError, match="torque_limit"):
        AX12A().restarted(AX12A().powered_on, 1024)


def test_the_torque_that_an_error_tells_is_its_drive_of_the_stall_torque():
    servo = AX12A(punch=0, ccw_slope=32, cw_slope=64)
    errors = [[0.0, 0.9 * COUNT, 17 * COUNT], [-33 * COUNT, 1.0, -1.0]]
    told = servo.estimated_torque(errors)
    np.testing.assert_allclose(told, [[0.0, 0.0, 0.75], [-0.75, 1.5, -1.5]])
    assert servo.estimated_torque(1.0, torque_limit=0) == 0.0
    assert servo.estimated_torque(1.0, torque_limit=341) == pytest.approx(0.5)
    state = servo.powered_on
    still = servo.torque(servo.drive(17 * COUNT, state), 0.0, state)
    assert servo.estimated_torque(17 * COUNT) == pytest.approx(still)
    assert servo.torque(servo.drive(17 * COUNT, state), 3.0, state) < still
    for wrong in (math.nan, "much", 1e3):
        with pytest.raises(OutOfBoundsError, match="position error"):
            servo.estimated_torque([0.0, wrong])
