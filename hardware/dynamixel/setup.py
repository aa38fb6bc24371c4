"""Making the servos of a robot ready, waking them after a fault, and letting them go.

Nothing here moves a joint. What a servo should hold is compared first and written only if it differs, so that
its EEPROM does not wear.
"""

import logging
import math
from collections.abc import Iterator, Mapping

from pliant.errors import ConfigurationError, RobotError
from pliant.hardware.dynamixel.bus import Bus, RefusalError
from pliant.hardware.dynamixel.config import (
    POSITION_MODES,
    DynamixelConfig,
    DynamixelJoint,
    ServoMount,
    servo_count,
)
from pliant.hardware.dynamixel.service import enable_answers, explain_missing
from pliant.hardware.dynamixel.tables import MODES
from pliant.hardware.stopping import mended
from pliant.hardware.timing import Clock

log = logging.getLogger(__name__)

_WATCHDOG_UNIT = 0.02
_LONG_DELAY = 50  # counts of 2 µs
# Left behind by whoever used the servo before, these change how it moves.
_RESET = {
    1: (
        *("cw_compliance_margin", "ccw_compliance_margin", "cw_compliance_slope", "ccw_compliance_slope"),
        *("punch", "moving_speed"),
    ),
    2: (
        *("velocity_i_gain", "velocity_p_gain", "position_d_gain", "position_i_gain", "position_p_gain"),
        *("feedforward_2nd_gain", "feedforward_1st_gain", "profile_acceleration", "profile_velocity"),
    ),
}


def prepare(bus: Bus, config: DynamixelConfig) -> None:
    """Check every servo against the configuration and write what it should hold.

    Raises:
        RobotError: A servo is missing (the message names what was found instead), has a hardware error, or
            holds torque although it must be changed.
        ConfigurationError: A servo is another model, or its memory contradicts the configuration.
    """
    _check_present(bus, config)
    _raise_faults(bus, config)
    for joint, index, mount in config.motors():
        _check_memory(bus, mount)
        _check_limits(bus, joint, index, mount)
        _configure(bus, mount, joint.mode)
    for joint in config.joints:
        if joint.encoder is not None:
            _check_memory(bus, joint.encoder)
            bus.write(joint.encoder.servo, "torque_enable", 0)
    _warn_of_delays(bus, config)
    disarm(bus, config)


def _check_present(bus: Bus, config: DynamixelConfig) -> None:
    missing = [mount.servo for mount in config.mounts() if not bus.ping(mount.servo, tries=3)]
    if missing:
        raise RobotError(explain_missing(bus, missing))
    for mount in config.mounts():
        try:
            found = bus.model(mount.servo)
        except RobotError:
            enable_answers(bus, mount.servo, mount.model)
            found = bus.model(mount.servo)
        if found.name != mount.model:
            raise ConfigurationError(
                f"servo {mount.servo} on {bus.path} is a {found.name}; the configuration says {mount.model}."
            )
        first = found.fast_read_firmware
        if config.fast_read and (first is None or bus.read(mount.servo, "firmware_version") < first):
            since = f"before firmware {first}" if first else "at all"
            raise ConfigurationError(f"servo {mount.servo}, {found.name}, knows no fast sync read {since}.")


def _check_memory(bus: Bus, mount: ServoMount) -> None:
    """Raise if the servo counts its angle otherwise than the configuration supposes."""
    if bus.protocol == 1:
        return
    mode = bus.read(mount.servo, "drive_mode")
    if mode != 0:
        raise ConfigurationError(
            f"servo {mount.servo}: its drive mode is {mode}, not 0 (bit 0 reverses it, bit 2 changes its "
            "profile, bit 3 lets any goal switch the torque on). Directions belong in the configuration: "
            f"pliant bus write port={bus.path} servo={mount.servo} register=drive_mode value=0"
        )
    offset = bus.read(mount.servo, "homing_offset")
    if offset != mount.homing_offset:
        raise ConfigurationError(
            f"servo {mount.servo}: its homing offset is {offset} counts; the configuration supposes "
            f"{mount.homing_offset}. Has another tool calibrated it? Set one or the other right."
        )


