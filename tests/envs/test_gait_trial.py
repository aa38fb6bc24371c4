"""Trials of gaits against the robot's own loop, its servos' law and statics."""

import numpy as np
import pytest

from pliant.actuators.ax12a import AX12A
from pliant.controllers.gaits import MatsuokaGait
from pliant.controllers.setpoints import hold
from pliant.envs import SimulatedRobot
from pliant.envs.gait_trial import try_gait, try_gaits
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.hexapod import REFERENCE_SERVO, hexapod
from pliant.envs.randomisation import Randomisation, Uniform
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError

PERIOD = 0.019
SERVO = AX12A(**REFERENCE_SERVO)
WEIGHT = 2.730 * 9.81


@pytest.fixture(scope="module")
def robot():
    with SimulatedRobot(hexapod(servo=REFERENCE_SERVO), PERIOD) as robot:
        yield robot


@pytest.fixture(scope="module")
def trial(robot):
    return try_gait(robot, MatsuokaGait.published(robot.info, 5.0, PERIOD), 7.0)


@pytest.mark.slow
def test_it_is_the_motion_that_the_robots_own_loop_gives(robot, trial):
    state = robot.reset()
    gait = MatsuokaGait.published(robot.info, 5.0, PERIOD)
    gait.reset(state)
    heights = robot.info.signal("base/position_z")
    for k in range(200):
        here = trial.trace.position[19 * k], trial.trace.velocity[19 * k]
        assert np.array_equal([state.position, state.velocity], here)
        assert trial.trace.base[19 * k, 2] == state.signals[heights]
        command = np.asarray(gait.update(state, k * PERIOD))
        assert np.array_equal(command, trial.command[k])
        robot.send(command)
        state = robot.read()


def test_torques_are_those_of_the_servos_law(trial):
    trace, worst = trial.trace, 0.0
    for k in range(0, len(trace.time), 331):
        for j in range(18):
            drive = SERVO.drive(trace.target[k, j] - trace.position[k, j], SERVO.powered_on)
            estimate = 1.5 * drive / 1023
            worst = max(worst, abs(trace.estimated_torque[k, j] - estimate))
            assert trace.motor_torque[k, j] == pytest.approx(estimate - 0.243 * trace.velocity[k, j], abs=1e-9)
    assert worst < 1e-9


def test_power_from_the_supply_is_work_of_the_motors_and_heat_of_the_windings(trial):
    """Where no motor gives back: V·d·i = τ·ω + R·i², with i = τ/kt."""
    trace = trial.trace
    kt = 12.0 / SERVO.no_load_speed
    resistance = kt * 12.0 / 1.5
    each = trace.motor_torque * trace.velocity + resistance * np.square(trace.motor_torque / kt)
    assert trace.electrical_power == pytest.approx(np.maximum(each, 0.0).sum(axis=1), abs=1e-9)


def test_feet_carry_the_weight_in_the_mean(trial):
    found = trial.measures
    total = sum(found.mean_force[leg] * found.on_ground[leg] for leg in found.mean_force)
    assert total == pytest.approx(WEIGHT, rel=0.01)


def test_cycles_are_the_networks(robot, trial):
    found = trial.measures
    assert found.cycles >= 2
    cycle = MatsuokaGait.published(robot.info, 5.0, PERIOD).steps * PERIOD
    assert (found.end - found.begin) / found.cycles == pytest.approx(cycle, abs=PERIOD)


def test_five_times_the_stride_is_as_fast_as_the_reference(trial):
    """Of the independent prototype: 0.1646 m/s, peak torque 1.04 N·m, clean."""
    found = trial.measures
    assert found.speed == pytest.approx(0.1646, rel=0.05)
    assert found.largest_torque == pytest.approx(1.04, rel=0.10)
    assert found.kept
    assert abs(found.drift) < 0.01


def test_many_at_once_give_what_each_gives_alone(robot, trial):
    gaits = [MatsuokaGait.published(robot.info, factor, PERIOD) for factor in (1.0, 5.0, 7.5)]
    slow, same, collides = try_gaits(robot, gaits, 7.0, threads=3)
    assert same.measures == trial.measures
    assert same.trace is None
    assert slow.measures.speed < 0.25 * same.measures.speed
    legs = {"front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right"}
    first = next(iter(collides.measures.collisions))
    assert set(first.split("_meets_")) <= legs
    assert not collides.measures.kept


def test_a_controller_of_another_kind_is_tried_as_well(robot):
    found = try_gait(robot, hold(robot.info), 3.0).measures
    assert abs(found.speed) < 1e-3
    assert found.cycles == 0
    assert found.on_ground == pytest.approx(dict.fromkeys(found.on_ground, 1.0))
    assert found.mean_force == pytest.approx(dict.fromkeys(found.mean_force, WEIGHT / 6), rel=0.02)


def test_a_servo_that_shuts_down_and_a_robot_that_falls_are_told():
    """Servos that are too weak for the gait, and endure little."""
    weak = {**REFERENCE_SERVO, "stall_torque": 0.5, "overload_time": 0.3}
    with SimulatedRobot(hexapod(servo=weak), PERIOD) as robot:
        found = try_gait(robot, MatsuokaGait.published(robot.info, 5.0, PERIOD), 8.0).measures
    assert found.fallen is not None
    assert 0.3 <= min(found.shut_down.values()) < found.fallen
    assert any("shut down" in text for text in found.violations)


def test_commands_that_come_late_act_late():
    """A delay of 10 steps: goals in force, and the motion of the robot's own loop, to the last bit."""
    with SimulatedRobot(hexapod(settle=0.2), PERIOD, command_delay=0.01) as robot:
        trial = try_gait(robot, MatsuokaGait(robot.info), 3.0)
        before = np.repeat(trial.command, 19, axis=0)[:-10]
        assert np.array_equal(trial.trace.target[10:], before)
        assert np.array_equal(trial.trace.target[:10], np.tile(robot.info.rest, (10, 1)))
        robot.reset()
        for command in trial.command[:80]:
            robot.send(command)
        assert np.array_equal(robot.read().position, trial.trace.position[19 * 80])


def test_a_robot_that_is_drawn_anew_is_refused():
    drawn = Randomisation(mass=Uniform(0.9, 1.1))
    robot = SimulatedRobot(hexapod(settle=0.0), PERIOD, randomisation=drawn)
    with robot, pytest.raises(ConfigurationError, match="leave its randomisation out"):
        try_gaits(robot, [hold(robot.info)])


def test_an_arm_has_no_gait():
    with (
        SimulatedRobot(arm2(), 0.01) as arm,
        pytest.raises(ConfigurationError, match="no robot whose gait can be tried"),
    ):
        try_gaits(arm, [hold(arm.info)])


def test_a_trial_must_be_long_enough(robot):
    gait = MatsuokaGait.published(robot.info, 1.0, PERIOD)
    with pytest.raises(OutOfBoundsError, match=r"walks in full after 2\.\d+ s only"):
        try_gait(robot, gait, 1.0)
    for duration in (0.0, float("nan")):
        with pytest.raises(OutOfBoundsError, match="gait trial: duration"):
            try_gait(robot, gait, duration)


def test_a_gait_of_another_robot_is_refused(robot):
    with SimulatedRobot(arm2(), 0.01) as arm, pytest.raises(MismatchError, match="does not fit the robot"):
        MatsuokaGait.published(robot.info, 1.0, PERIOD).check(arm.info)
