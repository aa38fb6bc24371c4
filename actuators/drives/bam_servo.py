"""A servo of the BAM family on a joint (mode 1): P gain, DC motor, gear friction M1 to M6.

Its motor's inertia stands on the MuJoCo joint as armature. See `pliant.actuators.bam` and `gear`.
"""

from pliant.actuators.bam import (
    FRICTION_PARAMETERS,
    MOTOR_PARAMETERS,
    REFERENCE_TEMPERATURE,
    loaded_resistance,
    motor_torque,
    servo_duty,
)
from pliant.actuators.drive import link_drive
from pliant.actuators.gear import geared_step, rubs
from pliant.actuators.parameters import Parameter

SERVO_MOTOR = (
    Parameter("voltage", "V", 12.0, 0.1, 1000.0, "supply"),
    *(p for p in MOTOR_PARAMETERS if p.name != "heating"),
)
"""A servo's motor as a drive has it: its resistance is that at the temperature it has."""

LOOP = (
    Parameter("gain", "1/rad", 1.0, 0.0, 1e7, "duty per rad of error"),
    Parameter("max_duty", "1", 1.0, 0.0, 1.0, "largest duty"),
)


def effort(
    q: float, dq: float, target: float, gain: float, max_duty: float, voltage: float, kt: float, resistance: float,
    supply_resistance: float,
) -> float:  # fmt: skip
    """Torque of the motor before friction, N·m."""
    duty = servo_duty(target - q, 1.0, gain, max_duty)
    loaded = loaded_resistance(duty, REFERENCE_TEMPERATURE, resistance, supply_resistance, 0.0)
    return motor_torque(duty, dq, voltage, kt, loaded)


def step(
    q: float, dq: float, target: float, step: float, inertia: float, explicit_stiffness: float, low: float,
    high: float, anchor: float, last_speed: float, torque: float, begun: float,
    gain: float, max_duty: float, voltage: float, kt: float, resistance: float, supply_resistance: float,
    kv: float, kc: float, kcs: float, stribeck_speed: float, stribeck_exponent: float,
    km: float, ke: float, kms: float, kes: float, kmq: float, keq: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Anchor of the gear's bristle, speed, torque and mark that it has begun, after a step."""
    motor = effort(q, dq, target, gain, max_duty, voltage, kt, resistance, supply_resistance)
    held, acting = geared_step(
        q, dq, motor, step, inertia, explicit_stiffness, low, high, anchor, last_speed, torque, begun,
        kv, kc, kcs, stribeck_speed, stribeck_exponent, km, ke, kms, kes, kmq, keq,
    )  # fmt: skip
    return held, dq, acting, 1.0


def stiffness(gain: float, voltage: float, kt: float, resistance: float) -> float:
    """Of the position loop, N·m/rad."""
    return kt * voltage / resistance * gain


def damping(kt: float, resistance: float, kv: float) -> float:
    """By the motor's back-EMF and viscous friction, N·m·s/rad."""
    return kt**2 / resistance + kv


def armature(armature: float) -> float:
    """Of the motor, after the gear, kg·m²."""
    return armature


@link_drive(
    parameters=(*LOOP, *SERVO_MOTOR, *FRICTION_PARAMETERS),
    state=("anchor", "last_speed", "torque", "begun"),
    step=step,
    effort=effort,
    at_end=True,
    fixed=("armature",),
    stiffness=stiffness,
    damping=damping,
    armature=armature,
    rubs=rubs,
)
def bam_servo(torque: float) -> float:
    """Torque on the link, friction included, N·m: found once a step."""
    return torque
