import copy
import json
import pickle
import subprocess
import sys

import mujoco
import numpy as np
import pytest

from pliant.actuators import CallbackOwnershipError, CompliantJoint, install, uninstall
from pliant.actuators.layout import DRIVE_AT, LAW_AT
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import (
    ConfigurationError,
    OutOfBoundsError,
    RobotError,
    ShapeError,
    UnknownNameError,
)
from pliant.hardware.robot import Robot, State, stacked


def connected(model: RobotModel, period: float = 0.01, **options) -> SimulatedRobot:
    robot = SimulatedRobot(model, period, **options)
    robot.connect()
    return robot


def wave(robot: Robot, periods: int, seed: int = 0) -> np.ndarray:
    """Commands that wander about the resting one, beyond the bounds now and then."""
    steps = np.random.default_rng(seed).normal(0.0, 0.1, (periods, len(robot.info.command)))
    return robot.info.rest + np.cumsum(steps, axis=0)


def step_through(robot: Robot, commands: np.ndarray) -> State:
    states = [robot.read()]
    for command in commands:
        robot.send(command)
        states.append(robot.read())
    return stacked(states)


def assert_equal(one: State, other: State) -> None:
    for name, a, b in zip(State._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


# What is known of it ------------------------------------------------------------------------------------------


def test_the_layout_is_known_without_connecting():
    info = SimulatedRobot(arm2(), 0.02).info
    assert (info.name, info.joints, info.period) == ("arm2", ("shoulder", "elbow"), 0.02)
    assert info.motors == ("shoulder/1", "shoulder/2", "elbow/1", "elbow/2")
    assert info.command_names == ("shoulder/equilibrium", "shoulder/preset", "elbow/equilibrium", "elbow/preset")
    assert [channel.unit for channel in info.command] == ["rad"] * 4
    np.testing.assert_array_equal(info.rest, [0.0, 0.2, 0.0, 0.2])
    assert (info.low[1], info.high[1]) == (0.0, 0.6)


@pytest.mark.parametrize(
    ("law", "mode", "motors", "columns"),
    [
        ("rigid", 0, (), ("joint/torque",)),
        ("rigid", 1, (), ("joint/position",)),
        ("sea", 3, ("joint/1",), ("joint/equilibrium",)),
        ("awas2", 5, ("joint/1", "joint/2"), ("joint/motor1", "joint/pivot")),
    ],
)
def test_only_the_motors_that_exist_are_read(law, mode, motors, columns):
    joint = CompliantJoint(law, mode, implicit=law == "awas2")
    robot = connected(rig1(joint, integrator="discrete"))
    assert (robot.info.motors, robot.info.command_names) == (motors, columns)
    state = robot.read()
    for values in (state.motor_position, state.motor_velocity, state.motor_torque, state.spring_torque):
        assert values.shape == (len(motors),)


def test_the_parameters_are_plain_data_that_describe_the_joints():
    parameters = SimulatedRobot(arm2()).info.parameters["joints"]
    assert json.loads(json.dumps(parameters)) == parameters
    assert parameters["elbow"]["parameters"]["k1"] == pytest.approx(0.1015)


def test_columns_and_readings_follow_the_order_of_the_robots_names():
    model = arm2()
    turned = RobotModel("turned", arm2().spec, ("elbow", "shoulder"), model.end_effectors)
    here, there = connected(model), connected(turned)
    assert there.info.command_names == tuple(here.info.command_names[i] for i in (2, 3, 0, 1))
    commands = wave(here, 30)
    motion, mirrored = here.rollout(commands), there.rollout(commands[:, [2, 3, 0, 1]])
    np.testing.assert_array_equal(motion.position, mirrored.position[:, ::-1])
    np.testing.assert_array_equal(motion.motor_position, mirrored.motor_position[:, [2, 3, 0, 1]])


def test_a_joint_that_is_not_compliant_is_refused():
    model = arm2()
    with pytest.raises(UnknownNameError, match=r"wrist.*Valid: shoulder, elbow"):
        SimulatedRobot(RobotModel("arm", model.spec, ("shoulder", "wrist"), model.end_effectors))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": 0.0105}, "period is 0.0105 s; a whole multiple of the model's time step"),
        ({"period": 0.0}, "such as 0.001 s"),
        ({"command_delay": 0.0004}, "command_delay"),
        ({"sensor_delay": 0.005}, r"sensor_delay.*the period \(0.01 s\)"),
        ({"period": -0.01}, "period"),
        ({"period": float("nan")}, "period is nan"),
        ({"position_noise": -1.0}, "position_noise"),
        ({"torque_noise": float("inf")}, "torque_noise is inf"),
        ({"backend": "fortran"}, "back end 'fortran'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises((ConfigurationError, OutOfBoundsError, UnknownNameError), match=message):
        SimulatedRobot(rig1(), **options)


# Life cycle ---------------------------------------------------------------------------------------------------


def test_nothing_works_before_it_is_connected_or_after_it_is_closed():
    robot = SimulatedRobot(rig1())
    uses = [
        robot.read,
        robot.reset,
        robot.get_state,
        lambda: robot.send([0.0, 0.0]),
        lambda: robot.rollout([[0.0, 0.0]]),
        lambda: robot.apply_torque("joint", 1.0),
    ]
    for use in uses:
        with pytest.raises(RobotError, match="not connected"):
            use()
    with robot:
        robot.send([0.0, 0.0])
    for use in uses:
        with pytest.raises(RobotError, match="closed"):
            use()
    robot.stop()
    robot.close()


def test_a_command_is_limited_and_returned_as_it_was_sent(rig):
    robot = rig()
    sent = robot.send([0.3, 9.0])
    np.testing.assert_array_equal(sent, [0.3, 0.8])
    np.testing.assert_array_equal(robot.read().command, sent)
    sent[:] = 0.0
    np.testing.assert_array_equal(robot.read().command, [0.3, 0.8])


@pytest.mark.parametrize("command", [[0.1], [[0.1, 0.2]], 0.1, [0.1, np.nan], [np.inf, 0.0]])
def test_a_bad_command_is_refused_and_nothing_is_sent(rig, command):
    robot = rig()
    robot.send([0.3, 0.2])
    before = robot.get_state()
    with pytest.raises((ShapeError, OutOfBoundsError), match=r"joint/equilibrium|joint/preset"):
        robot.send(command)
    np.testing.assert_array_equal(robot.get_state().integration, before.integration)


def test_a_reading_stays_as_it_was_when_the_robot_goes_on(rig):
    robot = rig(position_noise=0.01, seed=1)
    first = robot.read()
    assert_equal(robot.read(), first)
    kept = copy.deepcopy(first)
    robot.send([1.0, 0.5])
    assert_equal(first, kept)
    assert robot.read().time == pytest.approx(0.01)


@pytest.mark.parametrize("mode", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_nothing_jumps_at_the_start(weightless_arm, mode, delay):
    robot = connected(weightless_arm(mode), command_delay=delay)
    posture = np.array([0.4, -0.3])
    # the references at which each mode holds that posture
    references = {
        2: (posture + 0.3, posture - 0.3),
        3: (posture, [0.3, 0.3]),
        4: ([0.0, 0.0], [0.0, 0.0]),
        5: (posture + 0.3, posture - 0.3),
        6: (posture, [0.3, 0.3]),
    }
    command = np.stack(references[mode], axis=1).reshape(-1)
    robot.reset(position=posture, command=command)
    motion = step_through(robot, np.tile(command, (20, 1)))
    # the motors' PID has no integral: they give way by the spring torque over kp, alike on both sides
    np.testing.assert_allclose(motion.position, np.tile(posture, (21, 1)), atol=1e-9)
    moved = np.abs(motion.motor_position - motion.motor_position[0]).max()
    assert moved < (0.02 if mode > 4 else 1e-12)


def test_reset_takes_the_external_torque_away(rig):
    robot = rig()
    robot.apply_torque("joint", 0.2)
    robot.send(robot.info.rest)
    assert robot.read().velocity[0] > 0.1
    robot.reset()
    robot.send(robot.info.rest)
    assert robot.read().velocity[0] == 0.0


def test_callbacks_that_were_removed_are_put_back_by_a_reset(rig):
    robot = rig()
    commands = np.tile([0.5, 0.5], (10, 1))
    expected = step_through(robot, commands)
    uninstall()
    robot.reset()
    assert_equal(step_through(robot, commands), expected)


def test_without_its_callbacks_a_robot_goes_no_further_and_says_why(rig):
    robot = rig()
    robot.send([0.5, 0.5])
    before = robot.get_state()
    mujoco.mj_resetCallbacks()
    with pytest.raises(CallbackOwnershipError, match=r"joint joint would have no torque.*reset the robot"):
        robot.send([0.5, 0.5])
    install()
    assert robot.get_state().integration.tobytes() == before.integration.tobytes()
    robot.send([0.5, 0.5])


@pytest.mark.parametrize(("position", "error"), [([0.1], ShapeError), ([0.1, np.nan], OutOfBoundsError)])
def test_a_bad_start_is_refused(weightless_arm, position, error):
    with pytest.raises(error, match="position"):
        connected(weightless_arm()).reset(position=position)


# Torques from outside -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "mode"), [("rigid", 0), ("rigid", 1), *(("qbmove", m) for m in (2, 3, 4, 5, 6))])
def test_an_external_torque_accelerates_the_link_in_every_mode(law, mode):
    torque, damping, inertia, step = 0.01, 0.02, 0.2 * 0.04**2, 1e-3
    robot = connected(rig1(CompliantJoint(law, mode), gravity=False), step)
    robot.apply_torque("joint", torque)
    robot.send(robot.info.rest)
    speed = torque * step / (inertia + damping * step)  # one implicit step
    assert robot.read().velocity[0] == pytest.approx(speed, rel=1e-6)


def test_an_external_torque_is_checked(rig):
    robot = rig()
    with pytest.raises(UnknownNameError, match=r"'elbow'.*Valid: joint"):
        robot.apply_torque("elbow", 1.0)
    with pytest.raises(OutOfBoundsError, match="external torque on joint 'joint' is nan"):
        robot.apply_torque("joint", float("nan"))


# Delays -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("excited", [[0], [1], [2], [3], [0, 1, 2, 3]])
@pytest.mark.parametrize("mode", [2, 4, 6])
def test_a_command_delay_shifts_every_column_alike(weightless_arm, mode, excited):
    direct, late = connected(weightless_arm(mode)), connected(weightless_arm(mode), command_delay=0.03)
    commands = np.tile(direct.info.rest, (40, 1))
    commands[:, excited] = wave(direct, 40)[:, excited]
    for robot in (direct, late):
        robot.reset(position=[0.3, -0.2])
    late_sent = np.vstack([np.tile(direct.info.rest, (3, 1)), commands[:-3]])
    expected, found = direct.rollout(late_sent), late.rollout(commands)
    assert np.ptp(expected.position) > 1e-3
    np.testing.assert_array_equal(found.position, expected.position)
    np.testing.assert_array_equal(found.velocity, expected.velocity)


@pytest.mark.parametrize(("step", "steps"), [(1e-3, 1), (1e-3, 33), (5e-4, 7), (2e-3, 5)])
def test_a_delay_of_whole_time_steps_is_exact_for_a_minute(step, steps):
    model = rig1(CompliantJoint("sea", 2), timestep=step)
    direct, late = connected(model, step), connected(model, step, command_delay=steps * step)
    commands = np.random.default_rng(steps).uniform(-0.3, 0.3, (round(60.0 / step), 1))
    late_sent = np.vstack([np.zeros((steps, 1)), commands[:-steps]])
    np.testing.assert_array_equal(late.rollout(commands).position, direct.rollout(late_sent).position)


def test_a_command_delay_delays_no_torque(weightless_arm):
    model = weightless_arm(3)
    robot = connected(model, command_delay=0.02)
    motion = robot.rollout(wave(robot, 50))
    law = CompliantJoint("qbmove").law.law(k1=0.02, k2=0.02, a1=6.0, a2=6.0)
    for q, torque, motors in zip(motion.position, motion.torque, motion.motor_position, strict=True):
        for j in range(2):
            assert torque[j] == pytest.approx(law.torque(q[j], *motors[2 * j : 2 * j + 2]), rel=1e-12, abs=1e-12)


def test_a_robots_delay_comes_on_top_of_its_joints():
    joint = CompliantJoint("sea", 2, delay=0.01)
    seen = {}
    for delay in (0.0, 0.02):
        robot = connected(rig1(joint), command_delay=delay)
        seen[delay] = robot.rollout(wave(robot, 20)).motor_position
    np.testing.assert_array_equal(seen[0.02][2:], seen[0.0][:-2])
    assert np.ptp(seen[0.0]) > 0.1


def test_a_sensor_delay_shifts_the_whole_state(rig):
    direct, late = rig(mode=6), rig(mode=6, sensor_delay=0.03)
    commands = wave(direct, 20)
    now, then = step_through(direct, commands), step_through(late, commands)
    for name, a, b in zip(State._fields, now, then, strict=True):
        np.testing.assert_array_equal(b[3:], a[:-3], err_msg=name)
        np.testing.assert_array_equal(b[:3], np.repeat(a[:1], 3, axis=0), err_msg=name)


# Noise --------------------------------------------------------------------------------------------------------


def test_noise_has_the_deviation_asked_for_and_no_mean():
    options = {"position_noise": 0.01, "velocity_noise": 0.1, "torque_noise": 0.02}
    model = rig1(CompliantJoint("qbmove", 3), gravity=False)
    noisy = connected(model, seed=5, **options).rollout(np.zeros((4000, 2)))
    clean = connected(model).rollout(np.zeros((4000, 2)))
    expected = dict.fromkeys(("position", "motor_position"), 0.01)
    expected |= dict.fromkeys(("velocity", "motor_velocity"), 0.1)
    expected |= dict.fromkeys(("torque", "motor_torque", "spring_torque"), 0.02)
    for name, deviation in expected.items():
        noise = getattr(noisy, name) - getattr(clean, name)
        np.testing.assert_allclose(noise.std(axis=0), deviation, rtol=0.05)
        np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=4 * deviation / np.sqrt(4000))
    np.testing.assert_array_equal(noisy.stiffness, clean.stiffness)
    np.testing.assert_array_equal(noisy.time, clean.time)


def test_a_pivot_in_metres_gets_no_noise_in_radians():
    joint = CompliantJoint("awas2", 3, preset_range=(0.005, 0.01))
    robot = connected(rig1(joint), seed=1, position_noise=0.1)
    motion = robot.rollout(np.tile(robot.info.rest, (10, 1)))
    assert np.ptp(motion.motor_position[:, 0]) > 0.1
    assert np.ptp(motion.motor_position[:, 1]) == 0.0


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    commands = np.zeros((5, 2))
    runs = {}
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        robot = connected(rig1(), position_noise=0.01, seed=seed)
        runs[name] = step_through(robot, commands)
        robot.reset(seed=7)
        assert_equal(step_through(robot, commands), runs.setdefault("reseeded", robot.rollout(commands)))
    assert_equal(runs["one"], runs["again"])
    assert (runs["one"].position != runs["other"].position).all()
    robot.reset()
    assert (robot.rollout(commands).position != runs["reseeded"].position).all()


# Open-loop runs in C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", range(7))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"command_delay": 0.03},
        {"command_delay": 0.007, "sensor_delay": 0.02, "position_noise": 1e-3, "torque_noise": 0.01, "seed": 3},
    ],
    ids=["plain", "delay", "delays and noise"],
)
def test_a_rollout_is_stepping_to_the_last_bit(weightless_arm, mode, options):
    robot = connected(weightless_arm(mode), **options)
    robot.reset(position=[0.3, -0.2])
    commands = wave(robot, 60)
    rolled = robot.rollout(commands)
    assert_equal(rolled, step_through(robot, commands))
    assert_equal(rolled, robot.rollout(commands))  # the robot, moved meanwhile, has no say


