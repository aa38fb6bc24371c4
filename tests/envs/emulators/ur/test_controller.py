"""The controller without sockets, cycle by cycle: motions of the target, the arm behind it, stops, sensors."""

import mmap
import os
import struct

import numpy as np
import pytest

from pliant.actuators.laws.sea import sea
from pliant.controllers.ur_kinematics import UrKinematics, pose_of
from pliant.envs.emulators.ur.controller import Controller
from pliant.envs.emulators.ur.log import COMMANDS, CYCLES, Ring, read_ring
from pliant.envs.emulators.ur.safety import RobotMode, SafetyMode
from pliant.envs.emulators.ur.script import Script
from pliant.envs.emulators.ur.settings import START, ControllerSettings, Gap
from pliant.envs.emulators.ur.variables import Recipe
from pliant.errors import PliantError

Q = np.array(START)
SERVO, SPEED_J, SPEED_L, TORQUE, FORCE = 11, 9, 10, 66, 6
ARM = UrKinematics("ur10e")


def turned(joint, angle):
    """The start with one joint turned further."""
    q = Q.copy()
    q[joint] += angle
    return q


class Bench:
    """A controller whose program is commanded through its registers."""

    def __init__(self, folder, **settings):
        settings.setdefault("gap", Gap.none())
        self.folder = folder
        self.controller = Controller(ControllerSettings(**settings), folder)
        self.controller.load(Script("rtde_control"))
        self.controller.start_now()
        self.advance(1)
        assert self.controller.program is not None

    def write(self, command, doubles=(), integers=()):
        names = [f"input_double_register_{n}" for n in range(len(doubles))]
        names = ["input_int_register_0", *names, *(f"input_int_register_{n + 1}" for n in range(len(integers)))]
        values = (command, *(float(value) for value in doubles), *integers)
        recipe = Recipe(self.controller.inputs, names)
        for place, value in zip(recipe.places, values, strict=True):
            self.controller.inputs.values[place] = value
        self.controller.take_input(recipe, values)

    def advance(self, cycles=1):
        for _ in range(cycles):
            self.controller.advance()

    def call(self, command, doubles=(), integers=(), cycles=5000):
        """What the client does for a command that is no real-time one; returns the cycles that it took."""
        self.write(command, doubles, integers)
        begin = self.controller.cycles
        while self.answer != 2:
            self.advance()
            assert self.controller.cycles < begin + cycles, self.controller.reason
            if self.controller.program is None:
                break
        took = self.controller.cycles - begin
        self.write(0)
        self.advance()
        return took

    @property
    def answer(self):
        return self.controller.outputs.get("output_int_register_0")

    def vector(self, name):
        place = self.controller.outputs.places[name]
        return np.array(self.controller.outputs.values[place.start : place.stop])

    def result(self, count=6):
        return np.array([self.controller.outputs.get(f"output_double_register_{n}") for n in range(count)])


@pytest.fixture
def bench(tmp_path):
    return lambda **settings: Bench(tmp_path, **settings)


def servo(q, time=0.002, lookahead=0.03, gain=300.0):
    return [*q, 0.0, 0.0, time, lookahead, gain]


def ramp_lag(rig, **settings):
    """How much the arm lags behind servoJ on a ramp of 0.2 rad/s, s."""
    cycle = rig.controller.cycle
    for n in range(int(1.5 / cycle)):
        sent = turned(0, 0.2 * n * cycle)
        rig.write(SERVO, servo(sent, **settings))
        rig.advance()
    return float(sent[0] - rig.controller.plant.q[0]) / 0.2


def test_servo_j_lags_by_what_users_report(bench):
    assert ramp_lag(bench()) == pytest.approx(0.034, abs=0.002)


def test_the_lag_of_servo_j_follows_lookahead_and_gain(tmp_path):
    def lag(**settings):
        return ramp_lag(Bench(tmp_path), **settings)

    assert lag(lookahead=0.1) == pytest.approx(0.104, abs=0.004)
    assert lag(gain=100.0) > lag(gain=300.0) > lag(gain=2000.0)


