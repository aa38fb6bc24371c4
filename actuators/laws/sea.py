"""Series elastic actuator: a linear spring between motor and link.

τ = −k·sat(q − θ), with sat(·) clamping the deflection to ±max_deflection.
Source: Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots", Section "Actuators".
"""

from pliant.actuators.law import compliance_law
from pliant.actuators.parameters import Parameter


def stiffness(q: float, theta: float, k: float, max_deflection: float) -> float:
    """−∂τ/∂q = k; zero past max_deflection, where the torque is flat."""
    return k if abs(q - theta) < max_deflection else 0.0


def energy(q: float, theta: float, k: float, max_deflection: float) -> float:
    """Energy k·d²/2, growing linearly past max_deflection (constant torque)."""
    deflection = abs(q - theta)
    inside = min(deflection, max_deflection)
    return 0.5 * k * inside * inside + k * inside * (deflection - inside)


@compliance_law(
    parameters=(
        Parameter("k", "N·m/rad", 10.0, 1e-3, 1e5, "spring stiffness", "toolbox default; rigs 200 and 400"),
        Parameter("max_deflection", "rad", 0.8, 1e-3, 3.2, "deflection at which the spring stops yielding"),
    ),
    stiffness=stiffness,
    energy=energy,
    sets={"soft": {"k": 200.0}, "stiff": {"k": 400.0}},
)
def sea(q: float, theta: float, k: float, max_deflection: float) -> float:
    """Spring torque on the link, N·m."""
    return -k * min(max(q - theta, -max_deflection), max_deflection)