def test_a_rollout_of_the_whole_arm_is_stepping_to_the_last_bit():
    robot = connected(arm2())  # gravity, dry friction and joint limits: the constraint solver's warm start counts
    commands = wave(robot, 100, seed=1) * 2.0
    rolled = robot.rollout(commands)
    assert np.abs(rolled.position).max() > 1.5
    assert_equal(rolled, step_through(robot, commands))


def test_a_rollout_starts_from_the_last_reset_and_leaves_the_robot_alone(weightless_arm):
    robot = connected(weightless_arm(6), position_noise=1e-3, seed=1)
    robot.reset(position=[0.2, 0.1])
    robot.send(robot.info.rest)
    before = robot.get_state()
    motion = robot.rollout(wave(robot, 10))
    np.testing.assert_allclose(motion.position[0], [0.2, 0.1], atol=5e-3)
    after = robot.get_state()
    np.testing.assert_array_equal(before.integration, after.integration)
    assert before.noise == after.noise


def test_every_trial_has_its_own_noise_and_the_same_motion():
    robot = connected(rig1(), position_noise=1e-3, seed=1)
    commands = wave(robot, 30)
    rolled = robot.rollout(commands)
    first, second = robot.run(commands), robot.run(commands)
    assert_equal(first, rolled)
    assert (first.position != second.position).all()
    np.testing.assert_array_equal(first.stiffness, second.stiffness)


