"""AX-12A: a position servo whose stiffness is set by registers, and which switches itself off under overload.

The servo drives its motor by the position error e, in counts of 300°/1023, with margin M, slope S, punch P and
torque limit T (P and T in 1/1023 of the full drive):

    |e| ≤ M:          0
    M < |e| < M + S:  sign(e)·[P + (T − P)·(|e| − M)/S], at most T
    |e| ≥ M + S:      sign(e)·T

Near the goal it is a spring of stiffness τ_stall·(T − P)/1023 / (S·count) with a dead band. Source: e-manual of
the AX-12A (margins 26/27, slopes 28/29, torque limit 34, punch 48; stall 1.5 N·m and 59 rpm at 12 V).

The data sheet has no inertia, and its speed is a little low. Both are those with which a step of 498 counts goes
as in public recordings of a real one, bare and with a bar of 0.0046 kg·m² (github.com/treydufrene/meiosis_dev,
MATLAB/dynamixel/data/AX12A): 10 to 90 % in 310 and 320 ms, 62 to 65 rpm on the way, 3.8–4.2 and 5.8–6.0 % too far.

Overload. The manual says: when the load cannot be held with the torque that is set, the overload bit rises; if
the shutdown register (18) selects that bit, the torque limit (34) becomes zero, and torque returns only after
that register is written anew. It also asks to keep steady loads under a fifth of the stall torque. It publishes
neither the time a servo endures nor a thermal model. So here the *consequences* are the manual's, and the
*condition* is an assumption with its numbers in plain view: at the torque limit, without progress towards the
goal, for `overload_time` without interruption. Temperature is an input; only its limit is known.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.actuators.bam import BamServo
from pliant.actuators.parameters import Parameter, resolve
from pliant.errors import ConfigurationError, check_bounds

Array = NDArray[np.float64]

COUNT = math.radians(300.0) / 1023
"""One count of the position registers, rad."""
FULL = 1023
"""Full scale of the drive, the punch and the torque limit."""
LARGEST_SLOPE = 128
NO_LOAD_SPEED = 66 * math.tau / 60
"""rad/s; with the friction of the gear it turns with 64.6 rpm."""

OVERHEAT_BIT = 1 << 2
OVERLOAD_BIT = 1 << 5

_REGISTERS = (
    Parameter("cw_margin", "count", 1, 0, 255, "dead band, driving clockwise", "register 26"),
    Parameter("ccw_margin", "count", 1, 0, 255, "dead band, driving counter-clockwise", "register 27"),
    Parameter("cw_slope", "count", 32, 0, 254, "compliance slope, driving clockwise", "register 28"),
    Parameter("ccw_slope", "count", 32, 0, 254, "compliance slope, driving counter-clockwise", "register 29"),
    Parameter("punch", "1/1023", 32, 0, 1023, "least drive outside the dead band", "register 48"),
    Parameter("max_torque", "1/1023", 1023, 0, 1023, "torque limit after power-on", "register 14"),
    Parameter("shutdown", "bits", 36, 0, 127, "errors that switch the torque off", "register 18"),
    Parameter("temperature_limit", "°C", 70, 0, 150, "overheat error from here on", "register 11"),
)
_PHYSICS = (
    Parameter("stall_torque", "N·m", 1.5, 1e-3, 100.0, "at full drive and `voltage`", "e-manual"),
    Parameter("no_load_speed", "rad/s", NO_LOAD_SPEED, 1e-3, 100.0, "at full drive, no friction", "recordings"),
    Parameter("voltage", "V", 12.0, 1.0, 100.0, "supply of these figures", "e-manual"),
    Parameter("armature", "kg·m²", 0.0103, 1e-6, 10.0, "inertia of the motor, after the gear", "recordings"),
    Parameter("friction", "N·m", 0.015, 0.0, 100.0, "Coulomb friction of the gear", "a hundredth of stall"),
    Parameter("damping", "N·m·s/rad", 0.0024, 0.0, 100.0, "viscous friction", "the same at no-load speed"),
    Parameter("overload_time", "s", 2.0, 1e-3, 3600.0, "endured before the overload error", "assumption"),
    Parameter("progress_speed", "rad/s", 0.1, 0.0, 100.0, "slower than this is no progress", "assumption"),
)


def rounded_slope(slope: int) -> int:
    """Slope that the servo really uses, counts: rounded down to 2, 4, 8, … or 128."""
    return min(max(2, 1 << (max(int(slope), 1).bit_length() - 1)), LARGEST_SLOPE)


def compliance_drive(error: float, margin: float, slope: float, punch: float, torque_limit: float) -> float:
    """Drive of the compliance law, −1023…1023 (see the module's head).

    Args:
        error: goal minus position, counts.
        margin: M, counts.
        slope: S, counts, already rounded (`rounded_slope`).
        punch: P, 1/1023.
        torque_limit: T, 1/1023.
    """
    beyond = abs(error) - margin
    if beyond <= 0.0:
        return 0.0
    drive = torque_limit
    if beyond < slope:
        drive = min(punch + (torque_limit - punch) * beyond / slope, torque_limit)
    return drive if error > 0.0 else -drive


def overload_clock(
    clock: float, drive: float, torque_limit: float, speed: float, progress_speed: float, step: float
) -> float:
    """Time at the torque limit without progress towards the goal, s, after a step under a drive (1/1023)."""
    at_limit = abs(drive) >= torque_limit > 0.0
    stuck = speed * math.copysign(1.0, drive) < progress_speed
    return clock + step if at_limit and stuck else 0.0


@dataclass(frozen=True)
class ServoState:
    """What a servo remembers from one step to the next."""

    torque_limit: float
    """Register 34, 1/1023; zero after a shutdown. Write it (`AX12A.restarted`) to get torque back."""
    overloaded_for: float = 0.0
    """Time at the limit without progress, s."""
    errors: int = 0
    """Error bits as in the servo's status packets."""


@dataclass(frozen=True)
class AX12A:
    """Registers and physics of one servo. Counter-clockwise is positive: goal above position.

    The fields are described, with units and bounds, in `_REGISTERS` and `_PHYSICS`. Not for the X and MX(2.0)
    series: those have a P gain (`pliant.actuators.bam`).

    Raises:
        OutOfBoundsError: a value that the register cannot hold.
        ConfigurationError: a register value that is not a whole number.
    """

    cw_margin: int = 1
    ccw_margin: int = 1
    cw_slope: int = 32
    ccw_slope: int = 32
    punch: int = 32
    max_torque: int = 1023
    shutdown: int = OVERHEAT_BIT | OVERLOAD_BIT
    temperature_limit: int = 70
    stall_torque: float = 1.5
    no_load_speed: float = NO_LOAD_SPEED
    voltage: float = 12.0
    armature: float = 0.0103
    friction: float = 0.015
    damping: float = 0.0024
    overload_time: float = 2.0
    progress_speed: float = 0.1

    def __post_init__(self) -> None:
        values = resolve("AX-12A", _REGISTERS + _PHYSICS, vars(self))
        for register, value in zip(_REGISTERS, values, strict=False):
            if not value.is_integer():
                raise ConfigurationError(f"AX-12A: {register.name} = {value:g} must be a whole number.")

    @property
    def powered_on(self) -> ServoState:
        """State after power-on: the torque limit is `max_torque`."""
        return ServoState(float(self.max_torque))

    def restarted(self, state: ServoState, torque_limit: int) -> ServoState:
        """State after a write to the torque limit: errors cleared, the overload clock at zero."""
        check_bounds("AX-12A: torque_limit", torque_limit, 0, FULL, "1/1023")
        return replace(state, torque_limit=float(torque_limit), overloaded_for=0.0, errors=0)

    def drive(self, error: float, state: ServoState) -> float:
        """Drive for a position error (goal minus position, rad), −1023…1023."""
        margin, slope = (self.ccw_margin, self.ccw_slope) if error > 0.0 else (self.cw_margin, self.cw_slope)
        return compliance_drive(error / COUNT, margin, rounded_slope(slope), self.punch, state.torque_limit)

    def estimated_torque(self, error: ArrayLike, torque_limit: int | None = None) -> Array:
        """Torque that position errors tell of, N·m: their drive's share of the stall torque.

        It is what a servo that measures no current offers. It knows neither back-EMF nor friction: right only for
        a joint that stands, within the friction of its gear; of a moving one it is too large.

        Args:
            error: goal minus position, rad, of any shape.
            torque_limit: register 34, 1/1023; None: `max_torque`.

        Raises:
            OutOfBoundsError: an error that is no angle, or a limit out of its bounds.
        """
        limit = self.max_torque if torque_limit is None else torque_limit
        check_bounds("AX-12A: torque_limit", limit, 0, FULL, "1/1023")
        state = ServoState(float(limit))
        errors = [
            check_bounds("position error", value, -100.0, 100.0, "rad") for value in np.ravel(error).tolist()
        ]
        drives = np.array([self.drive(value, state) for value in errors])
        return self.stall_torque / FULL * drives.reshape(np.shape(error))

    @property
    def motor(self) -> BamServo:
        """Motor and gear: the line through stall torque and no-load speed, and friction of model M1.

        At no-load speed the back-EMF balances the supply, kt = V/ω₀; blocked, R = kt·V/τ_stall.
        """
        kt = self.voltage / self.no_load_speed
        values = {
            "kt": kt,
            "resistance": kt * self.voltage / self.stall_torque,
            "armature": self.armature,
            "kc": self.friction,
            "kv": self.damping,
        }
        return BamServo("AX-12A", "m1", values, self.voltage, "e-manual")

    def torque(self, drive: float, speed: float, state: ServoState, voltage: float | None = None) -> float:
        """Torque of the motor, N·m, at a supply voltage (the data sheet's when None); 0 after a shutdown.

        A servo that drives with zero brakes its motor, one that has shut down turns freely. Friction is not in it.
        """
        return 0.0 if state.torque_limit == 0.0 else self.motor.torque(drive / FULL, speed, voltage)

    def stiffness(self, state: ServoState) -> float:
        """Stiffness about a goal above the position, outside the dead band, N·m/rad."""
        span = max(state.torque_limit - self.punch, 0.0)
        return self.stall_torque * span / FULL / (rounded_slope(self.ccw_slope) * COUNT)

    def watched(
        self, state: ServoState, drive: float, speed: float, temperature: float, step: float
    ) -> ServoState:
        """State after `step` seconds of a drive: counts overload, raises errors, shuts down.

        Args:
            state: before the step.
            drive: what `drive` returned for it.
            speed: of the joint, rad/s.
            temperature: °C.
            step: s.
        """
        overloaded_for = overload_clock(
            state.overloaded_for, drive, state.torque_limit, speed, self.progress_speed, step
        )
        errors = state.errors
        if overloaded_for >= self.overload_time:
            errors |= OVERLOAD_BIT
        if temperature >= self.temperature_limit:
            errors |= OVERHEAT_BIT
        limit = 0.0 if errors & self.shutdown else state.torque_limit
        return ServoState(limit, overloaded_for, errors)
