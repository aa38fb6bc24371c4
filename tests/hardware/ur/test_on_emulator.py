"""The driver with the real client on an emulated controller: reading, and each way of commanding."""

import math
import time

import numpy as np
import pytest

from pliant.controllers.ur_kinematics import UrKinematics
from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import JointLimits, SafetyConfig
from pliant.hardware.ur.signals import nearest_rotation

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytestmark = pytest.mark.slow

VERSIONS = ["3.15", "5.11", "5.22", "5.23", "5.26", "10.12"]
SERVO_J, SPEED_J, SERVO_L, TORQUE, WATCHDOG = 11, 9, 24, 66, 35


def wire(controller, command):
    """What came on the wire of one command, (n, 18)."""
    records = controller.commands()
    return records["values"][records["command"] == command]


@pytest.mark.parametrize("version", VERSIONS)
def test_positions_are_followed_on_every_version(controller, arm, go, version):
    machine = controller(polyscope=version)
    robot = arm(machine, period=0.016)
    goal = go(robot, 0.2, 60)
    state = robot.read()
    for _ in range(300):
        if np.allclose(state.position, goal, atol=2e-3):
            break
        robot.send(goal)
        state = robot.read()
    assert np.allclose(state.position, goal, atol=2e-3)
    assert np.allclose(state.signals[robot.info.signal("shoulder_pan/target_position")], goal[0], atol=2e-3)
    sent = wire(machine, SERVO_J)[:, :6]
    assert np.isfinite(sent).all()
    # Setpoints that are late on a busy machine are left out: at most a period's way at once.
    assert np.abs(np.diff(sent, axis=0)).max() <= robot.config.speed[0] * robot.info.period * 1.01
    numbers = machine.commands()["command"]
    first = int(np.argmax(numbers == SERVO_J))
    assert WATCHDOG in numbers[:first], "the watchdog is armed before the first motion"


def test_what_is_known_without_connecting(arm, controller):
    robot = arm(controller(), connect=False, inputs=["standard_3", "analog_1"], outputs=["tool_0"])
    info = robot.info
    assert info.command_names[0] == "shoulder_pan/position"
    assert info.period == 0.002
    assert info.signal_names[-3:] == ("inputs/standard_3", "inputs/analog_1", "outputs/tool_0")
    assert {"elbow/controller_torque", "tcp/rz", "tcp/fz", "controller/timestamp"} <= set(info.signal_names)
    assert robot.unmeasured == {f"{joint}/torque" for joint in info.joints}
    with pytest.raises(RobotError, match="not connected"):
        robot.read()
    with pytest.raises(RobotError, match="not connected"):
        robot.send(info.rest)
    robot.stop()
    robot.close()


def test_reading_needs_no_program_and_no_remote_control(controller, arm):
    machine = controller(remote_control=False)
    robot = arm(machine, torque_constants=[10.0] * 6, inputs=["standard_3", "analog_1"])
    machine.set_input(3, True)
    machine.set_analog_input(1, 4.5)
    time.sleep(0.1)
    state = robot.read()
    read = dict(zip(robot.info.signal_names, state.signals, strict=True))
    assert read["inputs/standard_3"] == 1.0
    assert read["inputs/analog_1"] == pytest.approx(4.5)
    assert np.allclose(state.position, machine.state()["q"], atol=1e-3)
    assert np.isfinite(state.torque).all()
    assert read["shoulder_lift/controller_torque"] != 0
    assert machine.state()["programs"] == 0
    first = read["controller/timestamp"]
    time.sleep(0.05)
    state = robot.read()
    assert state.time > 0
    assert state.signals[robot.info.signal("controller/timestamp")] > first


def test_without_constants_torques_are_those_of_the_controllers_model(controller, arm):
    robot = arm(controller())
    state, names = robot.read(), robot.info.signal_names
    model = state.signals[names.index("shoulder_pan/controller_torque") :][:6]
    assert np.allclose(state.torque, model)
    # the weight of the whole arm on a shoulder that holds it bent: tens of N·m
    assert -60 < state.torque[1] < -30


