"""What describes a compliant joint: a law and a drive."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from pliant.actuators import layout, references
from pliant.actuators.drive import Affine, Drive, check_identity, drive_from_description
from pliant.actuators.drives.lever_pivot import lever_pivot
from pliant.actuators.drives.link_pid import link_pid
from pliant.actuators.drives.motor_pid import motor_pid
from pliant.actuators.drives.motor_torque import motor_torque
from pliant.actuators.drives.torque import torque
from pliant.actuators.law import Compliance, Law, Pair, Preset, check_preset
from pliant.actuators.laws import as_compliance, find_law
from pliant.actuators.modes import Mode, as_mode
from pliant.actuators.motor import Motor, Pivot
from pliant.actuators.pid import LINK_PID, PID
from pliant.actuators.servo import ServoDrive, as_servo, servo_from_description
from pliant.actuators.units import HINGE, JointUnits
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    OutOfBoundsError,
    PliantError,
    check_bounds,
)

_KNOWN_MAPS: dict[object, float] = {references.direct: layout.DIRECT, references.antagonistic: layout.ANTAGONISTIC}


@dataclass(frozen=True)
class Reference:
    """One reference a joint receives: the name of its column, unit, bounds and resting value."""

    name: str
    unit: str
    low: float
    high: float
    rest: float


@dataclass(frozen=True)
class CompliantJoint:
    """Everything that describes a compliant joint. `law`, `mode` and `servo` may be given by name.

    Raises:
        UnknownNameError: no such law, mode or parameter.
        OutOfBoundsError: a value outside its bounds.
        ConfigurationError: law and mode do not go together.
    """

    law: Compliance
    mode: Mode = Mode.EQUILIBRIUM_PRESET
    motor: Motor = field(default_factory=Motor)
    pid: PID | None = None
    """None: the motor loop's defaults, or the link loop's in mode 1."""
    servo: ServoDrive | None = None
    """Drives the link in mode 1, in place of the PID."""
    pivot: Pivot = field(default_factory=Pivot)
    preset_range: Pair | None = None
    """Bounds of the stiffness preset (rad, or m for a pivot); None: all that the law allows."""
    preset: float | None = None
    """Resting stiffness preset; None: the law's, moved inside `preset_range`."""
    position_range: Pair = (-math.pi, math.pi)
    """Bounds of position references, rad; of whatever else a drive of your own is commanded. How far they lie
    apart is how far a spring is taken to deflect whose law names no `max_deflection`."""
    implicit: bool = False
    """Let MuJoCo's `discrete` integrator carry the stiff part of the spring implicitly."""
    delay: float = 0.0
    """Delay of all references of the joint, s; a multiple of the time step is exact."""
    drive: Drive | None = None
    """A drive in place of motor, PID and servo, such as one of your own; None: the mode's own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", as_compliance(self.law))
        object.__setattr__(self, "mode", as_mode(self.mode))
        if self.servo is not None:
            object.__setattr__(self, "servo", as_servo(self.servo))
        given = [name for name in ("servo", "pid", "drive") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ConfigurationError(
                f"a joint has a servo or a PID or another drive, not both {' and '.join(given)}: each has its own "
                "loop."
            )
        if self.drive is not None and not isinstance(self.drive, Drive):
            raise ConfigurationError(
                f"{self.drive!r} is no drive with its values; call the kind of drive (see link_drive, "
                "motor_drive)."
            )
        if not given:
            object.__setattr__(self, "pid", LINK_PID if self.mode is Mode.LINK_POSITION else PID())
        low, high = (float(value) for value in self.position_range)
        if not low < high:
            raise ConfigurationError(f"position_range ({low:g}, {high:g}) rad must be ascending.")
        object.__setattr__(self, "position_range", (low, high))
        check_bounds("delay", self.delay, 0.0, 10.0, "s")
        self._check_law_and_mode()
        if self.preset_range is not None:
            object.__setattr__(self, "preset_range", check_preset(self.law, *map(float, self.preset_range)))
        if self.preset is not None:
            described = self._described_preset()
            check_bounds(f"law {self.law.law.name!r}: preset", self.preset, *self.preset_bounds, described.unit)

    def _check_law_and_mode(self) -> None:
        name = self.law.law.name
        if self.mode.rigid and name != "rigid":
            raise ConfigurationError(
                f"mode {int(self.mode)} ({self.mode.name.lower()}) drives the link directly and needs the law "
                f"'rigid'; {name!r} runs in modes 2 to 6."
            )
        if not self.mode.rigid and name == "rigid":
            raise ConfigurationError(
                f"a rigid joint has no spring for mode {int(self.mode)} ({self.mode.name.lower()}); "
                "use mode 0 or 1, or an elastic law."
            )
        drive = self.servo.drive if self.servo is not None else self.drive
        if drive is not None and self.mode not in drive.kind.modes:
            modes = " or ".join(f"mode {int(mode)} ({mode.name.lower()})" for mode in drive.kind.modes)
            raise ConfigurationError(
                f"the drive {drive.kind.name!r} runs in {modes}, not in mode {int(self.mode)} "
                f"({self.mode.name.lower()})."
            )
        if self.implicit and self.mode.rigid:
            raise ConfigurationError("implicit stiffness is for springs; a rigid joint has none.")

    def _described_preset(self) -> Preset:
        described = self.law.preset
        if described is None:
            raise ConfigurationError(f"law {self.law.law.name!r} has no stiffness preset.")
        return described

    @property
    def preset_bounds(self) -> Pair:
        """Bounds of the stiffness preset, rad (m for a pivot)."""
        if self.preset_range is not None:
            return self.preset_range
        described = self._described_preset()
        return described.low, described.high

    @property
    def resting_preset(self) -> float:
        """Preset at rest: `preset`, or the law's own default moved inside the bounds; 0 without a preset."""
        if self.law.preset is None:
            return 0.0
        low, high = self.preset_bounds
        return min(max(self.law.preset.default if self.preset is None else self.preset, low), high)

    @cached_property
    def drives(self) -> tuple[Drive, ...]:
        """What drives the link, or each motor; none where motors are ideal (modes 2 and 3)."""
        first = self._first_drive()
        if first is None:
            return ()
        if self.motors == 1:
            return (first,)
        return (first, Drive(lever_pivot, self.pivot.values) if self.law.law.pivot else first)

    def _first_drive(self) -> Drive | None:
        if self.servo is not None:
            return self.servo.drive
        if self.drive is not None:
            return self.drive
        if self.mode is Mode.LINK_TORQUE:
            return torque(torque_limit=self.motor.torque_limit)
        if self.mode is Mode.MOTOR_TORQUES:
            return Drive(motor_torque, self.motor.values)
        if not (self.mode is Mode.LINK_POSITION or self.mode.has_motors):
            return None
        assert self.pid is not None
        if self.mode is Mode.LINK_POSITION:
            return Drive(link_pid, (*self.pid.values, self.motor.torque_limit))
        return Drive(motor_pid, (*self.motor.values, *self.pid.values))

    @property
    def armature(self) -> float:
        """Inertia that the drive adds to the joint, kg·m²."""
        return sum(drive.armature for drive in self.drives)

    @property
    def affine(self) -> Affine | None:
        """MuJoCo's own actuator that the joint is; None where callbacks compute it."""
        return self.drives[0].affine if self.mode.rigid else None

    @property
    def stiffest(self) -> float:
        """Largest stiffness that the joint can reach, N·m/rad; the gain of its drive in modes 0 and 1."""
        if self.mode.rigid:
            return self.drives[0].stiffness
        bounds = None if self.law.preset is None else self.preset_bounds
        low, high = self.position_range
        return self.law.stiffest(bounds, independent=not self.mode.maps_references, reach=high - low)

    @property
    def motors(self) -> int:
        """Number of motors."""
        return self.law.law.motors

    @property
    def link_damping(self) -> float:
        """Damping that the joint's torque puts on the link by itself (modes 0 and 1), N·m·s/rad."""
        return self.drives[0].damping if self.mode.rigid else 0.0

    @property
    def explicit_share(self) -> bool:
        """Whether its row holds the stiffness that an explicit step can carry: for a spring or a bristle."""
        return self.implicit or any(drive.kind.takes("explicit_stiffness") for drive in self.drives)

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Activations of each drive."""
        least = layout.LEAST_MOTOR_STATE if self.mode.has_motors else 0
        return tuple(max(len(drive.kind.state), least) for drive in self.drives)

    @property
    def act_size(self) -> int:
        """Number of activation variables of the joint's first actuator."""
        return sum(self.state_sizes) + int(self.implicit)

    def references(self, units: JointUnits = HINGE) -> tuple[Reference, ...]:
        """The references the joint receives, in order: one per motor, or one for a single-motor joint.

        Args:
            units: of the joint that it is put on; `JointOnModel.references` knows them.
        """
        limit, force = self._torque_limit, units.force
        low, high = self.position_range
        if self.mode is Mode.LINK_TORQUE:
            return (Reference("torque", force, -limit, limit, 0.0),)
        if self.mode is Mode.LINK_POSITION:
            name, unit = self.drives[0].kind.command
            turned = dict(zip(HINGE, units, strict=True))
            return (Reference(name, turned.get(unit, unit), low, high, min(max(0.0, low), high)),)
        neutral = min(max(0.0, low), high)
        rest1, rest2 = self.law.references(neutral, self.resting_preset)
        if self.mode.maps_references:
            first = Reference("equilibrium", units.position, low, high, neutral)
        elif self.mode is Mode.MOTOR_TORQUES:
            first = Reference("torque1", force, -limit, limit, 0.0)
        else:
            first = Reference("motor1", units.position, *self._motor_range(), rest1)
        if self.motors == 1:
            return (first,)
        return (first, self._second_reference(rest2, units))

    @property
    def _torque_limit(self) -> float:
        """Bound of a torque command, N·m: the drive's, or the motor's where it names none."""
        limits = [drive.torque_limit for drive in self.drives[:1] if drive.torque_limit is not None]
        return limits[0] if limits else self.motor.torque_limit

    def _second_reference(self, rest: float, units: JointUnits) -> Reference:
        limit = self._torque_limit
        if self.mode.maps_references or self.law.law.pivot:
            described = self._described_preset()
            unit = described.unit if self.law.law.pivot or described.unit != HINGE.position else units.position
            return Reference(described.name, unit, *self.preset_bounds, self.resting_preset)
        if self.mode is Mode.MOTOR_TORQUES:
            return Reference("torque2", units.force, -limit, limit, 0.0)
        return Reference("motor2", units.position, *self._motor_range(), rest)

    def holding(self, position: float) -> tuple[float, ...]:
        """References that hold the joint at a position (rad, m) without load: no torque, presets at rest."""
        positioned = self.mode is not Mode.LINK_POSITION or self.drives[0].kind.command[0] == "position"
        if self.mode in (Mode.LINK_TORQUE, Mode.MOTOR_TORQUES) or not positioned:
            return tuple(reference.rest for reference in self.references())
        low, high = self.position_range
        equilibrium = min(max(position, low), high)
        if self.mode.rigid or self.mode.maps_references:
            return (equilibrium, self.resting_preset)[: self.motors]
        return self.law.references(equilibrium, self.resting_preset)[: self.motors]

    def resting_motors(self, position: float, references: Sequence[float]) -> tuple[float, ...]:
        """Angles (a pivot's position) of the motors at rest, one per motor, rad (m).

        In modes 5 and 6 they are the references, through the law's map in mode 6. In mode 4 the references are
        torques: the motors stand where the springs carry no load, a pivot at its reference.

        Args:
            position: link angle, rad.
            references: what the joint is given.
        """
        first, second = (*references, 0.0)[:2]
        if self.mode is Mode.MOTOR_TORQUES:
            first, second = self.law.references(position, second if self.law.law.pivot else 0.0)
        elif self.mode.maps_references:
            first, second = self.law.references(first, second)
        return (first, second)[: self.motors]

    def resting_act(self, position: float, references: Sequence[float]) -> list[float]:
        """Activation variables at rest: motors as in `resting_motors`, not moving, bristles relaxed."""
        act = [0.0] * self.act_size
        targets = tuple(references)[: len(self.drives)]
        angles = self.resting_motors(position, references) if self.mode.has_motors else targets
        at = 0
        for drive, size, angle, target in zip(self.drives, self.state_sizes, angles, targets, strict=True):
            state = drive.resting(angle, angle if self.mode.maps_references else target)
            act[at : at + len(state)] = state
            at += size
        return act

    def _motor_range(self) -> Pair:
        """Bounds of a motor's own reference: where equilibrium and preset can send it."""
        low, high = self.position_range
        reach = 0.0
        if self.law.preset is not None and not self.law.law.pivot:
            reach = max(abs(bound) for bound in self.preset_bounds)
        return low - reach, high + reach

    def row(self, explicit_stiffness: float = 0.0) -> list[float]:
        """The joint's row of `actuator_user` (see layout.py)."""
        row = [0.0] * layout.USER_SIZE
        law = self.law.law
        row[layout.MAGIC] = layout.MAGIC_VALUE
        row[layout.IDENTITY : layout.IDENTITY + 3] = layout.identity_words(law.identity)
        row[layout.MODE] = float(self.mode)
        row[layout.MOTORS] = float(self.motors)
        row[layout.PIVOT] = float(law.pivot)
        row[layout.IMPLICIT] = float(self.implicit)
        row[layout.EXPLICIT_STIFFNESS] = explicit_stiffness
        row[layout.MAP] = _KNOWN_MAPS.get(law.reference_map, 0.0)
        row[layout.LAW_AT : layout.LAW_AT + len(self.law.values)] = self.law.values
        row[layout.STATE] = float(sum(self.state_sizes))
        if self.drives:
            first, last = self.drives[0], self.drives[-1]
            alike = last is first
            row[layout.SECOND_STATE] = float(self.state_sizes[0])
            row[layout.SECOND_AT] = float(layout.DRIVE_AT if alike else layout.OTHER_AT)
            for identity, at, drive in (
                (layout.DRIVE, layout.DRIVE_AT, first),
                (layout.SECOND_DRIVE, int(row[layout.SECOND_AT]), last),
            ):
                row[identity : identity + 3] = layout.identity_words(drive.kind.identity)
                row[at : at + len(drive.values)] = drive.values
        return row

    def describe(self) -> dict[str, Any]:
        """The joint as plain data, complete enough for `from_description`."""
        return {
            "law": self.law.law.source,
            "identity": self.law.law.identity,
            "parameters": self.law.parameters,
            "mode": int(self.mode),
            "motor": asdict(self.motor),
            "pid": None if self.pid is None else asdict(self.pid),
            "servo": None if self.servo is None else self.servo.describe(),
            "pivot": asdict(self.pivot),
            "drives": {drive.kind.source: drive.kind.identity for drive in self.drives},
            "drive": None if self.drive is None else self.drive.describe(),
            "preset_range": self.preset_range,
            "preset": self.preset,
            "position_range": self.position_range,
            "implicit": self.implicit,
            "delay": self.delay,
        }


