"""What tasks fall short of: targets beyond all links, told at once; rest away from a target, with what binds."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.controller import Event
from pliant.controllers.task_space.forces import ContactForceTask
from pliant.controllers.task_space.stack import TaskStack
from pliant.controllers.task_space.tasks import WORLD, FrameTask, Task

_AT_REST: Final = 2e-3
"""Speed of a task that rests, m/s or rad/s."""
_AWAY: Final = 5e-3
"""Error of a task that has not reached its target, m or rad."""
_PATIENCE: Final = 0.5
"""For how long it rests there until that is told, s."""
_STRETCHED: Final = "no joint moves it that way: stretched out, or singular"
_ABOVE: Final = "a task above it, or a posture that cannot go on"


class Shortfall:
    """Tells of every task of a stack that does not reach what it is to, once as long as that lasts.

    Args:
        stack: of the robot.
    """

    def __init__(self, stack: TaskStack) -> None:
        self._stack = stack
        self._reaches = dict(self._reachable())
        self.reset()

    def reset(self) -> None:
        """Forget what was told."""
        self._resting = dict.fromkeys(self._stack.tasks, 0.0)
        self._blocked, self._beyond = set[str](), set[str]()

    def errors(self) -> dict[str, float]:
        """Return how far each task is from its target: the length of its error, m or rad, of both the larger.

        Of a contact's force it is N or N·m.
        """
        found = {}
        for name, task in self._stack.tasks.items():
            chosen = _chosen(task)
            parts = np.array([task.error[k] if k in chosen else 0.0 for k in range(len(task.error))])
            split = parts.reshape(2, 3) if len(parts) == 6 else parts[None]
            found[name] = float(np.linalg.norm(split, axis=1).max())
        return found

    def look(self, t: float, period: float) -> Iterator[Event]:
        """Yield what there is to tell after a solution, at a time and a period after the one before, s."""
        for name, (point, centre, longest) in self._reaches.items():
            beyond = math.dist(point.target[:3], centre) - longest
            if not beyond > _AWAY or not point.stiffness[:3].all():
                self._beyond.discard(name)
            elif name not in self._beyond:
                self._beyond.add(name)
                yield Event(t, f"the target of {name} is out of reach: {beyond:.3g} m beyond all links together")
        for name, error in self.errors().items():
            task = self._stack.tasks[name]
            forced = isinstance(task, ContactForceTask)
            stuck = task.lacking if isinstance(task, ContactForceTask) else _stuck(task, error)
            self._resting[name] = self._resting[name] + period if stuck else 0.0
            if self._resting[name] <= _PATIENCE:
                self._blocked.discard(name)
            elif name not in self._blocked:
                self._blocked.add(name)
                limits = ", ".join(self._stack.binding()) or _ABOVE
                because = _STRETCHED if not forced and self._stack.blind(name) else limits
                told = f"{name} is {error:.3g} N" if forced else f"{name} rests {error:.3g}"
                yield Event(t, f"{told} from its target: {because}")

    def _reachable(self) -> Iterator[tuple[str, tuple[FrameTask, Array, float]]]:
        """Points that go to places in the world on links that end: where these begin, and how long they are."""
        mechanics = self._stack.mechanics
        for name, task in self._stack.tasks.items():
            if isinstance(task, FrameTask) and task.relative_to == WORLD and {0, 1, 2} <= set(task.axes):
                centre, longest = mechanics.reach(mechanics.frame(task.frame))
                if math.isfinite(longest):
                    yield name, (task, centre, longest)


def _stuck(task: Task, error: float) -> bool:
    """Whether a task rests away from a target that does not move."""
    at_rest = float(np.abs(task.rate[_chosen(task)]).max(initial=0.0)) < _AT_REST
    return error > _AWAY and at_rest and bool(task.stiffness.any()) and not task.velocity.any()


def _chosen(task: Task) -> list[int]:
    """Which of the numbers of its error are the task's."""
    return list(getattr(task, "axes", range(len(task.error))))
