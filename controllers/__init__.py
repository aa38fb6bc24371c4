"""From a robot's state to its next command: desired motions, learning, and what was learned."""

from pliant.controllers.controller import (
    Adjustable,
    Controller,
    End,
    Ended,
    Event,
    Observer,
    Period,
    Run,
    periods,
    run,
    run_before,
)
from pliant.controllers.desired_motion import desired_motion, for_joints
from pliant.controllers.feedforward import FeedForward, Playback, Rows
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
from pliant.controllers.recorded import Recorded
from pliant.controllers.setpoints import SetpointPID, Setpoints
from pliant.controllers.trajectories import Chirp, MinimumJerk, Motion, Sine, Step, Trajectory, sample
from pliant.controllers.trial import JointTrials, joint_columns
from pliant.controllers.two_link import Elbow, TwoLinkArm

__all__ = [
    "Adjustable",
    "Chirp",
    "Circle",
    "ComputedTorque",
    "Controller",
    "Elbow",
    "End",
    "Ended",
    "Event",
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
    "Observer",
    "PDTypeILC",
    "PTypeILC",
    "Path",
    "Period",
    "Playback",
    "Recorded",
    "Resonance",
    "Rows",
    "Run",
    "SetpointPID",
    "Setpoints",
    "Sine",
    "Step",
    "StopReason",
    "Trajectory",
    "Trial",
    "TwoLinkArm",
    "ViaPoints",
    "bandwidth",
    "coherent",
    "desired_motion",
    "estimate_frequency_response",
    "for_joints",
    "joint_columns",
    "joint_impulse_response",
    "joint_trajectory",
    "periods",
    "resonance",
    "run",
    "run_before",
    "sample",
]