def _check_limits(bus: Bus, joint: DynamixelJoint, index: int, mount: ServoMount) -> None:
    """Raise if the servo would ignore goals that the configuration allows."""
    name = mount.servo
    if joint.mode == "position":
        registers = ("cw_angle_limit", "ccw_angle_limit") if bus.protocol == 1 else _POSITION_LIMITS
        low, high = (bus.read(name, register) for register in registers)
        if low == high == 0:
            raise ConfigurationError(f"servo {name} is in wheel mode (both angle limits are 0).")
        ends = sorted(round(servo_count(mount, angle)) for angle in joint.travel(index))
        _check_within(joint, name, f"[{ends[0]}, {ends[1]}]", ends[0] >= low and ends[1] <= high, registers)
    if joint.mode in ("current", "current_position"):
        limit = mount.settings.get("current_limit", bus.read(name, "current_limit"))
        needed = int(joint.largest_torque(index) / (mount.table.torque_per_count * mount.gear) + 1e-9)
        _check_within(joint, name, str(needed), needed <= limit, ("current_limit",))
    if joint.mode == "pwm":
        limit = mount.settings.get("pwm_limit", bus.read(name, "pwm_limit"))
        _check_within(joint, name, "885", limit >= 885, ("pwm_limit",))


_POSITION_LIMITS = ("min_position_limit", "max_position_limit")


def _check_within(joint: DynamixelJoint, servo: int, needed: str, fits: bool, registers: tuple[str, ...]) -> None:
    if not fits:
        raise ConfigurationError(
            f"joint {joint.name!r}: the goals of servo {servo} reach {needed}, beyond its own "
            f"{' and '.join(registers)}; it would ignore them. Narrow the joint or widen the servo."
        )


def _configure(bus: Bus, mount: ServoMount, mode: str) -> None:
    """Write the operating mode, the factory's gains and profile, and over them the mount's settings."""
    if bus.protocol == 2:
        # Before anything else: changing it resets gains.
        _write_different(bus, mount, {"operating_mode": MODES[mode]})
    factory = {name: mount.table.register(name).initial or 0 for name in _RESET[bus.protocol]}
    _write_different(bus, mount, {**factory, **mount.settings})


def _warn_of_delays(bus: Bus, config: DynamixelConfig) -> None:
    slow = [str(m.servo) for m in config.mounts() if bus.read(m.servo, "return_delay_time") > _LONG_DELAY]
    if slow:
        log.warning(
            "servo %s waits up to 0.5 ms before each answer; not so with return_delay_time: 0 in its settings.",
            ", ".join(slow),
        )


def _write_different(bus: Bus, mount: ServoMount, wanted: Mapping[str, int]) -> None:
    servo = mount.servo
    different = {name: value for name, value in wanted.items() if bus.read(servo, name) != value}
    if different and bus.read(servo, "torque_enable"):
        raise RobotError(
            f"servo {servo} holds torque, and its {', '.join(different)} would have to change under it. "
            f"Support the arm, then: pliant bus write port={bus.path} servo={servo} "
            "register=torque_enable value=0"
        )
    for name, value in different.items():
        bus.write(servo, name, value)


def watchdog_count(config: DynamixelConfig) -> int:
    """Return what the register of the bus watchdog holds while it is armed: at least the time configured."""
    return math.ceil(config.watchdog / _WATCHDOG_UNIT - 1e-9)


