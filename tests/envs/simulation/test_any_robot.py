"""Robots of every build through the same stairs: single, open loop, many together, saved, copied."""

import copy
import pickle
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.envs.simulation.robots import ROBOTS, TOOL_MASS, six_axis

from pliant.actuators import load_model, save_model
from pliant.actuators.layout import LARGEST_STEP
from pliant.envs import Sensing, SimulatedRobot
from pliant.envs.models.arm2 import arm2
from pliant.envs.randomisation import Randomisation, Uniform
from pliant.envs.simulation.batch import SimulatedRobots
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.recording import Recorder, read_recording

G = 9.81
PERIOD = 0.02

every = pytest.mark.parametrize("name", ROBOTS)


def commands(robot: SimulatedRobot, rows: int, reach: float = 0.2) -> np.ndarray:
    """A walk about the resting command, within a part of the bounds."""
    low, high, rest = robot.info.low, robot.info.high, robot.info.rest
    steps = np.random.default_rng(3).uniform(-reach, reach, (rows, len(rest)))
    return np.clip(rest + steps * (high - low) / 2, low, high)


def wrench(robot: SimulatedRobot) -> np.ndarray:
    """What the wrist reads: force (N) and torque (N·m) in its own frame, (6,)."""
    values = dict(zip(robot.info.signal_names, robot.read().signals, strict=True))
    return np.array([values[f"wrist/{quantity}_{axis}"] for quantity in ("force", "torque") for axis in "xyz"])


def played(robot: SimulatedRobot, rows: np.ndarray) -> np.ndarray:
    """What is read at every instant, (instants, signals)."""
    seen = [robot.read().signals]
    for row in rows:
        robot.send(row)
        seen.append(robot.read().signals)
    return np.array(seen)


@every
def test_an_open_loop_run_reads_what_sending_one_by_one_reads(name):
    with SimulatedRobot(ROBOTS[name](), PERIOD, position_noise=1e-4, seed=1) as robot:
        rows = commands(robot, 25)
        motion = robot.rollout(rows)
        one_by_one = played(robot, rows)
    assert np.isfinite(one_by_one).all()
    assert motion.signals.tobytes() == one_by_one.tobytes()


VARIED = {
    "mass": Uniform(0.9, 1.1),
    "damping": Uniform(0.8, 1.3),
    "friction": Uniform(0.8, 1.3),
    "velocity_noise": Uniform(1e-4, 1e-3),
    "sensor_delay": Uniform(0.0, 0.004),
}


@every
@pytest.mark.parametrize("options", [{"velocity_noise": 1e-3}, {"randomisation": Randomisation(**VARIED)}])
def test_many_together_read_what_each_alone_reads(name, options):
    robot = SimulatedRobot(ROBOTS[name](), PERIOD, **options)
    many = SimulatedRobots(SimulatedRobot(ROBOTS[name](), PERIOD, **options), 3)
    rows = commands(robot, 12)
    joints, everyone = len(robot.info.joints), np.arange(3)
    start = (
        np.random.default_rng(5).uniform(-0.01, 0.01, (3, joints)) + robot.compiled.qpos[robot.compiled.positions]
    )
    signals, command = np.zeros((3, len(robot.info.signals))), np.zeros((3, rows.shape[1]))
    many.reset(everyone, [4, 5, 6], start, signals, command)
    together = [signals.copy()]
    for row in rows:
        command[:] = row
        assert many.send(everyone, command, signals) == {}
        together.append(signals.copy())
    robot.connect()
    for i in range(3):
        robot.reset(seed=4 + i, position=start[i])
        assert played(robot, rows).tobytes() == np.array(together)[:, i].tobytes()


@every
def test_many_rollouts_at_once_read_what_each_reads_by_itself(name):
    options = {"randomisation": Randomisation(**VARIED), "command_delay": 0.006, "torque_noise": 1e-3}
    with SimulatedRobot(ROBOTS[name](), PERIOD, **options) as robot:
        robot.reset(seed=9)
        rows = np.stack([commands(robot, 8, reach) for reach in (0.0, 0.1, 0.2)])
        before = robot.get_state()
        alone = [robot.rollout(row).signals for row in rows]
        np.testing.assert_array_equal(robot.rollout(rows).signals, alone)
        others = [copy.copy(robot.model) for _ in rows]
        for k, model in enumerate(others):
            model.dof_damping *= 1.0 + k
        alone = [robot.rollout(row, models=[model]).signals[0] for row, model in zip(rows, others, strict=True)]
        np.testing.assert_array_equal(robot.rollout(rows, models=others).signals, alone)
        np.testing.assert_array_equal(robot.rollout(rows[1], models=others).signals[1], alone[1])
        drawn = robot.rollout(rows, seeds=[4, 5, 6])
        assert robot.get_state().integration.tobytes() == before.integration.tobytes()
        for k, row in enumerate(rows):
            robot.reset(seed=4 + k)
            assert robot.rollout(row).signals.tobytes() == drawn.signals[k].tobytes()
            assert played(robot, row).tobytes() == drawn.signals[k].tobytes()


