"""Motions to be watched: a simulated robot and who commands it, beginning again at the end."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pliant.controllers import Controller, FeedForward, desired_motion
from pliant.controllers.robot_parameters import tell
from pliant.controllers.trajectories import Trajectory
from pliant.controllers.trial import JointTrials
from pliant.envs.env import PliantEnv
from pliant.envs.movement import Movement, OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import link_ranges, trial_start
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel, State

_TURN = 0.7
"""Amplitude of the references of a demonstration, rad …"""
_PUSH = 0.05
"""… and of torques, in parts of the largest."""
_PERIOD = 6.0
"""Of its sines, s …"""
_SWEEP = 18.0
"""… and of the sweep of the preset."""


class LoopedMotion(Protocol):
    """A motion that can be watched."""

    robot: SimulatedRobot
    controller: Controller | None
    """What commands it, where a controller does."""
    duration: float
    """Until it has been shown once, s."""

    def restart(self) -> None:
        """Go to the beginning."""

    def advance(self) -> None:
        """Let one period pass; at the end, begin again."""


class LoopedMovement:
    """A robot that moves; at the end it begins again."""

    def __init__(self, movement: Movement) -> None:
        """Put the robot to the beginning."""
        self.robot, self.duration = movement.robot, movement.duration
        self.controller: Controller | None = movement.controller
        self._movement = movement
        self.restart()

    def restart(self) -> None:
        """Put the robot to the beginning."""
        self._states = self._movement.states()
        next(self._states)

    def advance(self) -> None:
        """Let one period pass, or begin again after the last one."""
        if next(self._states, None) is None:
            self.restart()


class LoopedEnvironment:
    """An environment whose robot is commanded as in a demonstration; every episode begins where its task says."""

    def __init__(self, env: Any, seed: int) -> None:
        """Begin the first episode; raises `ConfigurationError` if its robot is not a simulated one."""
        inner = env.unwrapped
        if not isinstance(inner, PliantEnv) or not isinstance(inner.robot, SimulatedRobot):
            raise ConfigurationError("only an environment with a simulated robot can be viewed.")
        self.robot, self.duration = inner.robot, math.inf
        self.controller: Controller | None = None
        self._env, self._actions, self._seed = env, inner.actions, seed
        self.restart()

    def restart(self) -> None:
        """Begin the first episode again."""
        self._count = 0
        self._env.reset(seed=self._seed)

    def advance(self) -> None:
        """Take one step, or begin the next episode after the end of one."""
        time = self._count * self.robot.info.period
        command = demonstration(self._actions, time)
        low = np.array([channel.low for channel in self._actions])
        high = np.array([channel.high for channel in self._actions])
        *_, terminated, truncated, _ = self._env.step(2.0 * (command - low) / (high - low) - 1.0)
        self._count += 1
        if terminated or truncated:
            self._env.reset()


def demonstration(channels: tuple[Channel, ...], time: float) -> Array:
    """Commands that show softness at work, (columns,): slow sines, while presets sweep from slack to stiff.

    References swing by 0.7 rad and torques by a twentieth of their bounds about rest in 6 s; a preset rises from
    its least useful value, 0 or its lower bound, to its upper bound and back in 18 s.
    """
    swing = math.sin(2 * math.pi * time / _PERIOD)
    sweep = (1 - math.cos(2 * math.pi * time / _SWEEP)) / 2
    values = []
    for channel in channels:
        if channel.name.endswith("/preset"):
            least = max(channel.low, min(0.0, channel.high))
            value = least + (channel.high - least) * sweep
        else:
            span = _TURN if channel.unit == "rad" else _PUSH * (channel.high - channel.low) / 2
            value = channel.rest + span * swing
        values.append(min(max(value, channel.low), channel.high))
    return np.array(values)


@dataclass(frozen=True)
class Demonstration(Controller):
    """Commands the demonstration, whatever the robot does."""

    channels: tuple[Channel, ...]

    def update(self, state: State, t: float) -> Array:
        """Return the command at time t."""
        return demonstration(self.channels, t)


def demonstration_movement(robot: SimulatedRobot) -> Movement:
    """The demonstration, without end."""
    channels = robot.info.command
    return Movement(robot, Demonstration(channels), math.inf, before=demonstration(channels, 0.0))


def trajectory_movement(robot: SimulatedRobot, trajectory: Trajectory) -> Movement:
    """The first trial of `pliant ilc`: the trajectory as the first reference of each joint, the others at rest.

    Raises:
        ShapeError, MismatchError, OutOfBoundsError: the trajectory is not one of this robot, or begins where
            nothing holds it; see `desired_motion` and `trial_start`.
    """
    trials = JointTrials(robot)
    motion = desired_motion(trajectory, robot.info, ranges=link_ranges(robot.compiled))
    start = trial_start(robot.compiled, motion.position[0], trials.columns)
    return OpenLoop(
        robot, trials.robot_command(motion.position + start.lift), position=start.position, before=start.command
    )


def feedforward_movement(robot: SimulatedRobot, feedforward: FeedForward) -> Movement:
    """What was learned, from where its motion begins; raises `MismatchError` on a robot that it does not fit.

    On a robot of other parameters it is shown all the same, and the differences are logged.
    """
    learned = feedforward.arranged(robot.info, parameters=False)
    tell(f"the feed-forward learned on {feedforward.robot!r}", learned.parameters, robot.info.parameters)
    begin = None if learned.desired is None else learned.desired[0]
    return OpenLoop(robot, learned.command, position=begin, before=learned.command[0])
