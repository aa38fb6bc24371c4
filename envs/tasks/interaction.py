"""The action term of variable impedance: an action moves gains, wrench and velocity of a law of interaction."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np

from pliant.controllers.checks import finite_array
from pliant.controllers.controller import Controller
from pliant.controllers.interaction import (
    AdmittanceGains,
    Contact,
    DirectForceGains,
    LawLimits,
    LowPass,
    SteeredInteraction,
    Watch,
    check_stability,
)
from pliant.controllers.interaction.gains import AXES
from pliant.controllers.interaction.goals import as_gains
from pliant.envs.tasks.actions import Action, ActionOnRobot, with_controller
from pliant.envs.tasks.kinematics import Kinematics
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.robot import Array, Channel, RobotInfo, State

Gains = AdmittanceGains | DirectForceGains
Ranges = Mapping[str, Sequence[float]]

_LOOKED_AT: Final = 5
"""Factors of each gain with which stability is checked."""
_NAMES: Final = {
    "wrench": (*(f"force_{axis}" for axis in "xyz"), *(f"torque_{axis}" for axis in "xyz")),
    "velocity": (*(f"velocity_{axis}" for axis in "xyz"), *(f"angular_velocity_{axis}" for axis in "xyz")),
}
_UNITS: Final = {"wrench": ("N", "N·m"), "velocity": ("m/s", "rad/s")}
_LARGEST: Final = {"wrench": 1e4, "velocity": 10.0}


@dataclass(frozen=True)
class Interaction(Action):
    """A law of interaction commands the arm; the action moves its gains, desired wrench and desired velocity.

    Each period the action says what holds from then on, without a jump of command or speed (`SteeredInteraction`).
    Gains move by a factor whose logarithm the action spreads over its range, on all axes alike; a gain of 0 stays
    0. At rest factors are 1, wrench and velocity 0. All factors that can be asked for are checked against the
    contact. After a fault, such as a force above `watch`, the joints are held until the episode ends.
    """

    law: Gains | Mapping[str, Any]
    """Gains at the factor 1: entries of `AdmittanceGains` or `DirectForceGains`."""
    contact: Contact | Mapping[str, Any]
    """What is estimated of the contact; entries of `Contact`."""
    gains: Ranges = field(default_factory=dict)
    """By gain of the law (`damping`), lowest and highest factor; 1 is among them."""
    wrench: Ranges = field(default_factory=dict)
    """By axis of the law (x, y, z, rx, ry, rz), lowest and highest desired force, N, or torque, N·m; 0 is
    between."""
    velocity: Ranges = field(default_factory=dict)
    """Likewise the tool's desired velocity, m/s or rad/s."""
    sensor: str = "wrist"
    """Name of the force-torque sensor."""
    end_effector: str | None = None
    """Whose site presses; None: the only one."""
    frame: str = "start"
    """Along whose axes it acts: `world`, `base`, `flange`, `sensor`, `tool`, or `start`, as the tool began."""
    limits: LawLimits | Mapping[str, Any] = field(default_factory=LawLimits)
    """Of the law's motion; entries of `LawLimits`."""
    watch: Watch | Mapping[str, Any] = field(default_factory=lambda: Watch(lost_after=None))
    """When the joints are held; entries of `Watch`, of which `lost_after` is never unless given."""
    cutoff: float = 20.0
    """Of the low-pass of the wrench, Hz."""
    wrench_rate: Sequence[float] = (50.0, 10.0)
    """Of the desired force and torque, largest, N/s and N·m/s."""

    def __post_init__(self) -> None:
        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        keep("law", as_gains(self.law))
        keep("contact", _made(Contact, self.contact, "contact"))
        keep("limits", _made(LawLimits, self.limits, "limits"))
        watch = {"lost_after": None, **self.watch} if isinstance(self.watch, Mapping) else self.watch
        keep("watch", _made(Watch, watch, "watch"))
        keep(
            "wrench_rate", tuple(finite_array("action interaction: wrench_rate", self.wrench_rate, (2,)).tolist())
        )
        check_bounds("action interaction: cutoff", self.cutoff, 0.01, 1e4, "Hz")
        law = self.law
        assert isinstance(law, AdmittanceGains | DirectForceGains)
        own = [f.name for f in fields(law) if f.name not in ("axes", "relative_damping")]
        keep("gains", _ranges("gains", self.gains, own, (1e-6, 1e6), 1.0))
        for kind, most in _LARGEST.items():
            keep(kind, _ranges(kind, getattr(self, kind), AXES, (-most, most), 0.0))
        if not (self.gains or self.wrench or self.velocity):
            raise ConfigurationError("action interaction: neither gains nor wrench nor velocity move.")

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`. Its entries are called `law/log_GAIN`, `law/force_AXIS`, `law/velocity_AXIS`, ….

        Raises:
            UnknownNameError: no such sensor or end effector.
            MismatchError: a robot without columns of positions, or without the sensor's signals.
            ConfigurationError: gains within the ranges are unstable; no kinematics of an arm.
        """
        if kinematics is None:
            raise ConfigurationError(
                f"action interaction: nothing is known of the kinematics of robot {info.name!r}."
            )
        arm, load = kinematics.tool(self.end_effector, self.sensor)
        conditioning = WrenchConditioning(WrenchSettings(load=load, cutoff=self.cutoff))
        self._check_gains(info.period, LowPass.of(conditioning), arm.load)
        assert isinstance(self.limits, LawLimits)
        assert isinstance(self.watch, Watch)
        controller = SteeredInteraction(
            arm,
            info,
            self.law,
            conditioning,
            frame=self.frame,
            limits=self.limits,
            watch=self.watch,
            wrench_rate=self.wrench_rate,
        )
        channels = [
            Channel(f"law/log_{name}", "1", math.log(low), math.log(high), 0.0)
            for name, (low, high) in self.gains.items()
        ]
        for kind in ("wrench", "velocity"):
            for axis, (low, high) in getattr(self, kind).items():
                k = AXES.index(axis)
                channels.append(Channel(f"law/{_NAMES[kind][k]}", _UNITS[kind][k // 3], low, high, 0.0))
        middle = np.array([(c.low + c.high) / 2 for c in channels])
        half = np.array([(c.high - c.low) / 2 for c in channels])
        factors, low, high = len(self.gains), info.low, info.high
        places = [[AXES.index(axis) for axis in ranges] for ranges in (self.wrench, self.velocity)]
        first = factors + len(places[0])

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            assert isinstance(controller, SteeredInteraction)
            values = middle + half * action
            wrench, velocity = np.zeros(6), np.zeros(6)
            wrench[places[0]], velocity[places[1]] = values[factors:first], values[first:]
            gains = self.scaled(np.exp(values[:factors])) if factors else None
            controller.steer(gains, wrench, velocity)
            command[:] = np.clip(controller.update(state, t), low, high)

        return with_controller(info, tuple(channels), -middle / half, controller, act)

    def scaled(self, factors: Array) -> Gains:
        """Return the law's gains times factors, in the order of `gains`."""
        law = self.law
        assert isinstance(law, AdmittanceGains | DirectForceGains)
        changed: dict[str, Any] = {}
        for name, factor in zip(self.gains, np.asarray(factors).tolist(), strict=True):
            value = getattr(law, name)
            changed[name] = [factor * v for v in value] if isinstance(value, tuple) else factor * value
        return replace(law, **changed)

    def _check_gains(self, period: float, low_pass: LowPass, load: float) -> None:
        assert isinstance(self.contact, Contact)
        looked_at = [np.geomspace(low, high, _LOOKED_AT) for low, high in self.gains.values()]
        for factors in itertools.product(*looked_at):
            try:
                check_stability(self.scaled(np.array(factors)), self.contact, period, low_pass, load)
            except ConfigurationError as error:
                told = ", ".join(f"{name} {f:.3g}" for name, f in zip(self.gains, factors, strict=True))
                at = f" at the factors {told}" if told else ""
                raise ConfigurationError(f"action interaction: gains{at}: {error}") from error


def _made(kind: type, given: Any, what: str) -> Any:
    """Settings of a kind, from entries or as they are."""
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"action interaction: {what} is {given!r}; entries by name are needed.")
    known = [f.name for f in fields(kind)]
    for name in given:
        if name not in known:
            raise unknown_name("entry", name, known, f"action interaction: {what}")
    try:
        return kind(**given)
    except TypeError as error:
        raise ConfigurationError(f"action interaction: {what}: {error}.") from error


def _ranges(
    what: str, given: Any, names: Sequence[str], bounds: tuple[float, float], rest: float
) -> dict[str, tuple[float, float]]:
    """Ranges by name, within bounds and with what rests in them."""
    where, found = f"action interaction: {what}", {}
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{where} are {given!r}; ranges by name are needed.")
    for name, value in given.items():
        if name not in names:
            raise unknown_name("entry", name, names, where)
        low, high = finite_array(f"{where}: {name}", value, (2,)).tolist()
        for bound in (low, high):
            check_bounds(f"{where}: {name}", bound, *bounds)
        if not low <= rest <= high or low == high:
            raise OutOfBoundsError(
                f"{where}: {name} is [{low:g}, {high:g}]; a range with {rest:g} in it is needed."
            )
        found[name] = (low, high)
    return found
