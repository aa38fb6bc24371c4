"""A servo's gear on a MuJoCo joint: friction with a budget, and the load that it depends on.

The friction (`pliant.actuators.bam`) is carried by a bristle:

    τf = −clip(K·(q − w) + D·q̇, ±budget),   w dragged along so that |K·(q − w)| ≤ budget,   D = 2·h·K

so that it takes energy only, holds still what it can hold, and needs no constraint. K is what an explicit step
carries on the joint's smallest inertia (`explicit_stiffness`): the bristle gives way by budget/K, which falls
with the square of the step, and is half-critically damped. Where the joint would turn round within a step it is
stopped exactly, as the friction of rest begins at the speed zero.

The load on the gear (τe of the friction laws) is not known to a callback when contacts have a part in it. It
is taken from the step before: what accelerated the joint and did not come from the servo,

    τe = I·Δq̇/h − τ,   I: the joint's own entry of the inertia matrix, τ: the servo's torque, friction included

which for a pendulum is its weight, and is found from positions, velocities and activations alone, so that a
state that is copied or restored goes on as it did.
"""

from typing import Final

from pliant.actuators.bam import friction_budget, friction_torque

VISCOUS: Final = ("kv",)
"""Parameters of a drive with a gear that its viscous friction grows with, in proportion."""
DRY: Final = ("kc", "kcs", "km", "ke", "kms", "kes", "kmq", "keq")
"""Those of its dry friction, of rest and of load."""


def gear_friction(
    q: float,
    dq: float,
    torque: float,
    anchor: float,
    budget: float,
    bristle_stiffness: float,
    inertia: float,
    step: float,
) -> tuple[float, float]:
    """Friction over a step, N·m, and the bristle's anchor after it, rad.

    Args:
        q: angle of the joint, rad.
        dq: its speed, rad/s.
        torque: of motor and load on it, N·m.
        anchor: w, rad.
        budget: largest friction, N·m.
        bristle_stiffness: K, N·m/rad.
        inertia: I, kg·m².
        step: h, s.
    """
    reach = budget / bristle_stiffness
    held = min(max(anchor, q - reach), q + reach)
    pull = bristle_stiffness * (q - held + 2.0 * step * dq)
    friction = friction_torque(-pull, budget)
    after = dq + step * (torque + friction) / inertia
    if abs(pull) > budget and after * dq < 0.0:  # it slips and would turn round: it stops, its bristle in balance
        friction = friction_torque(-(inertia * dq / step + torque), budget)
        held = q - torque / bristle_stiffness
    return friction, held


def geared_step(
    q: float,
    dq: float,
    motor: float,
    step: float,
    inertia: float,
    explicit_stiffness: float,
    low: float,
    high: float,
    anchor: float,
    last_speed: float,
    torque: float,
    begun: float,
    kv: float,
    kc: float,
    kcs: float,
    stribeck_speed: float,
    stribeck_exponent: float,
    km: float,
    ke: float,
    kms: float,
    kes: float,
    kmq: float,
    keq: float,
) -> tuple[float, float]:
    """The bristle's anchor after a step, rad, and the torque of a servo over it, friction included, N·m.

    Args:
        q: angle of the joint, rad.
        dq: its speed, rad/s.
        motor: torque of the motor, N·m.
        step: s.
        inertia: of the joint, with all that hangs on it and the servo's armature, kg·m².
        explicit_stiffness: of the bristle, N·m/rad.
        low: least torque that the joint lets through, N·m.
        high: largest.
        anchor: before the step, rad.
        last_speed: speed before the last step, rad/s.
        torque: over the last step, N·m.
        begun: 0 before the first step.
        kv, kc, kcs, stribeck_speed, stribeck_exponent, km, ke, kms, kes, kmq, keq: see `bam.FRICTION_PARAMETERS`.
    """
    external, before = 0.0, q
    if begun != 0.0:
        external, before = inertia * (dq - last_speed) / step - torque, anchor
    budget = friction_budget(
        dq, motor, external, kv, kc, kcs, stribeck_speed, stribeck_exponent, km, ke, kms, kes, kmq, keq
    )
    friction, held = gear_friction(q, dq, motor + external, before, budget, explicit_stiffness, inertia, step)
    return held, min(max(motor + friction, low), high)


def rubs(
    kv: float, kc: float, kcs: float, km: float, ke: float, kms: float, kes: float, kmq: float, keq: float
) -> tuple[bool, bool]:
    """Whether the gear brings viscous friction, and dry friction."""
    return kv > 0.0, any((kc, kcs, km, ke, kms, kes, kmq, keq))
