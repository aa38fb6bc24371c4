"""Drives: how a command becomes the torque of a rigid joint, or the motion of the motors behind a spring.

A drive is plain, annotated Python functions over floats that use `math`, and a description: its state, its
parameters, what a time step must know of it. The same source runs under a debugger and compiled. Functions take
what they need **by the names of their arguments**:

| argument | meaning | for |
|---|---|---|
| `q`, `dq` | angle and speed of the joint, rad, rad/s | link drives |
| `target` | the command in force | all |
| `load` | torque that the motor's spring puts on the link at the beginning of the step, N·m | motor drives |
| `step` | time step, s; 0 where `torque` and `effort` are read between steps | all |
| `inertia` | of the joint with all that hangs on it, kg·m²; in `step` only | link drives |
| `explicit_stiffness` | what an explicit step carries on the joint's smallest inertia, N·m/rad | link drives |
| `low`, `high` | torque that the joint lets through (`actuatorfrcrange`), N·m; in `step` only | link drives |
| names of `state` | the drive's state before the step | all |
| names of `parameters` | its parameters | all |

A drive in a file of your own::

    from pliant.actuators import Parameter, link_drive

    def stiffness(kp: float) -> float:
        return kp

    @link_drive(parameters=(Parameter("kp", "N·m/rad", 5.0, 0.0, 1e3, "stiffness"),), stiffness=stiffness)
    def spring_loop(q: float, target: float, kp: float) -> float:
        return kp * (target - q)

    joint = CompliantJoint(law="rigid", mode="link_position", drive=spring_loop(kp=8.0))
"""

import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pliant.actuators import drives
from pliant.actuators.identity import digest
from pliant.actuators.layout import (
    EFFORT,
    MOST_DRIVE_PARAMETERS,
    RATES,
    STEP,
    TORQUE,
    TORQUE_AFTER,
    VELOCITY,
)
from pliant.actuators.modes import Mode
from pliant.actuators.parameters import Parameter, resolve
from pliant.conf.build import imported
from pliant.errors import ConfigurationError, unknown_name

LINK_INPUTS = ("q", "dq", "target", "step", "inertia", "explicit_stiffness", "low", "high")
MOTOR_INPUTS = ("target", "load", "step")

INPUTS = ("q", "dq", "target", "load", "step", "inertia", "explicit_stiffness", "low", "high")
"""What a compiled drive is given, in order."""

Function = Callable[..., Any]


class Affine(NamedTuple):
    """Numbers of MuJoCo's own actuator, whose derivatives its implicit integrators know, in place of a callback.

    The torque is gain·command + stiffness·angle + damping·speed, within ±limit.
    """

    gain: float
    stiffness: float
    damping: float
    limit: float


