"""Control of the interaction of a tool with its surroundings: force laws, frames, motions, and the controller."""

from pliant.controllers.interaction.controller import InteractionController
from pliant.controllers.interaction.execution import Conditioning, Feedback, Mode, Watch
from pliant.controllers.interaction.frames import ArmFrames, Frame, twist_in, wrench_in
from pliant.controllers.interaction.gains import AdmittanceGains, DirectForceGains, LawLimits
from pliant.controllers.interaction.goals import (
    Approach,
    CartesianTrajectory,
    DesiredWrench,
    Goal,
    JointSetpoint,
    NewGains,
    Replay,
    Tare,
    Wait,
)
from pliant.controllers.interaction.laws import Admittance, DirectForce, ExplicitAdmittance, Law, law_of
from pliant.controllers.interaction.motion import CartesianMotion, CartesianPath
from pliant.controllers.interaction.planning import Arm
from pliant.controllers.interaction.stability import (
    Contact,
    Loop,
    LowPass,
    Verdict,
    check_stability,
    suggested_gains,
    verdicts,
)
from pliant.controllers.interaction.steering import SteeredInteraction
from pliant.controllers.interaction.teaching import Demonstration

__all__ = [
    "Admittance",
    "AdmittanceGains",
    "Approach",
    "Arm",
    "ArmFrames",
    "CartesianMotion",
    "CartesianPath",
    "CartesianTrajectory",
    "Conditioning",
    "Contact",
    "Demonstration",
    "DesiredWrench",
    "DirectForce",
    "DirectForceGains",
    "ExplicitAdmittance",
    "Feedback",
    "Frame",
    "Goal",
    "InteractionController",
    "JointSetpoint",
    "Law",
    "LawLimits",
    "Loop",
    "LowPass",
    "Mode",
    "NewGains",
    "Replay",
    "SteeredInteraction",
    "Tare",
    "Verdict",
    "Wait",
    "Watch",
    "check_stability",
    "law_of",
    "suggested_gains",
    "twist_in",
    "verdicts",
    "wrench_in",
]