def test_models_run_side_by_side_as_each_would_alone():
    robot = connected(arm2())
    models = [copy.copy(robot.model) for _ in range(5)]
    for factor, model in zip((1.0, 0.8, 1.2, 1.5, 2.0), models, strict=True):
        model.body_mass *= factor
        model.body_inertia *= factor
        mujoco.mj_setConst(model, mujoco.MjData(model))
    commands = wave(robot, 40)
    together = robot.rollout(commands, models)
    assert together.position.shape == (5, 41, 2)
    assert together.time.shape == (5, 41)
    for i, model in enumerate(models):
        alone = robot.rollout(commands, [model])
        assert_equal(State(*(x[0] for x in alone)), State(*(x[i] for x in together)))
    assert_equal(State(*(x[0] for x in together)), robot.rollout(commands))
    assert len({p.tobytes() for p in together.position}) == 5


def test_a_model_is_read_with_its_own_delay():
    robots = [connected(rig1(CompliantJoint("sea", 2)), command_delay=delay) for delay in (0.02, 0.01)]
    robots[0].model.actuator_delay[:] = 0.01
    commands = wave(robots[0], 20)
    seen = robots[0].rollout(commands, [robots[0].model]).motor_position[0]
    np.testing.assert_array_equal(seen, robots[1].rollout(commands).motor_position)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (np.zeros((3, 3)), ShapeError),
        (np.zeros(2), ShapeError),
        (np.zeros((0, 2)), ShapeError),
        ([[0.0, 0.0], [0.0, np.nan]], OutOfBoundsError),
    ],
)
def test_bad_commands_of_a_rollout_are_refused(rig, command, error):
    with pytest.raises(error, match="commands of a rollout"):
        rig().rollout(command)


