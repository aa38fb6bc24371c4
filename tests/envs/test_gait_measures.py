"""Measures of gaits on traces whose values are known in closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pliant.envs.gait_measures import GaitLimits, GaitTrace, measure_gait
from pliant.errors import OutOfBoundsError

STEP, COUNT, PERIOD = 1e-3, 4001, 0.02
TIME = np.arange(COUNT) * STEP
HEADING, SPEED, SIDEWAYS = 0.4, 0.2, 0.03


def made(**changes):
    """Two joints, two feet, a trunk that goes straight on at a heading of 0.4 rad; cycles of 0.5 s."""
    none = np.zeros((COUNT, 2))
    ahead = np.array([math.cos(HEADING), math.sin(HEADING)])
    base = np.zeros((COUNT, 7))
    base[:, :2] = np.outer(TIME, SPEED * ahead + SIDEWAYS * np.array([-ahead[1], ahead[0]]))
    base[:, 2], base[:, 3], base[:, 6] = 0.1, math.cos(HEADING / 2), math.sin(HEADING / 2)
    trace = GaitTrace(
        joints=("hip", "knee"),
        feet=("left", "right"),
        pairs=("left_meets_right", "left_meets_trunk"),
        mass=2.0,
        full=1.2,
        diverged=False,
        time=TIME,
        position=none,
        velocity=none,
        target=none,
        torque=none,
        motor_torque=none,
        estimated_torque=none,
        shut_down=none > 0.0,
        electrical_power=np.zeros(COUNT),
        base=base,
        foot_position=np.zeros((COUNT, 2, 3)),
        foot_velocity=np.zeros((COUNT, 2, 3)),
        foot_force=none,
        contacts=none,
        phase=np.stack([np.arange(0.0, 4.0, PERIOD) / 0.5 % 1.0] * 2, axis=1),
        period=PERIOD,
    )
    return replace(trace, **changes)


def measured(**changes):
    return measure_gait(made(**changes), GaitLimits())


def test_speed_ahead_drift_and_turn_are_those_of_the_trunk():
    found = measured()
    assert (found.speed, found.drift, found.turn_rate) == pytest.approx((SPEED, SIDEWAYS, 0.0), abs=1e-12)


def test_a_robot_that_turns_turns():
    base = made().base
    base[:, 3], base[:, 6] = np.cos(3.0 * TIME / 2), np.sin(3.0 * TIME / 2)  # beyond ±π
    assert measured(base=base).turn_rate == pytest.approx(3.0)


def test_means_are_over_whole_cycles_once_strides_are_full():
    """Cycles begin every 0.5 s; it walks in full from 1.2 s on."""
    found = measured()
    assert (found.begin, found.end, found.cycles) == pytest.approx((1.5, 3.5, 4), abs=PERIOD)
    power = np.where((found.begin <= TIME) & (found.end > TIME), 3.0, 1e3)
    assert measured(electrical_power=power).electrical_power == pytest.approx(3.0)


def test_without_phases_means_begin_with_full_strides():
    found = measured(phase=None)
    assert (found.begin, found.end, found.cycles) == pytest.approx((1.2, 4.0, 0))


def test_cost_of_transport_is_power_per_weight_and_speed():
    found = measured(electrical_power=np.full(COUNT, 6.0))
    assert found.cost_of_transport == pytest.approx(6.0 / (2.0 * 9.81 * SPEED))
    backwards = made().base
    backwards[:, :2] *= -1.0
    assert measured(base=backwards).cost_of_transport == math.inf


def test_mechanical_power_counts_work_done_and_none_got_back():
    """τ·ω of a joint that swings, τ = sin, ω = sin: mean ½; of one that is driven back: 0."""
    swing = np.sin(2.0 * math.pi * TIME / 0.5)
    torque, velocity = np.stack([swing, -swing], axis=1), np.stack([swing, swing], axis=1)
    assert measured(torque=torque, velocity=velocity).mechanical_power == pytest.approx(0.5, rel=1e-3)


def test_peak_and_rms_torque_of_each_joint_and_the_margin():
    torque = np.stack([0.8 * np.sin(4.0 * math.pi * TIME), np.full(COUNT, -0.3)], axis=1)
    torque[5, 1] = -1.2  # in the beginning counts as well
    found = measured(motor_torque=torque)
    assert found.peak_torque == pytest.approx({"hip": 0.8, "knee": 1.2}, rel=1e-4)
    assert found.rms_torque == pytest.approx({"hip": 0.8 / math.sqrt(2.0), "knee": 0.3}, rel=1e-4)
    assert (found.hardest_joint, found.margin) == ("knee", pytest.approx(1.125 - 1.2))
    assert found.violations == ("knee took 1.2 N·m; 1.125 are allowed",)
    assert measured(motor_torque=0.9 * torque).kept


def test_the_estimate_is_compared_with_the_motors_torque():
    found = measured(estimated_torque=np.full((COUNT, 2), 0.5), motor_torque=np.full((COUNT, 2), 0.1))
    assert found.estimate_error == pytest.approx(0.4)
    assert found.peak_estimated_torque == {"hip": 0.5, "knee": 0.5}


def test_collisions_are_told_by_pair_in_their_order():
    contacts = np.zeros((COUNT, 2))
    contacts[2000:2400, 0], contacts[1000:1010, 1] = 1.0, 2.0
    found = measured(contacts=contacts)
    assert list(found.collisions.items()) == [("left_meets_trunk", 1.0), ("left_meets_right", 2.0)]
    assert found.colliding == pytest.approx({"left_meets_trunk": 10 / COUNT, "left_meets_right": 400 / COUNT})
    assert found.violations[0] == "left and trunk collided at 1 s"


@pytest.mark.parametrize("way", ["leans", "sinks"])
def test_a_robot_that_leans_or_sinks_has_fallen(way):
    base = made().base
    if way == "leans":
        base[3000:, 3:] = math.cos(0.45), math.sin(0.45), 0.0, 0.0
    else:
        base[3000:, 2] = 0.04
    found = measured(base=base)
    assert found.fallen == pytest.approx(3.0)
    assert "it fell at 3 s" in found.violations


def test_servos_that_shut_down_are_named():
    down = np.zeros((COUNT, 2), dtype=bool)
    down[2500:, 1] = True
    assert measured(shut_down=down).shut_down == {"knee": pytest.approx(2.5)}


def test_forces_and_slip_of_the_feet():
    """A foot that is pressed half of every cycle and then slides at a quarter of the trunk's speed."""
    pressed = TIME % 0.5 < 0.25
    force = np.stack([np.where(pressed, 8.0, 0.0), np.zeros(COUNT)], axis=1)
    velocity = np.zeros((COUNT, 2, 3))
    velocity[:, 0, 1] = np.where(pressed, 0.25 * SPEED, 5.0)
    found = measured(foot_force=force, foot_velocity=velocity)
    assert found.mean_force == pytest.approx({"left": 8.0, "right": 0.0})
    assert found.on_ground == pytest.approx({"left": 0.5, "right": 0.0}, abs=2e-3)
    assert found.slip["left"] == pytest.approx(0.125 * SPEED / math.hypot(SPEED, SIDEWAYS), rel=1e-2)
    assert found.peak_force == {"left": 8.0, "right": 0.0}


def test_a_run_that_diverged_has_no_means_and_keeps_nothing():
    found = measured(diverged=True)
    assert math.isnan(found.speed)
    assert found.violations == ("the simulation diverged at 4 s",)


@pytest.mark.parametrize("limit", [{"torque": -1.0}, {"lean": math.nan}, {"height": math.inf}])
def test_limits_are_numbers(limit):
    with pytest.raises(OutOfBoundsError, match="gait: limit of"):
        GaitLimits(**limit)
