"""Which servos move which joint, and how: what a `DynamixelRobot` is made from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pliant.errors import ConfigurationError, check_bounds, check_count, unknown_name
from pliant.hardware.dynamixel.bus import LONGEST_SLACK, MOST_RETRIES
from pliant.hardware.dynamixel.packets import LARGEST_ID
from pliant.hardware.dynamixel.tables import ServoModel, servo_model
from pliant.hardware.dynamixel.watching import ServoLimits
from pliant.hardware.robot import Channel

Mode = Literal["position", "extended", "current", "current_position", "pwm"]
DRIVEN_MODES: tuple[Mode, ...] = ("position", "extended", "current", "current_position", "pwm")
POSITION_MODES: tuple[Mode, ...] = ("position", "extended", "current_position")
CURRENT_MODES: tuple[Mode, ...] = ("current", "current_position")
LARGEST_WATCHDOG = 127 * 0.02
"""Longest time of the servos' bus watchdog, s."""
LARGEST_ANGLE = 1000.0
"""Largest angle that a joint's range may reach, rad."""

_DRIVERS_OWN = (
    *("id", "baud_rate", "operating_mode", "drive_mode", "homing_offset", "status_return_level"),
    *("torque_enable", "bus_watchdog"),
)


class Travel(NamedTuple):
    """Range of angles, rad."""

    low: float
    high: float


@dataclass(frozen=True)
class ServoMount:
    """A servo and how it sits on its joint.

    The angle it contributes, on the joint's side of any gear or belt, is θ = direction·(φ − zero)/gear, where
    φ is the servo's own angle, 0 at its middle position (count 2048, or 512 of an AX-12A).
    """

    servo: int
    """Id on the bus."""
    model: str
    """Name of the servo model, such as `XM430-W350`."""
    direction: int = 1
    """1, or −1 if the servo turns the joint backwards."""
    gear: float = 1.0
    """Turns of the servo to one of the joint."""
    zero: float = 0.0
    """φ at which θ = 0, rad."""
    homing_offset: int = 0
    """What the servo's register of that name is expected to hold; another tool may have changed it."""
    settings: Mapping[str, int] = field(default_factory=dict)
    """Counts of further registers (gains, limits, profile, compliance), written on connecting."""

    def __post_init__(self) -> None:
        largest = LARGEST_ID[self.table.protocol]
        if not 0 <= self.servo <= largest:
            raise ConfigurationError(f"servo id {self.servo} does not exist; 0 … {largest} do.")
        if self.direction not in (1, -1):
            raise ConfigurationError(f"servo {self.servo}: direction {self.direction} is neither 1 nor −1.")
        check_bounds(f"servo {self.servo}: gear", self.gear, 1e-3, 1e3)
        check_bounds(f"servo {self.servo}: zero", self.zero, -7.0, 7.0, "rad")
        for name, count in self.settings.items():
            register = self.table.register(name)
            own = name in _DRIVERS_OWN or (name == "led" and self.table.protocol == 1)
            if register.access == "R" or own or name.startswith("goal_"):
                raise ConfigurationError(f"servo {self.servo}: {name!r} cannot be among the settings.")
            register.encode(check_count(f"servo {self.servo}: {name}", count, -(2**32), 2**32))

    @property
    def table(self) -> ServoModel:
        """The servo model."""
        return servo_model(self.model)