def disarm(bus: Bus, config: DynamixelConfig) -> None:
    """Switch the watchdog of every motor off and clear a trip, so that nothing moves by it.

    What a servo under torque makes of its old goal when its trip is cleared no manual says. So one that drives
    a current or a PWM loses its torque first, and one that holds a position is told at once to hold it here.
    """
    if config.protocol == 1:
        return
    for joint, _, mount in config.motors():
        servo = mount.servo
        torque = bus.read(servo, "torque_enable")
        if torque and joint.mode not in POSITION_MODES:
            bus.write(servo, "torque_enable", 0)
        tripped = bus.read(servo, "bus_watchdog") == -1
        bus.write(servo, "bus_watchdog", 0)
        if torque and tripped and joint.mode in POSITION_MODES:
            try:
                bus.write(servo, "goal_position", bus.read(servo, "present_position"))
            except RefusalError as error:
                log.warning("%s", error)


def faulted(bus: Bus, config: DynamixelConfig) -> Iterator[tuple[DynamixelJoint, int, tuple[str, ...]]]:
    """Yield joint, servo and the names of its hardware errors, for every motor that has any."""
    for joint, _, mount in config.motors():
        names = bus.faults(mount.servo)
        if bus.protocol == 1 and not bus.read(mount.servo, "torque_limit"):
            names = (*names, "shut down (torque limit 0)")
        if names:
            yield joint, mount.servo, names


def describe_faults(bus: Bus, config: DynamixelConfig) -> str:
    """Return a sentence on the hardware errors of all motors; empty if there are none."""
    return "; ".join(
        f"servo {servo} of joint {joint.name!r}: {', '.join(names)}"
        for joint, servo, names in faulted(bus, config)
    )


def _raise_faults(bus: Bus, config: DynamixelConfig) -> None:
    faults = describe_faults(bus, config)
    if not faults:
        return
    servos = ",".join(str(servo) for _, servo, _ in faulted(bus, config))
    restart = f"pliant bus reboot port={config.port} baud={config.baud_rate} servo={servos}"
    if bus.protocol == 1:
        restart = "the power off and on"
    raise RobotError(f"hardware error of {faults}. {mended(f'restart the servos, which go limp ({restart}), ')}")


def revive(bus: Bus, config: DynamixelConfig) -> None:
    """Bring servos back that have shut down: by a reboot, or an AX-12A by its torque limit.

    Their torque is off afterwards. Raises `RobotError` if the error is back at once: its cause persists.
    """
    for _, servo, _ in list(faulted(bus, config)):
        if bus.protocol == 2:
            bus.reboot(servo)
        else:
            bus.write(servo, "torque_enable", 0)
            bus.write(servo, "torque_limit", bus.read(servo, "max_torque"))
    faults = describe_faults(bus, config)
    if faults:
        raise RobotError(f"the hardware error is back at once: {faults}. End its cause, then try again.")


def release(bus: Bus, config: DynamixelConfig, clock: Clock) -> list[int]:
    """Switch the torque off, joint after joint from tip to base; return the servos that did not confirm.

    A servo's watchdog is disarmed after its torque is off; one that does not confirm keeps it.
    """
    silent = []
    for number, joint in enumerate(reversed(list(config.joints))):
        if number:
            clock.sleep_until(clock.now() + config.release_pause)
        for mount in joint.servos:
            try:
                bus.write(mount.servo, "torque_enable", 0)
                bus.write(mount.servo, *(("led", 0) if config.protocol == 1 else ("bus_watchdog", 0)))
            except RobotError:
                if not bus.is_open:
                    raise
                # It may hear without being heard.
                bus.sync_write(mount.table.register("torque_enable").address, {mount.servo: b"\x00"})
                silent.append(mount.servo)
    return silent


def condition(bus: Bus, mount: ServoMount) -> dict[str, object]:
    """Return temperature (°C), supply (V) and hardware errors of a servo; None for each if it does not answer."""
    supply = "present_input_voltage" if bus.protocol == 2 else "present_voltage"
    try:
        return {
            "temperature_celsius": bus.read(mount.servo, "present_temperature"),
            "voltage_v": bus.read(mount.servo, supply) * mount.table.register(supply).scale,
            "errors": list(bus.faults(mount.servo)),
        }
    except RobotError:
        return {"temperature_celsius": None, "voltage_v": None, "errors": None}