def test_the_pose_of_the_tool_is_that_of_the_controller(controller, arm):
    machine = controller()
    state, names = (robot := arm(machine)).read(), robot.info.signal_names
    place = names.index("tcp/x")
    pose = UrKinematics("ur10e").forward(state.position)
    assert np.allclose(state.signals[place : place + 3], np.asarray(pose)[:3, 3], atol=1e-3)


def test_velocities_are_commanded_and_held_for_a_period(controller, arm):
    machine = controller()
    robot = arm(machine, mode="velocity", period=0.01)
    assert robot.info.command[0].unit == "rad/s"
    begin = robot.read().position
    speed = np.array([0.2, 0, 0, 0, 0.1, 0])
    for _ in range(100):
        robot.send(speed)
    moved = robot.read().position - begin
    assert moved[0] == pytest.approx(0.2, rel=0.25)
    assert moved[4] == pytest.approx(0.1, rel=0.25)
    robot.stop()
    assert np.abs(machine.state()["target_qd"]).max() < 1e-6


def test_the_tool_is_led_along_a_straight_line(controller, arm):
    machine = controller()
    start = arm(machine).read()
    robot = arm(machine, mode="tool", period=0.01, rest=[0.5, 0.2, 0.5, 0.0, 3.1, 0.0])
    pose = robot.read().command
    goal = pose.copy()
    for k in range(100):
        goal[2] = pose[2] + 0.05 * (1 - math.cos(math.pi * (k + 1) / 100)) / 2
        robot.send(goal)
    for _ in range(30):
        robot.send(goal)
    state = robot.read()
    place = robot.info.signal("tcp/x")
    assert np.allclose(state.signals[place : place + 6], goal, atol=1e-3)
    lateral = [values[:2] - pose[:2] for values in wire(machine, SERVO_L)]
    assert np.abs(lateral).max() < 1e-9
    assert not np.allclose(state.position, start.position, atol=1e-2)


def test_torques_push_the_arm_and_damping_is_ours(controller, arm):
    machine = controller(polyscope="5.26")
    robot = arm(machine, mode="torque", period=0.008, damping=[20.0] * 6)
    begin = robot.read().position[0]
    for _ in range(60):
        robot.send([30.0, 0, 0, 0, 0, 0])
    assert robot.read().position[0] > begin + 0.01
    assert wire(machine, TORQUE)[:, 0].min() < 30.0, "the faster it turns, the less is sent"
    robot.stop()
    state = machine.state()
    assert np.abs(state["target_qd"]).max() < 0.05


@pytest.mark.parametrize("version", ["5.22", "5.23"])
def test_torques_are_refused_where_the_client_would_only_pretend(controller, arm, version):
    robot = arm(controller(polyscope=version), mode="torque")
    with pytest.raises(RobotError, match=r"5\.26 or 10\.10"):
        robot.send([0.0] * 6)


def test_what_cannot_be_sent_is_refused_whole(controller, arm):
    machine = controller()
    robot = arm(machine)
    q = robot.read().command
    for bad, error in (([np.nan, *q[1:]], OutOfBoundsError), (q[:5], ShapeError), ([*q, 0.0], ShapeError)):
        with pytest.raises(error):
            robot.send(bad)
    with pytest.raises(RobotError, match="first command"):
        robot.send(q + 0.5)
    assert machine.state()["programs"] == 0, "nothing was uploaded for any of them"


def test_a_command_is_limited_in_speed_and_range_and_said_to_be(controller, arm):
    machine = controller()
    robot = arm(machine, period=0.01, high=[0.1, *[2 * math.pi] * 5])
    goal = robot.read().command
    begin = goal[0]
    robot.send(goal)
    goal[0] += 1.0
    sent = robot.send(goal)
    assert sent[0] == pytest.approx(min(0.1, begin + robot.config.speed[0] * 0.01))
    for _ in range(20):
        sent = robot.send(goal)
    assert sent[0] == pytest.approx(0.1)
    assert wire(machine, SERVO_J)[:, 0].max() <= 0.1 + 1e-12


