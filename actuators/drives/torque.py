"""Ideal torque drive of a rigid joint (mode 0): the commanded torque, within its limit."""

from pliant.actuators.drive import link_drive
from pliant.actuators.parameters import Parameter


@link_drive(
    parameters=(Parameter("torque_limit", "N·m", 6.0, 1e-3, 1e4, "largest torque", "toolbox"),),
    torque_command=True,
)
def torque(target: float, torque_limit: float) -> float:
    """τ = sat(command, ±limit)."""
    return min(max(target, -torque_limit), torque_limit)
