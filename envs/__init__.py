"""The simulated world: models, the simulated robot, tasks and Gymnasium environments.

Importing it registers the environments with Gymnasium::

    import gymnasium
    import pliant.envs

    env = gymnasium.make("pliant/CompliantArm2-v0", task="reach")
    many = gymnasium.make_vec("pliant/CompliantArm2-v0", num_envs=1024, task="reach")

Everything else is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pliant.envs.registration import register

if TYPE_CHECKING:
    from pliant.envs.description import RobotDescription as RobotDescription
    from pliant.envs.description import describe as describe
    from pliant.envs.env import PliantEnv as PliantEnv
    from pliant.envs.models.robot_model import RobotModel as RobotModel
    from pliant.envs.models.robot_model import Start as Start
    from pliant.envs.randomisation import Randomisation as Randomisation
    from pliant.envs.simulation import Sensing as Sensing
    from pliant.envs.simulation import SimulatedRobot as SimulatedRobot
    from pliant.envs.tasks import Press as Press
    from pliant.envs.tasks import Reach as Reach
    from pliant.envs.tasks import ReachPose as ReachPose
    from pliant.envs.tasks import Task as Task
    from pliant.envs.tasks import Throw as Throw
    from pliant.envs.tasks import Track as Track
    from pliant.envs.tasks import TrackPath as TrackPath
    from pliant.envs.tasks import Walk as Walk
    from pliant.envs.vector import PliantVectorEnv as PliantVectorEnv

_HOMES = {
    "PliantEnv": "env",
    "RobotDescription": "description",
    "PliantVectorEnv": "vector",
    "Press": "tasks",
    "Randomisation": "randomisation",
    "Reach": "tasks",
    "ReachPose": "tasks",
    "RobotModel": "models.robot_model",
    "Sensing": "simulation",
    "SimulatedRobot": "simulation",
    "Start": "models.robot_model",
    "Task": "tasks",
    "Throw": "tasks",
    "Track": "tasks",
    "TrackPath": "tasks",
    "Walk": "tasks",
    "describe": "description",
}

__all__ = [*_HOMES, "register"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


register()
