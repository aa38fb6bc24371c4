"""From a robot's state to its next command: desired motions, learning, and what was learned."""

from pliant.controllers.feedforward import FeedForward, Playback
from pliant.controllers.ilc import LearningLaw, NormOptimalILC, PDTypeILC, PTypeILC, joint_impulse_response
from pliant.controllers.learning import IterativeLearning, Learned, StopReason, Trial
from pliant.controllers.trajectories import (
    Chirp,
    MinimumJerk,
    Motion,
    Recorded,
    Sine,
    Step,
    Trajectory,
    sample,
)

__all__ = [
    "Chirp",
    "FeedForward",
    "IterativeLearning",
    "Learned",
    "LearningLaw",
    "MinimumJerk",
    "Motion",
    "NormOptimalILC",
    "PDTypeILC",
    "PTypeILC",
    "Playback",
    "Recorded",
    "Sine",
    "Step",
    "StopReason",
    "Trajectory",
    "Trial",
    "joint_impulse_response",
    "sample",
]
