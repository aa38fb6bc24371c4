"""Gains and limits of the laws of interaction: numbers for each axis of a frame."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pliant.controllers.checks import Array, all_finite, number_array
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

AXES: Final = ("x", "y", "z", "rx", "ry", "rz")

Values = float | Sequence[float]
"""One number for x, y and z; or three; or six. A zero alone is for all."""


@dataclass(frozen=True)
class LawLimits:
    """How fast the commanded motion may be, and how far from the desired one. At a limit nothing winds up."""

    speed: float = 0.25
    """m/s, of each axis."""
    turning: float = 0.5
    """rad/s, likewise."""
    distance: float = 0.5
    """m, likewise."""
    angle: float = 1.5
    """rad, likewise; at most π."""
    acceleration: float = 0.25
    """With which a speed fades out that direct force takes over, m/s²."""
    turning_acceleration: float = 1.0
    """Likewise, rad/s²."""

    def __post_init__(self) -> None:
        for name, most, unit in (
            ("speed", 10.0, "m/s"),
            ("turning", 20.0, "rad/s"),
            ("distance", 10.0, "m"),
            ("angle", math.pi, "rad"),
            ("acceleration", 1e3, "m/s²"),
            ("turning_acceleration", 1e3, "rad/s²"),
        ):
            check_bounds(f"limits of the law: {name}", getattr(self, name), 1e-9, most, unit)


@dataclass(frozen=True)
class AdmittanceGains:
    """Of an `Admittance`: numbers for x, y, z (and, if it is to turn, for rx, ry, rz)."""

    mass: Values
    """M_d, kg and kg·m², > 0."""
    damping: Values
    """K_D, N·s/m and N·m·s/rad, ≥ 0."""
    stiffness: Values
    """K_P, N/m and N·m/rad, ≥ 0; 0 lets the tool stay where it was pushed."""
    axes: Sequence[str] = ("x", "y", "z")
    """On which it acts."""
    relative_damping: bool = False
    """Whether the damping acts on ẋ_c − ẋ_d, so that free motion is not dragged behind by K_D/K_P·ẋ_d; else, as in
    the paper, on ẋ_c."""

    def __post_init__(self) -> None:
        _settle(self, "admittance", {"mass": 1e-6, "damping": 0.0, "stiffness": 0.0})
        if not isinstance(self.relative_damping, bool):
            raise ConfigurationError(
                f"admittance: relative_damping is {self.relative_damping!r}; true or false is needed."
            )


@dataclass(frozen=True)
class DirectForceGains:
    """Of a `DirectForce`: numbers for x, y, z (and, if it is to turn, for rx, ry, rz)."""

    kp: Values
    """m/N and rad/(N·m), ≥ 0."""
    ki: Values
    """m/(N·s) and rad/(N·m·s), ≥ 0."""
    axes: Sequence[str] = ("z",)
    """On which the force is controlled."""

    def __post_init__(self) -> None:
        _settle(self, "direct force", {"kp": 0.0, "ki": 0.0})


Gains = AdmittanceGains | DirectForceGains


def selected(axes: Sequence[str]) -> Array:
    """Return which of `AXES` are named, (6,), of booleans."""
    return np.array([axis in axes for axis in AXES])


def as_six(values: Values) -> tuple[float, ...]:
    """Return numbers of gains for all six axes; those about the axes, if not given, are 1, or 0 if all are 0."""
    array = np.atleast_1d(np.asarray(values, np.float64))
    if array.size == 6:
        return tuple(array.tolist())
    return (*np.broadcast_to(array, 3).tolist(), *[float(array.any())] * 3)


def _settle(gains: Gains, what: str, lowest: dict[str, float]) -> None:
    """Check gains, and store tuples."""
    if isinstance(gains.axes, str) or not isinstance(gains.axes, Sequence):
        raise ConfigurationError(f"{what}: axes are {gains.axes!r}; a list of {', '.join(AXES)} is needed.")
    for axis in gains.axes:
        if axis not in AXES:
            raise unknown_name("axis", axis, AXES, what)
    turning = any(axis in AXES[3:] for axis in gains.axes)
    for name, low in lowest.items():
        array = all_finite(f"{what}: {name}", number_array(f"{what}: {name}", getattr(gains, name)))
        if array.shape not in ((), (3,), (6,)):
            raise ShapeError(f"{what}: {name} has shape {array.shape}; one number, (3,) or (6,) is needed.")
        if turning and array.shape != (6,) and array.any():
            raise ShapeError(
                f"{what}: {name} has {array.size} number(s), none of them for {', '.join(AXES[3:])}; it acts on "
                f"{', '.join(gains.axes)}, so six are needed."
            )
        if not (array >= low).all():
            raise OutOfBoundsError(f"{what}: {name} has the entry {array.min():g}; all must be ≥ {low:g}.")
        object.__setattr__(gains, name, tuple(array.tolist()) if array.ndim else float(array))
    object.__setattr__(gains, "axes", tuple(gains.axes))
