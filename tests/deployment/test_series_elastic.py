"""A servo behind one spring: from the user's file over what is learned to the servos on the emulated bus."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from pliant.controllers.spring_sensing import SpringSensing
from pliant.deployment.machines import dynamixel_config
from pliant.envs import describe
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.hardware.recording import read_recording

MODEL = """
<mujoco model="leg">
  <option timestep="0.001" integrator="implicitfast"/>
  <worldbody>
    <body name="thigh" pos="0 0 0.6">
      <joint name="hip" axis="0 1 0" range="-60 60" damping="0.05"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.15" mass="0.2"/>
      <body name="shank" pos="0 0 -0.15">
        <joint name="knee" axis="0 1 0" range="-70 70" damping="0.05"/>
        <geom type="capsule" size="0.015" fromto="0 0 0 0 0 -0.15" mass="0.1"/>
        <site name="toe" pos="0 0 -0.15"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
ROBOT = """
model: leg.xml
period: 0.02
joints:
  "*": {law: sea, k: 3.0, mode: 6}
end_effectors: {tip: toe}
machine:
  bus: dynamixel
  model: XM430-W350
  servos: {hip: 1, knee: {servo: 2, direction: -1}}
"""
ENCODERS = "  encoders: {hip: 3, knee: 4}\n"
COUNT = 2 * math.pi / 4096


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "leg.xml").write_text(MODEL)
    (tmp_path / "leg.yaml").write_text(ROBOT + ENCODERS)
    (tmp_path / "blind.yaml").write_text(ROBOT)
    (tmp_path / "soft.yaml").write_text((ROBOT + ENCODERS).replace("k: 3.0", "k: 0.25"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def emulated(file):
    """A robot's driver, with the robot itself at the far end of the wire."""
    description = describe(file)
    behind = description.simulated(float(description.model.spec.option.timestep))
    return EmulatedRobot(dynamixel_config(description, ""), behind)


def test_the_bench_has_the_columns_that_learning_has(folder):
    info = describe("leg.yaml").simulated().info
    driver = emulated("leg.yaml")
    assert driver.info.command == info.command
    assert driver.info.command_names == ("hip/equilibrium", "knee/equilibrium")
    assert driver.info.signals == info.signals
    assert driver.unmeasured == frozenset()
    driver.power_off()


def test_the_robot_explains_itself_that_an_encoder_is_missing(folder, verb):
    said = {}
    for file in ("leg.yaml", "blind.yaml"):
        status, out, err = verb("robot", file)
        assert status == 0, err
        said[file] = " ".join(out.split())
    assert "no encoder on the link of hip, knee" in said["blind.yaml"]
    assert "no encoder" not in said["leg.yaml"]


def test_the_servo_moves_and_the_spring_yields_under_the_links_weight(folder):
    driver = emulated("leg.yaml")
    springs = describe("leg.yaml").simulated().compiled.joints
    try:
        with driver:
            for k in range(200):
                target = 0.5 * min(k / 100, 1.0)
                sent = driver.send([target, 0.0])
                driver.read()  # waits until the bus has come so far
            state, sensed = driver.read(), SpringSensing(driver, springs).read()
    finally:
        driver.power_off()
    np.testing.assert_allclose(sent, [0.5, 0.0], atol=COUNT)
    np.testing.assert_allclose(state.motor_position, [0.5, 0.0], atol=0.02)
    deflection = state.position - state.motor_position
    # Weight turns the hip back: (0.2·0.075 + 0.1·0.15)·sin(q₁) + 0.1·0.075·sin(q₁ + q₂), times g
    hip, knee = state.position
    weight = 9.81 * np.array([0.03 * math.sin(hip) + 0.0075 * math.sin(hip + knee), 0.0075 * math.sin(hip + knee)])
    assert deflection[0] < -0.03
    np.testing.assert_allclose(-3.0 * deflection, weight, atol=3.0 * 3 * COUNT)
    np.testing.assert_allclose(sensed.torque, -3.0 * deflection, atol=1e-9)
    np.testing.assert_allclose(sensed.stiffness, 3.0)


def test_without_an_encoder_nobody_pretends_to_know_where_the_link_is(folder):
    driver = emulated("blind.yaml")
    springs = describe("blind.yaml").simulated().compiled.joints
    assert {"hip/position", "knee/position", "hip/velocity", "knee/velocity"} == driver.unmeasured
    try:
        with driver:
            driver.send([0.0, 0.0])
            state = SpringSensing(driver, springs).read()
    finally:
        driver.power_off()
    assert np.isnan(state.position).all()
    assert np.isnan(state.stiffness).all()
    np.testing.assert_allclose(state.motor_position, 0.0, atol=0.01)


@pytest.mark.slow
def test_a_motion_is_learned_and_played_on_the_bus(folder, verb):
    lift = ("trajectory.goal=0.4", "trajectory.duration=2", "learning.tolerance=0.02")
    small = ("robustness.robots=0", "report.pictures=false", "hydra.run.dir=lift")
    status, _, err = verb("ilc", "robot=leg.yaml", *lift, *small)
    assert status == 0, err
    played = ("feedforward=lift", "run.settle=0.5")
    status, _, err = verb("deploy", *played, "hardware=emulated", "hardware.gap=null", "hydra.run.dir=out")
    assert status == 0, err
    numbers = json.loads((folder / "out/metrics.json").read_text())
    assert numbers["completed"]
    assert numbers["max_error_rad"] < 0.06
    recording = read_recording(folder / "out/recording.mcap")
    assert np.ptp(recording.series["/joint_states"]["position"], axis=0).min() > 0.35

    status, _, err = verb("deploy", *played, "robot=soft.yaml")
    assert status == 2
    assert "joints.hip.parameters.k: 3.0 in the file, 0.25 here" in err
    assert "to use it all the same: same_robot=false" in err

    status, _, err = verb("deploy", *played, "hardware=emulated", "robot.machine.encoders=null")
    assert status == 2
    assert "nothing measures the position of joint hip, knee; give its link an encoder" in err


@pytest.mark.slow
def test_a_policy_is_trained_and_played_on_the_bus(folder, verb, pliant):
    pytest.importorskip("stable_baselines3")
    quick = ("task.duration=0.2", "task.hold=0.04", "steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16")
    quiet = ("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1")
    status, _, err = verb("train", "robot=leg.yaml", "task=reach", *quick, *quiet, "hydra.run.dir=run")
    assert status == 0, err
    deploy = ("hardware=emulated", "episodes=1", "run.settle=0.1")
    status, _, err = verb("deploy", "policy=run", *deploy, "hydra.run.dir=out")
    assert status == 0, err
    assert json.loads((folder / "out/metrics.json").read_text())["completed"]
    status, _, err = verb("deploy", "policy=run", *deploy, "robot.machine.encoders=null")
    assert (status, "nothing measures the position of joint hip, knee" in err) == (2, True), err
    for name, *others in (("deploy", *deploy[1:]), ("evaluate", "episodes=1", "robots=0"), ("play", "episodes=1")):
        policy = "policy=run" if name == "deploy" else "run"
        status, _, err = verb(name, policy, "robot=soft.yaml", *others)
        assert (status, "joints.knee.parameters.k: 3.0 in the file, 0.25 here" in err) == (2, True), name
    done = pliant("play", "run", "robot=soft.yaml", "same_robot=false", "episodes=1")
    assert done.returncode == 0, done.stderr
    assert "is used on a robot that differs:\n  - joints.hip.parameters.k: 3.0 in" in done.stdout + done.stderr