@dataclass(frozen=True, eq=False)
class DriveKind:
    """A kind of drive: functions and description. Call it with parameter values to configure it."""

    name: str
    main: Function
    """What the decorator was put on: `torque` of a link drive, `step` of a motor drive."""
    motor: bool
    """It moves a motor behind a spring; otherwise it acts on the link of a rigid joint."""
    modes: tuple[Mode, ...]
    """The modes of a joint in which it runs."""
    parameters: tuple[Parameter, ...]
    state: tuple[str, ...]
    """Names of its state variables; a motor's first is `angle`, and `speed`, if it has one, its second."""
    torque: Function | None = None
    """Torque on the link, N·m."""
    step: Function | None = None
    """State after a step, in order; a float where there is one variable."""
    rates: Function | None = None
    """Time derivatives of the state, for RK4; without them a drive with state is refused there."""
    effort: Function | None = None
    """What is reported as the motor's torque, N·m; without it, 0."""
    velocity: Function | None = None
    """What is reported as the motor's speed, rad/s; without it, the second state variable, or 0."""
    at_end: bool = False
    """The torque over a step is that of the state after it."""
    fixed: tuple[str, ...] = ()
    """Parameters that cannot be drawn anew at a reset, because they stand elsewhere in the model as well."""
    command: tuple[str, str] = ("position", "rad")
    """What a link drive in mode 1 is commanded: name and unit on a hinge."""
    rest: Function | None = None
    """State at rest; without it, all but the angle are zero."""
    facts: Mapping[str, Function] = field(default_factory=dict)
    """Functions of the parameters: `stiffness`, `damping`, `armature`, `inertia`, `pole`, `rubs`, `affine`."""

    def __call__(self, **values: float) -> "Drive":
        """Return this drive with parameter values.

        Raises:
            UnknownNameError: no such parameter.
            OutOfBoundsError: a value is not finite or outside its bounds.
        """
        return Drive(self, resolve(f"drive {self.name!r}", self.parameters, values))

    def __reduce__(self) -> tuple[Function, tuple[str]]:
        """Copies and other processes get the very drive that its file holds."""
        return find_drive, (self.source,)

    @cached_property
    def source(self) -> str:
        """Where another process finds it: `module:name`."""
        return f"{self.main.__module__}:{self.name}"

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions that run inside MuJoCo, by name."""
        names = ("torque", "step", "rates", "effort", "velocity")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @cached_property
    def identity(self) -> str:
        """12 hexadecimal digits that are the same in every process that holds this very drive."""
        words = [self.source, str(self.at_end), *(p.name for p in self.parameters), *self.state]
        return digest([*words, *self.functions], tuple(self.functions.values()))

    def takes(self, argument: str) -> bool:
        """Whether one of its functions takes an argument of that name."""
        return any(argument in inspect.signature(f).parameters for f in self.functions.values())

    @cached_property
    def text(self) -> str:
        """Python source of the one function `drive` that both back ends call; see `layout.STEP`.

        `p[at]` is the first of its parameters, `act[base]` and `rates[base]` its state and what is written of it.
        """
        branches = (
            (STEP, self._assignment("step")),
            (RATES, self._assignment("rates")),
            (TORQUE, self._value("torque", late=False)),
            (TORQUE_AFTER, self._value("torque", late=self.at_end)),
            (EFFORT, self._value("effort", late=False)),
            (VELOCITY, self._velocity()),
        )
        lines = [f"def drive(which, {', '.join(INPUTS)}, p, at, act, base, rates, out):"]
        for which, code in branches:
            lines += [f"    if which == {which}:", f"        {code}"] if code else []
        return "\n".join(
            [f'"""Calling convention of the drive {self.name}; generated."""', "", "", *lines, ""]
        ) + ("    return 0.0\n")

    @cached_property
    def function(self) -> Function:
        """`drive` of `text`, in Python."""
        namespace: dict[str, Any] = {f"drive_{name}": function for name, function in self.functions.items()}
        exec(compile(self.text, f"<drive {self.name}>", "exec"), namespace)
        made: Function = namespace["drive"]
        return made

    def _call(self, name: str, late: bool = False) -> str:
        own = "(act[base + {0}] + step * rates[base + {0}])" if late else "act[base + {0}]"
        values = {variable: own.format(k) for k, variable in enumerate(self.state)}
        values |= {parameter.name: f"p[at + {k}]" for k, parameter in enumerate(self.parameters)}
        arguments = (
            values.get(argument, argument) for argument in inspect.signature(self.functions[name]).parameters
        )
        return f"drive_{name}({', '.join(arguments)})"

    def _assignment(self, name: str) -> str:
        if name not in self.functions or not self.state:
            return ""
        return f"{', '.join(f'out[base + {k}]' for k in range(len(self.state)))} = {self._call(name)}"

    def _value(self, name: str, late: bool) -> str:
        return f"return {self._call(name, late)}" if name in self.functions else ""

    def _velocity(self) -> str:
        if self.velocity is None and "speed" in self.state:
            return "return act[base + 1]"
        return self._value("velocity", late=False)


@dataclass(frozen=True)
class Drive:
    """A drive with its parameter values."""

    kind: DriveKind
    values: tuple[float, ...]

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return {p.name: v for p, v in zip(self.kind.parameters, self.values, strict=True)}

    def varied(self, **values: float) -> "Drive":
        """Return the drive with some other values; errors of `DriveKind.__call__`."""
        return self.kind(**{**self.parameters, **values})

    def describe(self) -> dict[str, Any]:
        """The drive as plain data, for `drive_from_description`."""
        return {"kind": self.kind.source, "identity": self.kind.identity, "parameters": self.parameters}

    def _fact(self, name: str, default: Any, **more: float) -> Any:
        function = self.kind.facts.get(name)
        if function is None:
            return default
        known = {**self.parameters, **more}
        return function(*(known[argument] for argument in inspect.signature(function).parameters))

    @cached_property
    def stiffness(self) -> float:
        """Explicit stiffness of its torque on the link where it is steepest, N·m/rad."""
        return float(self._fact("stiffness", 0.0))

    @cached_property
    def damping(self) -> float:
        """Explicit damping of its torque on the link, N·m·s/rad."""
        return float(self._fact("damping", 0.0))

    @cached_property
    def armature(self) -> float:
        """Inertia that it adds to its joint, kg·m²."""
        return float(self._fact("armature", 0.0))

    @cached_property
    def inertia(self) -> float:
        """Inertia of its motor behind the spring, kg·m²; infinite where the spring cannot move it."""
        return float(self._fact("inertia", math.inf))

    def pole(self, spring: float) -> float:
        """Quickest rate at which it settles on a spring of a stiffness (N·m/rad), 1/s; 0 where it names none."""
        return float(self._fact("pole", 0.0, spring=spring))

    @cached_property
    def rubs(self) -> tuple[bool, bool]:
        """Whether it brings viscous friction, and dry friction, of the joint itself."""
        viscous, dry = self._fact("rubs", (False, False))
        return bool(viscous), bool(dry)

    @cached_property
    def affine(self) -> Affine | None:
        """MuJoCo's own actuator that it is; None where it is a callback."""
        found: Affine | None = self._fact("affine", None)
        return found

    @property
    def torque_limit(self) -> float | None:
        """Largest torque that can be commanded, N·m; None where the drive names none."""
        return self.parameters.get("torque_limit")

    def resting(self, angle: float, target: float, load: float = 0.0, step: float = 0.0) -> tuple[float, ...]:
        """State at rest, of a motor or of a link drive.

        Args:
            angle: where the motor stands, rad.
            target: the command.
            load: torque that its spring puts on the link, N·m.
            step: time step of a single-step integrator, by which the load pushes it, s; 0 for RK4.
        """
        if self.kind.rest is not None:
            known = {**self.parameters, "angle": angle, "target": target, "load": load, "step": step}
            return tuple(self.kind.rest(*(known[name] for name in inspect.signature(self.kind.rest).parameters)))
        if not self.kind.motor:
            return (0.0,) * len(self.kind.state)
        return (angle, *(0.0,) * (len(self.kind.state) - 1))


