"""The wrist's wrench of a machine from the command line: on an arm the same as in the simulation of it."""

import time

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.deployment.machines import machine
from pliant.envs.description import described
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.envs.emulated_ur import EmulatedUR
from pliant.envs.models.robot_model import tool_load
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.force_torque.sensing import ForceTorqueSensing, URForceTorque
from pliant.hardware.force_torque.wrench import rotation_matrix
from pliant.hardware.ur.robot import URRobot

AXES = [f"{kind}_{axis}" for kind in ("force", "torque") for axis in "xyz"]
TOOL = ["robot.model.tool={mass: 1.5, com: [0.01, -0.02, 0.07], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}"]
ANGLES = [0.4, -1.2, 1.3, -1.0, -1.1, 0.7]
PUSH = np.array([6.0, -11.0, -20.0, 0.6, 0.9, -0.5])
"""On the flange, N and N·m in base axes."""


def configured(*overrides):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("deploy", overrides=list(overrides))


def wrist(robot, state):
    first = len(robot.info.signals) - len(robot.info.sensors)
    return state.sensors[[robot.info.signal(f"wrist/{axis}") - first for axis in AXES]]


def simulated_wrenches(overrides, pushes):
    """What the wrist reads in simulation under each push, at rest."""
    robot = machine(configured(*overrides, "hardware=simulated"))
    with robot:
        robot.reset(position=ANGLES, command=ANGLES)
        data, site, body = robot.data, robot.data.site("flange"), robot.model.body("tool").id
        found = []
        for push in pushes:
            for _ in range(300):
                lever = site.xpos - data.xipos[body]
                data.xfrc_applied[body] = [*push[:3], *(push[3:] + np.cross(lever, push[:3]))]
                robot.send(ANGLES)
            found.append(wrist(robot, robot.read()))
        return found


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.parametrize(
    ("arm", "polyscope"),
    [
        ("ur10e", "5.22"),  # a sensor at the flange
        ("ur10", "3.15"),  # an estimate at the tool's centre point
        ("ur10e", "10.12"),  # a controller that does not tell its payload
    ],
)
def test_a_push_reads_the_same_on_the_emulated_controller_as_in_simulation(arm, polyscope):
    pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
    overrides = [f"robot={arm}", *TOOL, "robot.model.tcp=[0.03,0,0.15,0.5,-0.2,0.3]", "+robot.machine.stale=0.9"]
    none = ("payload", "mass", "friction", "flexibility", "force_noise", "force_drift")
    gap = [f"++hardware.controller.gap.{name}=0" for name in none]
    where = [f"hardware.controller.polyscope='{polyscope}'", f"++hardware.controller.start={ANGLES}"]
    robot = machine(configured(*overrides, "hardware=emulated", *gap, *where))
    assert isinstance(robot, URForceTorque)
    assert isinstance(robot.robot, EmulatedUR)
    pushes = (np.zeros(6), PUSH)
    try:
        with robot:
            for push, expected in zip(pushes, simulated_wrenches(overrides, pushes), strict=True):
                robot.robot.machine.push(push)
                end = time.monotonic() + 30
                while True:
                    found = wrist(robot, robot.read())
                    if np.abs(found - expected).max() < 0.03:
                        break
                    assert time.monotonic() < end, (found, expected)
                    time.sleep(0.02)
    finally:
        robot.robot.power_off()
    assert np.linalg.norm(expected[:3]) > 20.0


def test_the_expected_wrench_is_that_of_statics():
    """Weight and push against an arm that stands: raw = −R_sᵀ(F + m·g), and the torques about the flange."""
    overrides = ["robot=ur10e", *TOOL]
    (found,) = simulated_wrenches(overrides, [PUSH])
    robot = machine(configured(*overrides, "hardware=simulated"))
    with robot:
        robot.reset(position=ANGLES, command=ANGLES)
        mujoco.mj_forward(robot.model, robot.data)
        turn = robot.data.site("flange").xmat.reshape(3, 3)
    weight = np.array([0.0, 0.0, -1.5 * 9.81])
    arm = turn @ [0.01, -0.02, 0.07]
    assert found[:3] == pytest.approx(-turn.T @ (PUSH[:3] + weight), abs=0.05)
    assert found[3:] == pytest.approx(-turn.T @ (PUSH[3:] + np.cross(arm, weight)), abs=0.01)