def test_drawn_robots_of_a_rollout_begin_where_the_last_reset_was_told_to():
    varied = Randomisation(mass=Uniform(0.5, 1.5))
    with SimulatedRobot(arm2(), PERIOD, randomisation=varied) as robot:
        told = {"position": [0.3, -0.2], "command": [0.3, 0.4, -0.2, 0.4], "settled": True}
        robot.reset(seed=1, **told)
        motion = robot.rollout(np.tile(told["command"], (10, 1)), seeds=[2, 3])
        assert motion.position.shape == (2, 11, 2)
        np.testing.assert_array_equal(motion.position[:, 0], [[0.3, -0.2]] * 2)
        for k, seed in enumerate((2, 3)):
            robot.reset(seed=seed, **told)
            assert motion.motor_position[k, 0].tobytes() == robot.read().motor_position.tobytes()
        assert not np.array_equal(motion.position[0, -1], motion.position[1, -1])


def test_long_batches_are_run_in_parts_that_give_the_same(monkeypatch):
    with SimulatedRobot(arm2(), PERIOD) as robot:
        rows = np.stack([commands(robot, 10, reach) for reach in np.linspace(0.0, 0.3, 5)])
        whole = robot.rollout(rows).signals
        monkeypatch.setattr("pliant.envs.simulation.rollout._AT_ONCE", 20_000)
        np.testing.assert_array_equal(robot.rollout(rows).signals, whole)


@pytest.mark.parametrize(
    ("runs", "given", "says"),
    [
        (3, {"seeds": [1, 2]}, "got 3 commands, 2 seeds"),
        (3, {"models": 2}, "got 3 commands, 2 models"),
        (0, {"seeds": []}, "got 0 seeds"),
        (0, {"models": 2, "seeds": [1, 2]}, "got 2 models, 2 seeds"),
    ],
)
def test_a_rollout_of_what_does_not_go_together_is_refused(runs, given, says):
    with SimulatedRobot(arm2(), PERIOD) as robot:
        if "models" in given:
            given = {**given, "models": [robot.model] * given["models"]}
        command = np.zeros((runs, 4, 4)) if runs else np.zeros((4, 4))
        with pytest.raises(ConfigurationError, match=says):
            robot.rollout(command, **given)
        with pytest.raises(ShapeError, match="commands of a rollout"):
            robot.rollout(np.zeros((2, 3, 4, 4)))


@every
def test_a_recording_holds_every_signal_by_its_name(name, tmp_path):
    pytest.importorskip("mcap")
    with SimulatedRobot(ROBOTS[name](), PERIOD) as robot:
        rows = commands(robot, 5)
        read = []
        with Recorder(tmp_path / "run.mcap", robot.info) as recorder:
            for row in rows:
                robot.send(row)
                read.append(robot.read())
                recorder.record(read[-1], row, row)
        info = robot.info
    series = read_recording(tmp_path / "run.mcap").series
    assert series["/command"]["name"] == list(info.command_names)
    assert np.array_equal(series["/command"]["sent"], rows)
    assert np.array_equal(series["/joint_states"]["position"], [state.position for state in read])
    assert np.array_equal(series["/joint_states"]["torque"], [state.torque for state in read], equal_nan=True)
    if info.sensors:
        assert series["/sensors"]["name"] == [channel.name for channel in info.sensors]
        assert np.array_equal(series["/sensors"]["value"], [state.sensors for state in read])


