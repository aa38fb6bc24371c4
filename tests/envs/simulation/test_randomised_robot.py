"""A simulated robot whose parameters are drawn at every reset."""

import copy
import pickle

import gymnasium
import mujoco
import numpy as np
import pytest

import pliant.envs
from pliant.envs import Randomisation, SimulatedRobot, describe
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.randomisation import Uniform
from pliant.errors import ShapeError

DRAWN = Randomisation(
    mass=Uniform(0.8, 1.2),
    friction=Uniform(0.5, 1.5),
    law={"k1": Uniform(0.8, 1.2)},
    drive={"inertia": Uniform(0.9, 1.5)},
    command_delay=Uniform(0.0, 0.03),
    sensor_delay=Uniform(0.0, 0.05),
    position_noise=Uniform(0.0, 0.01),
)
COMMANDS = np.random.default_rng(2).uniform(0.0, 0.5, (8, 4))


def made(randomisation: Randomisation | None = DRAWN) -> SimulatedRobot:
    robot = SimulatedRobot(arm2(), 0.02, randomisation=randomisation, seed=1)
    robot.connect()
    return robot


def live(robot: SimulatedRobot) -> np.ndarray:
    rows = []
    for command in COMMANDS:
        robot.send(command)
        rows.append(np.concatenate(robot.read()[1:]))
    return np.array(rows)


def test_a_seed_makes_the_robot_and_its_noise():
    robot, other = made(), made()
    robot.reset(seed=5)
    parameters, motion = robot.parameters, live(robot)
    robot.reset(seed=6)
    assert set(robot.parameters.values()).isdisjoint(parameters.values())
    assert live(robot).tobytes() != motion.tobytes()
    other.reset(seed=6)
    other.reset(seed=5)
    assert other.parameters == parameters
    assert live(other).tobytes() == motion.tobytes()


def test_every_reset_draws_another_robot_and_connecting_begins_anew():
    robot = made()
    first = robot.parameters
    robot.reset()
    second = robot.parameters
    robot.connect()
    assert robot.parameters == first != second


def test_a_rollout_is_what_the_robot_drawn_does():
    robot = made()
    robot.reset(seed=3)
    motion = robot.rollout(COMMANDS)
    step = live(robot)
    assert np.hstack(motion[1:])[1:].tobytes() == step.tobytes()


def test_a_snapshot_brings_its_parameters_along():
    robot = made()
    robot.reset(seed=3)
    robot.send(COMMANDS[0])
    snapshot, parameters = robot.get_state(), robot.parameters
    expected = live(robot)
    robot.reset(seed=4)
    robot.set_state(snapshot)
    assert robot.parameters == parameters
    assert live(robot).tobytes() == expected.tobytes()
    with pytest.raises(ShapeError, match=r"0 drawn parameters, the snapshot .* it is from another kind of robot"):
        made(None).set_state(snapshot)


@pytest.mark.parametrize("through", [copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))])
def test_a_copy_is_the_same_robot_and_draws_the_same_ones(through):
    robot = made()
    robot.reset(seed=3)
    twin = through(robot)
    assert twin.parameters == robot.parameters
    assert live(twin).tobytes() == live(robot).tobytes()
    for each in (robot, twin):
        each.reset(seed=9)
    assert live(twin).tobytes() == live(robot).tobytes()
    assert twin.model is not robot.model


def test_without_randomisation_nothing_is_drawn_or_reported():
    assert made(None).parameters == {}
    pliant.envs.register()
    plain = gymnasium.make("pliant/CompliantArm2-v0")
    assert plain.reset(seed=0)[1] == {}
    drawn = gymnasium.make("pliant/CompliantArm2-v0", robot={"randomisation": DRAWN})
    _, info = drawn.reset(seed=0)
    assert info == {"parameters": drawn.unwrapped.robot.parameters}
    assert len(info["parameters"]) == len(drawn.unwrapped.robot.compiled.randomised.names) == 11


def test_what_no_factor_changes_is_not_drawn_and_every_joint_that_rubs_is():
    varied = Randomisation(damping=Uniform(0.5, 1.5), friction=Uniform(0.5, 1.5))
    assert describe("two_link").simulated(randomisation=varied).compiled.randomised.names == ()
    assert describe("rig1").simulated(randomisation=varied).compiled.randomised.names == ("joint/damping",)
    text = """<mujoco><worldbody><body><joint name="driven" axis="0 1 0" damping="0.2"/><geom size=".1"/>
    <body pos="0 0 -.4"><joint name="passive" axis="0 1 0" frictionloss="0.1"/><geom size=".1"/></body></body>
    </worldbody><actuator><motor joint="driven" ctrlrange="-1 1"/></actuator></mujoco>"""
    model = RobotModel("two", mujoco.MjSpec.from_string(text), ("driven", "passive"))
    with SimulatedRobot(model, 0.01, randomisation=varied) as robot:
        assert robot.compiled.randomised.names == ("driven/damping", "passive/friction")
        robot.reset(seed=1)
        assert robot.model.dof_damping[0] != 0.2
        assert 0.1 <= robot.model.dof_damping[0] <= 0.3