def link_drive(
    *,
    parameters: tuple[Parameter, ...] = (),
    state: tuple[str, ...] = (),
    step: Function | None = None,
    rates: Function | None = None,
    effort: Function | None = None,
    at_end: bool = False,
    torque_command: bool = False,
    command: tuple[str, str] = ("position", "rad"),
    rest: Function | None = None,
    fixed: tuple[str, ...] = (),
    **facts: Function,
) -> Callable[[Function], DriveKind]:
    """Make a drive of the decorated function: its torque on the link of a rigid joint (modes 0 and 1), N·m.

    Args:
        parameters: descriptions of its parameters.
        state: names of its state variables.
        step: state after a time step.
        rates: time derivatives of the state, for RK4.
        effort: what is reported as the motor's torque, N·m.
        at_end: the torque over a step is that of the state after it.
        torque_command: the command is a torque (mode 0) rather than a position (mode 1).
        command: name and unit of what it is commanded in mode 1, where that is no position, such as
            `("velocity", "rad/s")`; the joint's `position_range` bounds it.
        rest: state at rest, of `target` (the command) and the parameters; without it, zeros.
        fixed: parameters that cannot be drawn anew at a reset.
        facts: functions of the parameters: `stiffness` (N·m/rad) and `damping` (N·m·s/rad) of the torque, by
            which the time step is checked; `armature` (kg·m²) put on the joint; `rubs`, a pair that says whether
            viscous and dry friction of the joint are in it; `affine`, see `Affine`.

    Raises:
        ConfigurationError: a function takes an argument that nothing is known of, or no step goes with the state.
    """

    def decorate(function: Function) -> DriveKind:
        mode = Mode.LINK_TORQUE if torque_command else Mode.LINK_POSITION
        kind = DriveKind(
            function.__name__, function, False, (mode,), parameters, state, function, step, rates, effort,
            None, at_end, fixed, command, rest, facts,
        )  # fmt: skip
        return _checked(kind, LINK_INPUTS, ("stiffness", "damping", "armature", "rubs", "affine"))

    return decorate


