"""The plain plant: every servo turns a shaft of its own, a mass against gravity and friction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pliant.actuators.ax12a import AX12A
from pliant.actuators.bam import SERVOS, BamServo
from pliant.envs.emulators.dynamixel.plant import TICK, Demand, Reading
from pliant.errors import check_bounds, unknown_name
from pliant.hardware.dynamixel.tables import servo_model

ROOM_TEMPERATURE = 25.0
"""Temperature of a servo that nothing heats, °C."""
FREE = Demand(0.0, 0.0, None)
"""The demand of a servo without torque."""


@dataclass(frozen=True)
class Motor:
    """A DC motor with its gearbox, seen from the output shaft, with Coulomb and viscous friction."""

    torque_constant: float
    """k_t, N·m/A, which is also the back-EMF constant, V·s/rad."""
    resistance: float
    """R, Ω."""
    inertia: float
    """Rotor inertia, kg·m²."""
    friction: float
    """Coulomb friction K_c, N·m."""
    damping: float
    """Viscous friction K_v, N·m·s/rad."""

    @classmethod
    def of(cls, servo: BamServo) -> "Motor":
        """Return the motor of a servo with the friction of model M1."""
        values = servo.values
        return cls(values["kt"], values["resistance"], values["armature"], values["kc"], values["kv"])

    @classmethod
    def from_catalogue(cls, stall_torque: float, no_load_speed: float, voltage: float, inertia: float) -> "Motor":
        """Return the motor with a data sheet's stall torque (N·m) and no-load speed (rad/s) at `voltage`.

        k_t = V/ω₀ and R = k_t·V/τ_stall. Data sheets give no friction: a fiftieth of the stall torque is
        assumed, half of it speed-dependent at ω₀.
        """
        constant = voltage / no_load_speed
        share = stall_torque / 100
        return cls(constant, constant * voltage / stall_torque, inertia, share, share / no_load_speed)


MOTORS: Mapping[str, Motor] = {
    "MX-64(2.0)": Motor.of(SERVOS["MX-64"]),
    "MX-106(2.0)": Motor.of(SERVOS["MX-106"]),
    "XL330-M288": Motor.of(SERVOS["XL330"]),
    "AX-12A": Motor.of(AX12A().motor),
    # Data sheets; the inertia of the XM430 is ToddlerBot's fit, the other is taken to be like it.
    "XM430-W350": Motor.from_catalogue(4.1, 46 * math.pi / 30, 12.0, 0.0012),
    "XL430-W250": Motor.from_catalogue(1.5, 61 * math.pi / 30, 12.0, 0.0012),
}
"""Motors by the name of the servo's model."""


@dataclass(frozen=True)
class Shaft:
    """A servo's motor and what hangs on it."""

    motor: Motor
    inertia: float = 0.0
    """Inertia of the load about the shaft, kg·m²."""
    gravity: float = 0.0
    """Mass × g × distance of the load, N·m."""
    hanging: float = math.pi
    """Encoder angle at which the load hangs down, rad."""
    start: float = math.pi
    """Encoder angle at which the load is when the power comes on, rad."""


class ShaftState:
    """Where a shaft is, and what drives it."""

    def __init__(self, shaft: Shaft) -> None:
        self.shaft = shaft
        self.demand = FREE
        self.position = shaft.start
        self.velocity = 0.0
        self.current = 0.0
        self.external = 0.0
        self.temperature = ROOM_TEMPERATURE

    def step(self, voltage: float, dt: float) -> None:
        """Let `dt` pass: I·q̈ = k_t·i − K_v·q̇ − friction − m·g·l·sin(q − q₀) + external torque.

        i = (V·duty − k_t·q̇)/R, limited by the demand. Friction is what would stop the motion within the step,
        but at most K_c. Semi-implicit Euler with implicit damping, stable at any speed of the motor.
        """
        shaft, motor, demand = self.shaft, self.shaft.motor, self.demand
        constant, inertia = motor.torque_constant, motor.inertia + shaft.inertia
        drop = (voltage * demand.duty - constant * self.velocity) / motor.resistance
        limited = abs(drop) > demand.current
        self.current = math.copysign(demand.current, drop) if limited else drop
        load = self.external - shaft.gravity * math.sin(self.position - shaft.hanging)
        back = 0.0 if limited else constant * constant / motor.resistance
        drive = constant * self.current + back * self.velocity + load
        speed = (inertia * self.velocity + dt * drive) / (inertia + dt * (motor.damping + back))
        stop = dt * motor.friction / (inertia + dt * (motor.damping + back))
        self.velocity = 0.0 if abs(speed) <= stop else speed - math.copysign(stop, speed)
        self.position += dt * self.velocity


class ShaftPlant:
    """Shafts side by side on one power supply.

    Args:
        shafts: the shaft of every servo, by the servo's number.
        supply: voltage of the supply, V.
        supply_resistance: resistance of supply and cables, Ω: the voltage falls with the sum of all currents.
    """

    def __init__(self, shafts: Mapping[int, Shaft], supply: float = 12.0, supply_resistance: float = 0.0) -> None:
        self._shafts = {servo: ShaftState(shaft) for servo, shaft in shafts.items()}
        self._resistance = check_bounds("supply_resistance", supply_resistance, 0.0, 100.0, "Ω")
        self.set_supply(supply)
        self._left = 0.0

    def __getitem__(self, servo: int) -> ShaftState:
        """Return the shaft of a servo; raise `UnknownNameError` if there is none."""
        if servo not in self._shafts:
            raise unknown_name("servo", servo, self._shafts, "the plant")
        return self._shafts[servo]

    @property
    def voltage(self) -> float:
        """Voltage at the servos, V."""
        current = sum(abs(shaft.current * shaft.demand.duty) for shaft in self._shafts.values())
        return max(self._supply - self._resistance * current, 0.0)

    def drive(self, servo: int, demand: Demand) -> None:
        """See `Plant.drive`."""
        self[servo].demand = demand

    def advance(self, dt: float) -> None:
        """See `Plant.advance`. Steps of one tick; what is left of `dt` is kept for the next call."""
        self._left += dt
        while self._left > TICK / 2:
            self._left -= TICK
            voltage = self.voltage
            for shaft in self._shafts.values():
                shaft.step(voltage, TICK)

    def read(self, servo: int) -> Reading:
        """See `Plant.read`."""
        shaft = self[servo]
        return Reading(shaft.position, shaft.velocity, shaft.current, self.voltage, shaft.temperature)

    def set_supply(self, voltage: float) -> None:
        """See `Plant.set_supply`."""
        self._supply = check_bounds("supply", voltage, 0.0, 60.0, "V")

    def set_temperature(self, servo: int, temperature: float) -> None:
        """See `Plant.set_temperature`."""
        self[servo].temperature = check_bounds("temperature", temperature, -40.0, 250.0, "°C")

    def close(self) -> None:
        """See `Plant.close`: nothing is held."""


def bare_shaft(model: str) -> Shaft:
    """Return the shaft of a servo of this model with nothing on it, at the middle of its travel."""
    if model not in MOTORS:
        raise unknown_name("servo model", model, MOTORS, "the motors that can be simulated")
    kind = servo_model(model)
    return Shaft(MOTORS[model], start=kind.zero_count * kind.radians_per_count)


def shaft_plant(models: Mapping[int, str], supply: float = 12.0) -> ShaftPlant:
    """Return the plant of bare servos: their models by number."""
    return ShaftPlant({servo: bare_shaft(model) for servo, model in models.items()}, supply)
