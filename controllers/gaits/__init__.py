"""Gaits of six-legged robots: rhythms, and the joint positions they make of a heading speed and a turn rate.

`FootGait` puts oscillators (`Kuramoto`, `Hopf`, `Salamander`) before paths of the feet and inverse kinematics;
`MatsuokaGait` is the network of neurons of a lab's robot, as published. Both are controllers.
"""

from pliant.controllers.gaits.foot_gait import FootGait
from pliant.controllers.gaits.gait import Gait, GaitCommand
from pliant.controllers.gaits.legs import Legs, Mount, hexapod_legs
from pliant.controllers.gaits.matsuoka import MatsuokaNetwork, MatsuokaUnit, Update
from pliant.controllers.gaits.matsuoka_gait import MatsuokaGait
from pliant.controllers.gaits.oscillators import Hopf, Kuramoto, Oscillators, Salamander, cadence
from pliant.controllers.gaits.patterns import LEGS, PATTERNS, Pattern

__all__ = [
    "LEGS",
    "PATTERNS",
    "FootGait",
    "Gait",
    "GaitCommand",
    "Hopf",
    "Kuramoto",
    "Legs",
    "MatsuokaGait",
    "MatsuokaNetwork",
    "MatsuokaUnit",
    "Mount",
    "Oscillators",
    "Pattern",
    "Salamander",
    "Update",
    "cadence",
    "hexapod_legs",
]
