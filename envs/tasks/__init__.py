"""What an environment asks of a robot: what it rewards, observes and ends on, as small terms."""

from collections.abc import Callable

from pliant.envs.tasks.composition import KINDS, compose, find_term
from pliant.envs.tasks.kinematics import Kinematics, PlanarKinematics
from pliant.envs.tasks.press import Press
from pliant.envs.tasks.reach import Reach
from pliant.envs.tasks.reach_pose import ReachPose
from pliant.envs.tasks.task import Episodes, Task, TaskOnRobot
from pliant.envs.tasks.term import Term, end, measure, observation, reward
from pliant.envs.tasks.throw import Throw
from pliant.envs.tasks.track import Track
from pliant.envs.tasks.track_path import TrackPath
from pliant.envs.tasks.walk import Walk

__all__ = [
    "KINDS",
    "TASKS",
    "Episodes",
    "Kinematics",
    "PlanarKinematics",
    "Press",
    "Reach",
    "ReachPose",
    "Task",
    "TaskOnRobot",
    "Term",
    "Throw",
    "Track",
    "TrackPath",
    "Walk",
    "compose",
    "end",
    "find_term",
    "measure",
    "observation",
    "reward",
]

TASKS: dict[str, Callable[..., Task]] = {
    "press": Press,
    "reach": Reach,
    "reach_pose": ReachPose,
    "throw": Throw,
    "track": Track,
    "track_path": TrackPath,
    "walk": Walk,
}
"""The tasks by the names that `gymnasium.make` takes."""