def from_description(description: Mapping[str, Any], where: str) -> CompliantJoint:
    """Rebuild a joint from `CompliantJoint.describe`, importing its law.

    Raises:
        ConfigurationError: the law cannot be imported, or has changed since the description was written.
        FileFormatError: the description is damaged.
    """
    try:
        law: Law = find_law(str(description["law"]))
        if law.identity != description["identity"]:
            raise ConfigurationError(
                f"{where}: law {description['law']!r} has changed since this model was written (identity "
                f"{law.identity} here, {description['identity']} there). Build the model again with today's law."
            )
        joint = CompliantJoint(
            law=law(**description["parameters"]),
            mode=as_mode(int(description["mode"])),
            motor=Motor(**description["motor"]),
            pid=None if description["pid"] is None else PID(**description["pid"]),
            servo=None if description["servo"] is None else servo_from_description(description["servo"]),
            pivot=Pivot(**description["pivot"]),
            preset_range=None if description["preset_range"] is None else tuple(description["preset_range"]),
            preset=description["preset"],
            position_range=tuple(description["position_range"]),
            implicit=bool(description["implicit"]),
            delay=float(description["delay"]),
            drive=None if description["drive"] is None else drive_from_description(description["drive"], where),
        )
        for drive in joint.drives:
            check_identity(
                drive.kind, dict(description["drives"]).get(drive.kind.source, drive.kind.identity), where
            )
        return joint
    except OutOfBoundsError as error:
        raise FileFormatError(f"{where}: the description of the joint is damaged ({error})") from error
    except PliantError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FileFormatError(f"{where}: the description of the joint is damaged ({error!r}).") from error
