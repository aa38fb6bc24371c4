"""How a joint on a nonlinear spring answers a sine of finite amplitude, by the method of harmonic balance.

The spring is replaced by the linear one that carries the same fundamental. Good where the joint's inertia and
friction hold the higher harmonics down, and where a frequency has one answer only.

Source: Gelb & Vander Velde 1968, Multiple-input describing functions and nonlinear system design, chapter 2.
"""

import numpy as np

from pliant.actuators import Compliance
from pliant.controllers.checks import Array
from pliant.controllers.frequency_response import FrequencyResponse, LinearJoint


def equivalent_stiffness(law: Compliance, preset: float, amplitude: float) -> float:
    """Stiffness of the linear spring that carries the same fundamental, N·m/rad.

    The describing function K(A) = 1/(π·A)·∫ −τ(A·cos φ)·cos φ dφ over a turn, for a deflection A·cos φ. For equal
    exponential springs it is K0·2·I1(a·A)/(a·A).

    Args:
        law: of the joint.
        preset: stiffness preset, rad.
        amplitude: A, rad, > 0.
    """
    cosines = np.cos(2.0 * np.pi * (np.arange(64) + 0.5) / 64)
    references = law.references(0.0, preset)
    torque = np.array([law.torque(amplitude * float(c), *references) for c in cosines])
    return float(-2.0 * np.mean(torque * cosines) / amplitude)


def harmonic_balance(
    law: Compliance, preset: float, linear: LinearJoint, amplitude: float, frequency: Array
) -> FrequencyResponse:
    """Response of the joint to a sine of finite amplitude, its spring replaced by the equivalent linear one.

    H = K(A)/(K(A) − I·ω² + j·d·ω) where the deflection's amplitude is A = amplitude·|1 − H|; solved for A.
    """
    from scipy.optimize import brentq

    def gain(deflection: float, f: float) -> complex:
        joint = LinearJoint(equivalent_stiffness(law, preset, deflection), linear.inertia, linear.damping)
        return complex(joint.response([f]).response[0])

    values = []
    for f in frequency.tolist():
        A = brentq(lambda a, f=f: a - amplitude * abs(1.0 - gain(a, f)), 1e-6 * amplitude, 20.0 * amplitude)
        values.append(gain(A, f))
    return FrequencyResponse(frequency, np.array(values), np.ones_like(frequency))