def motor_drive(
    *,
    parameters: tuple[Parameter, ...] = (),
    state: tuple[str, ...] = ("angle", "speed"),
    rates: Function | None = None,
    effort: Function | None = None,
    velocity: Function | None = None,
    torque_command: bool = False,
    rest: Function | None = None,
    **facts: Function,
) -> Callable[[Function], DriveKind]:
    """Make a drive of the decorated function: the state of one motor behind a spring after a step (modes 4 to 6).

    A joint with two motors has two such drives, alike but for a lever's pivot. The spring gives link and motor the
    same impulse, `load`·`step`, at the step's beginning; the link then moves on with its new speed, as MuJoCo's
    integrators have it. A motor that does so too (angle after = angle + step·(speed after)) makes with its link a
    leapfrog, which neither loses nor gains momentum and energy.

    Args:
        parameters: descriptions of its parameters.
        state: names of its state variables, `angle` first; `speed`, if there is one, second.
        rates: time derivatives of the state, for RK4.
        effort: what is reported as the motor's torque, N·m.
        velocity: what is reported as its speed, where that is not the second state variable.
        torque_command: the command is a torque (mode 4) rather than a position (modes 5 and 6).
        rest: state at rest, of `angle` (where it stands), `target` (the command), `load` and `step` (0 under RK4)
            and the parameters.
        facts: functions of the parameters: `inertia` (kg·m²) that the spring moves; `pole(spring, …)`, the
            quickest rate (1/s) on a spring of that stiffness, by which RK4's step is checked.

    Raises:
        ConfigurationError: as `link_drive`, or the state does not begin with `angle`.
    """

    def decorate(function: Function) -> DriveKind:
        modes = (Mode.MOTOR_TORQUES,) if torque_command else (Mode.MOTOR_POSITIONS, Mode.EQUILIBRIUM_PRESET_MOTORS)
        kind = DriveKind(
            function.__name__, function, True, modes, parameters, state, None, function, rates, effort,
            velocity, False, (), ("position", "rad"), rest, facts,
        )  # fmt: skip
        if state[:1] != ("angle",) or "speed" in state[2:]:
            raise ConfigurationError(
                f"drive {kind.name!r}: the state of a motor is its angle first, and its speed, if it has one, "
                f"second; got {state}."
            )
        return _checked(kind, MOTOR_INPUTS, ("inertia", "pole"))

    return decorate


def _checked(kind: DriveKind, inputs: tuple[str, ...], facts: tuple[str, ...]) -> DriveKind:
    own = [*(p.name for p in kind.parameters), *kind.state]
    for name in own:
        if name in inputs or own.count(name) > 1:
            raise ConfigurationError(
                f"drive {kind.name!r}: the name {name!r} is used twice, or is that of an input."
            )
    if len(kind.parameters) > MOST_DRIVE_PARAMETERS:
        raise ConfigurationError(
            f"drive {kind.name!r} has {len(kind.parameters)} parameters; at most {MOST_DRIVE_PARAMETERS} fit in a "
            "model."
        )
    if bool(kind.state) != (kind.step is not None):
        raise ConfigurationError(f"drive {kind.name!r}: a state and a step function go together.")
    for name in kind.facts:
        if name not in facts:
            raise unknown_name("fact", name, facts, f"drive {kind.name!r}")
    known = {**dict.fromkeys(kind.functions, (*inputs, *own))}
    parameters = tuple(p.name for p in kind.parameters)
    known |= {name: (*parameters, "spring") if name == "pole" else parameters for name in kind.facts}
    rest = {} if kind.rest is None else {"rest": kind.rest}
    known["rest"] = (*(("angle", "load", "step") if kind.motor else ()), "target", *parameters)
    for name, function in {**kind.functions, **kind.facts, **rest}.items():
        for argument in inspect.signature(function).parameters:
            if argument not in known[name]:
                raise unknown_name("argument", argument, known[name], f"{name} of drive {kind.name!r}")
    return kind


def find_drive(source: str) -> DriveKind:
    """Return a kind of drive by its name in `pliant.actuators.drives`, or by `module:name` on the import path.

    Raises:
        UnknownNameError: there is no such drive.
        ConfigurationError: the module cannot be imported, or what it holds is not a drive.
    """
    module, _, attribute = source.rpartition(":")
    if not module:
        names = tuple(found.name for found in pkgutil.iter_modules(drives.__path__))
        if source not in names:
            raise unknown_name("drive", source, names)
        module = f"{drives.__name__}.{source}"
    found = imported(module, attribute, f"drive {source!r}")
    if not isinstance(found, DriveKind):
        raise ConfigurationError(
            f"{source!r} is a {type(found).__name__}, not a drive (see link_drive, motor_drive)."
        )
    return found


def drive_from_description(description: Mapping[str, Any], where: str) -> Drive:
    """Rebuild a drive from `Drive.describe`; raises `KeyError` or `TypeError` where it is damaged.

    Raises:
        ConfigurationError: the drive cannot be imported, or has changed since the description was written.
    """
    kind = find_drive(str(description["kind"]))
    check_identity(kind, description["identity"], where)
    return kind(**description["parameters"])


def check_identity(kind: DriveKind, written: object, where: str) -> None:
    """Raise `ConfigurationError` if a drive is not the one of which a model was written."""
    if kind.identity != written:
        raise ConfigurationError(
            f"{where}: drive {kind.source!r} has changed since this model was written (identity {kind.identity} "
            f"here, {written} there). Build the model again with today's drive."
        )
