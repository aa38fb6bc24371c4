"""Rigid joint: no spring; the commanded torque acts on the link (modes 0 and 1)."""

from pliant.actuators.law import compliance_law


@compliance_law()
def rigid(q: float, theta: float) -> float:
    """No elastic torque: τ = 0 whatever the deflection."""
    return 0.0
