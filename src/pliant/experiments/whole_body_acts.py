"""What a humanoid is told, or what is done to it, while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.paths import Line
from pliant.controllers.task_space import Contact, Task, TaskSpaceController
from pliant.envs.simulation import SimulatedRobot
from pliant.experiments.whole_body_runs import Act

TOUCH = 3.5
"""When the hand is known to touch the wall, and the force grows, s."""
_BEFORE_WALL = (0.5, -0.3, 1.1)
_GENTLE = 5.0
"""Force with which the hand comes to the wall, N."""
_TURNING = 4.6
"""When the lifted foot turns back, s."""


@dataclass
class Press:
    """Brings the right hand before the wall, to it, and presses."""

    force: float
    """N"""

    def __call__(self, controller: TaskSpaceController, robot: SimulatedRobot, t: float) -> None:
        """See `Act`."""
        hand, push = controller.stack.tasks["right_hand"], controller.stack.forces["push"]
        if t == 0.0:
            hand.target[:3] = _BEFORE_WALL
        if t > 1.0:
            hand.stiffness[0], push.target[0] = 0.0, _GENTLE
        if t > TOUCH:
            if push.target[0] != self.force and push.wanted[0] == _GENTLE:
                hand.hold(controller.stack.mechanics)  # else friction bears what the hand is away from its way
            push.target[0] = self.force


@dataclass
class Step:
    """Shifts the weight, lifts the left foot, holds it, and puts it down."""

    lift: float
    """m"""

    def __call__(self, controller: TaskSpaceController, robot: SimulatedRobot, t: float) -> None:
        """See `Act`."""
        stack = controller.stack
        com, foot, contact = stack.tasks["com"], stack.tasks["left_foot"], stack.constraints["left_foot"]
        assert isinstance(contact, Contact)
        if t == 0.0:
            self._middle, self._ground = com.target.copy(), foot.target[:3].copy()
            sole = stack.mechanics.pose(stack.mechanics.frame("right_sole"))
            self._over = np.array([*sole[:2], com.target[2]])
        contact.active = not 2.5 < t < 6.2
        top = self._ground + np.array([0.0, 0.0, self.lift])
        if t < _TURNING:
            _follow(com, self._middle, self._over, t - 0.5, 1.5)
            _follow(foot, self._ground, top, t - 3.1)
        else:
            _follow(foot, top, self._ground, t - 5.1)
            _follow(com, self._over, self._middle, t - 7.0, 1.5)


def _follow(task: Task, start: Array, goal: Array, since: float, duration: float = 1.0) -> None:
    """Write the target of a point on a straight way that began some time ago, s."""
    path, t = Line(start.tolist(), goal.tolist(), duration), max(since, 0.0)
    task.target[:3], task.velocity[:3] = path.position(t), path.velocity(t)


def reach(target: Sequence[float]) -> Act:
    """The right hand is to be at a point, m."""

    def act(controller: TaskSpaceController, robot: SimulatedRobot, t: float) -> None:
        controller.stack.tasks["right_hand"].target[:3] = target

    return act


def kick(force: float) -> Act:
    """The pelvis is pushed forward for 0.1 s, with a force in N."""

    def act(controller: TaskSpaceController, robot: SimulatedRobot, t: float) -> None:
        robot.data.body("pelvis").xfrc_applied[0] = force if 0.5 <= t < 0.6 else 0.0

    return act
