"""The action term of gaits: a gait commands the robot, an action moves its parameters and corrects its targets."""

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pliant.controllers.checks import finite_array, positive
from pliant.controllers.controller import Controller
from pliant.controllers.gaits import FootGait, Gait, Hopf, Kuramoto, MatsuokaGait, MatsuokaUnit, Salamander
from pliant.envs.tasks.actions import Action, ActionOnRobot, Offsets, check_reach, with_controller
from pliant.envs.tasks.kinematics import Kinematics
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Channel, RobotInfo, State

GAITS: Final[Mapping[str, Callable[..., Gait]]] = {"foot": FootGait, "matsuoka": MatsuokaGait}
"""By name."""
_RHYTHMS: Final = {"kuramoto": Kuramoto, "hopf": Hopf, "salamander": Salamander}
_PARAMETERS: Final = {
    "stride": "m",
    "height": "m",
    "frequency": "Hz",
    "stride_height": "1",
    "speed": "m/s",
    "turn_rate": "rad/s",
}
"""What may be moved, in the order in which it is set: the stride says how fast a gait can be."""


def gait_settings(gait: str | Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return a gait's name, as `name`, and its settings.

    Args:
        gait: `foot`, `matsuoka`, or a mapping.
        what: asks for it, for messages.

    Raises:
        ConfigurationError, UnknownNameError: no gait is named, or one that is not there; a setting it has not.
    """
    given = {"name": gait} if isinstance(gait, str) else gait
    if not isinstance(given, Mapping) or "name" not in given:
        raise ConfigurationError(f"{what}: gait is {gait!r}; a name, or a mapping with one, is needed.")
    if given["name"] not in GAITS:
        raise unknown_name("gait", str(given["name"]), GAITS, what)
    known = [n for n in inspect.signature(GAITS[given["name"]]).parameters if n not in ("info", "legs", "limits")]
    for name in given:
        if name not in ("name", *known):
            raise unknown_name("setting", name, known, f"gait {given['name']!r}")
    return dict(given)


def build_gait(info: RobotInfo, settings: Mapping[str, Any]) -> Gait:
    """Return the gait of `gait_settings` for a robot; raises what the gait has to say about them."""
    given = {name: value for name, value in settings.items() if name != "name"}
    if isinstance(given.get("rhythm"), str):
        if given["rhythm"] not in _RHYTHMS:
            raise unknown_name("rhythm", given["rhythm"], _RHYTHMS, f"gait {settings['name']!r}")
        given["rhythm"] = _RHYTHMS[given["rhythm"]]()
    if isinstance(given.get("unit"), Mapping):
        given["unit"] = MatsuokaUnit(**given["unit"])
    return GAITS[settings["name"]](info, **given)


@dataclass(frozen=True)
class GaitAction(Action):
    """A gait commands the robot; the action moves its parameters and corrects its targets.

        command = gait(parameters) + c,   ċ = (residual·a − c)/smoothing

    Parameters move within ranges, at rest they are what the gait was configured with; the gait follows them
    smoothly. Corrections go through a low-pass, since every step of a servo's goal is a peak of its torque. Tasks
    find the phase of the gait's first leg among their signals, as `gait/sine` and `gait/cosine`.
    """

    gait: str | Mapping[str, Any] = "foot"
    """`foot` or `matsuoka`, or a mapping with that as `name` and the gait's settings; `rhythm` is a name there,
    `unit` a mapping."""
    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By name (stride, height, frequency, stride_height, speed, turn_rate), lowest and highest value."""
    residual: float | Mapping[str, float] = field(default_factory=dict)
    """Largest correction, rad: of all columns, or by name or glob of columns. 0: none."""
    smoothing: float = 0.05
    """Time constant of the corrections, s; 0: none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gait", gait_settings(self.gait, "action gait"))
        for name, bounds in self.parameters.items():
            if name not in _PARAMETERS:
                raise unknown_name("parameter", name, _PARAMETERS, "action gait")
            low, high = finite_array(f"action gait: {name}", bounds, (2,))
            if not low < high:
                raise ConfigurationError(f"action gait: {name}: low {low:g} must be below high {high:g}.")
        object.__setattr__(self, "residual", check_reach("action gait: residual", self.residual))
        assert isinstance(self.residual, Mapping)
        if not (self.parameters or any(self.residual.values())):
            raise ConfigurationError("action gait: neither parameters nor a residual: nothing moves.")
        check_bounds("action gait: smoothing", self.smoothing, 0.0, 10.0, "s")

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`. Its entries are called `gait/NAME` and `COLUMN_residual`.

        Raises:
            UnknownNameError: the robot lacks a joint of the gait, or a column that is corrected.
            OutOfBoundsError: parameters in the ranges that the gait cannot have, alone or together.
        """
        gait = self.on_robot(info)
        names = [name for name in _PARAMETERS if name in self.parameters]
        ranges = np.array([self.parameters[name] for name in names]).reshape(-1, 2)
        present = self._check(gait, names, ranges)
        corrections = Offsets(info, self.residual, self.smoothing)
        channels = tuple(
            Channel(f"gait/{name}", _PARAMETERS[name], least, most, rest)
            for name, (least, most), rest in zip(names, ranges.tolist(), present, strict=True)
        )
        middle, half = ranges.mean(axis=1), np.diff(ranges)[:, 0] / 2.0
        count, low, high = len(names), info.low, info.high

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            assert isinstance(controller, _Corrected)
            for name, value in zip(names, (middle + half * action[:count]).tolist(), strict=True):
                setattr(controller.gait, name, value)
            corrections.follow(controller.correction, action[count:])
            command[:] = controller.update(state, t)
            np.clip(command, low, high, out=command)

        rest = np.concatenate([(np.array(present) - middle) / half, np.zeros(len(corrections.columns))])
        told = tuple(Channel(f"gait/{name}", "1", -1.0, 1.0) for name in ("sine", "cosine"))
        on_robot = with_controller(
            info, (*channels, *corrections.channels("residual")), rest, _Corrected(gait, len(info.command)), act
        )
        return on_robot._replace(told=told, tell=_tell)

    def on_robot(self, info: RobotInfo) -> Gait:
        """Return the gait for a robot."""
        return build_gait(info, gait_settings(self.gait, "action gait"))

    def _check(self, gait: Gait, names: Sequence[str], ranges: Array) -> list[float]:
        """Try all ends of the ranges together; returns what the parameters are."""
        for name, (low, high) in zip(names, ranges.tolist(), strict=True):
            if not hasattr(gait, name):
                raise unknown_name(
                    "parameter", name, [n for n in _PARAMETERS if hasattr(gait, n)], type(gait).__name__
                )
            if name == "frequency":
                positive("action gait: frequency", low, "Hz")
            check_bounds(f"action gait: {name} of the gait", getattr(gait, name), low, high)
        present = [float(getattr(gait, name)) for name in names]
        for corner in itertools.product(*ranges.tolist()):
            for name, value in zip(names, corner, strict=True):
                setattr(gait, name, value)
        for name, value in zip(names, present, strict=True):
            setattr(gait, name, value)
        return present


class _Corrected(Controller):
    """A gait and what is added to its targets."""

    def __init__(self, gait: Gait, columns: int) -> None:
        self.gait, self.correction = gait, np.zeros(columns)

    def check(self, info: RobotInfo) -> None:
        self.gait.check(info)

    def reset(self, state: State) -> None:
        self.gait.reset(state)
        self.correction[:] = 0.0

    def update(self, state: State, t: float) -> Array:
        return self.gait.update(state, t) + self.correction


def _tell(controller: Controller, out: Array) -> None:
    assert isinstance(controller, _Corrected)
    phase = 2.0 * math.pi * float(controller.gait.phase[0])
    out[0], out[1] = math.sin(phase), math.cos(phase)
