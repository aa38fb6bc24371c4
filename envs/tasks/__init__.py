"""What an environment asks of a robot: what it rewards, observes and ends on."""

from pliant.envs.tasks.reach import Reach
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot
from pliant.envs.tasks.throw import Throw
from pliant.envs.tasks.track import Track

__all__ = ["TASKS", "Episodes", "Reach", "Task", "TaskOnRobot", "Throw", "Track"]

TASKS: dict[str, type[Task]] = {"reach": Reach, "throw": Throw, "track": Track}
"""The tasks by the names that `gymnasium.make` takes."""
