"""A position servo as the drive of a joint in mode 1: which servo it is, and how it is set."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from pliant.actuators.ax12a import AX12A, OVERLOAD_BIT, rounded_slope
from pliant.actuators.bam import (
    MOTOR_PARAMETERS,
    REFERENCE_TEMPERATURE,
    BamServo,
    find_servo,
    loaded_resistance,
    servo_names,
)
from pliant.actuators.drive import Drive
from pliant.actuators.drives.ax12a_servo import ax12a_servo
from pliant.actuators.drives.bam_servo import bam_servo
from pliant.errors import ConfigurationError, check_bounds, unknown_name

_AX = "AX-12A"


def drive_names() -> tuple[str, ...]:
    """Names of the servos that can drive a joint."""
    return (_AX, *(name for name in servo_names() if find_servo(name).error_gain is not None))


def servo_named(name: str) -> BamServo | AX12A:
    """Return a servo by one of `drive_names`; raise `UnknownNameError` otherwise."""
    if name not in drive_names():
        raise unknown_name("servo", name, drive_names())
    return AX12A() if name == _AX else find_servo(name)


@dataclass(frozen=True)
class ServoDrive:
    """A servo that turns a joint to a goal position, with its own loop, motor and gear friction.

    `ServoDrive("AX-12A")` has the registers of the factory; `ServoDrive(AX12A(ccw_slope=8, cw_slope=8))` others.
    `ServoDrive("XL330/m6", p_gain=400)` is a servo of the BAM family.

    Raises:
        UnknownNameError: no such servo.
        ConfigurationError: a P gain is missing, or given to a servo that has none.
        OutOfBoundsError: a value out of its bounds.
    """

    servo: BamServo | AX12A
    """The servo, or its name."""
    p_gain: float | None = None
    """Value of the P gain register, in the unit of the servo's `error_gain`; none for an AX-12A."""
    voltage: float | None = None
    """Supply, V; None: the servo's own."""
    temperature: float = REFERENCE_TEMPERATURE
    """Of the servo's case, °C: a warm winding has more resistance."""

    def __post_init__(self) -> None:
        if isinstance(self.servo, str):
            object.__setattr__(self, "servo", servo_named(self.servo))
        if not isinstance(self.servo, BamServo | AX12A):
            raise ConfigurationError(f"{self.servo!r} is no servo; give its name, a BamServo or an AX12A.")
        if self.voltage is not None:
            check_bounds("servo: voltage", self.voltage, 0.1, 1000.0, "V")
        check_bounds("servo: temperature", self.temperature, -40.0, 250.0, "°C")
        self._check_loop()
        motor, degrees = self.motor, f"{self.temperature:g} °C"
        check_bounds(f"servo {motor.name!r}: resistance at {degrees}", self.resistance, 0.05, 500.0, "Ω")

    def _check_loop(self) -> None:
        if isinstance(self.servo, AX12A):
            if self.p_gain is not None:
                raise ConfigurationError(
                    "an AX-12A has no P gain; its stiffness is set by cw_slope and ccw_slope."
                )
            return
        self.servo.loop  # noqa: B018  raises if there is none
        if self.p_gain is None:
            raise ConfigurationError(f"servo {self.servo.name!r} needs p_gain, the value of its P gain register.")
        check_bounds(f"servo {self.servo.name!r}: p_gain", self.p_gain, 0.0, 16383.0)

    @property
    def motor(self) -> BamServo:
        """Motor and gear friction."""
        return self.servo.motor if isinstance(self.servo, AX12A) else self.servo

    @cached_property
    def drive(self) -> Drive:
        """What runs on the joint: an `ax12a_servo` or a `bam_servo` with this servo's numbers."""
        kt, _, armature, supply_resistance, _ = self.motor.all_values[: len(MOTOR_PARAMETERS)]
        friction = self.motor.all_values[len(MOTOR_PARAMETERS) :]
        motor = (self.supply, kt, self.resistance, armature, supply_resistance)
        kind = ax12a_servo if isinstance(self.servo, AX12A) else bam_servo
        return Drive(kind, (*self._loop, *motor, *friction))

    @property
    def armature(self) -> float:
        """Inertia of the motor after the gear, kg·m²."""
        return self.drive.armature

    @property
    def stiffness(self) -> float:
        """Stiffness of the position loop where it is steepest, N·m/rad."""
        return self.drive.stiffness

    @property
    def damping(self) -> float:
        """Damping by the motor's back-EMF and viscous friction, N·m·s/rad."""
        return self.drive.damping

    @property
    def resistance(self) -> float:
        """Resistance of the winding at the drive's temperature, Ω."""
        _, resistance, _, _, heating = self.motor.all_values[: len(MOTOR_PARAMETERS)]
        return loaded_resistance(0.0, self.temperature, resistance, 0.0, heating)

    def describe(self) -> dict[str, Any]:
        """The servo as plain data, complete enough for `servo_from_description`."""
        servo = {name: dict(v) if isinstance(v, Mapping) else v for name, v in vars(self.servo).items()}
        kind = "ax12a" if isinstance(self.servo, AX12A) else "bam"
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**own, "servo": servo, "kind": kind}

    @property
    def supply(self) -> float:
        """Supply voltage, V."""
        return self.motor.voltage if self.voltage is None else self.voltage

    @property
    def _loop(self) -> tuple[float, ...]:
        if isinstance(self.servo, AX12A):
            ax = self.servo
            return (
                ax.cw_margin, ax.ccw_margin, rounded_slope(ax.cw_slope), rounded_slope(ax.ccw_slope), ax.punch,
                ax.max_torque, ax.overload_time, ax.progress_speed, float(bool(ax.shutdown & OVERLOAD_BIT)),
            )  # fmt: skip
        assert self.p_gain is not None
        error_gain, max_duty = self.servo.loop
        return (error_gain * self.p_gain, max_duty)


def as_servo(servo: ServoDrive | str) -> ServoDrive:
    """Return a servo as it is or from the name of a servo without settings; raises as `ServoDrive`."""
    if isinstance(servo, str):
        return ServoDrive(servo_named(servo))
    if isinstance(servo, ServoDrive):
        return servo
    raise ConfigurationError(f"{servo!r} is no servo as a drive; give its name or a ServoDrive.")


def servo_from_description(description: Mapping[str, Any]) -> ServoDrive:
    """Rebuild a servo from `ServoDrive.describe`; raises `KeyError` or `TypeError` where it is damaged."""
    settings = dict(description)
    make = {"ax12a": AX12A, "bam": BamServo}[settings.pop("kind")]
    return ServoDrive(make(**settings.pop("servo")), **settings)
