"""BAVS: bidirectional antagonism with variable stiffness (DLR).

With di = sat(θi − q):
τ = k·(b·e^(ke·d1) − a·e^(−ke·d1)) + k·(a·e^(ke·d2) − b·e^(−ke·d2))
Source: Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots", Section "Actuators".
"""

import math

from pliant.actuators import references
from pliant.actuators.law import Preset, compliance_law
from pliant.actuators.parameters import Parameter


def preset(a: float, b: float, k: float, ke: float, max_deflection: float) -> Preset:
    """Half the angle between the motors, θs = (θ1 − θ2)/2."""
    return Preset("preset", "rad", -max_deflection, max_deflection, 0.001)


def stiffness(
    q: float, theta1: float, theta2: float, a: float, b: float, k: float, ke: float, max_deflection: float
) -> float:
    """ke·k·[(a·e^(−ke·d1) + b·e^(ke·d1)) + (b·e^(−ke·d2) + a·e^(ke·d2))], saturated springs left out."""
    d1 = theta1 - q
    d2 = theta2 - q
    result = 0.0
    if abs(d1) < max_deflection:
        result += ke * k * (a * math.exp(-ke * d1) + b * math.exp(ke * d1))
    if abs(d2) < max_deflection:
        result += ke * k * (b * math.exp(-ke * d2) + a * math.exp(ke * d2))
    return result


def _spring_energy(d: float, rise: float, fall: float, k: float, ke: float, max_deflection: float) -> float:
    """Energy of one spring, torque k·(rise·e^(ke·d) − fall·e^(−ke·d)), above its value at d = 0."""
    inside = min(max(d, -max_deflection), max_deflection)
    up, down = math.exp(ke * inside), math.exp(-ke * inside)
    stored = k / ke * (rise * (up - 1.0) + fall * (down - 1.0))
    return stored + k * (rise * up - fall * down) * (d - inside)


def energy(
    q: float, theta1: float, theta2: float, a: float, b: float, k: float, ke: float, max_deflection: float
) -> float:
    """Integral of both spring torques over their deflections, zero at q = θ1 = θ2."""
    first = _spring_energy(theta1 - q, b, a, k, ke, max_deflection)
    return first + _spring_energy(theta2 - q, a, b, k, ke, max_deflection)


@compliance_law(
    parameters=(
        Parameter("a", "1", 1.21e-6, 1e-9, 1e-3, "weight of the weaker side", "toolbox default"),
        Parameter("b", "1", 2.38e-6, 1e-9, 1e-3, "weight of the stronger side", "toolbox default"),
        Parameter("k", "N·m", 1.60e5, 1.0, 1e8, "torque scale", "toolbox default"),
        Parameter("ke", "1/rad", 8.71, 0.1, 30.0, "exponent", "toolbox default"),
        Parameter("max_deflection", "rad", 0.27, 1e-3, 1.6, "deflection at which a spring stops yielding"),
    ),
    stiffness=stiffness,
    energy=energy,
    reference_map=references.antagonistic,
    inverse_map=references.antagonistic_inverse,
    preset=preset,
)
def bavs(
    q: float, theta1: float, theta2: float, a: float, b: float, k: float, ke: float, max_deflection: float
) -> tuple[float, float]:
    """Torque of each spring on the link, N·m."""
    d1 = min(max(theta1 - q, -max_deflection), max_deflection)
    d2 = min(max(theta2 - q, -max_deflection), max_deflection)
    tau1 = k * (b * math.exp(ke * d1) - a * math.exp(-ke * d1))
    tau2 = k * (a * math.exp(ke * d2) - b * math.exp(-ke * d2))
    return tau1, tau2
