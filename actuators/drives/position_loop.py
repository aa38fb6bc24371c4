"""Stiff position loop of a rigid joint (mode 1), such as an industrial arm's, integrated implicitly by MuJoCo.

τ = sat(kp·(target − q) − kd·q̇, ±limit)

It is an actuator of MuJoCo's own, with affine bias, whose derivatives the integrators know: `implicit` and
`implicitfast` take the damping implicitly, which with critical damping carries ω·h up to 4.8, `discrete` the
stiffness too, which carries any. Under `euler` and `RK4` it is explicit, as `link_pid` is everywhere. Without an
integral term; not for a real servo with a gear, whose friction and voltage limit it lacks (`ServoDrive`).
"""

from pliant.actuators.drive import Affine, link_drive
from pliant.actuators.parameters import Parameter


def affine(kp: float, kd: float, damping_ratio: float, torque_limit: float) -> Affine:
    """MuJoCo finds the damping of a ratio when it compiles the model, which asks for it by a positive number."""
    return Affine(kp, -kp, -kd if kd > 0.0 else damping_ratio, torque_limit)


def stiffness(kp: float) -> float:
    """N·m/rad."""
    return kp


def damping(kd: float) -> float:
    """N·m·s/rad."""
    return kd


@link_drive(
    parameters=(
        Parameter("kp", "N·m/rad", 1e4, 1e-3, 1e7, "stiffness"),
        Parameter("kd", "N·m·s/rad", 0.0, 0.0, 1e6, "damping; 0: by the damping ratio"),
        Parameter(
            "damping_ratio", "1", 1.0, 0.0, 10.0, "of the joint's inertia in the first pose, the others free"
        ),
        Parameter("torque_limit", "N·m", 1e3, 1e-3, 1e6, "largest torque"),
    ),
    fixed=("kp", "kd", "damping_ratio", "torque_limit"),
    stiffness=stiffness,
    damping=damping,
    affine=affine,
)
def position_loop(q: float, dq: float, target: float, kp: float, kd: float, torque_limit: float) -> float:
    """Torque on the link, N·m."""
    return min(max(kp * (target - q) - kd * dq, -torque_limit), torque_limit)
