"""How an `InteractionController` stands, what it watches, and what it needs of a sensor."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from numpy.typing import ArrayLike

from pliant.controllers.checks import Array
from pliant.errors import ConfigurationError, check_bounds


class Mode(StrEnum):
    """What an interaction controller is doing."""

    STATIC = "static law"
    """The law is at work about a pose that stays. Every goal is taken."""
    TRAJECTORY = "trajectory"
    """The law is at work about a pose that moves. Wrenches and gains are taken."""
    JOINT = "joint control"
    """The joints go to a set-point, and no law is at work. Nothing is taken."""
    HELD = "held"
    """The joints have been brought to rest after a fault, and are held. Nothing is taken before `recover`."""


class Feedback(NamedTuple):
    """How it stands at the end of an update. Poses are in the world, wrenches in the law's axes at the tool."""

    time: float
    """Periods since the state of `reset`, s."""
    mode: Mode
    goal: str
    """What it is doing, in words."""
    waypoint: int
    """Of a trajectory, how many waypoints have been passed."""
    remaining: float
    """Of a motion, s; 0 without one."""
    desired: Array
    """Pose, (7,)."""
    commanded: Array
    """Pose, (7,)."""
    measured: Array
    """Pose at the beginning of the period, (7,); the commanded one where joints are not measured."""
    error: Array
    """From the measured pose to the desired one of then, (6,): m, and a rotation vector, rad, in world axes."""
    wrench: Array
    """That the tool exerts on its surroundings, (6,), N and N·m."""
    desired_wrench: Array
    """(6,), N and N·m."""
    contact: bool
    """Whether it touches something."""
    slowed: str
    """What keeps the tool from its motion: a speed limit, a joint's limit, a singular posture, a pause."""
    reason: str
    """Why it is held; empty if it is not."""
    late: float
    """How far the robot's time is ahead of the periods, s: a period that came late slows the motion, and makes no
    jump."""


@dataclass(frozen=True)
class Watch:
    """When an interaction controller stops, and what it takes for a contact."""

    force: float = 200.0
    """Of the tool on its surroundings at which it stops, N."""
    torque: float = 50.0
    """Likewise, N·m."""
    contact: float = 2.0
    """Force that is a contact, N; below half of it there is none."""
    lost_after: float | None = 0.5
    """Without contact, after there was one, while direct force presses: a stop, s; None: never."""
    stuck_after: float = 2.0
    """Without any progress of a trajectory, s."""
    stop: float = 0.3
    """Time in which it comes to rest, s."""

    def __post_init__(self) -> None:
        for name, low, high, unit in (
            ("force", 1e-3, 1e5, "N"),
            ("torque", 1e-3, 1e5, "N·m"),
            ("contact", 1e-3, 1e4, "N"),
            ("stuck_after", 1e-3, 1e4, "s"),
            ("stop", 1e-3, 10.0, "s"),
        ):
            check_bounds(f"watch: {name}", getattr(self, name), low, high, unit)
        if self.lost_after is not None:
            check_bounds("watch: lost_after", self.lost_after, 1e-3, 1e4, "s")
        if not self.contact < self.force:
            raise ConfigurationError(
                f"watch: a contact begins at {self.contact:g} N, and it stops at {self.force:g} N already."
            )


class Conditioning(Protocol):
    """What turns the raw wrench of a sensor into the one that the tool exerts on its surroundings.

    Such as `pliant.hardware.force_torque.conditioning.WrenchConditioning`.
    """

    def update(
        self,
        time: float,
        raw: ArrayLike,
        rotation: ArrayLike,
        *,
        joint_speed: float = 0.0,
        tool_speed: float = 0.0,
    ) -> tuple[Array, str]:
        """Return the wrench, (6,), in the sensor's axes at its origin, and a fault, empty if there is none.

        Args:
            time: of the robot, s.
            raw: what the sensor reads, (6,): the wrench by which the arm holds what is behind it, N and N·m.
            rotation: of the sensor in the world, (3, 3).
            joint_speed: largest of any joint, rad/s, for a tare.
            tool_speed: of the tool, m/s, likewise.
        """

    def reset(self) -> None:
        """Begin anew; the bias stays."""

    def start_tare(self) -> None:
        """Take the bias from the next readings."""

    @property
    def tare_state(self) -> Any:
        """Of the last tare: `state` (none, running, done, refused) and `reason`."""