@every
def test_a_snapshot_a_copy_and_a_pickle_go_on_exactly(name):
    with SimulatedRobot(ROBOTS[name](), PERIOD, torque_noise=0.01, seed=2) as robot:
        rows = commands(robot, 16)
        played(robot, rows[:8])
        snapshot = robot.get_state()
        twins = [copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))]
        ahead = played(robot, rows[8:])
        robot.set_state(snapshot)
        assert played(robot, rows[8:]).tobytes() == ahead.tobytes()
        for twin in twins:
            assert played(twin, rows[8:]).tobytes() == ahead.tobytes()


@every
def test_a_saved_model_moves_alike(name, tmp_path):
    model = ROBOTS[name]()
    save_model(model.spec, tmp_path / "robot.xml")
    loaded = load_model(tmp_path / "robot.xml")
    ours = SimulatedRobot(model, PERIOD).model
    assert (loaded.nu, loaded.na, loaded.nq) == (ours.nu, ours.na, ours.nq)
    found = np.arange(ours.nuser_actuator) == LARGEST_STEP  # by a search, which other digits of the masses lead on
    rows, expected = loaded.actuator_user, ours.actuator_user
    assert np.allclose(rows[:, ~found], expected[:, ~found], rtol=1e-5)
    assert np.allclose(rows[:, found], expected[:, found], rtol=1e-3)


@every
def test_the_signals_are_named_once_and_all_measured(name):
    with SimulatedRobot(ROBOTS[name](), PERIOD) as robot:
        assert len(robot.read().signals) == len(robot.info.signals) == len(set(robot.info.signal_names))
        assert np.isfinite(robot.read().signals).all()


@pytest.mark.parametrize("pose", [[0.0] * 6, [0.3, -0.5, 1.1, 0.7, -1.2, 2.0], [0, 1.5, 0, 0, 0, 0]])
def test_at_rest_the_wrist_reads_the_tools_weight_in_any_pose(pose):
    """Torques compensate gravity exactly, so that nothing moves and only the weight is left."""
    model = six_axis("torque")
    with SimulatedRobot(model, 0.002) as robot:
        robot.reset(position=pose)
        data, info = robot.data, robot.info
        for _ in range(3):
            mujoco.mj_forward(robot.model, data)
            robot.send(data.qfrc_bias[: len(info.joints)])
        assert np.abs(robot.read().velocity).max() < 1e-12
        wrist = wrench(robot)
        turn = data.site("flange").xmat.reshape(3, 3)
        arm = data.body("tool").xipos - data.site("flange").xpos
        up = np.array([0.0, 0.0, TOOL_MASS * G])
        np.testing.assert_allclose(wrist[:3], turn.T @ up, atol=1e-9)
        np.testing.assert_allclose(wrist[3:], turn.T @ np.cross(arm, up), atol=1e-9)


def test_pressed_the_wrist_reads_weight_and_contact_force():
    with SimulatedRobot(six_axis("position", wall=0.5), PERIOD) as robot:
        rest = robot.info.rest.copy()
        rest[1] += 0.02  # down onto the wall
        for _ in range(200):
            robot.send(rest)
        assert np.abs(robot.read().velocity).max() < 1e-6
        data = robot.data
        mujoco.mj_forward(robot.model, data)
        contact = np.zeros(6)
        mujoco.mj_contactForce(robot.model, data, 0, contact)
        frame = data.contact.frame[0].reshape(3, 3)
        on_tool = frame.T @ contact[:3] * (1.0 if data.contact.geom[0, 1] == robot.model.geom("tool").id else -1.0)
        assert on_tool[2] > 20.0
        turn = data.site("flange").xmat.reshape(3, 3)
        felt = turn @ wrench(robot)[:3]
        np.testing.assert_allclose(felt, [0.0, 0.0, TOOL_MASS * G] - on_tool, atol=1e-4)


def test_the_tip_is_read_where_it_is_now_not_a_step_ago():
    with SimulatedRobot(six_axis("position"), PERIOD) as robot:
        for row in commands(robot, 5, 0.1):
            robot.send(row)
        state, data = robot.read(), mujoco.MjData(robot.model)
        data.qpos[:], data.qvel[:] = state.position, state.velocity
        mujoco.mj_forward(robot.model, data)
        tip = dict(zip(robot.info.signal_names, state.signals, strict=True))
        for k, axis in enumerate("xyz"):
            assert tip[f"tip/position_{axis}"] == data.site("tip").xpos[k]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, data.site("tip").xmat)
        read = [tip[f"tip/orientation_{axis}"] for axis in "wxyz"]
        assert abs(abs(np.dot(read, quaternion)) - 1.0) < 1e-12


