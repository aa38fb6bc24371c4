"""A compliance law: a spring that stiffens as it is deflected.

Only floats, `math` and plain functions of this file: Python calls them when you debug, Numba compiles them to run.
"""

from pliant.actuators import Parameter, compliance_law


def stiffness(q: float, theta: float, k: float, k3: float) -> float:
    """Return −dτ/dq, N·m/rad. Without it a central difference of the torque is used."""
    d = q - theta
    return k + 3.0 * k3 * d * d


def energy(q: float, theta: float, k: float, k3: float) -> float:
    """Return what the spring stores, J. Without it asking for the energy is an error."""
    d = q - theta
    return 0.5 * k * d * d + 0.25 * k3 * d * d * d * d


@compliance_law(
    parameters=(  # name, unit, default, lowest, highest, meaning
        Parameter("k", "N·m/rad", 5.0, 0.1, 100.0, "linear stiffness"),
        Parameter("k3", "N·m/rad³", 40.0, 0.0, 1e4, "cubic stiffness"),
    ),
    stiffness=stiffness,
    energy=energy,
)
def my_law(q: float, theta: float, k: float, k3: float) -> float:
    """Return the torque on the link, N·m, positive along +q, for its angle and that of the motor, rad."""
    d = q - theta
    return -(k * d + k3 * d * d * d)
