"""Robots that differ from one episode to the next: distributions of their parameters, drawn at reset."""

from pliant.envs.randomisation.distributions import Choice, Distribution, LogUniform, Normal, Uniform
from pliant.envs.randomisation.family import Conditions, RobotFamily
from pliant.envs.randomisation.randomisation import Randomisation

__all__ = [
    "Choice",
    "Conditions",
    "Distribution",
    "LogUniform",
    "Normal",
    "Randomisation",
    "RobotFamily",
    "Uniform",
]
