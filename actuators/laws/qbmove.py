"""qbMove: two motors pull the link through hardening springs, agonist against antagonist.

τ = −k1·sinh(a1·sat(q − θ1)) − k2·sinh(a2·sat(q − θ2))
Sources: qbMove Advanced manual; Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots" (which
prints a and k of the identified joints exchanged).
"""

import math

from pliant.actuators import references
from pliant.actuators.law import Preset, compliance_law
from pliant.actuators.parameters import Parameter


def preset(k1: float, a1: float, k2: float, a2: float, max_deflection: float) -> Preset:
    """Half the angle between the motors, θs = (θ1 − θ2)/2."""
    return Preset("preset", "rad", -max_deflection, max_deflection, 0.0)


def stiffness(
    q: float, theta1: float, theta2: float, k1: float, a1: float, k2: float, a2: float, max_deflection: float
) -> float:
    """Σ ai·ki·cosh(ai·δi) over the springs that are not saturated."""
    d1 = q - theta1
    d2 = q - theta2
    result = 0.0
    if abs(d1) < max_deflection:
        result += a1 * k1 * math.cosh(a1 * d1)
    if abs(d2) < max_deflection:
        result += a2 * k2 * math.cosh(a2 * d2)
    return result


def _spring_energy(deflection: float, k: float, a: float, max_deflection: float) -> float:
    size = abs(deflection)
    inside = min(size, max_deflection)
    return k / a * (math.cosh(a * inside) - 1.0) + k * math.sinh(a * inside) * (size - inside)


def energy(
    q: float, theta1: float, theta2: float, k1: float, a1: float, k2: float, a2: float, max_deflection: float
) -> float:
    """Σ (ki/ai)·(cosh(ai·δi) − 1), growing linearly past max_deflection."""
    first = _spring_energy(q - theta1, k1, a1, max_deflection)
    return first + _spring_energy(q - theta2, k2, a2, max_deflection)


def _sinh(x: float) -> float:
    """Sinh x from one exponential: half the time of `math.sinh`, exact to 1e-16·cosh x."""
    e = math.exp(x)
    return 0.5 * (e - 1.0 / e)


@compliance_law(
    parameters=(
        Parameter("k1", "N·m", 0.0019, 1e-6, 10.0, "torque scale of spring 1", "toolbox default"),
        Parameter("a1", "1/rad", 8.9992, 0.1, 30.0, "exponent of spring 1", "toolbox default"),
        Parameter("k2", "N·m", 0.0019, 1e-6, 10.0, "torque scale of spring 2", "toolbox default"),
        Parameter("a2", "1/rad", 8.9992, 0.1, 30.0, "exponent of spring 2", "toolbox default"),
        Parameter("max_deflection", "rad", 0.8, 1e-3, 1.6, "deflection at which a spring stops yielding"),
    ),
    stiffness=stiffness,
    energy=energy,
    reference_map=references.antagonistic,
    inverse_map=references.antagonistic_inverse,
    preset=preset,
    sets={
        "manual": {"k1": 0.0026, "a1": 8.9995, "k2": 0.0011, "a2": 8.9989},
        "maker_pro": {"k1": 0.0227, "a1": 6.7328, "k2": 0.0216, "a2": 6.9602},
        "identified_joint1": {"k1": 0.01038, "a1": 6.257, "k2": 0.08918, "a2": 3.9},
        "identified_joint2": {"k1": 0.1015, "a1": 3.383, "k2": 0.05944, "a2": 7.011},
    },
)
def qbmove(
    q: float, theta1: float, theta2: float, k1: float, a1: float, k2: float, a2: float, max_deflection: float
) -> tuple[float, float]:
    """Torque of each spring on the link, N·m."""
    d1 = min(max(q - theta1, -max_deflection), max_deflection)
    d2 = min(max(q - theta2, -max_deflection), max_deflection)
    return -k1 * _sinh(a1 * d1), -k2 * _sinh(a2 * d2)