def test_models_of_another_size_are_refused(rig):
    robot = rig()
    with pytest.raises(ConfigurationError, match="variants of the robot's own"):
        robot.rollout(np.zeros((2, 2)), [robot.model, SimulatedRobot(arm2()).model])
    with pytest.raises(ConfigurationError, match="got 0 models"):
        robot.rollout(np.zeros((2, 2)), [])


# Divergence ---------------------------------------------------------------------------------------------------


def test_a_diverged_simulation_is_an_error_that_lasts_until_reset(rig):
    robot = rig()
    robot.send([0.1, 0.1])
    robot.apply_torque("joint", 1e9)
    with pytest.raises(RobotError, match=r"'rig1' diverged at 0.02 s: the acceleration of a joint.*reset"):
        robot.send([0.1, 0.1])
    assert robot.data.time == pytest.approx(0.02)  # MuJoCo did not set it back
    for use in (robot.read, robot.get_state, lambda: robot.send([0.1, 0.1])):
        with pytest.raises(RobotError, match="diverged"):
            use()
    robot.reset()
    robot.send([0.1, 0.1])
    assert abs(robot.read().position[0]) < 0.1


def test_a_motor_that_is_not_finite_is_divergence_too(rig):
    robot = rig(mode=6)
    robot.data.act[0] = np.nan
    with pytest.raises(RobotError, match="diverged"):
        robot.send([0.1, 0.1])