def test_torques_behind_a_gear_are_commanded_and_read_at_the_joint():
    with SimulatedRobot(ROBOTS["mixed"](), PERIOD) as robot:
        column = next(c for c in robot.info.command if c.name == "j5/torque")
        assert (column.low, column.high, column.unit) == (-2.0, 2.0, "N·m")
        command = robot.info.rest.copy()
        command[robot.info.command_names.index("j5/torque")] = 1.5
        robot.send(command)
        state = robot.read()
        assert state.torque[4] == pytest.approx(1.5, rel=1e-12)
        assert state.torque[5] == 0.0  # passive
        assert robot.info.motors == ("j1/1", "j2/1")
        assert state.sensors[0] == pytest.approx(state.position[5], abs=0.05)


def test_arms_attached_by_prefix_are_each_named_and_read_by_themselves():
    with SimulatedRobot(ROBOTS["two_arms"](), PERIOD) as robot, SimulatedRobot(arm2(), PERIOD) as alone:
        info = robot.info
        assert info.joints == ("left/shoulder", "left/elbow", "right/shoulder", "right/elbow")
        assert info.motors[:2] == ("left/shoulder/1", "left/shoulder/2")
        left, right = np.array([0.4, 0.2, -0.3, 0.2]), np.array([-0.2, 0.5, 0.1, 0.0])
        seen = played(robot, np.tile([*left, *right], (20, 1)))
        names = list(info.signal_names)
        for side, command in (("left", left), ("right", right)):
            alone.reset()
            read = played(alone, np.tile(command, (20, 1)))
            columns = [names.index(f"{side}/{name}") for name in alone.info.signal_names]
            np.testing.assert_allclose(seen[:, columns], read, atol=1e-9)


def test_slides_are_in_metres_and_newtons_and_a_tendon_has_a_column_of_its_own():
    info = SimulatedRobot(ROBOTS["gripper"](), PERIOD).info
    assert [(c.name, c.unit, c.low, c.high) for c in info.command] == [
        ("lift/position", "m", -0.5, 0.5),
        ("grip/position", "1", 0.0, 0.035),
    ]
    units = {c.name: c.unit for c in info.signals}
    assert (units["lift/position"], units["left/velocity"], units["lift/torque"]) == ("m", "m/s", "N")


def test_a_floating_base_starts_on_its_feet_and_stays_there():
    with SimulatedRobot(ROBOTS["quadruped"](), PERIOD) as robot:
        start = robot.read()
        names = robot.info.signal_names
        height = names.index("base/position_z")
        assert robot.info.rest == pytest.approx([0.6, -1.2] * 4)
        for _ in range(25):
            robot.send(robot.info.rest)
        end = robot.read()
        assert abs(end.signals[height] - start.signals[height]) < 2e-3
        touches = [end.signals[k] for k, name in enumerate(names) if name.endswith("touch/touch")]
        weight = robot.model.body_subtreemass[0] * G
        assert sum(touches) == pytest.approx(weight, rel=0.02)
        assert end.signals[names.index("base/orientation_w")] == pytest.approx(1.0, abs=1e-3)
        assert end.signals[names.index("accelerometer/acceleration_z")] == pytest.approx(G, rel=0.02)


def test_sensors_sample_one_after_another_and_late_as_told():
    """Encoders on one bus: each read every 20 ms, 4 ms after the one before it; the force 10 ms late."""
    turns = {f"axis{k}/position": Sensing(period=0.02, phase=0.004 * (k - 1) or 0.0) for k in range(1, 4)}
    late = {"wrist/force_*": Sensing(delay=0.01)}
    options = {"signals": (), "sensing": {**turns, **late}}
    sampled = SimulatedRobot(six_axis("position"), 0.002, **options)
    exact = SimulatedRobot(six_axis("position"), 0.002)
    with sampled, exact:
        rows = commands(exact, 40, 0.05)
        seen, true = played(sampled, rows), played(exact, rows)
        names = list(exact.info.signal_names)
        for k in range(1, 4):
            column = names.index(f"axis{k}/position")
            changes = np.flatnonzero(np.diff(seen[:, column])) + 1
            assert set((changes - 2 * (k - 1)) % 10) == {0}, "a new value every 20 ms, in its turn"
            np.testing.assert_array_equal(seen[changes, column], true[changes, column])
        force = names.index("wrist/force_x")
        np.testing.assert_array_equal(seen[6:, force], true[1:-5, force])


