import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.config import (
    DynamixelConfig,
    DynamixelJoint,
    ServoMount,
    Travel,
    joint_angle,
    servo_count,
)
from pliant.hardware.dynamixel.mapping import TurnCounter, channels, goals, hold_command, sent_command

XM = "XM430-W350"


def joint(name="a", servo=1, low=-1.0, high=1.0, **others):
    mount = {key: others.pop(key) for key in ("direction", "gear", "zero", "model", "settings") if key in others}
    return DynamixelJoint(name, [ServoMount(servo, mount.pop("model", XM), **mount)], low, high, **others)


def pair(**others):
    servos = [ServoMount(1, XM), ServoMount(2, XM, direction=-1)]
    return DynamixelJoint("elbow", servos, -1.0, 1.0, preset=(0.0, 0.6), **others)


@given(st.floats(-1, 1), st.sampled_from([1, -1]), st.floats(0.2, 5), st.floats(-1, 1))
def test_angle_and_count_are_inverse(angle, direction, gear, zero):
    mount = ServoMount(1, XM, direction, gear, zero)
    assert joint_angle(mount, servo_count(mount, angle)) == pytest.approx(angle, abs=1e-9)


def test_half_a_radian_written_reads_half_a_radian():
    arm = joint(gear=2.0, direction=-1)
    (goal,) = goals(arm, [0.5])
    assert goal.value == 2048 - round(1.0 / (2 * math.pi) * 4096)
    assert sent_command(arm, [goal]) == pytest.approx([0.5], abs=2 * math.pi / 4096)


@given(st.floats(-1, 1), st.floats(0, 0.6))
def test_two_servos_are_one_joint_with_equilibrium_and_preset(equilibrium, preset):
    elbow = pair()
    first, second = goals(elbow, [equilibrium, preset])
    half = math.pi / 4096
    assert joint_angle(elbow.servos[0], first.value) == pytest.approx(equilibrium + preset, abs=half)
    assert joint_angle(elbow.servos[1], second.value) == pytest.approx(equilibrium - preset, abs=half)
    # the second servo is mounted the other way round
    assert second.value == pytest.approx(2048 - (equilibrium - preset) * 4096 / (2 * math.pi), abs=1)
    assert sent_command(elbow, [first, second]) == pytest.approx([equilibrium, preset], abs=half)
    assert hold_command(elbow, [equilibrium + preset, equilibrium - preset]) == pytest.approx(
        [equilibrium, preset]
    )


@given(st.floats(-1, 1), st.sampled_from([1, -1]), st.floats(0.5, 3))
def test_one_servo_behind_a_spring_goes_to_the_equilibrium(equilibrium, direction, gear):
    knee = joint(spring=True, direction=direction, gear=gear, mode="current_position", torque=1.0)
    assert [(c.name, c.low, c.high) for c in channels(knee)] == [
        ("a/equilibrium", -1.0, 1.0),
        ("a/torque_limit", 0.0, 1.0),
    ]
    goal, current = goals(knee, [equilibrium, 1.0])
    half = math.pi / 4096 / gear
    assert joint_angle(knee.servos[0], goal.value) == pytest.approx(equilibrium, abs=half + 1e-9)
    assert sent_command(knee, [goal, current])[0] == pytest.approx(equilibrium, abs=half + 1e-9)
    assert hold_command(knee, [equilibrium])[0] == equilibrium
    assert knee.travel(0) == (-1.0, 1.0)


@pytest.mark.parametrize("mode", ["current", "pwm"])
def test_a_servo_behind_a_spring_is_told_where_to_be(mode):
    with pytest.raises(ConfigurationError, match=f"'a': servos behind springs take a position mode, not '{mode}'"):
        joint(spring=True, mode=mode)


def test_command_columns_carry_units_and_bounds():
    assert [c.name for c in channels(pair())] == ["elbow/equilibrium", "elbow/preset"]
    limited = joint(mode="current_position", torque=1.2)
    assert [(c.name, c.unit, c.low, c.high) for c in channels(limited)] == [
        ("a/position", "rad", -1.0, 1.0),
        ("a/torque_limit", "N·m", 0.0, 1.2),
    ]
    assert channels(joint(mode="pwm"))[0].unit == "1"
    (torque,) = channels(joint(mode="current", gear=2.0))
    assert torque.high == pytest.approx(2 * 1193 * 2.69e-3 * 4.1 / 2.3)


