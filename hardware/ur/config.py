"""Which arm, how it is commanded and what is expected of its controller: what a `URRobot` is made from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pliant.errors import ConfigurationError, check_bounds, check_numbers, unknown_name
from pliant.hardware.robot import Channel
from pliant.hardware.ur_arms import JOINTS, UrArm, ur_arm

Mode = Literal["position", "velocity", "torque", "tool"]
MODES: Final[tuple[Mode, ...]] = ("position", "velocity", "torque", "tool")
TOOL_COLUMNS: Final = ("x", "y", "z", "rx", "ry", "rz")
INPUTS: Final = (
    *(f"standard_{k}" for k in range(8)),
    *(f"configurable_{k}" for k in range(8)),
    *("tool_0", "tool_1", "analog_0", "analog_1"),
)
"""Digital inputs by their bit of the controller, then the analogue ones; outputs have the same names."""
LOOKAHEAD: Final = (0.03, 0.2)
"""Range of servoJ's lookahead time, s."""
GAIN: Final = (100.0, 2000.0)
"""Range of servoJ's gain."""
LARGEST_TURN: Final = 2 * math.pi
_REACH: Final = 2.0
"""Further than any tool gets, m."""


@dataclass(frozen=True)
class Payload:
    """What the controller is expected to carry."""

    mass: float
    """kg"""
    cog: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of gravity in the frame of the flange, m."""

    def __post_init__(self) -> None:
        check_bounds("payload: mass", self.mass, 0.0, 50.0, "kg")
        object.__setattr__(self, "cog", check_numbers("payload: cog", self.cog, 3, -2.0, 2.0))


@dataclass(frozen=True)
class URConfig:
    """An arm of Universal Robots behind its controller.

    The command has six columns: `JOINT/position`, `JOINT/velocity` or `JOINT/torque`, or in the mode `tool` the
    pose of the tool's centre point in the controller's base frame, `tcp/x` … `tcp/rz` (m, and a rotation vector in
    rad).
    """

    host: str
    """Address of the controller."""
    model: str = "ur10e"
    """Name of the arm, see `pliant.hardware.ur_arms`."""
    mode: Mode = "position"
    """`position` (servoJ), `velocity` (speedJ), `torque` (directTorque) or `tool` (servoL)."""
    period: float | None = None
    """Time from one command to the next, s: the controller's own (2 ms, 8 ms of a CB3) or a whole multiple; None:
    its own. Between commands further apart, positions and poses are interpolated."""
    name: str = "ur"
    joints: Sequence[str] = JOINTS
    """Their names, from the base to the flange."""
    low: Sequence[float] | None = None
    """Smallest value of each column, in its unit; None: what the arm can."""
    high: Sequence[float] | None = None
    rest: Sequence[float] | None = None
    """Where the arm rests, in the columns' units. In the mode `tool` it is needed; in others None is 0."""
    speed: Sequence[float] | None = None
    """Fastest motion that is sent, per column: of joints in rad/s (None: the arm's), of the tool in m/s and rad/s
    (None: 1 m/s and 3 rad/s)."""
    acceleration: float = 4.0
    """Of joints whose velocity is commanded, rad/s²."""
    deceleration: float = 10.0
    """With which `stop` brakes, rad/s²; of a tool's motion m/s²."""
    lookahead: float = 0.05
    """Time over which the controller smooths positions, s: less follows sooner, and rougher."""
    gain: float = 300.0
    """Of the controller's position loop, 100 … 2000."""
    viscous: Sequence[float] = (0.9, 0.9, 0.8, 0.9, 0.9, 0.9)
    """Part of each joint's viscous friction that the controller makes up for when torques are commanded, 0 … 1."""
    coulomb: Sequence[float] = (0.8, 0.8, 0.7, 0.8, 0.8, 0.8)
    """The same of its dry friction."""
    damping: Sequence[float] = (0.0,) * 6
    """Of each joint when torques are commanded, taken off the command with the measured speed, N·m·s/rad."""
    torque_constants: Sequence[float] | None = None
    """Torque on the link by the motor's current, N·m/A, as you measured it: nobody publishes it. None: the joints'
    torque is what the controller's model says."""
    watchdog: float = 0.1
    """Silence of this program after which the controller ends the motion by itself, s; it stands 0.03 … 0.08 s
    later.
    """
    stale: float = 0.05
    """Age of the controller's last package at which the arm is stopped, s."""
    payload: Payload | Mapping[str, Any] | None = None
    """What the controller must be set to, compared before the first motion; None: not compared."""
    tcp: Sequence[float] | None = None
    """Tool centre point that the controller must be set to, m and rotation vector; None: not compared."""
    end_effector: str | None = None
    """Name under which the controller's pose of the tool's centre point is read like an end effector's too:
    `tip/position_x` … `tip/orientation_z`. Configure `tcp`, or nobody knows whose pose that is."""
    inputs: Sequence[str] = ()
    """Inputs that are read too, see `INPUTS`: 0 or 1, analogue ones as the controller tells them, V or A."""
    outputs: Sequence[str] = ()
    """Outputs that are read too."""
    first_step: float = 0.1
    """Largest distance of the first command from where the arm is, rad, and m of a tool."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What the joints are, for `RobotInfo`."""
    positions: Sequence[Channel] = ()
    """Ranges of the joints' angles, `joint/position`; those of the arm where nothing is said."""

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host.strip() or any(c.isspace() for c in self.host):
            raise ConfigurationError(f"the controller's address is {self.host!r}; say host=192.168.1.10, for one.")
        arm = ur_arm(self.model)
        if self.mode not in MODES:
            raise unknown_name("mode", self.mode, MODES, "the arm's machine")
        self._check_period(arm)
        joints = tuple(self.joints) if not isinstance(self.joints, str) else (self.joints,)
        if len(joints) != 6 or len(set(joints)) != 6 or not all(isinstance(name, str) and name for name in joints):
            given = ", ".join(map(repr, joints))
            raise ConfigurationError(f"the arm has six joints of different names; {given} given.")
        object.__setattr__(self, "joints", joints)
        self._settle_ranges(arm)
        self._check_numbers()
        if self.end_effector is not None and (not isinstance(self.end_effector, str) or not self.end_effector):
            raise ConfigurationError(f"end_effector is {self.end_effector!r}; a name such as tip is needed.")
        for kind in ("inputs", "outputs"):
            for name in getattr(self, kind):
                if name not in INPUTS:
                    raise unknown_name(kind[:-1], name, INPUTS, "the arm's machine")
            object.__setattr__(self, kind, tuple(getattr(self, kind)))
        if isinstance(self.payload, Mapping):
            try:
                object.__setattr__(self, "payload", Payload(**self.payload))
            except TypeError as error:
                raise ConfigurationError(f"payload: {error}; mass (kg) and cog (m) are known.") from error
        elif self.payload is not None and not isinstance(self.payload, Payload):
            raise ConfigurationError(f"payload is {self.payload!r}; {{mass: 1.2, cog: [0, 0, 0.05]}} is one.")

    def _check_period(self, arm: UrArm) -> None:
        period = arm.period if self.period is None else check_bounds("period", self.period, 1e-3, 1.0, "s")
        steps = period / arm.period
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
            raise ConfigurationError(
                f"period is {1e3 * period:g} ms; the controller of a {arm.name} takes commands every "
                f"{1e3 * arm.period:g} ms, so {1e3 * arm.period * max(1, round(steps)):g} ms would do, or any "
                f"whole "
                "multiple."
            )
        object.__setattr__(self, "period", round(steps) * arm.period)
        check_bounds("watchdog", self.watchdog, 0.02, 1.0, "s")
        if self.watchdog < 2 * round(steps) * arm.period:
            raise ConfigurationError(
                f"watchdog is {self.watchdog:g} s, less than two periods of {period:g} s: it would end every "
                f"motion."
            )
        check_bounds("stale", self.stale, 5 * arm.period, 1.0, "s")

    def _settle_ranges(self, arm: UrArm) -> None:
        """Complete low, high, rest and speed, and check that they go together."""
        turns = [(-LARGEST_TURN, LARGEST_TURN) if ends is None else ends for ends in arm.range]
        if self.mode == "position":
            widest, fastest = turns, list(arm.speed)
        elif self.mode == "velocity":
            widest, fastest = [(-v, v) for v in arm.speed], list(arm.speed)
        elif self.mode == "torque":
            widest, fastest = [(-t, t) for t in arm.torque], list(arm.speed)
        else:
            widest = [(-_REACH, _REACH)] * 3 + [(-2 * LARGEST_TURN, 2 * LARGEST_TURN)] * 3
            fastest = [1.0] * 3 + [3.0] * 3
        low = check_numbers("low", [ends[0] for ends in widest] if self.low is None else self.low, 6, -1e3, 1e3)
        high = check_numbers(
            "high", [ends[1] for ends in widest] if self.high is None else self.high, 6, -1e3, 1e3
        )
        if self.rest is None and self.mode == "tool":
            raise ConfigurationError("a tool's motion needs to know where it rests: rest: [x, y, z, rx, ry, rz].")
        rest = check_numbers("rest", (0.0,) * 6 if self.rest is None else self.rest, 6, -1e3, 1e3)
        for name, a, b, at, (least, most) in zip(self.columns, low, high, rest, widest, strict=True):
            if not a < b:
                raise ConfigurationError(f"{name}: low {a:g} is not below high {b:g}.")
            check_bounds(f"{name}: low", a, least, most)
            check_bounds(f"{name}: high", b, least, most)
            check_bounds(f"{name}: rest", at, a, b)
        speed = check_numbers("speed", fastest if self.speed is None else self.speed, 6, 1e-3, 20.0)
        for name, value, most in zip(self.columns, speed, fastest, strict=True):
            check_bounds(f"{name}: speed", value, 1e-3, most if self.mode != "tool" else 20.0)
        for name, values in (("low", low), ("high", high), ("rest", rest), ("speed", speed)):
            object.__setattr__(self, name, values)

    def _check_numbers(self) -> None:
        check_bounds("acceleration", self.acceleration, 0.01, 40.0, "rad/s²")
        check_bounds("deceleration", self.deceleration, 0.1, 40.0)
        check_bounds("lookahead", self.lookahead, *LOOKAHEAD, "s")
        check_bounds("gain", self.gain, *GAIN)
        check_bounds("first_step", self.first_step, 0.0, math.pi, "rad")
        for name, low, high in (("viscous", 0.0, 1.0), ("coulomb", 0.0, 1.0), ("damping", 0.0, 1e3)):
            object.__setattr__(self, name, check_numbers(name, getattr(self, name), 6, low, high))
        if self.torque_constants is not None:
            constants = check_numbers("torque_constants", self.torque_constants, 6, 0.01, 1e3)
            object.__setattr__(self, "torque_constants", constants)
        if self.tcp is not None:
            object.__setattr__(self, "tcp", check_numbers("tcp", self.tcp, 6, -7.0, 7.0))

    @property
    def arm(self) -> UrArm:
        """The arm's published parameters."""
        return ur_arm(self.model)

    @property
    def cycle(self) -> float:
        """Time from one cycle of the controller to the next, s."""
        return self.arm.period

    @property
    def steps(self) -> int:
        """Cycles of the controller in a period."""
        assert self.period is not None
        return round(self.period / self.cycle)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the command's columns."""
        if self.mode == "tool":
            return tuple(f"tcp/{name}" for name in TOOL_COLUMNS)
        return tuple(f"{joint}/{self.mode}" for joint in self.joints)

    @property
    def units(self) -> tuple[str, ...]:
        """Their units."""
        if self.mode == "tool":
            return ("m",) * 3 + ("rad",) * 3
        return ({"position": "rad", "velocity": "rad/s", "torque": "N·m"}[self.mode],) * 6
