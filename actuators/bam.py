"""Position servos with gear friction: duty law, DC motor and the friction family M1 to M6 (BAM).

A servo turns its position error into a duty cycle, the duty cycle drives a DC motor behind a gear, and the gear
rubs. Friction is a *budget* τ_f ≥ 0: at each step it takes the torque that would bring the joint to rest, but
never more than the budget. So it can only take energy, and a joint that it holds stands exactly still.

    duty = clip(error_gain·P·Δq, ±max_duty)
    τm = kt·V·duty/R − kt²·ω/R
    τf_max = kv|ω| + kc + |km·τm − ke·τe| + s·(kcs + |kms·τm − kes·τe| + Q),   s = exp(−|ω/ωs|^α)
    Q = keq·τe² if |τm| > |τe|, else kmq·τm², where τm and τe have opposite signs; else 0

That is M6; M1 to M5 are the same law with coefficients left out or tied (`FRICTION_MODELS`). Everything is
seen after the gear: kt, R and the armature are those of the motor reflected to the joint.

Source: Duclusaud, Passault, Padois and Ly, "Extended friction models for the physics simulation of servo
actuators", 2024, and its public code and parameters, better-actuator-models 1.0.2 (Apache-2.0). The supply's
resistance and the warming of the winding are additions of this package and are zero by default.

The functions are plain Python over floats and compile unchanged.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from pliant.actuators.parameters import Parameter, resolve
from pliant.errors import ConfigurationError, FileFormatError, check_bounds, unknown_name

REFERENCE_TEMPERATURE = 25.0
"""Temperature at which a servo has its nominal resistance, °C."""

MOTOR_PARAMETERS = (
    Parameter("kt", "N·m/A", 1.0, 1e-3, 50.0, "torque constant, after the gear"),
    Parameter("resistance", "Ω", 4.0, 0.05, 500.0, "resistance of the winding at 25 °C"),
    Parameter("armature", "kg·m²", 0.002, 1e-6, 10.0, "inertia of the motor, after the gear"),
    Parameter("supply_resistance", "Ω", 0.0, 0.0, 5.0, "resistance of the supply and its wires"),
    Parameter("heating", "1/K", 0.0, 0.0, 0.05, "rise of the winding's resistance per kelvin of the case"),
)

FRICTION_PARAMETERS = (
    Parameter("kv", "N·m·s/rad", 0.0, 0.0, 50.0, "viscous friction"),
    Parameter("kc", "N·m", 0.0, 0.0, 50.0, "Coulomb friction"),
    Parameter("kcs", "N·m", 0.0, 0.0, 50.0, "Coulomb friction added at rest"),
    Parameter("stribeck_speed", "rad/s", 1.0, 1e-3, 100.0, "speed ωs over which the friction of rest fades"),
    Parameter("stribeck_exponent", "1", 1.0, 0.05, 10.0, "shape α of that fading"),
    Parameter("km", "1", 0.0, 0.0, 1.0, "load friction, share of the motor's torque"),
    Parameter("ke", "1", 0.0, 0.0, 1.0, "load friction, share of the external torque"),
    Parameter("kms", "1", 0.0, 0.0, 1.0, "load friction added at rest, share of the motor's torque"),
    Parameter("kes", "1", 0.0, 0.0, 1.0, "load friction added at rest, share of the external torque"),
    Parameter("kmq", "1/(N·m)", 0.0, 0.0, 50.0, "quadratic load friction at rest while the load drives"),
    Parameter("keq", "1/(N·m)", 0.0, 0.0, 50.0, "quadratic load friction at rest while the motor drives"),
)

PARAMETERS = MOTOR_PARAMETERS + FRICTION_PARAMETERS
"""What a servo is made of, in the order in which the functions take it."""


@dataclass(frozen=True)
class FrictionModel:
    """One member of the family: which coefficients it has, and which of them share a value."""

    name: str
    meaning: str
    free: tuple[str, ...]
    tied: Mapping[str, str] = field(default_factory=dict)
    """Coefficient -> the free one whose value it takes."""


def _family() -> dict[str, FrictionModel]:
    plain = ("kv", "kc")
    stribeck = (*plain, "kcs", "stribeck_speed", "stribeck_exponent")
    directional = (*stribeck, "km", "ke", "kms", "kes")
    members = (
        FrictionModel("m1", "Coulomb and viscous", plain),
        FrictionModel("m2", "M1 and Stribeck", stribeck),
        FrictionModel("m3", "M1 and load", (*plain, "km"), {"ke": "km"}),
        FrictionModel("m4", "M2 and load", (*stribeck, "km", "kms"), {"ke": "km", "kes": "kms"}),
        FrictionModel("m5", "M4, motor and external load apart", directional),
        FrictionModel("m6", "M5 and quadratic load", (*directional, "kmq", "keq")),
    )
    return {member.name: member for member in members}


FRICTION_MODELS: Mapping[str, FrictionModel] = MappingProxyType(_family())


def friction_model(name: str) -> FrictionModel:
    """Return a friction model by name; raise `UnknownNameError` if there is none."""
    if name not in FRICTION_MODELS:
        raise unknown_name("friction model", name, FRICTION_MODELS)
    return FRICTION_MODELS[name]


def servo_duty(error: float, p_gain: float, error_gain: float, max_duty: float) -> float:
    """Duty cycle −1…1 for a position error: clip(error_gain·P·Δq, ±max_duty).

    Args:
        error: goal minus position, rad.
        p_gain: value of the servo's P gain register.
        error_gain: duty per rad and unit of the register.
        max_duty: largest duty cycle.
    """
    duty = error_gain * p_gain * error
    return min(max(duty, -max_duty), max_duty)


def loaded_resistance(
    duty: float, temperature: float, resistance: float, supply_resistance: float, heating: float
) -> float:
    """Resistance that the motor's current meets, Ω: R·(1 + α·(T − 25 °C)) + Rs·duty².

    The supply carries the current duty·I, so its voltage drops by Rs·duty·I and the motor sees
    duty·(V − Rs·duty·I) = R·I + kt·ω; solved for I, that is a resistance Rs·duty² in series. T is what the
    servo reports, the temperature of its case, °C; its winding is warmer, so α exceeds copper's 0.0039/K.
    """
    return resistance * (1.0 + heating * (temperature - REFERENCE_TEMPERATURE)) + supply_resistance * duty * duty


def motor_torque(duty: float, speed: float, voltage: float, kt: float, resistance: float) -> float:
    """Torque of the driven motor at the joint, N·m: τm = kt·V·duty/R − kt²·ω/R. With torque off it is zero."""
    return kt * (voltage * duty - kt * speed) / resistance


def friction_budget(
    speed: float,
    motor: float,
    external: float,
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
) -> float:
    """Largest torque that friction can take, N·m (the law of M6 in the module's head).

    Args:
        speed: ω, rad/s.
        motor: τm, N·m.
        external: τe, torque of gravity and contacts on the joint, positive along +q like τm, N·m. A motor
            that holds a load has τe of the opposite sign, and the gear between them is loaded.
        kv, kc, kcs, stribeck_speed, stribeck_exponent, km, ke, kms, kes, kmq, keq: see `FRICTION_PARAMETERS`.
    """
    at_rest = kcs + abs(kms * motor - kes * external)
    if motor * external < 0.0:
        at_rest += keq * external * external if abs(motor) > abs(external) else kmq * motor * motor
    fading = math.exp(-math.pow(abs(speed) / stribeck_speed, stribeck_exponent))
    return kv * abs(speed) + kc + abs(km * motor - ke * external) + fading * at_rest


def friction_torque(stopping: float, budget: float) -> float:
    """Torque of friction on the joint, N·m: the torque that would stop the motion, clipped to ±budget."""
    return min(max(stopping, -budget), budget)


def rubbed_speed(speed: float, torque: float, budget: float, inertia: float, step: float) -> float:
    """Speed after a step under a torque and friction, rad/s; exactly zero where friction suffices to stop.

    ω' = ω + (τ + τf)·h/I with τf = clip(−(I·ω/h + τ), ±budget): τf·ω' ≤ 0, so over the displacement h·ω' of
    a semi-implicit step friction never gives energy.
    """
    free = speed + torque * step / inertia
    reach = budget * step / inertia
    return free - min(max(free, -reach), reach)


@dataclass(frozen=True)
class BamServo:
    """A servo: its position loop, motor and friction coefficients. Torque N·m, voltage V, angle rad.

    Raises:
        UnknownNameError: no such friction model, or a value that the model does not have.
        OutOfBoundsError: a value that is not finite or outside its bounds.
    """

    name: str
    model: str
    values: Mapping[str, float]
    """By parameter name; what is absent has its default or is tied by the model."""
    voltage: float
    """Supply voltage where none is given, V."""
    source: str
    error_gain: float | None = None
    """Duty per rad and unit of the P gain register; None: driven by its current, without such a loop."""
    max_duty: float = 1.0

    def __post_init__(self) -> None:
        model = friction_model(self.model)
        own = {p.name for p in MOTOR_PARAMETERS} | set(model.free)
        for name in self.values:
            if name not in own:
                raise unknown_name("parameter", name, sorted(own), f"servo {self.name!r} ({self.model})")
        resolve(f"servo {self.name!r}", PARAMETERS, self.values)
        check_bounds(f"servo {self.name!r}: voltage", self.voltage, 0.1, 1000.0, "V")
        check_bounds(f"servo {self.name!r}: max_duty", self.max_duty, 0.0, 1.0)
        if self.error_gain is not None:
            check_bounds(f"servo {self.name!r}: error_gain", self.error_gain, 0.0, 1e3, "1/rad")

    @property
    def all_values(self) -> tuple[float, ...]:
        """One value per entry of `PARAMETERS`, in order, with the model's ties applied."""
        ties = friction_model(self.model).tied
        tied = {name: self.values[root] for name, root in ties.items() if root in self.values}
        return resolve(f"servo {self.name!r}", PARAMETERS, {**self.values, **tied})

    @property
    def loop(self) -> tuple[float, float]:
        """error_gain and max_duty; raises `ConfigurationError` if the servo has no position loop."""
        if self.error_gain is None:
            raise ConfigurationError(f"servo {self.name!r} is driven by its current: it has no P gain register.")
        return self.error_gain, self.max_duty

    def duty(self, error: float, p_gain: float) -> float:
        """Duty cycle for a position error; raises as `loop` does."""
        return servo_duty(error, p_gain, *self.loop)

    def torque(
        self, duty: float, speed: float, voltage: float | None = None, temperature: float = REFERENCE_TEMPERATURE
    ) -> float:
        """Torque of the motor before friction, N·m, at a supply voltage (its own when None)."""
        kt, resistance, _, supply_resistance, heating = self.all_values[: len(MOTOR_PARAMETERS)]
        total = loaded_resistance(duty, temperature, resistance, supply_resistance, heating)
        return motor_torque(duty, speed, self.voltage if voltage is None else voltage, kt, total)

    def friction(self, speed: float, motor: float, external: float) -> float:
        """Largest torque that friction can take, N·m; arguments as in `friction_budget`."""
        return friction_budget(speed, motor, external, *self.all_values[len(MOTOR_PARAMETERS) :])


_BAM = "better-actuator-models 1.0.2 (Rhoban, Apache-2.0)"


def _published(
    name: str, voltage: float, loop: tuple[float, float] | None, kt: float, resistance: float, armature: float,
    kc: float, kv: float,
) -> BamServo:  # fmt: skip
    values = {"kt": kt, "resistance": resistance, "armature": armature, "kc": kc, "kv": kv}
    error_gain, max_duty = loop or (None, 1.0)
    return BamServo(name, "m1", values, voltage, _BAM, error_gain, max_duty)


_MX = (0.158, 0.9625)
_XL330 = (4096 / (2 * math.pi) / (256 * 885), 1.0)

_PUBLISHED = (
    _published("MX-64", 12.0, _MX, 1.622, 3.949, 0.01195, 0.0904, 0.0117),
    _published("MX-106", 12.0, _MX, 2.191, 2.965, 0.0266, 0.1035, 0.0352),
    _published("XL-320", 7.4, (0.0505, 1.0), 0.987, 35.6, 0.00112, 0.0275, 0.0033),
    _published("XL330", 7.4, _XL330, 0.387, 4.017, 0.00181, 0.0128, 0.0037),
    _published("eRob80:50", 48.0, None, 4.543, 2.51, 0.337, 4.10, 1.30),
    _published("STS3215", 7.4, (0.166, 0.97), 1.212, 2.676, 0.0284, 0.0524, 0.0591),
)

SERVOS: Mapping[str, BamServo] = MappingProxyType({servo.name: servo for servo in _PUBLISHED})
"""The published M1 sets, by the servo's name."""

IDENTIFIED = "identified_xl330.json"
"""File beside this one with the servos that were identified here."""


def servo_from_data(data: Mapping[str, Any], where: str) -> BamServo:
    """Return the servo with these fields; raise `FileFormatError`, naming `where`, if they are not a servo's."""
    try:
        return BamServo(**data)
    except TypeError as error:
        raise FileFormatError(f"{where} does not describe a servo: {error}.") from error


@cache
def _identified() -> Mapping[str, BamServo]:
    text = (resources.files("pliant.actuators") / IDENTIFIED).read_text("utf-8")
    servos = (servo_from_data(entry["servo"], IDENTIFIED) for entry in json.loads(text)["models"])
    return {f"{servo.name}/{servo.model}": servo for servo in servos}


def servo_names() -> tuple[str, ...]:
    """Names that `find_servo` knows: the published sets, then `XL330/m1` … `XL330/m6`."""
    return (*SERVOS, *_identified())


def find_servo(name: str) -> BamServo:
    """Return a servo by name.

    A bare name (`MX-64`) is the published M1 set. `XL330/m1` to `XL330/m6` were found by
    `pliant.controllers.identification` from public recordings of a pendulum; they hold for that one servo, at
    7.4 V (its data sheet's range ends at 6 V).

    Raises:
        UnknownNameError: no such servo.
    """
    known = {**SERVOS, **_identified()}
    if name not in known:
        raise unknown_name("servo", name, known)
    return known[name]
