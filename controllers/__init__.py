"""From a robot's state to its next command: desired motions, learning, and what was learned."""

from pliant.controllers.feedforward import FeedForward, Playback
from pliant.controllers.frequency_response import (
    FrequencyResponse,
    LinearJoint,
    Resonance,
    bandwidth,
    coherent,
    estimate_frequency_response,
    resonance,
)
from pliant.controllers.ilc import LearningLaw, NormOptimalILC, PDTypeILC, PTypeILC, joint_impulse_response
from pliant.controllers.joint_pid import ComputedTorque, JointPID
from pliant.controllers.learning import IterativeLearning, Learned, StopReason, Trial
from pliant.controllers.paths import Circle, JointViaPoints, Line, Path, ViaPoints, joint_trajectory
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
from pliant.controllers.trial import JointTrials, joint_columns
from pliant.controllers.two_link import Elbow, TwoLinkArm

__all__ = [
    "Chirp",
    "Circle",
    "ComputedTorque",
    "Elbow",
    "FeedForward",
    "FrequencyResponse",
    "IterativeLearning",
    "JointPID",
    "JointTrials",
    "JointViaPoints",
    "Learned",
    "LearningLaw",
    "Line",
    "LinearJoint",
    "MinimumJerk",
    "Motion",
    "NormOptimalILC",
    "PDTypeILC",
    "PTypeILC",
    "Path",
    "Playback",
    "Recorded",
    "Resonance",
    "Sine",
    "Step",
    "StopReason",
    "Trajectory",
    "Trial",
    "TwoLinkArm",
    "ViaPoints",
    "bandwidth",
    "coherent",
    "estimate_frequency_response",
    "joint_columns",
    "joint_impulse_response",
    "joint_trajectory",
    "resonance",
    "sample",
]