def test_servo_j_takes_a_target_every_time_given_and_does_not_extrapolate(bench):
    rig = bench()
    seen = []
    for n in range(500):
        rig.write(SERVO, servo(Q + 0.001 * n, time=0.5))
        rig.advance()
        seen.append(rig.controller.motion.generator._taken[0] - Q[0])
    assert len(set(np.round(seen, 9))) == 2, "one target in half a second"
    settled = rig.controller.motion.q.copy()
    rig.advance(500)
    last = rig.controller.motion.q
    np.testing.assert_allclose(last, Q + 0.499, atol=1e-6)
    assert settled[0] < last[0]


def test_servo_j_stays_within_the_joints_speed(bench):
    rig = bench()
    for _ in range(200):
        rig.write(SERVO, servo(turned(0, 1.0)))
        rig.advance()
        assert (np.abs(rig.controller.motion.qd) <= rig.controller.motion.speed_limit + 1e-9).all()
    assert rig.controller.safety.normal


def test_move_j_is_a_trapezoid_of_the_leading_axis(bench):
    rig = bench()
    way = np.array([0.5, -0.25, 0.0, 0.1, 0.0, 0.0])
    took = rig.call(1, [*(Q + way), 0.5, 2.0], [0])
    assert took * 0.002 == pytest.approx(0.5 / 0.5 + 0.5 / 2.0, abs=0.02)
    np.testing.assert_allclose(rig.controller.motion.q, Q + way, atol=1e-12)
    np.testing.assert_allclose(rig.controller.plant.q, Q + way, atol=1e-3)


def test_move_j_keeps_every_joint_within_its_speed(bench):
    rig = bench()
    rig.call(1, [*turned(0, 2.0), 9.0, 8.0], [0])
    log = read_ring(rig.folder / "cycles", CYCLES)
    assert np.abs(log["target_qd"][:, 0]).max() == pytest.approx(np.radians(120.0), rel=1e-3)
    assert rig.controller.safety.normal


def test_move_l_is_a_straight_line_of_the_tool(bench):
    rig = bench()
    begin = ARM.forward(Q)
    end = begin @ pose_of([0.05, 0.02, 0.1])
    rig.write(3, [*end[:3, 3], *rig.vector("target_TCP_pose")[3:], 0.1, 0.5], [0])
    direction = end[:3, 3] - begin[:3, 3]
    fastest = 0.0
    for _ in range(2000):
        rig.advance()
        offset = ARM.forward(rig.controller.motion.q)[:3, 3] - begin[:3, 3]
        across = offset - direction * (offset @ direction) / (direction @ direction)
        assert np.linalg.norm(across) < 1e-6
        fastest = max(fastest, np.linalg.norm(rig.vector("target_TCP_speed")[:3]))
        if rig.answer == 2:
            break
    np.testing.assert_allclose(ARM.forward(rig.controller.motion.q), end, atol=1e-6)
    assert fastest == pytest.approx(0.1, rel=0.01)


def test_speed_j_goes_on_for_ever_without_its_client(bench):
    rig = bench()
    rig.write(SPEED_J, [0.1, 0, 0, 0, 0, 0, 2.0, 0.0])
    rig.advance(1000)
    assert rig.controller.plant.qd[0] == pytest.approx(0.1, abs=1e-3)


def test_speed_l_moves_the_tool_along_its_twist(bench):
    rig = bench()
    rig.write(SPEED_L, [0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 0.5, 0.0])
    rig.advance(300)
    np.testing.assert_allclose(rig.vector("target_TCP_speed"), [0, 0, 0.05, 0, 0, 0], atol=1e-5)
    assert rig.call(15, [10.0]) < 50
    assert np.abs(rig.controller.motion.qd).max() == 0.0