@dataclass(frozen=True)
class DynamixelJoint:
    """A joint moved by one servo, directly or through a spring, or by two that pull on it through springs.

    - One servo: the joint turns with it, θ = q, and the command is its position.
    - One servo behind a spring (a series elastic joint): the command is the equilibrium, the angle at which the
      spring is relaxed, and the servo goes to θ = equilibrium.
    - Two (an antagonistic compliant joint): the command is the equilibrium and the stiffness preset, and the
      servos go to θ₁ = equilibrium + preset, θ₂ = equilibrium − preset.

    Behind a spring the link stands elsewhere than the servos. Only an `encoder` measures where: the servos'
    current is no measure of the spring's deflection, because the friction of their gears is in it.
    """

    name: str
    servos: Sequence[ServoMount]
    low: float
    """Smallest position, of a compliant joint smallest equilibrium, rad."""
    high: float
    """Largest, rad."""
    rest: float = 0.0
    """Where the joint rests, rad."""
    mode: Mode = "position"
    preset: Sequence[float] = (0.0, 0.0)
    """Range of the stiffness preset of a compliant joint, rad."""
    preset_rest: float = 0.0
    """Preset at rest, rad."""
    torque: float | None = None
    """Largest torque of a servo in the modes that limit it (current, current_position), on the joint's side, N·m;
    by default what its current limit gives."""
    encoder: ServoMount | None = None
    """A servo without torque that measures the link's angle, else unknown of a compliant joint."""
    spring: bool = False
    """Whether a spring stands between one servo and the link; between two and the link it always does."""

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        if len(self.servos) not in (1, 2):
            raise ConfigurationError(f"{where} has {len(self.servos)} servos; 1, or 2 that are antagonists.")
        if self.mode not in DRIVEN_MODES:
            raise unknown_name("mode", self.mode, DRIVEN_MODES, where)
        if self.compliant and self.mode not in POSITION_MODES:
            raise ConfigurationError(f"{where}: servos behind springs take a position mode, not {self.mode!r}.")
        for mount in self.servos:
            if self.mode not in mount.table.modes:
                known = [mode for mode in DRIVEN_MODES if mode in mount.table.modes]
                raise unknown_name("mode", self.mode, known, f"{where} (servo {mount.servo}, {mount.model})")
        for name in ("low", "high"):
            check_bounds(f"{where}: {name}", getattr(self, name), -LARGEST_ANGLE, LARGEST_ANGLE, "rad")
        if not self.low < self.high:
            raise ConfigurationError(f"{where}: low {self.low:g} is not below high {self.high:g}.")
        check_bounds(f"{where}: rest", self.rest, self.low, self.high, "rad")
        if len(self.preset) != 2 or not -LARGEST_ANGLE <= self.preset[0] <= self.preset[1] <= LARGEST_ANGLE:
            raise ConfigurationError(f"{where}: preset {self.preset} is not a range (lowest, highest).")
        if not self.antagonists and any(self.preset):
            raise ConfigurationError(f"{where} has one servo, so it has no preset; two that are antagonists have.")
        check_bounds(f"{where}: preset_rest", self.preset_rest, self.preset[0], self.preset[1], "rad")
        if self.torque is not None:
            check_bounds(f"{where}: torque", self.torque, 0.0, 1e3, "N·m")
            if self.mode not in CURRENT_MODES:
                raise ConfigurationError(
                    f"{where}: torque {self.torque:g} N·m would limit nothing in the mode {self.mode!r}; only "
                    f"{' and '.join(CURRENT_MODES)} limit it, or a current_limit among the servo's settings."
                )
        if self.mode in POSITION_MODES:
            for index in range(len(self.servos)):
                self._check_travel(index)

    @property
    def antagonists(self) -> bool:
        """Whether two servos pull on the joint."""
        return len(self.servos) == 2

    @property
    def compliant(self) -> bool:
        """Whether springs stand between the servos and the link."""
        return self.spring or self.antagonists

    def travel(self, index: int) -> Travel:
        """Return the range of θ of one of the joint's servos."""
        if not self.antagonists:
            return Travel(self.low, self.high)
        least, most = self.preset
        low, high = (least, most) if index == 0 else (-most, -least)
        return Travel(self.low + low, self.high + high)

    def largest_torque(self, index: int = 0) -> float:
        """Return the largest torque that one servo is asked for, on the joint's side, N·m."""
        mount = self.servos[index]
        if self.torque is not None:
            return self.torque
        limit = mount.table.register("current_limit")
        count = mount.settings.get("current_limit", limit.initial or 0)
        return count * mount.table.torque_per_count * mount.gear

    def _check_travel(self, index: int) -> None:
        """Raise unless the travel lies where the encoder is unambiguous."""
        mount, travel = self.servos[index], self.travel(index)
        table = mount.table
        ends = sorted(servo_count(mount, angle) for angle in travel)
        where = f"joint {self.name!r}, servo {mount.servo}: the travel [{travel.low:g}, {travel.high:g}] rad"
        if self.mode == "position" and (ends[0] < 0 or ends[1] > table.largest_count):
            raise ConfigurationError(
                f"{where} is counts {ends[0]:.0f} … {ends[1]:.0f}, across the end of the encoder (0 … "
                f"{table.largest_count}). Mount the horn so that the travel lies between, correct `zero` or "
                "the limits, or use the mode 'extended'."
            )
        if ends[1] - ends[0] >= table.counts_per_turn:
            raise ConfigurationError(
                f"{where} is more than a turn of the servo; after switching on, nobody knows in which it is."
            )


