"""Simulated robots, one alone or many together, as a `RobotModel` describes them."""

from pliant.envs.simulation.by_hand import ByHand
from pliant.envs.simulation.sensing import Sensing
from pliant.envs.simulation.sensor_errors import SensorErrors
from pliant.envs.simulation.simulated_robot import SimulatedRobot, Snapshot
from pliant.envs.simulation.targets import Targets

__all__ = ["ByHand", "Sensing", "SensorErrors", "SimulatedRobot", "Snapshot", "Targets"]