@given(st.floats(-3, 3), st.sampled_from([1, -1]), st.floats(0.5, 3))
def test_torque_goes_out_and_comes_back_through_current(torque, direction, gear):
    arm = joint(mode="current", direction=direction, gear=gear)
    (goal,) = goals(arm, [torque])
    assert goal.register == "goal_current"
    assert math.copysign(1, goal.value) == math.copysign(1, torque * direction) or goal.value == 0
    assert sent_command(arm, [goal])[0] == pytest.approx(torque, abs=0.6 * 0.0048 * gear)


def test_a_current_limit_is_never_rounded_up():
    arm = joint(mode="current_position", torque=1.2)
    found = goals(arm, [0.0, 0.5])
    assert sent_command(arm, found)[1] <= 0.5


def test_pwm_is_a_share_of_the_supply():
    arm = joint(mode="pwm", direction=-1)
    (goal,) = goals(arm, [1.0])
    assert goal == (1, "goal_pwm", -885)
    assert sent_command(arm, [goal]) == pytest.approx([1.0])


# The seam: lerobot#3586, #3587; DynamixelSDK#380; axol#208


def test_a_travel_across_the_seam_is_refused_in_position_mode():
    with pytest.raises(ConfigurationError, match=r"counts .* across the end of the encoder.*'extended'"):
        joint(zero=math.pi - 0.5, low=-1.0, high=1.0)


def test_a_travel_across_the_seam_is_fine_in_extended_mode_without_a_jump():
    arm = joint(zero=math.pi - 0.5, low=-1.0, high=1.0, mode="extended")
    counter = TurnCounter(arm.servos[0], arm.travel(0))
    counts = [4090, 4095, 0, 5, 4093]
    angles = [joint_angle(arm.servos[0], counter.update(count)) for count in counts]
    assert angles == pytest.approx(
        [(c - 4090) * 2 * math.pi / 4096 + angles[0] for c in (4090, 4095, 4096, 4101, 4093)]
    )
    assert -1 <= min(angles) < max(angles) <= 1


@pytest.mark.parametrize("turns", [-2, -1, 0, 1, 3])
def test_a_restart_whole_turns_off_gives_the_same_angle(turns):
    arm = joint(mode="extended", low=-2.0, high=2.0)
    counter = TurnCounter(arm.servos[0], arm.travel(0))
    assert joint_angle(arm.servos[0], counter.update(3000 + 4096 * turns)) == pytest.approx(
        joint_angle(arm.servos[0], 3000)
    )
    assert counter.offset == -4096 * turns


def test_a_servo_that_restarts_under_way_does_not_jump():
    arm = joint(mode="extended", low=-2.0, high=2.0)
    counter = TurnCounter(arm.servos[0], arm.travel(0))
    assert counter.update(3000 + 4096) == 3000
    assert counter.update(3001) == 3001


def test_more_than_a_turn_is_refused_because_nobody_knows_the_turn():
    with pytest.raises(ConfigurationError, match="more than a turn"):
        joint(mode="extended", low=-4.0, high=4.0)
    with pytest.raises(ConfigurationError, match="more than a turn"):
        joint(mode="extended", low=-2.0, high=2.0, gear=2.0)


def test_an_encoder_that_does_not_go_round_is_taken_as_it_is():
    counter = TurnCounter(ServoMount(1, "AX-12A"), Travel(-1, 1))
    assert [counter.update(count) for count in (1020, 3)] == [1020, 3]


