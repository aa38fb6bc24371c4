"""The registered environments: a task on the rig with one joint or on the arm with two."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pliant.actuators import CompliantJoint, Law, Mode, find_law
from pliant.envs.env import PliantEnv
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulated_robot import SimulatedRobot
from pliant.envs.tasks import TASKS, Task
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import Robot

_REACH = (-1.57, 1.57)
"""Bounds of the position references, rad."""


@dataclass(frozen=True)
class JointOptions:
    """What `gymnasium.make` may say about a simulated robot's joints; None: the environment's own choice."""

    law: str | Law | None = None
    mode: Mode | int | str | None = None
    parameters: str | Mapping[str, float] | None = None
    """Values of the law's parameters by name, or the name of one of its parameter sets."""
    period: float | None = None
    """Time from one action to the next, s."""

    def joint(self, mode: Mode) -> CompliantJoint:
        """A joint as described, in the given mode and with the law "qbmove" where nothing else is said."""
        law = self.law if isinstance(self.law, Law) else find_law(self.law or "qbmove")
        named = isinstance(self.parameters, str)
        values: dict[str, Any] = {"set": self.parameters} if named else dict(self.parameters or {})  # type: ignore[arg-type]
        configured = law(**values)
        return CompliantJoint(configured, mode if self.mode is None else self.mode)  # type: ignore[arg-type]

    def robot(self, robot: Robot | Mapping[str, Any] | None, build: Callable[[], RobotModel]) -> Robot:
        """A robot as given, or a simulated one with the given options.

        Raises:
            UnknownNameError: no such option of a simulated robot.
            ConfigurationError: a robot is given together with options for another one.
        """
        if isinstance(robot, Robot):
            if given := [name for name, value in vars(self).items() if value is not None]:
                raise ConfigurationError(
                    f"robot {robot.info.name!r} brings its own joints and period, so {', '.join(given)} cannot "
                    "be given with it."
                )
            return robot
        options = dict(robot or {})
        known = [
            name for name, p in inspect.signature(SimulatedRobot).parameters.items() if p.kind is p.KEYWORD_ONLY
        ]
        for name in options:
            if name not in known:
                raise unknown_name("option of a simulated robot", name, known)
        return SimulatedRobot(build(), 0.02 if self.period is None else self.period, **options)


def rig1_robot(options: JointOptions, robot: Robot | Mapping[str, Any] | None) -> Robot:
    """The rig with one joint, in mode 3 by default, or a robot in its place; errors of `JointOptions.robot`."""

    def build() -> RobotModel:
        return rig1(replace(options.joint(Mode.EQUILIBRIUM_PRESET), position_range=_REACH))

    return options.robot(robot, build)


def arm2_robot(options: JointOptions, robot: Robot | Mapping[str, Any] | None) -> Robot:
    """The arm with two joints, in mode 6 by default, or a robot in its place; errors of `JointOptions.robot`.

    With neither law nor parameters given, its springs are those identified on the real arm.
    """

    def build() -> RobotModel:
        joint = options.joint(Mode.EQUILIBRIUM_PRESET_MOTORS)
        own = options.law is None and options.parameters is None
        joints = arm2_joints(joint.mode) if own else (joint, joint)
        return arm2([replace(joint, position_range=_REACH) for joint in joints])

    return options.robot(robot, build)


