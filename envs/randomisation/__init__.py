"""Robots that differ from one episode to the next: distributions of their parameters, drawn at reset."""

from pliant.envs.randomisation.distributions import Choice, Distribution, LogUniform, Normal, Uniform
from pliant.envs.randomisation.randomisation import Randomisation
from pliant.envs.randomisation.randomised_robot import Conditions, RandomisedRobot

__all__ = [
    "Choice",
    "Conditions",
    "Distribution",
    "LogUniform",
    "Normal",
    "Randomisation",
    "RandomisedRobot",
    "Uniform",
]
