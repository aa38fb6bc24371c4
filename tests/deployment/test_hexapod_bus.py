"""The hexapod's 18 servos on an emulated bus, by the driver that the machine has."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from pliant.conf.build import build
from pliant.deployment.controller import prepare_controller
from pliant.deployment.machines import dynamixel_config, machine
from pliant.envs import describe
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.envs.models.hexapod import JOINTS, LINKS
from pliant.errors import RobotError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.recording import Recorder, read_recording
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.hardware.wrapper import unwrapped


def test_its_servos_are_those_of_the_table():
    config = dynamixel_config(describe("hexapod"), "")
    numbers = {joint.name: joint.servos[0].servo for joint in config.joints}
    assert tuple(numbers) == JOINTS
    assert sorted(numbers.values()) == list(range(1, 19))
    assert [numbers[f"middle_right_{link}"] for link in LINKS] == [14, 16, 18]
    assert config.protocol == 1
    assert config.cycle_time < config.period == 0.019


@pytest.mark.slow
def test_on_the_bus_it_stands_as_in_the_simulation_and_moves_one_leg():
    """Goals and readings are whole counts of 5.1 mrad; feet that have come from aside do not slide to the last."""
    description = describe("hexapod")
    with description.simulated() as simulated:
        for _ in range(100):
            simulated.send(simulated.info.rest)
        expected = simulated.read().position
        robot = EmulatedRobot(dynamixel_config(description, ""), description.lying.simulated(0.001))
        assert robot.info.command == simulated.info.command
    limits = MotionLimits(speed=8.0, acceleration=200.0, walk_speed=1.5)
    try:
        with SafeRobot(robot, SafetyConfig(motion={"rad": limits}, rest=description.rest)) as safe:
            safe.walk_to(robot.info.rest)
            np.testing.assert_allclose(safe.read().position, expected, rtol=0, atol=0.08)
            standing = safe.read().position
            command = robot.info.rest.copy()
            command[JOINTS.index("front_left_coxa")] = 0.3
            for _ in range(40):
                safe.send(command)
                safe.read()
            moved = safe.read().position - standing
            assert 0.2 < moved[0] < 0.33
            assert np.abs(moved[3:]).max() < 0.08
    finally:
        robot.power_off()


@pytest.mark.slow
def test_a_servo_that_shuts_down_ends_the_deployment_and_its_recording_is_whole(tmp_path):
    """By the verb's own parts, through a pseudo-terminal; the servo fails in the middle of a step."""
    options = ["robot=hexapod", "controller=gait", "hardware=emulated", "duration=3", "run.settle=0.1"]
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", [*options, "safety.motion.rad.walk_speed=1.5"])
    robot = machine(config)
    emulated = unwrapped(robot)

    def shut_down():
        """As a stop key that is never pressed."""
        if len(deployment.trace.sent) == 60:
            emulated.machine.overload(4)
        return False

    try:
        deployment = prepare_controller(
            config, SafeRobot(robot, build(config.safety, "safety"), shut_down), Console(file=io.StringIO())
        )
        with Recorder(tmp_path / "r.mcap", deployment.info, deployment.facts) as recorder:
            with pytest.raises(RobotError, match=r"joint 'front_right_femur': overload.*It went to rest"):
                deployment.run(recorder, Console(file=io.StringIO()))
            numbers, report = deployment.finish(tmp_path, Console(file=io.StringIO()))
        state = emulated.machine.state()["servos"]
    finally:
        emulated.power_off()
    assert not any(servo["torque"] for servo in state.values())
    assert (numbers["completed"], len(numbers["trips"])) == (False, 1)
    assert report.exists()
    recording = read_recording(tmp_path / "r.mcap")
    assert recording.complete
    assert "servo 4 of joint 'front_right_femur'" in recording.series["/events"]["message"][-1]
    walked = recording.series["/walk/command"]["sent"][-1]
    np.testing.assert_allclose(walked[JOINTS.index("middle_left_femur")], -1.67, atol=0.01)
    assert "front_right_femur/torque" in recording.metadata["estimated"]
    torque = recording.series["/joint_states"]["torque"]
    assert np.isfinite(torque).all()
    assert 0.1 < np.abs(torque).max() <= 1.5


@pytest.mark.slow
def test_the_verb_walks_it_on_the_simulation_and_on_its_bus(verb):
    options = ("robot=hexapod", "duration=1.5", "run.settle=0.1", "safety.motion.rad.walk_speed=1.5")
    for number, hardware in enumerate(("simulated", "emulated")):
        for controller in ("gait", "matsuoka")[: 1 + number]:
            folder = f"hydra.run.dir={hardware}_{controller}"
            status, _, err = verb("deploy", f"controller={controller}", f"hardware={hardware}", *options, folder)
            assert status == 0, err
            numbers = json.loads(Path(f"{hardware}_{controller}/metrics.json").read_text())
            assert numbers["completed"]
            assert (numbers["overruns"], numbers["missed_reads"], numbers["trips"]) == (0, 0, [])
            assert ("estimated" in numbers) == (hardware == "emulated")


@pytest.mark.slow
def test_a_servo_beyond_the_limit_of_its_load_ends_the_verb_with_status_2_and_the_report_says_why(verb):
    """Standing takes more than 2 % of the drive; by the time so many looks are averaged it stands."""
    status, _, err = verb(
        "deploy",
        "robot=hexapod",
        "controller=hold",
        "hardware=emulated",
        "duration=10",
        "run.settle=0.1",
        "safety.motion.rad.walk_speed=1.5",
        "robot.machine.limits.load=[0.01,0.02]",
        "robot.machine.limits.load_time=6.0",
        "hydra.run.dir=run",
    )
    assert status == 2
    assert "is beyond its limits: a mean load of" in err
    numbers = json.loads(Path("run/metrics.json").read_text())
    assert not numbers["completed"]
    assert "beyond its limits" in numbers["reason"]
    assert len(numbers["trips"]) == 1
    assert "eyond its limits" in Path("run/report.html").read_text()
    assert "/walk/command" in read_recording("run/recording.mcap").series, "it went to rest"