@pytest.mark.parametrize("frequency", [10.0, 20.0])
def test_a_watchdog_stops_the_arm_within_the_time_known_of_it(bench, frequency):
    rig = bench()
    rig.call(35, [frequency])
    rig.write(SPEED_J, [0.5, 0, 0, 0, 0, 0, 10.0, 0.0])
    rig.advance(5)
    for _ in range(100):
        rig.write(SPEED_J, [0.5, 0, 0, 0, 0, 0, 10.0, 0.0])
        rig.advance()
    silent = rig.controller.cycles
    while np.abs(rig.controller.plant.qd).max() > 1e-3:
        rig.advance()
    took = (rig.controller.cycles - silent) * 0.002
    assert 1 / frequency < took < 1 / frequency + 0.1
    assert rig.controller.program is None
    assert "watchdog" in rig.controller.reason


def test_a_move_longer_than_the_watchdog_is_cut_short_unless_it_is_kicked(tmp_path):
    rig = Bench(tmp_path)
    rig.call(35, [10.0])
    rig.call(1, [*turned(0, 1.0), 0.5, 2.0], [0])
    assert rig.controller.program is None
    kicked = Bench(tmp_path)
    kicked.call(35, [10.0])
    kicked.call(1, [*turned(0, 0.3), 0.5, 2.0], [1])
    for _ in range(500):
        kicked.write(0)
        kicked.advance()
    np.testing.assert_allclose(kicked.controller.motion.q, turned(0, 0.3), atol=1e-9)


@pytest.mark.parametrize("version", ["5.22", "5.26"])
def test_torques_act_from_5_26_on_and_end_with_the_command(bench, version):
    rig = bench(polyscope=version)
    for _ in range(100):
        rig.write(TORQUE, [0, 0, 0, 0, 0, 2.0, *[0.0] * 12])
        rig.advance()
    turned = rig.controller.plant.q[5] - Q[5]
    if version == "5.22":
        assert turned == 0.0
        return
    # Without a gap the arm is frictionless: τ = (I + rotor)·q̈ of the last joint.
    assert turned > 0.05
    np.testing.assert_allclose(rig.controller.plant.q[:5], Q[:5], atol=2e-3)
    rig.write(0)
    rig.advance(200)
    assert np.abs(rig.controller.plant.qd).max() < 1e-3


def test_friction_swallows_small_torques(bench):
    rig = bench(polyscope="5.26", gap=Gap(payload=0.0, mass=0.0))
    for _ in range(200):
        rig.write(TORQUE, [0, 0, 0, 0, 0, 1.0, *[0.0] * 12])
        rig.advance()
    assert abs(rig.controller.plant.q[5] - Q[5]) < 1e-3


def test_two_masters_end_the_program(bench):
    rig = bench()
    rig.write(SERVO, servo(Q))
    rig.advance(5)
    rig.call(1, [*(Q + 0.1), 0.5, 2.0], [0])
    assert rig.controller.program is None
    assert "another thread is already controlling the robot" in rig.controller.reason


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_target_that_is_no_number_ends_the_program_and_the_arm_stays(bench, value):
    rig = bench()
    rig.write(SERVO, servo([value, *Q[1:]]))
    rig.advance(50)
    assert rig.controller.program is None
    assert np.isfinite(rig.controller.plant.q).all()
    np.testing.assert_allclose(rig.controller.plant.q, Q, atol=1e-3)


def test_a_line_that_leaves_the_reach_ends_at_its_boundary(bench):
    rig = bench()
    pose = rig.vector("target_TCP_pose")
    rig.call(3, [*(pose[:3] * 4.0), *pose[3:], 0.3, 1.0], [0], cycles=10_000)
    rig.advance(200)
    assert rig.controller.program is None
    assert np.abs(rig.controller.plant.qd).max() < 1e-2


