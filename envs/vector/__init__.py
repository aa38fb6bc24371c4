"""Vector environments: many simulated robots stepped together by `mujoco.batch.Batch`."""

from pliant.envs.simulation.batch import SimulatedRobots
from pliant.envs.vector.env import PliantVectorEnv
from pliant.envs.vector.member import Member

__all__ = ["Member", "PliantVectorEnv", "SimulatedRobots"]
