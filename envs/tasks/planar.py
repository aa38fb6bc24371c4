"""What tasks for the tip of a planar two-link arm have in common: they observe where it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.compiled import compiled
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel, RobotInfo


@dataclass(frozen=True)
class PlanarTask(Task):
    """A task for the tip of an arm of two links, driven by torques.

    Points are (x, z) from the shoulder in the arm's plane, in m: z is the height where the arm is upright, and the
    world's y where it lies. What the task needs to know of the arm are the lengths of its links.
    """

    arm: TwoLinkArm = field(default_factory=TwoLinkArm)
    """The arm's lengths."""
    position_limit: float = 4.0 * math.pi
    """Bound of observed angles, rad; the joints turn freely."""
    torque_limit: float = 60.0
    """Bound of observed torques, N·m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.arm, TwoLinkArm):
            raise ConfigurationError(
                f"{type(self).__name__}: arm is {self.arm!r}; a TwoLinkArm is needed (in a configuration, a node "
                "with _target_: pliant.controllers.TwoLinkArm)."
            )


class PlanarOnRobot(TaskOnRobot):
    """A `PlanarTask` on a robot; the tip is the first thing it adds to the observation."""

    task: PlanarTask

    def __init__(self, task: PlanarTask, info: RobotInfo, added: Sequence[Channel]) -> None:
        """Lay out actions and observations.

        Args:
            task: the configuration.
            info: the robot.
            added: what the task adds besides the tip.

        Raises:
            ConfigurationError: the robot does not have two joints.
        """
        if len(info.joints) != 2:
            raise ConfigurationError(
                f"{type(task).__name__} is for an arm of two links; robot {info.name!r} has {len(info.joints)} "
                f"joint(s) ({', '.join(info.joints)})."
            )
        super().__init__(task, info, [*point_channels("tip", task.arm), *added])
        self._locate = compiled(locate_tips)

    def observe(self, episodes: Episodes) -> bool:
        """Write the observations, with where the tip is now; False if one is NaN."""
        self._locate(episodes.signals, episodes.added, self.task.arm.l1, self.task.arm.l2)
        return super().observe(episodes)


def point_channels(name: str, arm: TwoLinkArm) -> tuple[Channel, Channel]:
    """Coordinates of a point that the arm can reach, as entries of an observation."""
    reach = arm.reach[1]
    return Channel(f"{name}/x", "m", -reach, reach), Channel(f"{name}/z", "m", -reach, reach)


def locate_tips(signals: Array, added: Array, l1: float, l2: float) -> None:
    """Write where the tips are.

    Args:
        signals: (n, signals); the angles come first.
        added: (n, k), its first two columns written.
        l1: m.
        l2: m.
    """
    for i in range(signals.shape[0]):
        first, both = signals[i, 0], signals[i, 0] + signals[i, 1]
        added[i, 0] = l1 * math.cos(first) + l2 * math.cos(both)
        added[i, 1] = l1 * math.sin(first) + l2 * math.sin(both)