def test_stop_holds_from_any_moment_and_the_next_command_begins_anew(controller, arm, go):
    machine = controller()
    robot = arm(machine, period=0.008)
    go(robot, 0.1, 20)
    robot.stop()
    robot.stop()
    assert machine.state()["program_ended"] == "ended by its client"
    assert machine.state()["runtime_state"] == 1
    held = robot.read().command
    robot.send(held)
    assert machine.state()["programs"] == 2
    go(robot, -0.05, 20)
    programs = machine.commands()
    armed = programs["cycle"][programs["command"] == WATCHDOG]
    assert len(armed) == 2, "armed after every upload"
    robot.close()
    robot.close()
    assert machine.state()["runtime_state"] == 1


def test_the_force_sensor_is_zeroed_at_rest_only(controller, arm):
    machine = controller()
    robot = arm(machine, mode="velocity", period=0.01)
    for _ in range(30):
        robot.send([0.3, 0, 0, 0, 0, 0])
    with pytest.raises(RobotError, match="at rest only"):
        robot.zero_force()
    robot.stop()
    time.sleep(0.3)
    robot.zero_force()
    force = robot.info.signal("tcp/fx")
    time.sleep(0.05)
    assert np.abs(robot.read().signals[force : force + 3]).max() < 1.0


def test_behind_the_safety_layer_it_walks_out_and_home(controller, arm):
    machine = controller()
    rest = [0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]
    robot = arm(machine, connect=False, period=0.02, rest=rest)
    safety = SafetyConfig(
        motion={"rad": MotionLimits(speed=1.0, acceleration=10.0, walk_speed=0.5)},
        joints={"shoulder_pan": JointLimits(low=-1.0, high=1.0, speed=2.0)},
        overruns=1000,
    )
    goal = np.add(rest, [0.1, 0, 0, 0, 0, 0.1])
    with SafeRobot(robot, safety) as safe:
        safe.walk_to(goal)
        for _ in range(10):
            safe.send(goal)
        assert np.allclose(safe.read().position, goal, atol=2e-3)
    assert np.allclose(machine.state()["q"], rest, atol=5e-3)
    assert machine.state()["runtime_state"] == 1


def test_the_stop_key_holds_the_arm_until_it_is_rearmed(controller, arm):
    machine = controller()
    robot = arm(machine, connect=False, period=0.02)
    pressed = []
    safety = SafetyConfig(hold_time=0.0, return_to_rest=False, overruns=1000, patience=100)
    with SafeRobot(robot, safety, stop_key=lambda: bool(pressed)) as safe:
        goal = safe.read().command
        for _ in range(20):
            goal[0] += 0.005
            safe.send(goal)
        pressed.append(True)
        with pytest.raises(RobotError, match="the stop key"):
            safe.send(goal)
        pressed.clear()
        assert machine.state()["runtime_state"] == 1
        with pytest.raises(RobotError, match="rearm"):
            safe.send(goal)
        safe.rearm()
        safe.send(safe.read().command)


def test_a_torque_limit_of_what_is_not_measured_is_refused(controller, arm):
    robot = arm(controller(), connect=False)
    with pytest.raises(ConfigurationError, match="does not measure"):
        SafeRobot(robot, SafetyConfig(joints={"elbow": JointLimits(torque=10.0)}))


def test_a_rotation_vector_is_taken_on_continuously():
    beyond = np.array([0.0, math.pi + 0.1, 0.0])
    wrapped = np.array([0.0, -(math.pi - 0.1), 0.0])
    assert np.allclose(nearest_rotation(wrapped, beyond), beyond)
    assert np.allclose(nearest_rotation(beyond, wrapped), wrapped)
    assert np.allclose(nearest_rotation(np.zeros(3), beyond), 0)
