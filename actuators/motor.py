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
    """Advance one motor by one step: a push of its spring, then its own motion, implicit in all of that.

    1. The spring gives motor and link the same impulse at the step's beginning, where MuJoCo gives it to the link:
       θ̇ ← θ̇ − h·load/J. Link and motor so keep their momentum to rounding, and what nothing damps or drives keeps
       its energy for ever (the pair is a leapfrog).
    2. The motor moves on for h without its spring, u = kp·(target − θ) − kd·θ̇ + offset being the drive's torque (a
       pure torque command has kp = kd = 0): J·(V − θ̇)/(γ·h) = sat(u) − D·V − τ_f, θ += h·V and θ̇ += (V − θ̇)/γ. The
       drive and the damping are taken at the time γ·h; γ = 1/2 is the implicit midpoint rule, of second order.
       Where the feedback is stiff for the step, γ moves towards 1 (backward Euler), so that no gain makes the step
       unstable or ring. The friction is the bristle's mean over the way h·V, exact in its energy.

    The speed that is kept is thus the one before the push of the step to come; half a push later,
    θ̇ − h·load/(2·J), it belongs to the time of the angle (`mean_speed`).

    Args:
        angle: θ, rad.
        speed: θ̇ before the spring's push, rad/s.
        anchor: w, rad.
        load: torque that the motor's spring puts on the link at the beginning of the step, N·m.
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
    push = step * load / inertia
    speed = speed - push
    stiffness = step * (damping + kd + step * kp) / inertia
    gamma = 0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness
    part = gamma * step
    # the drive as u0 − du·V, the bristle that holds as f0 + df·V, inertia and damping as mass·V − momentum
    u0, du = kp * (target - angle) + offset, kp * part + kd
    bristle = step * step * bristle_stiffness / inertia
    late = 0.5 if bristle <= 1.0 else 1.0 - 0.5 / bristle
    reach = static_friction / bristle_stiffness
    deflection = min(max(angle - anchor, -reach), reach)
    f0, df = bristle_stiffness * deflection, late * bristle_stiffness * step
    mass, momentum = inertia / part + damping, inertia / part * speed
    mean = (momentum + u0 - f0) / (mass + du + df)
    if abs(u0 - du * mean) > torque_limit or abs(deflection + step * mean) > reach:
        mean = limited_speed(
            momentum, mass, u0, du, torque_limit, f0, df, static_friction, deflection / step, reach / step
        )
    after = speed + (mean - speed) / gamma
    new_speed = min(max(after, -speed_limit + 0.5 * push), speed_limit + 0.5 * push)
    new_angle = angle + step * min(max(mean, -speed_limit), speed_limit)
    return new_angle, new_speed, dragged_anchor(new_angle, anchor, static_friction, bristle_stiffness)


def mean_speed(speed: float, load: float, step: float, inertia: float) -> float:
    """Speed at the time of the angle, rad/s: that of `motor_step` half a push later, with a step of 0 itself."""
    return speed - 0.5 * step * load / inertia


def limited_speed(
    momentum: float, mass: float, u0: float, du: float, limit: float, f0: float, df: float, static: float,
    deflection: float, reach: float,
) -> float:  # fmt: skip
    """The V that solves mass·V − momentum = clamp(u0 − du·V, ±limit) − friction(V).

    The friction is f0 + df·V while the bristle holds, and beyond that its mean over the way, which is static less
    what it has yet to be bent by, `rest`/V. Left minus right rises with V, so that its sign where the bristle
    begins to slip says whether it does, and then the drive's torque whether that is limited.

    Args:
        momentum: as in the equation, N·m, as are u0, limit, f0 and static.
        mass: N·m·s/rad, as are du and df.
        u0: see above.
        du: see above.
        limit: of the drive.
        f0: see above.
        df: see above.
        static: τ_s.
        deflection: the bristle's, by the step, rad/s.
        reach: its largest, likewise.
    """
    low, high = -reach - deflection, reach - deflection
    slips = 0.0
    if mass * low - momentum - min(max(u0 - du * low, -limit), limit) + f0 + df * low > 0.0:
        slips = -1.0
    elif mass * high - momentum - min(max(u0 - du * high, -limit), limit) + f0 + df * high < 0.0:
        slips = 1.0
    speed = balanced_speed(momentum + u0, mass + du, slips, f0, df, static, low, high)
    if u0 - du * speed > limit:
        speed = balanced_speed(momentum + limit, mass, slips, f0, df, static, low, high)
    elif u0 - du * speed < -limit:
        speed = balanced_speed(momentum - limit, mass, slips, f0, df, static, low, high)
    return speed


def balanced_speed(
    momentum: float, mass: float, slips: float, f0: float, df: float, static: float, low: float, high: float
) -> float:
    """The V that solves mass·V = momentum − friction(V) with a bristle that holds (`slips` 0) or slips to a side.

    Slipping, friction·V = ±τ_s·V − rest, and continuous where it begins: rest = (±τ_s − f0 − df·V)·V there.
    """
    if slips == 0.0:
        return (momentum - f0) / (mass + df)
    begins = high if slips > 0.0 else low
    rest = (slips * static - f0 - df * begins) * begins
    driving = momentum - slips * static
    root = math.sqrt(driving * driving + 4.0 * mass * max(rest, 0.0))
    return (driving + slips * root) / (2.0 * mass)


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
    left behind is drawn after within this one: a bristle stretched too far would push after a reversal. The
    acceleration is what keeps the speed within its limit over a step.
    """
    friction = friction_torque(angle, anchor, static_friction, bristle_stiffness)
    drive = min(max(torque, -torque_limit), torque_limit)
    acceleration = (drive - damping * speed - friction - load) / inertia
    within = min(max(speed, -speed_limit), speed_limit)
    # no stage of a step passes the limit, and a speed that begins beyond it comes back
    acceleration = min(max(acceleration, (-speed_limit - speed) / step), (speed_limit - speed) / step)
    deflection = angle - anchor
    slipping = abs(bristle_stiffness * deflection) >= static_friction and deflection * speed >= 0.0
    drag = (dragged_anchor(angle, anchor, static_friction, bristle_stiffness) - anchor) / step
    return within, acceleration, drag + within if slipping else drag


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
