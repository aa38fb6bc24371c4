"""Vector environments: many simulated robots stepped together by `mujoco.batch.Batch`."""

from pliant.envs.vector.env import PliantVectorEnv
from pliant.envs.vector.member import Member
from pliant.envs.vector.robots import SimulatedRobots

__all__ = ["Member", "PliantVectorEnv", "SimulatedRobots"]
