"""Reference maps: from equilibrium and stiffness preset to the two motor references, and back.

Source: the qbMove manual and Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots".
"""


def antagonistic(equilibrium: float, preset: float) -> tuple[float, float]:
    """Agonist–antagonist pair: θ1 = θeq + θs, θ2 = θeq − θs (rad)."""
    return equilibrium + preset, equilibrium - preset


def antagonistic_inverse(theta1: float, theta2: float) -> tuple[float, float]:
    """Inverse of `antagonistic`: θeq = (θ1 + θ2)/2, θs = (θ1 − θ2)/2 (rad)."""
    return 0.5 * (theta1 + theta2), 0.5 * (theta1 - theta2)


def direct(equilibrium: float, preset: float) -> tuple[float, float]:
    """One motor sets the equilibrium, the other the stiffness: θ1 = θeq, second reference = preset."""
    return equilibrium, preset
