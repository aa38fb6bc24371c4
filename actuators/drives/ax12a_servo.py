"""An AX-12A on a joint (mode 1): compliance margins and slopes, DC motor, gear friction, overload shutdown.

Its motor's inertia stands on the MuJoCo joint as armature. See `pliant.actuators.ax12a` and `gear`.
"""

from pliant.actuators.ax12a import COUNT, FULL, LARGEST_SLOPE, compliance_drive, overload_clock
from pliant.actuators.bam import FRICTION_PARAMETERS, REFERENCE_TEMPERATURE, loaded_resistance, motor_torque
from pliant.actuators.drive import link_drive
from pliant.actuators.drives.bam_servo import SERVO_MOTOR, armature, damping
from pliant.actuators.gear import geared_step, rubs
from pliant.actuators.parameters import Parameter

LOOP = (
    Parameter("cw_margin", "count", 1.0, 0.0, 255.0, "dead band, driving clockwise"),
    Parameter("ccw_margin", "count", 1.0, 0.0, 255.0, "dead band, driving counter-clockwise"),
    Parameter("cw_slope", "count", 32.0, 2.0, float(LARGEST_SLOPE), "compliance slope, driving clockwise"),
    Parameter("ccw_slope", "count", 32.0, 2.0, float(LARGEST_SLOPE), "slope, driving counter-clockwise"),
    Parameter("punch", "1/1023", 32.0, 0.0, float(FULL), "least drive outside the dead band"),
    Parameter("max_torque", "1/1023", float(FULL), 0.0, float(FULL), "torque limit"),
    Parameter("overload_time", "s", 2.0, 1e-3, 3600.0, "endured before the overload error"),
    Parameter("progress_speed", "rad/s", 0.1, 0.0, 100.0, "slower than this is no progress"),
    Parameter("shuts_down", "1", 1.0, 0.0, 1.0, "1: an overload takes the torque away"),
)


def drive_of(
    error: float, cw_margin: float, ccw_margin: float, cw_slope: float, ccw_slope: float, punch: float,
    max_torque: float,
) -> float:  # fmt: skip
    """Drive for a position error (rad), −1023…1023."""
    margin = ccw_margin if error > 0.0 else cw_margin
    slope = ccw_slope if error > 0.0 else cw_slope
    return compliance_drive(error / COUNT, margin, slope, punch, max_torque)


def effort(
    q: float, dq: float, target: float, shut_down: float, cw_margin: float, ccw_margin: float, cw_slope: float,
    ccw_slope: float, punch: float, max_torque: float, voltage: float, kt: float, resistance: float,
    supply_resistance: float,
) -> float:  # fmt: skip
    """Torque of the motor before friction, N·m; zero after a shutdown, when the motor turns freely."""
    if shut_down != 0.0:
        return 0.0
    duty = drive_of(target - q, cw_margin, ccw_margin, cw_slope, ccw_slope, punch, max_torque) / FULL
    loaded = loaded_resistance(duty, REFERENCE_TEMPERATURE, resistance, supply_resistance, 0.0)
    return motor_torque(duty, dq, voltage, kt, loaded)


def step(
    q: float, dq: float, target: float, step: float, inertia: float, explicit_stiffness: float, low: float,
    high: float, anchor: float, last_speed: float, torque: float, overloaded_for: float, shut_down: float,
    begun: float, cw_margin: float, ccw_margin: float, cw_slope: float, ccw_slope: float, punch: float,
    max_torque: float, overload_time: float, progress_speed: float, shuts_down: float,
    voltage: float, kt: float, resistance: float, supply_resistance: float,
    kv: float, kc: float, kcs: float, stribeck_speed: float, stribeck_exponent: float,
    km: float, ke: float, kms: float, kes: float, kmq: float, keq: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Anchor of the gear's bristle, speed, torque, overload clock, shutdown and mark that it has begun."""
    motor = effort(
        q, dq, target, shut_down, cw_margin, ccw_margin, cw_slope, ccw_slope, punch, max_torque, voltage, kt,
        resistance, supply_resistance,
    )  # fmt: skip
    held, acting = geared_step(
        q, dq, motor, step, inertia, explicit_stiffness, low, high, anchor, last_speed, torque, begun,
        kv, kc, kcs, stribeck_speed, stribeck_exponent, km, ke, kms, kes, kmq, keq,
    )  # fmt: skip
    clock, down = overloaded_for, shut_down
    if shut_down == 0.0:
        drive = drive_of(target - q, cw_margin, ccw_margin, cw_slope, ccw_slope, punch, max_torque)
        clock = overload_clock(overloaded_for, drive / FULL * FULL, max_torque, dq, progress_speed, step)
        if shuts_down != 0.0 and clock >= overload_time:
            down = 1.0
    return held, dq, acting, clock, down, 1.0


def stiffness(
    cw_slope: float, ccw_slope: float, punch: float, max_torque: float, voltage: float, kt: float,
    resistance: float,
) -> float:  # fmt: skip
    """Outside the dead band, on the steeper side, N·m/rad."""
    gain = max(max_torque - punch, 0) / FULL / COUNT / min(cw_slope, ccw_slope)
    return kt * voltage / resistance * gain


@link_drive(
    parameters=(*LOOP, *SERVO_MOTOR, *FRICTION_PARAMETERS),
    state=("anchor", "last_speed", "torque", "overloaded_for", "shut_down", "begun"),
    step=step,
    effort=effort,
    at_end=True,
    fixed=("armature",),
    stiffness=stiffness,
    damping=damping,
    armature=armature,
    rubs=rubs,
)
def ax12a_servo(torque: float) -> float:
    """Torque on the link, friction included, N·m: found once a step."""
    return torque