def test_joints_are_read_one_after_another_over_their_bus():
    """Joint k of six, 18 numbers, is as it was (k + 1)·2 ms after the period began; noise and bias stay theirs."""
    model, step = six_axis("position"), 0.002
    slow = SimulatedRobot(model, 0.02, transaction=step)
    quick = SimulatedRobot(model, step)
    rows = commands(slow, 6, 0.05)
    with slow, quick:
        seen = slow.rollout(rows)
        true = quick.rollout(np.repeat(rows, 10, axis=0))
        for k in range(6):
            for one, other in ((seen.position, true.position), (seen.velocity, true.velocity)):
                np.testing.assert_array_equal(one[1:, k], other[k + 1 :: 10, k][:6])
        np.testing.assert_array_equal(seen.position[0], true.position[0])
        assert np.abs(seen.position[1:, 0] - true.position[10::10, 0]).max() > 1e-3
    noisy = {
        "position_noise": 0.1,
        "sensing": {"axis2/position": Sensing(bias=3.0)},
        "transaction": step,
        "seed": 1,
    }
    with SimulatedRobot(model, 0.02, **noisy) as robot:
        read = robot.rollout(np.tile(robot.info.rest, (200, 1))).position
    assert read.std(axis=0)[[0, 2]] == pytest.approx([0.1, 0.1], rel=0.2)
    assert read.std(axis=0)[1] < 0.01
    assert read[:, 1].mean() > 2.5


def test_a_bus_that_is_too_slow_for_the_period_is_refused():
    with pytest.raises(OutOfBoundsError, match="transaction"):
        SimulatedRobot(six_axis("position"), 0.02, transaction=0.003)
    with pytest.raises(OutOfBoundsError, match="transaction"):
        SimulatedRobot(six_axis("position"), 0.02, transaction=float("nan"))


@every
def test_sampled_sensors_are_the_same_alone_and_together(name):
    model = ROBOTS[name]
    sensing = {
        "*/position": Sensing(period=0.012, noise=1e-3),
        "*/velocity": Sensing(delay=0.006, bias=0.1, drift=0.2),
    }
    joints = [f"{joint}/{q}" for joint in model().joints for q in ("position", "velocity")]
    sensing = {name: sensing[f"*/{name.rpartition('/')[2]}"] for name in joints}
    options = {"sensing": sensing, "transaction": 0.0004}
    robot = SimulatedRobot(model(), 0.006, **options)
    many = SimulatedRobots(SimulatedRobot(model(), 0.006, **options), 2)
    rows = commands(robot, 8)
    signals, command = np.zeros((2, len(robot.info.signals))), np.zeros((2, rows.shape[1]))
    start = robot.compiled.qpos[robot.compiled.positions]
    many.reset(np.arange(2), [7, 8], np.tile(start, (2, 1)), signals, command)
    together = [signals.copy()]
    for row in rows:
        command[:] = row
        many.send(np.arange(2), command, signals)
        together.append(signals.copy())
    robot.connect()
    for i in range(2):
        robot.reset(seed=7 + i, position=start)
        assert played(robot, rows).tobytes() == np.array(together)[:, i].tobytes()
        robot.reset(seed=7 + i, position=start)
        assert robot.rollout(rows).signals.tobytes() == np.array(together)[:, i].tobytes()


FORCE, TORQUE = ({f"wrist/{quantity}_{axis}" for axis in "xyz"} for quantity in ("force", "torque"))


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        ("wrist", FORCE | TORQUE),
        ("wr*", FORCE | TORQUE),
        ("*/force_*", FORCE),
        ("wrist/torque_[xyz]", TORQUE),
        ("wrist/force_z", {"wrist/force_z"}),
    ],
)
def test_signals_are_chosen_by_name_or_glob_part_by_part(wanted, read):
    model = replace(six_axis("torque"), signals=())
    assert {channel.name for channel in SimulatedRobot(model, signals=[wanted]).info.sensors} == read


def test_a_glob_that_reaches_beyond_a_part_fits_nothing():
    for options in ({"signals": ["*force_x"]}, {"sensing": {"axis1*": Sensing(noise=0.1)}}):
        with pytest.raises(UnknownNameError, match=r"unknown signal '(\*force_x|axis1\*)'"):
            SimulatedRobot(six_axis("torque"), **options)
