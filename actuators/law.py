"""Compliance laws: how a joint's elastic torque follows from link angle and motor references.

A law is one plain, annotated Python function over floats that uses `math`, and a description. The same
source runs under a debugger and compiled. A user's law lives in the user's own file::

    from pliant.actuators import Parameter, compliance_law

    @compliance_law(
        parameters=(Parameter("k", "N·m/rad", 5.0, 0.1, 100.0, "linear stiffness"),
                    Parameter("k3", "N·m/rad³", 40.0, 0.0, 1e4, "cubic stiffness")),
    )
    def hardening(q: float, theta: float, k: float, k3: float) -> float:
        d = q - theta
        return -(k * d + k3 * d * d * d)

    joint = CompliantJoint(law=hardening(k=8.0), mode=3)
"""

import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from pliant.actuators import references
from pliant.actuators.identity import digest
from pliant.actuators.layout import MOST_LAW_PARAMETERS
from pliant.actuators.parameters import Parameter, resolve
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name

MAX_PARAMETERS = MOST_LAW_PARAMETERS
"""Largest number of parameters of a law: they travel in a fixed block of the model."""

_STEP = 1e-6
"""Half the width of the central difference that stands in for a stiffness, rad."""
_PRESETS, _POINTS, _CLOSER_LOOKS = 21, 60, 8
"""How many presets, and deflections for each, a search for the stiffest setting tries; and how deep."""

Pair = tuple[float, float]


class Preset(NamedTuple):
    """The second reference of a law: what it is called, its unit, and its bounds."""

    name: str
    unit: str
    low: float
    high: float
    default: float