@dataclass(frozen=True)
class DynamixelConfig:
    """A robot of Dynamixel servos on one bus."""

    joints: Sequence[DynamixelJoint]
    """From base to tip."""
    port: str
    """Serial device."""
    baud_rate: int = 1_000_000
    """bit/s."""
    period: float = 0.02
    """Time from one command to the next, s."""
    watchdog: float = 0.2
    """Silence on the bus after which the servos stop by themselves, s; 0 for none (the AX-12A has none)."""
    name: str = "dynamixel"
    retries: int = 2
    """Further tries of a request without an answer."""
    slack: float = 0.005
    """Time an answer may be late, s."""
    fast_read: bool = False
    """Read all servos in one packet, if their firmware can."""
    on_close: Literal["release", "hold"] = "release"
    """End state: torque off, joint after joint from tip to base, or holding still."""
    release_pause: float = 0.1
    """Time from one joint's release to the next one's, s."""
    first_step: float = 0.1
    """Largest distance of the first command from where the joints are, and of a joint from its range, rad."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What the joints are, for `RobotInfo`."""
    limits: ServoLimits | None = None
    """Load, temperature and supply that AX-12A servos may come to, and where they are warned of; None: whatever
    they themselves stand."""
    positions: Sequence[Channel] = ()
    """Ranges of the links' angles and where they rest, `joint/position`; unbounded where nothing is said."""

    def __post_init__(self) -> None:
        if not self.joints:
            raise ConfigurationError("a Dynamixel robot needs at least one joint.")
        for what, names in (
            ("joint", [joint.name for joint in self.joints]),
            ("servo id", [mount.servo for mount in self.mounts()]),
        ):
            twice = sorted({str(name) for name in names if list(names).count(name) > 1})
            if twice:
                raise ConfigurationError(f"{what} {twice[0]} is there twice.")
        protocols = {mount.table.protocol for mount in self.mounts()}
        if len(protocols) > 1:
            models = sorted({mount.model for mount in self.mounts()})
            raise ConfigurationError(f"{', '.join(models)} speak different protocols; one bus has one.")
        check_bounds("period", self.period, 1e-4, 10.0, "s")
        check_bounds("baud_rate", self.baud_rate, 1, 1e8, "bit/s")
        check_count("retries", self.retries, 0, MOST_RETRIES)
        check_bounds("slack", self.slack, 0.0, LONGEST_SLACK, "s")
        check_bounds("release_pause", self.release_pause, 0.0, 60.0, "s")
        check_bounds("first_step", self.first_step, 0.0, math.pi, "rad")
        if self.on_close not in ("release", "hold"):
            raise unknown_name("end state", self.on_close, ("release", "hold"), "on_close")
        self._check_watchdog()
        if self.limits is not None and not isinstance(self.limits, ServoLimits):
            raise ConfigurationError(f"limits of the servos: {self.limits!r} is no ServoLimits.")
        if self.limits is not None and self.protocol != 1:
            raise ConfigurationError("limits of load, temperature and voltage are there for AX-12A servos only.")
        if self.cycle_time > self.period:
            raise ConfigurationError(
                f"reading and commanding {len(self.mounts())} servos takes {1e3 * self.cycle_time:.1f} ms at "
                f"{self.baud_rate} bit/s, more than the period of {1e3 * self.period:g} ms."
            )

    def _check_watchdog(self) -> None:
        check_bounds("watchdog", self.watchdog, 0.0, LARGEST_WATCHDOG, "s")
        if self.watchdog == 0:
            return
        if self.protocol == 1:
            raise ConfigurationError("the AX-12A has no bus watchdog; set watchdog: 0 to say that you know.")
        check_bounds("watchdog", self.watchdog, max(0.02, 2 * self.period), LARGEST_WATCHDOG, "s")

    @property
    def protocol(self) -> int:
        """Protocol of the bus, 1 or 2."""
        return self.joints[0].servos[0].table.protocol

    def mounts(self) -> list[ServoMount]:
        """Return every servo: the motors joint by joint, then the encoders."""
        encoders = [joint.encoder for joint in self.joints if joint.encoder is not None]
        return [mount for _, _, mount in self.motors()] + encoders

    def motors(self) -> Iterator[tuple[DynamixelJoint, int, ServoMount]]:
        """Yield joint, index within the joint, and servo, for every servo that moves something."""
        for joint in self.joints:
            for index, mount in enumerate(joint.servos):
                yield joint, index, mount

    @property
    def cycle_time(self) -> float:
        """Time on the wire of one reading and one command of every servo, without any delay, s."""
        count, motors = len(self.mounts()), len(list(self.motors()))
        tables = [mount.table for mount in self.mounts()]
        block = max(sum(table.register(name).size for name in table.feedback) for table in tables)
        goal = tables[0].register("goal_position").size
        if self.protocol == 1:
            size = count * (8 + 6 + block) + 8 + motors * (1 + goal)
        else:
            size = 14 + count + count * (11 + block) + 14 + motors * (1 + goal)
        return size * 10 / self.baud_rate


def servo_count(mount: ServoMount, angle: float) -> float:
    """Return the count, not rounded, at which the servo's θ is `angle`."""
    servo_angle = mount.zero + mount.direction * mount.gear * angle
    return mount.table.zero_count + servo_angle / mount.table.radians_per_count


def joint_angle(mount: ServoMount, count: float) -> float:
    """Return the servo's θ at `count`, rad."""
    servo_angle = (count - mount.table.zero_count) * mount.table.radians_per_count
    return mount.direction * (servo_angle - mount.zero) / mount.gear