@pytest.mark.parametrize(
    ("command", "doubles"),
    [
        (17, [np.nan, 0.0, 0.0, 0.0]),
        (17, [-1.0, 0.0, 0.0, 0.0]),
        (17, [1.0, np.inf, 0.0, 0.0]),
        (29, [np.nan] * 6),
        (35, [0.0]),
        (35, [np.nan]),
        (1, [*START, np.nan, 1.0]),
        (1, [*START, 1.0, 0.0]),
        (46, [9.0, 9.0, 9.0, 0.0, 0.0, 0.0]),
    ],
)
def test_arguments_that_cannot_be_end_the_program_and_nothing_else(bench, command, doubles):
    rig = bench()
    rig.call(command, doubles, [0])
    rig.advance(50)
    assert rig.controller.program is None
    assert rig.controller.reason
    np.testing.assert_allclose(rig.controller.plant.q, Q, atol=1e-3)


def test_a_joint_beyond_its_range_is_a_protective_stop(bench):
    rig = bench(start=(6.2, *START[1:]))
    for _ in range(300):
        rig.write(SERVO, servo([6.5, *Q[1:]]))
        rig.advance()
    assert rig.controller.safety.mode == SafetyMode.PROTECTIVE_STOP
    assert "shoulder_pan beyond its range" in rig.controller.safety.reason
    assert rig.controller.program is None


@pytest.mark.parametrize("mode", [SafetyMode.PROTECTIVE_STOP, SafetyMode.ROBOT_EMERGENCY_STOP])
def test_the_safety_system_stops_the_arm_within_100_ms(bench, mode):
    rig = bench(gap=Gap())
    for _ in range(300):
        rig.write(SPEED_J, [0.6, 0, 0, 0, 0, 1.0, 10.0, 0.0])
        rig.advance()
    rig.controller.trip(mode, "test")
    rig.advance(50)
    assert np.abs(rig.controller.plant.qd).max() < 0.02
    at = rig.controller.plant.q.copy()
    rig.advance(500)
    np.testing.assert_allclose(rig.controller.plant.q, at, atol=1e-3)
    off = mode == SafetyMode.ROBOT_EMERGENCY_STOP
    assert rig.controller.safety.robot_mode == (RobotMode.POWER_OFF if off else RobotMode.RUNNING)


def test_the_gears_are_springs_of_the_sea_law(bench):
    """What the arm carries at rest is what the law says of motors and links."""
    rig = bench(gap=Gap())
    rig.advance(200)
    plant = rig.controller.plant
    for n in range(6):
        law = sea(k=plant._stiffness[n]).torque(plant.q[n], plant._motor[n])
        assert law == pytest.approx(plant.data.qfrc_bias[n], abs=0.05)


def test_without_a_gap_the_arm_is_what_its_controller_thinks(bench):
    rig = bench()
    for n in range(300):
        rig.write(SERVO, servo(Q + 0.3 * np.sin(0.004 * n)))
        rig.advance()
    np.testing.assert_allclose(rig.controller.plant.q, rig.controller.motion.q, atol=5e-4)
    np.testing.assert_allclose(rig.vector("actual_TCP_force"), 0.0, atol=0.2)


def test_flexible_gears_and_unknown_masses_show(tmp_path):
    def error(gap):
        rig = Bench(tmp_path, gap=gap)
        worst = 0.0
        for n in range(500):
            rig.write(SERVO, servo(turned(1, 0.3 * np.sin(0.01 * n))))
            rig.advance()
            worst = max(worst, np.abs(rig.controller.plant.q - rig.controller.motion.q).max())
        return worst

    assert error(Gap()) > 3 * error(Gap.none())


@pytest.mark.parametrize("robot", ["ur5e", "ur10", "ur20"])
def test_other_arms_stand_behind_it_too(bench, robot):
    rig = bench(robot=robot)
    rig.advance(200)
    np.testing.assert_allclose(rig.controller.plant.q, Q, atol=1e-4)
    pose = rig.vector("actual_TCP_pose")
    np.testing.assert_allclose(pose_of(pose[:3], pose[3:]), UrKinematics(robot).forward(Q), atol=1e-3)


