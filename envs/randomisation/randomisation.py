"""What may differ from one simulated robot to the next, and by how much."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from pliant.envs.randomisation.distributions import Distribution, check_support
from pliant.errors import ConfigurationError

_LONGEST_DELAY = 1.0


@dataclass(frozen=True)
class Randomisation:
    """Distributions of a robot's parameters, drawn anew at every reset; None or absent: as the robot is.

    Parameters of the model are multiplied by a factor, drawn for each body or joint by itself. Delays and noise
    are drawn as they are and take the place of the robot's own.

    Raises:
        ConfigurationError: an entry is not a distribution.
        OutOfBoundsError: a distribution can draw a factor, delay or noise that is negative or not allowed.
    """

    mass: Distribution | None = None
    """Factor of mass and inertia, for each moving body."""
    damping: Distribution | None = None
    """Factor of the viscous friction of each joint that has any, whatever drives it, and of each servo's gear."""
    friction: Distribution | None = None
    """Factor of the dry friction of each joint that has any, and of each servo's gear."""
    stiffness: Distribution | None = None
    """Factor of the stiffness of each hinge or slide with a spring of the model's own, as one that holds a thing
    of the surroundings."""
    contact_friction: Distribution | None = None
    """Factor of the sliding friction of all that the robot touches something with, one for all of it."""
    law: Mapping[str, Distribution] = field(default_factory=dict)
    """Factors of the springs, by the names of the law's parameters."""
    drive: Mapping[str, Distribution] = field(default_factory=dict)
    """Factors of the drives (motor, position loop, servo), by the names of their parameters. What is named here of
    a servo's gear (`kv`, `kc`, …), `damping` and `friction` leave alone."""
    supply: Distribution | None = None
    """Factor of the supply voltage of the servos, one for all of them."""
    command_delay: Distribution | None = None
    """s, rounded to whole time steps of the model."""
    sensor_delay: Distribution | None = None
    """s, rounded to whole periods of the robot."""
    position_noise: Distribution | None = None
    """Standard deviation of angles, rad."""
    velocity_noise: Distribution | None = None
    """Standard deviation of speeds, rad/s."""
    torque_noise: Distribution | None = None
    """Standard deviation of torques, N·m."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not isinstance(value, Mapping):
                _check(entry.name, value)
                continue
            object.__setattr__(self, entry.name, dict(value))
            for name, distribution in value.items():
                _check(f"{entry.name} {name}", distribution)
        for what, lowest in (
            ("mass", 1e-3),
            ("damping", 0.0),
            ("friction", 0.0),
            ("stiffness", 1e-6),
            ("contact_friction", 1e-3),
            ("supply", 1e-3),
        ):
            self._check_support(what, lowest, 1e3)
        if self.supply is not None and "voltage" in self.drive:
            raise ConfigurationError("Randomisation: supply and drive voltage are the same; give one of them.")
        for what in ("command_delay", "sensor_delay"):
            self._check_support(what, 0.0, _LONGEST_DELAY, "s")
        for what, unit in (("position_noise", "rad"), ("velocity_noise", "rad/s"), ("torque_noise", "N·m")):
            self._check_support(what, 0.0, 1e3, unit)

    def _check_support(self, name: str, low: float, high: float, unit: str = "") -> None:
        distribution: Distribution | None = getattr(self, name)
        if distribution is not None:
            check_support(f"Randomisation {name}", distribution, low, high, unit)


def _check(what: str, value: object) -> None:
    if value is not None and not isinstance(value, Distribution):
        raise ConfigurationError(
            f"Randomisation {what} is {value!r}; a distribution is needed (Uniform, LogUniform, Normal, Choice)."
        )