def test_the_description_says_which_sensor_a_machine_has():
    real = ("hardware=real", "host=192.168.1.10")
    own = machine(configured("robot=ur5e", *real))
    assert isinstance(own, URForceTorque)
    assert own.info.signal_names[-6:] == tuple(f"wrist/{axis}" for axis in AXES)
    net_ft = "robot.machine.force_torque={wrist: {sensor: net_ft, host: 192.168.1.1, mounting: [0,0,0,0,0,0.785]}}"
    external = machine(configured("robot=ur5e", *real, net_ft))
    assert isinstance(external, ForceTorqueSensing)
    assert isinstance(external.robot, URRobot)
    assert external.info.signal_names[-6:] == own.info.signal_names[-6:]
    mounting = external.sensors["wrist"][1]
    assert mounting.at_site(np.array([1.0, 0, 0, 0, 0, 0]))[:2] == pytest.approx([np.cos(0.785), np.sin(0.785)])
    bare = machine(configured("robot=ur5e", *real, "robot.machine.force_torque={}"))
    assert isinstance(bare, URRobot)
    servos = machine(configured("robot=arm2", "hardware=emulated"))
    assert isinstance(servos, EmulatedRobot)


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        ("{wrsit: {sensor: net_ft, host: a}}", UnknownNameError, "Did you mean 'wrist'"),
        ("{wrist: net_ft}", ConfigurationError, "controller, net_ft or module:Class"),
        ("{wrist: {host: a}}", ConfigurationError, "`sensor: …` is needed"),
        ("{wrist: {sensor: net_ftt, host: a}}", UnknownNameError, "Did you mean 'net_ft'"),
        ("{wrist: {sensor: controller, host: a}}", ConfigurationError, "takes mounting alone"),
        ("{wrist: {sensor: net_ft, host: a, mounting: [0,0,0,0,0,99]}}", OutOfBoundsError, "mounting"),
        ("[wrist]", ConfigurationError, "is one"),
    ],
)
def test_what_does_not_go_together_is_refused(entry, error, words):
    with pytest.raises(error, match=words):
        machine(configured("robot=ur5e", "hardware=real", "host=a", f"robot.machine.force_torque={entry}"))


def test_servos_have_no_sensor_of_their_own():
    with pytest.raises(UnknownNameError, match="force-torque sensor 'wrist'"):
        machine(
            configured("robot=arm2", "hardware=real", "+robot.machine.force_torque={wrist: {sensor: controller}}")
        )


@pytest.mark.slow
@pytest.mark.real_time
def test_on_a_driven_arm_with_noise_and_unknown_load_a_tare_leaves_the_push():
    """A zeroing at the start, a load that is another, noise: a tare makes up for them."""
    pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
    patient = ("robot.period=0.02", "+robot.machine.stale=0.9", "robot.machine.watchdog=0.9")
    config = configured(
        "robot=ur10e", *TOOL, *patient, "hardware=emulated", "++hardware.controller.gap.force_noise=0.3"
    )
    robot = machine(config)
    load = tool_load(described(config.robot).model, "wrist")
    settings = WrenchSettings(load=load, cutoff=5.0, tare={"time": 1.0, "joint_speed": 0.02})
    conditioning = WrenchConditioning(settings)
    first = len(robot.info.signals) - len(robot.info.sensors)
    turning = [robot.info.signal(f"tcp/r{axis}") - first for axis in "xyz"]  # the centre point is at the flange

    def step(periods):
        for _ in range(periods):
            robot.send(hold)
            state = robot.read()
            turn = rotation_matrix(state.sensors[turning])
            speed = np.abs(state.velocity).max()
            found = conditioning.update(state.time, wrist(robot, state), turn, joint_speed=speed)
        return turn, found

    try:
        with robot:
            hold = robot.read().command
            turn, before = step(50)
            conditioning.start_tare()
            while conditioning.tare_state.state == "running":
                turn, _ = step(1)
            assert conditioning.tare_state.state == "done", conditioning.tare_state.reason
            robot.robot.machine.push(PUSH)
            turn, found = step(100)
    finally:
        robot.robot.power_off()
    assert found.fault == ""
    # what pushes on the tool is what the tool exerts, reversed, in the axes of the sensor
    expected = -np.concatenate([turn.T @ PUSH[:3], turn.T @ PUSH[3:]])
    assert np.abs(found.wrench - expected)[:3].max() < 0.5
    assert np.abs(found.wrench - expected)[3:].max() < 0.05
    assert np.abs(before.wrench[:3]).max() < 5.0
