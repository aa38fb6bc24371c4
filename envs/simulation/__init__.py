"""Simulated robots, one alone or many together, as a `RobotModel` describes them."""

from pliant.envs.simulation.sensing import Sensing
from pliant.envs.simulation.simulated_robot import SimulatedRobot, Snapshot

__all__ = ["Sensing", "SimulatedRobot", "Snapshot"]
