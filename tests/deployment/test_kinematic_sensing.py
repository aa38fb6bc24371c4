"""Policies that look at their end effector, on machines that measure joints alone."""

import json

import numpy as np
import pytest

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("mcap")
from tests.deployment.test_series_elastic import ENCODERS, MODEL, ROBOT

from pliant.controllers.robot_parameters import parameter_differences
from pliant.deployment.kinematic_sensing import KinematicSensing, task_model
from pliant.envs import describe
from pliant.envs.description import with_signals
from pliant.envs.tasks import ReachPose
from pliant.hardware.recording import read_recording
from pliant.hardware.robot import PER_JOINT, PER_MOTOR
from pliant.hardware.wrapper import RobotWrapper


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "leg.xml").write_text(MODEL)
    (tmp_path / "leg.yaml").write_text(ROBOT + ENCODERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def moving(robot, periods=30):
    """Command a robot to and fro and yield after every period."""
    for k in range(periods):
        robot.send([0.5 * np.sin(0.2 * k), -0.6 * np.sin(0.15 * k)])
        yield k


def test_the_joints_tell_what_the_simulations_sensors_measure(folder):
    description = describe("leg.yaml")
    full = with_signals(description, ["tip"]).simulated()
    bare = description.simulated()
    model = with_signals(description, ["tip"]).simulated(sensing={})
    sensed = KinematicSensing(bare, model, ("tip",))
    assert [c.name for c in sensed.info.sensors] == [c.name for c in full.info.sensors]
    assert sensed.info.sensors == full.info.sensors
    names, seen, told = full.info.signal_names, [], []
    with full, sensed:
        for _ in zip(moving(full), moving(sensed), strict=True):
            seen.append(full.read().signals)
            told.append(sensed.read().signals)
    seen, told = np.array(seen), np.array(told)
    assert np.ptp(seen[:, names.index("tip/position_x")]) > 0.1
    np.testing.assert_allclose(told, seen, atol=1e-9)
    assert not parameter_differences(full.info.parameters, sensed.info.parameters)


def test_what_a_robot_reads_itself_is_left_alone_and_what_is_unmeasured_is_unknown(folder):
    description = with_signals(describe("leg.yaml"), ["tip"])
    itself = KinematicSensing(description.simulated(), description.simulated(), ("tip",))
    assert itself.info == description.simulated().info

    class Blind(RobotWrapper):
        def read(self):
            state = self.robot.read()
            return state._replace(position=np.array([0.0, np.nan]))

    blind = KinematicSensing(Blind(describe("leg.yaml").simulated()), description.simulated(), ("tip",))
    with blind:
        state = blind.read()
    assert np.isnan(state.sensors).all()
    assert len(state.signals) == len(blind.info.signals)


def test_only_what_the_task_needs_is_told(folder):
    description = describe("leg.yaml")
    model = task_model(description, ReachPose(), 0.02)
    assert [c.name for c in model.info.sensors] == ["tip/position_x", "tip/position_y", "tip/position_z"]
    own = len(PER_JOINT) * 2 + len(PER_MOTOR) * 2
    assert len(KinematicSensing(description.simulated(), model, ("tip",)).info.signals) == own + 3


@pytest.mark.slow
@pytest.mark.parametrize("hardware", ["simulated", "emulated"])
def test_a_policy_that_sees_its_tip_is_deployed(folder, verb, hardware):
    pytest.importorskip("stable_baselines3")
    task = ("task=reach_pose", "task.duration=0.2", "task.hold=0.04", "task.axes=xz")
    quick = ("steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16")
    quiet = ("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1")
    status, _, err = verb("train", "robot=leg.yaml", *task, *quick, *quiet, "hydra.run.dir=run")
    assert status == 0, err
    deploy = (f"hardware={hardware}", "episodes=1", "run.settle=0.1", "hydra.run.dir=out")
    status, _, err = verb("deploy", "policy=run", *deploy)
    assert status == 0, err
    numbers = json.loads((folder / "out/metrics.json").read_text())
    assert numbers["completed"]
    assert numbers["max_difference_rad"] < (1e-12 if hardware == "simulated" else 0.2)
    recording = read_recording(folder / "out/recording.mcap")
    joints, tip = (recording.series[topic] for topic in ("/joint_states", "/sensors"))
    assert list(tip["name"]) == ["tip/position_x", "tip/position_y", "tip/position_z"]
    first, both = joints["position"][:, 0], joints["position"].sum(axis=1)
    np.testing.assert_allclose(tip["value"][:, 0], -0.15 * (np.sin(first) + np.sin(both)), atol=1e-9)


@pytest.mark.slow
def test_a_policy_that_follows_a_path_is_deployed(folder, verb):
    """An untrained one: what counts is that it sees the same on the bus as where it would learn."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("mink")
    task = ("task=track_path", "task.path.centre=[-0.1,0.35]", "task.path.radius=0.015", "task.path.duration=0.3")
    quick = ("steps=16", "n_envs=2", "algo.n_steps=8", "algo.batch_size=16")
    quiet = ("evaluation.episodes=2", "logging.to=[csv]", "report.write=false", "physics_threads=1")
    status, _, err = verb("train", "robot=leg.yaml", *task, *quick, *quiet, "hydra.run.dir=run")
    assert status == 0, err
    deploy = ("hardware=emulated", "episodes=1", "run.settle=0.1", "hydra.run.dir=out")
    status, _, err = verb("deploy", "policy=run", *deploy)
    assert status == 0, err
    assert json.loads((folder / "out/metrics.json").read_text())["completed"]
