"""What an emulated controller is: arm, PolyScope version, how time passes, and the reality gap."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pliant.envs.emulators.ur.versions import PolyScope, polyscope
from pliant.errors import ConfigurationError, ShapeError, check_bounds, check_count, unknown_name

Pace = Literal["real_time", "lock_step"]
PACES = ("real_time", "lock_step")
START = (0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0)
"""Joint angles when the power comes on, rad: elbow bent, tool pointing down."""


@dataclass(frozen=True)
class Gap:
    """How the arm differs from what its controller, and whoever learned on a model, takes it to be.

    The defaults are a plausible arm, measured on none; `Gap.none()` is an arm that is as its controller thinks.
    """

    payload: float = 0.15
    """Mass at the flange that the controller does not know of, kg."""
    mass: float = 0.03
    """Links are heavier by this part."""
    friction: float = 1.0
    """Friction in the joints, as a multiple of the usual, see `plant`; the controller knows nothing of it."""
    flexibility: float = 1.0
    """Compliance of the gears, as a multiple of the usual; 0: as stiff as the time step allows."""
    position_noise: float = 2e-6
    """Standard deviation of measured angles, rad."""
    velocity_noise: float = 5e-4
    """Standard deviation of measured speeds, rad/s."""
    current_noise: float = 0.02
    """Standard deviation of measured currents, A."""
    force_noise: float = 0.3
    """Standard deviation of measured forces, N; a tenth of it, N·m, of torques."""
    force_drift: float = 4.0
    """Drift of the force sensor after its zeroing, N in the first five minutes; a tenth of it, N·m, of torques."""

    def __post_init__(self) -> None:
        check_bounds("gap 'payload'", self.payload, 0.0, 20.0, "kg")
        check_bounds("gap 'mass'", self.mass, -0.5, 1.0)
        for name in ("friction", "flexibility"):
            check_bounds(f"gap {name!r}", getattr(self, name), 0.0, 20.0)
        for name in ("position_noise", "velocity_noise", "current_noise", "force_noise"):
            check_bounds(f"gap {name!r}", getattr(self, name), 0.0, 100.0)
        check_bounds("gap 'force_drift'", self.force_drift, -100.0, 100.0, "N")

    @classmethod
    def none(cls) -> "Gap":
        """Return no gap at all."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ControllerSettings:
    """An emulated controller with its arm."""

    robot: Any = "ur10e"
    """What `describe` takes: a name, a file, or settings; tool, payload and TCP are the description's, and the
    controller is configured with them."""
    polyscope: str = "5.22"
    pace: Pace = "real_time"
    """`lock_step`: the arm moves only when it is told to, by a command that sets its motion or by `step`."""
    cycles_per_command: int = 1
    """In lock step: cycles that pass with a command."""
    gap: Gap = field(default_factory=Gap)
    start: tuple[float, ...] = START
    """Joint angles at the start, rad."""
    serial_number: str = "20195500001"
    remote_control: bool = True
    """Whether the controller takes commands from outside."""
    unlock_delay: float = 5.0
    """Time after a protective stop before it can be unlocked, s."""
    log_time: float = 120.0
    """How far back the log reaches, s."""
    seed: int = 0
    """Of the noise."""

    def __post_init__(self) -> None:
        polyscope(self.polyscope)
        if self.pace not in PACES:
            raise unknown_name("pace", self.pace, PACES)
        check_count("cycles_per_command", self.cycles_per_command, 1, 1000)
        check_bounds("log_time", self.log_time, 1.0, 36000.0, "s")
        check_bounds("unlock_delay", self.unlock_delay, 0.0, 3600.0, "s")
        check_count("seed", self.seed, 0, 2**32 - 1)
        angles = np.asarray(self.start, dtype=float)
        if angles.shape != (6,):
            raise ShapeError(f"start has {angles.size} angles; 6 are needed.")
        for angle in angles:
            check_bounds("start", float(angle), -7.0, 7.0, "rad")
        if not self.serial_number.isdigit():
            raise ConfigurationError(f"the serial number is {self.serial_number!r}; digits are needed.")

    @property
    def version(self) -> PolyScope:
        """The version of PolyScope."""
        return polyscope(self.polyscope)