@pytest.mark.parametrize("autoreset", [False, True])
@pytest.mark.parametrize("substeps", [1, 10])
def test_a_run_that_diverges_is_nan_from_there_on(autoreset, substeps):
    # a spring far too stiff for the step, in one model of two: it explodes once it is excited
    robot = connected(rig1(CompliantJoint("sea", 3), gravity=False), substeps * 1e-3)
    stiff = copy.copy(robot.model)
    stiff.actuator_user[0][LAW_AT] = 4e8
    if autoreset:
        stiff.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    commands = np.full((400 // substeps, 1), 0.3)
    commands[: 40 // substeps] = 0.0
    motion = robot.rollout(commands, [robot.model, stiff])
    assert np.isfinite(motion.position[0]).all()
    finite = np.isfinite(motion.position[1, :, 0])
    first = int(np.argmin(finite))
    assert 40 // substeps < first < len(commands)
    assert finite[:first].all()
    assert not finite[first:].any()
    for values in (motion.time, motion.signals):
        assert np.isnan(values[1, first:]).all()


def test_a_divergence_in_the_very_last_step_is_seen(rig):
    robot = rig(law="rigid", mode=0, period=1e-3)
    robot.model.actuator_user[0][DRIVE_AT] = 1e12  # its largest torque
    robot.model.actuator_ctrlrange[0] = -1e12, 1e12
    robot._low[:], robot._high[:] = -1e12, 1e12
    assert np.isnan(robot.rollout([[1e12]]).position[1]).all()
    motion = robot.rollout([[0.0], [1e12]])
    assert np.isfinite(motion.position[:2]).all()
    assert np.isnan(motion.position[2]).all()


# Exact copies -------------------------------------------------------------------------------------------------


def test_a_saved_state_goes_on_to_the_last_bit_here_and_elsewhere():
    options = {"command_delay": 0.02, "sensor_delay": 0.03, "position_noise": 1e-3}
    robot, twin = (connected(arm2(), seed=seed, **options) for seed in (1, 2))
    commands = wave(robot, 60)
    step_through(robot, commands[:30])
    robot.apply_torque("elbow", 0.1)
    saved = robot.get_state()
    expected = step_through(robot, commands[30:])
    robot.set_state(saved)
    assert_equal(step_through(robot, commands[30:]), expected)
    twin.set_state(saved)
    assert_equal(step_through(twin, commands[30:]), expected)


def test_a_state_of_another_kind_of_robot_is_refused(rig):
    with pytest.raises(ShapeError, match="another kind of robot"):
        rig().set_state(connected(arm2()).get_state())


def test_a_saved_state_ends_a_divergence(rig):
    robot = rig()
    saved = robot.get_state()
    robot.apply_torque("joint", 1e9)
    with pytest.raises(RobotError):
        robot.send([0.0, 0.0])
    robot.set_state(saved)
    assert robot.read().time == 0.0
    robot.send([0.0, 0.0])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))])