@dataclass(frozen=True, eq=False)
class Law:
    """A compliance law: torque function plus description. Call it with parameter values to configure it."""

    name: str
    torque: Callable[..., float | Pair]
    """(q, θ, …) -> τ for one motor, (q, θ1, θ2, …) -> (τ1, τ2) for two; τi: spring i's torque on the link."""
    motors: int
    parameters: tuple[Parameter, ...]
    stiffness: Callable[..., float] | None = None
    """Same arguments as `torque`; returns −∂τ/∂q. Without it, a central difference of `torque`."""
    energy: Callable[..., float] | None = None
    """Same arguments as `torque`; returns the elastic energy, J."""
    reference_map: Callable[[float, float], Pair] = references.direct
    inverse_map: Callable[[float, float], Pair] = references.direct
    preset: Callable[..., Preset] | None = None
    """The law's parameters -> description of the second reference. None: the law has one reference."""
    pivot: bool = False
    """The second reference is the position of a linear pivot drive (m) that the spring cannot back-drive."""
    sets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Named parameter sets, such as those identified on a machine; `default` always exists."""

    def __call__(self, set: str = "default", **values: float) -> "Compliance":
        """Return this law with parameter values: those of a named set, overridden one by one.

        Raises:
            UnknownNameError: the set or a parameter does not exist.
            OutOfBoundsError: a value is not finite or outside its bounds.
        """
        if set != "default" and set not in self.sets:
            raise unknown_name("parameter set", set, ("default", *self.sets), f"law {self.name!r}")
        merged = {**self.sets.get(set, {}), **values}
        return Compliance(self, resolve(f"law {self.name!r}", self.parameters, merged))

    def __reduce__(self) -> tuple[Callable[[str], "Law"], tuple[str]]:
        """Copies and other processes get the very law that its file holds."""
        return _law_at, (self.source,)

    @cached_property
    def source(self) -> str:
        """Where the law is found by another process: `module:name`."""
        return f"{self.torque.__module__}:{self.name}"

    @cached_property
    def identity(self) -> str:
        """12 hexadecimal digits that are the same in every process that holds this very law.

        They cover the import path, the parameter names, the source of the functions and of those they call,
        and the numbers these find in their modules, so that a model file is refused when its law has changed.
        """
        functions = [f for f in (self.torque, self.stiffness, self.reference_map) if f is not None]
        return digest([self.source, str(self.pivot), *(p.name for p in self.parameters)], functions)


def _law_at(source: str) -> Law:
    from pliant.actuators.laws import find_law

    return find_law(source)


@dataclass(frozen=True)
class Compliance:
    """A law with its parameter values. Angles rad, torques N·m, stiffness N·m/rad, energy J.

    For a law with a pivot, θ2 is the pivot's position in m; one outside the preset's bounds is an
    `OutOfBoundsError`.
    """

    law: Law
    values: tuple[float, ...]

    def _arguments(self, q: float, theta1: float, theta2: float) -> tuple[float, ...]:
        if self.law.pivot and self.preset is not None:  # the lever is singular at its end
            name, unit, low, high, _ = self.preset
            check_bounds(f"law {self.law.name!r}: {name}", theta2, low, high, unit)
        motors = (theta1, theta2) if self.law.motors == 2 else (theta1,)
        return (q, *motors, *self.values)

    def torques(self, q: float, theta1: float, theta2: float = 0.0) -> Pair:
        """Torque of each spring on the link at link angle q and motor references θ1, θ2."""
        result = self.law.torque(*self._arguments(q, theta1, theta2))
        return result if isinstance(result, tuple) else (result, 0.0)

    def torque(self, q: float, theta1: float, theta2: float = 0.0) -> float:
        """Elastic torque on the link, positive along +q."""
        return sum(self.torques(q, theta1, theta2))

    def stiffness(self, q: float, theta1: float, theta2: float = 0.0) -> float:
        """Stiffness −∂τ/∂q; zero where the deflection is saturated."""
        if self.law.stiffness is not None:
            return self.law.stiffness(*self._arguments(q, theta1, theta2))
        ahead, behind = self.torque(q + _STEP, theta1, theta2), self.torque(q - _STEP, theta1, theta2)
        return (behind - ahead) / (2 * _STEP)

    def energy(self, q: float, theta1: float, theta2: float = 0.0) -> float:
        """Elastic energy stored in the springs; raises `ConfigurationError` where the law gives none."""
        if self.law.energy is None:
            raise ConfigurationError(f"law {self.law.name!r} describes no elastic energy; give it `energy=`.")
        return self.law.energy(*self._arguments(q, theta1, theta2))

    def references(self, equilibrium: float, preset: float = 0.0) -> Pair:
        """Motor references for an equilibrium and a stiffness preset."""
        return self.law.reference_map(equilibrium, preset)

    @property
    def preset(self) -> Preset | None:
        """The second reference with its bounds for these parameter values; None if there is none."""
        return None if self.law.preset is None else self.law.preset(*self.values)

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return {p.name: v for p, v in zip(self.law.parameters, self.values, strict=True)}

    @property
    def max_deflection(self) -> float:
        """Largest deflection the law resolves, rad; 1 rad where the law names none."""
        return self.parameters.get("max_deflection", 1.0)

    def stiffest(
        self, preset_range: Pair | None = None, *, independent: bool = False, reach: float | None = None
    ) -> float:
        """Largest stiffness that the joint can reach, N·m/rad, by a scan of deflection and preset.

        Where the torque falls more between two points of the scan than the stiffness at either tells, it is looked
        at more closely, so that a narrow detent between them is found by the torque that it takes.

        Args:
            preset_range: bounds of the stiffness preset; the law's own when None.
            independent: scan both motor references independently (modes 2, 4, 5) instead of through the
                reference map.
            reach: how far the link may come from a motor, rad, where the law has no `max_deflection`; 1 rad when
                None.
        """
        bounds = None if preset_range is None else (float(preset_range[0]), float(preset_range[1]))
        return _stiffest(self, bounds, independent, self.parameters.get("max_deflection", reach or 1.0))


@lru_cache(maxsize=256)  # a model asks for it several times a joint, a sweep for every model
def _stiffest(compliance: Compliance, preset_range: Pair | None, independent: bool, reach: float) -> float:
    described, pivot = compliance.preset, compliance.law.pivot
    low, high = preset_range or ((described.low, described.high) if described else (0.0, 0.0))
    count = _PRESETS if high > low else 1
    presets = [min(low + (high - low) * i / max(count - 1, 1), high) for i in range(count)]
    if independent and compliance.law.motors == 2 and not pivot:
        apart = [2.0 * reach * i / (_PRESETS - 1) for i in range(_PRESETS)]
        motors = [(0.5 * sign * d, -0.5 * sign * d) for d in apart for sign in (1.0, -1.0)]
    else:
        motors = [compliance.references(0.0, preset) for preset in presets]
    return max(_steepest(compliance, pair, pivot, reach) for pair in dict.fromkeys(motors))


def _steepest(compliance: Compliance, motors: Pair, pivot: bool, reach: float) -> float:
    """Largest stiffness over all link angles within reach of a motor, for motors that stand still."""
    centres = motors[: 1 if pivot or compliance.law.motors == 1 else 2]
    edge = reach - 2 * _STEP  # on the very edge of saturation the stiffness is already zero
    lowest, highest = min(centres) - edge, max(centres) + edge
    angles = [lowest + (highest - lowest) * i / _POINTS for i in range(_POINTS + 1)]
    angles = sorted({*angles, *centres, *(c + side * edge for c in centres for side in (-1.0, 1.0))})
    best = 0.0
    for _ in range(_CLOSER_LOOKS):
        known = {q: (compliance.torque(q, *motors), compliance.stiffness(q, *motors)) for q in angles}
        best = max(best, *(stiffness for _, stiffness in known.values()))
        hidden = [
            (a, b)
            for a, b in itertools.pairwise(angles)
            if b - a > _STEP and known[a][0] - known[b][0] > 1.001 * (b - a) * max(known[a][1], known[b][1], 0.0)
        ]
        if not hidden:
            break
        angles = sorted({a + (b - a) * k / 8 for a, b in hidden[:_POINTS] for k in range(9)})
    return best


def compliance_law(
    *,
    parameters: tuple[Parameter, ...] = (),
    stiffness: Callable[..., float] | None = None,
    energy: Callable[..., float] | None = None,
    reference_map: Callable[[float, float], Pair] = references.direct,
    inverse_map: Callable[[float, float], Pair] = references.direct,
    preset: Callable[..., Preset] | None = None,
    pivot: bool = False,
    sets: Mapping[str, Mapping[str, float]] | None = None,
) -> Callable[[Callable[..., float | Pair]], Law]:
    """Decorate a torque function into a `Law`; see the module's example.

    The function's first arguments are `q, theta` (one motor, returns a float) or `q, theta1, theta2` (two,
    returns one torque per spring); the rest are exactly the names of `parameters`, in their order.

    Raises:
        ConfigurationError: the signature and the description do not agree.
    """

    def decorate(function: Callable[..., float | Pair]) -> Law:
        name = function.__name__
        arguments = tuple(inspect.signature(function).parameters)
        motors = 1 if arguments[:2] == ("q", "theta") else 2 if arguments[:3] == ("q", "theta1", "theta2") else 0
        if motors == 0:
            raise ConfigurationError(
                f"law {name!r}: the first arguments are {arguments[:3]}; "
                "they must be (q, theta, …) for one motor or (q, theta1, theta2, …) for two."
            )
        expected = tuple(p.name for p in parameters)
        if arguments[motors + 1 :] != expected:
            raise ConfigurationError(
                f"law {name!r}: the arguments after the motor angles are {arguments[motors + 1 :]}, "
                f"the described parameters {expected}; names and order must agree."
            )
        if len(parameters) > MAX_PARAMETERS:
            raise ConfigurationError(
                f"law {name!r} has {len(parameters)} parameters; at most {MAX_PARAMETERS} fit in a model."
            )
        if motors == 1 and (preset is not None or pivot):
            raise ConfigurationError(f"law {name!r} has one motor, so it can have neither preset nor pivot.")
        return Law(
            name, function, motors, parameters, stiffness, energy,
            reference_map, inverse_map, preset, pivot, dict(sets or {}),
        )  # fmt: skip

    return decorate


def check_preset(compliance: Compliance, low: float, high: float) -> Pair:
    """Return (low, high) if it is a range inside what the law's preset allows; raise if not."""
    described = compliance.preset
    if described is None:
        raise ConfigurationError(f"law {compliance.law.name!r} has no stiffness preset to give a range for.")
    if not described.low <= low < high <= described.high:
        raise OutOfBoundsError(
            f"law {compliance.law.name!r}: preset range [{low:g}, {high:g}] {described.unit} must be "
            f"ascending and inside [{described.low:g}, {described.high:g}] {described.unit}."
        )
    return low, high
