"""Parameters as data: name, unit, bounds, default and where the value comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.errors import ConfigurationError, check_bounds, unknown_name


@dataclass(frozen=True)
class Parameter:
    """One number that describes a joint, with the bounds in which it makes sense."""

    name: str
    unit: str
    default: float
    low: float
    high: float
    meaning: str
    source: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.default <= self.high:
            raise ConfigurationError(
                f"parameter {self.name!r}: default {self.default:g} is outside [{self.low:g}, {self.high:g}]."
            )


def resolve(owner: str, parameters: tuple[Parameter, ...], values: Mapping[str, float]) -> tuple[float, ...]:
    """Return one checked value per parameter, in order, taking defaults where `values` is silent.

    Raises:
        UnknownNameError: `values` names a parameter that `owner` does not have.
        OutOfBoundsError: a value is not finite or outside its bounds.
    """
    known = {parameter.name for parameter in parameters}
    for name in values:
        if name not in known:
            raise unknown_name("parameter", name, (p.name for p in parameters), owner)
    return tuple(
        check_bounds(f"{owner}: {p.name}", values.get(p.name, p.default), p.low, p.high, p.unit)
        for p in parameters
    )
