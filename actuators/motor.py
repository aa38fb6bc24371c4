"""DC motor behind a gearbox, with Dahl friction, torque and speed limits; and the pivot drive of a lever.

J·θ̈ + D·θ̇ + τ_f = sat(u, ±τ_max) − τ_spring, |θ̇| ≤ ω_max

τ_spring is the torque the motor's spring puts on the *link*; by Newton's third law the motor feels it with
the opposite sign. (Equations 2 and 3 of Mengacci et al. together have that sign wrong; conservation of energy
decides.) Friction is Dahl's law as in Hayward & Armstrong, "A new computational model of friction applied to
haptic rendering", 2000: a bristle of stiffness K anchored at w, τ_f = K·(θ − w), the anchor dragged along when
|τ_f| would exceed τ_s. It is passive, independent of the step size, and does not creep below τ_s.
"""

import math
from dataclasses import dataclass

from pliant.actuators.parameters import Parameter, resolve

MOTOR_PARAMETERS = (
    Parameter("inertia", "kg·m²", 0.0233, 1e-6, 10.0, "rotor inertia J after the gearbox", "toolbox"),
    Parameter("damping", "N·m·s/rad", 0.2698, 0.0, 100.0, "viscous friction D", "toolbox"),
    Parameter("torque_limit", "N·m", 6.0, 1e-3, 1e4, "largest motor torque τ_max", "toolbox"),
    Parameter("speed_limit", "rad/s", 6.0, 1e-2, 1e3, "largest motor speed ω_max", "toolbox"),
    Parameter("static_friction", "N·m", 0.02, 0.0, 100.0, "friction torque τ_s", "toolbox: 0.02 to 0.5"),
    Parameter("bristle_stiffness", "N·m/rad", 1000.0, 1.0, 1e6, "Dahl bristle stiffness K", "toolbox"),
)

PIVOT_PARAMETERS = (
    Parameter("time_constant", "s", 0.05, 1e-4, 10.0, "lag of the pivot drive", "estimate"),
    Parameter("speed_limit", "m/s", 0.1, 1e-4, 10.0, "largest speed of the pivot", "estimate"),
)


@dataclass(frozen=True)
class Motor:
    """Parameters of a joint's motors, all after the gearbox. Both motors of a joint are alike."""

    inertia: float = 0.0233
    """kg·m²"""
    damping: float = 0.2698
    """N·m·s/rad"""
    torque_limit: float = 6.0
    """N·m"""
    speed_limit: float = 6.0
    """rad/s"""
    static_friction: float = 0.02
    """N·m"""
    bristle_stiffness: float = 1000.0
    """N·m/rad"""

    def __post_init__(self) -> None:
        resolve("motor", MOTOR_PARAMETERS, vars(self))

    @property
    def values(self) -> tuple[float, ...]:
        """Values in the order of `MOTOR_PARAMETERS`."""
        return resolve("motor", MOTOR_PARAMETERS, vars(self))


@dataclass(frozen=True)
class Pivot:
    """Drive that moves the pivot of a lever (AwAS-II): a rate-limited first-order lag, not back-drivable.

    σ̇ = clamp((σ_d − σ)/T, ±v_max), all in m and s.
    """

    time_constant: float = 0.05
    """s"""
    speed_limit: float = 0.1
    """m/s"""

    def __post_init__(self) -> None:
        resolve("pivot drive", PIVOT_PARAMETERS, vars(self))

    @property
    def values(self) -> tuple[float, ...]:
        """Values in the order of `PIVOT_PARAMETERS`."""
        return resolve("pivot drive", PIVOT_PARAMETERS, vars(self))


def friction_torque(angle: float, anchor: float, static_friction: float, bristle_stiffness: float) -> float:
    """Dahl friction τ_f = K·(θ − w), never beyond ±τ_s, N·m."""
    torque = bristle_stiffness * (angle - anchor)
    return min(max(torque, -static_friction), static_friction)


def dragged_anchor(angle: float, anchor: float, static_friction: float, bristle_stiffness: float) -> float:
    """Anchor after the motor came to `angle`: dragged along so that the bristle never exceeds τ_s."""
    reach = static_friction / bristle_stiffness
    return min(max(anchor, angle - reach), angle + reach)


