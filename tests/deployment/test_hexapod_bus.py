"""The hexapod's 18 servos on an emulated bus, by the driver that the machine has."""

import numpy as np

from pliant.deployment.machines import dynamixel_config
from pliant.envs import describe
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.envs.models.hexapod import JOINTS, LINKS


def test_its_servos_are_those_of_the_table():
    config = dynamixel_config(describe("hexapod"), "")
    numbers = {joint.name: joint.servos[0].servo for joint in config.joints}
    assert tuple(numbers) == JOINTS
    assert sorted(numbers.values()) == list(range(1, 19))
    assert [numbers[f"middle_right_{link}"] for link in LINKS] == [14, 16, 18]
    assert config.protocol == 1
    assert config.cycle_time < config.period == 0.019


def test_on_the_bus_it_stands_as_in_the_simulation_and_moves_one_leg():
    """Goals and readings are whole counts of 5.1 mrad; the bus has its servos' own gears, without bristles."""
    description = describe("hexapod")
    with description.simulated() as simulated:
        for _ in range(100):
            simulated.send(simulated.info.rest)
        expected = simulated.read().position
        robot = EmulatedRobot(dynamixel_config(description, ""), description.simulated(0.001))
        assert robot.info.command == simulated.info.command
    try:
        robot.connect()
        for _ in range(100):
            robot.send(robot.info.rest)
        np.testing.assert_allclose(robot.read().position, expected, rtol=0, atol=0.02)
        command = robot.info.rest.copy()
        command[JOINTS.index("front_left_coxa")] = 0.3
        for _ in range(20):
            robot.send(command)
        moved = robot.read().position - expected
        assert abs(moved[0] - 0.3) < 0.03
        assert np.abs(moved[3:]).max() < 0.03
    finally:
        robot.power_off()