def test_a_copy_goes_on_alike_and_on_its_own(duplicate):
    robot = connected(arm2(), seed=1, command_delay=0.02, sensor_delay=0.01, position_noise=1e-3)
    commands = wave(robot, 40)
    step_through(robot, commands[:20])
    before = robot.get_state()
    twin = duplicate(robot)
    expected = step_through(twin, commands[20:])
    np.testing.assert_array_equal(robot.get_state().integration, before.integration)
    assert_equal(step_through(robot, commands[20:]), expected)
    assert_equal(twin.rollout(commands), robot.rollout(commands))


def test_a_robot_runs_in_another_process(tmp_path):
    robot = connected(arm2())
    commands = wave(robot, 20)
    file = tmp_path / "robot.pickle"
    file.write_bytes(pickle.dumps((robot, commands)))
    code = (
        "import pickle, sys; from pathlib import Path\n"
        "robot, commands = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "sys.stdout.buffer.write(robot.rollout(commands).position.tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, check=True)
    assert done.stdout == robot.rollout(commands).position.tobytes()


# Back ends ----------------------------------------------------------------------------------------------------


def test_the_python_back_end_reads_and_runs_alike():
    first, second = arm2_joints(6)
    runs = []
    for backend in ("native", "python"):
        robot = connected(arm2((first, second)), backend=backend, command_delay=0.01)
        commands = wave(robot, 20)
        runs.append(step_through(robot, commands))
        assert_equal(robot.rollout(commands), runs[-1])
    for name, a, b in zip(State._fields, *runs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=name)