def motor_step(
    angle: float,
    speed: float,
    anchor: float,
    load: float,
    target: float,
    kp: float,
    kd: float,
    offset: float,
    step: float,
    inertia: float,
    damping: float,
    torque_limit: float,
    speed_limit: float,
    static_friction: float,
    bristle_stiffness: float,
) -> tuple[float, float, float]:
    """Advance one motor by one step, implicitly in its own feedback, damping and friction.

    The drive's torque is u = kp·(target − θ) − kd·θ̇ + offset (a pure torque command has kp = kd = 0). One
    implicit stage at the fraction γ of the step: Θ = θ + γ·h·V, V = θ̇ + γ·h·a(Θ, V), then θ += h·V and
    θ̇ += (V − θ̇)/γ. γ = 1/2 is the implicit midpoint rule, second order and exact in the bristle's energy;
    where the feedback is stiff for the step, γ moves towards 1 (backward Euler), so that no gain and no bristle
    can make the step unstable or ring. A torque at its limit and a slipping bristle are constant over the step.

    Args:
        angle: θ, rad.
        speed: θ̇, rad/s.
        anchor: w, rad.
        load: torque that the motor's spring puts on the link, half-way through the step, N·m.
        target: reference angle, rad.
        kp: N·m/rad.
        kd: N·m·s/rad.
        offset: torque added to the feedback (integral term or torque command), N·m.
        step: s.
        inertia: J, kg·m².
        damping: D, N·m·s/rad.
        torque_limit: N·m.
        speed_limit: rad/s.
        static_friction: τ_s, N·m.
        bristle_stiffness: K, N·m/rad.

    Returns:
        θ, θ̇, w after the step.
    """
    stiffness = step * (damping + kd + step * (kp + bristle_stiffness)) / inertia
    gamma = 0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness
    part = gamma * step
    saturated = 0.0
    slipping = 0.0
    stage = speed
    new_angle = angle
    for _ in range(3):
        mass = inertia + part * damping
        force = -load
        if saturated == 0.0:
            mass += part * (kd + part * kp)
            force += kp * (target - angle) + offset
        else:
            force += saturated * torque_limit
        if slipping == 0.0:
            mass += part * part * bristle_stiffness
            force -= bristle_stiffness * (angle - anchor)
        else:
            force -= slipping * static_friction
        stage = (inertia * speed + part * force) / mass
        new_angle = angle + step * stage
        torque = kp * (target - angle - part * stage) - kd * stage + offset
        bristle = bristle_stiffness * (new_angle - anchor)
        settled = True
        if saturated == 0.0 and abs(torque) > torque_limit:
            saturated = 1.0 if torque > 0.0 else -1.0
            settled = False
        if slipping == 0.0 and abs(bristle) > static_friction:
            slipping = 1.0 if bristle > 0.0 else -1.0
            settled = False
        if settled:
            break
    new_speed = min(max(speed + (stage - speed) / gamma, -speed_limit), speed_limit)
    new_angle = angle + step * min(max(stage, -speed_limit), speed_limit)
    return new_angle, new_speed, dragged_anchor(new_angle, anchor, static_friction, bristle_stiffness)


def motor_rates(
    angle: float,
    speed: float,
    anchor: float,
    load: float,
    torque: float,
    inertia: float,
    damping: float,
    torque_limit: float,
    speed_limit: float,
    static_friction: float,
    bristle_stiffness: float,
    step: float,
) -> tuple[float, float, float]:
    """Time derivatives of θ, θ̇ and w, for multi-stage integrators (RK4) and independent checks.

    Arguments as in `motor_step`; `torque` is the drive's torque before its limit. An anchor that the last step
    left behind is drawn after within this one: a bristle stretched too far would push after a reversal.
    """
    friction = friction_torque(angle, anchor, static_friction, bristle_stiffness)
    drive = min(max(torque, -torque_limit), torque_limit)
    acceleration = (drive - damping * speed - friction - load) / inertia
    limited_speed = min(max(speed, -speed_limit), speed_limit)
    if abs(speed) >= speed_limit and acceleration * speed > 0.0:
        acceleration = 0.0
    deflection = angle - anchor
    slipping = abs(bristle_stiffness * deflection) >= static_friction and deflection * speed >= 0.0
    drag = (dragged_anchor(angle, anchor, static_friction, bristle_stiffness) - anchor) / step
    return limited_speed, acceleration, drag + limited_speed if slipping else drag


def loop_pole(inertia: float, damping: float, stiffness: float) -> float:
    """Magnitude of the quicker root of J·s² + D·s + K, 1/s."""
    discriminant = damping * damping - 4.0 * inertia * stiffness
    if discriminant < 0.0:
        return math.sqrt(stiffness / inertia)
    return (damping + math.sqrt(discriminant)) / (2.0 * inertia)


def pivot_step(position: float, target: float, step: float, time_constant: float, speed_limit: float) -> float:
    """Position of the pivot after `step`: the exact first-order lag, limited in speed."""
    approach = (target - position) * (1.0 - math.exp(-step / time_constant))
    return position + min(max(approach, -speed_limit * step), speed_limit * step)
