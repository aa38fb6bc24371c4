"""The action term of task-space control: an action says where the tool shall go, the controller how."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pliant.controllers.controller import Controller
from pliant.controllers.task_space import FrameTask, PostureTask, TaskSpaceController, TaskStack
from pliant.controllers.task_space.tasks import AXES, selected_axes
from pliant.envs.selection import Names, as_names
from pliant.envs.tasks.actions import Action, ActionOnRobot, find_columns, with_controller
from pliant.envs.tasks.kinematics import Kinematics
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Channel, RobotInfo, State

_TOOL: Final = "tool"


@dataclass(frozen=True)
class TaskSpace(Action):
    """A task-space controller commands torques; the action displaces its tool from where it is.

        ẍ* = stiffness·reach·a − damping·ẋ, slower than `speed`

    for the tool, and below it a posture: the joints where the episode began. Each episode has a controller of its
    own, with mechanics of the robot's nominal model. At rest a = 0: the tool comes to rest.
    """

    commanded: Names | None = None
    """Columns of torques that do it, as of `Spread`; None: all there are."""
    site: str = "tip"
    """The end effector."""
    axes: str = "xyz"
    """Which of x, y and z the action displaces; the posture has the others."""
    oriented: bool = False
    """Whether it turns the tool too, about x, y and z of the world."""
    reach: float = 0.1
    """Largest displacement along each axis, m."""
    turn: float = 0.5
    """Largest about each axis, rad."""
    stiffness: float = 225.0
    """Of the tool, 1/s²."""
    damping: float = 30.0
    """1/s; times the period it must stay below 1."""
    speed: float = 0.5
    """Largest of the tool's way, m/s."""
    turning: float = 2.0
    """Likewise, rad/s."""
    posture: float = 10.0
    """Stiffness of the posture, 1/s², critically damped."""

    def __post_init__(self) -> None:
        if self.commanded is not None:
            object.__setattr__(self, "commanded", as_names(self.commanded, "commanded"))
        selected_axes(list(self.axes), AXES[:3])
        for name, most, unit in (("reach", 10.0, "m"), ("turn", 3.0, "rad")):
            check_bounds(f"action task_space: {name}", getattr(self, name), 1e-6, most, unit)

    def on(self, info: RobotInfo, kinematics: Kinematics | None = None) -> ActionOnRobot:
        """See `Action.on`. Its entries are called `tool/displacement_AXIS`, `tool/rotation_AXIS`.

        Raises:
            UnknownNameError: no such end effector.
            ConfigurationError: a robot that is commanded no torques, or of which no masses are known; gains too
                high for the period.
        """
        if kinematics is None:
            raise ConfigurationError(
                f"action task_space: nothing is known of the mechanics of robot {info.name!r}."
            )
        columns = [info.command[k] for k in find_columns(self.commanded, info)]
        if any(channel.quantity != "torque" for channel in columns):
            raise ConfigurationError(
                f"action task_space: robot {info.name!r} is commanded {', '.join(c.name for c in columns)}; "
                "torques are needed. Arms of ours take torques with robot.model.mode=torque."
            )
        if self.damping * info.period >= 1.0:
            raise ConfigurationError(
                f"action task_space: a damping of {self.damping:g} 1/s and a period of {info.period:g} s do not "
                "go together: their product must be below 1."
            )
        mechanics, frames = kinematics.mechanics()
        if self.site not in frames:
            raise unknown_name("site", self.site, frames, "the robot's kinematics")
        axes = [*self.axes, *(AXES[3:] if self.oriented else ())]
        tool = FrameTask(
            frames[self.site],
            axes=axes,
            stiffness=self.stiffness,
            damping=self.damping,
            speed=self.speed,
            turning=self.turning,
        )
        stack = TaskStack(
            mechanics,
            {_TOOL: tool, "posture": PostureTask(mechanics=mechanics, stiffness=self.posture)},
            actuated=[channel.owner for channel in columns],
            torque=[(channel.low, channel.high) for channel in columns],
        )
        controller = TaskSpaceController(stack)
        controller.displaced[_TOOL] = np.zeros(6)
        largest = np.array([self.turn if axis in AXES[3:] else self.reach for axis in axes])
        channels = tuple(
            Channel(f"tool/rotation_{axis[1]}", "rad", -self.turn, self.turn, 0.0)
            if axis in AXES[3:]
            else Channel(f"tool/displacement_{axis}", "m", -self.reach, self.reach, 0.0)
            for axis in axes
        )
        places, low, high = [AXES.index(axis) for axis in axes], info.low, info.high

        def act(controller: Controller, action: Array, state: State, t: float, command: Array) -> None:
            assert isinstance(controller, TaskSpaceController)
            controller.displaced[_TOOL][places] = largest * action
            command[:] = np.clip(controller.update(state, t), low, high)

        return with_controller(info, channels, np.zeros(len(axes)), controller, act)
