"""How an episode begins: where a robot that can be put anywhere is put, and the free bodies around it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import mujoco
import numpy as np

from pliant.controllers.checks import finite_array, number_array
from pliant.envs.tasks.goals import GoalOnRobot, Side
from pliant.envs.tasks.values import Values, check_within, freeze, per_channel
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name
from pliant.hardware.robot import Array

Draw = Callable[[np.random.Generator], Array | None]
"""Returns where the joints start, (joints,), rad; None: where the robot itself begins."""


class Start(ABC):
    """A configured start. One of your own writes `on`."""

    @abstractmethod
    def on(self, side: Side, goal: GoalOnRobot) -> Draw:
        """Return what draws the start on a robot; raises where the two do not go together."""


@dataclass(frozen=True)
class AtAngles(Start):
    """At given joint angles, give or take."""

    angles: Values | None = None
    """Per joint, rad; None: where the robot itself starts."""
    spread: float = 0.02
    """Up to this far from there, drawn evenly for each joint, but not beyond its range, rad."""

    def __post_init__(self) -> None:
        freeze(self, "angles")
        check_bounds("start: spread", self.spread, 0.0, math.pi, "rad")

    def on(self, side: Side, goal: GoalOnRobot) -> Draw:
        """See `Start.on`.

        Raises:
            ShapeError: a value per joint for another number of joints.
            OutOfBoundsError: one is not finite, or outside the joint's range.
        """
        joints, spread = side.info.joints, self.spread
        read = side.find([f"{joint}/position" for joint in joints])
        given = [channel.rest for channel in read] if self.angles is None else self.angles
        angles = per_channel(f"start: angles (of joints {', '.join(joints)})", given, len(joints))
        check_within("start: angles", angles, read)
        low, high = (np.array([getattr(channel, side) for channel in read]) for side in ("low", "high"))
        return lambda random: np.clip(angles + random.uniform(-spread, spread, len(angles)), low, high)


@dataclass(frozen=True)
class OnTrajectory(Start):
    """Where a moving goal begins, give or take; a site's by the robot's kinematics."""

    spread: float = 0.02
    """Up to this far from there, drawn evenly for each joint, rad."""

    def __post_init__(self) -> None:
        check_bounds("start: spread", self.spread, 0.0, math.pi, "rad")

    def on(self, side: Side, goal: GoalOnRobot) -> Draw:
        """See `Start.on`.

        Raises:
            ConfigurationError: the goal does not move; or it is a site's, and the robot offers no kinematics.
            OutOfBoundsError: the goal leaves what the site can reach.
        """
        if goal.table is None:
            raise ConfigurationError("start on the trajectory: the goal of this task does not move.")
        spread, joints = self.spread, side.info.joints
        wanted = [f"{joint}/position" for joint in joints]
        if set(wanted) <= set(goal.compared):
            angles = goal.table[0, [goal.compared.index(name) for name in wanted]]
        else:
            angles = _inverse(side, goal)
        return lambda random: angles + random.uniform(-spread, spread, len(angles))


@dataclass(frozen=True)
class AtHome(Start):
    """Where the robot itself begins: its keyframe, standing on its feet."""

    def on(self, side: Side, goal: GoalOnRobot) -> Draw:
        """See `Start.on`."""
        return lambda random: None


def _inverse(side: Side, goal: GoalOnRobot) -> Array:
    """Joint angles at the beginning of a site's motion, all of which the robot must reach."""
    assert goal.table is not None
    kinematics = side.need_kinematics("start on the path")
    points = np.zeros((len(goal.table), 3))
    site = ""
    for k, channel in enumerate(goal.channels):
        quantity = channel.quantity
        if quantity.startswith("position_"):
            points[:, "xyz".index(quantity[-1])] = goal.table[:, k]
            site = goal.compared[k].rpartition("/")[0]
    if not site:
        raise ConfigurationError("start on the trajectory: the goal moves neither joints nor a site.")
    try:
        found = kinematics.inverse(kinematics.check(site), points)[0]
    except OutOfBoundsError as error:
        raise OutOfBoundsError(f"start on the path: the path leaves the robot's reach: {error}") from error
    return np.array(finite_array("start on the path", found, (len(side.info.joints),)))


class Placement(ABC):
    """A configured place of a free body. One of your own writes `on`."""

    @abstractmethod
    def on(self, side: Side, body: str) -> Callable[[np.random.Generator], Array]:
        """Return what draws the body's position and unit quaternion, (7,); raises where a robot has none such."""


@dataclass(frozen=True)
class InBox(Placement):
    """Somewhere in a box, at rest."""

    box: Sequence[Sequence[float]] | Sequence[float] | None = None
    """Lowest and highest corner in the world, [[x, y, z], [x, y, z]], m; a point; None: where the body itself
    starts."""
    turn: float = 0.0
    """Turned up to this far about the vertical from how it starts, either way, drawn evenly, rad."""

    def __post_init__(self) -> None:
        freeze(self, "box")
        check_bounds("body: turn", self.turn, 0.0, math.pi, "rad")

    def on(self, side: Side, body: str) -> Callable[[np.random.Generator], Array]:
        """See `Placement.on`.

        Raises:
            UnknownNameError: the robot has no such free body.
            ShapeError, OutOfBoundsError, ConfigurationError: corners that are no points, or the wrong way round.
        """
        if body not in side.info.bodies:
            raise unknown_name("free body", body, side.info.bodies, f"robot {side.info.name!r}")
        start = np.array(side.info.bodies[body])
        corners = number_array(f"body {body!r}: box", start[:3] if self.box is None else self.box)
        low, high = finite_array(
            f"body {body!r}: box", np.tile(corners, (2, 1)) if corners.ndim == 1 else corners, (2, 3)
        )
        if not (low <= high).all():
            raise ConfigurationError(f"body {body!r}: box: {low.tolist()} must not exceed {high.tolist()}.")

        def draw(random: np.random.Generator) -> Array:
            position, half = random.uniform(low, high), 0.5 * random.uniform(-self.turn, self.turn)
            turned = np.empty(4)
            mujoco.mju_mulQuat(turned, np.array([math.cos(half), 0.0, 0.0, math.sin(half)]), start[3:])
            return np.concatenate([position, turned])

        return draw


STARTS: Final[dict[str, Callable[..., Start]]] = {
    "angles": AtAngles,
    "trajectory": OnTrajectory,
    "home": AtHome,
}
"""By name."""
PLACEMENTS: Final[dict[str, Callable[..., Placement]]] = {"in_box": InBox}
"""By name."""
