"""Task-space control: prioritised tasks of any robot whose joints are commanded torques, by a model of its own."""

from pliant.controllers.task_space.balance import Balance
from pliant.controllers.task_space.contacts import Constraint, Contact, Prescribed
from pliant.controllers.task_space.controller import TaskSpaceController
from pliant.controllers.task_space.forces import ContactForceTask, ForceTask, MeasuredWrench
from pliant.controllers.task_space.limits import JointLimits
from pliant.controllers.task_space.mechanics import Frame, Mechanics
from pliant.controllers.task_space.operators import Operator, TaskOperators
from pliant.controllers.task_space.problem import Problem, Solution, Solver, Status
from pliant.controllers.task_space.recursion import Recursion
from pliant.controllers.task_space.stack import TaskStack
from pliant.controllers.task_space.tasks import (
    CentreOfMassTask,
    FrameTask,
    MomentumTask,
    OrientationTask,
    PointTask,
    PostureTask,
    Task,
)

__all__ = [
    "Balance",
    "CentreOfMassTask",
    "Constraint",
    "Contact",
    "ContactForceTask",
    "ForceTask",
    "Frame",
    "FrameTask",
    "JointLimits",
    "MeasuredWrench",
    "Mechanics",
    "MomentumTask",
    "Operator",
    "OrientationTask",
    "PointTask",
    "PostureTask",
    "Prescribed",
    "Problem",
    "Recursion",
    "Solution",
    "Solver",
    "Status",
    "Task",
    "TaskOperators",
    "TaskSpaceController",
    "TaskStack",
]