# What does not go together is refused


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: joint(model="XM430"), UnknownNameError, "Did you mean 'XM430-W350'"),
        (lambda: joint(mode="velocity"), UnknownNameError, "mode 'velocity'"),
        (lambda: joint(mode="current", model="XL430-W250"), UnknownNameError, "Valid: position, extended, pwm"),
        (lambda: joint(low=1.0, high=-1.0), ConfigurationError, "low 1 is not below high -1"),
        (lambda: joint(rest=2.0), OutOfBoundsError, "rest = 2"),
        (lambda: joint(direction=0), ConfigurationError, "neither 1 nor −1"),
        (lambda: joint(gear=math.nan), OutOfBoundsError, "gear is nan"),
        (lambda: joint(servo=253), ConfigurationError, r"0 … 252"),
        (lambda: joint(settings={"position_p_gian": 1}), UnknownNameError, "position_p_gain"),
        (lambda: joint(settings={"goal_position": 1}), ConfigurationError, "among the settings"),
        (lambda: joint(settings={"drive_mode": 1}), ConfigurationError, "among the settings"),
        (lambda: joint(settings={"led": 256}), OutOfBoundsError, "does not fit"),
        (lambda: joint(settings={"led": 1.5}), OutOfBoundsError, "whole number"),
        (lambda: joint(model="AX-12A", settings={"led": 1}), ConfigurationError, "among the settings"),
        (lambda: joint(low=math.nan), OutOfBoundsError, "low is nan"),
        (lambda: joint(high=math.inf, mode="current"), OutOfBoundsError, "high is inf"),
        (lambda: joint(rest=math.nan), OutOfBoundsError, "rest is nan"),
        (lambda: joint(torque=math.nan, mode="current"), OutOfBoundsError, "torque is nan"),
        (lambda: joint(torque=1.0), ConfigurationError, "torque 1 N·m would limit nothing in the mode 'position'"),
        (lambda: joint(torque=1.0, mode="pwm"), ConfigurationError, "would limit nothing"),
        (lambda: joint(preset=(0.0, 0.5)), ConfigurationError, "one servo, so it has no preset"),
        (lambda: DynamixelConfig([joint()], "p", first_step=math.nan), OutOfBoundsError, "first_step is nan"),
        (lambda: DynamixelConfig([joint()], "p", first_step=-1.0), OutOfBoundsError, "first_step"),
        (lambda: DynamixelConfig([joint()], "p", first_step=math.inf), OutOfBoundsError, "first_step"),
        (lambda: DynamixelConfig([joint()], "p", slack=math.nan), OutOfBoundsError, "slack"),
        (lambda: DynamixelConfig([joint()], "p", slack=-0.1), OutOfBoundsError, "slack"),
        (lambda: DynamixelConfig([joint()], "p", release_pause=math.nan), OutOfBoundsError, "release_pause"),
        (lambda: DynamixelConfig([joint()], "p", release_pause=math.inf), OutOfBoundsError, "release_pause"),
        (lambda: DynamixelConfig([joint()], "p", retries=-1), OutOfBoundsError, "retries"),
        (lambda: DynamixelConfig([joint()], "p", retries=1.5), OutOfBoundsError, "whole number"),
        (lambda: DynamixelConfig([joint()], "p", watchdog=math.nan), OutOfBoundsError, "watchdog"),
        (lambda: DynamixelConfig([joint()], "p", watchdog=-1.0), OutOfBoundsError, "watchdog"),
        (lambda: DynamixelConfig([joint()], "p", baud_rate=0), OutOfBoundsError, "baud_rate"),
        (lambda: Bus("p", retries=-1), OutOfBoundsError, "retries"),
        (lambda: Bus("p", slack=math.inf), OutOfBoundsError, "slack"),
        (lambda: pair(preset_rest=math.nan), OutOfBoundsError, "preset_rest"),
        (
            lambda: DynamixelJoint("e", pair().servos, -1, 1, preset=(0, math.nan)),
            ConfigurationError,
            "no.* range|not a range",
        ),
        (lambda: pair(mode="current"), ConfigurationError, "servos behind springs take a position mode"),
        (lambda: pair(preset_rest=0.7), OutOfBoundsError, "preset_rest"),
        (lambda: DynamixelJoint("a", [], -1, 1), ConfigurationError, "has 0 servos"),
        (lambda: DynamixelConfig([], "p"), ConfigurationError, "at least one joint"),
        (
            lambda: DynamixelConfig([joint("a", 1), joint("b", 1)], "p"),
            ConfigurationError,
            "servo id 1 is there twice",
        ),
        (
            lambda: DynamixelConfig([joint("a", 1), joint("a", 2)], "p"),
            ConfigurationError,
            "joint a is there twice",
        ),
        (
            lambda: DynamixelConfig([joint("a", 1), joint("b", 2, model="AX-12A")], "p"),
            ConfigurationError,
            "different protocols",
        ),
        (lambda: DynamixelConfig([joint(model="AX-12A")], "p"), ConfigurationError, "no bus watchdog"),
        (lambda: DynamixelConfig([joint()], "p", watchdog=5.0), OutOfBoundsError, "watchdog"),
        (lambda: DynamixelConfig([joint()], "p", period=0.2, watchdog=0.2), OutOfBoundsError, "watchdog"),
        (lambda: DynamixelConfig([joint()], "p", on_close="drop"), UnknownNameError, "Valid: release, hold"),
        (
            lambda: DynamixelConfig([joint()], "p", baud_rate=9600),
            ConfigurationError,
            "more than the period of 20 ms",
        ),
    ],
)
def test_nonsense_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_time_on_the_wire_of_18_servos_is_known():
    config = DynamixelConfig([joint(str(n), n) for n in range(18)], "p")
    # read request 32 bytes, 18 answers of 21, write 14 + 18 · 5
    assert config.cycle_time == pytest.approx((32 + 18 * 21 + 104) * 10e-6)