def tool(mass):
    return {
        "model": {
            "_target_": "pliant.envs.models.ur.ur",
            "arm": "ur10e",
            "tool": {"mass": mass, "com": [0.0, 0.0, 0.05]},
            "tcp": [0.0, 0.0, 0.15, 0.0, 0.0, 0.0],
        },
        "period": 0.002,
    }


def test_the_controller_is_configured_with_the_tool_of_the_description(bench):
    rig = bench(robot=tool(2.0))
    rig.advance(100)
    assert rig.controller.outputs.get("payload") == pytest.approx(2.0)
    np.testing.assert_allclose(rig.vector("payload_cog"), [0, 0, 0.05], atol=1e-12)
    pose = rig.vector("actual_TCP_pose")
    np.testing.assert_allclose(pose_of(pose[:3], pose[3:]), ARM.forward(Q) @ pose_of([0, 0, 0.15]), atol=1e-4)
    np.testing.assert_allclose(rig.vector("actual_TCP_force"), 0.0, atol=0.05)


def test_a_push_is_felt_in_base_axes_about_the_flange_or_the_tcp(tmp_path):
    for version, about in (("5.22", 0.0), ("3.15", 0.15)):
        rig = Bench(tmp_path, robot=tool(0.5), polyscope=version)
        rig.controller.plant.push = np.array([30.0, 0.0, -10.0, 0.0, 0.0, 0.0])
        rig.advance(400)
        felt = rig.vector("actual_TCP_force")
        np.testing.assert_allclose(felt[:3], [30.0, 0.0, -10.0], atol=0.5)
        arm = -about * ARM.forward(Q)[:3, 2]  # from the TCP back to the flange, where the push acts
        np.testing.assert_allclose(felt[3:], np.cross(arm, felt[:3]), atol=0.3)


def test_a_raw_wrench_has_the_weight_of_the_tool_in_axes_of_the_flange(bench):
    rig = bench(robot=tool(2.0))
    rig.advance(100)
    turn = ARM.forward(Q)[:3, :3]
    np.testing.assert_allclose(rig.vector("ft_raw_wrench")[:3], turn.T @ [0, 0, -2.0 * 9.81], atol=0.1)


def test_a_payload_that_is_not_set_is_felt_until_the_sensor_is_zeroed(bench):
    rig = bench(gap=Gap(**{**vars(Gap.none()), "payload": 1.0}))
    rig.advance(10)
    np.testing.assert_allclose(rig.vector("actual_TCP_force"), 0.0, atol=0.2)
    assert rig.controller.plant.wrench()[2] == pytest.approx(-9.81, abs=0.1)


def test_the_force_sensor_drifts_by_four_newtons_in_five_minutes(bench):
    rig = bench(gap=Gap(**{**vars(Gap.none()), "force_drift": 4.0}))
    rig.controller.plant._drift += 300.0
    rig.advance(2)
    assert np.linalg.norm(rig.vector("actual_TCP_force")[:3]) == pytest.approx(3.8, abs=0.2)
    rig.call(8)
    np.testing.assert_allclose(rig.vector("actual_TCP_force")[:3], 0.0, atol=0.1)


def test_force_mode_yields_until_the_force_is_there(bench):
    rig = bench()
    begin = rig.vector("target_TCP_pose")[2]
    for _ in range(400):
        # A wall: the deeper the tool, the stronger it pushes back.
        depth = begin - rig.vector("actual_TCP_pose")[2]
        rig.controller.plant.push = np.array([0, 0, 3000.0 * max(depth, 0.0), 0, 0, 0])
        rig.write(
            FORCE,
            [*[0.0] * 6, 0, 0, -20.0, 0, 0, 0, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2],
            [2, 0, 0, 1, 0, 0, 0],
        )
        rig.advance()
    assert rig.vector("actual_TCP_force")[2] == pytest.approx(20.0, abs=3.0)