def as_task(task: str | Task) -> Task:
    """Return a task from its name or as it is; raise `UnknownNameError` otherwise."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str) or task not in TASKS:
        raise unknown_name("task", task, TASKS)
    return TASKS[task]()


class CompliantEnv(PliantEnv):
    """An environment made from what `gymnasium.make` is told."""

    @staticmethod
    @abstractmethod
    def _make(options: JointOptions, robot: Robot | Mapping[str, Any] | None) -> Robot:
        """The environment's robot."""

    def __init__(
        self,
        task: str | Task = "track",
        *,
        law: str | Law | None = None,
        mode: Mode | int | str | None = None,
        parameters: str | Mapping[str, float] | None = None,
        period: float | None = None,
        robot: Robot | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Make the environment.

        Args:
            task: a name in `pliant.envs.tasks.TASKS` or a configured task.
            law: compliance law of every joint; None: the environment's own.
            mode: operation mode of every joint; None: the environment's own.
            parameters: of the law, by name, or the name of a parameter set; None: the environment's own.
            period: time from one action to the next, s; None: 0.02.
            robot: options of `SimulatedRobot` (noise, delays, …) by name; or any robot, real or simulated, that
                takes the place of this one.
            render_mode: None, "human" or "rgb_array".
            width: of an image, pixels.
            height: of an image, pixels.

        Raises:
            UnknownNameError: no such task, law, mode, parameter or option.
            OutOfBoundsError, ConfigurationError: a value out of bounds, or values that do not go together.
        """
        made = self._make(JointOptions(law, mode, parameters, period), robot)
        super().__init__(made, as_task(task), render_mode, width=width, height=height)


class CompliantJointEnv(CompliantEnv):
    """One compliant joint turns a weight of 0.2 kg on a rod of 0.04 m: `pliant/CompliantJoint-v0`.

    By default the joint is a qbMove in mode 3: equilibrium and stiffness preset with ideal motors.

    ## Action space
    `Box(-1, 1, (n,), float32)`, spread over the bounds of the joint's references; by default:

    | i | action | at −1 | at 1 | unit |
    |---|---|---|---|---|
    | 0 | `joint/equilibrium` | −1.57 | 1.57 | rad |
    | 1 | `joint/preset` | −0.8 | 0.8 | rad |

    ## Observation space
    `Box(low, high, (m,), float32)`; where low and high are `signal`, they are those of the robot's own
    signal (of the position or speed that a goal is compared with). By default:

    | i | observation | low | high | unit |
    |---|---|---|---|---|
    | 0 | `joint/position` | signal | signal | rad |
    | 1 | `joint/velocity` | signal | signal | rad/s |
    | 2 | `joint/torque`, of the drive on the link | signal | signal | N·m |
    | 3 | `joint/equilibrium_command`, in force | −1.57 | 1.57 | rad |
    | 4 | `joint/preset_command`, in force | −0.8 | 0.8 | rad |
    | 5 | `joint/desired_position` at the end of the coming period (task `track`) | signal | signal | rad |
    | 6 | `joint/desired_velocity` likewise (task `track`) | signal | signal | rad/s |
    | 5 | `joint/goal` (task `reach`) | signal | signal | rad |

    ## Rewards, start, end
    See the tasks, `pliant.envs.tasks.Track` and `Reach`.
    """

    _make = staticmethod(rig1_robot)


class CompliantArm2Env(CompliantEnv):
    """A hanging arm of two qbMove joints: `pliant/CompliantArm2-v0`.

    By default in mode 6, equilibrium and stiffness preset with motors. With neither law nor parameters given, the
    springs are those identified on the real arm.

    ## Action space
    `Box(-1, 1, (n,), float32)`, spread over the bounds of the joints' references; by default:

    | i | action | at −1 | at 1 | unit |
    |---|---|---|---|---|
    | 0 | `shoulder/equilibrium` | −1.57 | 1.57 | rad |
    | 1 | `shoulder/preset` | 0 | 0.6 | rad |
    | 2 | `elbow/equilibrium` | −1.57 | 1.57 | rad |
    | 3 | `elbow/preset` | 0 | 0.6 | rad |

    ## Observation space
    `Box(low, high, (m,), float32)`, shoulder before elbow; `signal` as in `CompliantJointEnv`; by default:

    | i | observation | low | high | unit |
    |---|---|---|---|---|
    | 0, 1 | `position` | signal | signal | rad |
    | 2, 3 | `velocity` | signal | signal | rad/s |
    | 4, 5 | `torque`, of the drive on the link | signal | signal | N·m |
    | 6–9 | the references in force, `…_command`, as under actions | as there | as there | rad |
    | 10, 11 | `desired_position` at the end of the coming period (task `track`) | signal | signal | rad |
    | 12, 13 | `desired_velocity` likewise (task `track`) | signal | signal | rad/s |
    | 10, 11 | `goal` (task `reach`) | signal | signal | rad |

    ## Rewards, start, end
    See the tasks, `pliant.envs.tasks.Track` and `Reach`.
    """

    _make = staticmethod(arm2_robot)
