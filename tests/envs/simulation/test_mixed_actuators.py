"""Robots whose model has, beside compliant joints, MuJoCo's own actuators with several inputs each."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, add_compliant_joint
from pliant.envs import SimulatedRobot
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.randomisation import Randomisation, Uniform
from pliant.envs.simulation.batch import SimulatedRobots

MODEL = """
<mujoco><option timestep=".001"/>
  <worldbody>
    <body pos="1 0 0"><joint name="eye" type="ball"/>
      <geom size=".05" mass=".1" contype="0" conaffinity="0"/></body>
    <body><joint name="hip" axis="0 1 0" damping=".05"/>
      <geom size=".02" pos="0 0 -.1" mass=".3" contype="0" conaffinity="0"/>
      <body pos="0 0 -.2"><joint name="lift" type="slide" axis="0 0 1" damping="5"/>
        <geom size=".02" mass=".2" contype="0" conaffinity="0"/><site name="tip"/></body></body>
  </worldbody>
  <actuator><orientation name="eye" joint="ball" kp="1" input="quat"/></actuator>
</mujoco>""".replace('joint="ball"', 'joint="eye"')


def robot_model(mode: int) -> RobotModel:
    spec = mujoco.MjSpec.from_string(MODEL)
    for name in ("hip", "lift"):
        add_compliant_joint(spec, name, CompliantJoint("qbmove", mode))
    return RobotModel("mixed", spec, ("hip", "lift"), {"tip": "tip"})


COMMANDS = np.clip(np.cumsum(np.random.default_rng(0).normal(0.0, 0.1, (40, 8)), axis=0), -0.7, 0.7)


@pytest.mark.parametrize("mode", [3, 4, 6])
@pytest.mark.parametrize("delay", [0.0, 0.004])
class TestControlsAreFoundByTheirAddress:
    def test_a_rollout_is_what_sending_gives(self, mode, delay):
        with SimulatedRobot(robot_model(mode), 0.01, command_delay=delay) as robot:
            assert robot.compiled.controls.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
            motion = robot.rollout(COMMANDS)
            for command in COMMANDS:
                robot.send(command)
            end = robot.read()
            assert np.abs(end.position).min() > 1e-3
            for name in ("position", "velocity", "torque", "motor_position", "spring_torque"):
                assert np.array_equal(getattr(motion, name)[-1], getattr(end, name)), name

    def test_many_robots_move_as_one(self, mode, delay):
        varied = Randomisation(command_delay=Uniform(0.0, delay)) if delay else None
        robot = SimulatedRobot(robot_model(mode), 0.01, randomisation=varied)
        many = SimulatedRobots(robot, 3)
        reading, command = np.zeros((3, len(robot.info.signals))), np.zeros((3, 8))
        index = np.arange(3)
        many.reset(index, [5, 6, 7], np.full((3, 2), 0.1), reading, command)
        for row in COMMANDS:
            command[:] = row
            assert not many.send(index, command, reading)
        for k, seed in enumerate((5, 6, 7)):
            with SimulatedRobot(robot_model(mode), 0.01, randomisation=varied) as single:
                single.reset(seed=seed, position=[0.1, 0.1])
                for row in COMMANDS:
                    single.send(row)
                end = single.read()
            assert np.array_equal(reading[k], end.signals)


def test_columns_of_a_slide_are_in_metres_and_newtons():
    with SimulatedRobot(robot_model(4), 0.01) as robot:
        assert [channel.unit for channel in robot.info.command[:4]] == ["N·m", "N·m", "N", "N"]


def test_an_orientation_rests_where_its_joint_stands_and_lies_within_one():
    with SimulatedRobot(robot_model(3), 0.01) as robot:
        eye = [channel for channel in robot.info.command if channel.name.startswith("eye/")]
        assert [channel.name for channel in eye] == ["eye/qw", "eye/qx", "eye/qy", "eye/qz"]
        assert [channel.rest for channel in eye] == [1.0, 0.0, 0.0, 0.0]
        assert {(channel.low, channel.high) for channel in eye} == {(-1.0, 1.0)}