def test_freedrive_follows_a_hand_and_stands_when_it_ends(bench):
    rig = bench(gap=Gap())
    rig.call(52, [0.0] * 6, [1] * 6)
    rig.controller.plant.push = np.array([0.0, 80.0, 0.0, 0.0, 0.0, 0.0])
    rig.advance(300)
    assert np.abs(rig.controller.plant.q - Q).max() > 0.01
    rig.controller.plant.push = np.zeros(6)
    rig.call(53)
    rig.advance(300)
    at = rig.controller.plant.q.copy()
    rig.advance(200)
    np.testing.assert_allclose(rig.controller.plant.q, at, atol=1e-3)


def test_a_script_of_others_replaces_the_program(bench):
    rig = bench()
    rig.controller.load(Script("gripper"))
    assert rig.controller.program is None
    assert rig.controller.reason == "replaced by gripper"


def test_the_log_tells_what_was_commanded_and_what_the_arm_did(bench, tmp_path):
    rig = bench()
    for n in range(100):
        rig.write(SERVO, servo(Q + 0.0002 * n))
        rig.advance()
    log, commands = read_ring(tmp_path / "cycles", CYCLES), read_ring(tmp_path / "commands", COMMANDS)
    assert list(log["cycle"]) == list(range(1, 102))
    np.testing.assert_allclose(log["actual_q"][-1], rig.controller.plant.q)
    np.testing.assert_allclose(log["target_q"][-1], rig.controller.motion.q)
    assert set(log["command"][1:]) == {SERVO}
    assert set(log["runtime_state"]) == {2}
    assert len(commands) == 100
    np.testing.assert_allclose(commands["values"][-1, :6], Q + 0.0002 * 99)
    assert list(commands["cycle"]) == list(range(2, 102))


def test_a_ring_keeps_the_newest_in_their_order(tmp_path):
    ring = Ring(tmp_path / "ring", struct.Struct("<q"), 5)
    dtype = np.dtype([("n", "<i8")])
    for n in range(3):
        ring.write(n)
    assert list(read_ring(tmp_path / "ring", dtype)["n"]) == [0, 1, 2]
    for n in range(3, 13):
        ring.write(n)
    assert list(read_ring(tmp_path / "ring", dtype)["n"]) == [8, 9, 10, 11, 12]


def test_whoever_reads_a_log_while_it_is_written_never_finds_it_emptier_than_before(tmp_path):
    ring = Ring(tmp_path / "ring", struct.Struct("<q"), 5)
    ring.write(0)
    with (tmp_path / "ring").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        counted = memoryview(memory)[:8].cast("q")
        writer = os.fork()
        if not writer:
            for k in range(1, 300_000):
                ring.write(k)
            os._exit(0)
        last, fewer = 1, 0
        while not os.waitpid(writer, os.WNOHANG)[0]:
            for _ in range(1000):
                now = counted[0]
                fewer, last = fewer + (now < last), now
        counted.release()
    assert fewer == 0
    assert len(read_ring(tmp_path / "ring", np.dtype([("n", "<i8")]))) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"polyscope": "5.3"}, "Valid: 3.15"),
        ({"pace": "fast"}, "lock_step"),
        ({"start": (0.0,) * 5}, "6 are needed"),
        ({"start": (0.0, 0.0, 0.0, 0.0, 0.0, float("nan"))}, "start"),
        ({"serial_number": "abc"}, "digits"),
        ({"log_time": 0.0}, "log_time"),
        ({"unlock_delay": -1.0}, "unlock_delay"),
        ({"cycles_per_command": 0}, "cycles_per_command"),
        ({"seed": -1}, "seed"),
        ({"robot": "arm2"}, "none that a controller of Universal Robots drives"),
        ({"robot": "ur11"}, "unknown robot"),
    ],
)
def test_settings_that_cannot_be_are_explained(tmp_path, settings, message):
    with pytest.raises(PliantError, match=message):
        Controller(ControllerSettings(**settings), tmp_path)


@pytest.mark.parametrize("name", list(vars(Gap())))
def test_a_gap_that_cannot_be_is_explained(name):
    with pytest.raises(PliantError, match=name):
        Gap(**{name: float("nan")})
