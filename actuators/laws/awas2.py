"""AwAS-II: a lever whose pivot a second drive moves along its length; stiffness from near zero upwards.

τ = −2·Ks·[(L/r)·σ/(L − σ)]²·sin δ·cos δ, δ = sat(q − θ1), σ: pivot position in m, 0 ≤ σ < L.
Sources: Jafari et al. 2011; Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots".

The pivot's lead screw cannot be back-driven, so the spring puts no load on it.
"""

import math

from pliant.actuators import references
from pliant.actuators.law import Preset, compliance_law
from pliant.actuators.parameters import Parameter


def preset(Ks: float, L: float, r: float, max_deflection: float) -> Preset:
    """Pivot position σ. It stops at 0.8·L, the published stiffest setting; the law is singular at L."""
    return Preset("pivot", "m", 0.0, 0.8 * L, 0.1 * L)


def lever(sigma: float, L: float, r: float) -> float:
    """Squared amplification of the lever, [(L/r)·σ/(L − σ)]²."""
    ratio = L / r * sigma / (L - sigma)
    return ratio * ratio


def stiffness(
    q: float, theta1: float, theta2: float, Ks: float, L: float, r: float, max_deflection: float
) -> float:
    """2·Ks·[…]²·(2·cos²δ − 1); zero past max_deflection."""
    if abs(q - theta1) >= max_deflection:
        return 0.0
    c = math.cos(q - theta1)
    return 2.0 * Ks * lever(theta2, L, r) * (2.0 * c * c - 1.0)


def energy(q: float, theta1: float, theta2: float, Ks: float, L: float, r: float, max_deflection: float) -> float:
    """Ks·[…]²·sin²δ, growing linearly past max_deflection. Moving the pivot under load takes work."""
    size = abs(q - theta1)
    inside = min(size, max_deflection)
    s, c = math.sin(inside), math.cos(inside)
    return Ks * lever(theta2, L, r) * (s * s + 2.0 * s * c * (size - inside))


@compliance_law(
    parameters=(
        Parameter("Ks", "N·m/rad", 10.0, 1e-3, 1e4, "stiffness of the lever's springs", "toolbox default"),
        Parameter("L", "m", 0.05, 1e-3, 1.0, "length of the lever", "toolbox default"),
        Parameter("r", "m", 0.015, 1e-4, 1.0, "arm of the springs", "toolbox default"),
        Parameter("max_deflection", "rad", 0.3, 1e-3, 0.75, "deflection at which the spring stops yielding"),
    ),
    stiffness=stiffness,
    energy=energy,
    reference_map=references.direct,
    preset=preset,
    pivot=True,
)
def awas2(
    q: float, theta1: float, theta2: float, Ks: float, L: float, r: float, max_deflection: float
) -> tuple[float, float]:
    """Torque of the lever on the link, N·m; `theta2` is the pivot position σ in m."""
    d = min(max(q - theta1, -max_deflection), max_deflection)
    return -2.0 * Ks * lever(theta2, L, r) * math.sin(d) * math.cos(d), 0.0
