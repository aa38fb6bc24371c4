"""What a robot says of itself in the files of what is learned on it."""

import json

import pytest
from tests.envs.simulation.robots import ROBOTS, TOOL_MASS, mixed, six_axis

from pliant.envs.models.arm2 import arm2
from pliant.envs.randomisation import Randomisation, Uniform
from pliant.envs.simulation import SimulatedRobot


@pytest.mark.parametrize("name", ROBOTS)
def test_every_build_says_what_it_is_as_plain_data(name):
    model = ROBOTS[name]()
    said = SimulatedRobot(model, 0.01).info.parameters
    assert json.loads(json.dumps(said)) == said
    assert set(said) == {"joints", "actuators", "bodies"}
    assert list(said["joints"]) == list(model.joints)


def test_laws_drives_masses_and_gains_are_among_it():
    said = SimulatedRobot(mixed(), 0.01).info.parameters
    j1, j3, j5, j6 = (said["joints"][f"j{k}"] for k in (1, 3, 5, 6))
    assert (j1["law"], j1["mode"], j1["parameters"]["k"]) == ("pliant.actuators.laws.sea:sea", 6, 20.0)
    assert j1["motor"]["torque_limit"] == 8.0
    assert j3["servo"] is not None
    assert (j5["law"], j6["law"], j6["damping"]) == (None, None, 0.02)
    assert said["actuators"]["j5"]["gear"][0] == 4.0
    assert [said["bodies"][f"link{k}"]["mass"] for k in (1, 2, 4)] == [0.2, 0.1, 0.05]
    arm = SimulatedRobot(six_axis("position"), 0.01).info.parameters
    assert arm["actuators"]["axis3"]["gainprm"][0] == 20000.0
    assert arm["bodies"]["tool"]["mass"] == TOOL_MASS
    assert arm["bodies"]["tool"]["centre"] == pytest.approx([0.0, 0.0, 0.07])


def test_a_robot_that_varies_says_what_it_is_nominally_and_between_which_factors():
    varied = Randomisation(mass=Uniform(0.8, 1.2), law={"k1": Uniform(0.9, 1.1)}, command_delay=Uniform(0.0, 0.01))
    robot = SimulatedRobot(arm2(), 0.01, randomisation=varied)
    with robot:
        robot.reset(seed=1)
        said = dict(robot.info.parameters)
    assert said.pop("varied") == {"mass": [0.8, 1.2], "law.k1": [0.9, 1.1]}
    assert said == SimulatedRobot(arm2(), 0.01).info.parameters
